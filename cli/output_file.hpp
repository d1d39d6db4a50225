// DOC: files that are whole or not there.
//
// An OutputFile is written beside its name and renamed on commit(); without a commit (error, Ctrl-C) it leaves
// nothing behind and the old file as it was.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace ibf::cli {

class OutputFile {
public:
    /// Errors: io, with the path and the system's reason.
    [[nodiscard]] static base::Result<OutputFile> create(const std::string& path);
    ~OutputFile();
    OutputFile(OutputFile&& other) noexcept;
    OutputFile& operator=(OutputFile&&) = delete;

    [[nodiscard]] base::Result<void> write(std::string_view bytes);
    /// Flushes to the disk and takes the name.
    [[nodiscard]] base::Result<void> commit();
    [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

private:
    OutputFile(std::string path, std::string temporary, std::FILE* file);

    std::string path_;
    std::string temporary_;
    std::FILE* file_ = nullptr;
    std::uint64_t bytes_ = 0;
};

}  // namespace ibf::cli
