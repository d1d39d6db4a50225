#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "routing/netlist.hpp"
#include "routing/topology.hpp"

namespace ibf::routing {
namespace {

Netlist generate(std::string_view spec) {
    auto netlist = generate_netlist(spec);
    EXPECT_TRUE(netlist) << spec << ": " << netlist.error().message;
    return netlist.value_or(Netlist{});
}

std::string generate_failure(std::string_view spec) {
    const auto netlist = generate_netlist(spec);
    EXPECT_FALSE(netlist) << spec;
    return netlist ? "" : netlist.error().message;
}

/// Switches reached from the first one.
std::size_t reached(const Topology& topology) {
    std::vector<bool> seen(topology.switches.size());
    std::vector<std::uint32_t> queue{0};
    seen[0] = true;
    for (std::size_t at = 0; at < queue.size(); ++at) {
        for (const PortPeer& peer : topology.switches[queue[at]].peers) {
            if (peer.kind == PortPeer::Kind::switch_ && !seen[peer.index]) {
                seen[peer.index] = true;
                queue.push_back(peer.index);
            }
        }
    }
    return queue.size();
}

struct Promise {
    const char* spec;
    std::size_t switches;
    std::size_t hosts;
    std::size_t links;
};

void PrintTo(const Promise& promise, std::ostream* out) {
    *out << promise.spec;
}

class Generators : public testing::TestWithParam<Promise> {};

TEST_P(Generators, DrawTheFabricTheyPromise) {
    const Netlist netlist = generate(GetParam().spec);
    EXPECT_EQ(netlist.switch_count(), GetParam().switches);
    EXPECT_EQ(netlist.nodes.size() - netlist.switch_count(), GetParam().hosts);
    EXPECT_EQ(netlist.link_count(), GetParam().links);
    EXPECT_EQ(netlist.origin, GetParam().spec);
    std::set<std::uint64_t> guids;
    std::set<std::string> names;
    for (const auto& node : netlist.nodes) {
        EXPECT_TRUE(guids.insert(node.guid.value()).second);
        EXPECT_TRUE(names.insert(node.description).second) << node.description;
        if (node.type == mad::NodeType::ca) {
            EXPECT_TRUE(guids.insert(node.ports[1].guid.value()).second);
            EXPECT_TRUE(node.ports[1].peer_node);
        }
    }
    const auto topology = topology_of(netlist, 0);
    ASSERT_TRUE(topology);
    if (!topology->switches.empty()) {
        EXPECT_EQ(reached(*topology), topology->switches.size()) << "connected";
        EXPECT_EQ(topology->link_count(), GetParam().links);
    }
}

INSTANTIATE_TEST_SUITE_P(
    Families, Generators,
    testing::Values(
        Promise{"fat-tree:radix=36", 54, 648, 1296}, Promise{"fat-tree:radix=16,levels=3", 320, 1024, 3072},
        Promise{"fat-tree:radix=24,levels=3", 720, 3456, 10368},
        Promise{"fat-tree:radix=36,levels=3", 1620, 11664, 34992},
        Promise{"fat-tree:radix=64,levels=3,pods=44", 3840, 45056, 135168},
        Promise{"fat-tree:radix=8,levels=4", 448, 512, 2048},
        Promise{"fat-tree:radix=36,taper=2,parallel=2,hosts=20", 24, 360, 576},
        Promise{"fat-tree:radix=8,levels=3,parallel=2,pods=2", 12, 16, 48},
        Promise{"torus:8x8x8,hosts=2", 512, 1024, 2560}, Promise{"torus:2x3", 6, 6, 15},
        Promise{"torus:1", 1, 1, 1}, Promise{"mesh:4x4", 16, 16, 40},
        Promise{"mesh:2x2x2x2x2x2", 64, 64, 256}, Promise{"hypercube:dim=6", 64, 64, 256},
        Promise{"hyperx:4x4x4,parallel=2,hosts=3", 64, 192, 768},
        Promise{"dragonfly:a=4,p=2,h=2", 36, 72, 162}, Promise{"dragonfly:a=4,p=2,h=2,g=5", 20, 40, 90},
        Promise{"dragonfly:a=4,g=1", 4, 8, 14}, Promise{"dragonfly+", 40, 80, 200},
        Promise{"dragonfly+:groups=3,leaves=2,spines=2,hosts=2,global=3", 12, 12, 33},
        Promise{"random:switches=32,degree=4,hosts=2,seed=7", 32, 64, 128},
        Promise{"random:31,degree=6", 31, 31, 124}, Promise{"random:4,degree=3", 4, 4, 10},
        Promise{"ring:4", 4, 4, 8}, Promise{"ring:2,hosts=0", 2, 0, 1}, Promise{"star:8,hosts=2", 9, 16, 24},
        Promise{"single:8", 1, 8, 8}, Promise{"back-to-back", 0, 2, 1}));

TEST(Generate, FatTreeLevelsAreCabledFullyAndEvenly) {
    const Netlist netlist = generate("fat-tree:radix=8,levels=3,pods=3");
    for (const auto& node : netlist.nodes) {
        const auto cabled =
            std::ranges::count_if(node.ports, [](const auto& port) { return port.peer_node.has_value(); });
        if (node.description.starts_with("core")) {
            EXPECT_EQ(cabled, 3) << "one cable to each pod";
            std::set<std::uint32_t> pods;
            for (const auto& port : node.ports) {
                if (port.peer_node) {
                    pods.insert((*port.peer_node - 12) / 4);  // 12 leaves come first, then 4 spines per pod
                }
            }
            EXPECT_EQ(pods.size(), 3U);
        } else if (node.type == mad::NodeType::switch_) {
            EXPECT_EQ(cabled, 8) << node.description;
        }
    }
    EXPECT_EQ(netlist.nodes[0].description, "leaf-001");
    EXPECT_EQ(netlist.nodes[netlist.switch_count()].description, "host-0001");
}

TEST(Generate, DragonflyJoinsEveryPairOfGroupsEqually) {
    for (const auto& [spec, groups, each] :
         {std::tuple{"dragonfly:a=4,p=1,h=2", 9U, 1U}, std::tuple{"dragonfly:a=4,p=1,h=2,g=5", 5U, 2U}}) {
        const Netlist netlist = generate(spec);
        std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> joined;
        for (std::uint32_t index = 0; index < netlist.switch_count(); ++index) {
            for (const auto& port : netlist.nodes[index].ports) {
                if (port.peer_node && *port.peer_node < netlist.switch_count() &&
                    *port.peer_node / 4 > index / 4) {
                    ++joined[{index / 4, *port.peer_node / 4}];
                }
            }
        }
        EXPECT_EQ(joined.size(), groups * (groups - 1) / 2);
        EXPECT_TRUE(std::ranges::all_of(joined, [&](const auto& pair) { return pair.second == each; }));
    }
}

TEST(Generate, RandomGraphsAreRegularSimpleAndFollowTheSeed) {
    for (int seed = 1; seed <= 20; ++seed) {
        const std::string spec = "random:switches=30,degree=3,hosts=0,seed=" + std::to_string(seed);
        const Netlist netlist = generate(spec);
        for (std::uint32_t index = 0; index < netlist.nodes.size(); ++index) {
            std::set<std::uint32_t> peers;
            for (std::size_t port = 1; port < netlist.nodes[index].ports.size(); ++port) {
                EXPECT_NE(*netlist.nodes[index].ports[port].peer_node, index);
                peers.insert(*netlist.nodes[index].ports[port].peer_node);
            }
            EXPECT_EQ(peers.size(), 3U);
        }
        EXPECT_EQ(to_ibsim_text(netlist), to_ibsim_text(generate(spec)));
    }
    EXPECT_NE(to_ibsim_text(generate("random:30,degree=3,seed=1")).substr(40),
              to_ibsim_text(generate("random:30,degree=3,seed=2")).substr(40));
}

TEST(Generate, SpeedAndWidthGoForEveryCable) {
    const Netlist netlist = generate("ring:3,speed=ndr,width=12");
    for (const auto& node : netlist.nodes) {
        for (const auto& port : node.ports) {
            if (port.peer_node) {
                EXPECT_EQ(port.speed, mad::LinkSpeed::ndr);
                EXPECT_EQ(port.width, mad::LinkWidth::x12);
            }
        }
    }
}

TEST(Generate, ThinningTakesTheStatedShare) {
    const Netlist links = generate("fat-tree:radix=8,levels=3,missing-links=0.1,seed=3");
    EXPECT_EQ(links.switch_count(), 80U);
    EXPECT_EQ(links.nodes.size(), 208U);
    EXPECT_EQ(links.link_count(), 384U - 26U) << "a tenth of 256 switch-to-switch cables, rounded";
    const Netlist switches = generate("fat-tree:radix=8,levels=3,missing-switches=0.1,seed=3");
    EXPECT_EQ(switches.switch_count(), 72U);
    for (std::uint32_t index = 0; index < switches.nodes.size(); ++index) {
        const auto& node = switches.nodes[index];
        EXPECT_TRUE(node.type == mad::NodeType::switch_ || node.ports[1].peer_node)
            << "hosts go with their switch";
        for (std::uint32_t port = 1; port < node.ports.size(); ++port) {
            if (node.ports[port].peer_node) {
                const auto& back =
                    switches.nodes[*node.ports[port].peer_node].ports[node.ports[port].peer_port.value()];
                EXPECT_EQ(back.peer_node, index);
                EXPECT_EQ(back.peer_port.value(), port);
            }
        }
    }
    EXPECT_EQ(to_ibsim_text(switches),
              to_ibsim_text(generate("fat-tree:radix=8,levels=3,missing-switches=0.1,seed=3")));
    EXPECT_TRUE(generate_netlist("ring:3,missing-switches=0.95,missing-links=0.95"));
}

TEST(Generate, NamesTheNearestWordOrTheRange) {
    EXPECT_NE(generate_failure("fat-tee").find("did you mean fat-tree?"), std::string::npos);
    EXPECT_NE(generate_failure("fat-tree:radx=8").find("did you mean radix?"), std::string::npos);
    EXPECT_NE(generate_failure("torus:8x8,host=2").find("did you mean hosts?"), std::string::npos);
    EXPECT_NE(generate_failure("torus:0x8").find("from 1 to 254"), std::string::npos);
    EXPECT_NE(generate_failure("torus:8x").find("from 1 to 254"), std::string::npos);
    EXPECT_NE(generate_failure("torus:1x1x1x1x1x1x1").find("1 to 6"), std::string::npos);
    EXPECT_NE(generate_failure("ring:1").find("from 2 to 10000"), std::string::npos);
    EXPECT_NE(generate_failure("ring:4,speed=ZDR").find("one of SDR"), std::string::npos);
    EXPECT_NE(generate_failure("ring:4,width=3").find("1, 2, 4, 8 or 12"), std::string::npos);
    EXPECT_NE(generate_failure("ring:4,missing-links=nan").find("from 0 to 0.95"), std::string::npos);
    EXPECT_NE(generate_failure("ring:4,hosts").find("hosts needs a value"), std::string::npos);
    EXPECT_NE(generate_failure("ring:4,hosts=1,hosts=2").find("given twice"), std::string::npos);
    EXPECT_NE(generate_failure("back-to-back:4").find("no key \"4\""), std::string::npos);
    EXPECT_NE(generate_failure("fat-tree:radix=7").find("even"), std::string::npos);
    EXPECT_NE(generate_failure("fat-tree:radix=36,taper=3,hosts=28").find("0 to 27 hosts"),
              std::string::npos);
    EXPECT_NE(generate_failure("fat-tree:radix=8,pods=9").find("1 to 8"), std::string::npos);
    EXPECT_NE(generate_failure("fat-tree:radix=8,parallel=3").find("divide"), std::string::npos);
    EXPECT_NE(generate_failure("random:33,degree=5").find("even"), std::string::npos);
    EXPECT_NE(generate_failure("dragonfly:a=4,h=2,g=10").find("1 to 9 groups"), std::string::npos);
}

TEST(Generate, RefusesWhatIsTooLargeBeforeDrawingIt) {
    for (const char* spec : {"fat-tree:radix=254,levels=4", "torus:254x254x254x254x254x254", "hypercube:15",
                             "dragonfly:a=254,h=254", "star:254,hosts=253", "hyperx:254x254"}) {
        const auto netlist = generate_netlist(spec);
        ASSERT_FALSE(netlist) << spec;
        EXPECT_EQ(netlist.error().kind, base::ErrorKind::unsupported) << spec;
    }
}

TEST(Generate, HelpListsEveryFamilyAndItsExamplesWork) {
    const std::string help = generator_help();
    std::size_t families = 0;
    for (std::size_t at = help.find("  ("); at != std::string::npos; at = help.find("  (", at + 1)) {
        const std::string example = help.substr(at + 3, help.find(")\n", at) - at - 3);
        EXPECT_TRUE(generate_netlist(example)) << example;
        const auto name_start = help.rfind('\n', at) + 1;
        EXPECT_TRUE(generate_netlist(help.substr(name_start, at - name_start))) << "bare family name";
        ++families;
    }
    EXPECT_EQ(families, 12U);
}

}  // namespace
}  // namespace ibf::routing
