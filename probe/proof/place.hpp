// DOC: ports of a fabric, and the links that a flow crosses, as the tables say.
//
// A Place is a port by the topology's own numbers. hops_of() walks the *computed* tables: what follows from
// it is what ought to be seen. Pure.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "probe/flow.hpp"
#include "routing/routes.hpp"
#include "routing/verify_tables.hpp"

namespace ibf::probe {

/// A port of a switch (by SwitchIndex), or an end port (by EndPortIndex; `port` is the adapter's own number).
struct Place {
    bool is_switch = true;
    std::uint32_t index = routing::kNoIndex;
    mad::PortNum port{};
    auto operator<=>(const Place&) const = default;
};

/// A link in the direction of travel.
struct Hop {
    Place out;
    Place in;
    friend bool operator==(const Hop&, const Hop&) = default;
};

[[nodiscard]] Place place_of(const routing::Topology& topology, routing::EndPortIndex end);
/// The other end of the cable, as the topology says; empty: there is none.
[[nodiscard]] std::optional<Place> peer_of(const routing::Topology& topology, const Place& place);
[[nodiscard]] mad::Guid node_guid_of(const routing::Topology& topology, const Place& place);
[[nodiscard]] std::string node_name_of(const routing::Topology& topology, const Place& place);
/// "leaf-01 port 7", "host-3/1".
[[nodiscard]] std::string name_of(const routing::Topology& topology, const Place& place);
/// LID that the port's agents answer at; none: it has no address.
[[nodiscard]] mad::Lid lid_of(const routing::Topology& topology, const Place& place);
/// Signalling rate of the cable at this port; 0: not known.
[[nodiscard]] std::uint32_t mbps_of(const routing::Topology& topology, const Place& place);

/// From the source's port to the target's; empty: the tables do not lead there.
[[nodiscard]] std::optional<std::vector<Hop>> hops_of(const routing::Topology& topology,
                                                      const routing::TableView& view,
                                                      routing::EndPortIndex from, mad::Lid to);

}  // namespace ibf::probe
