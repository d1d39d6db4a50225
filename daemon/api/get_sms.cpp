// /v1/sms: every subnet manager that was seen, this one first, and why the master is the master.
#include "daemon/api/endpoints.hpp"

namespace ibf::api {
namespace {

using fabric::Snapshot;

Json own_row(const Snapshot& snapshot) {
    Json row;
    row["guid"] = guid_text(snapshot.sm_guid);
    row["lid"] = snapshot.sm_lid.value();
    row["priority"] = snapshot.sm_priority;
    row["state"] = mad::to_string(snapshot.mastership.state);
    row["this"] = true;
    row["node"] = "";
    if (snapshot.fabric != nullptr && !snapshot.fabric->nodes.empty()) {
        const fabric::PortRef at = snapshot.fabric->local;
        row["node"] = name_of(snapshot.fabric->nodes[at.node]);
        row["port"] = at.port.value();
    }
    return row;
}

/// What a standby has of the master's memory, and how old the last word from there is.
Json copy_json(const fabric::StandbyCopy& copy, base::Instant now) {
    Json out;
    out["state"] = fabric::to_string(copy.state);
    if (copy.of != mad::Guid{}) {
        out["of"] = guid_text(copy.of);
        out["name"] = copy.name;
        out["age_seconds"] = std::chrono::duration<double>(now - copy.heard).count();
        out["why"] = copy.why;
    }
    return out;
}

}  // namespace

Json other_sms_json(const Snapshot& snapshot) {
    Json out = Json::array();
    const fabric::Fabric& fabric = *snapshot.fabric;
    for (const fabric::OtherSm& sm : fabric.sms) {
        Json row;
        row["guid"] = guid_text(sm.guid);
        row["lid"] = sm.lid.value();
        row["priority"] = sm.priority;
        row["state"] = sm.answered ? mad::to_string(sm.state) : std::string_view("silent");
        row["same_key"] = sm.trust != fabric::SmTrust::foreign;
        row["sm_key"] = fabric::to_string(sm.trust);
        row["act_count"] = sm.act_count;
        row["node"] = name_of(fabric.nodes[sm.at.node]);
        row["port"] = sm.at.port.value();
        row["polled"] = sm.guid == snapshot.mastership.polled;
        out.push_back(std::move(row));
    }
    return out;
}

base::Result<HttpReply> get_sms(const Call& call) {
    const fabric::Mastership& mastership = call.snapshot.mastership;
    Json out;
    out["role"] = mastership.role;
    out["why"] = mastership.why;
    out["since"] = base::format_utc(mastership.since);
    out["poll"] = Json{{"guid", guid_text(mastership.polled)},
                       {"interval_seconds", std::chrono::duration<double>(mastership.poll_interval).count()},
                       {"misses", mastership.poll_misses},
                       {"missed", mastership.missed},
                       {"stuck", mastership.stuck}};
    const bool standby = mastership.state != mad::SmState::master;
    if (standby && call.snapshot.copy.state != fabric::StandbyCopy::State::off) {
        out["copy"] = copy_json(call.snapshot.copy, call.now);
    }
    out["peers"] = Json::array();
    for (const fabric::PeerManager& peer : call.snapshot.peers) {
        out["peers"].push_back(
            Json{{"guid", guid_text(peer.guid)}, {"name", peer.name}, {"differences", peer.differences}});
    }
    out["sms"] = Json::array({own_row(call.snapshot)});
    if (call.snapshot.fabric != nullptr) {
        for (Json& row : other_sms_json(call.snapshot)) {
            out["sms"].push_back(std::move(row));
        }
    }
    return json_reply(out);
}

}  // namespace ibf::api
