#include "daemon/sm/spare_links.hpp"

#include <gtest/gtest.h>

namespace ibf::sm {
namespace {

using fabric::PortId;

/// Switches A - B with two cables, B - C with one; host D at C; the SM's host S at A.
fabric::Fabric small_fabric() {
    fabric::Fabric fabric;
    const auto add = [&](std::uint64_t guid, mad::NodeType type, std::uint8_t hops) {
        fabric::Node node;
        node.info.node_guid = mad::Guid{guid};
        node.info.type = type;
        node.info.num_ports = 4;
        node.path.hops = hops;
        node.ports.resize(5);
        fabric.nodes.push_back(node);
    };
    add(0x5, mad::NodeType::ca, 0);
    add(0xA, mad::NodeType::switch_, 1);
    add(0xB, mad::NodeType::switch_, 2);
    add(0xC, mad::NodeType::switch_, 3);
    add(0xD, mad::NodeType::ca, 4);
    const auto link = [&](std::uint32_t a, int pa, std::uint32_t b, int pb) {
        const fabric::PortRef here{a, mad::PortNum{static_cast<std::uint8_t>(pa)}};
        const fabric::PortRef there{b, mad::PortNum{static_cast<std::uint8_t>(pb)}};
        fabric.port(here).peer = there;
        fabric.port(there).peer = here;
    };
    link(0, 1, 1, 4);
    link(1, 1, 2, 1);
    link(1, 2, 2, 2);
    link(2, 3, 3, 1);
    link(3, 2, 4, 1);
    fabric.local = {0, mad::PortNum{1}};
    return fabric;
}

PortId named(std::uint64_t guid, int number) {
    return {mad::Guid{guid}, mad::PortNum{static_cast<std::uint8_t>(number)}};
}

TEST(SpareLinks, NeverTheLastOneNorTheSubnetManagersOwn) {
    const fabric::Fabric fabric = small_fabric();
    const auto why = [&](std::set<PortId> ports) {
        std::vector<std::string> found;
        for (const SpareVerdict& verdict : spare_links(fabric, ports)) {
            found.push_back(verdict.why_not);
        }
        return found;
    };
    const std::string apart = "without it the fabric would fall apart";
    const std::string own = "it is the subnet manager's own link";
    EXPECT_EQ(why({named(0xA, 1)}), std::vector<std::string>{""});
    EXPECT_EQ(why({named(0xA, 1), named(0xB, 2)}), (std::vector<std::string>{"", apart})) << "one of two";
    EXPECT_EQ(why({named(0xA, 1), named(0xB, 1)}), (std::vector<std::string>{"", ""})) << "the same cable";
    EXPECT_EQ(why({named(0xB, 3)}), std::vector<std::string>{apart});
    EXPECT_EQ(why({named(0xD, 1)}), std::vector<std::string>{""}) << "a host alone";
    EXPECT_EQ(why({named(0x5, 1)}), std::vector<std::string>{own});
    EXPECT_EQ(why({named(0xA, 4)}), std::vector<std::string>{own});
    EXPECT_EQ(why({named(0xA, 3), named(0xEE, 1), named(0xA, 77)}), (std::vector<std::string>{"", "", ""}))
        << "nothing there";
    EXPECT_EQ(spare_links(fabric, {named(0xEE, 1)}).at(0).at.node, fabric::kNoNode);
}

TEST(SpareLinks, TheNearEndIsTheSwitchsThenTheShorterWay) {
    const fabric::Fabric fabric = small_fabric();
    const auto at = [](std::uint32_t node, int number) {
        return fabric::PortRef{node, mad::PortNum{static_cast<std::uint8_t>(number)}};
    };
    EXPECT_EQ(near_end(fabric, at(4, 1)), at(3, 2));
    EXPECT_EQ(near_end(fabric, at(3, 2)), at(3, 2));
    EXPECT_EQ(near_end(fabric, at(3, 1)), at(2, 3));
    EXPECT_EQ(near_end(fabric, at(1, 3)), at(1, 3)) << "nobody there";
}

}  // namespace
}  // namespace ibf::sm
