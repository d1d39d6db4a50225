#include "probe/proof/reading.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/unit/conduct/stage.hpp"

namespace ibf::probe::test {
namespace {

class Reading : public ::testing::Test {
protected:
    void SetUp() override {
        stage = Stage::make("fat-tree:radix=4,levels=3", "minhop");
        ASSERT_TRUE(stage);
    }
    FabricReader open() {
        auto reader = FabricReader::open(stage->topology, stage->asker(), {});
        EXPECT_TRUE(reader) << (reader ? "" : reader.error().message);
        return std::move(*reader);
    }
    void inject(const std::string& text) {
        const auto faults = sim::parse_faults(text, "test");
        ASSERT_TRUE(faults) << faults.error().message;
        ASSERT_TRUE(stage->simulator->inject(faults->front(), base::Instant{}));
    }
    /// A link between switches that is not the asker's only way.
    Place spine_port() const {
        for (std::uint32_t at = 0; at < stage->topology.switches.size(); ++at) {
            const auto& peers = stage->topology.switches[at].peers;
            const bool is_spine = std::all_of(
                peers.begin() + 1, peers.end(),
                [](const routing::PortPeer& peer) { return peer.kind == routing::PortPeer::Kind::switch_; });
            if (is_spine) {
                return {.index = at, .port = mad::PortNum{1}};
            }
        }
        return {};
    }
    std::unique_ptr<Stage> stage;
};

TEST_F(Reading, ReachesEverySwitch) {
    FabricReader reader = open();
    EXPECT_EQ(reader.reached(), stage->topology.switches.size());
    EXPECT_TRUE(reader.odd_cables().empty());
    EXPECT_EQ(reader.unanswered(), 0U);
}

TEST_F(Reading, TakesAnotherWayWhereACableLeadsElsewhere) {
    // Each cable of the asker's leaf toward its spines, one after the other: whichever it takes first.
    const std::uint32_t leaf = stage->topology.end_ports[0].switch_index;
    std::size_t noticed = 0;
    for (std::size_t port = 1; port < stage->topology.switches[leaf].peers.size(); ++port) {
        const Place here{.index = leaf, .port = mad::PortNum{static_cast<std::uint8_t>(port)}};
        if (stage->topology.switches[leaf].peers[port].kind != routing::PortPeer::Kind::switch_) {
            continue;
        }
        const auto damage =
            swap_cables(*stage, here, Place{.index = spine_port().index, .port = mad::PortNum{3}});
        FabricReader reader = open();
        EXPECT_EQ(reader.reached(), stage->topology.switches.size());
        noticed += reader.odd_cables().empty() ? 0U : 1U;
        for (const CableReading& cable : reader.odd_cables()) {
            EXPECT_EQ(cable.state, CableReading::State::elsewhere);
        }
    }
    EXPECT_GT(noticed, 0U);
}

TEST_F(Reading, TheRightSwitchByTheWrongPortIsElsewhere) {
    // Two cables into one spine, plugged the wrong way round.
    const Place first = spine_port();
    const Place second{.index = first.index, .port = mad::PortNum{2}};
    const Place leaf = *peer_of(stage->topology, first);
    const auto damage = swap_cables(*stage, leaf, *peer_of(stage->topology, second));
    FabricReader reader = open();
    const auto cables = reader.cables(std::vector<Place>{leaf});
    ASSERT_EQ(cables.size(), 1U);
    EXPECT_EQ(cables[0].state, CableReading::State::elsewhere);
    EXPECT_EQ(cables[0].seen_guid, node_guid_of(stage->topology, first));
    EXPECT_EQ(cables[0].seen_port, second.port);
}

TEST_F(Reading, ADeadSwitchCostsBoundedTime) {
    inject("dead " + stage->topology.switches[spine_port().index].name);
    const base::Instant before = stage->asker().now();
    FabricReader reader = open();
    EXPECT_EQ(reader.reached(), stage->topology.switches.size() - 1);
    EXPECT_FALSE(reader.reaches(spine_port().index));
    EXPECT_LT(stage->asker().now() - before, std::chrono::seconds{30});
    EXPECT_GT(reader.unanswered(), 0U);
}

TEST_F(Reading, WhoIsNotInTheTopologyIsTold) {
    routing::Topology other = stage->topology;
    for (routing::TopologyEndPort& end : other.end_ports) {
        end.node_guid = mad::Guid{end.node_guid.value() + 0x1000};
    }
    const auto reader = FabricReader::open(other, stage->asker(), {});
    ASSERT_FALSE(reader);
    EXPECT_NE(reader.error().message.find("not in the topology"), std::string::npos);
}

TEST_F(Reading, ALeafThatIsAnotherIsTold) {
    routing::Topology other = stage->topology;
    other.switches[stage->topology.end_ports[0].switch_index].guid = mad::Guid{1};
    const auto reader = FabricReader::open(other, stage->asker(), {});
    ASSERT_FALSE(reader);
    EXPECT_NE(reader.error().message.find("plugged in"), std::string::npos);
}

TEST_F(Reading, NobodyAtHome) {
    inject("dead " + stage->topology.end_ports[0].name);
    EXPECT_FALSE(FabricReader::open(stage->topology, stage->asker(), {}));
}

TEST_F(Reading, CablesTablesAndPorts) {
    FabricReader reader = open();
    const Place spine = spine_port();
    const auto cables =
        reader.cables(std::vector<Place>{spine, place_of(stage->topology, routing::EndPortIndex{0})});
    ASSERT_EQ(cables.size(), 1U) << "nobody looks through a host";
    EXPECT_EQ(cables[0].state, CableReading::State::as_expected);
    EXPECT_EQ(cables[0].to, peer_of(stage->topology, spine));

    const auto tables = reader.tables(std::vector<TableBlock>{{.switch_index = spine.index, .block = 0}});
    ASSERT_EQ(tables.size(), 1U);
    EXPECT_EQ(tables[0].top, stage->topology.max_lid);
    for (std::uint16_t lid = 1; lid < 32; ++lid) {
        EXPECT_EQ(tables[0].entries.ports[lid],
                  stage->routes.port(routing::SwitchIndex{spine.index}, mad::Lid{lid}));
    }

    const Place host = place_of(stage->topology, routing::EndPortIndex{3});
    const auto infos = reader.ports(std::vector<Place>{spine, host});
    ASSERT_EQ(infos.size(), 2U);
    EXPECT_EQ(infos.at(host).lid, lid_of(stage->topology, host));
    EXPECT_EQ(infos.at(spine).state, mad::PortState::active);
    EXPECT_EQ(infos.at(spine).speed(), infos.at(host).speed()) << "port 0 tells what its speed fields mean";
}

TEST_F(Reading, AdaptiveSwitchesAreKnown) {
    const std::uint32_t at = spine_port().index;
    FabricReader before = open();
    const std::vector<std::uint32_t> asked{at, stage->topology.end_ports[0].switch_index};
    EXPECT_TRUE(before.adaptive(asked).empty());
    inject("adaptive-routing " + stage->topology.switches[at].name);
    EXPECT_EQ(before.adaptive(asked), std::vector<std::uint32_t>{at});
}

TEST_F(Reading, CountersWideAndNarrowAndNone) {
    FabricReader reader = open();
    const Place spine = spine_port();
    const Place leaf{.index = stage->topology.end_ports[0].switch_index, .port = mad::PortNum{1}};
    inject("no-extended-counters " + stage->topology.switches[leaf.index].name);
    auto counters = reader.counters(std::vector<Place>{spine, leaf});
    EXPECT_TRUE(counters.at(spine).known);
    EXPECT_TRUE(counters.at(spine).wide);
    EXPECT_TRUE(counters.at(spine).knows_wait);
    EXPECT_TRUE(counters.at(leaf).known);
    EXPECT_FALSE(counters.at(leaf).wide);
    EXPECT_GT(counters.at(leaf).transmit_words, 0U) << "of the questions themselves";
    EXPECT_GT(counters.at(spine).transmit_words, 0U);

    // Its own PMA is silent, another one speaks for it.
    inject("redirect-perf " + stage->topology.switches[leaf.index].name +
           " with=" + stage->topology.switches[spine.index].name + " number=99");
    counters = reader.counters(std::vector<Place>{leaf});
    EXPECT_TRUE(counters.at(leaf).known) << counters.at(leaf).why;

    inject("dead " + stage->topology.switches[spine.index].name);
    counters = reader.counters(std::vector<Place>{spine});
    EXPECT_FALSE(counters.at(spine).known);
    EXPECT_NE(counters.at(spine).why.find("does not answer"), std::string::npos);
}

TEST_F(Reading, ASwitchWithoutALidHasNoCountersToAskFor) {
    FabricReader reader = open();
    stage->topology.switches[0].lids = {};
    const Place place{.index = 0, .port = mad::PortNum{1}};
    const auto counters = reader.counters(std::vector<Place>{place});
    EXPECT_FALSE(counters.at(place).known);
    EXPECT_NE(counters.at(place).why.find("no LID"), std::string::npos);
}

TEST_F(Reading, AStopAsksNothingMore) {
    std::stop_source source;
    auto reader = FabricReader::open(stage->topology, stage->asker(), source.get_token());
    ASSERT_TRUE(reader);
    source.request_stop();
    const std::uint64_t before = stage->simulator->counters().mads;
    EXPECT_EQ(reader->cables(std::vector<Place>{spine_port()}).at(0).state, CableReading::State::silent);
    EXPECT_EQ(stage->simulator->counters().mads, before);
}

}  // namespace
}  // namespace ibf::probe::test
