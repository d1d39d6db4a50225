// run_pair() of spec.hpp: who waits for whom.
#include <algorithm>
#include <atomic>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "probe/layout.hpp"
#include "probe/spec.hpp"

namespace ibf::probe {
namespace {

/// Both are given back, however the test ends.
class ReleaseBoth {
public:
    ReleaseBoth(Endpoint& initiator, Endpoint& target) : initiator_(initiator), target_(target) {}
    ~ReleaseBoth() {
        initiator_.release();
        target_.release();
    }
    ReleaseBoth(const ReleaseBoth&) = delete;
    ReleaseBoth& operator=(const ReleaseBoth&) = delete;

private:
    Endpoint& initiator_;
    Endpoint& target_;
};

tl::unexpected<base::Error> named(const Endpoint& side, const base::Error& error) {
    const std::string name = side.name();
    const bool is_there = error.message.find(name) != std::string::npos;
    return base::fail(error.kind, is_there ? error.message : fmt::format("{}: {}", name, error.message));
}

/// The other side's messages name it as its holder does.
EndpointAddress named_address(const Endpoint& side, EndpointAddress address) {
    if (address.device.find(side.name()) == std::string::npos) {
        address.device = fmt::format("{} ({})", side.name(), address.device);
    }
    return address;
}

/// What one side measured is worth telling also where the other one's machinery broke.
Outcome outcome_of(const Endpoint& side, const base::Result<Outcome>& result) {
    if (result) {
        return *result;
    }
    Outcome outcome;
    const base::Error& error = result.error();
    outcome.failure = error.kind == base::ErrorKind::refused       ? failure::kRefused
                      : error.kind == base::ErrorKind::unavailable ? failure::kPeerGone
                                                                   : failure::kOther;
    outcome.failure_text = named(side, error).value().message;
    return outcome;
}

/// A message may be acknowledged and yet not lie where it was written to. Of a run that broke, what was under
/// way may lie there by half, and says nothing.
void judge_written(const TestSpec& spec, PairOutcome& pair) {
    const bool has_broken =
        !pair.initiator.failure.empty() || pair.initiator.errors.contains(kInFlightWhenStopped);
    if (spec.test == Test::write && has_broken && pair.target.failure == failure::kCorrupt) {
        pair.target.corrupt = 0;
        pair.target.failure.clear();
        pair.target.failure_text.clear();
    }
    const std::uint64_t least = slots_written(spec, pair.initiator.messages);
    if (!has_broken && pair.target.failure.empty() && pair.target.checked < least) {
        pair.target.corrupt += least - pair.target.checked;
        pair.target.failure = failure::kCorrupt;
        pair.target.failure_text = fmt::format(
            "{} writes were acknowledged, but of {} places in the target's memory only {} were written",
            pair.initiator.messages, least, pair.target.checked);
    }
}

struct BothPaths {
    PathTaken there;
    PathTaken back;
};

/// An adapter takes packets that are longer than its own side's MTU for broken ones.
base::Result<void> agree_on_mtu(const TestSpec& spec, const BothPaths& paths, const EndpointAddress& from,
                                const EndpointAddress& to) {
    const std::uint32_t of_ports = std::min(from.mtu_bytes, to.mtu_bytes);
    const auto mtu_of = [&](const PathTaken& path) {
        return path.mtu_bytes != 0 ? path.mtu_bytes : spec.mtu_bytes != 0 ? spec.mtu_bytes : of_ports;
    };
    if (spec.test == Test::ud || spec.use_cm || mtu_of(paths.there) == mtu_of(paths.back)) {
        return {};
    }
    std::string why;
    for (const auto& [side, path] : {std::pair{&from, &paths.there}, {&to, &paths.back}}) {
        if (!path->trouble.empty()) {
            why += fmt::format("; {}: {}", side->device, path->trouble);
        }
    }
    return base::fail(
        base::ErrorKind::usage,
        fmt::format("{} would send with an MTU of {}, {} with one of {}, since not both know the "
                    "path: give --mtu {}{}",
                    from.device, mtu_of(paths.there), to.device, mtu_of(paths.back),
                    std::min(mtu_of(paths.there), mtu_of(paths.back)), why));
}

base::Result<BothPaths> connect_both(Endpoint& initiator, Endpoint& target, const EndpointAddress& from,
                                     const EndpointAddress& to, const std::stop_token& stop) {
    // At the same time: by librdmacm one of them waits for the other.
    base::Result<PathTaken> accepted;
    std::thread accepting([&] { accepted = target.connect(from, stop); });
    base::Result<PathTaken> connected = initiator.connect(to, stop);
    accepting.join();
    if (!connected) {
        return named(initiator, connected.error());
    }
    if (!accepted) {
        return named(target, accepted.error());
    }
    return BothPaths{std::move(*connected), std::move(*accepted)};
}

PairOutcome run_both(Endpoint& initiator, Endpoint& target,
                     const std::function<void(const Progress&)>& progress, const std::stop_token& stop) {
    std::stop_source initiator_stop;
    std::stop_source target_stop;
    const std::stop_callback forward(stop, [&] { initiator_stop.request_stop(); });
    base::Result<Outcome> there;
    std::thread answering([&] {
        there = target.run([](const Progress&) {}, target_stop.get_token());
        // Retries that ran out, the initiator finds out by itself, and says more about them.
        const bool is_gone = !there || there->failure == failure::kPeerGone ||
                             there->failure == failure::kRefused || there->was_stopped;
        if (is_gone) {
            initiator_stop.request_stop();
        }
    });
    const base::Result<Outcome> here = initiator.run(progress, initiator_stop.get_token());
    target_stop.request_stop();
    answering.join();
    PairOutcome pair{.initiator = outcome_of(initiator, here), .target = outcome_of(target, there)};
    pair.target.was_stopped = stop.stop_requested();  // to be told that it is over is how a target ends
    return pair;
}

}  // namespace

base::Result<PairOutcome> run_pair(Endpoint& initiator, Endpoint& target, const TestSpec& spec,
                                   const Way& from, const Way& to,
                                   const std::function<void(const Progress&)>& progress,
                                   std::stop_token stop) {
    if (auto fine = check_spec(spec); !fine) {
        return tl::unexpected(fine.error());
    }
    const ReleaseBoth release(initiator, target);
    const auto there = target.prepare(spec, Side::target, to);
    if (!there) {
        return named(target, there.error());
    }
    const auto here = initiator.prepare(spec, Side::initiator, from);
    if (!here) {
        return named(initiator, here.error());
    }
    const EndpointAddress at_initiator = named_address(initiator, *here);
    const EndpointAddress at_target = named_address(target, *there);
    auto paths = connect_both(initiator, target, at_initiator, at_target, stop);
    if (!paths) {
        return tl::unexpected(paths.error());
    }
    if (const auto agreed = agree_on_mtu(spec, *paths, at_initiator, at_target); !agreed) {
        return tl::unexpected(agreed.error());
    }
    PairOutcome pair = run_both(initiator, target, progress, stop);
    pair.there = std::move(paths->there);
    pair.back = std::move(paths->back);
    judge_written(spec, pair);
    return pair;
}

}  // namespace ibf::probe
