// DOC: the tables in force, ready to be followed.
//
// A Forwarding joins a snapshot's topology with the LFTs that the switches acknowledged and answers where a
// packet goes. It judges nothing (routing::verify does) and trusts nothing: rows may be missing, short, or
// loop. It keeps what it reads alive and is immutable, so it may be shared by threads. IBA 14.2.5.10.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/result.hpp"
#include "daemon/fabric/snapshot.hpp"
#include "routing/routes.hpp"

namespace ibf::fabric {

class Forwarding {
public:
    /// Requires snapshot.view.
    explicit Forwarding(const Snapshot& snapshot);

    /// Who answers to a LID. `index` is a SwitchIndex or EndPortIndex value.
    struct Owner {
        routing::PortPeer::Kind kind = routing::PortPeer::Kind::none;
        std::uint32_t index = routing::kNoIndex;
        auto operator<=>(const Owner&) const = default;
    };

    [[nodiscard]] const routing::Topology& topology() const { return view_->topology; }
    [[nodiscard]] Owner owner(mad::Lid lid) const;
    /// Exit port for a LID at a switch; mad::kLftDrop where the table says so, has no entry, or is not known.
    [[nodiscard]] std::uint8_t exit(std::uint32_t at, mad::Lid lid) const;
    /// True if this switch acknowledged a table.
    [[nodiscard]] bool has_table(std::uint32_t at) const;

    /// From a switch, entered by `in` (0: starting there), to the LID: each switch with its ports; the last
    /// has `out` 0 if it is the destination itself. Errors: not_found, naming the hop where the way ends.
    [[nodiscard]] base::Result<std::vector<routing::PathHop>> walk(std::uint32_t from, mad::PortNum in,
                                                                   mad::Lid lid) const;
    /// Links crossed on the way from a switch to the LID's owner; empty if it does not arrive.
    [[nodiscard]] std::optional<std::uint32_t> hops(std::uint32_t from, mad::Lid lid) const;

    /// The same tables as the verifier takes them, with the lanes of the routes that they came from.
    [[nodiscard]] routing::Routes routes() const;

private:
    std::shared_ptr<const TopologyView> view_;
    std::vector<std::shared_ptr<const routing::LftRow>> rows_;
    std::vector<Owner> owners_;                      ///< by LID, up to max_lid
    std::shared_ptr<const routing::Routes> wanted_;  ///< null: none computed yet
};

}  // namespace ibf::fabric
