// Port health: where evidence comes from in a sweep, and what follows of a verdict (health.hpp). A verdict is
// told; by policy the link is left out of routing in the sweep that it asks for, or the end nearest to the SM
// is disabled between sweeps.
#include <algorithm>

#include "base/check.hpp"
#include "daemon/sm/spare_links.hpp"
#include "daemon/sm/subnet_manager.hpp"
#include "mad/codec.hpp"

namespace ibf::sm {
namespace {

using fabric::Fabric;
using fabric::HealthAction;
using fabric::HealthRule;
using fabric::IsolationReason;
using fabric::kNoNode;
using fabric::Node;
using fabric::Port;
using fabric::PortId;
using fabric::PortRef;
using mad::Completion;
using Severity = fabric::EventRecord::Severity;
using News = PortHealth::News;

bool cannot_be(IsolationReason reason) {
    return reason == IsolationReason::bad_node_info || reason == IsolationReason::zero_guid ||
           reason == IsolationReason::bad_switch_info;
}

/// Linked, wanted in use, and yet in Init after a sweep has set it up.
bool left_in_init(const Fabric& fabric, PortRef at) {
    const Port& port = fabric.port(at);
    return port.known && port.usable && port.peer.node != kNoNode && fabric.port(port.peer).usable &&
           port.info.linked() && port.info.state == mad::PortState::init;
}

/// Where it is now; node kNoNode: it is not to be seen.
PortRef find_port(const Fabric& fabric, PortId port) {
    const std::uint32_t node = fabric.find(port.node);
    return node != kNoNode && port.port.value() < fabric.nodes[node].ports.size() ? PortRef{node, port.port}
                                                                                  : PortRef{};
}

std::string evidence_text(const News& news) {
    const HealthSpec& spec = spec_of(news.rule);
    if (news.rule == HealthRule::manual) {
        return std::string(spec.evidence);
    }
    return spec.looks > 0 ? fmt::format("{} {}", news.count, spec.evidence)
                          : fmt::format("{} {} within {}", news.count, spec.evidence,
                                        base::format_duration(spec.within));
}

}  // namespace

std::string SubnetManager::health_place(PortId port) const {
    return fmt::format("{} port {}", fabric_ ? name_of(port.node) : fmt::format("{}", port.node), port.port);
}

// --- evidence

/// A sweep has ended that set up whatever could be.
void SubnetManager::judge_sweep(const Programmer& done, base::Instant now) {
    std::set<PortId> init;
    std::set<PortId> silent;
    std::set<PortId> refused;
    std::set<PortId> illegal;
    for (const ProgramFailure& failure : done.failures()) {
        refused.insert(id_of(*working_, failure.at));
    }
    for (const fabric::Isolation& item : working_->isolations) {
        if (item.at.node != kNoNode && item.reason == IsolationReason::silent) {
            silent.insert(id_of(*working_, item.at));
        } else if (item.at.node != kNoNode && cannot_be(item.reason)) {
            illegal.insert(id_of(*working_, item.at));
        }
    }
    for (std::uint32_t n = 0; n < working_->nodes.size(); ++n) {
        for (std::size_t p = 1; p < working_->nodes[n].ports.size(); ++p) {
            const PortRef here{n, mad::PortNum{static_cast<std::uint8_t>(p)}};
            if (left_in_init(*working_, here)) {
                init.insert(id_of(*working_, here));
            }
        }
    }
    health_.note_look(HealthRule::init, init, now);
    if (!extent_) {  // else others were not asked
        health_.note_look(HealthRule::silent, silent, now);
        health_.note_look(HealthRule::set_errors, refused, now);
        health_.note_look(HealthRule::illegal, illegal, now);
    }
    health_due_ = health_.due();
    enable_the_well();
}

/// Ports that were disabled for somebody who is well by now, and are Disabled still: their switch was away,
/// or did not answer, when that was said. Where it stays away, that is remembered while there is room.
void SubnetManager::enable_the_well() {
    const bool crowded = disabled_.size() > PortHealth::kPortsMax;
    std::erase_if(disabled_, [&](const auto& item) {
        const fabric::PortId ill = item.first;
        const fabric::PortId end = item.second;
        const PortRef at = find_port(*working_, end);
        const bool asked = std::any_of(ordered_.begin(), ordered_.end(),
                                       [&](const auto& order) { return order.second.first == end; });
        if (at.node == kNoNode || health_.is_to_be_disabled(ill) || asked) {
            return at.node == kNoNode && crowded;
        }
        if (working_->port(at).info.phys_state == mad::PhysState::disabled) {
            port_orders_[ill] = PortOrder::enable;
            return false;
        }
        port_orders_.erase(ill);  // somebody else has enabled it, or it was reset
        return true;
    });
}

void SubnetManager::set_health(PortId port, base::Instant now, Effects& out) {
    health_.set(port, now);
    run(now, out);
}

/// Also of a port that somebody else, or this SM in another life, has disabled.
void SubnetManager::clear_health(PortId port, base::Instant now, Effects& out) {
    health_.clear(port);
    for (const auto& [ill, end] : disabled_) {
        if (end == port) {
            health_.clear(ill);  // it hangs on this port, and so is not to be seen and named
        }
    }
    const PortRef at = fabric_ ? find_port(*fabric_, port) : PortRef{};
    if (at.node != kNoNode && port.port != mad::PortNum{} &&
        fabric_->port(at).info.phys_state == mad::PhysState::disabled) {
        port_orders_[port] = PortOrder::enable;
    }
    run(now, out);
}

// --- what follows

/// Verdicts that have changed. One sweep for all of them, where routing is to change.
void SubnetManager::tell_health(base::Instant now, Effects& out) {
    if (!health_.has_news() && !(health_due_ && now >= *health_due_)) {
        return;
    }
    for (const News& news : health_.take_news(now)) {
        const std::string where = health_place(news.at);
        switch (news.kind) {
            case News::Kind::ill:
                announce(
                    Severity::warning, "unhealthy",
                    fmt::format("{} is {}: {}; it must be quiet for {} at least", where, to_string(news.rule),
                                evidence_text(news), base::format_duration(news.quarantine)),
                    news.at.node, news.at.port, now, out);
                break;
            case News::Kind::disable: port_orders_[news.at] = PortOrder::disable; break;
            case News::Kind::well:
                announce(Severity::info, "healthy",
                         fmt::format("{} is no more {}", where, to_string(news.rule)), news.at.node,
                         news.at.port, now, out);
                if (disabled_.contains(news.at) && !health_.is_to_be_disabled(news.at)) {
                    port_orders_[news.at] = PortOrder::enable;
                }
                break;
        }
    }
    health_due_ = health_.due();
    if (auto ill = health_.to_leave_out(); ill != left_out_) {
        left_out_ = std::move(ill);
        if (election_.may_write()) {
            want_sweep(SweepScope::full, "port health", now);
        }
    }
    show_health();
}

/// Between discovery and routing: both ends of a link that can be spared are out of use. Who is left out
/// changes with a look at everything only (tell_health asks for one).
void SubnetManager::leave_out_ill(base::Instant now, Effects& out) {
    std::erase_if(working_->isolations,
                  [](const auto& item) { return item.reason == IsolationReason::quarantined; });
    stays_because_.clear();
    if (!extent_) {
        left_out_in_force_ = left_out_;
    }
    for (SpareVerdict& verdict : spare_links(*working_, left_out_in_force_)) {
        if (!verdict.why_not.empty()) {
            if (stays_told_.insert(verdict.port).second) {
                announce(Severity::warning, "unhealthy-stays",
                         fmt::format("{} is not left out: {}", health_place(verdict.port), verdict.why_not),
                         verdict.port.node, verdict.port.port, now, out);
            }
            stays_because_.emplace(verdict.port, std::move(verdict.why_not));
        } else if (verdict.at.node != kNoNode) {
            const PortRef peer = working_->port(verdict.at).peer;
            working_->port(verdict.at).usable = false;
            if (peer.node != kNoNode) {
                working_->port(peer).usable = false;
                left_out_peers_[verdict.port] = id_of(*working_, peer);
            }
            const Node& node = working_->nodes[verdict.at.node];
            working_->isolations.push_back(
                {IsolationReason::quarantined, verdict.at,
                 peer.node == kNoNode ? mad::Guid{} : working_->nodes[peer.node].guid(), node.path,
                 fmt::format("{} ({}) port {} and its link are left out: 'ibfabric health' says why",
                             node.description, node.guid(), verdict.at.port)});
        }
    }
    std::erase_if(left_out_peers_, [&](const auto& item) { return !left_out_.contains(item.first); });
    std::erase_if(stays_told_, [&](PortId port) { return !left_out_.contains(port); });
    show_health();
}

bool SubnetManager::may_order() const {
    // What the last one disabled is to be seen first: two that spare each other are not both spare.
    const bool seen = disabled_in_ != fabric_ ||
                      std::any_of(port_orders_.begin(), port_orders_.end(),
                                  [](const auto& order) { return order.second == PortOrder::enable; });
    return std::holds_alternative<Idle>(phase_) && !port_orders_.empty() && seen && fabric_ &&
           election_.may_write() && !in_doubt_ && mads_.room() > 0;
}

/// Ports to be disabled or enabled, one by one, between sweeps.
void SubnetManager::ask_ports(base::Instant now, Effects& out) {
    while (may_order()) {
        const auto next = disabled_in_ != fabric_
                              ? port_orders_.begin()
                              : std::find_if(port_orders_.begin(), port_orders_.end(),
                                             [](const auto& one) { return one.second == PortOrder::enable; });
        const auto [port, order] = *next;
        port_orders_.erase(next);
        if (order == PortOrder::disable && !health_.is_to_be_disabled(port)) {
            continue;  // it is well by now, or policy is another
        }
        // Who hangs on a disabled port is not to be seen: the port is remembered, until it has been enabled.
        const auto known = disabled_.find(port);
        PortRef at = find_port(*fabric_,
                               order == PortOrder::enable && known != disabled_.end() ? known->second : port);
        if (at.node == kNoNode) {
            continue;  // who is to be enabled is once it is seen again (enable_the_well)
        }
        if (order == PortOrder::disable) {
            const SpareVerdict verdict = spare_links(*fabric_, {port}).front();
            if (!verdict.why_not.empty()) {
                stays_because_[port] = verdict.why_not;
                announce(Severity::warning, "unhealthy-stays",
                         fmt::format("{} is not disabled: {}", health_place(port), verdict.why_not),
                         port.node, port.port, now, out);
                show_health();
                continue;
            }
            disabled_in_ = fabric_;
            at = near_end(*fabric_, at);
            disabled_[port] = id_of(*fabric_, at);
        }
        order_port(at, order);
    }
}

/// A port goes down before its PhysicalState is commanded (IBA 14.2.5.6).
void SubnetManager::order_port(PortRef at, PortOrder order) {
    const Node& node = fabric_->nodes[at.node];
    mad::PortInfo set = node.ports[at.port.value()].info;
    set.state = order == PortOrder::disable ? mad::PortState::down : mad::PortState::no_change;
    set.phys_state = order == PortOrder::disable ? mad::PhysState::disabled : mad::PhysState::polling;
    set.client_reregister = false;
    set.width_enabled = 0;
    set.speed_enabled = 0;
    set.speed_ext_enabled = 0;
    set.speed_ext2_enabled = 0;
    mad::Request request;
    request.tag = Tag{Ask::order_port, at.port.value(), epoch_, ++orders_sent_}.pack();
    request.target = device_target(at.node);
    request.method = mad::Method::set;
    request.attribute = mad::Attribute::port_info;
    request.modifier = at.port.value();
    request.path = node.is_switch() ? node.path : node.ports[at.port.value()].path;
    request.data = mad::encode(set);
    const bool taken = mads_.submit(std::move(request));
    IBF_CHECK(taken, "the transaction table refused a request although it had room");
    ordered_.emplace(orders_sent_, std::pair(id_of(*fabric_, at), order));
}

void SubnetManager::tell_orders(base::Instant now, Effects& out) {
    for (const Completion& completion : std::exchange(order_answers_, {})) {
        const auto asked = ordered_.extract(Tag::unpack(completion.tag).index);
        if (asked.empty()) {
            continue;
        }
        const auto [at, order] = asked.mapped();
        const std::string_view word = order == PortOrder::disable ? "disabled" : "enabled";
        if (completion.kind == Completion::Kind::reply) {
            announce(Severity::warning, fmt::format("port-{}", word),
                     fmt::format("{} is {}", health_place(at), word), at.node, at.port, now, out);
        } else {
            const bool refused = completion.kind == Completion::Kind::error_status;
            const bool later = order == PortOrder::enable && !refused &&
                               std::any_of(disabled_.begin(), disabled_.end(),
                                           [end = at](const auto& item) { return item.second == end; });
            announce(Severity::error, fmt::format("port-not-{}", word),
                     fmt::format("{} does not let itself be {}: {}", health_place(at), word,
                                 later ? "it is asked again when it was seen again"
                                       : "'ibfabric health --clear' asks again"),
                     at.node, at.port, now, out);
            if (later) {
                continue;
            }
        }
        if (order == PortOrder::enable) {
            std::erase_if(disabled_, [end = at](const auto& item) { return item.second == end; });
        }
    }
}

void SubnetManager::show_health() {
    auto rows = std::make_shared<std::vector<fabric::HealthRow>>();
    for (const PortHealth::State& state : health_.states()) {
        fabric::HealthRow row{state.at, state.rule,   state.count,          state.times, wall(state.since),
                              {},       state.wanted, HealthAction::report, {}};
        row.until = state.until ? wall(*state.until) : base::WallTime{};
        const auto stays = stays_because_.find(state.at);
        if (stays != stays_because_.end() && state.wanted != HealthAction::report) {
            row.why_not = stays->second;
        } else {
            row.done = state.wanted;
        }
        rows->push_back(std::move(row));
    }
    health_rows_ = std::move(rows);
    ++version_;
}

}  // namespace ibf::sm
