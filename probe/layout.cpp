#include "probe/layout.hpp"

#include <algorithm>
#include <chrono>

#include <fmt/format.h>

namespace ibf::probe {
namespace {

constexpr std::uint64_t kInFlightBytes = 32ULL
                                         << 20U;  ///< of all queue pairs: 400 Gb/s over half a millisecond
constexpr std::uint64_t kContentBytes = 64ULL << 20U;
constexpr std::uint32_t kContentsMost = 16;
constexpr std::uint32_t kCheckedFirstMost = 64;
constexpr std::uint64_t kCheckedWhole = 4096;  ///< messages up to here are all compared
constexpr std::uint64_t kPingBytes = 4U << 20U;
constexpr std::uint32_t kPingReceivesMost = 16;  ///< an echo holds its slot until it is acknowledged
constexpr std::uint32_t kUdReceives = 16;        ///< late answers come too
constexpr std::chrono::milliseconds kUdPatienceLeast{1};
constexpr std::chrono::seconds kUdPatienceForEver{1};
constexpr std::uint32_t kMarkStep = 256;  ///< the smallest MTU: each packet leaves a trace

std::uint32_t clamped(std::uint64_t value, std::uint64_t least, std::uint64_t most) {
    return static_cast<std::uint32_t>(std::clamp(value, least, std::max(least, most)));
}

std::uint32_t checked_interval(const TestSpec& spec) {
    if (!spec.check_payload) {
        return 0;
    }
    if (spec.test == Test::ping || spec.test == Test::ud || spec.test == Test::write) {
        return 1;
    }
    // Odd, so that in turn all contents are compared.
    return clamped(spec.message_bytes / kCheckedWhole, 1, 16) | 1U;
}

/// Slots for the messages that are compared, of `requests` that are posted; two more for those being looked
/// at.
std::uint32_t slots_for(const Layout& layout, std::uint32_t requests) {
    if (layout.check_every <= 1) {
        return layout.check_every * requests;
    }
    return std::min(requests, std::min(requests, layout.checked_first) + requests / layout.check_every + 2);
}

void place_receiver(Layout& layout, std::uint32_t requests) {
    layout.slots = slots_for(layout, requests);
    layout.has_unseen = layout.check_every != 1;
}

}  // namespace

base::Result<void> check_spec(const TestSpec& spec) {
    const auto wrong = [](std::string text) { return base::fail(base::ErrorKind::usage, std::move(text)); };
    if (spec.message_bytes < 1 || spec.message_bytes > kMessageBytesMost) {
        return wrong(fmt::format("messages of {} octets: 1 to 1 GiB can be sent", spec.message_bytes));
    }
    if (spec.messages == 0 && spec.duration <= base::Duration::zero()) {
        return wrong("neither a number of messages nor a duration: the test would not end");
    }
    if (spec.queue_pairs < 1 || spec.queue_pairs > 64) {
        return wrong(fmt::format("{} queue pairs: 1 to 64 can be used", spec.queue_pairs));
    }
    if (spec.depth < 1 || spec.depth > 1024) {
        return wrong(fmt::format("{} messages in flight: 1 to 1024 can be", spec.depth));
    }
    if (spec.mtu_bytes != 0 && mad::mtu_from_bytes(spec.mtu_bytes) == mad::Mtu::none) {
        return wrong(fmt::format("an MTU of {}: it is 256, 512, 1024, 2048 or 4096", spec.mtu_bytes));
    }
    if (spec.ack_timeout > 31 || spec.rnr_timer > 31) {
        return wrong("the acknowledge timeout and the RNR timer are codes from 0 to 31");
    }
    if (spec.retries > 7 || spec.rnr_retries > 7) {
        return wrong("retries and RNR retries are 0 to 7");
    }
    if (spec.test == Test::ud && spec.use_cm) {
        return wrong("a ud test has no connection: leave out --cm");
    }
    if (spec.use_cm && spec.mtu_bytes != 0) {
        return wrong("with --cm the MTU is the path's: leave it out");
    }
    if (spec.test == Test::ud && spec.message_bytes > 4096) {
        return wrong(fmt::format("a ud message of {} octets: it is one packet, at most the path's MTU",
                                 spec.message_bytes));
    }
    return {};
}

base::Result<void> check_way(const TestSpec& spec, const Way& way) {
    if (spec.use_cm &&
        (way.dlid || way.sl.value_or(mad::Sl{}) != mad::Sl{} || way.path_bits != 0 || way.pkey_index != 0)) {
        return base::fail(base::ErrorKind::usage,
                          "with --cm the path is librdmacm's: leave out the LID, SL, path bits and P_Key");
    }
    return {};
}

std::uint64_t octets_on_wire(std::uint64_t message_bytes, std::uint32_t mtu_bytes) {
    const std::uint64_t packets = message_bytes == 0 ? 1 : (message_bytes + mtu_bytes - 1) / mtu_bytes;
    return message_bytes + packets * kPacketOverhead;
}

base::Duration ud_patience(const TestSpec& spec) {
    if (spec.ack_timeout == 0) {
        return kUdPatienceForEver;
    }
    const base::Duration each = std::chrono::nanoseconds{4096LL << spec.ack_timeout};
    return std::max<base::Duration>(kUdPatienceLeast, each * (spec.retries + 1));
}

std::uint8_t agreed_reads(std::uint8_t ours, std::uint8_t theirs) {
    return theirs == 0 ? ours : std::min(ours, theirs);
}

base::Result<Layout> layout_of(const TestSpec& spec, Side side) {
    if (auto fine = check_spec(spec); !fine) {
        return tl::unexpected(fine.error());
    }
    const bool initiates = side == Side::initiator;
    const bool one_by_one = spec.test == Test::ping || spec.test == Test::ud;
    Layout layout;
    layout.message_bytes = spec.message_bytes;
    layout.queue_pairs = spec.queue_pairs;
    layout.check_every = checked_interval(spec);
    layout.headroom = spec.test == Test::ud ? kGrhBytes : 0;
    layout.stride = (layout.headroom + spec.message_bytes + 63) / 64 * 64;
    const std::uint64_t all_queue_pairs = spec.message_bytes * spec.queue_pairs;
    const std::uint32_t at_least = spec.message_bytes > kContentBytes ? 1 : std::min(spec.depth, 2U);
    layout.in_flight = one_by_one ? 1 : clamped(kInFlightBytes / all_queue_pairs, at_least, spec.depth);
    layout.checked_first = clamped(kContentBytes / spec.message_bytes, 1, kCheckedFirstMost);
    layout.contents = clamped(
        kContentBytes / (spec.test == Test::write ? all_queue_pairs : spec.message_bytes), 1, kContentsMost);
    if (initiates != (spec.test == Test::read)) {
        layout.source_slots = layout.contents;
    }
    if (one_by_one) {
        // One that is looked at, one that waits, at least.
        layout.receives = spec.test == Test::ud
                              ? kUdReceives
                              : clamped(kPingBytes / spec.message_bytes, 2, kPingReceivesMost);
        layout.slots = layout.receives;
    } else if (spec.test == Test::send && !initiates) {
        layout.receives = 2 * layout.in_flight;
        place_receiver(layout, layout.receives);
    } else if (spec.test == Test::read && initiates) {
        place_receiver(layout, layout.in_flight);
    } else if (spec.test == Test::write && !initiates) {
        layout.slots = layout.contents;
    }
    if (layout.total_bytes() > kPinnedBytesMost) {
        return base::fail(base::ErrorKind::usage,
                          fmt::format("this test needs {} MiB of pinned memory on the {}, at most {} MiB are "
                                      "taken: use smaller messages or fewer queue pairs",
                                      layout.total_bytes() >> 20U, initiates ? "initiator" : "target",
                                      kPinnedBytesMost >> 20U));
    }
    return layout;
}

std::uint64_t slots_written(const TestSpec& spec, std::uint64_t completed) {
    const auto layout = layout_of(spec, Side::target);
    if (!layout || spec.test != Test::write || !spec.check_payload) {
        return 0;
    }
    if (spec.messages > 0 && completed / spec.queue_pairs == spec.messages) {
        return std::min<std::uint64_t>(spec.messages, layout->contents) * spec.queue_pairs;
    }
    // How far each queue pair came is not told; one of them as far as the mean, rounded up.
    return std::min<std::uint64_t>(layout->contents, (completed + spec.queue_pairs - 1) / spec.queue_pairs);
}

void mark_compared(std::span<std::uint8_t> slot) {
    for (std::size_t at = 0; at < slot.size(); at += kMarkStep) {
        slot[at] = static_cast<std::uint8_t>(~slot[at]);
    }
}

}  // namespace ibf::probe
