// What an operator's word names: switches and cables.
#include "daemon/api/element.hpp"

#include "tests/unit/api/operator_fixture.hpp"

namespace ibf::api {
namespace {

class ElementTest : public OperatorTest {
protected:
    [[nodiscard]] base::Result<fabric::Drain> named(const std::string& word) const {
        return element_of(*snapshot_.fabric, Directory(*snapshot_.fabric), word);
    }
    void expect_error(const std::string& word, base::ErrorKind kind, const std::string& part) const {
        const auto element = named(word);
        ASSERT_FALSE(element) << word;
        EXPECT_EQ(element.error().kind, kind) << word;
        EXPECT_NE(element.error().message.find(part), std::string::npos) << element.error().message;
    }
};

TEST_F(ElementTest, ASwitchByNameGuidOrLid) {
    const auto& spine = snapshot_.view->topology.switches.back();
    for (const std::string& word :
         {spine.name, fmt::format("{}", spine.guid), fmt::format("lid:{}", spine.lids.base)}) {
        const auto element = named(word);
        ASSERT_TRUE(element) << word;
        EXPECT_EQ(element->node, spine.guid);
        EXPECT_TRUE(element->is_switch());
        EXPECT_EQ(element->cables.size(), 4U);
    }
}

TEST_F(ElementTest, ACableByEitherEnd) {
    const auto at_leaf = named("leaf-001/1");
    const auto at_host = named("host-0001");
    ASSERT_TRUE(at_leaf && at_host);
    EXPECT_EQ(at_leaf->node, guid("leaf-001"));
    EXPECT_EQ(*at_leaf, *at_host) << "an adapter's cable is named by its end at the switch";
    EXPECT_EQ(named("leaf-001/3")->cables.size(), 1U);
}

TEST_F(ElementTest, WhatCannotBeIsNamedWithTheRemedy) {
    expect_error("leaf-001/0", base::ErrorKind::usage, "without \"/0\"");
    expect_error("leaf-001/9", base::ErrorKind::not_found, "has no port 9");
    expect_error("nobody", base::ErrorKind::not_found, "nothing here is called");
    expect_error("leaf", base::ErrorKind::refused, "fits 4 nodes");
    auto fabric = std::make_shared<fabric::Fabric>(*snapshot_.fabric);
    for (fabric::Node& node : fabric->nodes) {
        if (node.description == "leaf-001") {
            node.ports[3].peer = {};
        }
        if (node.description == "host-0001") {
            node.ports[1].peer = {};
        }
    }
    snapshot_.fabric = fabric;
    expect_error("leaf-001/3", base::ErrorKind::not_found, "ibfabric ports --node");
    expect_error("host-0001", base::ErrorKind::usage, "adapter with 0 cables");
}

TEST_F(ElementTest, HostsAreListedShort) {
    std::vector<routing::EndPortIndex> hosts;
    for (std::uint32_t i = 0; i < 7; ++i) {
        hosts.emplace_back(i);
    }
    const auto& topology = snapshot_.view->topology;
    EXPECT_EQ(hosts_text(topology, hosts),
              "7 hosts (host-0001, host-0002, host-0003, host-0004, host-0005 and 2 more)");
    EXPECT_EQ(hosts_text(topology, {hosts[0]}), "1 host (host-0001)");
    EXPECT_EQ(host_rows(topology, hosts).size(), 7U);
}

}  // namespace
}  // namespace ibf::api
