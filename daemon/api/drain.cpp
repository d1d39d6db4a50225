// Drain, undrain, and what is drained: asked for here, judged on the snapshot, done by the core.
#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "daemon/api/element.hpp"
#include "daemon/api/endpoints.hpp"
#include "routing/drained.hpp"

namespace ibf::api {
namespace {

using fabric::Drain;
using fabric::Drains;
using fabric::Snapshot;
using routing::EndPortIndex;

const fabric::DrainList& asked(const Snapshot& snapshot) {
    static const fabric::DrainList kNone;
    return snapshot.drains ? snapshot.drains->asked : kNone;
}

bool is_same(const Drain& a, const Drain& b) {
    return a.node == b.node && a.port == b.port;
}

routing::Elements only(const Drain& element) {
    return fabric::elements_of({element});
}

/// Hosts that what is drained does not cut off yet, but would together with this.
std::vector<EndPortIndex> newly_cut_off(const routing::Topology& topology, const routing::Elements& drained,
                                        const Drain& element) {
    const auto before = routing::losses(topology, drained).cut_off;
    const auto after = routing::losses(topology, routing::united(drained, only(element))).cut_off;
    std::vector<EndPortIndex> fresh;
    std::set_difference(after.begin(), after.end(), before.begin(), before.end(), std::back_inserter(fresh));
    return fresh;
}

/// "draining", "drained", "away" or "swapped"; "standby" while another SM routes.
std::string_view state_of(const Snapshot& snapshot, const Drain& drain, const fabric::DrainSight& sight) {
    if (snapshot.mode == fabric::SmMode::standby) {
        return "standby";
    }
    if (!snapshot.drains->heeds(drain)) {
        return "draining";
    }
    return sight.substitute ? "swapped" : sight.here ? "drained" : "away";
}

Json drain_row(const Snapshot& snapshot, const Drain& drain) {
    const fabric::DrainSight sight = fabric::look_for(*snapshot.fabric, drain);
    Json row = element_row(drain);
    row["state"] = state_of(snapshot, drain, sight);
    row["since"] = base::format_utc(drain.since);
    row["forced"] = drain.forced;
    if (sight.substitute) {
        row["substitute"] =
            Json{{"name", sight.substitute->name}, {"guid", guid_text(sight.substitute->guid)}};
    }
    return row;
}

/// Who has no way but over it, and by which of its cables.
void add_needs(Json& row, const Snapshot& snapshot, const Drain& drain,
               const std::vector<routing::SwitchPort>& spared) {
    const routing::Topology& topology = snapshot.view->topology;
    row["hosts"] = host_rows(topology, routing::losses(topology, only(drain)).cut_off);
    row["spared_ports"] = Json::array();
    for (const routing::SwitchPort& at : spared) {
        if (at.node == drain.node && (drain.is_switch() || at.port == drain.port)) {
            row["spared_ports"].push_back(at.port.value());
        }
    }
}

/// Elements that are no longer drained, while tables in force still keep off them.
Json undraining_rows(const Snapshot& snapshot) {
    Json rows = Json::array();
    const routing::Elements now = fabric::elements_of(snapshot.drains->asked);
    for (const mad::Guid node : snapshot.drains->in_force.switches) {
        if (!now.has(node)) {
            rows.push_back(Json{{"guid", guid_text(node)}, {"port", nullptr}});
        }
    }
    for (const routing::SwitchPort& at : snapshot.drains->in_force.ports) {
        if (!now.has(at)) {
            rows.push_back(Json{{"guid", guid_text(at.node)}, {"port", at.port.value()}});
        }
    }
    return rows;
}

base::Result<void> must_be_master(const Snapshot& snapshot) {
    if (snapshot.mode == fabric::SmMode::standby) {
        return base::fail(
            base::ErrorKind::unavailable,
            "another SM is master and routes this fabric: drain there; 'ibfabric sms' names it");
    }
    return {};
}

/// The drained element that a word names, also one that is away: by name, GUID, and /PORT.
const Drain* find_asked(const Snapshot& snapshot, std::string_view word) {
    const fabric::DrainList& list = asked(snapshot);
    const auto found = std::find_if(list.begin(), list.end(), [&](const Drain& drain) {
        const std::string port = drain.is_switch() ? "" : fmt::format("/{}", drain.port);
        return word == guid_text(drain.node) + port || word == drain.name + port;
    });
    return found == list.end() ? nullptr : &*found;
}

HttpReply accepted(const Snapshot& snapshot, const Drain& element) {
    Json body{{"accepted", true}};
    body.update(element_row(element));
    body["last_sweep"] = snapshot.sweeps.empty() ? 0 : snapshot.sweeps.front().id;
    HttpReply reply = json_reply(body);
    reply.status = 202;
    return reply;
}

}  // namespace

Json drains_json(const Snapshot& snapshot) {
    Json out{{"drained", Json::array()}, {"undraining", Json::array()}};
    if (snapshot.drains && snapshot.fabric) {
        for (const Drain& drain : snapshot.drains->asked) {
            out["drained"].push_back(drain_row(snapshot, drain));
        }
        out["undraining"] = undraining_rows(snapshot);
    }
    return out;
}

base::Result<HttpReply> get_drain(const Call& call) {
    const Snapshot& snapshot = call.snapshot;
    Json out = drains_json(snapshot);
    const fabric::DrainList& list = asked(snapshot);
    if (!list.empty()) {
        const auto spared = routing::mask_drained(snapshot.view->topology, fabric::elements_of(list)).spared;
        for (std::size_t i = 0; i < list.size(); ++i) {
            add_needs(out["drained"][i], snapshot, list[i], spared);
        }
    }
    return json_reply(out);
}

base::Result<HttpReply> post_drain(const Call& call) {
    const Snapshot& snapshot = call.snapshot;
    const auto word = call.query.required("element");
    const auto force = call.query.choice("force", {"no", "yes"});
    const auto master = must_be_master(snapshot);
    if (!word || !force || !master) {
        return tl::unexpected(!word ? word.error() : !force ? force.error() : master.error());
    }
    auto element = element_of(*snapshot.fabric, Directory(*snapshot.fabric), *word);
    if (!element) {
        return tl::unexpected(element.error());
    }
    const fabric::DrainList& list = asked(snapshot);
    if (std::any_of(list.begin(), list.end(), [&](const Drain& drain) { return is_same(drain, *element); })) {
        return accepted(snapshot, *element);
    }
    if (list.size() >= fabric::kDrainsMax) {
        return refused_reply(
            fmt::format("{} elements are drained, more is not possible: undrain some first", list.size()));
    }
    const auto& topology = snapshot.view->topology;
    const auto cut_off = newly_cut_off(topology, fabric::elements_of(list), *element);
    if (!cut_off.empty() && *force == "no") {
        return refused_reply(
            fmt::format("without {} there is no way to {}: move them first, or drain it by force (--force), "
                        "which takes off it "
                        "only what has another way",
                        fabric::to_string(*element), hosts_text(topology, cut_off)));
    }
    element->forced = !cut_off.empty();
    HttpReply reply = accepted(snapshot, *element);
    reply.command = AdminCommand{AdminCommand::Kind::drain, std::move(*element)};
    return reply;
}

base::Result<HttpReply> post_undrain(const Call& call) {
    const Snapshot& snapshot = call.snapshot;
    const auto word = call.query.required("element");
    const auto master = must_be_master(snapshot);
    if (!word || !master) {
        return tl::unexpected(word ? master.error() : word.error());
    }
    const Drain* drained = find_asked(snapshot, *word);
    if (drained == nullptr) {
        const auto element = element_of(*snapshot.fabric, Directory(*snapshot.fabric), *word);
        if (!element) {
            return tl::unexpected(element.error());
        }
        const fabric::DrainList& list = asked(snapshot);
        const auto found = std::find_if(list.begin(), list.end(),
                                        [&](const Drain& drain) { return is_same(drain, *element); });
        if (found == list.end()) {
            return base::fail(base::ErrorKind::not_found,
                              fmt::format("{} is not drained: 'ibfabric drain' lists what is",
                                          fabric::to_string(*element)));
        }
        drained = &*found;
    }
    HttpReply reply = accepted(snapshot, *drained);
    reply.command = AdminCommand{AdminCommand::Kind::undrain, *drained};
    return reply;
}

}  // namespace ibf::api
