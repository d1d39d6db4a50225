#include "daemon/sm/effects.hpp"

namespace ibf::sm {
namespace {

struct Line {
    std::string operator()(const SendMad& effect) const {
        const auto smp = mad::parse_smp(effect.mad.bytes);
        return smp ? fmt::format("send {}", mad::to_line(*smp)) : std::string("send (no SMP)");
    }
    std::string operator()(const ComputeRoutes& effect) const {
        return fmt::format("compute routes epoch {} over {} switches, {} end ports{}", effect.epoch,
                           effect.view->topology.switches.size(), effect.view->topology.end_ports.size(),
                           effect.previous ? ", keeping what is legal" : "");
    }
    std::string operator()(const Rebalance& effect) const {
        return fmt::format("re-balance question {}{}", effect.question,
                           effect.plan ? ", on the way to the same tables" : "");
    }
    std::string operator()(const Persist& effect) const {
        return fmt::format("persist {} records", effect.batch.size());
    }
    std::string operator()(const MarkEdition& effect) const {
        return fmt::format("mark edition {}", effect.edition);
    }
    std::string operator()(const Announce& effect) const {
        return fmt::format("{} {}: {}", fabric::to_string(effect.event.severity), effect.event.kind,
                           effect.event.text);
    }
    std::string operator()(const Progress& effect) const { return effect.text; }
};

}  // namespace

base::Result<routing::RouteOutcome> carry_out(const ComputeRoutes& job) {
    return routing::route(job.view->topology, job.previous.get(), job.options, job.in_force.get());
}

std::string to_line(const Effect& effect) {
    return std::visit(Line{}, effect);
}

}  // namespace ibf::sm
