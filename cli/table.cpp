#include "cli/table.hpp"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <iterator>

#include <fmt/format.h>

#include "base/time.hpp"

namespace ibf::cli {
namespace {

constexpr std::string_view kGap = "  ";

/// Characters as a terminal shows them: UTF-8 continuation bytes take no room.
std::size_t display_width(std::string_view text) {
    return static_cast<std::size_t>(std::count_if(
        text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

void append_cell(std::string& line, const std::string& cell, std::size_t width, Align align) {
    const std::size_t used = display_width(cell);
    const std::string padding(width > used ? width - used : 0, ' ');
    line += align == Align::right ? padding + cell : cell + padding;
}

void append_line(std::string& out, const std::vector<std::string>& cells,
                 const std::vector<std::size_t>& widths, const std::vector<Column>& columns) {
    std::string line;
    for (std::size_t c = 0; c < cells.size(); ++c) {
        if (c > 0) {
            line += kGap;
        }
        append_cell(line, cells[c], widths[c], columns[c].align);
    }
    const auto last = line.find_last_not_of(' ');
    out += line.substr(0, last == std::string::npos ? 0 : last + 1);
    out += '\n';
}

}  // namespace

std::string printable(std::string_view text) {
    std::string out(text);
    for (char& c : out) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte < 0x20 || byte == 0x7F) {
            c = '?';
        }
    }
    return out;
}

std::string field_text(const Json& row, const std::string& key) {
    const auto found = row.find(key);
    if (found == row.end() || found->is_null()) {
        return "-";
    }
    if (found->is_string()) {
        const std::string text = printable(found->get_ref<const std::string&>());
        return text.empty() ? "-" : text;
    }
    if (found->is_boolean()) {
        return found->get<bool>() ? "yes" : "no";
    }
    return found->is_number_float() ? fmt::format("{:.6g}", found->get<double>()) : found->dump();
}

Column text_column(std::string title, std::string key) {
    return {std::move(title), [key = std::move(key)](const Json& row) { return field_text(row, key); },
            Align::left};
}

Column number_column(std::string title, std::string key) {
    return {std::move(title), [key = std::move(key)](const Json& row) { return field_text(row, key); },
            Align::right};
}

Column end_column(std::string title, std::string name, std::string port) {
    return {std::move(title),
            [name = std::move(name), port = std::move(port)](const Json& row) {
                return row.contains(port) ? fmt::format("{}/{}", field_text(row, name), field_text(row, port))
                                          : std::string("-");
            },
            Align::left};
}

std::string element_text(const Json& row) {
    const std::string port = row.value("port", Json()).is_null() ? "" : "/" + field_text(row, "port");
    return fmt::format("{}{} ({})", field_text(row, "name"), port, field_text(row, "guid"));
}

Exit show(const Session& session, const Json& answer, const std::string& text, Exit verdict) {
    const auto done =
        print(session.json ? answer.dump(2, ' ', false, Json::error_handler_t::replace) + "\n" : text);
    return done ? verdict : failure(done.error());
}

void add_line(std::string& out, std::string_view title, std::string_view text) {
    fmt::format_to(std::back_inserter(out), "{:<12}{}\n", title, text);
}

std::string render_table(const Json& rows, const std::vector<Column>& columns) {
    std::vector<std::vector<std::string>> lines(1);
    for (const Column& column : columns) {
        lines.front().push_back(column.title);
    }
    for (const Json& row : rows) {
        auto& cells = lines.emplace_back();
        for (const Column& column : columns) {
            cells.push_back(column.cell(row));
        }
    }
    std::vector<std::size_t> widths(columns.size(), 0);
    for (const auto& cells : lines) {
        for (std::size_t c = 0; c < cells.size(); ++c) {
            widths[c] = std::max(widths[c], display_width(cells[c]));
        }
    }
    std::string out;
    for (const auto& cells : lines) {
        append_line(out, cells, widths, columns);
    }
    return out;
}

base::Result<void> print(std::string_view text) {
    if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0) {
        return base::fail(base::ErrorKind::io, fmt::format("standard output: {}", std::strerror(errno)));
    }
    return {};
}

std::string counted(std::uint64_t count, std::string_view one, std::string_view many) {
    return fmt::format("{} {}", grouped(count), count == 1 ? one : many);
}

std::string grouped(std::uint64_t value) {
    std::string digits = fmt::format("{}", value);
    for (std::size_t at = digits.size(); at > 3;) {
        at -= 3;
        digits.insert(at, 1, ',');
    }
    return digits;
}

std::string seconds_text(double seconds) {
    return base::format_duration(
        std::chrono::duration_cast<base::Duration>(std::chrono::duration<double>(seconds)));
}

}  // namespace ibf::cli
