// DOC: agents of a simulated fabric.
//
// Their traffic walks the programmed tables and moves counters (sim/data_traffic.hpp); what becomes of it, is
// told in the words that real ones use. An agent may be dead, or have a Mishap in each flow. Others' traffic
// may cross the fabric at the same time: its flows move the same counters, and take their share of the links.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "base/prng.hpp"
#include "probe/conduct/agents.hpp"
#include "probe/rehearsal/sim_fabric.hpp"

namespace ibf::probe {

/// What else is on the fabric.
struct Background {
    std::uint32_t flows = 0;  ///< between random hosts, in each round; 0: nothing
    std::uint64_t bytes_most = 64U << 20U;
    double busy_most = 0.1;  ///< of a link
    double noise = 0.03;     ///< ports wait for up to so much of the time that they send
};

/// What goes wrong at an agent in the middle of a flow; as real ones tell it (RemoteEndpoint, run_pair()).
enum class Mishap : std::uint8_t {
    dies,            ///< its connection breaks
    ends_by_limit,   ///< its limits.seconds are over
    stops,           ///< somebody ends it in order; it says no more than that it was stopped
    sees_corrupt,    ///< one message is not what was sent
    answers_half,    ///< of ud: every other message stays without an answer
    holds_to_share,  ///< its limits.bits_per_second allow a tenth of what the flow could do
};

class SimAgents final : public Agents {
public:
    SimAgents(sim::Simulator& simulator, const routing::Topology& topology, const Background& background,
              std::uint64_t seed)
        : simulator_(simulator),
          topology_(topology),
          places_(simulator, topology),
          background_(background),
          prng_(seed) {}

    void kill(routing::EndPortIndex host) { dead_.insert(host.value()); }
    void revive(routing::EndPortIndex host) {
        dead_.erase(host.value());
        mishaps_.erase(host.value());
    }
    void play(routing::EndPortIndex host, Mishap mishap) { mishaps_[host.value()] = mishap; }

    [[nodiscard]] std::vector<FlowResult> run(std::span<const FlowOrder> orders, const TestSpec& spec,
                                              const std::function<void(std::size_t)>& done,
                                              std::stop_token stop) override;

private:
    [[nodiscard]] FlowResult run_one(const FlowOrder& order, const TestSpec& spec);
    void run_others();
    void suffer(const FlowOrder& order, FlowResult& result) const;

    sim::Simulator& simulator_;
    const routing::Topology& topology_;
    SimPlaces places_;
    Background background_;
    base::Prng prng_;
    std::set<std::uint32_t> dead_;             ///< by EndPortIndex
    std::map<std::uint32_t, Mishap> mishaps_;  ///< by EndPortIndex
};

}  // namespace ibf::probe
