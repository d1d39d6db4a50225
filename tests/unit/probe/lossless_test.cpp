#include "probe/lossless.hpp"

#include <gtest/gtest.h>

#include <string>

#include "sysfs_tree.hpp"

namespace ibf::probe::test {
namespace {

class Lossless : public testing::Test {
protected:
    Lossless() {
        tree.put("class/infiniband/mlx5_0/ports/1/link_layer", "Ethernet\n");
        tree.put("class/infiniband/mlx5_0/ports/1/gid_attrs/ndevs/0", "eth4\n");
        tree.put("class/net/eth4/mtu", "9000\n");
        port.device = "mlx5_0";
        port.mtu_bytes = 4096;
        port.priority = 3;
        port.pfc_classes = 0b1000;
    }

    LosslessFinding finding(const std::string& what) const {
        for (const LosslessFinding& found : check_lossless(port, tree.root())) {
            if (found.what == what) {
                return found;
            }
        }
        ADD_FAILURE() << "nothing said about " << what;
        return {};
    }

    void put_ecn(const char* point, int priority, const char* value) const {
        tree.put(std::string("class/net/eth4/ecn/") + point + "/enable/" + std::to_string(priority), value);
    }

    SysfsTree tree{"lossless"};
    LosslessPort port;
};

TEST_F(Lossless, APortThatIsSetUpWell) {
    put_ecn("roce_np", 3, "1\n");
    put_ecn("roce_rp", 3, "1\n");
    const auto findings = check_lossless(port, tree.root());
    ASSERT_EQ(findings.size(), 3U);
    for (const auto& found : findings) {
        EXPECT_EQ(found.state, LosslessState::right) << found.text;
    }
}

TEST_F(Lossless, InfiniBandIsNotLookedAt) {
    tree.put("class/infiniband/mlx5_0/ports/1/link_layer", "InfiniBand\n");
    EXPECT_TRUE(check_lossless(port, tree.root()).empty());
    port.device = "no_such_device";
    EXPECT_TRUE(check_lossless(port, tree.root()).empty());
}

TEST_F(Lossless, AnMtuThatIsTooSmallForLargePackets) {
    tree.put("class/net/eth4/mtu", "1500\n");
    port.mtu_bytes = 1024;
    const auto found = finding("mtu");
    EXPECT_EQ(found.state, LosslessState::wrong);
    EXPECT_NE(found.text.find("1024 octets at most"), std::string::npos) << found.text;
    EXPECT_NE(found.text.find("ip link set eth4 mtu"), std::string::npos);
}

TEST_F(Lossless, AnRdmaMtuBelowWhatFits) {
    port.mtu_bytes = 1024;
    const auto found = finding("mtu");
    EXPECT_EQ(found.state, LosslessState::wrong);
    EXPECT_NE(found.text.find("active MTU is 1024"), std::string::npos) << found.text;
}

TEST_F(Lossless, TheSmallestMtuThatCarries4096) {
    tree.put("class/net/eth4/mtu", "4192\n");
    EXPECT_EQ(finding("mtu").state, LosslessState::right);
    tree.put("class/net/eth4/mtu", "4191\n");
    EXPECT_EQ(finding("mtu").state, LosslessState::wrong);
}

TEST_F(Lossless, EcnThatIsOffOnEitherPoint) {
    for (const auto& [np, rp, named] : {std::tuple{"0", "1", "(roce_np)"}, std::tuple{"1", "0", "(roce_rp)"},
                                        std::tuple{"0", "0", "(roce_np and roce_rp)"}}) {
        put_ecn("roce_np", 3, np);
        put_ecn("roce_rp", 3, rp);
        const auto found = finding("ecn");
        EXPECT_EQ(found.state, LosslessState::wrong);
        EXPECT_NE(found.text.find(named), std::string::npos) << found.text;
    }
}

TEST_F(Lossless, EcnOfAnotherClassDoesNotCount) {
    put_ecn("roce_np", 5, "1");
    put_ecn("roce_rp", 5, "1");
    EXPECT_EQ(finding("ecn").state, LosslessState::unseen);
}

TEST_F(Lossless, PfcIsWantedOnTheClassInUse) {
    EXPECT_EQ(finding("pfc").state, LosslessState::right);
    port.pfc_classes = 0b0111;
    const auto found = finding("pfc");
    EXPECT_EQ(found.state, LosslessState::wrong);
    EXPECT_NE(found.text.find("dcb pfc set dev eth4 prio-pfc 3:on"), std::string::npos) << found.text;
}

TEST_F(Lossless, WhatCannotBeSeenIsNoFault) {
    port.pfc_classes.reset();
    EXPECT_EQ(finding("pfc").state, LosslessState::unseen);
    EXPECT_EQ(finding("ecn").state, LosslessState::unseen);
}

TEST_F(Lossless, RxeNamesItsInterfaceByAnotherFile) {
    tree.put("class/infiniband/rxe0/ports/1/link_layer", "Ethernet\n");
    tree.put("class/infiniband/rxe0/parent", "eth4\n");
    port.device = "rxe0";
    EXPECT_EQ(finding("mtu").state, LosslessState::right);
    port.device = "siw0";
    tree.put("class/infiniband/siw0/ports/1/link_layer", "Ethernet\n");
    const auto findings = check_lossless(port, tree.root());
    ASSERT_EQ(findings.size(), 1U);
    EXPECT_EQ(findings[0].state, LosslessState::unseen);
}

TEST(LosslessDcb, AnInterfaceWithoutDcbTellsNothing) {
    EXPECT_FALSE(pfc_classes_of("lo"));
    EXPECT_FALSE(pfc_classes_of(""));
    EXPECT_FALSE(pfc_classes_of("a-name-that-no-interface-can-have"));
}

}  // namespace
}  // namespace ibf::probe::test
