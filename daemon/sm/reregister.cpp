// Client reregistration (IBA 14.4.11): hosts whose clients registered with an SA that is not this one, or
// that has lost what they left there, are told so. They would find out by nothing else: drivers of today do
// not say that the SM has another LID, so its clients go on asking where nobody answers.
//
// Only where a client would be lost, since each one joins all its groups anew; only adapters that offer it;
// only once the SA answers; never a switch. A new LID of the SM waits for that too, since some drivers do
// tell of it: their clients would register twice.
#include "daemon/sm/subnet_manager.hpp"

namespace ibf::sm {

using fabric::Node;
using fabric::PortRef;
using Severity = fabric::EventRecord::Severity;

/// A port that is not Active has no clients: they begin when it is.
void SubnetManager::note_lost_clients() {
    constexpr std::uint32_t kCanReregister = 1U << 25U;  // CapabilityMask.IsClientReregistrationSupported
    for (const Node& node : working_->nodes) {
        for (std::size_t p = 1; p < node.ports.size() && !node.is_switch(); ++p) {
            const mad::PortInfo& info = node.ports[p].info;
            const bool has_clients = node.ports[p].known && info.state == mad::PortState::active &&
                                     info.sm_lid != mad::kLidNone &&
                                     (info.capability_mask & kCanReregister) != 0;
            const mad::Guid owner = fabric::lid_owner(node, mad::PortNum{static_cast<std::uint8_t>(p)});
            if (info.state != mad::PortState::active) {
                lost_clients_.erase(owner);        // they register when it is Active
                reregister_refused_.erase(owner);  // its driver may be another one when it is back
            }
            const bool unknown = node.ports[p].known && ((!clients_known_ && met_.insert(owner).second) ||
                                                         lacking_.erase(owner) > 0);
            if (has_clients && (!clients_are_ours(info.sm_lid) || unknown) &&
                !reregister_refused_.contains(owner)) {
                lost_clients_.insert(owner);
            }
        }
    }
}

std::vector<PortRef> SubnetManager::ports_of_lost_clients() const {
    std::vector<PortRef> ports;
    for (std::uint32_t n = 0; n < working_->nodes.size() && !lost_clients_.empty(); ++n) {
        const Node& node = working_->nodes[n];
        for (std::size_t p = 1; p < node.ports.size() && !node.is_switch(); ++p) {
            const mad::PortNum port{static_cast<std::uint8_t>(p)};
            if (node.ports[p].usable && lost_clients_.contains(fabric::lid_owner(node, port))) {
                ports.push_back({n, port});
            }
        }
    }
    return ports;
}

void SubnetManager::plan_reregister(base::Instant now) {
    if (ports_of_lost_clients().empty()) {
        clients_heard_ = true;
        return;
    }
    constexpr base::Duration kShown = std::chrono::milliseconds{100};  // until the SA has this fabric
    reregister_due_ = reregister_due_.value_or(now + kShown);
}

void SubnetManager::start_reregister(base::Instant now) {
    reregister_due_.reset();
    ProgramInput input = begin_short_run(RunScope::reregister, now);
    input.reregister = ports_of_lost_clients();
    for (const PortRef ref : input.reregister) {  // a host that is silent for now is asked when it is back
        lost_clients_.erase(fabric::lid_owner(working_->nodes[ref.node], ref.port));
    }
    phase_.emplace<Programmer>(std::move(input));
}

void SubnetManager::end_reregister(const Programmer& done, base::Instant now, Effects& out) {
    for (const PortRef ref : done.not_reregistered()) {  // asked again with the next sweep that finds it
        lost_clients_.insert(fabric::lid_owner(working_->nodes[ref.node], ref.port));
    }
    for (const ProgramFailure& failure : done.failures()) {
        announce(Severity::warning, "reregister-refused", failure.text,
                 working_->nodes[failure.at.node].guid(), failure.at.port, now, out);
        reregister_refused_.insert(fabric::lid_owner(working_->nodes[failure.at.node], failure.at.port));
    }
    announce(Severity::info, "reregister",
             fmt::format("{} port(s) were asked to register with the SA anew", done.port_sets()), {}, {}, now,
             out);
    clients_heard_ = true;
    end_short_run();
    if (!done.failures().empty()) {
        retry_later("a port refused to register anew: it is told the SM's LID alone", now);
    } else if (!done.not_reregistered().empty()) {
        retry_later("a port did not answer when asked to register anew", now);
    }
}

}  // namespace ibf::sm
