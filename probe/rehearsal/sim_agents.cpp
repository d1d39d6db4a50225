#include "probe/rehearsal/sim_agents.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "sim/data_traffic.hpp"

namespace ibf::probe {
namespace {

constexpr std::uint32_t kDefaultMtu = 4096;
constexpr std::uint64_t kWithoutCount = 1000;  ///< messages of a test that is bounded by time alone
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
        done(results.size());
    }
    return results;
}

}  // namespace ibf::probe
