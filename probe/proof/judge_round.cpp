// What a round's counters say of its flows.
#include <algorithm>
#include <array>
#include <limits>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/check.hpp"
#include "probe/proof/judge.hpp"

namespace ibf::probe {
namespace {

using routing::TableView;
using routing::Topology;

constexpr std::uint64_t kLeastPacket = 256;  ///< octets of the smallest MTU

/// What a port counted from one reading to the next.
struct Rise {
    bool known = false;
    std::string why;
    std::uint64_t transmit_words = 0;
    std::uint64_t receive_words = 0;
    std::optional<std::uint64_t> wait;
    std::vector<std::string> errors;  ///< "symbol errors +5"
};

struct ErrorCounter {
    const char* name;
    std::uint64_t before;
    std::uint64_t after;
    std::uint64_t maximum;
};

template <class Counter>
ErrorCounter counter_of(const char* name, Counter before, Counter after) {
    return {name, before, after, std::numeric_limits<Counter>::max()};
}

/// Those that blame the link at this port. Not among them: packets that were marked bad elsewhere (remote
/// physical errors), and those that had no way (relay errors), which the tables explain.
std::vector<std::string> risen_errors(const mad::PortCounters& a, const mad::PortCounters& b) {
    const std::array counters{
        counter_of("symbol errors", a.symbol_errors, b.symbol_errors),
        counter_of("link recoveries", a.link_recoveries, b.link_recoveries),
        counter_of("link downed", a.link_downed, b.link_downed),
        counter_of("receive errors", a.receive_errors, b.receive_errors),
        counter_of("transmit discards", a.transmit_discards, b.transmit_discards),
        counter_of("local integrity errors", a.local_integrity_errors, b.local_integrity_errors),
        counter_of("buffer overruns", a.buffer_overruns, b.buffer_overruns),
    };
    std::vector<std::string> risen;
    for (const ErrorCounter& counter : counters) {
        // One that stands lower was cleared meanwhile, and counts from there.
        const std::uint64_t rise =
            counter.after >= counter.before ? counter.after - counter.before : counter.after;
        if (rise > 0) {
            const char* more = counter.after == counter.maximum ? " or more" : "";
            risen.push_back(fmt::format("{} +{}{}", counter.name, rise, more));
        }
    }
    return risen;
}

Rise rise_of(const CounterReadings& before, const CounterReadings& after, const Place& place) {
    Rise rise;
    const auto a = before.find(place);
    const auto b = after.find(place);
    if (a == before.end() || b == after.end() || !a->second.known || !b->second.known) {
        const bool first = a == before.end() || !a->second.known;
        const auto& missing = first ? a : b;
        const bool absent = missing == (first ? before.end() : after.end());
        rise.why = absent ? "its counters were not read" : missing->second.why;
        return rise;
    }
    rise.errors = risen_errors(a->second.counters, b->second.counters);
    const CounterReading& then = a->second;
    const CounterReading& now = b->second;
    constexpr std::uint64_t kNarrowMost = std::numeric_limits<std::uint32_t>::max();
    if (then.wide != now.wide) {
        rise.why = "its agent changed between the readings";
    } else if (!now.wide && (now.transmit_words == kNarrowMost || now.receive_words == kNarrowMost)) {
        rise.why = "a 32-bit counter stands at its maximum: clear it (perfquery -R), or see less at a time";
    } else if (now.transmit_words < then.transmit_words || now.receive_words < then.receive_words) {
        rise.why = "its counters were cleared meanwhile";
    } else {
        rise.known = true;
        rise.transmit_words = now.transmit_words - then.transmit_words;
        rise.receive_words = now.receive_words - then.receive_words;
    }
    const std::uint32_t wait_before = then.counters.transmit_wait;
    const std::uint32_t wait_after = now.counters.transmit_wait;
    if (now.knows_wait && wait_after >= wait_before && wait_before != kNarrowMost) {
        rise.wait = wait_after - wait_before;
    }
    return rise;
}

/// 32-bit words that the flow put on each link of its path, at least.
std::uint64_t words_of(const FlowReport& flow, const TestSpec& spec) {
    const Outcome& outcome = flow.result.initiator;
    std::uint64_t octets = outcome.bytes;
    if (outcome.failure == failure::kRetryExceeded) {
        // Nothing of it was acknowledged, but the first packet was sent as often as the retries say.
        octets +=
            std::min<std::uint64_t>(spec.message_bytes, kLeastPacket) * (spec.retries + std::uint64_t{1});
    }
    return octets / 4;
}

/// An agent went away, or had a limit: what came of the flow says nothing of the fabric.
bool is_agents_doing(const Outcome& outcome) {
    return outcome.failure == failure::kPeerGone || outcome.failure == failure::kRefused;
}

/// Only the initiator is told that somebody said stop, and nobody said so to the target.
bool was_ended_by_nobody(const FlowResult& result) {
    return result.initiator.was_stopped && !result.target.was_stopped && result.initiator.failure.empty() &&
           result.target.failure.empty();
}

bool has_failed(const Outcome& outcome) {
    return !outcome.failure.empty() && outcome.failure != failure::kCorrupt;
}

bool has_lost(const FlowReport& flow) {
    const Outcome& here = flow.result.initiator;
    const Outcome& there = flow.result.target;
    return flow.has_run && !is_agents_doing(here) && !is_agents_doing(there) &&
           (has_failed(here) || has_failed(there) || here.lost > 0 || there.lost > 0);
}

/// "retry-exceeded (nothing was acknowledged by ...)".
std::string loss_text(const FlowResult& result) {
    const Outcome& here = result.initiator;
    if (has_failed(here)) {
        return fmt::format("{} ({})", here.failure, here.failure_text);
    }
    if (has_failed(result.target)) {
        return fmt::format("{} at the target ({})", result.target.failure, result.target.failure_text);
    }
    const std::uint64_t lost = here.lost + result.target.lost;
    return fmt::format("{} of {} messages were not answered", lost, here.messages + lost);
}

class RoundJudge {
public:
    RoundJudge(const Topology& topology, const TableView& view, const TestSpec& spec,
               const RoundReading& reading, std::span<FlowReport* const> flows)
        : topology_(topology), view_(view), spec_(spec), reading_(reading), flows_(flows) {
        for (const auto& [place, counters] : reading.after) {
            rises_.emplace(place, rise_of(reading.before, reading.after, place));
        }
        for (const FlowReport* flow : flows) {
            const std::uint64_t words = flow->has_run ? words_of(*flow, spec) : 0;
            bool is_sure = true;
            for (const Hop& hop : path_of(*flow)) {
                is_sure = is_sure && !is_adaptive(hop.out);
                expected_[hop.out] += words;
                sure_[hop.out] += is_sure ? words : 0;
            }
        }
    }

    void judge(std::vector<Finding>& findings) {
        for (const auto& [place, rise] : rises_) {
            if (!rise.errors.empty()) {
                add_finding(findings, {.kind = Finding::Kind::port_errors,
                                       .at = place,
                                       .peer = peer_of(topology_, place),
                                       .text = fmt::format("{}: {}", name_of(topology_, place),
                                                           fmt::join(rise.errors, ", "))});
            }
        }
        for (FlowReport* flow : flows_) {
            see_hops(*flow);
            if (flow->result.silent_agent) {
                tell_agent(*flow->result.silent_agent, "does not answer", flow->result.text, findings);
            } else if (flow->has_run) {
                tell_side(*flow, flow->flow.from, flow->result.initiator, findings);
                tell_side(*flow, flow->flow.to, flow->result.target, findings);
                find_throttle(*flow, findings);
            }
        }
        // Last, since whatever else is known on a path explains that its traffic is lost.
        for (const FlowReport* flow : flows_) {
            if (has_lost(*flow)) {
                tell_lost(*flow, findings);
            }
        }
    }

private:
    [[nodiscard]] const Rise& rise(const Place& place) const {
        static const Rise kNotRead{
            .known = false, .why = "its counters were not read", .wait = {}, .errors = {}};
        const auto found = rises_.find(place);
        return found != rises_.end() ? found->second : kNotRead;
    }
    [[nodiscard]] std::vector<Hop> path_of(const FlowReport& flow) const {
        std::optional<std::vector<Hop>> hops = hops_of(topology_, view_, flow.flow.from, flow.flow.lid);
        IBF_CHECK(hops, "a flow that does not arrive");
        return std::move(*hops);
    }
    /// What the link runs at now, else what it did when the topology was taken; 0: not known.
    [[nodiscard]] std::uint32_t rate_of(const Hop& hop) const {
        for (const Place& end : {hop.out, hop.in}) {
            if (const auto read = reading_.running.find(end);
                read != reading_.running.end() && read->second > 0) {
                return read->second;
            }
        }
        return mbps_of(topology_, hop.out);
    }
    [[nodiscard]] bool is_adaptive(const Place& place) const {
        return place.is_switch && std::find(reading_.adaptive.begin(), reading_.adaptive.end(),
                                            place.index) != reading_.adaptive.end();
    }
    void see_hops(FlowReport& flow) const;
    [[nodiscard]] HopReport see(const Hop& hop, std::uint64_t words, const Hop* adaptive) const;
    [[nodiscard]] std::optional<Place> find_elsewhere(const Place& out, std::uint64_t words) const;
    void tell_agent(routing::EndPortIndex host, std::string_view what, const std::string& why,
                    std::vector<Finding>& findings) const;
    void tell_side(const FlowReport& flow, routing::EndPortIndex host, const Outcome& outcome,
                   std::vector<Finding>& findings) const;
    void find_throttle(const FlowReport& flow, std::vector<Finding>& findings) const;
    void tell_lost(const FlowReport& flow, std::vector<Finding>& findings) const;
    [[nodiscard]] bool explains(const Finding& finding, const FlowReport& flow) const;

    const Topology& topology_;
    const TableView& view_;
    const TestSpec& spec_;
    const RoundReading& reading_;
    std::span<FlowReport* const> flows_;
    std::map<Place, Rise> rises_;
    std::map<Place, std::uint64_t> expected_;  ///< words out of a port, by all flows of the round
    std::map<Place, std::uint64_t> sure_;      ///< of these: of flows that cannot have gone another way
};

/// The port of the same switch that sent as much, and nobody was to send by it.
std::optional<Place> RoundJudge::find_elsewhere(const Place& out, std::uint64_t words) const {
    std::optional<Place> best;
    std::uint64_t most = words;
    for (auto item = rises_.lower_bound(Place{.is_switch = out.is_switch, .index = out.index});
         item != rises_.end() && item->first.is_switch == out.is_switch && item->first.index == out.index;
         ++item) {
        const auto expected = expected_.find(item->first);
        const std::uint64_t own = expected != expected_.end() ? expected->second : 0;
        const std::uint64_t sent = item->second.known ? item->second.transmit_words : 0;
        if (item->first != out && sent >= own && sent - own >= most) {
            most = sent - own;
            best = item->first;
        }
    }
    return best;
}

/// `adaptive`: the first hop of the flow, up to this one, out of a switch that routes adaptively.
HopReport RoundJudge::see(const Hop& hop, std::uint64_t words, const Hop* adaptive) const {
    HopReport report{.hop = hop};
    const Rise& out = rise(hop.out);
    const Rise& in = rise(hop.in);
    const auto both_counted = [&](std::uint64_t all) {
        return (!out.known || out.transmit_words >= all) && (!in.known || in.receive_words >= all);
    };
    if (words == 0) {
        report.why = "nothing was sent";
    } else if (!out.known && !in.known) {
        report.why = fmt::format("{}: {}; {}: {}", name_of(topology_, hop.out), out.why,
                                 name_of(topology_, hop.in), in.why);
    } else if (both_counted(expected_.at(hop.out))) {
        const Rise& bad = !in.errors.empty() ? in : out;
        report.seen = bad.errors.empty() ? Seen::proved : Seen::errors_rose;
        report.why = fmt::format("{}", fmt::join(bad.errors, ", "));
        report.by_one_end = !out.known || !in.known;
    } else if (adaptive != nullptr) {
        report.why = fmt::format("{} routes adaptively: this is one of several ways",
                                 node_name_of(topology_, adaptive->out));
    } else if (both_counted(sure_.at(hop.out))) {
        report.why = "flows of ours that pass a switch with adaptive routing may have come here or not";
    } else {
        report.seen_at = hop.out.is_switch ? find_elsewhere(hop.out, words) : std::nullopt;
        report.seen = report.seen_at ? Seen::elsewhere : Seen::not_seen;
    }
    return report;
}

void RoundJudge::see_hops(FlowReport& flow) const {
    constexpr std::array kWorstFirst{Seen::not_seen, Seen::elsewhere, Seen::errors_rose, Seen::no_evidence,
                                     Seen::proved};
    const auto rank = [&](Seen seen) { return std::find(kWorstFirst.begin(), kWorstFirst.end(), seen); };
    const std::vector<Hop> hops = path_of(flow);
    const std::uint64_t words = flow.has_run ? words_of(flow, spec_) : 0;
    flow.hops = static_cast<std::uint32_t>(hops.size());
    flow.proved = 0;
    flow.by_one_end = 0;
    flow.unproved.clear();
    flow.seen = Seen::proved;
    const Hop* adaptive = nullptr;
    for (const Hop& hop : hops) {
        adaptive = adaptive == nullptr && is_adaptive(hop.out) ? &hop : adaptive;
        HopReport report = see(hop, words, adaptive);
        flow.seen = std::min(flow.seen, report.seen, [&](Seen a, Seen b) { return rank(a) < rank(b); });
        if (report.seen == Seen::proved) {
            ++flow.proved;
            flow.by_one_end += report.by_one_end ? 1U : 0U;
        } else {
            flow.unproved.push_back(std::move(report));
        }
    }
}

void RoundJudge::tell_agent(routing::EndPortIndex host, std::string_view what, const std::string& why,
                            std::vector<Finding>& findings) const {
    const Place at = place_of(topology_, host);
    const std::optional<Place> leaf = peer_of(topology_, at);
    add_finding(findings, {.kind = Finding::Kind::dead_agent,
                           .at = at,
                           .peer = leaf,
                           .text = fmt::format("{}: the probe's agent {} (at {}): {}", name_of(topology_, at),
                                               what, leaf ? name_of(topology_, *leaf) : "no switch", why)});
}

/// What one side of a flow says of its agent and of its payload, not of the way between.
void RoundJudge::tell_side(const FlowReport& flow, routing::EndPortIndex host, const Outcome& outcome,
                           std::vector<Finding>& findings) const {
    const Place at = place_of(topology_, host);
    const auto tell = [&](Finding::Kind kind, const std::string& what) {
        add_finding(findings, {.kind = kind,
                               .at = at,
                               .peer = peer_of(topology_, at),
                               .text = fmt::format(
                                   "{} to {}: {}", name_of(topology_, place_of(topology_, flow.flow.from)),
                                   name_of(topology_, place_of(topology_, flow.flow.to)), what)});
    };
    if (outcome.failure == failure::kPeerGone) {
        tell_agent(host, "went away in the middle of a flow", outcome.failure_text, findings);
    } else if (outcome.failure == failure::kRefused) {
        tell(Finding::Kind::ended_early, fmt::format("the agent of {} did not let it go on: {}",
                                                     name_of(topology_, at), outcome.failure_text));
    } else if (host == flow.flow.from && was_ended_by_nobody(flow.result)) {
        tell(Finding::Kind::ended_early, "it ended before its time, and neither side says why");
    }
    if (outcome.corrupt > 0 || outcome.failure == failure::kCorrupt) {
        tell(Finding::Kind::corrupt_data,
             fmt::format("{} messages were not as sent, as {} saw it{}{}", outcome.corrupt,
                         name_of(topology_, at), outcome.failure_text.empty() ? "" : ": ",
                         outcome.failure_text));
    }
}

void RoundJudge::find_throttle(const FlowReport& flow, std::vector<Finding>& findings) const {
    const Outcome& outcome = flow.result.initiator;
    const bool is_bulk = spec_.test == Test::send || spec_.test == Test::write;
    const double nanoseconds = static_cast<double>(outcome.elapsed.count());
    if (!is_bulk || outcome.bytes < kBulkBytes || nanoseconds <= 0) {
        return;
    }
    const std::vector<Hop> hops = path_of(flow);
    const std::uint64_t wanted =
        flow.result.bits_per_second > 0 ? flow.result.bits_per_second : spec_.bits_per_second;
    double path_mbps = wanted > 0 ? static_cast<double>(wanted) / 1e6 : std::numeric_limits<double>::max();
    for (const Hop& hop : hops) {
        const std::uint32_t mbps = rate_of(hop);
        path_mbps = mbps > 0 ? std::min(path_mbps, static_cast<double>(mbps)) : path_mbps;
    }
    const double flow_mbps = static_cast<double>(outcome.bytes) * 8000.0 / nanoseconds;
    if (path_mbps == std::numeric_limits<double>::max() || flow_mbps >= kSlowShare * path_mbps) {
        return;
    }
    const Hop* last = nullptr;
    for (const Hop& hop : hops) {
        const Rise& out = rise(hop.out);
        if (out.known && out.wait &&
            static_cast<double>(*out.wait) >= kWaitShare * static_cast<double>(out.transmit_words)) {
            last = &hop;
        }
    }
    if (last == nullptr) {
        return;
    }
    if (last != &hops.back()) {
        const Hop& next = *(last + 1);
        const Rise& beyond = rise(next.out);
        const double busy_mbps = static_cast<double>(beyond.transmit_words) * 32000.0 / nanoseconds;
        if (!beyond.known || busy_mbps >= kSlowShare * rate_of(next)) {
            return;
        }
    }
    add_finding(findings, {.kind = Finding::Kind::throttled_link,
                           .at = last->out,
                           .peer = last->in,
                           .text = fmt::format(
                               "{}: its link to {} carried {:.1f} of {:.1f} Gb/s, and it waited for credits; "
                               "no port after it on the path did",
                               name_of(topology_, last->out), name_of(topology_, last->in),
                               flow_mbps / 1000.0, path_mbps / 1000.0)});
}

/// Whether the finding is about something on the way there or back.
bool RoundJudge::explains(const Finding& finding, const FlowReport& flow) const {
    const auto touches = [&](routing::EndPortIndex from, mad::Lid to) {
        const bool other_lid = finding.kind == Finding::Kind::wrong_entry && finding.lid != to;
        const auto hops = other_lid ? std::nullopt : hops_of(topology_, view_, from, to);
        return hops && std::any_of(hops->begin(), hops->end(), [&](const Hop& hop) {
                   const auto is_at = [&](const Place& place) {
                       // A table or a device concerns all of its switch, a cable and a port themselves.
                       const bool whole = finding.kind == Finding::Kind::wrong_entry ||
                                          finding.kind == Finding::Kind::dead_device;
                       return whole
                                  ? finding.at.is_switch == place.is_switch && finding.at.index == place.index
                                  : finding.at == place || finding.peer == place;
                   };
                   return is_at(hop.out) || is_at(hop.in);
               });
    };
    constexpr std::array kNoReasons{Finding::Kind::lost_traffic, Finding::Kind::corrupt_data,
                                    Finding::Kind::ended_early, Finding::Kind::not_read};
    return std::find(kNoReasons.begin(), kNoReasons.end(), finding.kind) == kNoReasons.end() &&
           (touches(flow.flow.from, flow.flow.lid) ||
            touches(flow.flow.to, topology_.end_ports[flow.flow.from.value()].lids.base));
}

void RoundJudge::tell_lost(const FlowReport& flow, std::vector<Finding>& findings) const {
    if (std::any_of(findings.begin(), findings.end(),
                    [&](const Finding& finding) { return explains(finding, flow); })) {
        return;
    }
    // The first that did not see it; else the first that says nothing; else it came to the end.
    const auto first = [&](auto is_it) {
        const auto found = std::find_if(flow.unproved.begin(), flow.unproved.end(),
                                        [&](const HopReport& hop) { return is_it(hop.seen); });
        return found != flow.unproved.end() ? &*found : nullptr;
    };
    const HopReport* gone =
        first([](Seen seen) { return seen == Seen::not_seen || seen == Seen::elsewhere; });
    const HopReport* unknown = first([](Seen seen) { return seen == Seen::no_evidence; });
    const Place at = gone != nullptr      ? gone->hop.out
                     : unknown != nullptr ? unknown->hop.out
                                          : path_of(flow).back().in;
    const char* const seen = gone != nullptr      ? "it was not seen to leave by"
                             : unknown != nullptr ? "nothing says whether it left by"
                             : has_failed(flow.result.initiator)
                                 ? "it was seen on all of its path, up to"
                                 : "what was answered was seen on all of its path, up to";
    add_finding(findings, {.kind = Finding::Kind::lost_traffic,
                           .at = at,
                           .peer = peer_of(topology_, at),
                           .text = fmt::format("{} to {}: {}; {} {}",
                                               name_of(topology_, place_of(topology_, flow.flow.from)),
                                               name_of(topology_, place_of(topology_, flow.flow.to)),
                                               loss_text(flow.result), seen, name_of(topology_, at))});
}

}  // namespace

void judge_round(const Topology& topology, const TableView& view, const TestSpec& spec,
                 const RoundReading& reading, std::span<FlowReport* const> flows,
                 std::vector<Finding>& findings) {
    RoundJudge(topology, view, spec, reading, flows).judge(findings);
}

}  // namespace ibf::probe
