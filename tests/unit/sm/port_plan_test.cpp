#include "daemon/sm/port_plan.hpp"

#include <gtest/gtest.h>

namespace ibf::sm {
namespace {

using fabric::Fabric;
using fabric::PortRef;
using mad::Guid;
using mad::Lid;
using mad::Mtu;
using mad::PKey;
using mad::PortNum;
using mad::PortState;

/// A switch whose port 1 is linked to port 1 of an adapter, both in Init.
class PortPlan : public testing::Test {
protected:
    void SetUp() override {
        fabric_.nodes.resize(2);
        fabric::Node& hub = fabric_.nodes[0];
        hub.info.type = mad::NodeType::switch_;
        hub.info.node_guid = Guid{0x100};
        hub.info.num_ports = 2;
        hub.switch_info.emplace();
        hub.ports.resize(3);
        fabric::Node& host = fabric_.nodes[1];
        host.info.node_guid = Guid{0x200};
        host.info.num_ports = 1;
        host.info.partition_cap = 64;
        host.ports.resize(2);
        host.ports[1].guid = Guid{0x201};
        link({0, PortNum{1}}, {1, PortNum{1}});
        for (fabric::Node& node : fabric_.nodes) {
            for (fabric::Port& port : node.ports) {
                port.known = true;
                port.info.mtu_cap = Mtu::b4096;
                port.info.vl_cap = 4;
                port.info.operational_vls = 4;
                port.info.neighbor_mtu = Mtu::b256;
                port.info.state = PortState::init;
                port.info.phys_state = mad::PhysState::link_up;
                port.info.width_enabled = 3;
                port.info.width_supported = 3;
            }
        }
    }
    void link(PortRef a, PortRef b) {
        fabric_.port(a).peer = b;
        fabric_.port(b).peer = a;
    }
    [[nodiscard]] PortTarget plan(PortRef ref) const {
        return plan_port({fabric_, lids_, Lid{9}, config_}, ref);
    }

    static constexpr PortRef kPort0{0, PortNum{0}}, kSwitchPort{0, PortNum{1}}, kHostPort{1, PortNum{1}};
    Fabric fabric_;
    fabric::LidMap lids_{{Guid{0x100}, {Lid{4}, 0}}, {Guid{0x201}, {Lid{8}, 0}}};
    SmConfig config_;
};

TEST_F(PortPlan, BothEndsOfALinkAgreeOnTheSmallerCapability) {
    fabric_.port(kHostPort).info.mtu_cap = Mtu::b2048;
    fabric_.port(kHostPort).info.vl_cap = 2;
    for (const PortRef ref : {kSwitchPort, kHostPort}) {
        EXPECT_EQ(plan(ref).set.neighbor_mtu, Mtu::b2048);
        EXPECT_EQ(plan(ref).set.operational_vls, 2);
        EXPECT_TRUE(plan(ref).needs_bounce);
    }
    config_.operational_vls_max = 1;
    EXPECT_EQ(plan(kHostPort).set.operational_vls, 1);
}

TEST_F(PortPlan, SpeedPolicyAsksOnlyForWhatThePortSupports) {
    config_.speed_ext_enabled = 0x0C;  // HDR, NDR
    config_.speed_ext2_enabled = 1;    // XDR
    mad::PortInfo& info = fabric_.port(kHostPort).info;
    info.speed_ext_supported = info.speed_ext_enabled = 0x0F;
    EXPECT_EQ(plan(kHostPort).set.speed_ext_enabled, 0x0C);
    EXPECT_EQ(plan(kHostPort).set.speed_ext2_enabled, 0) << "no XDR here: no change";
    info.speed_ext2_supported = 1;
    EXPECT_EQ(plan(kHostPort).set.speed_ext2_enabled, 1);
}

TEST_F(PortPlan, AddressesGoOnlyWhereTheyBelong) {
    const mad::PortInfo host = plan(kHostPort).set;
    EXPECT_EQ(host.lid, Lid{8});
    EXPECT_EQ(host.sm_lid, Lid{9});
    EXPECT_EQ(host.gid_prefix, 0xfe80000000000000ULL);
    EXPECT_EQ(plan(kPort0).set.lid, Lid{4});
    const mad::PortInfo external = plan(kSwitchPort).set;
    EXPECT_EQ(external.lid, mad::kLidNone);
    EXPECT_EQ(external.sm_lid, mad::kLidNone);
    EXPECT_EQ(external.lmc, 0);
}

TEST_F(PortPlan, WhatIsNotMovedIsNoChange) {
    const mad::PortInfo set = plan(kHostPort).set;
    EXPECT_EQ(set.state, PortState::no_change);
    EXPECT_EQ(set.phys_state, mad::PhysState::no_change);
    EXPECT_EQ(set.link_down_default, 2) << "Polling";
    EXPECT_FALSE(set.client_reregister) << "no SA to register with";
}

TEST_F(PortPlan, DefaultsAreOpenSms) {
    const mad::PortInfo to_host = plan(kSwitchPort).set;
    EXPECT_EQ(to_host.hoq_life, 0x10);
    EXPECT_EQ(to_host.vl_stall_count, 7);
    EXPECT_EQ(to_host.local_phys_errors, 8);
    EXPECT_EQ(to_host.overrun_errors, 8);
    EXPECT_EQ(plan(kHostPort).set.hoq_life, 0x12);
    EXPECT_EQ(plan(kHostPort).set.subnet_timeout, 18);
}

TEST_F(PortPlan, APortThatIsAsItShallBeIsLeftAlone) {
    for (const PortRef ref : {kPort0, kSwitchPort, kHostPort}) {
        const PortTarget first = plan(ref);
        EXPECT_TRUE(first.differs);
        fabric_.port(ref).info = first.set;
        fabric_.port(ref).info.state = PortState::active;
        fabric_.port(ref).info.mtu_cap = Mtu::b4096;
    }
    for (const PortRef ref : {kPort0, kSwitchPort, kHostPort}) {
        EXPECT_FALSE(plan(ref).differs);
        EXPECT_FALSE(plan(ref).needs_bounce);
    }
}

TEST_F(PortPlan, WidthPolicyAsksOnlyForWhatIsSupported) {
    config_.width_enabled = 1;
    EXPECT_EQ(plan(kHostPort).set.width_enabled, 1);
    config_.width_enabled = 8;
    EXPECT_NE(plan(kHostPort).set.width_enabled, 8);
    EXPECT_FALSE(plan(kHostPort).refused.empty());
}

TEST_F(PortPlan, PKeysKeepTheirPlaces) {
    fabric::Port& port = fabric_.port(kHostPort);
    port.pkeys.resize(2);
    port.pkeys[0].keys[0] = PKey{0x8001};
    ASSERT_EQ(plan_pkeys(fabric_.nodes[1], port).size(), 1U);
    EXPECT_EQ(plan_pkeys(fabric_.nodes[1], port)[0].keys.keys[0], PKey{0x8001});
    EXPECT_EQ(plan_pkeys(fabric_.nodes[1], port)[0].keys.keys[1], mad::kPKeyDefaultFull);
    port.pkeys[1].keys[4] = mad::kPKeyDefaultLimited;
    const auto change = plan_pkeys(fabric_.nodes[1], port);
    ASSERT_EQ(change.size(), 1U);
    EXPECT_EQ(change[0].block, 1);
    EXPECT_EQ(change[0].keys.keys[4], mad::kPKeyDefaultFull) << "the limited key is promoted where it stands";
    port.pkeys[1].keys[4] = mad::kPKeyDefaultFull;
    EXPECT_TRUE(plan_pkeys(fabric_.nodes[1], port).empty());
}

TEST_F(PortPlan, AFullPKeyTableIsSaid) {
    fabric::Port& port = fabric_.port(kHostPort);
    port.pkeys.resize(2);
    EXPECT_FALSE(pkey_table_full(port));
    std::uint16_t key = 0x8001;
    for (mad::PKeyBlock& block : port.pkeys) {
        for (PKey& entry : block.keys) {
            entry = PKey{key++};
        }
    }
    EXPECT_TRUE(pkey_table_full(port));
    EXPECT_TRUE(plan_pkeys(fabric_.nodes[1], port).empty());
}

}  // namespace
}  // namespace ibf::sm
