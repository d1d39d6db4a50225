// DOC: a table of texts: columns as wide as their widest cell, all but those said to be words to the right.
// Pure.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace ibf::probe::tool {

class TextTable {
public:
    /// The first `words` columns are words.
    explicit TextTable(std::vector<std::string> head, std::size_t words = 0) : words_(words) {
        add(std::move(head));
    }

    /// As many cells as the head has.
    void add(std::vector<std::string> row) {
        widths_.resize(std::max(widths_.size(), row.size()), 0);
        for (std::size_t i = 0; i < row.size(); ++i) {
            widths_[i] = std::max(widths_[i], row[i].size());
        }
        rows_.push_back(std::move(row));
    }

    [[nodiscard]] std::string text() const {
        std::string out;
        for (const auto& row : rows_) {
            std::string line;
            for (std::size_t i = 0; i < row.size(); ++i) {
                const std::string gap(widths_[i] - row[i].size(), ' ');
                line += (i == 0 ? "" : "  ") + (i < words_ ? row[i] + gap : gap + row[i]);
            }
            line.erase(line.find_last_not_of(' ') + 1);
            out += line + "\n";
        }
        return out;
    }

private:
    std::size_t words_;
    std::vector<std::size_t> widths_;
    std::vector<std::vector<std::string>> rows_;
};

}  // namespace ibf::probe::tool
