// DOC: the traps that devices have sent and nobody has repressed yet.
//
// A trap goes to the MasterSMLID that the device's port knows, and again each trap_interval until a
// TrapRepress with its TID comes or it was sent trap_sends times (IBA 13.4.9). The desk keeps the notices and
// their TIDs; the engine sends them when their event is due. A slot is in use from add() until its last event
// has run, so a trap_due event never finds another trap in its slot.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "mad/smp.hpp"
#include "sim/world.hpp"

namespace ibf::sim {

/// Trap numbers (IBA 13.4.8.2, 14.2.5.1).
inline constexpr std::uint16_t kTrapLinkState = 128;
inline constexpr std::uint16_t kTrapCapability = 144;

/// A notice as `issuer` would fill it; ports 129-131 speak of `subject`.
[[nodiscard]] mad::Notice make_notice(std::uint16_t trap_number, const Device& device, const Port& issuer,
                                      mad::PortNum subject);

class TrapDesk {
public:
    struct Trap {
        PortRef from;  ///< the port that sends it: port 0 of a switch
        mad::Smp smp{};
        std::uint32_t sends_left = 0;
        bool in_use = false;
    };
    /// The slot, or empty where the device has too many traps out already.
    [[nodiscard]] std::optional<std::uint32_t> add(PortRef from, const mad::Notice& notice,
                                                   std::uint32_t sends);
    /// The trap to send now, if it is still to be sent. The last send ends its life.
    [[nodiscard]] std::optional<Trap> take_due(std::uint32_t slot);
    /// Whether the slot wants another event.
    [[nodiscard]] bool pending(std::uint32_t slot) const { return traps_[slot].in_use; }
    void repress(std::uint32_t node, std::uint64_t tid);
    /// The trap as a packet, under a TID of its own.
    [[nodiscard]] mad::Smp make_trap(const mad::Notice& notice);

private:
    void end(std::uint32_t slot);

    std::vector<Trap> traps_;
    std::vector<std::uint32_t> free_;
    std::uint32_t next_tid_ = 1;
};

}  // namespace ibf::sim
