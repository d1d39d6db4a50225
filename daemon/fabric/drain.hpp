// DOC: what an operator has drained, and what is there to be seen of it.
//
// A drain names a switch, or the cable at one of its ports, by GUID: it holds while the element is away, and
// for whatever is plugged into that port. Each remembers where it was last seen cabled to other switches,
// which tells a switch that was taken out from one that was put in its place. What a drain does to routes is
// routing/drained.hpp. Pure values.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/time.hpp"
#include "daemon/fabric/fabric.hpp"
#include "routing/elements.hpp"

namespace ibf::fabric {

/// A port of a drained switch, and the switch port at the other end of the cable.
struct DrainCable {
    mad::PortNum port{};
    mad::Guid peer{};
    mad::PortNum peer_port{};
    friend bool operator==(const DrainCable&, const DrainCable&) = default;
};

struct Drain {
    mad::Guid node{};     ///< a switch
    mad::PortNum port{};  ///< 0: all of it
    std::string name;     ///< its description when it was drained
    base::WallTime since{};
    bool forced = false;             ///< hosts needed it when it was asked for
    std::vector<DrainCable> cables;  ///< where it was last seen, by port

    [[nodiscard]] bool is_switch() const { return port == mad::PortNum{0}; }
    friend bool operator==(const Drain&, const Drain&) = default;
};

/// "'spine-1' 0x..." or "'spine-1' 0x... port 4".
[[nodiscard]] std::string to_string(const Drain& drain);

/// In the order of GUID and port, each once.
using DrainList = std::vector<Drain>;
[[nodiscard]] routing::Elements elements_of(const DrainList& drains);

struct Drains {
    DrainList asked;
    /// What the tables in force heed; an element that is not in here yet, or still is, is on its way.
    routing::Elements in_force;

    [[nodiscard]] bool heeds(const Drain& drain) const;
};

/// How many elements can be drained at a time.
inline constexpr std::size_t kDrainsMax = 1024;

/// Where a drained element is cabled to other switches; empty where it is not there.
[[nodiscard]] std::vector<DrainCable> cables_of(const Fabric& fabric, const Drain& drain);

/// Another switch, found at the far end of a cable where the drained one was, or behind the drained port.
struct Substitute {
    mad::Guid guid{};
    std::string name;
    DrainCable at;  ///< the cable as it was
};
struct DrainSight {
    bool here = false;  ///< the switch; of a cable, both of its ends
    std::optional<Substitute> substitute;
};
[[nodiscard]] DrainSight look_for(const Fabric& fabric, const Drain& drain);

}  // namespace ibf::fabric
