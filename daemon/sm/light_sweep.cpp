#include "daemon/sm/light_sweep.hpp"

#include <algorithm>

#include "daemon/sm/election.hpp"
#include "mad/codec.hpp"

namespace ibf::sm {

using fabric::kNoNode;
using fabric::PortRef;

namespace {

/// Of two with one GUID: which, as the port of a question's tag.
enum : std::uint8_t { kLeftOut, kBelieved };

/// To a switch, or to a port of an adapter that is known.
mad::DrPath way_to(const fabric::Node& node) {
    const auto known = std::find_if(node.ports.begin(), node.ports.end(),
                                    [](const fabric::Port& port) { return port.known; });
    return node.is_switch() || known == node.ports.end() ? node.path : known->path;
}

}  // namespace

LightSweep::LightSweep(std::shared_ptr<const fabric::Fabric> fabric, std::uint16_t epoch, bool ask_silent,
                       const SmQuestion& question, HeldPorts held)
    : fabric_(std::move(fabric)), epoch_(epoch), question_(question), held_(std::move(held)) {
    result_.sms = fabric_->sms;
    for (fabric::OtherSm& sm : result_.sms) {
        sm.answered = false;
    }
    const auto& nodes = fabric_->nodes;
    for (std::uint32_t n = 0; n < nodes.size(); ++n) {
        if (nodes[n].is_switch()) {
            unheard_.insert(n);
            ask({Ask::light_switch_info, 0, epoch_, n}, nodes[n].path, mad::Attribute::switch_info, 0);
        }
    }
    if (fabric_->switch_count() == 0) {
        for (std::uint32_t n = 0; n < nodes.size(); ++n) {
            for (std::size_t p = 1; p < nodes[n].ports.size(); ++p) {
                const auto& port = nodes[n].ports[p];
                if (port.known) {
                    ask({Ask::recheck_port, static_cast<std::uint8_t>(p), epoch_, n}, port.path,
                        mad::Attribute::port_info, static_cast<std::uint32_t>(p));
                }
            }
        }
    }
    if (const std::uint32_t own = fabric_->local.node; fabric_->switch_count() > 0) {
        const std::uint8_t port = nodes[own].is_switch() ? std::uint8_t{0} : fabric_->local.port.value();
        ask({Ask::recheck_port, port, epoch_, own}, mad::DrPath{}, mad::Attribute::port_info, port);
    }
    for (std::uint32_t i = 0; i < fabric_->sms.size(); ++i) {
        const PortRef at = fabric_->sms[i].at;
        const auto& node = nodes[at.node];
        ask({Ask::sm_info, 0, epoch_, i}, node.is_switch() ? node.path : node.ports[at.port.value()].path,
            mad::Attribute::sm_info, 0);
    }
    ask_namesakes();
    if (!ask_silent) {
        return;
    }
    for (std::uint32_t i = 0; i < fabric_->isolations.size(); ++i) {
        const auto& item = fabric_->isolations[i];
        if (item.reason == fabric::IsolationReason::silent && item.at.node != kNoNode) {
            const auto& node = nodes[item.at.node];
            const mad::DrPath& base = node.is_switch() ? node.path : node.ports[item.at.port.value()].path;
            if (base.hops < mad::kHopsMax) {
                ask({Ask::probe_silent, 0, epoch_, i}, base.then(item.at.port), mad::Attribute::node_info, 0);
            }
        }
    }
}

/// The one that is believed by its node, the one that is left out by its isolation.
void LightSweep::ask_namesakes() {
    const auto& nodes = fabric_->nodes;
    std::set<mad::Guid> names;
    for (std::uint32_t i = 0; i < fabric_->isolations.size(); ++i) {
        const fabric::Isolation& item = fabric_->isolations[i];
        if (item.reason != fabric::IsolationReason::duplicate_guid || item.at.node == kNoNode ||
            !nodes[item.at.node].is_switch() || nodes[item.at.node].path.hops >= mad::kHopsMax) {
            continue;
        }
        names.insert(item.guid);
        ask({Ask::light_node_info, kLeftOut, epoch_, i}, nodes[item.at.node].path.then(item.at.port),
            mad::Attribute::node_info, 0);
    }
    for (std::uint32_t n = 0; n < nodes.size() && !names.empty(); ++n) {
        if (names.contains(nodes[n].guid())) {
            ask({Ask::light_node_info, kBelieved, epoch_, n}, way_to(nodes[n]), mad::Attribute::node_info, 0);
        }
    }
}

void LightSweep::ask(Tag tag, const mad::DrPath& path, mad::Attribute attribute, std::uint32_t modifier) {
    mad::Request request;
    request.tag = tag.pack();
    if (tag.ask == Ask::probe_silent || (tag.ask == Ask::light_node_info && tag.port == kLeftOut)) {
        request.target = stranger_target(tag.index);
    } else {
        request.target = device_target(tag.ask == Ask::sm_info ? fabric_->sms[tag.index].at.node : tag.index);
    }
    request.path = path;
    request.attribute = attribute;
    request.modifier = modifier;
    if (tag.ask == Ask::sm_info) {
        request.data = mad::encode(question_.shown);
    }
    if (tag.ask == Ask::probe_silent) {
        request.retries = 0;
    } else {
        ++open_;
    }
    waiting_.push_back(std::move(request));
}

std::optional<mad::Request> LightSweep::next() {
    if (waiting_.empty()) {
        return std::nullopt;
    }
    mad::Request request = std::move(waiting_.front());
    waiting_.pop_front();
    return request;
}

bool LightSweep::done(base::Instant now) const {
    const auto at = deadline();
    return waiting_.empty() && (open_ == 0 || (at && now >= *at));
}

std::optional<base::Instant> LightSweep::deadline() const {
    constexpr base::Duration kLeast = std::chrono::milliseconds{2};
    if (result_.changes.empty() || open_ == 0 || !waiting_.empty()) {
        return std::nullopt;
    }
    return last_answer_ + std::max(4 * slowest_, kLeast);
}

LightSweep::Result LightSweep::take() {
    for (const auto& [index, open] : open_ports_) {
        if (open > 0) {  // what its other ports are, nobody knows: as if it had not answered
            unheard_.insert(index);
            result_.held.erase(fabric_->nodes[index].guid());
        }
    }
    if (!elsewhere_ && fabric_->switch_count() > 0) {
        result_.touched = TouchedPlaces{{changed_.begin(), changed_.end()}, std::move(unheard_), result_.sms};
    }
    return std::move(result_);
}

void LightSweep::on(const mad::Completion& completion, base::Instant now) {
    const Tag tag = Tag::unpack(completion.tag);
    if (completion.kind == mad::Completion::Kind::reply) {
        last_answer_ = now;
        slowest_ = std::max(slowest_, completion.round_trip);
    }
    if (tag.ask == Ask::probe_silent) {
        if (completion.kind == mad::Completion::Kind::reply) {
            const fabric::Isolation& item = fabric_->isolations[tag.index];
            result_.changes.push_back(fmt::format("{} answers now", item.text));
            if (fabric_->nodes[item.at.node].is_switch()) {
                changed_.insert(item.at.node);
            } else {
                elsewhere_ = true;
            }
        }
        return;
    }
    --open_;
    switch (tag.ask) {
        case Ask::light_switch_info: return on_switch(tag.index, completion);
        case Ask::recheck_port:
            return tag.port > 0 && fabric_->nodes[tag.index].is_switch() ? on_switch_port(tag, completion)
                                                                         : on_port(tag, completion);
        case Ask::sm_info: return on_sm(tag.index, completion);
        case Ask::light_node_info: return on_namesake(tag, completion);
        default: return;
    }
}

void LightSweep::on_switch(std::uint32_t index, const mad::Completion& completion) {
    const fabric::Node& node = fabric_->nodes[index];
    const auto tell = [&](std::string_view what) {
        result_.changes.push_back(fmt::format("switch {} ({}) {}", node.description, node.guid(), what));
    };
    if (completion.kind != mad::Completion::Kind::reply) {
        return tell("does not answer");
    }
    unheard_.erase(index);
    const mad::SwitchInfo info = mad::decode_switch_info(completion.data);
    const bool set_up = !node.switch_info || info.linear_fdb_top == node.switch_info->linear_fdb_top;
    if (info.port_state_change && set_up && held_.contains(node.guid())) {
        return look_at_ports(index);
    }
    if (info.port_state_change) {
        tell("reports a port change");
    } else if (!set_up) {
        tell("lost its set-up");
    } else {
        return;
    }
    changed_.insert(index);
}

void LightSweep::on_port(const Tag& tag, const mad::Completion& completion) {
    const fabric::Port& before = fabric_->port({tag.index, mad::PortNum{tag.port}});
    if (completion.kind != mad::Completion::Kind::reply) {
        elsewhere_ = true;
        result_.changes.push_back(fmt::format("port {} does not answer", before.guid));
        return;
    }
    const mad::PortInfo info = mad::decode_port_info(completion.data);
    if (info.state != before.info.state || info.lid != before.info.lid) {
        elsewhere_ = true;
        result_.changes.push_back(fmt::format("port {} is {} now", before.guid, mad::to_string(info.state)));
    } else if (info.sm_lid != before.info.sm_lid) {  // we slept, and another one was master meanwhile
        elsewhere_ = true;
        result_.changes.push_back(
            fmt::format("port {} was told another SM's LID: {}", before.guid, info.sm_lid));
    }
}

void LightSweep::on_namesake(const Tag& tag, const mad::Completion& completion) {
    if (completion.kind != mad::Completion::Kind::reply) {
        return;  // if it has gone, its switch tells
    }
    const mad::Guid name =
        tag.port == kLeftOut ? fabric_->isolations[tag.index].guid : fabric_->nodes[tag.index].guid();
    const mad::NodeInfo info = mad::decode_node_info(completion.data);
    if (info.node_guid != name) {
        elsewhere_ = true;
        result_.changes.push_back(
            fmt::format("of two devices with the GUID {}, one has the GUID {} now", name, info.node_guid));
    }
}

void LightSweep::look_at_ports(std::uint32_t index) {
    const fabric::Node& node = fabric_->nodes[index];
    result_.held[node.guid()];
    open_ports_[index] = node.ports.size() - 1;
    for (std::size_t p = 1; p < node.ports.size(); ++p) {
        ask({Ask::recheck_port, static_cast<std::uint8_t>(p), epoch_, index}, node.path,
            mad::Attribute::port_info, static_cast<std::uint32_t>(p));
    }
}

void LightSweep::on_switch_port(const Tag& tag, const mad::Completion& completion) {
    const fabric::Node& node = fabric_->nodes[tag.index];
    const mad::PortNum port{tag.port};
    const mad::PortInfo& before = node.ports[tag.port].info;
    --open_ports_.at(tag.index);
    if (completion.kind != mad::Completion::Kind::reply) {
        changed_.insert(tag.index);
        result_.changes.push_back(
            fmt::format("port {} of switch {} ({}) does not answer", port, node.description, node.guid()));
        return;
    }
    const mad::PortInfo info = mad::decode_port_info(completion.data);
    if (info.state == before.state && info.linked() == before.linked()) {
        return;
    }
    if (held_.at(node.guid()).contains(port)) {
        result_.held[node.guid()].emplace(port, info.state);
    } else {
        changed_.insert(tag.index);
        result_.changes.push_back(fmt::format("port {} of switch {} ({}) is {} now", port, node.description,
                                              node.guid(), mad::to_string(info.state)));
    }
}

void LightSweep::on_sm(std::uint32_t index, const mad::Completion& completion) {
    if (completion.kind != mad::Completion::Kind::reply) {
        return;
    }
    note_sm_info(result_.sms[index], mad::decode_sm_info(completion.data), question_.sm_key);
}

}  // namespace ibf::sm
