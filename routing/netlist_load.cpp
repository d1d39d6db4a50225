#include <zlib.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "routing/generate_families.hpp"
#include "routing/netlist.hpp"
#include "routing/text_dialects.hpp"

namespace ibf::routing {
namespace {

/// The largest topology we know of takes 20 MB; a file that unpacks to more than this is something else.
constexpr std::size_t kTextBytesMax = std::size_t{256} << 20U;
constexpr std::size_t kChunkBytes = std::size_t{1} << 18U;

struct GzClose {
    void operator()(gzFile file) const { gzclose(file); }
};
using GzHandle = std::unique_ptr<std::remove_pointer_t<gzFile>, GzClose>;

tl::unexpected<base::Error> io_error(const std::string& path, std::string_view text) {
    return base::fail(base::ErrorKind::io, fmt::format("{}: {}", path, text));
}

/// The whole file, unpacked if it is gzip; zlib passes through what is not.
base::Result<std::string> read_file(const std::string& path) {
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
        if (text.size() + static_cast<std::size_t>(got) > kTextBytesMax) {
            return io_error(path, fmt::format("more than {} MiB unpacked: no topology is that large",
                                              kTextBytesMax >> 20U));
        }
        text.append(chunk, 0, static_cast<std::size_t>(got));
    }
}

}  // namespace

base::Result<Netlist> parse_netlist(std::string_view text, const std::string& origin) {
    const auto dialect = recognise(text, origin);
    if (!dialect) {
        return tl::unexpected(dialect.error());
    }
    switch (*dialect) {
        case Dialect::netlist: return read_netlist_text(text, origin);
        case Dialect::subnet_lst: return read_subnet_lst(text, origin);
        case Dialect::db_csv: return read_db_csv(text, origin);
    }
    return base::fail(base::ErrorKind::unsupported, "unreachable");
}

base::Result<Netlist> load_netlist(const std::string& path) {
    const auto text = read_file(path);
    return text ? parse_netlist(*text, path) : tl::unexpected(text.error());
}

base::Result<Netlist> netlist_from_spec(const std::string& spec) {
    if (names_a_family(spec)) {
        return generate_netlist(spec);
    }
    auto loaded = load_netlist(spec);
    // Neither a file nor a family, and nothing of a path in it: a mistyped family is the likelier slip.
    std::error_code ignored;
    if (!loaded && spec.find_first_of("/.") == std::string::npos && !std::filesystem::exists(spec, ignored)) {
        return generate_netlist(spec);
    }
    return loaded;
}

}  // namespace ibf::routing
