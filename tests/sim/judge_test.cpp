// The judges of the campaign can find what they look for; and the foreign SM behaves as it says.
#include <gtest/gtest.h>

#include "fabric_judge.hpp"
#include "foreign_sm.hpp"
#include "mad/codec.hpp"
#include "sa_judge.hpp"

namespace ibf::test {
namespace {

using std::chrono::seconds;

/// A fabric that is up, under a judge.
class Judged : public ::testing::Test {
protected:
    Judged() : lab(t2(), at("h1")), judge(lab.sim) {
        lab.on_mad = [this](base::Instant when, std::uint32_t node, const mad::Smp& request,
                            mad::MadStatus status) { judge.on_mad(when, node, request, status); };
        judge.add_manager(lab.client, {"A", lab.node("h1"), [] { return true; }, [] { return true; }});
        lab.start();
        EXPECT_TRUE(lab.run_until_up(seconds{5}));
        EXPECT_EQ(join_lines(judge.findings()), "");
    }
    /// A Set by somebody at h5.
    void set(const std::string& node, mad::Attribute attribute, std::uint32_t modifier,
             const mad::AttributeData& data) {
        mad::Smp smp;
        smp.header.method = static_cast<std::uint8_t>(mad::Method::set);
        smp.header.attribute = attribute;
        smp.header.modifier = modifier;
        smp.header.tid = std::uint64_t{stranger()} << 32U | 7U;
        smp.header.mgmt_class = mad::MgmtClass::subn_lid;
        smp.data = data;
        mad::WireMad wire{mad::encode_smp(smp), {}, {}};
        const bool is_switch = node.starts_with("leaf") || node.starts_with("spine");
        wire.address.lid = lab.lid(lab.node(node), is_switch ? 0 : 1);
        lab.sim.send(stranger(), wire, lab.now);
        lab.advance(std::chrono::microseconds{50});
    }
    sim::Simulator::ClientId stranger() {
        if (!stranger_) {
            stranger_ = lab.sim.join("h5", 0, [](mad::WireMad&&) {}).value();
        }
        return *stranger_;
    }
    /// The block in force, and one entry of it changed.
    mad::LftBlock block_with(const std::string& node, mad::Lid lid, std::uint8_t port) {
        mad::LftBlock block;
        for (std::size_t i = 0; i < block.ports.size(); ++i) {
            block.ports[i] = lab.sim.lft_entry(lab.node(node), mad::Lid{static_cast<std::uint16_t>(i)});
        }
        block.ports[lid.value()] = port;
        return block;
    }

    Lab lab;
    FabricJudge judge;

private:
    std::optional<sim::Simulator::ClientId> stranger_;
};

TEST_F(Judged, ALoopIsSeenWhenItIsClosed) {
    const mad::Lid h5 = lab.lid(lab.node("h5"), 1);
    const std::uint8_t up = lab.sim.lft_entry(lab.node("leaf1"), h5);
    ASSERT_TRUE(up == 5 || up == 6);
    const std::string spine = up == 5 ? "spine1" : "spine2";
    set(spine, mad::Attribute::linear_forwarding_table, 0, mad::encode(block_with(spine, h5, 1)));
    ASSERT_FALSE(judge.findings().empty());
    EXPECT_NE(judge.findings()[0].find("circles"), std::string::npos) << judge.findings()[0];
}

// Behind a node with another's GUID, as far as the other master believes, lives a second one: what the two
// write together is not one's fault. When they had the time to meet it is.
TEST_F(Judged, ALoopOfMastersThatHideFromEachOtherIsNobodys) {
    judge.add_manager(stranger(), {"B", lab.node("h5"), [] { return true; }, [] { return true; }});
    judge.hide(lab.node("leaf2"));
    const mad::Lid h5 = lab.lid(lab.node("h5"), 1);
    const std::string spine = lab.sim.lft_entry(lab.node("leaf1"), h5) == 5 ? "spine1" : "spine2";
    const auto loops = [&] { return join_lines(judge.findings()).find("circles") != std::string::npos; };
    set(spine, mad::Attribute::linear_forwarding_table, 0, mad::encode(block_with(spine, h5, 1)));
    EXPECT_FALSE(loops());
    judge.show(lab.node("leaf2"));
    lab.advance(seconds{10});
    set(spine, mad::Attribute::linear_forwarding_table, 0, mad::encode(block_with(spine, h5, 1)));
    EXPECT_FALSE(loops()) << "they have to meet first";
    lab.advance(seconds{10});
    set(spine, mad::Attribute::linear_forwarding_table, 0, mad::encode(block_with(spine, h5, 1)));
    EXPECT_TRUE(loops());
}

TEST_F(Judged, ALidThatMovesIsSeen) {
    const mad::PortInfo before = lab.sim.port_info(lab.node("h3"), mad::PortNum{1});
    mad::PortInfo info = before;
    info.lid = mad::Lid{40};
    info.state = mad::PortState::no_change;
    info.phys_state = mad::PhysState::no_change;
    info.width_enabled = info.speed_enabled = info.speed_ext_enabled = info.speed_ext2_enabled = 0;
    set("h3", mad::Attribute::port_info, 1, mad::encode(info));
    ASSERT_FALSE(judge.findings().empty());
    EXPECT_NE(judge.findings()[0].find("LID"), std::string::npos);
    ASSERT_EQ(judge.moved().size(), 1U);
    judge.release_lids(lab.now, lab.node("h3"));
    EXPECT_TRUE(judge.moved().empty());
}

// Released once, not for ever.
TEST_F(Judged, AReleasedLidThatMovesWhenAllIsSettledIsSeen) {
    const std::uint32_t h3 = lab.node("h3");
    const auto move_to = [&](std::uint16_t lid) {
        mad::PortInfo info = lab.sim.port_info(h3, mad::PortNum{1});
        info.lid = mad::Lid{lid};
        lab.sim.set_port_info(h3, mad::PortNum{1}, info);
        mad::Smp request;
        request.header.method = static_cast<std::uint8_t>(mad::Method::set);
        request.header.attribute = mad::Attribute::port_info;
        request.header.modifier = 1;
        request.header.tid = std::uint64_t{lab.client} << 32U | 7U;
        judge.on_mad(lab.now, h3, request, 0);
        return judge.findings().size() + judge.moved().size();
    };
    judge.release_lids(lab.now, h3);
    judge.on_settled(lab.client, lab.now);
    EXPECT_EQ(move_to(40), 0U) << "that look began before";
    lab.advance(seconds{1});
    judge.hide(h3);
    judge.on_settled(lab.client, lab.now);
    EXPECT_EQ(move_to(41), 0U) << "it still passes for another one";
    judge.show(h3);
    EXPECT_EQ(move_to(0), 0U);
    judge.on_settled(lab.client, lab.now);
    EXPECT_EQ(move_to(41), 0U) << "it had none to keep";
    judge.on_settled(lab.client, lab.now);
    EXPECT_EQ(judge.moved().size(), 0U) << "41 is its LID now";
    EXPECT_EQ(move_to(42), 2U);
}

TEST(Outsider, ARuleThatIsBrokenWhenAllIsCalmIsTold) {
    Lab lab(t2(), at("h1"));
    lab.start();
    ASSERT_TRUE(lab.run_until_up(seconds{5}));
    const auto refuse = [&](const std::function<void(mad::PortInfo&)>& wish) {
        mad::PortInfo info = lab.sim.port_info(lab.node("leaf2"), mad::PortNum{1});
        info.phys_state = mad::PhysState::no_change;
        info.width_enabled = info.speed_enabled = info.speed_ext_enabled = info.speed_ext2_enabled = 0;
        wish(info);
        mad::Smp smp;
        smp.header.method = static_cast<std::uint8_t>(mad::Method::set);
        smp.header.attribute = mad::Attribute::port_info;
        smp.header.modifier = 1;
        smp.header.tid = std::uint64_t{lab.client} << 32U | 7U;
        smp.header.mgmt_class = mad::MgmtClass::subn_lid;
        smp.data = mad::encode(info);
        mad::WireMad wire{mad::encode_smp(smp), {}, {}};
        wire.address.lid = lab.lid(lab.node("leaf2"), 0);
        lab.sim.send(lab.client, wire, lab.now);
        lab.advance(std::chrono::microseconds{50});
    };
    const auto told = [&](const auto& raced) {
        return join_lines(problems(lab, CheckOptions{{}, raced, 100}));
    };
    refuse([](mad::PortInfo& info) { info.state = mad::PortState::init; });
    const auto raced = lab.sim.counters().by_rule;
    EXPECT_EQ(told(raced), "");
    EXPECT_NE(told(decltype(raced){}).find("port-state was broken 1 times"), std::string::npos);
    refuse([](mad::PortInfo& info) { info.state = mad::PortState::init; });
    EXPECT_NE(told(raced).find("port-state was broken 1 times"), std::string::npos) << told(raced);
    refuse([](mad::PortInfo& info) {
        info.state = mad::PortState::no_change;
        info.neighbor_mtu = mad::Mtu::none;
    });
    EXPECT_NE(told(lab.sim.counters().by_rule).find("neighbor-mtu"), std::string::npos) << "that is no race";
}

TEST_F(Judged, ASetBesideALivingMasterIsSeen) {
    judge.add_manager(stranger(), {"B", lab.node("h5"), [] { return true; }, [] { return false; }});
    lab.advance(seconds{20});
    set("leaf1", mad::Attribute::switch_info, 0, mad::encode(lab.sim.switch_info(lab.node("leaf1"))));
    ASSERT_EQ(judge.findings().size(), 1U);
    EXPECT_NE(judge.findings()[0].find("while A was master"), std::string::npos) << judge.findings()[0];
}

// Who could not reach the master for a while is given time to meet it.
TEST_F(Judged, TwoThatWereApartMayBothWrite) {
    judge.add_manager(stranger(), {"B", lab.node("h5"), [] { return true; }, [] { return false; }});
    lab.inject("link-down leaf1/5\nlink-down leaf1/6");
    judge.look_around(lab.now);
    lab.inject("link-up leaf1/5\nlink-up leaf1/6");
    lab.advance(seconds{3});
    const auto info = mad::encode(lab.sim.switch_info(lab.node("leaf2")));
    set("leaf2", mad::Attribute::switch_info, 0, info);
    EXPECT_EQ(join_lines(judge.findings()), "");
    lab.advance(seconds{20});
    set("leaf2", mad::Attribute::switch_info, 0, info);
    EXPECT_EQ(judge.findings().size(), 1U);
}

// B becomes master beside A, and no word of that reaches A for a while: A cannot know. B should have.
TEST_F(Judged, AMasterThatWasNotToldMayGoOnForAWhile) {
    bool master = false;
    judge.add_manager(stranger(), {"B", lab.node("h5"), [] { return true; }, [&] { return master; }});
    lab.advance(seconds{20});
    const auto a_writes = [&] {
        mad::Smp smp;
        smp.header.method = static_cast<std::uint8_t>(mad::Method::set);
        smp.header.attribute = mad::Attribute::switch_info;
        smp.header.tid = std::uint64_t{lab.client} << 32U | 7U;
        judge.on_mad(lab.now, lab.node("leaf1"), smp, 0);
        return judge.findings().size();
    };
    EXPECT_EQ(a_writes(), 0U);
    master = true;
    judge.look_around(lab.now);
    lab.advance(seconds{5});
    EXPECT_EQ(a_writes(), 0U) << "not a word yet";
    mad::SmInfo shown;
    shown.guid = lab.sim.local_port(stranger()).port_guid;
    shown.state = mad::SmState::standby;
    judge.on_sm_info(lab.now, lab.client, shown);
    EXPECT_EQ(a_writes(), 0U) << "it has not said that it is master";
    shown.state = mad::SmState::master;
    judge.on_sm_info(lab.now, lab.client, shown);
    EXPECT_EQ(a_writes(), 1U);
    EXPECT_NE(judge.findings()[0].find("A set SwitchInfo of leaf1 while B was master"), std::string::npos);
    set("leaf2", mad::Attribute::switch_info, 0, mad::encode(lab.sim.switch_info(lab.node("leaf2"))));
    EXPECT_GE(judge.findings().size(), 2U) << "the newcomer itself is never excused";
}

TEST_F(Judged, NobodyIsExcusedForLonger) {
    bool master = false;
    judge.add_manager(stranger(), {"B", lab.node("h5"), [] { return true; }, [&] { return master; }});
    lab.advance(seconds{20});
    master = true;
    judge.look_around(lab.now);
    lab.advance(seconds{20});
    lab.request_sweep(sm::SweepScope::full);
    lab.inject("remove-node h3");
    lab.advance(seconds{5});
    EXPECT_FALSE(judge.findings().empty());
}

/// The port of a switch that leads to the switch after it, round a ring: each is left by the cable that it
/// was not entered by.
std::map<std::uint32_t, std::uint8_t> round_the_ring(const routing::Netlist& net) {
    std::map<std::uint32_t, std::uint8_t> exits;
    std::uint32_t at = 0;
    while (net.nodes[at].type != mad::NodeType::switch_) {
        ++at;
    }
    for (std::optional<std::uint32_t> from; !exits.contains(at);) {
        for (std::size_t p = 1; p < net.nodes[at].ports.size() && !exits.contains(at); ++p) {
            const auto peer = net.nodes[at].ports[p].peer_node;
            if (peer && net.nodes[*peer].type == mad::NodeType::switch_ && peer != from) {
                exits[at] = static_cast<std::uint8_t>(p);
            }
        }
        from = std::exchange(at, *net.nodes[at].ports[exits.at(at)].peer_node);
    }
    return exits;
}

void go_clockwise(Lab& lab) {
    const routing::Netlist& net = lab.sim.netlist();
    for (const auto& [node, exit] : round_the_ring(net)) {
        for (std::uint32_t host = 0; host < net.nodes.size(); ++host) {
            const routing::NetlistNode& item = net.nodes[host];
            if (item.type == mad::NodeType::ca && item.ports[1].peer_node != node) {
                lab.sim.set_lft_entry(node, lab.lid(host, 1), exit);
            }
        }
    }
}

// Hosts' LIDs by clockwise ways only: each link waits for the next.
TEST(TableWalk, ARingOfCreditsIsFound) {
    Lab lab(netlist("ring:5,hosts=1"));
    lab.start();
    ASSERT_TRUE(lab.run_until_up(seconds{5}));
    EXPECT_EQ(TableWalk(lab.sim).credit_cycle(), "");
    go_clockwise(lab);
    EXPECT_EQ(TableWalk(lab.sim).loop(), "");
    EXPECT_NE(TableWalk(lab.sim).credit_cycle(), "");
}

/// T2, up, with which the SA agrees; each test plants one fault behind its back.
class SaJudged : public ::testing::Test {
protected:
    SaJudged() : lab(t2(), at("h1")) {
        lab.start();
        EXPECT_TRUE(lab.run_until_up(seconds{5}));
        EXPECT_EQ(join_lines(sa_disagreements(lab)), "");
    }
    void expect_found(const std::string& what) {
        const std::string found = join_lines(sa_disagreements(lab));
        EXPECT_NE(found.find(what), std::string::npos) << found;
    }
    template <class Change>
    void change_port(const std::string& node, std::uint8_t port, Change change) {
        mad::PortInfo info = lab.sim.port_info(lab.node(node), mad::PortNum{port});
        change(info);
        lab.sim.set_port_info(lab.node(node), mad::PortNum{port}, info);
    }
    Lab lab;
};

TEST_F(SaJudged, APathThatTheSwitchesDrop) {
    lab.sim.set_lft_entry(lab.node("leaf2"), lab.lid(lab.node("h5"), 1), mad::kLftDrop);
    expect_found("no forwarding entry");
}

TEST_F(SaJudged, ALidThatNobodyHas) {
    change_port("h3", 1, [](mad::PortInfo& info) { info.lid = mad::Lid{40}; });
    expect_found("nobody has that LID");
}

TEST_F(SaJudged, ALinkThatCarriesLess) {
    change_port("leaf2", 1, [](mad::PortInfo& info) { info.neighbor_mtu = mad::Mtu::b256; });
    expect_found("MTU code");
}

TEST_F(SaJudged, ALaneThatDoesNotRun) {
    mad::Sl2VlTable table;
    table.vls.fill(mad::Vl{14});
    lab.sim.set_sl2vl(lab.node("leaf1"), mad::PortNum{1}, mad::PortNum{2}, table);
    expect_found("leaf1 port 2 drops SL 0");
}

TEST_F(SaJudged, ASwitchThatKeepsPacketsForLonger) {
    mad::SwitchInfo info = lab.sim.switch_info(lab.node("leaf1"));
    info.life_time = 20;
    lab.sim.set_switch_info(lab.node("leaf1"), info);
    expect_found("in a switch 20");
}

TEST_F(SaJudged, AnotherPrefixThanThePorts) {
    change_port("h3", 1, [](mad::PortInfo& info) { info.gid_prefix = 0xfec0000000000007ULL; });
    expect_found("at its port 0xfec0000000000007");
}

// A host that the SM does not see, and the switches still serve.
TEST_F(SaJudged, APairWithoutARecord) {
    lab.inject("dead h5");
    lab.request_sweep(sm::SweepScope::full);
    ASSERT_TRUE(lab.run_until_up(seconds{20}));
    expect_found("which the switches connect");
}

TEST(SaJudge, AsksWithTheDaemonsConfiguration) {
    LabOptions options = at("h1");
    options.config.subnet_prefix = 0xfec0000000000007ULL;
    options.config.packet_life_time = 20;
    Lab lab(t2(), options);
    lab.start();
    ASSERT_TRUE(lab.run_until_up(seconds{5}));
    EXPECT_EQ(join_lines(sa_disagreements(lab)), "");
}

// Hosts' LIDs by clockwise ways only, on the one lane.
TEST(SaJudge, LanesThatWaitForEachOther) {
    Lab lab(netlist("ring:5,hosts=1"));
    lab.start();
    ASSERT_TRUE(lab.run_until_up(seconds{5}));
    EXPECT_EQ(join_lines(sa_disagreements(lab)), "");
    go_clockwise(lab);
    const std::string found = join_lines(sa_disagreements(lab));
    EXPECT_NE(found.find("a ring of credits"), std::string::npos) << found;
}

/// Hosts' ports that name another SM than this host's.
std::size_t strangers(const Lab& lab, const std::string& host) {
    std::size_t count = 0;
    for (const char* name : {"h1", "h2", "h3", "h4", "h5", "h6", "h7", "h8"}) {
        const mad::PortInfo info = lab.sim.port_info(lab.node(name), mad::PortNum{1});
        count += info.sm_lid != lab.lid(lab.node(host), 1) ? 1U : 0U;
    }
    return count;
}

// As with OpenSM: it is handed over to without an ACKNOWLEDGE, hands over, and is followed when it dies.
TEST(Foreign, TakesHandsOverAndDies) {
    LabOptions low = at("h1");
    low.config.priority = 1;
    low.config.hand_over_hold = {};
    LabOptions high = at("h8");
    high.config.priority = 5;
    Lab a(t2(), low);
    Lab b(a, high);
    ForeignSm foreign(a, "h5", 3);
    const auto is_master = [](const Lab& lab) { return lab.sm && lab.sm->role() == sm::Role::master; };
    a.start();
    ASSERT_TRUE(a.run_until_up(seconds{5}));
    foreign.start();
    a.advance(seconds{15});
    EXPECT_TRUE(foreign.is_master());
    EXPECT_FALSE(is_master(a));
    EXPECT_EQ(strangers(a, "h5"), 0U);
    b.start();
    a.advance(seconds{15});
    EXPECT_FALSE(foreign.is_master());
    EXPECT_TRUE(is_master(b));
    EXPECT_EQ(strangers(a, "h8"), 0U);
    b.kill();
    a.advance(seconds{20});
    EXPECT_NE(foreign.is_master(), is_master(a)) << "one of the two";
    foreign.kill();
    a.advance(seconds{20});
    EXPECT_TRUE(is_master(a));
    EXPECT_EQ(strangers(a, "h1"), 0U);
    EXPECT_EQ(wrong(a), "");
}

}  // namespace
}  // namespace ibf::test
