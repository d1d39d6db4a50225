// DOC: what engines may use of a fabric while parts of it are drained.
//
// A drained element stays up and stays reachable, but traffic between others does not cross it: who takes it
// away afterwards takes nothing from anybody. Engines need not know. They get a topology without the drained
// cables, but for those that hold it together: a drained switch keeps its cables to one neighbour, so it is
// the end of a branch, through which nothing leads, whatever the engine. That one cable is also the way to
// its own LID and, where somebody forced it, to the hosts that hang on it. Where the fabric would fall apart,
// a drained cable (or a second branch of a drained switch) stays: draining costs no pair its path.
//
// For tables a drained cable is a lost one: entries that did not use it stay, the rest moves (routes.hpp,
// "previous"). The proof is of the whole fabric: every path of the smaller one is a path of it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "mad/ids.hpp"
#include "routing/elements.hpp"

namespace ibf::routing {

struct Routes;

struct Drained {
    Elements elements;
    /// LIDs of drained switches that are away. Nobody sends to them, and their entries stay as they are, so
    /// that a switch taken out of service and put back costs the others no write for its own LID.
    std::vector<mad::LidRange> away;

    [[nodiscard]] bool empty() const { return elements.empty() && away.empty(); }
    friend bool operator==(const Drained&, const Drained&) = default;
};

/// A fabric as engines may use it.
struct MaskedTopology {
    Topology topology;  ///< the same switches, end ports, LIDs and numbers; fewer cables
    std::vector<SwitchPort>
        spared;  ///< both ends of drained cables between switches that are still in it; sorted
};
[[nodiscard]] MaskedTopology mask_drained(const Topology& topology, const Elements& drained);

/// Gives LIDs that nobody has, but a drained switch that is away had, their entries of before.
void keep_entries(const Topology& topology, const std::vector<mad::LidRange>& away, const Routes& previous,
                  Routes& out);

/// What an engine that asks no topology leaves on drained cables; empty: nothing.
[[nodiscard]] std::string crossings(const Topology& whole, const Topology& masked, const Routes& routes);

}  // namespace ibf::routing
