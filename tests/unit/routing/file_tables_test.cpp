// The file engine: tables by GUID onto a fabric that may have other LIDs, switches or hosts by now.
#include "routing/file_tables.hpp"

#include <fmt/format.h>

#include "engine_fixtures.hpp"
#include "routing/lft_dump.hpp"

namespace ibf::routing::test {
namespace {

Topology small_tree() {
    return FabricMaker{.switches = 4, .links = {{0, 2}, {0, 3}, {1, 2}, {1, 3}}, .hosts = {3, 2, 0, 0}}
        .make();
}

void add_entries(const mad::LidRange& lids, mad::Guid owner, const Routes& routes, SwitchIndex at,
                 std::string& out) {
    for (std::uint32_t lid = lids.base.value(); lid < lids.end(); ++lid) {
        out += fmt::format("0x{:04x} {:03} # X portguid {}: 'x'\n", lid,
                           routes.port(at, mad::Lid{static_cast<std::uint16_t>(lid)}), owner);
    }
}

/// The tables as a dump says them.
std::string dump_of(const Topology& topology, const Routes& routes) {
    std::string out;
    for (std::uint32_t at = 0; at < topology.switches.size(); ++at) {
        out += fmt::format("Unicast lids [0-9] of switch Lid 1 guid {} ('s'):\n", topology.switches[at].guid);
        for (const TopologyEndPort& end : topology.end_ports) {
            add_entries(end.lids, end.port_guid, routes, SwitchIndex{at}, out);
        }
        for (const TopologySwitch& item : topology.switches) {
            add_entries(item.lids, item.guid, routes, SwitchIndex{at}, out);
        }
    }
    return out;
}

base::Result<Routes> from_dump(const std::string& text, const Topology& topology) {
    auto dump = parse_lft_dump(text);
    EXPECT_TRUE(dump) << (dump ? "" : dump.error().message);
    RouteOptions options;
    options.lfts = std::make_shared<const LftDump>(std::move(*dump));
    return run_engine("file", topology, nullptr, options);
}

TEST(FileTables, GivesBackWhatWasWritten) {
    const Topology topology = small_tree();
    const Routes wanted = routes_of("updn", topology);
    const auto routes = from_dump(dump_of(topology, wanted), topology);
    ASSERT_TRUE(routes) << routes.error().message;
    EXPECT_EQ(routes->hash(), wanted.hash());
    EXPECT_TRUE(routes->remark.empty()) << routes->remark;
    expect_safe(topology, *routes);
}

TEST(FileTables, FollowsHostsToTheirNewLids) {
    for (const std::uint8_t lmc : {std::uint8_t{0}, std::uint8_t{2}}) {
        FabricMaker maker{.switches = 3, .links = {{0, 1}, {1, 2}, {0, 1}}, .hosts = {2, 2, 1}};
        maker.lmc = lmc;
        const Topology before = maker.make();
        const Routes wanted = routes_of("updn", before);
        Topology after = before;
        std::swap(after.end_ports[0].lids, after.end_ports[3].lids);
        const auto routes = from_dump(dump_of(before, wanted), after);
        ASSERT_TRUE(routes) << routes.error().message;
        expect_safe(after, *routes);
        EXPECT_EQ(routes->port(SwitchIndex{2}, after.end_ports[0].lids.base),
                  wanted.port(SwitchIndex{2}, before.end_ports[0].lids.base));
    }
}

TEST(FileTables, CountsWhatNobodyHas) {
    const Topology before = small_tree();
    const std::string dump = dump_of(before, routes_of("updn", before));
    Topology after = before;
    after.end_ports[1].lids = {};
    const auto routes = from_dump(dump, after);
    ASSERT_TRUE(routes);
    EXPECT_EQ(routes->remark, "4 entries of the file are for LIDs that nobody has");
    expect_safe(after, *routes);
}

TEST(FileTables, RefusesAnotherFabricsFile) {
    const Topology topology = small_tree();
    const std::string dump = dump_of(topology, routes_of("updn", topology));
    const Topology larger = FabricMaker{
        .switches = 5,
        .links = {{0, 2}, {0, 3}, {1, 2}, {1, 3}, {3, 4}},
        .hosts = {3, 2, 0, 0,
                  0}}.make();
    const auto missing = from_dump(dump, larger);
    ASSERT_FALSE(missing);
    EXPECT_NE(missing.error().message.find("no table for switch switch-4"), std::string::npos)
        << missing.error().message;
    std::string strange = dump;
    strange.replace(strange.find("0x0001 "), 10, "0x0001 200");
    const auto port = from_dump(strange, topology);
    ASSERT_FALSE(port);
    EXPECT_NE(port.error().message.find("out of port 200 of switch-0"), std::string::npos)
        << port.error().message;
    const auto nothing = run_engine("file", topology, nullptr, RouteOptions{});
    ASSERT_FALSE(nothing);
    EXPECT_NE(nothing.error().message.find("lfts_file"), std::string::npos);
}

// Tables that could deadlock are read, and refused by the proof: the chain goes on.
TEST(FileTables, TheProofJudgesTheFile) {
    const Topology ring = generated("ring:5");
    RouteOptions options;
    options.engines = {"file"};
    auto dump = parse_lft_dump(dump_of(ring, routes_of("minhop", ring)));
    ASSERT_TRUE(dump);
    options.lfts = std::make_shared<const LftDump>(std::move(*dump));
    const auto outcome = route(ring, nullptr, options);
    ASSERT_TRUE(outcome);
    EXPECT_NE(outcome->attempts[0].refused_because.find("credit loop"), std::string::npos);
    EXPECT_EQ(outcome->routes.engine, "updn");
}

}  // namespace
}  // namespace ibf::routing::test
