#include <arpa/inet.h>

#include <algorithm>
#include <chrono>
#include <optional>

#include <fmt/format.h>

#include "probe/verbs/roles.hpp"
#include "probe/verbs/watch.hpp"

namespace ibf::probe::verbs {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr milliseconds kEchoBusy{20};
constexpr microseconds kReceiveBusy{50};
constexpr milliseconds kLastLook{50};  ///< at what had come when told to stop

base::Duration busy_for(Test test) {
    switch (test) {
        case Test::ping:
        case Test::ud: return kEchoBusy;
        case Test::send: return kReceiveBusy;
        default: return {};  // nothing is expected
    }
}

class Target {
public:
    Target(Wire& wire, const Tell& tell, const std::stop_token& stop)
        : wire_(wire),
          stop_(stop),
          echoes_(wire.spec().test == Test::ping || wire.spec().test == Test::ud),
          is_ud_(wire.spec().test == Test::ud),
          watch_(wire.completions(), busy_for(wire.spec().test)),
          teller_(tell, watch_.now()) {}

    base::Result<Outcome> run();

private:
    base::Result<void> take(const ibv_wc& completion);
    base::Result<void> take_message(const ibv_wc& completion, RequestId id);

    Wire& wire_;
    const std::stop_token& stop_;
    const bool echoes_;
    const bool is_ud_;
    Watch watch_;
    Teller teller_;
    Outcome outcome_;
    base::Instant first_{};
    bool is_broken_ = false;
};

base::Result<Outcome> Target::run() {
    std::optional<base::Instant> told;
    while (!is_broken_) {
        const auto batch = watch_.next();
        if (!batch) {
            return tl::unexpected(batch.error());
        }
        if (stop_.stop_requested()) {
            told = told.value_or(watch_.now());
            if (batch->empty() || watch_.now() - *told > kLastLook) {
                break;
            }
        }
        for (const ibv_wc& completion : *batch) {
            if (auto taken = take(completion); !taken) {
                return tl::unexpected(taken.error());
            }
        }
        teller_.look(watch_.now(), outcome_);
    }
    if (is_broken_ && outcome_.failure.empty() && !stop_.stop_requested()) {
        outcome_.failure = failure::kPeerGone;
        outcome_.failure_text =
            fmt::format("{} closed the connection in the middle of the test", wire_.peer().device);
    }
    if (wire_.spec().test == Test::write) {
        wire_.compare_written(outcome_);
    }
    wire_.note_corrupt(outcome_);
    return outcome_;
}

base::Result<void> Target::take(const ibv_wc& completion) {
    const RequestId id = RequestId::of(completion.wr_id);
    if (completion.status != IBV_WC_SUCCESS) {
        wire_.note_failure(completion, watch_.quiet(), outcome_);
        is_broken_ = true;
        return {};
    }
    if (id.kind == RequestId::Kind::receive) {
        return take_message(completion, id);
    }
    wire_.mark(id.lane, id.slot);  // the echo is acknowledged: nothing is sent from there any more
    return wire_.post_receive(id.lane, id.slot);
}

base::Result<void> Target::take_message(const ibv_wc& completion, RequestId id) {
    Lane& lane = wire_.lanes()[id.lane];
    const std::uint32_t bytes = completion.byte_len - std::min(completion.byte_len, wire_.layout().headroom);
    if (is_ud_ && completion.src_qp != lane.remote_number) {
        ++outcome_.errors["from a stranger"];
        return wire_.post_receive(id.lane, id.slot);
    }
    const std::uint64_t number = is_ud_ ? ntohl(completion.imm_data) : lane.received;
    ++lane.received;
    ++outcome_.messages;
    outcome_.bytes += bytes;
    first_ = outcome_.messages == 1 ? watch_.now() : first_;
    outcome_.elapsed = watch_.now() - first_;
    if (echoes_) {
        const auto posted = wire_.post_echo(id.lane, id.slot, static_cast<std::uint32_t>(number));
        wire_.compare(id.lane, id.slot, number, bytes, outcome_);  // while the echo is under way
        return posted;
    }
    wire_.compare(id.lane, id.slot, number, bytes, outcome_);
    wire_.mark(id.lane, id.slot);
    if (id.slot != RequestId::kUnseen) {
        lane.free_slots.push_back(id.slot);
    }
    return wire_.post_receive(id.lane);
}

}  // namespace

base::Result<Outcome> answer(Wire& wire, const Tell& tell, const std::stop_token& stop) {
    return Target(wire, tell, stop).run();
}

}  // namespace ibf::probe::verbs
