// DOC: those that send and receive: the probe's agents on the hosts.
//
// Whoever conducts a probe gives flows, and gets what each came to. Behind it are remote agents
// (cli: TLS to each host) or a simulated fabric (probe/rehearsal). An agent that does not answer is an
// outcome, not an error.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "probe/flow.hpp"
#include "probe/spec.hpp"

namespace ibf::probe {

struct FlowOrder {
    Flow flow;
    mad::Sl sl{};  ///< as the routes say
};

struct FlowResult {
    bool ran = false;     ///< the figures below say something
    Outcome initiator{};  ///< side of Flow::from
    Outcome target{};
    /// What the sender was held to, where an agent's limit is below the spec's; 0: as the spec says.
    std::uint64_t bits_per_second = 0;
    /// The host whose agent did not answer; then nothing was sent.
    std::optional<routing::EndPortIndex> silent_agent{};
    std::string text{};  ///< where it did not run: why
};

class Agents {
public:
    Agents() = default;
    Agents(const Agents&) = delete;
    Agents& operator=(const Agents&) = delete;
    virtual ~Agents() = default;

    /// All of them at once (as far as whoever does it can), and waits for all. One result for each order, in
    /// their order. `done` is called with the number that are over. Once `stop` is requested, those under way
    /// are stopped and say what they measured, those not begun have not run.
    [[nodiscard]] virtual std::vector<FlowResult> run(std::span<const FlowOrder> orders, const TestSpec& spec,
                                                      const std::function<void(std::size_t)>& done,
                                                      std::stop_token stop) = 0;
};

}  // namespace ibf::probe
