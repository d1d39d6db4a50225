// DOC: what is remembered of links that change: which end speaks for each, and what light sweeps last found
// of those that are held down. Pure.
//
// A link has two ends, and both tell of it: what it did is held against one of them, the one that speaks for
// it. That is remembered for ports whose gate HoldDown keeps, so there are no more of them, and whoever goes
// on changing is not forgotten however many others did.
#pragma once

#include <cstddef>
#include <map>

#include "daemon/fabric/health.hpp"
#include "daemon/sm/hold_down.hpp"

namespace ibf::sm {

/// A port, as hold-down tells them apart.
[[nodiscard]] HoldDown::Subject subject_of(fabric::PortId port);

class LinkMemory {
public:
    /// A port has changed; `speaker`: the end that speaks for its link. `gates`: of such ports.
    void note_speaker(fabric::PortId port, fabric::PortId speaker, const HoldDown& gates);
    /// Also if nothing is known of it.
    [[nodiscard]] bool speaks_for_its_link(fabric::PortId port) const;

    /// A light sweep found a held port so. True: it was otherwise when one last looked.
    [[nodiscard]] bool note_held(fabric::PortId port, mad::PortState state);
    /// What is there was read: from here on it is compared with that.
    void forget_held(mad::Guid node);
    void forget_held() { held_.clear(); }

    /// Ports of which something is remembered, for either purpose.
    [[nodiscard]] std::size_t size() const { return speakers_.size() + held_.size(); }

private:
    std::map<fabric::PortId, fabric::PortId> speakers_;
    std::map<fabric::PortId, mad::PortState> held_;
};

}  // namespace ibf::sm
