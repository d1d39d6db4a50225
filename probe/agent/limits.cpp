#include "probe/agent/limits.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/words.hpp"

namespace ibf::probe {

using base::ErrorKind;
using base::Result;

Result<Way> allowed_way(const AgentLimits& limits, const std::vector<std::string>& devices,
                        const Prepare& asked) {
    const TestSpec& spec = asked.spec;
    const Way& way = asked.way;
    const auto refuse = [](std::string text) { return base::fail(ErrorKind::refused, std::move(text)); };
    if (spec.test == Test::read && asked.side == Side::target && limits.bits_per_second != 0) {
        return refuse(
            "it has a limit of the rate, and its adapter answers reads as fast as they are asked for: use "
            "another test, or let this host read (limits.bits_per_second)");
    }
    if (spec.duration > std::chrono::seconds{limits.seconds}) {
        return refuse(fmt::format("a run of {} is longer than it allows: at most {} s (limits.seconds)",
                                  base::format_duration(spec.duration), limits.seconds));
    }
    if (limits.bits_per_second != 0 &&
        (spec.bits_per_second == 0 || spec.bits_per_second > limits.bits_per_second)) {
        return refuse(fmt::format("it allows at most {:g} Mb/s (limits.bits_per_second): give a --rate{}",
                                  static_cast<double>(limits.bits_per_second) / 1e6,
                                  spec.bits_per_second == 0 ? "" : " of no more"));
    }
    const auto message_bits = static_cast<double>(spec.message_bytes) * 8;
    if (limits.bits_per_second != 0 &&
        message_bits > static_cast<double>(spec.bits_per_second) * limits.seconds) {
        return refuse(
            fmt::format("one message of {} bytes takes longer than it allows, {} s, at {:g} Mb/s "
                        "(limits.bits_per_second)",
                        spec.message_bytes, limits.seconds, static_cast<double>(spec.bits_per_second) / 1e6));
    }
    if (limits.message_bytes != 0 && spec.message_bytes > limits.message_bytes) {
        return refuse(
            fmt::format("messages of {} bytes are longer than it allows: at most {} (limits.message_bytes)",
                        spec.message_bytes, limits.message_bytes));
    }
    if (limits.queue_pairs != 0 && spec.queue_pairs > limits.queue_pairs) {
        return refuse(fmt::format("{} queue pairs are more than it allows: at most {} (limits.queue_pairs)",
                                  spec.queue_pairs, limits.queue_pairs));
    }
    Way taken = way;
    if (!devices.empty() && way.device.empty()) {
        taken.device = devices.front();
    } else if (!devices.empty() && std::find(devices.begin(), devices.end(), way.device) == devices.end()) {
        return refuse(fmt::format("device {} is none that it allows: {} (limits.devices)",
                                  base::quote(way.device), fmt::join(devices, ", ")));
    }
    return taken;
}

Result<void> allowed_peer(const TestSpec& spec, const EndpointAddress& peer) {
    const bool has_nameless = std::any_of(peer.queue_pairs.begin(), peer.queue_pairs.end(),
                                          [](const QueuePairAddress& pair) { return pair.number == 0; });
    if (has_nameless && !spec.use_cm) {
        return base::fail(ErrorKind::refused, "it sends to no queue pair 0, which is the subnet manager's");
    }
    return {};
}

Outcome ended_by_limit(Outcome outcome, const AgentLimits& limits, const std::string& host) {
    outcome.was_stopped = true;
    if (outcome.failure.empty()) {
        outcome.failure = failure::kRefused;
        outcome.failure_text = fmt::format(
            "{} ended it after {} s, the longest that it allows (limits.seconds)", host, limits.seconds);
    }
    return outcome;
}

}  // namespace ibf::probe
