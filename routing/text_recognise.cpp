#include <array>
#include <optional>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "routing/text_dialects.hpp"
#include "routing/text_lines.hpp"

namespace ibf::routing {
namespace {

constexpr std::string_view kFormats =
    "What can be read: ibnetdiscover output, ibsim netlists, ibdiagnet2.ibnetdiscover, ibdiagnet2.db_csv and "
    "subnet.lst "
    "(each also as .gz)";

bool is_node_record(std::string_view line) {
    for (const std::string_view word : {"Switch", "Hca", "Ca", "Rt"}) {
        TokenScanner scanner(line);
        if (!scanner.take(word)) {
            continue;
        }
        const std::size_t before = scanner.rest().size();
        scanner.skip_blanks();
        if (scanner.rest().size() < before && scanner.take_number()) {
            scanner.skip_blanks();
            if (scanner.rest().starts_with('"')) {
                return true;
            }
        }
    }
    return false;
}

/// "CA   134  1 0x7cfe.. 4x EDR - SW .." of ibnetdiscover -p.
bool is_port_report(std::string_view line) {
    TokenScanner scanner(line);
    const auto type = scanner.take_word();
    scanner.skip_blanks();
    const bool has_lid = scanner.take_number().has_value();
    scanner.skip_blanks();
    const bool has_port = scanner.take_number().has_value();
    scanner.skip_blanks();
    return (type == "CA" || type == "SW" || type == "RT") && has_lid && has_port &&
           scanner.rest().starts_with("0x");
}

/// "0x0002c901093dc5d1 0x003b 0x003b" of OpenSM's guid2lid file.
bool is_guid_to_lid(std::string_view line) {
    TokenScanner scanner(line);
    const auto guid = scanner.take_word();
    scanner.skip_blanks();
    const auto first = scanner.take_word();
    scanner.skip_blanks();
    const auto second = scanner.take_word();
    return guid.size() == 18 && guid.starts_with("0x") && first.starts_with("0x") &&
           second.starts_with("0x") && scanner.at_end();
}

/// "H-003048d184670000 name": a guid-to-name map or a list of nodes.
bool is_node_list(std::string_view line) {
    return line.size() >= 18 && line[1] == '-' && (line[0] == 'S' || line[0] == 'H') &&
           to_hex(line.substr(2, 16)).has_value();
}

std::optional<Dialect> dialect_of(std::string_view line) {
    if (is_node_record(line)) {
        return Dialect::netlist;
    }
    if (line == "START_NODES" || line == "START_LINKS") {
        return Dialect::db_csv;
    }
    if (line.starts_with("{ ") && line.find(" NodeGUID:") != std::string_view::npos) {
        return Dialect::subnet_lst;
    }
    return std::nullopt;
}

/// What a line gives away of a file that is no topology we read; empty if it says nothing.
std::string_view other_kind_of(std::string_view line) {
    struct Mark {
        std::string_view start;
        std::string_view kind;
    };
    constexpr std::array kMarks{
        Mark{"<?xml", "XML"},
        Mark{"dump_ucast_routes", "a dump of forwarding tables"},
        Mark{"Unicast lids", "a dump of forwarding tables (dump_lfts)"},
        Mark{"SwitchName=", "a Slurm topology.conf, which has no ports"},
        Mark{"TOP SYSTEM",
             "an ibnl system definition, which says what is inside a device, not how they are cabled"},
        Mark{"SYSTEM ",
             "an ibnl system definition, which says what is inside a device, not how they are cabled"},
        Mark{"ibdiagnet fabric SM report", "ibdiagnet's SM report"},
        Mark{"GROUP PKey:", "ibdiagnet's partition report"},
        Mark{"Node Name=", "ibdiagnet's node information"},
    };
    for (const Mark& mark : kMarks) {
        if (line.starts_with(mark.start)) {
            return mark.kind;
        }
    }
    if (line.starts_with('{') || line.starts_with('[')) {
        const auto inside = trim(line.substr(1));
        if (inside.empty() || inside.starts_with('"') || inside.starts_with('{')) {
            return "JSON (netloc or another tool's)";
        }
    }
    if (line.find(": IB# : Sta") != std::string_view::npos) {
        return "ibdiagnet's net_dump: take the .ibnetdiscover, .lst or .db_csv file beside it";
    }
    if (line.find("->") != std::string_view::npos) {
        return "an ibdm .topo of whole systems, whose inside is in .ibnl files: expand it with ibdm first";
    }
    if (is_port_report(line)) {
        return "the port report of ibnetdiscover -p: take its output without -p";
    }
    if (is_guid_to_lid(line)) {
        return "OpenSM's guid2lid table";
    }
    if (is_node_list(line)) {
        return "a list or map of nodes without cables";
    }
    return {};
}

}  // namespace

base::Result<Dialect> recognise(std::string_view text, const std::string& origin) {
    std::string_view other;
    std::uint32_t other_line = 0;
    LineScanner lines(text);
    bool has_content = false;
    while (lines.next()) {
        if (const auto dialect = dialect_of(lines.line())) {
            return *dialect;
        }
        has_content = has_content || !lines.line().empty();
        if (other.empty()) {
            other = other_kind_of(lines.line());
            other_line = lines.number();
        }
    }
    const auto refuse = [&origin](std::uint32_t line, std::string_view what) {
        return base::fail(base::ErrorKind::parse, fmt::format("{}:{}: {}. {}", origin, line, what, kFormats));
    };
    if (!has_content) {
        return refuse(1, "the text is empty");
    }
    if (!other.empty()) {
        return refuse(other_line, fmt::format("this is no topology but {}", other));
    }
    return refuse(lines.number(), "no topology found: no Switch, Ca, Hca or Rt record to the last line");
}

}  // namespace ibf::routing
