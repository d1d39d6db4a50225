// DOC: what an operator prefers of routes, where engines have a choice.
//
// Topology says what is there; preferences say how it is to be used: links that run below what they could,
// links that count as more than one hop, ports that are not to be counted, which end ports belong together
// and which come first. They name nodes and ports by GUID, so they outlive any numbering; what is not there
// is not there. None of them costs a pair its path, and none touches the proof.
//
// Entries of earlier tables stay as long as they are legal, which would keep a preference from being seen.
// Hence fingerprint(): tables made by other preferences are no earlier tables.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "mad/ids.hpp"
#include "routing/topology.hpp"

namespace ibf::routing {

/// What becomes of a link between switches that runs below what both ends could do.
enum class SlowLinks : std::uint8_t {
    use,    ///< as any other
    weigh,  ///< flows are shared out in proportion to the rates that links run at
    avoid,  ///< nothing goes over it, unless its two ends reach each other over slow links only
};

struct SlowLinksWord {
    std::string_view word;
    SlowLinks means = SlowLinks::use;
};
/// As configuration and command line call them.
inline constexpr std::array<SlowLinksWord, 3> kSlowLinksWords{
    {{"use", SlowLinks::use}, {"weigh", SlowLinks::weigh}, {"avoid", SlowLinks::avoid}}};

/// A port of a switch.
struct SwitchPort {
    mad::Guid node{};
    mad::PortNum port{};
    auto operator<=>(const SwitchPort&) const = default;
};

/// What leaves a switch by this port counts as so many hops. The way back is another entry.
struct HopWeight {
    SwitchPort at;
    std::uint8_t hops = 1;  ///< 1..255
    auto operator<=>(const HopWeight&) const = default;
};

/// End ports are named by port GUID or, all that a node has, by node GUID.
struct Preferences {
    SlowLinks slow_links = SlowLinks::use;
    std::vector<HopWeight> hop_weights;  ///< sorted, each port once
    /// Sorted. What hangs off these is routed to, but neither sends nor gets anything where loads are
    /// counted.
    std::vector<SwitchPort> ignored_ports;
    std::vector<mad::Guid> compute_nodes;  ///< sorted
    std::vector<mad::Guid> io_nodes;       ///< sorted; without compute_nodes all others are compute nodes
    std::vector<mad::Guid> order;          ///< these first, as they stand here

    friend bool operator==(const Preferences&, const Preferences&) = default;
};

/// One sentence for each option of which nothing at all is in this fabric: a slip, most likely.
[[nodiscard]] std::vector<std::string> strangers(const Topology& topology, const Preferences& preferences);

/// 0 for none at all. Where rates are weighed it tells which links are throttled, and to what.
[[nodiscard]] std::uint64_t fingerprint(const Preferences& preferences, const Topology& topology);

/// End ports that are spread evenly among themselves, apart from the others; in this order.
enum class Role : std::uint8_t { compute, io, other, uncounted };
inline constexpr std::size_t kCountedRoles = 3;

/// What preferences mean for each end port.
struct Roles {
    std::vector<Role> role;           ///< by EndPortIndex; empty: all are `other`
    std::vector<std::uint32_t> turn;  ///< by EndPortIndex, the smaller the earlier; empty: all alike

    [[nodiscard]] Role of(std::uint32_t end) const { return role.empty() ? Role::other : role[end]; }
    [[nodiscard]] std::uint32_t turn_of(std::uint32_t end) const { return turn.empty() ? 0 : turn[end]; }
};
[[nodiscard]] Roles roles_of(const Topology& topology, const Preferences& preferences);

}  // namespace ibf::routing
