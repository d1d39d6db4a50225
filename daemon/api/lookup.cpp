#include "daemon/api/lookup.hpp"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

namespace ibf::api {
namespace {

using fabric::Node;
using fabric::PortRef;

constexpr std::size_t kWordMax = 96;  ///< a description has at most 64 bytes; bounds the "/N" recursion too
constexpr std::size_t kCandidatesMax = 8;  ///< names listed in an "ambiguous" message

std::string_view trimmed(std::string_view text) {
    const auto first = text.find_first_not_of(" \t");
    const auto last = text.find_last_not_of(" \t");
    return first == std::string_view::npos ? std::string_view{} : text.substr(first, last - first + 1);
}

char lower(char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

std::optional<std::uint64_t> number(std::string_view text, int base) {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
    if (text.empty() || error != std::errc{} || end != text.data() + text.size()) {
        return std::nullopt;
    }
    return value;
}

/// A LID as people write it: decimal, or hex after 0x.
std::optional<std::uint64_t> lid_number(std::string_view text) {
    return text.starts_with("0x") || text.starts_with("0X") ? number(text.substr(2), 16) : number(text, 10);
}

template <class Row, class Key>
auto first_with(const std::vector<Row>& rows, const Key& key) {
    return std::lower_bound(rows.begin(), rows.end(), key,
                            [](const Row& row, const Key& k) { return row.first < k; });
}

}  // namespace

bool contains_word(std::string_view text, std::string_view part) {
    return std::search(text.begin(), text.end(), part.begin(), part.end(),
                       [](char a, char b) { return lower(a) == lower(b); }) != text.end();
}

Directory::Directory(const fabric::Fabric& fabric) : fabric_(fabric) {
    for (std::uint32_t n = 0; n < fabric.nodes.size(); ++n) {
        const Node& node = fabric.nodes[n];
        nodes_.emplace_back(node.guid(), n);
        for (std::size_t p = 0; p < node.ports.size(); ++p) {
            const PortRef ref{n, mad::PortNum{static_cast<std::uint8_t>(p)}};
            if ((p == 0) != node.is_switch()) {
                continue;
            }
            if (!node.is_switch() && node.ports[p].guid != mad::Guid{}) {
                port_guids_.emplace_back(node.ports[p].guid, ref);
            }
            const mad::LidRange range = fabric::lids_of(node, ref.port);
            if (range.count() != 0) {
                lids_.emplace_back(range, ref);
            }
        }
    }
    std::sort(nodes_.begin(), nodes_.end());
    std::sort(port_guids_.begin(), port_guids_.end());
    std::sort(lids_.begin(), lids_.end());
}

std::uint32_t Directory::find(mad::Guid node_guid) const {
    const auto found = first_with(nodes_, node_guid);
    return found != nodes_.end() && found->first == node_guid ? found->second : fabric::kNoNode;
}

std::optional<PortRef> Directory::find(mad::Lid lid) const {
    auto after = std::upper_bound(lids_.begin(), lids_.end(), lid,
                                  [](mad::Lid key, const auto& row) { return key < row.first.base; });
    if (after == lids_.begin() || !std::prev(after)->first.contains(lid)) {
        return std::nullopt;
    }
    return std::prev(after)->second;
}

std::optional<PortRef> Directory::find_port(mad::Guid port_guid) const {
    if (const auto found = first_with(port_guids_, port_guid);
        found != port_guids_.end() && found->first == port_guid) {
        return found->second;
    }
    const std::uint32_t node = find(port_guid);
    return node != fabric::kNoNode && fabric_.nodes[node].is_switch()
               ? std::optional(PortRef{node, mad::PortNum{0}})
               : std::nullopt;
}

std::optional<Target> Directory::by_guid(mad::Guid guid) const {
    if (const std::uint32_t node = find(guid); node != fabric::kNoNode) {
        return Target{node, std::nullopt, std::nullopt};
    }
    const auto found = first_with(port_guids_, guid);
    if (found == port_guids_.end() || found->first != guid) {
        return std::nullopt;
    }
    return Target{found->second.node, found->second.port, std::nullopt};
}

std::optional<Target> Directory::by_number(std::string_view word) const {
    const bool only_lid = word.starts_with("lid:");
    const bool only_guid = word.starts_with("guid:");
    if (only_lid || only_guid) {
        word.remove_prefix(only_lid ? 4 : 5);
    }
    const bool has_id_letter =
        word.size() > 2 && word[1] == '-' && (word[0] == 'S' || word[0] == 'H' || word[0] == 'R');
    if (has_id_letter) {
        word.remove_prefix(2);
    }
    // A LID has at most four hex digits; a GUID that short exists only in simulations and is asked for by
    // "guid:".
    const auto as_lid = only_guid || has_id_letter ? std::nullopt : lid_number(word);
    if (as_lid && *as_lid <= mad::kLidUnicastMax) {
        const mad::Lid lid{static_cast<std::uint16_t>(*as_lid)};
        if (const auto ref = find(lid)) {
            const bool is_switch = fabric_.nodes[ref->node].is_switch();
            return Target{ref->node, is_switch ? std::nullopt : std::optional{ref->port}, lid};
        }
    }
    if (only_lid) {
        return std::nullopt;
    }
    const auto guid = mad::parse_guid(word);
    return guid ? by_guid(*guid) : std::nullopt;
}

namespace {

std::string candidates(const fabric::Fabric& fabric, const std::vector<std::uint32_t>& found) {
    std::string out;
    for (std::size_t i = 0; i < std::min(found.size(), kCandidatesMax); ++i) {
        const Node& node = fabric.nodes[found[i]];
        out += fmt::format("{}'{}' {}", i == 0 ? "" : ", ", trimmed(node.description), node.guid());
    }
    if (found.size() > kCandidatesMax) {
        out += fmt::format(", and {} more", found.size() - kCandidatesMax);
    }
    return out;
}

tl::unexpected<base::Error> ambiguous(const fabric::Fabric& fabric, std::string_view word,
                                      const std::vector<std::uint32_t>& found) {
    return base::fail(base::ErrorKind::refused, fmt::format("'{}' fits {} nodes: {}; name one by its GUID",
                                                            word, found.size(), candidates(fabric, found)));
}

}  // namespace

base::Result<std::optional<Target>> Directory::by_description(std::string_view word) const {
    std::vector<std::uint32_t> found;
    for (const auto& [guid, node] : nodes_) {
        if (trimmed(fabric_.nodes[node].description) == word) {
            found.push_back(node);
        }
    }
    if (found.empty()) {
        return std::optional<Target>{};
    }
    if (found.size() > 1) {
        return ambiguous(fabric_, word, found);
    }
    return std::optional{Target{found.front(), std::nullopt, std::nullopt}};
}

base::Result<std::optional<Target>> Directory::with_port(std::string_view word) const {
    const auto slash = word.rfind('/');
    if (slash == std::string_view::npos) {
        return std::optional<Target>{};
    }
    const auto port = number(word.substr(slash + 1), 10);
    if (!port) {
        return std::optional<Target>{};
    }
    auto target = resolve(word.substr(0, slash));
    if (!target) {
        return tl::unexpected(target.error());
    }
    const Node& node = fabric_.nodes[target->node];
    if (*port >= node.ports.size() || (*port == 0 && !node.is_switch())) {
        return base::fail(
            base::ErrorKind::not_found,
            fmt::format("'{}' has no port {}; its ports are {} to {}", trimmed(node.description), *port,
                        node.is_switch() ? 0 : 1, node.info.num_ports));
    }
    target->port = mad::PortNum{static_cast<std::uint8_t>(*port)};
    return std::optional{*target};
}

base::Result<Target> Directory::by_part(std::string_view word) const {
    std::vector<std::uint32_t> found;
    for (const auto& [guid, node] : nodes_) {
        if (contains_word(fabric_.nodes[node].description, word)) {
            found.push_back(node);
        }
    }
    if (found.size() > 1) {
        return ambiguous(fabric_, word, found);
    }
    if (found.empty()) {
        return base::fail(base::ErrorKind::not_found,
                          fmt::format("nothing here is called '{}': neither a description, a GUID nor a LID; "
                                      "'ibfabric nodes' lists them",
                                      word));
    }
    return Target{found.front(), std::nullopt, std::nullopt};
}

base::Result<Target> Directory::resolve(std::string_view raw) const {
    const std::string_view word = trimmed(raw);
    if (word.empty()) {
        return base::fail(base::ErrorKind::usage, "an empty name: give a description, a GUID or a LID");
    }
    if (word.size() > kWordMax) {
        return base::fail(base::ErrorKind::usage, fmt::format("a name has at most {} characters", kWordMax));
    }
    if (const auto exact = by_description(word); !exact || *exact) {
        return exact ? base::Result<Target>(**exact) : tl::unexpected(exact.error());
    }
    if (const auto target = by_number(word)) {
        return *target;
    }
    // The whole word, slash included, may be part of a description ("MF0;sw-01:MQM8700/U1"): ask that first.
    const auto part = by_part(word);
    if (part) {
        return part;
    }
    if (const auto target = with_port(word); target && *target) {
        return **target;
    } else if (!target) {
        return tl::unexpected(target.error());
    }
    return part;
}

}  // namespace ibf::api
