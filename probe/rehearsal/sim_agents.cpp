#include "probe/rehearsal/sim_agents.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "sim/data_traffic.hpp"

namespace ibf::probe {
namespace {

constexpr std::uint32_t kDefaultMtu = 4096;
constexpr std::uint64_t kWithoutCount = 1000;  ///< messages of a test that is bounded by time alone
constexpr unsigned kHeldTo = 10;               ///< times as long
constexpr std::uint64_t kNanoseconds = 1'000'000'000;
constexpr std::string_view kTransportError = "transport retry counter exceeded";

std::uint64_t messages_of(const TestSpec& spec) {
    return (spec.messages > 0 ? spec.messages : kWithoutCount) * spec.queue_pairs;
}

bool is_there_and_back(Test test) {
    return test == Test::ping || test == Test::ud;
}

base::Duration retry_time(const TestSpec& spec) {
    // Local ACK timeout: 4.096 us * 2^n, and it may be four times as long (IBA 9.7.6.1.3).
    return base::Duration{4096 * (std::int64_t{1} << spec.ack_timeout)} * (spec.retries + 1);
}

void have_mishap(Mishap mishap, Side side, FlowResult& result) {
    Outcome& own = side == Side::initiator ? result.initiator : result.target;
    switch (mishap) {
        case Mishap::dies:
            own.failure = failure::kPeerGone;
            own.failure_text = "the connection to its agent broke: closed";
            break;
        case Mishap::ends_by_limit:
            own.failure = failure::kRefused;
            own.failure_text = "its agent ended it after 1 s, the longest that it allows (limits.seconds)";
            break;
        case Mishap::stops: break;
        case Mishap::sees_corrupt:
            own.corrupt = 1;
            own.failure = failure::kCorrupt;
            own.failure_text = "1 of the messages that were compared was not as sent";
            return;
        case Mishap::answers_half:
            result.initiator.lost = result.initiator.messages / 2;
            result.initiator.messages -= result.initiator.lost;
            result.initiator.bytes /= 2;
            return;
        case Mishap::holds_to_share:
            result.initiator.elapsed *= kHeldTo;
            result.bits_per_second =
                result.initiator.bytes * 8 * kNanoseconds /
                std::max<std::uint64_t>(1, static_cast<std::uint64_t>(result.initiator.elapsed.count()));
            return;
    }
    result.initiator.was_stopped = true;  // whatever ended one side, ends the initiator
}

}  // namespace

/// Other people's flows: they finish or they don't, nobody asks.
void SimAgents::run_others() {
    for (std::uint32_t i = 0; i < background_.flows && !topology_.end_ports.empty(); ++i) {
        const auto pick = [&] { return static_cast<std::uint32_t>(prng_.below(topology_.end_ports.size())); };
        const std::uint32_t from = pick();
        const std::uint32_t to = pick();
        if (from == to) {
            continue;
        }
        static_cast<void>(simulator_.carry({.from = places_.at(topology_, routing::EndPortIndex{from}),
                                            .to = topology_.end_ports[to].lids.base,
                                            .bytes = 1 + prng_.below(background_.bytes_most),
                                            .noise = background_.noise}));
    }
}

FlowResult SimAgents::run_one(const FlowOrder& order, const TestSpec& spec) {
    FlowResult result;
    for (const routing::EndPortIndex end : {order.flow.from, order.flow.to}) {
        if (dead_.contains(end.value())) {
            result.silent_agent = end;
            result.text = "connection refused";
            return result;
        }
    }
    result.ran = true;
    const std::uint64_t messages = messages_of(spec);
    sim::DataFlow flow{.from = places_.at(topology_, order.flow.from),
                       .to = order.flow.lid,
                       .bytes = messages * spec.message_bytes,
                       .mtu_bytes = spec.mtu_bytes > 0 ? spec.mtu_bytes : kDefaultMtu,
                       .retries = spec.retries,
                       .busy = background_.flows > 0 ? background_.busy_most * prng_.unit() : 0.0,
                       .noise = background_.flows > 0 ? background_.noise : 0.0};
    const sim::DataFate fate = simulator_.carry(flow);
    Outcome& outcome = result.initiator;
    if (!fate.completed) {
        outcome.failure = failure::kRetryExceeded;
        outcome.failure_text = fmt::format("nothing was acknowledged by LID {}", order.flow.lid);
        outcome.errors[std::string(kTransportError)] = 1;
        outcome.elapsed = retry_time(spec);
        return result;
    }
    outcome.messages = messages;
    outcome.bytes = flow.bytes;
    outcome.checked = spec.check_payload ? messages : 0;
    outcome.elapsed = fate.elapsed;
    result.target.messages = messages;
    result.target.bytes = flow.bytes;
    if (is_there_and_back(spec.test)) {
        // The answers go the other way, by the tables too.
        flow.from = places_.at(topology_, order.flow.to);
        flow.to = topology_.end_ports[order.flow.from.value()].lids.base;
        static_cast<void>(simulator_.carry(flow));
        const auto each =
            fate.elapsed.count() / static_cast<std::int64_t>(std::max<std::uint64_t>(1, messages));
        for (std::uint64_t i = 0; i < messages; ++i) {
            outcome.latency.add(static_cast<std::uint64_t>(each));
        }
    }
    return result;
}

void SimAgents::suffer(const FlowOrder& order, FlowResult& result) const {
    for (const auto& [host, side] :
         {std::pair{order.flow.from, Side::initiator}, std::pair{order.flow.to, Side::target}}) {
        const auto mishap = mishaps_.find(host.value());
        if (result.ran && mishap != mishaps_.end()) {
            have_mishap(mishap->second, side, result);
        }
    }
}

std::vector<FlowResult> SimAgents::run(std::span<const FlowOrder> orders, const TestSpec& spec,
                                       const std::function<void(std::size_t)>& done, std::stop_token stop) {
    std::vector<FlowResult> results;
    run_others();
    for (const FlowOrder& order : orders) {
        if (stop.stop_requested()) {
            results.push_back({.text = "stopped before it began"});
            continue;
        }
        results.push_back(run_one(order, spec));
        suffer(order, results.back());
        done(results.size());
    }
    return results;
}

}  // namespace ibf::probe
