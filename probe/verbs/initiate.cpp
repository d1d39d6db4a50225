#include <arpa/inet.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <optional>

#include <fmt/format.h>

#include "probe/verbs/roles.hpp"
#include "probe/verbs/watch.hpp"

namespace ibf::probe::verbs {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr milliseconds kPingBusy{20};  ///< to be woken costs more than a fast path takes
constexpr microseconds kFloodBusy{50};
constexpr milliseconds kDrain{50};        ///< of what is in flight when told to stop
constexpr milliseconds kBurst{5};         ///< what a pause may be made up for by
constexpr std::uint32_t kMtuLeast = 256;  ///< where librdmacm knows the path's and we do not
constexpr std::size_t kLostKept =
    4096;  ///< sequence numbers by which a late answer is known from a second one

base::Duration busy_of(Test test) {
    return test == Test::ping || test == Test::ud ? base::Duration{kPingBusy} : base::Duration{kFloodBusy};
}

/// Lets octets go at a rate: those of the headers as well, or small messages would exceed it many times.
class Pace {
public:
    Pace(std::uint64_t bits_per_second, base::Instant now) : rate_(bits_per_second), next_(now) {}

    [[nodiscard]] bool may_go(base::Instant now) const { return rate_ == 0 || next_ <= now; }
    [[nodiscard]] base::Instant next() const { return rate_ == 0 ? base::Instant::max() : next_; }
    void went(std::uint64_t octets, base::Instant now) {
        if (rate_ != 0) {
            const double cost = static_cast<double>(octets) * 8e9 / static_cast<double>(rate_);
            next_ = std::max(next_, now - kBurst) + base::Duration{static_cast<std::int64_t>(cost)};
        }
    }

private:
    std::uint64_t rate_;
    base::Instant next_;
};

/// What librdmacm agreed on is not known: the smaller of the ports' is the most that it can be.
std::uint32_t mtu_of(const Wire& wire) {
    const std::uint32_t taken = wire.setting().path.mtu_bytes;
    const std::uint32_t of_ports = std::min(wire.setting().chosen.port.mtu_bytes, wire.peer().mtu_bytes);
    return taken != 0 ? taken : std::max(of_ports, kMtuLeast);
}

class Initiator {
public:
    Initiator(Wire& wire, const Tell& tell, const std::stop_token& stop)
        : wire_(wire),
          stop_(stop),
          is_ud_(wire.spec().test == Test::ud),
          watch_(wire.completions(), busy_of(wire.spec().test)),
          begun_(watch_.now()),
          last_(begun_),
          teller_(tell, begun_),
          pace_(wire.spec().bits_per_second, begun_),
          octets_(octets_on_wire(wire.layout().message_bytes, mtu_of(wire))),
          theirs_(layout_of(wire.spec(), Side::target).value_or(Layout{})) {}

    base::Result<Outcome> run() {
        const Test test = wire_.spec().test;
        const auto done = test == Test::ping || test == Test::ud ? one_by_one() : flood();
        if (!done) {
            return tl::unexpected(done.error());
        }
        // The time that a rate gives to the last message is part of what they took, if none was left unsent.
        const bool is_whole = !outcome_.was_stopped && outcome_.failure.empty();
        const bool is_paced = wire_.spec().bits_per_second != 0;
        outcome_.elapsed = (is_whole && is_paced ? std::max(last_, pace_.next()) : last_) - begun_;
        if (is_ud_ && outcome_.messages == 0 && outcome_.lost > 0 && outcome_.failure.empty()) {
            outcome_.failure = failure::kTimeout;
            outcome_.failure_text =
                fmt::format("{} answered none of {} messages, each within {}", wire_.peer().device,
                            outcome_.lost, base::format_duration(ud_patience(wire_.spec())));
        }
        wire_.note_corrupt(outcome_);
        return outcome_;
    }

private:
    /// The one message that ping and ud have under way.
    struct Exchange {
        std::uint8_t lane = 0;
        std::uint32_t sequence = 0;
        base::Instant begun{};
        bool was_sent = false;
        bool was_answered = false;
        std::uint32_t slot = RequestId::kUnseen;
        std::uint32_t bytes = 0;
    };

    base::Result<void> one_by_one();
    base::Result<void> exchange(std::uint8_t number);
    base::Result<void> take(const ibv_wc& completion, Exchange& exchange);
    base::Result<void> take_late(std::uint8_t number, std::uint32_t slot, std::uint32_t sequence,
                                 std::uint32_t bytes);
    base::Result<void> flood();
    base::Result<void> post_what_may();
    void complete(const ibv_wc& completion);
    base::Result<bool> wait_for_pace();

    [[nodiscard]] bool wants_more(const Lane& lane) const {
        return !is_over_ && (wire_.spec().messages == 0 || lane.posted < wire_.spec().messages);
    }
    void look_at_the_end() {
        const base::Duration limit = wire_.spec().duration;
        const bool was_stopped = stop_.stop_requested();
        outcome_.was_stopped = outcome_.was_stopped || (was_stopped && !is_over_);
        is_over_ = is_over_ || was_stopped || !outcome_.failure.empty() ||
                   (limit > base::Duration::zero() && watch_.now() - begun_ >= limit);
    }

    Wire& wire_;
    const std::stop_token& stop_;
    const bool is_ud_;
    Watch watch_;
    base::Instant begun_;
    base::Instant last_;
    Teller teller_;
    Pace pace_;
    const std::uint64_t octets_;  ///< of a message, on the wire
    const Layout theirs_;
    Outcome outcome_;
    bool is_over_ = false;
    std::uint64_t under_way_ = 0;
    std::deque<std::pair<std::uint8_t, std::uint32_t>> lost_;
};

base::Result<void> Initiator::one_by_one() {
    const auto lanes = static_cast<std::uint8_t>(wire_.lanes().size());
    for (bool any = true; any && !is_over_;) {
        any = false;
        for (std::uint8_t number = 0; number < lanes; ++number) {
            look_at_the_end();
            if (!wants_more(wire_.lanes()[number])) {
                continue;
            }
            any = true;
            const auto may = wait_for_pace();
            if (!may) {
                return tl::unexpected(may.error());
            }
            if (!*may) {
                return {};
            }
            if (auto done = exchange(number); !done) {
                return done;
            }
        }
    }
    return {};
}

/// False: it is over first. What comes meanwhile is late.
base::Result<bool> Initiator::wait_for_pace() {
    while (!pace_.may_go(watch_.now())) {
        const auto batch = watch_.next(pace_.next());
        if (!batch) {
            return tl::unexpected(batch.error());
        }
        Exchange none{.was_sent = true, .was_answered = true};
        for (const ibv_wc& completion : *batch) {
            if (auto taken = take(completion, none); !taken) {
                return tl::unexpected(taken.error());
            }
        }
        look_at_the_end();
        if (is_over_) {
            return false;
        }
    }
    return true;
}

base::Result<void> Initiator::exchange(std::uint8_t number) {
    Lane& lane = wire_.lanes()[number];
    Exchange exchange{.lane = number, .sequence = static_cast<std::uint32_t>(lane.posted)};
    watch_.touch();
    exchange.begun = watch_.now();
    if (outcome_.messages + outcome_.lost == 0) {
        begun_ = exchange.begun;
    }
    pace_.went(octets_, exchange.begun);
    if (auto posted = wire_.post_send(number, exchange.sequence); !posted) {
        return posted;
    }
    const base::Instant deadline = is_ud_ ? exchange.begun + ud_patience(wire_.spec()) : base::Instant::max();
    while (!exchange.was_sent || !exchange.was_answered) {
        const auto batch = watch_.next(deadline);
        if (!batch) {
            return tl::unexpected(batch.error());
        }
        for (const ibv_wc& completion : *batch) {
            if (auto taken = take(completion, exchange); !taken) {
                return taken;
            }
        }
        teller_.look(watch_.now(), outcome_);
        if (is_ud_ && !exchange.was_answered && watch_.now() >= deadline) {
            ++outcome_.lost;
            lost_.emplace_back(number, exchange.sequence);
            if (lost_.size() > kLostKept) {
                lost_.pop_front();
            }
            last_ = watch_.now();
            return {};
        }
        if (!is_ud_ && watch_.quiet() > wire_.patience()) {
            wire_.note_timeout(watch_.quiet(), 1, outcome_);
        }
        if (stop_.stop_requested() || !outcome_.failure.empty()) {
            look_at_the_end();
            return {};
        }
    }
    wire_.compare(number, exchange.slot, exchange.sequence, exchange.bytes, outcome_);
    wire_.mark(number, exchange.slot);
    return wire_.post_receive(number, exchange.slot);
}

base::Result<void> Initiator::take(const ibv_wc& completion, Exchange& exchange) {
    const RequestId id = RequestId::of(completion.wr_id);
    if (completion.status != IBV_WC_SUCCESS) {
        wire_.note_failure(completion, watch_.now() - last_, outcome_);
        return {};
    }
    if (id.kind == RequestId::Kind::send) {
        ++wire_.lanes()[id.lane].completed;
        exchange.was_sent = exchange.was_sent || id.lane == exchange.lane;
        return {};
    }
    const std::uint32_t bytes = completion.byte_len - std::min(completion.byte_len, wire_.layout().headroom);
    const std::uint32_t sequence = is_ud_ ? ntohl(completion.imm_data) : exchange.sequence;
    if (is_ud_ && completion.src_qp != wire_.lanes()[id.lane].remote_number) {
        return wire_.post_receive(id.lane, id.slot);  // a stranger's
    }
    if (exchange.was_answered || id.lane != exchange.lane || sequence != exchange.sequence) {
        return take_late(id.lane, id.slot, sequence, bytes);
    }
    exchange.was_answered = true;
    exchange.slot = id.slot;
    exchange.bytes = bytes;
    last_ = watch_.now();
    outcome_.latency.add(static_cast<std::uint64_t>((last_ - exchange.begun).count()) / 2);
    ++outcome_.messages;
    outcome_.bytes += wire_.layout().message_bytes;
    return {};
}

base::Result<void> Initiator::take_late(std::uint8_t number, std::uint32_t slot, std::uint32_t sequence,
                                        std::uint32_t bytes) {
    const auto found = std::find(lost_.begin(), lost_.end(), std::pair{number, sequence});
    if (found != lost_.end()) {
        lost_.erase(found);
        ++outcome_.errors["answered too late"];
        wire_.compare(number, slot, sequence, bytes, outcome_);
        wire_.mark(number, slot);
    } else {
        ++outcome_.errors["answered more than once"];
    }
    return wire_.post_receive(number, slot);
}

base::Result<void> Initiator::flood() {
    watch_.touch();
    begun_ = last_ = watch_.now();
    std::optional<base::Instant> told;  // to stop
    for (;;) {
        look_at_the_end();
        if (stop_.stop_requested()) {
            told = told.value_or(watch_.now());
        }
        if (auto posted = post_what_may(); !posted) {
            return posted;
        }
        const bool wants = std::any_of(wire_.lanes().begin(), wire_.lanes().end(),
                                       [&](const Lane& lane) { return wants_more(lane); });
        if ((under_way_ == 0 && !wants) || !outcome_.failure.empty()) {
            return {};
        }
        const bool is_held_back = wants && !pace_.may_go(watch_.now());
        const auto batch = watch_.next(is_held_back ? pace_.next() : base::Instant::max());
        if (!batch) {
            return tl::unexpected(batch.error());
        }
        for (const ibv_wc& completion : *batch) {
            complete(completion);
        }
        teller_.look(watch_.now(), outcome_);
        if (under_way_ > 0 && watch_.quiet() > wire_.patience()) {
            wire_.note_timeout(watch_.quiet(), under_way_, outcome_);
        }
        if (told && watch_.now() - *told > kDrain) {
            outcome_.errors[kInFlightWhenStopped] = under_way_;
            return {};
        }
    }
}

base::Result<void> Initiator::post_what_may() {
    const bool is_send = wire_.spec().test == Test::send;
    for (std::size_t i = 0; i < wire_.lanes().size(); ++i) {
        const auto number = static_cast<std::uint8_t>(i);
        const Lane& lane = wire_.lanes()[i];
        while (lane.posted - lane.completed < wire_.layout().in_flight && wants_more(lane) &&
               pace_.may_go(watch_.now())) {
            if (under_way_ == 0) {
                watch_.touch();  // quiet counts from here, not from before a pause of the pace
            }
            if (auto posted = is_send ? wire_.post_send(number) : wire_.post_one_sided(number, theirs_);
                !posted) {
                return posted;
            }
            ++under_way_;
            pace_.went(octets_, watch_.now());
        }
    }
    return {};
}

void Initiator::complete(const ibv_wc& completion) {
    const RequestId id = RequestId::of(completion.wr_id);
    Lane& lane = wire_.lanes()[id.lane];
    --under_way_;
    const std::uint64_t message = lane.completed++;
    if (completion.status != IBV_WC_SUCCESS) {
        wire_.note_failure(completion, watch_.now() - last_, outcome_);
        return;
    }
    last_ = watch_.now();
    ++outcome_.messages;
    outcome_.bytes += wire_.layout().message_bytes;
    if (id.slot != RequestId::kUnseen) {
        wire_.compare(id.lane, id.slot, message, wire_.layout().message_bytes, outcome_);
        wire_.mark(id.lane, id.slot);
        lane.free_slots.push_back(id.slot);
    }
}

}  // namespace

base::Result<Outcome> initiate(Wire& wire, const Tell& tell, const std::stop_token& stop) {
    return Initiator(wire, tell, stop).run();
}

}  // namespace ibf::probe::verbs
