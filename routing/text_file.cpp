#include "routing/text_file.hpp"

#include <zlib.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string_view>
#include <type_traits>

#include <fmt/format.h>

namespace ibf::routing {
namespace {

constexpr std::size_t kChunkBytes = std::size_t{1} << 18U;

struct GzClose {
    void operator()(gzFile file) const { gzclose(file); }
};
using GzHandle = std::unique_ptr<std::remove_pointer_t<gzFile>, GzClose>;

tl::unexpected<base::Error> io_error(const std::string& path, std::string_view text) {
    return base::fail(base::ErrorKind::io, fmt::format("{}: {}", path, text));
}

}  // namespace

base::Result<std::string> read_text_file(const std::string& path, std::size_t bytes_max) {
    std::error_code ignored;
    if (std::filesystem::is_directory(path, ignored)) {
        return io_error(path, "is a directory; name one of the files in it");
    }
    errno = 0;
    const GzHandle file(gzopen(path.c_str(), "rb"));
    if (!file) {
        return io_error(path, errno != 0 ? std::strerror(errno) : "out of memory");
    }
    std::string text;
    std::string chunk(kChunkBytes, '\0');
    while (true) {
        const int got = gzread(file.get(), chunk.data(), static_cast<unsigned>(chunk.size()));
        int code = Z_OK;
        const char* const reason = gzerror(file.get(), &code);
        if (got < 0 || (code != Z_OK && code != Z_STREAM_END)) {
            const bool is_cut = code == Z_BUF_ERROR;
            return io_error(path, is_cut            ? "the gzip file is cut off before its end"
                                  : code == Z_ERRNO ? std::strerror(errno)
                                                    : fmt::format("damaged gzip file: {}", reason));
        }
        if (got == 0) {
            return text;
        }
        if (text.size() + static_cast<std::size_t>(got) > bytes_max) {
            return io_error(path, fmt::format("more than {} MiB unpacked: no file of its kind is that large",
                                              bytes_max >> 20U));
        }
        text.append(chunk, 0, static_cast<std::size_t>(got));
    }
}

}  // namespace ibf::routing
