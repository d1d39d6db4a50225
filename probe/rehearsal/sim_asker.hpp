// DOC: questions asked of a simulated fabric, in its virtual time.
//
// A client at a node, as a program there would be. Time passes while a batch is under way, and stands still
// otherwise; two rehearsals of one seed are equal.
#pragma once

#include <vector>

#include "probe/proof/asking.hpp"
#include "sim/simulator.hpp"

namespace ibf::probe {

class SimAsker final : public MadAsker {
public:
    SimAsker(sim::Simulator& simulator, const sim::Simulator::Place& place, const AskLimits& limits);
    ~SimAsker() override;

    [[nodiscard]] std::vector<Answer> ask(std::span<const Question> questions, std::stop_token stop) override;
    [[nodiscard]] base::Instant now() const { return now_; }

private:
    void send_all();

    sim::Simulator& simulator_;
    sim::Simulator::ClientId client_;
    Asking asking_;
    base::Instant now_{};
    std::vector<mad::WireMad> inbox_;
    std::vector<mad::WireMad> batch_;
    std::vector<mad::WireMad> out_;
};

}  // namespace ibf::probe
