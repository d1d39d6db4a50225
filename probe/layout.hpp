// DOC: which message carries what, where it lies, and what it takes on the wire.
//
// Both sides compute this from the TestSpec alone, so that nothing but addresses has to be told.
//
// Message n of a queue pair carries pattern number n % contents (payload.hpp). The sender holds each pattern
// once, for all its queue pairs. Who receives (or reads) compares the first 64 messages of a queue pair (of
// large ones as many as are 64 MiB), and after these every check_every-th: up to 4 KiB all, of larger ones up
// to each 17th, since one processor cannot check what a port can carry. Those land in slots of their own,
// which stay untouched until they were compared, and all others in one slot that nobody looks at. Ping and ud
// compare all; so does the target of a write, which looks once, in the end, at a slot for each pattern of
// each queue pair: what lies there then. A write that was damaged, and written over by a later one of the
// same pattern, is not seen.
//
// Of large messages fewer are in flight than the spec's depth: 32 MiB of all queue pairs together, and of
// each two at least (one above 64 MiB). More hides no latency, and all of it has to arrive after the time is
// over.
//
// A slot that was compared is marked (one octet in each 256 turned over), so that a message that never
// arrives there is not taken for the one before. Pure.
#pragma once

#include <cstdint>
#include <span>

#include "base/result.hpp"
#include "probe/spec.hpp"

namespace ibf::probe {

inline constexpr std::uint64_t kMessageBytesMost = 1ULL << 30U;
inline constexpr std::uint64_t kPinnedBytesMost = 4ULL << 30U;  ///< of one side
inline constexpr std::uint32_t kGrhBytes = 40;  ///< in front of what UD receives (IBA 11.4.1.2)

/// Whether each value is one that the specification of the test allows. Errors: usage.
[[nodiscard]] base::Result<void> check_spec(const TestSpec& spec);
/// Whether the way leaves to librdmacm what is its own to choose. Errors: usage.
[[nodiscard]] base::Result<void> check_way(const TestSpec& spec, const Way& way);

/// What a packet has beside its payload, at most: of RoCE v2 preamble and gap (20), Ethernet with a VLAN and
/// FCS (22), IPv6 (40), UDP (8), BTH (12), RETH (16) and ICRC (4). InfiniBand with a GRH has 82. One number,
/// the largest, so that a cap is a cap whatever the port and whichever header the adapter takes.
inline constexpr std::uint64_t kPacketOverhead = 122;
/// What a rate is charged for a message: payload, and the headers of its packets.
[[nodiscard]] std::uint64_t octets_on_wire(std::uint64_t message_bytes, std::uint32_t mtu_bytes);
/// How long the answer to a ud message is waited for: as long as a connection would, 1 s where that would be
/// for ever, and never below 1 ms, since nobody may be there, and the next one follows at once.
[[nodiscard]] base::Duration ud_patience(const TestSpec& spec);
/// RDMA reads under way at once: what our adapter asks and what the other one answers (0: it did not tell).
[[nodiscard]] std::uint8_t agreed_reads(std::uint8_t ours, std::uint8_t theirs);

struct Layout {
    std::uint64_t message_bytes = 0;
    std::uint32_t queue_pairs = 1;
    std::uint32_t in_flight = 1;    ///< messages of one queue pair
    std::uint32_t receives = 0;     ///< receive requests that this side keeps posted on each; 0: none
    std::uint32_t contents = 1;     ///< different patterns
    std::uint32_t check_every = 1;  ///< 0: nothing is compared
    std::uint32_t checked_first = 64;
    std::uint64_t stride = 64;   ///< from slot to slot
    std::uint32_t headroom = 0;  ///< octets of a slot before the payload
    std::uint32_t source_slots = 0;
    std::uint32_t slots = 0;  ///< to receive into, of each queue pair
    bool has_unseen = false;  ///< one more slot at the end, for what is not compared

    [[nodiscard]] std::uint64_t source(std::uint64_t message) const {
        return message % contents * stride + headroom;
    }
    /// Where the slot begins; its payload is headroom octets further.
    [[nodiscard]] std::uint64_t slot(std::uint32_t queue_pair, std::uint32_t number) const {
        return (source_slots + std::uint64_t{queue_pair} * slots + number) * stride;
    }
    [[nodiscard]] std::uint64_t unseen() const {
        return (source_slots + std::uint64_t{queue_pairs} * slots) * stride;
    }
    [[nodiscard]] std::uint64_t total_bytes() const { return unseen() + (has_unseen ? stride : 0); }
    [[nodiscard]] bool is_checked(std::uint64_t message) const {
        return check_every != 0 && (message < checked_first || message % check_every == 0);
    }
};

/// Errors: usage (as check_spec(), or more memory than kPinnedBytesMost).
[[nodiscard]] base::Result<Layout> layout_of(const TestSpec& spec, Side side);

/// How many slots, of all queue pairs together, the target of a write must find written once the initiator
/// has counted that many completed messages: no fewer than this. 0 if nothing is compared.
[[nodiscard]] std::uint64_t slots_written(const TestSpec& spec, std::uint64_t completed);

/// So that the same content does not stand there a second time unless it arrives.
void mark_compared(std::span<std::uint8_t> slot);

}  // namespace ibf::probe
