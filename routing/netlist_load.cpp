#include <filesystem>
#include <string>

#include "routing/generate_families.hpp"
#include "routing/netlist.hpp"
#include "routing/text_dialects.hpp"
#include "routing/text_file.hpp"

namespace ibf::routing {
namespace {

/// The largest topology we know of takes 20 MB; a file that unpacks to more than this is something else.
constexpr std::size_t kTextBytesMax = std::size_t{256} << 20U;

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
    const auto text = read_text_file(path, kTextBytesMax);
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
