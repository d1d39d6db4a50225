// What would be, were switches or cables down.
#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "daemon/api/element.hpp"
#include "daemon/api/endpoints.hpp"
#include "daemon/api/whatif.hpp"

namespace ibf::api {
namespace {

using fabric::Snapshot;

constexpr std::size_t kElementsMax = 64;  ///< of one question
constexpr std::uint64_t kHotMax = 10'000;

std::vector<std::string> split(std::string_view text, char at) {
    std::vector<std::string> parts;
    while (!text.empty()) {
        const std::string_view part = text.substr(0, text.find(at));
        text.remove_prefix(std::min(text.size(), part.size() + 1));
        if (!part.empty()) {
            parts.emplace_back(part);
        }
    }
    return parts;
}

base::Result<std::vector<fabric::Drain>> elements_down(const Call& call) {
    const auto words = call.query.required("down");
    if (!words) {
        return tl::unexpected(words.error());
    }
    const Directory directory(*call.snapshot.fabric);
    std::vector<fabric::Drain> elements;
    for (const std::string& word : split(*words, '\n')) {
        auto element = element_of(*call.snapshot.fabric, directory, word);
        if (!element) {
            return tl::unexpected(element.error());
        }
        elements.push_back(std::move(*element));
    }
    if (elements.empty() || elements.size() > kElementsMax) {
        return base::fail(base::ErrorKind::usage,
                          fmt::format("1 to {} switches and cables can be down in one question, not {}",
                                      kElementsMax, elements.size()));
    }
    return elements;
}

base::Result<std::vector<std::string>> engines(const Call& call) {
    std::vector<std::string> chain = split(call.query.param("engine"), ',');
    const auto known = routing::chain_words();
    for (const std::string& engine : chain) {
        if (std::find(known.begin(), known.end(), engine) == known.end()) {
            return base::fail(base::ErrorKind::usage, fmt::format("there is no engine '{}'; there are {}",
                                                                  engine, fmt::join(known, ", ")));
        }
    }
    return chain;
}

Json load_json(const LoadFigures& load) {
    return Json{{"worst", load.worst}, {"mean", load.mean}, {"links", load.links}};
}

Json hot_row(const routing::Topology& topology, const HotLink& link) {
    const routing::TopologySwitch& from = topology.switches[topology.find_switch(link.from)];
    const routing::PortPeer& peer = from.peers[link.port.value()];
    const routing::TopologySwitch& to = topology.switches[peer.index];
    return Json{{"from", from.name},
                {"from_guid", guid_text(from.guid)},
                {"from_port", link.port.value()},
                {"to", to.name},
                {"to_guid", guid_text(to.guid)},
                {"to_port", peer.port.value()},
                {"flows_before", link.before},
                {"flows_after", link.after}};
}

/// The engines' part: who would serve, on how many lanes, why the others would not, and what the proof says.
Json serving_json(const routing::RouteOutcome& outcome) {
    double seconds = 0;
    for (const routing::EngineAttempt& attempt : outcome.attempts) {
        seconds += attempt.compute_seconds + attempt.verify_seconds;
    }
    return Json{{"engine", outcome.routes.engine},        {"vls", outcome.routes.vls},
                {"remark", outcome.routes.remark},        {"attempts", attempts_json(outcome.attempts)},
                {"proof", verdict_json(outcome.verdict)}, {"seconds", seconds}};
}

Json answer_json(const Snapshot& snapshot, const WhatIf& answer) {
    const routing::Topology& topology = snapshot.view->topology;
    Json out;
    out["lost"] = Json{{"hosts", answer.lost.cut_off.size()},
                       {"pairs", answer.lost.pairs},
                       {"sm_cut_off", answer.sm_cut_off},
                       {"cut_off", host_rows(topology, answer.lost.cut_off)}};
    out["now"] = Json{{"engine", snapshot.routes->routes.engine}, {"vls", snapshot.routes->routes.vls}};
    if (!answer.no_engine.empty()) {
        out["no_engine"] = answer.no_engine;
        return out;
    }
    out["then"] = serving_json(answer.outcome);
    out["load"] = Json{{"before", load_json(answer.load_before)}, {"after", load_json(answer.load_after)}};
    out["hot"] = Json::array();
    for (const HotLink& link : answer.hot) {
        out["hot"].push_back(hot_row(topology, link));
    }
    out["writes"] = Json{
        {"blocks", answer.blocks}, {"switches", answer.switches}, {"safety_blocks", answer.safety_blocks}};
    return out;
}

/// Everything is well then, too.
bool is_harmless(const WhatIf& answer) {
    return answer.lost.cut_off.empty() && answer.no_engine.empty() && answer.outcome.verdict.reachable() &&
           answer.outcome.verdict.credit_loop_free;
}

}  // namespace

base::Result<HttpReply> get_whatif(const Call& call) {
    const Snapshot& snapshot = call.snapshot;
    const auto elements = elements_down(call);
    auto chain = engines(call);
    const auto top = call.query.number("top", 10, kHotMax);
    if (!elements || !chain || !top) {
        return tl::unexpected(!elements ? elements.error() : !chain ? chain.error() : top.error());
    }
    if (snapshot.routes == nullptr) {
        return base::fail(
            base::ErrorKind::unavailable,
            "this SM has not routed this fabric (another one may be master: 'ibfabric sms'); without "
            "a daemon 'ibfabric plan' answers for a topology file");
    }
    WhatIfQuestion question;
    question.engines = std::move(*chain);
    question.hot_most = static_cast<std::size_t>(*top);
    Json out{{"down", Json::array()}};
    for (const fabric::Drain& element : *elements) {
        out["down"].push_back(element_row(element));
    }
    question.down = fabric::elements_of(*elements);
    const auto answer = what_if(snapshot, question);
    if (!answer) {
        return tl::unexpected(answer.error());
    }
    out["harmless"] = is_harmless(*answer);
    out.update(answer_json(snapshot, *answer));
    return json_reply(out);
}

}  // namespace ibf::api
