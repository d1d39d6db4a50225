// The fabric as JSON: nodes, links, addresses and tables as they are in the devices.
#include "sim/truth.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "sim_bench.hpp"

namespace ibf::sim {
namespace {

TEST(Truth, TellsWhatTheDevicesHold) {
    SimBench bench(star_of_four());
    ASSERT_EQ(bring_up(bench), 0U);
    const nlohmann::json truth = nlohmann::json::parse(truth_json(bench.sim, TruthTables::included));
    ASSERT_EQ(truth["nodes"].size(), 5U);
    EXPECT_EQ(truth["links"].size(), 4U);
    const nlohmann::json& sw = truth["nodes"][0];
    EXPECT_EQ(sw["type"], "Switch");
    EXPECT_EQ(sw["ports"].size(), 5U);
    EXPECT_EQ(sw["ports"][0]["lid"], lid_of(0).value());
    EXPECT_FALSE(sw["ports"][1].contains("guid"));
    EXPECT_EQ(sw["ports"][1]["state"], "Active");
    const std::string lft = sw["lft"];
    const std::size_t at = std::size_t{lid_of(3).value()} * 2;
    EXPECT_EQ(lft.substr(at, 2), "03");
    const nlohmann::json& host = truth["nodes"][1];
    EXPECT_EQ(host["description"], "h1");
    EXPECT_EQ(host["ports"].size(), 1U);
    EXPECT_EQ(host["ports"][0]["lid"], lid_of(1).value());
    EXPECT_EQ(host["ports"][0]["pkeys"], nlohmann::json::array({"0xffff"}));
}

TEST(Truth, FollowsFaultsAndLeavesTablesOut) {
    SimBench bench(star_of_four());
    inject(bench, "link-down sw/2\nremove-node h3");
    const nlohmann::json truth = nlohmann::json::parse(truth_json(bench.sim, TruthTables::left_out));
    EXPECT_EQ(truth["links"].size(), 2U);
    EXPECT_FALSE(truth["nodes"][3]["present"].get<bool>());
    EXPECT_FALSE(truth["nodes"][0].contains("lft"));
}

TEST(Truth, TellsTheLanesOfEachPort) {
    SimBench bench(star_of_four());
    mad::Sl2VlTable map;
    map.vls.fill(mad::Vl{3});
    bench.sim.set_sl2vl(0, mad::PortNum{1}, mad::PortNum{2}, map);
    const nlohmann::json truth = nlohmann::json::parse(truth_json(bench.sim, TruthTables::lanes));
    const nlohmann::json& sw = truth["nodes"][0];
    EXPECT_FALSE(sw.contains("lft"));
    ASSERT_EQ(sw["sl2vl"].size(), 5U);
    ASSERT_EQ(sw["sl2vl"]["2"].size(), 5U);
    EXPECT_EQ(sw["sl2vl"]["2"][1], "3333333333333333");
    EXPECT_EQ(sw["sl2vl"]["1"][2], "0123456701234567");
    ASSERT_EQ(sw["vl_arbitration"]["4"].size(), 2U) << "blocks 1 and 3: eight entries each";
    const std::string low = sw["vl_arbitration"]["4"]["1"];
    EXPECT_EQ(low.size(), 128U);
    EXPECT_EQ(low.substr(0, 12), "004001400240");
    const nlohmann::json& host = truth["nodes"][1];
    EXPECT_EQ(host["sl2vl"], nlohmann::json::parse(R"({"1": ["0123456701234567"]})"));
}

// What only port 0's capability bits tell (IBA 14.2.5.6) counts for the cables of a switch too.
TEST(Truth, SwitchPortsRunAtTheSpeedOfTheirCables) {
    auto net = star_of_four();
    for (auto& node : net.nodes) {
        for (auto& port : node.ports) {
            port.speed = mad::LinkSpeed::hdr;
        }
    }
    SimBench bench(std::move(net));
    ASSERT_EQ(bring_up(bench), 0U);
    const nlohmann::json truth = nlohmann::json::parse(truth_json(bench.sim, TruthTables::left_out));
    EXPECT_EQ(truth["nodes"][0]["ports"][1]["speed"], "HDR");
    EXPECT_EQ(truth["nodes"][1]["ports"][0]["speed"], "HDR");
}

}  // namespace
}  // namespace ibf::sim
