#include "sim/trap_desk.hpp"

#include <algorithm>

#include "mad/codec.hpp"

namespace ibf::sim {
namespace {

constexpr std::size_t kTrapsMaxPerDevice = 16;
constexpr std::uint8_t kTypeUrgent = 1;
constexpr std::uint8_t kTypeInformational = 4;

void put16(mad::Notice& notice, std::size_t at, std::uint16_t value) {
    notice.details[at] = static_cast<std::uint8_t>(value >> 8U);
    notice.details[at + 1] = static_cast<std::uint8_t>(value & 0xFFU);
}

}  // namespace

mad::Notice make_notice(std::uint16_t trap_number, const Device& device, const Port& issuer,
                        mad::PortNum subject) {
    mad::Notice notice;
    notice.producer = static_cast<std::uint32_t>(device.info.type);
    notice.trap_number = trap_number;
    notice.issuer_lid = issuer.info.lid;
    notice.type = trap_number == kTrapCapability ? kTypeInformational : kTypeUrgent;
    const std::uint16_t lid = issuer.info.lid.value();
    switch (trap_number) {
        case kTrapLinkState: put16(notice, 0, lid); break;
        case 129:
        case 130:
        case 131:
            put16(notice, 2, lid);
            notice.details[4] = subject.value();
            break;
        case kTrapCapability: {
            constexpr std::size_t kMaskOffset = 6;
            put16(notice, 2, lid);
            put16(notice, kMaskOffset, static_cast<std::uint16_t>(issuer.info.capability_mask >> 16U));
            put16(notice, kMaskOffset + 2, static_cast<std::uint16_t>(issuer.info.capability_mask & 0xFFFFU));
            break;
        }
        default: put16(notice, 2, lid); break;
    }
    return notice;
}

std::optional<std::uint32_t> TrapDesk::add(PortRef from, const mad::Notice& notice, std::uint32_t sends) {
    const auto same_device = [&](const Trap& trap) { return trap.in_use && trap.from.node == from.node; };
    if (sends == 0 || static_cast<std::size_t>(std::count_if(traps_.begin(), traps_.end(), same_device)) >=
                          kTrapsMaxPerDevice) {
        return std::nullopt;
    }
    std::uint32_t slot = static_cast<std::uint32_t>(traps_.size());
    if (free_.empty()) {
        traps_.emplace_back();
    } else {
        slot = free_.back();
        free_.pop_back();
    }
    Trap& trap = traps_[slot];
    trap = Trap{.from = from, .smp = make_trap(notice), .sends_left = sends, .in_use = true};
    return slot;
}

mad::Smp TrapDesk::make_trap(const mad::Notice& notice) {
    mad::Smp smp;
    smp.header.mgmt_class = mad::MgmtClass::subn_lid;
    smp.header.method = static_cast<std::uint8_t>(mad::Method::trap);
    smp.header.attribute = mad::Attribute::notice;
    smp.header.tid = next_tid_++;
    smp.data = mad::encode(notice);
    return smp;
}

void TrapDesk::end(std::uint32_t slot) {
    traps_[slot].in_use = false;
    free_.push_back(slot);
}

std::optional<TrapDesk::Trap> TrapDesk::take_due(std::uint32_t slot) {
    Trap& trap = traps_[slot];
    if (trap.sends_left == 0) {
        end(slot);
        return std::nullopt;
    }
    --trap.sends_left;
    const Trap sent = trap;
    if (sent.sends_left == 0) {
        end(slot);
    }
    return sent;
}

void TrapDesk::repress(std::uint32_t node, std::uint64_t tid) {
    for (Trap& trap : traps_) {
        if (trap.in_use && trap.from.node == node && trap.smp.header.tid == tid) {
            trap.sends_left = 0;
        }
    }
}

}  // namespace ibf::sim
