// Bring-up, restart, mastership and MADs that are no answers.
#include <cstdlib>
#include <filesystem>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/prng.hpp"
#include "harness.hpp"
#include "mad/codec.hpp"

namespace ibf::test {
namespace {

using mad::Attribute;
using std::chrono::milliseconds;
using std::chrono::seconds;

/// The tables that a restart on an unchanged fabric may not write.
std::uint64_t table_sets(const Lab& lab) {
    return lab.sets(Attribute::linear_forwarding_table) + lab.sets(Attribute::multicast_forwarding_table) +
           lab.sets(Attribute::pkey_table) + lab.sets(Attribute::sl2vl_table) +
           lab.sets(Attribute::vl_arbitration);
}

class BringUp : public ::testing::TestWithParam<const char*> {};

TEST_P(BringUp, ReachesASoundFabricAndThenRests) {
    Lab lab(netlist(GetParam()));
    lab.watch_loops();
    lab.start();
    ASSERT_TRUE(lab.run_until_up(seconds{5})) << lab.snapshot().mode_text;
    EXPECT_EQ(wrong(lab), "");
    EXPECT_EQ(lab.events("subnet-up"), 1U);
    EXPECT_EQ(lab.sets(Attribute::sl2vl_table), 0U);
    EXPECT_EQ(lab.sets(Attribute::vl_arbitration), 0U);
    // The capability traps of the ports' first moments may ask for one more look; then it is quiet.
    lab.advance(seconds{30});
    lab.forget_counts();
    lab.advance(seconds{60});
    EXPECT_EQ(lab.all_sets(), 0U);
    EXPECT_EQ(lab.sweeps("full"), 0U);
    EXPECT_GE(lab.sweeps("light"), 5U);
    EXPECT_TRUE(lab.announced.empty()) << lab.announced.front().text;
}

INSTANTIATE_TEST_SUITE_P(Fabrics, BringUp,
                         ::testing::Values("star:hosts=4", "ring:4", "torus:4x4", "back-to-back",
                                           "fat-tree:radix=4,levels=2", "fat-tree:radix=6,levels=3",
                                           "fat-tree:radix=8,levels=3,pods=2", "dragonfly", "hypercube:dim=4",
                                           "random:switches=12,degree=4,hosts=2,seed=7"),
                         [](const auto& spec) {
                             std::string name = spec.param;
                             std::replace_if(
                                 name.begin(), name.end(),
                                 [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; },
                                 '_');
                             return name;
                         });

TEST(SubnetManager, ServesFromASwitchPortZero) {
    LabOptions options;
    options.at = "spine1";
    Lab lab(t2(), options);
    lab.start();
    ASSERT_TRUE(lab.run_until_up(seconds{5})) << lab.snapshot().mode_text;
    EXPECT_EQ(wrong(lab), "");
    EXPECT_EQ(lab.snapshot().sm_lid, lab.lid(lab.node("spine1"), 0));
}

TEST(SubnetManager, ALoneAdapterWaitsForItsCable) {
    routing::Netlist net = t1();
    net.nodes[0].ports[1].peer_node.reset();
    net.nodes[1].ports[1].peer_node.reset();
    LabOptions options;
    options.at = "h1";
    Lab lab(net, options);
    lab.start();
    lab.advance(seconds{60});
    EXPECT_EQ(lab.sm->mode(), fabric::SmMode::port_down);
    EXPECT_NE(lab.snapshot().mode_text.find("port down"), std::string::npos) << lab.snapshot().mode_text;
    EXPECT_EQ(lab.all_sets(), 0U);
}

TEST(SubnetManager, ComesUpWhenTheCableIsPluggedIn) {
    LabOptions options;
    options.at = "h1";
    Lab lab(t1(), options);
    lab.inject("link-down h1/1");
    lab.start();
    lab.advance(seconds{20});
    ASSERT_EQ(lab.sm->mode(), fabric::SmMode::port_down);
    lab.inject("link-up h1/1");
    ASSERT_TRUE(lab.run_until_up(seconds{20}));
    EXPECT_EQ(wrong(lab), "");
}

TEST(SubnetManager, SelfCablesAreNoTrouble) {
    const char* shared = std::getenv("IBF_SHARED");
    const std::filesystem::path file = std::filesystem::path(shared != nullptr ? shared : "../shared") /
                                       "fabrics/real/mixed-fdr-edr-hdr-selfcabled-2sw.topo";
    if (!std::filesystem::exists(file)) {
        GTEST_SKIP() << file << " is not here: set IBF_SHARED";
    }
    Lab lab(netlist(file.string()));
    lab.start();
    ASSERT_TRUE(lab.run_until_up(seconds{10})) << lab.snapshot().mode_text;
    EXPECT_EQ(wrong(lab), "");
    lab.advance(seconds{30});
    lab.forget_counts();
    lab.advance(seconds{60});
    EXPECT_EQ(lab.all_sets(), 0U);
    EXPECT_EQ(lab.sweeps("full"), 0U);
}

// --- restart
// ----------------------------------------------------------------------------------------------------

TEST(Restart, AfterACleanStopNothingIsReadOrWritten) {
    Lab lab(netlist("fat-tree:radix=6,levels=3"));
    lab.start();
    ASSERT_TRUE(lab.run_until_up(seconds{5}));
    lab.advance(seconds{5});
    const std::string before = lab.tables_text();
    lab.stop();
    lab.forget_counts();
    lab.start();
    ASSERT_TRUE(lab.run_until_up(seconds{5}));
    EXPECT_EQ(table_sets(lab), 0U);
    EXPECT_EQ(lab.gets(Attribute::linear_forwarding_table), 0U) << "stored tables were not trusted";
    EXPECT_EQ(lab.sets(Attribute::port_info), 0U);
    EXPECT_EQ(lab.tables_text(), before);
}

TEST(Restart, AfterAKillTheTablesAreReadAndNothingIsWritten) {
    Lab lab(netlist("fat-tree:radix=6,levels=3"));
    lab.start();
    ASSERT_TRUE(lab.run_until_up(seconds{5}));
    lab.advance(seconds{5});
    const std::string before = lab.tables_text();
    lab.kill();
    lab.forget_counts();
    lab.start();
    ASSERT_TRUE(lab.run_until_up(seconds{5}));
    EXPECT_EQ(table_sets(lab), 0U);
    EXPECT_GT(lab.gets(Attribute::linear_forwarding_table), 0U);
    EXPECT_EQ(lab.tables_text(), before);
}

TEST(Restart, WithoutADatabaseTheFabricKeepsItsLidsAndItsRoutesStaySound) {
    Lab lab(netlist("fat-tree:radix=6,levels=3"));
    lab.start();
    ASSERT_TRUE(lab.run_until_up(seconds{5}));
    const auto before = lab.lids();
    lab.stop();
    lab.stored = {};
    lab.watch_loops();
    lab.start();
    ASSERT_TRUE(lab.run_until_up(seconds{5}));
    EXPECT_EQ(lab.lids(), before);
    EXPECT_EQ(wrong(lab), "");
}

/// Killed at a seeded moment of bring-up, also with a switch reset in between: the next start ends at the
/// tables that an undisturbed bring-up ends at.
void killed_at_seed(std::uint64_t seed, const routing::Netlist& net, const std::string& wanted) {
    base::Prng prng(seed);
    Lab lab(net);
    lab.start();
    lab.advance(std::chrono::microseconds{prng.below(12'000)});
    lab.kill();
    if (seed % 2 == 1) {
        std::vector<std::string> switches;
        for (const routing::NetlistNode& node : net.nodes) {
            if (node.type == mad::NodeType::switch_) {
                switches.push_back(node.description);
            }
        }
        lab.inject(fmt::format("reboot \"{}\"", switches[prng.below(switches.size())]));
    }
    lab.advance(milliseconds{1 + prng.below(50)});  // links train in 0.1 ms
    lab.start();
    ASSERT_TRUE(lab.run_until_up(seconds{30})) << "seed " << seed << ": " << lab.snapshot().mode_text;
    lab.advance(seconds{15});
    EXPECT_EQ(lab.tables_text(), wanted) << "seed " << seed;
    EXPECT_EQ(join_lines(problems(lab, CheckOptions{{}, {}, 200})), "") << "seed " << seed;
}

TEST(Restart, KilledAt200SeededMomentsOfBringUpReachesTheSameTables) {
    const routing::Netlist net = netlist("fat-tree:radix=4,levels=3");
    Lab undisturbed(net);
    undisturbed.start();
    ASSERT_TRUE(undisturbed.run_until_up(seconds{5}));
    RecordProperty("bring_up_us", static_cast<int>(std::chrono::duration_cast<std::chrono::microseconds>(
                                                       undisturbed.now.time_since_epoch())
                                                       .count()));
    const std::string wanted = undisturbed.tables_text();
    for (std::uint64_t seed = 0; seed < 200 && !HasFailure(); ++seed) {
        killed_at_seed(seed, net, wanted);
    }
}

// --- other masters, and what comes unasked
// --------------------------------------------------------------------------

// Sweeps back to back, in which discovery meets the devices in another order each time: what readers see fits
// together at every instant.
TEST(SubnetManager, ReadersSeeAFabricAndTheViewThatWasMadeOfIt) {
    Lab lab(netlist("fat-tree:radix=4,levels=3"));
    lab.start();
    ASSERT_TRUE(lab.run_until_up(seconds{5}));
    lab.inject("reorder * probability=0.3\ndelay * probability=0.2 delay=50us");
    fabric::Snapshot seen;
    std::set<const fabric::Fabric*> fabrics;
    std::size_t torn = 0;
    for (int sweep = 0; sweep < 12; ++sweep) {
        lab.request_sweep(sm::SweepScope::full);
        static_cast<void>(lab.run_until(
            [&] {
                lab.request_sweep(sm::SweepScope::full);
                lab.sm->fill(seen);
                fabrics.insert(seen.fabric.get());
                for (std::size_t s = 0; seen.view && s < seen.view->switch_nodes.size(); ++s) {
                    const std::uint32_t node = seen.view->switch_nodes[s];
                    torn += node < seen.fabric->nodes.size() &&
                                    seen.fabric->nodes[node].guid() == seen.view->topology.switches[s].guid
                                ? 0U
                                : 1U;
                }
                return false;
            },
            milliseconds{3}));
    }
    EXPECT_EQ(torn, 0U);
    EXPECT_GT(fabrics.size(), 2U);
}

// An SM that is there and says nothing may be the master.
TEST(SubnetManager, ASilentSmIsAskedInSeveralSweepsBeforeAnythingIsWritten) {
    LabOptions options;
    options.at = "h1";
    Lab lab(t2(), options);
    mad::PortInfo info = lab.sim.port_info(lab.node("h5"), mad::PortNum{1});
    info.capability_mask |= 2;  // IsSM
    lab.sim.set_port_info(lab.node("h5"), mad::PortNum{1}, info);
    lab.inject("drop h5 attr=SMInfo");
    lab.start();
    ASSERT_TRUE(lab.run_until([&] { return lab.sweeps("full") == 3; }, seconds{60}));
    EXPECT_EQ(lab.all_sets(), 0U);
    EXPECT_NE(lab.snapshot().mode_text.find("h5"), std::string::npos) << lab.snapshot().mode_text;
    ASSERT_TRUE(lab.run_until_up(seconds{60})) << lab.snapshot().mode_text;
    EXPECT_EQ(lab.events("sm-silent"), 1U);
}

TEST(FieldCase, C57_started_beside_a_master_sets_nothing) {
    Lab lab(t1());
    Rival rival(lab, "h3", mad::SmState::master);
    lab.start();
    lab.advance(seconds{60});
    EXPECT_GT(rival.asked, 0U);
    EXPECT_EQ(lab.all_sets(), 0U);
    EXPECT_EQ(lab.sm->mode(), fabric::SmMode::standby);
    ASSERT_NE(lab.find_event("other-master"), nullptr);
    EXPECT_EQ(lab.events("other-master"), 1U);
    EXPECT_NE(lab.find_event("other-master")->text.find("h3"), std::string::npos);
}

TEST(OtherMaster, SeenLaterStopsAllWriting) {
    Lab lab(t2());
    lab.start();
    ASSERT_TRUE(lab.run_until_up(seconds{5}));
    lab.advance(seconds{5});
    Rival rival(lab, "h7", mad::SmState::master);
    lab.advance(seconds{25});  // trap 144 or the next sweep tells of it
    EXPECT_EQ(lab.sm->mode(), fabric::SmMode::standby);
    lab.forget_counts();
    lab.inject("link-down leaf1/5");
    lab.advance(seconds{60});
    EXPECT_EQ(lab.all_sets(), 0U);
}

TEST(OtherMaster, AStandbyIsNoReasonToStop) {
    Lab lab(t2());
    Rival rival(lab, "h7", mad::SmState::standby);
    lab.start();
    ASSERT_TRUE(lab.run_until_up(seconds{5}));
    EXPECT_EQ(wrong(lab), "");
    EXPECT_GT(rival.asked, 0U);
}

/// Asks the SM from another port and returns its answer.
std::optional<mad::Smp> ask_sm(Lab& lab, mad::Method method) {
    auto got = std::make_shared<std::optional<mad::Smp>>();
    const auto client = lab.sim
                            .join("h2", 0,
                                  [got](mad::WireMad&& wire) {
                                      const auto answer = mad::parse_smp(wire.bytes);
                                      if (answer && answer->header.is_response()) {
                                          *got = *answer;
                                      }
                                  })
                            .value();
    mad::Smp smp;
    smp.header.method = static_cast<std::uint8_t>(method);
    smp.header.attribute = Attribute::sm_info;
    smp.header.tid =
        (std::uint64_t{client} << 32U) | 0x100U;  // as umad does: the upper half names the client
    smp.header.modifier = method == mad::Method::set ? 1 : 0;
    smp.path = mad::DrPath{}.then(mad::PortNum{1}).then(mad::PortNum{1});
    mad::WireMad wire{mad::encode_smp(smp), {}, {}};
    wire.address.lid = mad::kLidPermissive;
    lab.sim.send(client, wire, lab.now);
    static_cast<void>(lab.run_until([&] { return got->has_value(); }, milliseconds{1}));
    return *got;
}

TEST(SmInfo, IsAnsweredInEveryStateAndASetChangesNothing) {
    LabOptions options;
    options.at = "h1";
    Lab lab(t1(), options);
    lab.start();
    const auto early = ask_sm(lab, mad::Method::get);
    ASSERT_TRUE(early);
    EXPECT_NE(mad::decode_sm_info(early->data).state, mad::SmState::not_active);
    // From its first Set on it is the master, and says so to whoever asks (IBA 14.4).
    ASSERT_TRUE(lab.run_until([&] { return lab.all_sets() > 0; }, seconds{5}));
    EXPECT_EQ(lab.sm->mode(), fabric::SmMode::sweeping);
    EXPECT_EQ(mad::decode_sm_info(ask_sm(lab, mad::Method::get)->data).state, mad::SmState::master);
    ASSERT_TRUE(lab.run_until_up(seconds{5}));
    const auto late = ask_sm(lab, mad::Method::get);
    ASSERT_TRUE(late);
    const mad::SmInfo info = mad::decode_sm_info(late->data);
    EXPECT_EQ(info.state, mad::SmState::master);
    EXPECT_EQ(info.priority, 0);
    EXPECT_EQ(info.guid, lab.sim.local_port(lab.client).port_guid);
    const std::string before = lab.tables_text();
    const auto set = ask_sm(lab, mad::Method::set);
    ASSERT_TRUE(set);
    EXPECT_NE(set->header.status, 0);
    lab.advance(seconds{30});
    EXPECT_EQ(lab.sm->mode(), fabric::SmMode::up);
    EXPECT_EQ(lab.tables_text(), before);
    EXPECT_EQ(mad::decode_sm_info(ask_sm(lab, mad::Method::get)->data).state, mad::SmState::master);
}

}  // namespace
}  // namespace ibf::test
