#include "daemon/api/api.hpp"

#include <algorithm>
#include <set>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/unit/fabric_from_netlist.hpp"

namespace ibf::api {
namespace {

using Json = nlohmann::json;

struct Answer {
    int status = 0;
    Json body;
    std::optional<AdminCommand> command;
};

Answer ask(const fabric::Snapshot& snapshot, const std::string& method, const std::string& target) {
    HttpReply reply = handle({method, target, ""}, snapshot);
    Json body = Json::parse(take_body(reply), nullptr, false);
    return {reply.status, std::move(body), reply.command};
}

class HandleTest : public ::testing::Test {
protected:
    void SetUp() override {
        snapshot_ = test::snapshot_of_spec("fat-tree:radix=4,levels=2");
        ASSERT_NE(snapshot_.view, nullptr);
        ASSERT_FALSE(snapshot_.programmed.empty());
    }
    Answer get(const std::string& target) const { return ask(snapshot_, "GET", target); }
    std::string host(std::size_t index) const {
        return fmt::format("{}", snapshot_.view->topology.end_ports[index].node_guid);
    }
    fabric::Snapshot snapshot_;
};

TEST_F(HandleTest, StatusCountsTheFabric) {
    const Answer answer = get("/v1/status");
    EXPECT_EQ(answer.status, 200);
    EXPECT_EQ(answer.body["mode"], "up");
    EXPECT_EQ(answer.body["fabric"]["switches"], snapshot_.view->topology.switches.size());
    EXPECT_EQ(answer.body["fabric"]["links"], snapshot_.fabric->link_count());
    EXPECT_EQ(answer.body["routing"]["engine"], snapshot_.routes->routes.engine);
}

TEST_F(HandleTest, HealthNamesPortsRulesAndWhatWasDone) {
    EXPECT_TRUE(get("/v1/health").body["health"].empty());
    EXPECT_EQ(get("/v1/status").body["health"]["ill"], 0);
    const fabric::Node& node = snapshot_.fabric->nodes[0];
    auto rows = std::make_shared<std::vector<fabric::HealthRow>>();
    fabric::HealthRow row;
    row.at = {node.guid(), mad::PortNum{1}};
    row.rule = fabric::HealthRule::babbling;
    row.count = 12;
    row.wanted = fabric::HealthAction::isolate;
    row.why_not = "it is the subnet manager's own link";
    rows->push_back(row);
    row.rule = fabric::HealthRule::manual;
    row.done = fabric::HealthAction::isolate;
    row.why_not = "";
    rows->push_back(row);
    row.at = {mad::Guid{0xdead}, mad::PortNum{3}};
    row.done = fabric::HealthAction::disable;
    rows->push_back(row);
    snapshot_.health = rows;
    const Json shown = get("/v1/health").body["health"];
    ASSERT_EQ(shown.size(), 3U);
    EXPECT_EQ(shown[0]["rule"], "babbling");
    EXPECT_EQ(shown[0]["count"], 12);
    EXPECT_EQ(shown[0]["wanted"], "isolate");
    EXPECT_EQ(shown[0]["done"], "report");
    EXPECT_EQ(shown[0]["why_not"], "it is the subnet manager's own link");
    EXPECT_TRUE(shown[0].contains("peer"));
    EXPECT_EQ(shown[2]["node"], "") << "gone, and still ill";
    EXPECT_EQ(get("/v1/status").body["health"], (Json{{"ill", 2}, {"isolated", 1}, {"disabled", 1}}));
}

TEST_F(HandleTest, AnOperatorsWordOnAPortIsACommand) {
    const std::string node = host(0);
    const Answer set = ask(snapshot_, "POST", "/v1/health/set?port=" + node + "/1");
    EXPECT_EQ(set.status, 202);
    ASSERT_TRUE(set.command);
    EXPECT_EQ(set.command->kind, AdminCommand::Kind::health_set);
    EXPECT_EQ(set.command->port,
              (fabric::PortId{snapshot_.view->topology.end_ports[0].node_guid, mad::PortNum{1}}));
    const Answer clear = ask(snapshot_, "POST", "/v1/health/clear?port=" + node + "/1");
    ASSERT_TRUE(clear.command);
    EXPECT_EQ(clear.command->kind, AdminCommand::Kind::health_clear);
    const std::vector<std::string> wrongs{"/v1/health/set", "/v1/health/set?port=" + node + "/99",
                                          "/v1/health/set?port=nobody/1", "/v1/health/clear?port=leaf-001"};
    for (const std::string& wrong : wrongs) {
        const Answer refused = ask(snapshot_, "POST", wrong);
        EXPECT_GE(refused.status, 400) << wrong;
        EXPECT_FALSE(refused.command) << wrong;
    }
}

TEST_F(HandleTest, OnlyHoldModeCanBeResumed) {
    EXPECT_EQ(ask(snapshot_, "POST", "/v1/resume").status, 400);
    snapshot_.mode = fabric::SmMode::hold;
    const Answer resumed = ask(snapshot_, "POST", "/v1/resume");
    EXPECT_EQ(resumed.status, 202);
    ASSERT_TRUE(resumed.command);
    EXPECT_EQ(resumed.command->kind, AdminCommand::Kind::resume);
}

TEST_F(HandleTest, StatusShowsTheLastFullSweepBesideTheLast) {
    fabric::SweepReport light;
    light.id = 9;
    light.scope = "light";
    fabric::SweepReport full;
    full.id = 3;
    full.scope = "full";
    full.phases = {{"discover", std::chrono::milliseconds{20}, 1729, 0}};
    snapshot_.sweeps = {light, full};
    const Answer answer = get("/v1/status");
    EXPECT_EQ(answer.body["last_sweep"]["id"], 9);
    EXPECT_EQ(answer.body["last_full_sweep"]["id"], 3);
    EXPECT_EQ(answer.body["last_full_sweep"]["phases"][0]["mads"], 1729);
}

TEST_F(HandleTest, StatusTellsHowFarTheLanesAreRead) {
    EXPECT_FALSE(get("/v1/status").body.contains("lanes"));
    auto lanes = std::make_shared<fabric::Lanes>();
    lanes->devices = 9;
    lanes->read = 7;
    lanes->left_out = 1;
    snapshot_.lanes = lanes;
    EXPECT_EQ(get("/v1/status").body["lanes"], Json::parse(R"({"devices": 9, "read": 7, "left_out": 1})"));
}

TEST_F(HandleTest, StatusAndCheckTellHowFarTablesHaveDrifted) {
    const auto finding = [this] {
        const Json findings = get("/v1/check").body["findings"];
        return std::any_of(findings.begin(), findings.end(),
                           [](const Json& one) { return one["kind"] == "drift"; });
    };
    EXPECT_FALSE(get("/v1/status").body["routing"].contains("drift"));
    EXPECT_FALSE(finding());
    fabric::DriftReport report{routing::Drift{1.5, "0->1 up", 300, 200, 4}, 1.2, "one and a half times"};
    snapshot_.drift = std::make_shared<const fabric::DriftReport>(report);
    EXPECT_EQ(get("/v1/status").body["routing"]["drift"],
              Json::parse(R"({"measured": true, "text": "one and a half times", "worst": 1.5, "limit": 1.2,
                              "level": "0->1 up", "paths": 300, "paths_fresh": 200, "idle_links": 4})"));
    EXPECT_TRUE(finding());
    report.limit = 1.5;
    snapshot_.drift = std::make_shared<const fabric::DriftReport>(report);
    EXPECT_FALSE(finding());
    snapshot_.drift = std::make_shared<const fabric::DriftReport>(fabric::DriftReport{{}, 1.2, "no engine"});
    EXPECT_EQ(get("/v1/status").body["routing"]["drift"],
              Json::parse(R"({"measured": false, "text": "no engine"})"));
    EXPECT_FALSE(finding());
}

TEST_F(HandleTest, RatesAreThoseOfBothEnds) {
    for (const Json& port : get("/v1/ports?show=linked").body["ports"]) {
        if (port["port"] != 0) {
            EXPECT_EQ(port["speed"], "HDR") << port;
            EXPECT_EQ(port["rate_gbps"], 200.0) << port;
        }
    }
    const Answer answer = get("/v1/path?src=" + host(0) + "&dst=" + host(7));
    EXPECT_EQ(answer.body["rate_gbps"], 200.0) << answer.body;
}

TEST_F(HandleTest, ListsHaveEveryThingOnce) {
    EXPECT_EQ(get("/v1/nodes").body["nodes"].size(), snapshot_.fabric->nodes.size());
    EXPECT_EQ(get("/v1/switches").body["switches"].size(), snapshot_.fabric->switch_count());
    EXPECT_EQ(get("/v1/links").body["links"].size(), snapshot_.fabric->link_count());
    EXPECT_EQ(get("/v1/lids").body["lids"].size(), snapshot_.view->topology.lid_count());
    EXPECT_EQ(get("/v1/ports?show=down").status, 200);
}

TEST_F(HandleTest, PathGoesFromPortToPort) {
    const std::size_t last = snapshot_.view->topology.end_ports.size() - 1;
    const Answer answer = get("/v1/path?src=" + host(0) + "&dst=" + host(last));
    ASSERT_EQ(answer.status, 200) << answer.body;
    EXPECT_EQ(answer.body["arrives"], true);
    EXPECT_EQ(answer.body["switches"], 3);
    EXPECT_EQ(answer.body["links"], 4);
    EXPECT_EQ(answer.body["hops"].size(), 5U);
    EXPECT_EQ(answer.body["hops"].front()["guid"], host(0));
    EXPECT_EQ(answer.body["hops"].back()["guid"], host(last));
    EXPECT_EQ(answer.body["mtu"], 4096);
    // Each hop enters where the one before leaves to.
    for (std::size_t i = 0; i + 1 < answer.body["hops"].size(); ++i) {
        EXPECT_TRUE(answer.body["hops"][i]["out_port"].is_number());
        EXPECT_TRUE(answer.body["hops"][i + 1]["in_port"].is_number());
    }
}

TEST_F(HandleTest, PathByLidAndFromASwitch) {
    const auto& end = snapshot_.view->topology.end_ports.back();
    const Answer by_lid = get(fmt::format("/v1/path?src={}&dst=lid:{}", host(0), end.lids.base));
    EXPECT_EQ(by_lid.body["dst"]["lid"], end.lids.base.value());
    const Answer from_switch =
        get(fmt::format("/v1/path?src={}&dst={}", snapshot_.view->topology.switches[0].guid, host(0)));
    EXPECT_EQ(from_switch.status, 200) << from_switch.body;
    EXPECT_EQ(from_switch.body["arrives"], true);
}

TEST_F(HandleTest, PathBackToBack) {
    const fabric::Snapshot snapshot = test::snapshot_of_spec("back-to-back");
    ASSERT_NE(snapshot.view, nullptr);
    const auto& ends = snapshot.view->topology.end_ports;
    const Answer answer =
        ask(snapshot, "GET", fmt::format("/v1/path?src={}&dst={}", ends[0].node_guid, ends[1].node_guid));
    EXPECT_EQ(answer.status, 200) << answer.body;
    EXPECT_EQ(answer.body["links"], 1);
    EXPECT_EQ(answer.body["switches"], 0);
}

TEST_F(HandleTest, BrokenPathIsAFindingNotAnError) {
    for (auto& row : snapshot_.programmed) {
        row = nullptr;
    }
    const Answer answer = get("/v1/path?src=" + host(0) + "&dst=" + host(1));
    EXPECT_EQ(answer.status, 200);
    EXPECT_EQ(answer.body["arrives"], false);
    EXPECT_NE(answer.body["problem"].get<std::string>().find("acknowledged no forwarding table"),
              std::string::npos);
}

TEST_F(HandleTest, CheckIsCleanOnACleanFabric) {
    const Answer answer = get("/v1/check");
    EXPECT_EQ(answer.body["ok"], true) << answer.body;
    EXPECT_GT(answer.body["proof"]["pairs_checked"], 0);
}

TEST_F(HandleTest, CheckFindsWhatIsWrong) {
    auto fabric = std::make_shared<fabric::Fabric>(*snapshot_.fabric);
    const fabric::PortRef at = fabric->local;
    fabric->port(at).info.state = mad::PortState::init;
    fabric->port(fabric->port(at).peer).info.neighbor_mtu = mad::Mtu::b2048;
    fabric->port(at).info.width_active = mad::LinkWidth::x1;
    fabric->isolations.push_back(
        {fabric::IsolationReason::silent, at, mad::Guid{}, {}, "nobody answers there"});
    snapshot_.fabric = fabric;
    snapshot_.programmed[0] = nullptr;
    const Answer answer = get("/v1/check");
    EXPECT_EQ(answer.body["ok"], false);
    std::set<std::string> kinds;
    for (const Json& finding : answer.body["findings"]) {
        kinds.insert(finding["kind"].get<std::string>());
    }
    for (const char* kind :
         {"not-active", "mtu-mismatch", "isolated-silent", "no-table", "unreachable", "below-capability"}) {
        EXPECT_TRUE(kinds.contains(kind)) << kind << " in " << answer.body;
    }
}

TEST_F(HandleTest, LinksBelowTheirCapabilitySayWhatTheyCould) {
    EXPECT_EQ(get("/v1/links?show=slow").body["links"].size(), 0U);
    auto fabric = std::make_shared<fabric::Fabric>(*snapshot_.fabric);
    const fabric::PortRef at = fabric->local;
    for (const fabric::PortRef end : {at, fabric->port(at).peer}) {
        fabric->port(end).info.width_supported = fabric->port(end).info.width_enabled = 3;  // 1x, 4x
        fabric->port(end).info.width_active = mad::LinkWidth::x1;
    }
    snapshot_.fabric = fabric;
    const Json links = get("/v1/links?show=slow").body["links"];
    ASSERT_EQ(links.size(), 1U);
    EXPECT_EQ(links[0]["below_capability"], true);
    EXPECT_EQ(links[0]["width"], "1x");
    EXPECT_EQ(links[0]["could"].get<std::string>().substr(0, 3), "4x ");
    const Json all = get("/v1/links").body["links"];
    EXPECT_EQ(std::count_if(all.begin(), all.end(), [](const Json& row) { return row.contains("could"); }),
              1);
}

TEST_F(HandleTest, CheckFindsALidClash) {
    auto fabric = std::make_shared<fabric::Fabric>(*snapshot_.fabric);
    const auto& ends = snapshot_.view->topology.end_ports;
    fabric->nodes[fabric->find(ends[1].node_guid)].ports[1].info.lid = ends[0].lids.base;
    snapshot_.fabric = fabric;
    const Answer answer = get("/v1/check");
    EXPECT_NE(answer.body.dump().find("lid-clash"), std::string::npos);
}

TEST_F(HandleTest, UnknownThingsAreNamed) {
    EXPECT_EQ(get("/v1/path?src=nobody&dst=" + host(0)).status, 404);
    EXPECT_EQ(get("/v1/nothing").status, 404);
    EXPECT_EQ(get("/v1/path?src=" + host(0)).status, 400);
    EXPECT_EQ(get("/v1/nodes?macth=x").status, 400);
    EXPECT_NE(get("/v1/nodes?macth=x").body["error"]["message"].get<std::string>().find("match"),
              std::string::npos);
    EXPECT_EQ(get("/v1/events?limit=-1").status, 400);
    EXPECT_EQ(get("/v1/nodes?match=%zz").status, 400);
    EXPECT_EQ(ask(snapshot_, "DELETE", "/v1/nodes").status, 405);
}

TEST_F(HandleTest, AmbiguousNamesListTheCandidates) {
    auto fabric = std::make_shared<fabric::Fabric>(*snapshot_.fabric);
    for (auto& node : fabric->nodes) {
        node.description = "Technologies";
    }
    snapshot_.fabric = fabric;
    const Answer answer = get("/v1/ports?node=Technologies");
    EXPECT_EQ(answer.status, 409);
    EXPECT_NE(answer.body["error"]["message"].get<std::string>().find("by its GUID"), std::string::npos);
}

TEST_F(HandleTest, BeforeThereIsAFabricTheReasonIsGiven) {
    fabric::Snapshot empty;
    empty.mode = fabric::SmMode::port_down;
    empty.mode_text = "mlx5_0/1 has no link";
    EXPECT_EQ(ask(empty, "GET", "/v1/status").status, 200);
    const Answer answer = ask(empty, "GET", "/v1/nodes");
    EXPECT_EQ(answer.status, 503);
    EXPECT_NE(answer.body["error"]["message"].get<std::string>().find("mlx5_0/1 has no link"),
              std::string::npos);
}

TEST_F(HandleTest, SmsAreThisOneAndTheOthersWithWhyOneIsMaster) {
    auto fabric = std::make_shared<fabric::Fabric>(*snapshot_.fabric);
    fabric::OtherSm other;
    other.guid = mad::Guid{77};
    other.priority = 9;
    other.state = mad::SmState::master;
    other.trust = fabric::SmTrust::foreign;
    other.at = {1, mad::PortNum{1}};
    fabric->sms = {other, other};
    fabric->sms[1].guid = mad::Guid{78};
    fabric->sms[1].answered = false;
    snapshot_.fabric = fabric;
    snapshot_.mastership.state = mad::SmState::standby;
    snapshot_.mastership.role = "standby";
    snapshot_.mastership.why = "standby: it is master";
    snapshot_.mastership.polled = other.guid;
    snapshot_.mastership.missed = 2;
    const Json answer = get("/v1/sms").body;
    EXPECT_EQ(answer["role"], "standby");
    EXPECT_EQ(answer["why"], "standby: it is master");
    EXPECT_EQ(answer["poll"]["missed"], 2);
    ASSERT_EQ(answer["sms"].size(), 3U);
    EXPECT_EQ(answer["sms"][0]["this"], true);
    EXPECT_EQ(answer["sms"][0]["state"], "standby");
    EXPECT_EQ(answer["sms"][1]["state"], "master");
    EXPECT_EQ(answer["sms"][1]["sm_key"], "foreign");
    EXPECT_EQ(answer["sms"][1]["same_key"], false);
    EXPECT_EQ(answer["sms"][1]["polled"], true);
    EXPECT_EQ(answer["sms"][2]["state"], "silent");
    EXPECT_EQ(ask(fabric::Snapshot{}, "GET", "/v1/sms").body["sms"].size(), 1U) << "before any sweep";
}

TEST_F(HandleTest, AStandbySaysHowGoodItsCopyIs) {
    using State = fabric::StandbyCopy::State;
    snapshot_.mastership.state = mad::SmState::standby;
    EXPECT_FALSE(get("/v1/sms").body.contains("copy")) << "not configured";
    snapshot_.copy.state = State::none;
    EXPECT_EQ(get("/v1/sms").body["copy"], (Json{{"state", "none"}}));
    snapshot_.copy = {State::ended, mad::Guid{77}, "sm1", {}, "the connection was closed"};
    snapshot_.peers = {{mad::Guid{77}, "sm1", {"LMC", "routing"}}};
    const Json answer = get("/v1/sms").body;
    EXPECT_EQ(answer["copy"]["state"], "ended");
    EXPECT_EQ(answer["copy"]["name"], "sm1");
    EXPECT_EQ(answer["copy"]["why"], "the connection was closed");
    EXPECT_TRUE(answer["copy"]["age_seconds"].is_number());
    EXPECT_EQ(answer["peers"][0]["differences"], (Json{"LMC", "routing"}));
    snapshot_.mastership.state = mad::SmState::master;
    EXPECT_FALSE(get("/v1/sms").body.contains("copy")) << "what a master remembers is no copy";
}

TEST_F(HandleTest, CommandsComeBackForTheCore) {
    snapshot_.sweeps.push_back({});
    snapshot_.sweeps.front().id = 41;
    const Answer full = ask(snapshot_, "POST", "/v1/sweep?scope=full");
    EXPECT_EQ(full.status, 202);
    EXPECT_EQ(full.body["last_sweep"], 41);
    ASSERT_TRUE(full.command);
    EXPECT_EQ(full.command->kind, AdminCommand::Kind::sweep_full);
    EXPECT_EQ(ask(snapshot_, "POST", "/v1/sweep?scope=wide").status, 400);
    EXPECT_EQ(ask(snapshot_, "POST", "/v1/reload").status, 400) << "there is no file to read";
    snapshot_.config_path = "/etc/ibfabric/ibfabricd.toml";
    EXPECT_EQ(ask(snapshot_, "POST", "/v1/reload").command->kind, AdminCommand::Kind::reload);
}

TEST_F(HandleTest, DescriptionsOfBytesThatAreNoTextStillMakeJson) {
    auto fabric = std::make_shared<fabric::Fabric>(*snapshot_.fabric);
    fabric->nodes[0].description = "bad \xff\xfe\x01 name\"\\";
    snapshot_.fabric = fabric;
    for (const char* target : {"/v1/nodes", "/v1/ports", "/v1/export?format=json"}) {
        EXPECT_FALSE(get(target).body.is_discarded()) << target;
    }
}

TEST_F(HandleTest, RouteListsTheTable) {
    const Answer answer = get(fmt::format("/v1/route?switch={}", snapshot_.view->topology.switches[0].guid));
    EXPECT_EQ(answer.body["entries"].size(), snapshot_.view->topology.lid_count());
    EXPECT_EQ(get("/v1/route?switch=" + host(0)).status, 404);
}

TEST_F(HandleTest, ExportFolderListsItsFiles) {
    const Answer answer = get("/v1/export?format=opensm-dumps");
    ASSERT_EQ(answer.body["files"].size(), 5U);
    for (const Json& file : answer.body["files"]) {
        HttpReply reply =
            handle({"GET", "/v1/export?format=opensm-dumps&file=" + file.get<std::string>(), ""}, snapshot_);
        EXPECT_EQ(reply.status, 200) << file;
    }
    EXPECT_EQ(get("/v1/export?format=opensm-dumps&file=../x").status, 404);
}

}  // namespace
}  // namespace ibf::api
