// DOC: a flow of the probe, and the links that it crosses.
//
// A flow goes from an end port to a LID of another one, on the path that the tables say. Links are directed:
// those between switches carry the numbers of TableView's channels. Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "routing/routes.hpp"
#include "routing/verify_tables.hpp"

namespace ibf::probe {

struct Flow {
    routing::EndPortIndex from{};
    routing::EndPortIndex to{};
    mad::Lid lid{};  ///< of `to`; with an LMC, one of several, and each may lead another way
    friend bool operator==(const Flow&, const Flow&) = default;
};

/// Channels of the path in the order in which they are crossed; empty where both ends hang off one switch.
/// REQUIRES: it arrives.
[[nodiscard]] std::vector<std::uint32_t> channels_of(const routing::Topology& topology,
                                                     const routing::TableView& view, const Flow& flow);

/// A link between switches, out of that port.
struct DirectedLink {
    routing::SwitchIndex from{};
    mad::PortNum port{};
    friend bool operator==(const DirectedLink&, const DirectedLink&) = default;
};

}  // namespace ibf::probe
