// DOC: files that are whole or not there.
//
// An OutputFile is written beside its name and renamed on commit(); without a commit (error, Ctrl-C) it
// leaves nothing behind and the old file as it was. write_folder() does the same for several: none of them
// takes its name before all are whole, so that a folder is not half new.
#pragma once

#include <cstdint>
#include <cstdio>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "cli/client.hpp"

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

struct WrittenFile {
    std::string path;
    std::uint64_t bytes = 0;
};
using FileWriter = std::function<base::Result<void>(const std::string& name, OutputFile& file)>;

/// Writes files of these names into a folder, which is made if it is not there. Errors: io, and what the
/// writer says.
[[nodiscard]] base::Result<std::vector<WrittenFile>> write_folder(const std::string& folder,
                                                                  const std::vector<std::string>& names,
                                                                  const FileWriter& write);
/// An array of {path, bytes}.
[[nodiscard]] Json files_json(const std::vector<WrittenFile>& files);

}  // namespace ibf::cli
