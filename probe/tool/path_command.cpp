// path: what the subnet administration says of the way to a LID or GID; nothing is sent there.
#include <charconv>
#include <memory>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "base/words.hpp"
#include "probe/sa_asker.hpp"
#include "probe/tool/commands.hpp"
#include "probe/tool/test_options.hpp"

namespace ibf::probe::tool {
namespace {

using base::Result;

struct PathFlags {
    std::string to;
    std::string port;
    std::optional<unsigned> pkey_index;
};

Result<mad::Lid> read_lid(const std::string& text) {
    const bool is_hex = text.starts_with("0x");
    const char* const end = text.data() + text.size();
    std::uint16_t value = 0;
    const auto [last, error] = std::from_chars(text.data() + (is_hex ? 2 : 0), end, value, is_hex ? 16 : 10);
    if (error != std::errc{} || last != end || value == 0 || value > mad::kLidUnicastMax) {
        return base::fail(
            base::ErrorKind::usage,
            fmt::format("{}: a LID (1 to {}) or a GID is expected, such as 42 or fe80::2:c903:0:1",
                        base::quote(text), mad::kLidUnicastMax));
    }
    return mad::Lid{value};
}

Result<PathWanted> wanted_of(const PathFlags& flags) {
    Way way;
    if (const auto read = flags.port.empty() ? Result<void>{} : read_device(flags.port, way); !read) {
        return tl::unexpected(read.error());
    }
    PathWanted wanted{
        .device = way.device, .port = way.port, .slid = {}, .dlid = {}, .dgid = {}, .pkey_index = {}};
    if (flags.pkey_index) {
        wanted.pkey_index = static_cast<std::uint16_t>(*flags.pkey_index);
    }
    if (flags.to.find(':') != std::string::npos) {
        const auto gid = mad::parse_gid(flags.to);
        if (!gid) {
            return base::fail(base::ErrorKind::usage, gid.error().message);
        }
        wanted.dgid = *gid;
        return wanted;
    }
    return read_lid(flags.to).map([&](mad::Lid lid) {
        wanted.dlid = lid;
        return wanted;
    });
}

Rows path_json(const mad::PathRecord& path) {
    return {{"slid", path.slid.value()},
            {"dlid", path.dlid.value()},
            {"sgid", mad::to_string(path.sgid)},
            {"dgid", mad::to_string(path.dgid)},
            {"sl", path.sl.value()},
            {"mtu_bytes", mad::mtu_bytes(path.mtu)},
            {"bits_per_second", path.bits_per_second},
            {"pkey", fmt::format("0x{:04x}", path.pkey.value())},
            {"packet_lifetime_ns", path.packet_lifetime().count()},
            {"is_reversible", path.is_reversible}};
}

std::string path_text(const mad::PathRecord& path) {
    constexpr double kGiga = 1e9;
    std::string out;
    const auto line = [&out](const char* name, const std::string& value) {
        out += fmt::format("{:<16}{}\n", name, value);
    };
    line("from", fmt::format("LID {}, {}", path.slid, mad::to_string(path.sgid)));
    line("to", fmt::format("LID {}, {}", path.dlid, mad::to_string(path.dgid)));
    line("SL", fmt::format("{}", path.sl));
    line("MTU", fmt::format("{}", mad::mtu_bytes(path.mtu)));
    line("rate", fmt::format("{:g} Gb/s", static_cast<double>(path.bits_per_second) / kGiga));
    line("P_Key", fmt::format("0x{:04x}", path.pkey.value()));
    line("packet lifetime", base::format_duration(path.packet_lifetime()));
    line("reversible", path.is_reversible ? "yes" : "no");
    return out;
}

Exit run_path(const PathFlags& flags, bool json) {
    const auto wanted = wanted_of(flags);
    if (!wanted) {
        return failure(wanted.error());
    }
    const Interrupts interrupts;
    const auto path = SaAsker().ask(*wanted, interrupts.token());
    if (!path) {
        const Exit exit = failure(path.error());
        return path.error().kind == base::ErrorKind::not_found ? Exit::finding : exit;
    }
    return print(json ? path_json(*path).dump(2) + "\n" : path_text(*path), Exit::ok);
}

}  // namespace

void add_path_command(CLI::App& app, const bool& json, Action& chosen) {
    const auto flags = std::make_shared<PathFlags>();
    CLI::App* path = app.add_subcommand(
        "path", "What the subnet administration says of the way to a port; nothing is sent there");
    path->add_option("TO", flags->to, "LID or GID of the port")->required();
    path->add_option("--port", flags->port, "This host's port (default: the first that can be used)")
        ->type_name("DEV[/PORT]");
    path->add_option("--pkey-index", flags->pkey_index,
                     "In the partition of this entry of the P_Key table (default: any)")
        ->check(CLI::Range(0U, 0xFFFFU))
        ->type_name("N");
    path->footer(
        "It is the question that a test asks on InfiniBand where --sl does not answer it. Needs access to "
        "umad.\n"
        "Exit code 1 if the SA knows no such path, 3 if it does not answer or is busy.\n\n"
        "Examples:\n  ibfabric-probe path 42\n  ibfabric-probe path fe80::2:c903:0:1 --port mlx5_0/1 --json");
    path->callback([flags, &json, &chosen] { chosen = [flags, &json] { return run_path(*flags, json); }; });
}

}  // namespace ibf::probe::tool
