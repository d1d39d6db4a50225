// DOC: parts of a fabric by name: switches and cables, and what the fabric is without them.
//
// An operator names what goes out of service, or may. Elements hold such names by GUID, so they outlive any
// numbering and need not be there. Here is what a topology is once they are taken away, and who then no
// longer reaches whom, read off the cables alone: no tables, no engine.
#pragma once

#include <cstdint>
#include <vector>

#include "routing/preferences.hpp"
#include "routing/topology.hpp"

namespace ibf::routing {

struct Elements {
    std::vector<mad::Guid> switches;  ///< sorted, each once
    std::vector<SwitchPort> ports;    ///< sorted, each once: the cable there, named by either end

    [[nodiscard]] bool empty() const { return switches.empty() && ports.empty(); }
    [[nodiscard]] bool has(mad::Guid node) const;
    /// This port by name; not because its switch is in.
    [[nodiscard]] bool has(const SwitchPort& at) const;
    void add(mad::Guid node);
    void add(const SwitchPort& at);
    void remove(mad::Guid node);
    void remove(const SwitchPort& at);

    friend bool operator==(const Elements&, const Elements&) = default;
};
[[nodiscard]] Elements united(const Elements& a, const Elements& b);

/// A switch that is in, or a cable that is, or leads to such a switch.
[[nodiscard]] bool is_gone(const Topology& topology, const Elements& gone, std::uint32_t at,
                           std::size_t port);

/// What is left when they are gone: also without the end ports that hung on them. LIDs stay.
[[nodiscard]] Topology without(const Topology& topology, const Elements& gone);

/// An end port that somebody computes or stores on: it has LIDs, and is no part of a switch (an aggregation
/// node goes with its switch, and says what it is in its description).
[[nodiscard]] bool is_host(const TopologyEndPort& end);
[[nodiscard]] std::vector<EndPortIndex> hosts_of(const Topology& topology);

struct Losses {
    /// Hosts that fall out of the largest part of what they were connected with. Of equal parts, the one with
    /// the switch of the lowest GUID is the largest.
    std::vector<EndPortIndex> cut_off;
    std::uint64_t pairs = 0;  ///< of hosts that reached each other and no longer do, each once
};
[[nodiscard]] Losses losses(const Topology& topology, const Elements& gone);

}  // namespace ibf::routing
