#include "probe/rehearsal/sim_asker.hpp"

#include <algorithm>
#include <utility>

namespace ibf::probe {

SimAsker::SimAsker(sim::Simulator& simulator, const sim::Simulator::Place& place, const AskLimits& limits)
    : simulator_(simulator),
      client_(simulator.join(place, [this](mad::WireMad&& mad) { inbox_.push_back(std::move(mad)); })),
      asking_(limits) {}

SimAsker::~SimAsker() {
    simulator_.leave(client_);
}

void SimAsker::send_all() {
    out_.clear();
    asking_.poll_send(now_, out_);
    for (const mad::WireMad& mad : out_) {
        simulator_.send(client_, mad, now_);
    }
}

std::vector<Answer> SimAsker::ask(std::span<const Question> questions, std::stop_token stop) {
    asking_.start(questions);
    send_all();
    while (!asking_.done() && !stop.stop_requested()) {
        const auto event = simulator_.next_event();
        const auto deadline = asking_.next_deadline();
        if (!event && !deadline) {
            break;
        }
        now_ = std::max(now_, event && deadline ? std::min(*event, *deadline) : event.value_or(*deadline));
        simulator_.advance(now_);
        if (inbox_.empty() && (!deadline || *deadline > now_)) {
            continue;
        }
        std::swap(inbox_, batch_);
        for (const mad::WireMad& mad : batch_) {
            asking_.on_receive(mad, now_);
        }
        batch_.clear();
        asking_.on_time(now_);
        send_all();
    }
    return asking_.take();
}

}  // namespace ibf::probe
