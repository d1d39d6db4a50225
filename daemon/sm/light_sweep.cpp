#include "daemon/sm/light_sweep.hpp"

#include "daemon/sm/election.hpp"
#include "mad/codec.hpp"

namespace ibf::sm {

using fabric::kNoNode;
using fabric::PortRef;

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
    for (std::uint32_t i = 0; i < fabric_->sms.size(); ++i) {
        const PortRef at = fabric_->sms[i].at;
        const auto& node = nodes[at.node];
        ask({Ask::sm_info, 0, epoch_, i}, node.is_switch() ? node.path : node.ports[at.port.value()].path,
            mad::Attribute::sm_info, 0);
    }
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

void LightSweep::ask(Tag tag, const mad::DrPath& path, mad::Attribute attribute, std::uint32_t modifier) {
    mad::Request request;
    request.tag = tag.pack();
    if (tag.ask == Ask::probe_silent) {
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

void LightSweep::on(const mad::Completion& completion) {
    const Tag tag = Tag::unpack(completion.tag);
    if (tag.ask == Ask::probe_silent) {
        if (completion.kind == mad::Completion::Kind::reply) {
            result_.changes.push_back(fmt::format("{} answers now", fabric_->isolations[tag.index].text));
            result_.silent_answered = true;
        }
        return;
    }
    --open_;
    switch (tag.ask) {
        case Ask::light_switch_info: return on_switch(tag.index, completion);
        case Ask::recheck_port:
            return fabric_->nodes[tag.index].is_switch() ? on_switch_port(tag, completion)
                                                         : on_port(tag, completion);
        case Ask::sm_info: return on_sm(tag.index, completion);
        default: return;
    }
}

void LightSweep::on_switch(std::uint32_t index, const mad::Completion& completion) {
    const fabric::Node& node = fabric_->nodes[index];
    if (completion.kind != mad::Completion::Kind::reply) {
        result_.changes.push_back(
            fmt::format("switch {} ({}) does not answer", node.description, node.guid()));
        return;
    }
    const mad::SwitchInfo info = mad::decode_switch_info(completion.data);
    const bool set_up = !node.switch_info || info.linear_fdb_top == node.switch_info->linear_fdb_top;
    if (info.port_state_change && set_up && held_.contains(node.guid())) {
        look_at_ports(index);
    } else if (info.port_state_change) {
        result_.changes.push_back(
            fmt::format("switch {} ({}) reports a port change", node.description, node.guid()));
    } else if (!set_up) {
        result_.changes.push_back(
            fmt::format("switch {} ({}) lost its set-up", node.description, node.guid()));
    }
}

void LightSweep::on_port(const Tag& tag, const mad::Completion& completion) {
    const fabric::Port& before = fabric_->port({tag.index, mad::PortNum{tag.port}});
    if (completion.kind != mad::Completion::Kind::reply) {
        result_.changes.push_back(fmt::format("port {} does not answer", before.guid));
        return;
    }
    const mad::PortInfo info = mad::decode_port_info(completion.data);
    if (info.state != before.info.state || info.lid != before.info.lid) {
        result_.changes.push_back(fmt::format("port {} is {} now", before.guid, mad::to_string(info.state)));
    }
}

void LightSweep::look_at_ports(std::uint32_t index) {
    const fabric::Node& node = fabric_->nodes[index];
    result_.held[node.guid()];
    for (std::size_t p = 1; p < node.ports.size(); ++p) {
        ask({Ask::recheck_port, static_cast<std::uint8_t>(p), epoch_, index}, node.path,
            mad::Attribute::port_info, static_cast<std::uint32_t>(p));
    }
}

void LightSweep::on_switch_port(const Tag& tag, const mad::Completion& completion) {
    const fabric::Node& node = fabric_->nodes[tag.index];
    const mad::PortNum port{tag.port};
    const mad::PortInfo& before = node.ports[tag.port].info;
    if (completion.kind != mad::Completion::Kind::reply) {
        result_.changes.push_back(fmt::format("port {} of switch {} ({}) does not answer", port,
                                              node.description, node.guid()));
        return;
    }
    const mad::PortInfo info = mad::decode_port_info(completion.data);
    if (info.state == before.state && info.linked() == before.linked()) {
        return;
    }
    if (held_.at(node.guid()).contains(port)) {
        result_.held[node.guid()].emplace(port, info.state);
    } else {
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
