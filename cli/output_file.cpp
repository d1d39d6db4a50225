#include "cli/output_file.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include <fmt/format.h>

namespace ibf::cli {
namespace {

tl::unexpected<base::Error> system_error(const std::string& path) {
    return base::fail(base::ErrorKind::io, fmt::format("{}: {}", path, std::strerror(errno)));
}

/// What a plain open() would have given: 0666 less the umask. mkstemp gives 0600.
mode_t default_mode() {
    const mode_t mask = ::umask(0);
    ::umask(mask);
    return 0666 & ~mask;
}

}  // namespace

base::Result<OutputFile> OutputFile::create(const std::string& path) {
    struct stat info {};
    if (::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode)) {
        return base::fail(base::ErrorKind::usage, fmt::format("{} is a directory: name a file in it", path));
    }
    if (::stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode)) {
        // A device or pipe (/dev/stdout, /dev/null) is written through: renaming over it would destroy it.
        std::FILE* device = std::fopen(path.c_str(), "w");
        return device != nullptr ? base::Result<OutputFile>(OutputFile(path, {}, device))
                                 : system_error(path);
    }
    std::string temporary = path + ".XXXXXX";
    const int fd = ::mkstemp(temporary.data());
    if (fd < 0) {
        return system_error(path);
    }
    std::FILE* file = ::fdopen(fd, "w");
    if (file == nullptr || ::fchmod(fd, default_mode()) != 0) {
        const auto error = system_error(path);
        ::unlink(temporary.c_str());
        ::close(fd);
        return error;
    }
    return OutputFile(path, std::move(temporary), file);
}

OutputFile::OutputFile(std::string path, std::string temporary, std::FILE* file)
    : path_(std::move(path)), temporary_(std::move(temporary)), file_(file) {}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : path_(std::move(other.path_)),
      temporary_(std::move(other.temporary_)),
      file_(std::exchange(other.file_, nullptr)),
      bytes_(other.bytes_) {}

OutputFile::~OutputFile() {
    if (file_ != nullptr) {
        std::fclose(file_);
        if (!temporary_.empty()) {
            ::unlink(temporary_.c_str());
        }
    }
}

base::Result<void> OutputFile::write(std::string_view bytes) {
    if (std::fwrite(bytes.data(), 1, bytes.size(), file_) != bytes.size()) {
        return system_error(path_);
    }
    bytes_ += bytes.size();
    return {};
}

base::Result<void> OutputFile::commit() {
    if (std::fflush(file_) != 0) {
        return system_error(path_);
    }
    if (temporary_.empty()) {
        std::fclose(std::exchange(file_, nullptr));
        return {};
    }
    if (::fsync(::fileno(file_)) != 0 || ::rename(temporary_.c_str(), path_.c_str()) != 0) {
        return system_error(path_);
    }
    std::fclose(std::exchange(file_, nullptr));
    return {};
}

namespace {

/// All of them written, none committed. After an error nothing of them is left.
base::Result<std::vector<OutputFile>> filled_files(const std::string& folder,
                                                   const std::vector<std::string>& names,
                                                   const FileWriter& write) {
    std::vector<OutputFile> files;
    for (const std::string& name : names) {
        auto file = OutputFile::create(folder + "/" + name);
        const auto done = file.and_then([&](OutputFile& open) { return write(name, open); });
        if (!done) {
            return tl::unexpected(done.error());
        }
        files.push_back(std::move(*file));
    }
    return files;
}

}  // namespace

base::Result<std::vector<WrittenFile>> write_folder(const std::string& folder,
                                                    const std::vector<std::string>& names,
                                                    const FileWriter& write) {
    const bool made = ::mkdir(folder.c_str(), 0777) == 0;
    if (!made && errno != EEXIST) {
        return system_error(folder);
    }
    auto files = filled_files(folder, names, write);
    if (!files) {
        if (made) {
            ::rmdir(folder.c_str());
        }
        return tl::unexpected(files.error());
    }
    std::vector<WrittenFile> written;
    for (std::size_t i = 0; i < names.size(); ++i) {
        if (const auto done = (*files)[i].commit(); !done) {
            return tl::unexpected(done.error());
        }
        written.push_back({folder + "/" + names[i], (*files)[i].bytes()});
    }
    return written;
}

Json files_json(const std::vector<WrittenFile>& files) {
    Json out = Json::array();
    for (const WrittenFile& file : files) {
        out.push_back(Json{{"path", file.path}, {"bytes", file.bytes}});
    }
    return out;
}

}  // namespace ibf::cli
