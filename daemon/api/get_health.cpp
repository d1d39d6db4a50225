// /v1/health: ports that are ill, by which rule, and what follows; an operator's word on them. And the end of
// hold mode.
#include <algorithm>
#include <set>

#include "daemon/api/endpoints.hpp"

namespace ibf::api {
namespace {

using fabric::HealthAction;
using fabric::HealthRow;
using fabric::Snapshot;

const std::vector<HealthRow>& rows_of(const Snapshot& snapshot) {
    static const std::vector<HealthRow> kNone;
    return snapshot.health ? *snapshot.health : kNone;
}

Json health_row(const HealthRow& health, const fabric::Fabric* fabric) {
    Json row;
    const std::uint32_t node = fabric != nullptr ? fabric->find(health.at.node) : fabric::kNoNode;
    row["node"] = node == fabric::kNoNode ? std::string{} : name_of(fabric->nodes[node]);
    row["guid"] = guid_text(health.at.node);
    row["port"] = health.at.port.value();
    if (node != fabric::kNoNode && health.at.port.value() < fabric->nodes[node].ports.size()) {
        const fabric::Port& port = fabric->nodes[node].ports[health.at.port.value()];
        if (has_peer(port)) {
            row["peer"] = name_of(fabric->nodes[port.peer.node]);
            row["peer_port"] = port.peer.port.value();
        }
    }
    row["rule"] = fabric::to_string(health.rule);
    row["count"] = health.count;
    row["times"] = health.times;
    row["since"] = base::format_utc(health.since);
    row["until"] = health.until == base::WallTime{} ? std::string{} : base::format_utc(health.until);
    row["wanted"] = fabric::to_string(health.wanted);
    row["done"] = fabric::to_string(health.done);
    row["why_not"] = health.why_not;
    return row;
}

/// The port of a switch or adapter that a word names; an adapter with one linked port needs no number.
base::Result<fabric::PortId> port_named(const Call& call) {
    const auto word = call.query.required("port");
    if (!word) {
        return tl::unexpected(word.error());
    }
    const fabric::Fabric& fabric = *call.snapshot.fabric;
    const auto target = Directory(fabric).resolve(*word);
    if (!target) {
        return tl::unexpected(target.error());
    }
    const fabric::Node& node = fabric.nodes[target->node];
    if (!target->port) {
        return base::fail(base::ErrorKind::usage,
                          fmt::format("{}: which port of {}? Write NODE/N", *word, name_of(node)));
    }
    return fabric::PortId{node.guid(), *target->port};
}

base::Result<HttpReply> order(const Call& call, AdminCommand::Kind kind) {
    const auto port = port_named(call);
    if (!port) {
        return tl::unexpected(port.error());
    }
    HttpReply reply =
        json_reply(Json{{"accepted", true}, {"guid", guid_text(port->node)}, {"port", port->port.value()}});
    reply.status = 202;
    reply.command = AdminCommand{kind, {}, *port};
    return reply;
}

}  // namespace

Json health_json(const Snapshot& snapshot) {
    std::set<fabric::PortId> ill;
    std::set<fabric::PortId> isolated;
    std::set<fabric::PortId> disabled;
    for (const HealthRow& row : rows_of(snapshot)) {
        ill.insert(row.at);
        if (row.done == HealthAction::isolate) {
            isolated.insert(row.at);
        } else if (row.done == HealthAction::disable) {
            disabled.insert(row.at);
        }
    }
    return Json{{"ill", ill.size()}, {"isolated", isolated.size()}, {"disabled", disabled.size()}};
}

base::Result<HttpReply> get_health(const Call& call) {
    Json rows = Json::array();
    for (const HealthRow& row : rows_of(call.snapshot)) {
        rows.push_back(health_row(row, call.snapshot.fabric.get()));
    }
    return json_reply(Json{{"health", std::move(rows)}});
}

base::Result<HttpReply> post_health_set(const Call& call) {
    return order(call, AdminCommand::Kind::health_set);
}

base::Result<HttpReply> post_health_clear(const Call& call) {
    return order(call, AdminCommand::Kind::health_clear);
}

base::Result<HttpReply> post_resume(const Call& call) {
    if (call.snapshot.mode != fabric::SmMode::hold) {
        return base::fail(base::ErrorKind::usage, fmt::format("the daemon is not in hold mode: it is {}",
                                                              fabric::to_string(call.snapshot.mode)));
    }
    HttpReply reply = json_reply(Json{{"accepted", true}});
    reply.status = 202;
    reply.command = AdminCommand{AdminCommand::Kind::resume, {}};
    return reply;
}

}  // namespace ibf::api
