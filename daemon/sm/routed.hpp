// DOC: what routes are computed for, and when they are not computed anew. Pure.
//
// A host that is switched off, or rebooting, will be back. Routes go on leading to the port where it was: its
// absence changes no table, nor does its return to that port with its LID, nor anything else that happens
// meanwhile. So the topology that routes are computed on is what is there, and the end ports of the one
// before that are away: as long as their switch is there, nothing else is cabled to their port, and nobody
// has their LIDs. Where switches, their cables or anybody's place or LID differ, routes are computed anew.
#pragma once

#include <memory>

#include "daemon/fabric/fabric.hpp"

namespace ibf::sm {

/// `now`, the view of `fabric`, itself where nobody is away. End ports that are away have no place in the
/// fabric: node kNoNode. One that is there, and left out of `now` for some reason, is not away.
[[nodiscard]] std::shared_ptr<const fabric::TopologyView> with_absent(
    const std::shared_ptr<const fabric::TopologyView>& now, const fabric::Fabric& fabric,
    const fabric::TopologyView* before);

/// Routes computed on `before` are right for `now`, entry by entry. Names do not count.
[[nodiscard]] bool routes_alike(const routing::Topology& before, const routing::Topology& now);

}  // namespace ibf::sm
