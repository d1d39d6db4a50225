#include "daemon/sm/health.hpp"

#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>

#include "base/check.hpp"

namespace ibf::sm {
namespace {

using fabric::HealthAction;
using fabric::HealthRule;
using fabric::kHealthRules;
using fabric::PortId;
using std::chrono::seconds;

// The marks. Babbling: as OpenSM has them, ten and 250. Of a host that reboots as often as an operator would,
// or of a cable that is plugged, none is reached.
// clang-format off
constexpr std::array<HealthSpec, kHealthRules> kHealthRuleTable{{
    //                       evidence                                       within    looks high low disable
    {HealthRule::babbling,   "traps 129-131",                               seconds{300}, 0,  10,  2, 250},
    {HealthRule::storm,      "traps 128",                                   seconds{60},  0, 100, 10, 100},
    {HealthRule::flapping,   "changes of its link",                         seconds{900}, 0,  10,  2,  10},
    {HealthRule::rebooting,  "arrivals without addresses",                  seconds{900}, 0,  11,  2,  11},
    {HealthRule::init,       "of the last 10 sweeps left it in Init",       {},          10,   5,  0,   5},
    {HealthRule::silent,     "of the last 7 sweeps found it silent",        {},           7,   5,  0,   5},
    {HealthRule::set_errors, "of the last 10 sweeps could not set it up",   {},          10,   5,  0,   5},
    {HealthRule::illegal,    "of the last 10 sweeps heard what cannot be",  {},          10,   3,  0,   3},
    {HealthRule::manual,     "said by an operator",                         {},           1,   1,  0,   1},
}};
// clang-format on

constexpr std::uint32_t kQuarantineDoublings = 4;
/// A port that was well for so many of its quarantines begins anew.
constexpr int kForgetsAfter = 8;

std::size_t index(HealthRule rule) {
    return static_cast<std::size_t>(rule);
}

base::Duration eighth(const HealthSpec& spec) {
    return spec.within / 8;
}

}  // namespace

const HealthSpec& spec_of(HealthRule rule) {
    const HealthSpec& spec = kHealthRuleTable[index(rule)];
    IBF_CHECK(spec.rule == rule, "the table of health rules is not in the order of the rules");
    return spec;
}

bool PortHealth::Record::ill() const {
    return std::any_of(verdicts.begin(), verdicts.end(), [](const Verdict& verdict) { return verdict.ill; });
}

/// Null where there is no room.
PortHealth::Record* PortHealth::record_of(PortId at, base::Instant now) {
    const auto known = records_.find(at);
    if (known != records_.end()) {
        return &known->second;
    }
    if (records_.size() >= kPortsMax && now >= next_clearing_) {
        next_clearing_ = now + seconds{1};  // a flood of new ports does not buy a walk over all records each
        drop_idle(now);
    }
    if (records_.size() >= kPortsMax) {
        return nullptr;
    }
    return &records_[at];
}

/// Records that hold nothing against their port any more.
void PortHealth::drop_idle(base::Instant now) {
    for (auto item = records_.begin(); item != records_.end();) {
        Record& record = item->second;
        std::uint32_t evidence = 0;
        for (const HealthSpec& spec : kHealthRuleTable) {
            advance(record.events[index(spec.rule)], spec, now);
            evidence += count_of(record, spec.rule);
        }
        const bool idle = evidence == 0 && !record.ill() && now >= record.forget_at;
        item = idle ? records_.erase(item) : std::next(item);
    }
}

void PortHealth::advance(Events& events, const HealthSpec& spec, base::Instant now) {
    if (spec.within == base::Duration{}) {
        return;
    }
    const std::int64_t current = now.time_since_epoch() / eighth(spec);
    const auto kept = static_cast<std::int64_t>(events.counts.size());
    for (std::int64_t gone = std::max(events.newest + 1, current - kept + 1); gone <= current; ++gone) {
        events.counts[static_cast<std::size_t>(gone % kept)] = 0;
    }
    events.newest = std::max(events.newest, current);
}

std::uint32_t PortHealth::count_of(const Record& record, HealthRule rule) {
    const HealthSpec& spec = spec_of(rule);
    if (spec.within == base::Duration{}) {
        const unsigned mask = (1U << spec.looks) - 1U;
        return static_cast<std::uint32_t>(std::popcount(record.looks[index(rule)] & mask));
    }
    const auto& counts = record.events[index(rule)].counts;
    return std::accumulate(counts.begin(), counts.end(), 0U);
}

void PortHealth::note(HealthRule rule, PortId at, std::uint32_t times, base::Instant now) {
    Record* record = record_of(at, now);
    if (record == nullptr) {
        return;
    }
    Events& events = record->events[index(rule)];
    advance(events, spec_of(rule), now);
    std::uint32_t& count = events.counts[static_cast<std::size_t>(events.newest) % events.counts.size()];
    constexpr std::uint32_t kCountMax = 1U << 24U;  // eight of them still fit
    count = std::min(count + std::min(times, kCountMax), kCountMax);
    judge(at, *record, rule, now);
}

void PortHealth::note_look(HealthRule rule, const std::set<PortId>& found, base::Instant now) {
    for (const PortId& at : found) {
        static_cast<void>(record_of(at, now));
    }
    for (auto& [at, record] : records_) {
        if (left_out(at, record)) {
            continue;
        }
        std::uint16_t& looks = record.looks[index(rule)];
        looks = static_cast<std::uint16_t>(looks << 1U | (found.contains(at) ? 1U : 0U));
        judge(at, record, rule, now);
    }
}

void PortHealth::set(PortId at, base::Instant now) {
    if (Record* record = record_of(at, now)) {
        record->looks[index(HealthRule::manual)] = 1;
        judge(at, *record, HealthRule::manual, now);
    }
}

bool PortHealth::clear(PortId at) {
    const auto found = records_.find(at);
    if (found == records_.end()) {
        return false;
    }
    for (std::size_t i = 0; i < kHealthRules; ++i) {
        if (found->second.verdicts[i].ill) {
            news_.push_back({News::Kind::well, at, kHealthRuleTable[i].rule, 0, {}});
        }
    }
    records_.erase(found);
    return true;
}

void PortHealth::fall_ill(Record& record, HealthRule rule, base::Instant now) const {
    record.times = now >= record.forget_at && !record.ill() ? 0 : record.times;
    const base::Duration quarantine =
        policy_.quarantine * (1 << std::min(record.times, kQuarantineDoublings));
    Verdict& verdict = record.verdicts[index(rule)];
    verdict = {true, false, now, now + quarantine};
    ++record.times;
    record.forget_at = verdict.until + kForgetsAfter * quarantine;
}

void PortHealth::judge(PortId at, Record& record, HealthRule rule, base::Instant now) {
    const HealthSpec& spec = spec_of(rule);
    advance(record.events[index(rule)], spec, now);
    Verdict& verdict = record.verdicts[index(rule)];
    const std::uint32_t count = count_of(record, rule);
    if (!verdict.ill && count >= spec.high) {
        fall_ill(record, rule, now);
        news_.push_back({News::Kind::ill, at, rule, count, verdict.until - now});
        if (left_out(at, record)) {
            // What looks will find from now on is our doing; of what they found, one verdict is enough.
            record.looks.fill(0);
            record.looks[index(HealthRule::manual)] = record.verdicts[index(HealthRule::manual)].ill ? 1 : 0;
        }
    }
    if (verdict.ill && !verdict.disable && action_of(at, rule) == HealthAction::disable &&
        count >= spec.disable) {
        verdict.disable = true;
        news_.push_back({News::Kind::disable, at, rule, count, {}});
    }
    if (verdict.ill && rule != HealthRule::manual && now >= verdict.until && count <= spec.low) {
        verdict = {};
        record.events[index(rule)] = {};
        record.looks[index(rule)] = 0;
        news_.push_back({News::Kind::well, at, rule, count, {}});
    }
}

/// A port 0 is a whole switch: that is reported, whatever policy says of ports.
HealthAction PortHealth::action_of(PortId at, HealthRule rule) const {
    return at.port == mad::PortNum{} ? HealthAction::report : policy_.actions[index(rule)];
}

bool PortHealth::left_out(PortId at, const Record& record) const {
    for (std::size_t i = 0; i < kHealthRules; ++i) {
        const bool isolates = action_of(at, kHealthRuleTable[i].rule) == HealthAction::isolate;
        if (record.verdicts[i].ill && (isolates || disables(at, record, i))) {
            return true;
        }
    }
    return false;
}

/// As policy is now: what it was when the verdict came may be of the past.
bool PortHealth::disables(PortId at, const Record& record, std::size_t rule) const {
    return record.verdicts[rule].ill && record.verdicts[rule].disable &&
           action_of(at, kHealthRuleTable[rule].rule) == HealthAction::disable;
}

bool PortHealth::is_to_be_disabled(PortId at) const {
    const auto found = records_.find(at);
    for (std::size_t i = 0; found != records_.end() && i < kHealthRules; ++i) {
        if (disables(at, found->second, i)) {
            return true;
        }
    }
    return false;
}

std::vector<PortHealth::News> PortHealth::take_news(base::Instant now) {
    for (auto& [at, record] : records_) {
        for (std::size_t i = 0; i < kHealthRules; ++i) {
            if (record.verdicts[i].ill) {
                judge(at, record, kHealthRuleTable[i].rule, now);
            }
        }
    }
    return std::exchange(news_, {});
}

std::optional<base::Instant> PortHealth::due() const {
    std::optional<base::Instant> soonest;
    for (const auto& [at, record] : records_) {
        for (const HealthSpec& spec : kHealthRuleTable) {
            const Verdict& verdict = record.verdicts[index(spec.rule)];
            const bool by_count = count_of(record, spec.rule) > spec.low;
            if (!verdict.ill || spec.rule == HealthRule::manual || (by_count && spec.looks > 0)) {
                continue;  // only an operator, or a look, can bring news
            }
            const base::Instant fewer{eighth(spec) * (record.events[index(spec.rule)].newest + 1)};
            const base::Instant at_least = by_count ? std::max(verdict.until, fewer) : verdict.until;
            soonest = soonest ? std::min(*soonest, at_least) : at_least;
        }
    }
    return soonest;
}

std::set<PortId> PortHealth::to_leave_out() const {
    std::set<PortId> found;
    for (const auto& [at, record] : records_) {
        if (left_out(at, record)) {
            found.insert(at);
        }
    }
    return found;
}

std::vector<PortHealth::State> PortHealth::states() const {
    std::vector<State> found;
    for (const auto& [at, record] : records_) {
        for (const HealthSpec& spec : kHealthRuleTable) {
            const Verdict& verdict = record.verdicts[index(spec.rule)];
            if (!verdict.ill) {
                continue;
            }
            HealthAction wanted = action_of(at, spec.rule);
            if (wanted == HealthAction::disable && !verdict.disable) {
                wanted = HealthAction::report;  // not yet
            }
            const auto until = spec.rule == HealthRule::manual ? std::nullopt : std::optional{verdict.until};
            found.push_back(
                {at, spec.rule, count_of(record, spec.rule), record.times, verdict.since, until, wanted});
        }
    }
    return found;
}

}  // namespace ibf::sm
