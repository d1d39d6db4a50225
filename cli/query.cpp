#include "cli/query.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include <fmt/format.h>

#include "base/words.hpp"
#include "cli/record_text.hpp"
#include "cli/table.hpp"

namespace ibf::cli {
namespace {

using A = mad::SaAttribute;

constexpr std::array kKinds{
    QueryKind{"path", A::path_record, "paths between ports, with LIDs, MTU, rate and SL"},
    QueryKind{"node", A::node_record, "ports with LID, of which node"},
    QueryKind{"port", A::port_info_record, "PortInfo of every port"},
    QueryKind{"switch", A::switch_info_record, "SwitchInfo of every switch"},
    QueryKind{"link", A::link_record, "cables, from either end"},
    QueryKind{"lft", A::lft_record, "forwarding tables, 64 LIDs a record"},
    QueryKind{"mft", A::mft_record, "multicast tables, 32 MLIDs and 16 ports a record"},
    QueryKind{"pkey", A::pkey_table_record, "partition tables (needs --sa-key)"},
    QueryKind{"sl2vl", A::sl_to_vl_table_record, "SL to VL tables"},
    QueryKind{"vlarb", A::vl_arb_record, "VL arbitration tables"},
    QueryKind{"guid", A::guid_info_record, "GUID tables of ports"},
    QueryKind{"sm", A::sm_info_record, "subnet managers"},
    QueryKind{"group", A::mc_member_record, "multicast groups; with --sa-key their members"},
    QueryKind{"service", A::service_record, "registered services"},
    QueryKind{"inform", A::inform_info_record, "subscriptions"},
    QueryKind{"classportinfo", A::class_port_info, "what the SA can do"},
};

std::vector<QueryKind> kinds_with_table() {
    std::vector<QueryKind> kinds;
    std::copy_if(kKinds.begin(), kKinds.end(), std::back_inserter(kinds),
                 [](const QueryKind& kind) { return sa::record_type(kind.attribute) != nullptr; });
    return kinds;
}

const sa::RecordType& type_of(const mad::SaMad& question) {
    return sa::record_type_of(question.attribute());
}

void mark(mad::SaMad& question, unsigned component) {
    question.component_mask |= std::uint64_t{1} << component;
}

std::optional<unsigned> small_number(std::string_view word, int radix) {
    unsigned value = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value, radix);
    const bool whole = !word.empty() && error == std::errc{} && end == word.data() + word.size();
    return whole ? std::optional(value) : std::nullopt;
}

/// "12", "0xc", "lid:12": a hex number of more digits is a GUID.
std::optional<mad::Lid> lid_of(std::string_view word) {
    constexpr std::size_t kHexWord = 6;
    if (word.starts_with("lid:")) {
        word.remove_prefix(4);
    }
    const bool hex = word.starts_with("0x");
    const auto value =
        hex && word.size() > kHexWord ? std::nullopt : small_number(word.substr(hex ? 2 : 0), hex ? 16 : 10);
    return value && *value > 0 && *value <= mad::kLidUnicastMax
               ? std::optional(mad::Lid{static_cast<std::uint16_t>(*value)})
               : std::nullopt;
}

// --- ports by GUID or name

struct FoundPort {
    mad::Guid node_guid{};
    mad::Lid lid{};
    unsigned port = 0;
    std::string name;
};

const sa::RecordType& node_type() {
    return sa::record_type_of(A::node_record);
}

FoundPort found_port(RecordBytes record) {
    const sa::RecordType& type = node_type();
    std::string name = value_text(type, type.component("NodeDescription"), record);
    name.erase(name.find_last_not_of(' ') + 1);  // many devices pad it
    return {mad::Guid{type.get(record, "NodeGUID")},
            mad::Lid{static_cast<std::uint16_t>(type.get(record, "LID"))},
            static_cast<unsigned>(type.get(record, "LocalPortNum")), std::move(name)};
}

base::Result<std::vector<FoundPort>> find_ports(const std::string& filter, const Ask& ask) {
    mad::SaMad question = ask_for(*find_kind("node"), 0);
    if (!filter.empty()) {
        if (const auto narrowed = narrow(question, filter); !narrowed) {
            return tl::unexpected(narrowed.error());
        }
    }
    const auto reply = ask(question);
    if (!reply) {
        return tl::unexpected(reply.error());
    }
    std::vector<FoundPort> ports;
    for (std::size_t i = 0; i < reply->count(); ++i) {
        ports.push_back(found_port(reply->record(i)));
    }
    return ports;
}

/// ASCII letters alike.
bool contains(std::string_view text, std::string_view part) {
    const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
    return std::search(text.begin(), text.end(), part.begin(), part.end(),
                       [&](char a, char b) { return lower(a) == lower(b); }) != text.end();
}

/// All ports that a GUID or name may mean. The whole table is asked for only where nothing fits exactly.
base::Result<std::vector<FoundPort>> ports_called(std::string_view word, const Ask& ask) {
    constexpr std::size_t kDescriptionMost = 64;
    std::vector<std::string> exact;
    if (mad::parse_guid(word)) {
        exact = {fmt::format("PortGUID={}", word), fmt::format("NodeGUID={}", word)};
    }
    if (word.size() <= kDescriptionMost) {
        exact.push_back(fmt::format("NodeDescription={}", word));
    }
    for (const std::string& filter : exact) {
        auto ports = find_ports(filter, ask);
        if (!ports || !ports->empty()) {
            return ports;
        }
    }
    auto all = find_ports("", ask);
    if (all) {
        const auto fits_whole = [&](const FoundPort& port) { return port.name == word; };
        const bool whole = std::any_of(all->begin(), all->end(), fits_whole);
        std::erase_if(*all, [&](const FoundPort& port) {
            return whole ? port.name != word : !contains(port.name, word);
        });
    }
    return all;
}

base::Result<FoundPort> only_port(std::vector<FoundPort> ports, std::optional<unsigned> number,
                                  std::string_view word) {
    if (number) {
        std::erase_if(ports, [&](const FoundPort& port) { return port.port != *number; });
    }
    if (ports.empty()) {
        return base::fail(
            base::ErrorKind::not_found,
            fmt::format("the subnet administrator knows no port '{}': neither a description nor a "
                        "GUID; 'ibfabric query node' lists them",
                        printable(word)));
    }
    std::sort(ports.begin(), ports.end(), [](const FoundPort& a, const FoundPort& b) {
        return std::pair(a.node_guid, a.port) < std::pair(b.node_guid, b.port);
    });
    if (ports.front().node_guid == ports.back().node_guid) {
        return ports.front();
    }
    return base::fail(
        base::ErrorKind::usage,
        fmt::format("'{}' fits {} ports, '{}' ({}) and '{}' ({}) among them; name one by its GUID",
                    printable(word), ports.size(), ports.front().name, ports.front().node_guid,
                    ports.back().name, ports.back().node_guid));
}

base::Result<FoundPort> look_up(std::string_view word, const Ask& ask) {
    auto ports = ports_called(word, ask);
    if (!ports) {
        return tl::unexpected(ports.error());
    }
    const auto slash = word.rfind('/');
    const auto number =
        slash == std::string_view::npos ? std::nullopt : small_number(word.substr(slash + 1), 10);
    // The slash may be part of a description ("MF0;sw-01:MQM8700/U1").
    if (!ports->empty() || !number) {
        return only_port(std::move(*ports), std::nullopt, word);
    }
    ports = ports_called(word.substr(0, slash), ask);
    return ports ? only_port(std::move(*ports), number, word) : tl::unexpected(ports.error());
}

}  // namespace

std::span<const QueryKind> query_kinds() {
    static const std::vector<QueryKind> kKnown = kinds_with_table();
    return kKnown;
}

base::Result<QueryKind> find_kind(std::string_view word) {
    std::vector<std::string_view> words;
    for (const QueryKind& kind : query_kinds()) {
        if (kind.word == word) {
            return kind;
        }
        words.push_back(kind.word);
    }
    return base::fail(
        base::ErrorKind::usage,
        fmt::format("there is no query '{}': did you mean '{}'? 'ibfabric query --help' lists them",
                    printable(word.substr(0, 64)), base::nearest_word(word, words)));
}

mad::SaMad ask_for(const QueryKind& kind, std::uint64_t sa_key) {
    mad::SaMad question;
    const bool one = kind.attribute == A::class_port_info;
    question.header.method = static_cast<std::uint8_t>(one ? mad::SaMethod::get : mad::SaMethod::get_table);
    question.header.attribute = static_cast<mad::Attribute>(kind.attribute);
    question.sm_key = sa_key;
    return question;
}

bool is_filter(std::string_view word) {
    return word.find('=') != std::string_view::npos;
}

base::Result<void> narrow(mad::SaMad& question, std::string_view filter) {
    const sa::RecordType& type = type_of(question);
    const auto sign = filter.find('=');
    const auto component = find_field(type, filter.substr(0, sign));
    if (!component) {
        return tl::unexpected(component.error());
    }
    if ((question.component_mask >> *component & 1U) != 0) {
        return base::fail(base::ErrorKind::usage,
                          fmt::format("{} is given twice", type.fields()[*component].name));
    }
    mark(question, *component);
    return set_value(type, *component, filter.substr(sign + 1), question.data);
}

base::Result<mad::SaReply> judge(base::Result<mad::SaReply> reply) {
    if (!reply || reply->status == 0) {
        return reply;
    }
    if (reply->status == mad::kSaNoRecords) {
        return mad::SaReply{};
    }
    return base::fail(base::ErrorKind::refused, mad::sa_status_text(reply->status));
}

base::Result<void> set_path_end(mad::SaMad& question, PathEnd end, std::string_view word, const Ask& ask) {
    const bool source = end == PathEnd::source;
    if (const auto gid = mad::parse_gid(word)) {
        return narrow(question, fmt::format("{}={}", source ? "SGID" : "DGID", mad::to_string(*gid)));
    }
    std::optional<mad::Lid> lid = lid_of(word);
    if (!lid) {
        const auto port = look_up(word, ask);
        if (!port) {
            return tl::unexpected(port.error());
        }
        lid = port->lid;
    }
    return narrow(question, fmt::format("{}={}", source ? "SLID" : "DLID", *lid));
}

}  // namespace ibf::cli
