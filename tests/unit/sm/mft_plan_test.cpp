#include "daemon/sm/mft_plan.hpp"

#include <gtest/gtest.h>

#include <functional>

#include "base/prng.hpp"
#include "harness.hpp"
#include "mad/codec.hpp"
#include "routing/drained.hpp"

namespace ibf::sm {
namespace {

using routing::PortPeer;
using routing::Topology;

/// A copy sent into the tables at a switch: which hosts get it, and whether any switch sees it twice.
struct Flood {
    std::map<std::uint64_t, int> copies;  ///< by port GUID
    bool twice = false;
};
Flood flood(const Topology& topology, const MftRows& rows, std::uint16_t mlid, std::uint32_t from_switch,
            std::uint8_t from_port) {
    Flood result;
    std::set<std::uint32_t> seen;
    const std::function<void(std::uint32_t, std::uint8_t)> enter = [&](std::uint32_t at, std::uint8_t in) {
        if (!seen.insert(at).second) {
            result.twice = true;
            return;
        }
        const auto found = rows[at].find(mlid);
        for (std::size_t p = 1; found != rows[at].end() && p < topology.switches[at].peers.size(); ++p) {
            if (p == in || !found->second.test(p)) {
                continue;
            }
            const PortPeer& peer = topology.switches[at].peers[p];
            if (peer.kind == PortPeer::Kind::switch_) {
                enter(peer.index, peer.port.value());
            } else if (peer.kind == PortPeer::Kind::end_port) {
                ++result.copies[topology.end_ports[peer.index].port_guid.value()];
            }
        }
    };
    enter(from_switch, from_port);
    return result;
}

Topology topology_of(const char* spec) {
    return routing::topology_of(test::netlist(spec), 0).value();
}

TEST(MftPlan, EveryMemberGetsEachPacketOnce) {
    for (const char* spec : {"fat-tree:radix=8,levels=3", "torus:4x4,hosts=2",
                             "random:switches=20,degree=5,hosts=2,seed=4", "dragonfly:a=4,p=2,h=2"}) {
        const Topology topology = topology_of(spec);
        base::Prng prng(7);
        for (std::uint16_t mlid = 0xC000; mlid < 0xC010; ++mlid) {
            std::set<std::uint32_t> members;
            for (int i = 0; i < 12; ++i) {
                members.insert(static_cast<std::uint32_t>(prng.below(topology.end_ports.size())));
            }
            MulticastGroups groups;
            for (const std::uint32_t m : members) {
                groups[mad::Mlid{mlid}].push_back({topology.end_ports[m].port_guid, true});
            }
            const std::uint32_t mute = *members.begin();  // sends only
            groups[mad::Mlid{mlid}].front().receives = false;
            const MftRows rows = plan_trees(topology, groups);
            for (const std::uint32_t m : members) {
                const auto& from = topology.end_ports[m];
                const Flood result = flood(topology, rows, mlid, from.switch_index, from.switch_port.value());
                EXPECT_FALSE(result.twice) << spec;
                EXPECT_EQ(result.copies.size(), members.size() - 1 - (m == mute ? 0U : 1U)) << spec;
                for (const auto& [guid, copies] : result.copies) {
                    EXPECT_EQ(copies, 1);
                }
            }
        }
    }
}

TEST(MftPlan, TreesSpreadOverTheRoots) {
    const Topology topology = topology_of("fat-tree:radix=8,levels=2");
    std::set<std::uint32_t> used;
    for (std::uint16_t mlid = 0xC000; mlid < 0xC008; ++mlid) {
        MulticastGroups groups;
        for (const auto& end : topology.end_ports) {
            groups[mad::Mlid{mlid}].push_back({end.port_guid, true});
        }
        const MftRows rows = plan_trees(topology, groups);
        for (std::uint32_t s = 0; s < rows.size(); ++s) {
            bool spine = !rows[s].empty();
            for (const PortPeer& peer : topology.switches[s].peers) {
                spine = spine && peer.kind != PortPeer::Kind::end_port;
            }
            if (spine) {
                used.insert(s);
            }
        }
    }
    EXPECT_EQ(used.size(), 4U) << "all spines carry some";
}

/// It is the farthest from all hosts, and still nobody's root.
TEST(MftPlan, TheEndOfABranchIsNoRoot) {
    const Topology whole = topology_of("fat-tree:radix=4,levels=3");
    for (std::uint32_t at = 0; at < whole.switches.size(); ++at) {
        routing::Elements one;
        one.add(whole.switches[at].guid);
        if (!routing::losses(whole, one).cut_off.empty()) {
            continue;
        }
        const Topology topology = routing::mask_drained(whole, one).topology;
        for (std::uint16_t mlid = 0xC000; mlid < 0xC008; ++mlid) {
            MulticastGroups groups;
            for (const auto& end : topology.end_ports) {
                groups[mad::Mlid{mlid}].push_back({end.port_guid, true});
            }
            const MftRows rows = plan_trees(topology, groups);
            EXPECT_TRUE(rows[at].empty()) << whole.switches[at].name << " MLID " << mlid;
            const auto& from = topology.end_ports[0];
            const Flood result = flood(topology, rows, mlid, from.switch_index, from.switch_port.value());
            EXPECT_EQ(result.copies.size(), topology.end_ports.size() - 1);
        }
    }
}

TEST(MftPlan, AJoinOnlyAddsAndALeaveOnlyTakesAway) {
    const Topology topology = topology_of("fat-tree:radix=8,levels=3");
    MulticastGroups groups;
    auto& members = groups[mad::Mlid{0xC003}];
    MftRows before(topology.switches.size());
    for (std::size_t i = 0; i < topology.end_ports.size(); i += 7) {
        members.push_back({topology.end_ports[i].port_guid, true});
        const MftRows after = plan_trees(topology, groups);
        for (std::uint32_t s = 0; s < after.size(); ++s) {
            for (const auto& [mlid, mask] : before[s]) {
                EXPECT_EQ(mask & after[s].at(mlid), mask);
            }
        }
        EXPECT_TRUE(plan_mfts(topology, before, after, {}).drops.empty());
        EXPECT_TRUE(plan_mfts(topology, after, before, {}).drops.empty());
        before = after;
    }
}

// C98: whatever mix of old and new blocks the switches hold while a tree moves, no packet goes round.
TEST(FieldCase, C98_no_mix_of_trees_goes_round) {
    const Topology whole = topology_of("torus:4x4,hosts=1");
    unsigned moved = 0;
    for (std::uint32_t lost = 0; lost < 16; ++lost) {
        Topology damaged = whole;
        const PortPeer gone = damaged.switches[lost].peers[1];
        if (gone.kind != PortPeer::Kind::switch_) {
            continue;
        }
        damaged.switches[lost].peers[1] = {};
        damaged.switches[gone.index].peers[gone.port.value()] = {};
        MulticastGroups groups;
        for (std::uint16_t mlid = 0xC000; mlid < 0xC004; ++mlid) {
            for (const auto& end : whole.end_ports) {
                groups[mad::Mlid{mlid}].push_back({end.port_guid, true});
            }
        }
        const MftRows before = plan_trees(whole, groups);
        const MftRows after = plan_trees(damaged, groups);
        const MftPlan plan = plan_mfts(damaged, before, after, {});
        moved += static_cast<unsigned>(plan.moved.size());
        const auto sound = [&](const MftRows& rows) {
            for (std::uint16_t mlid = 0xC000; mlid < 0xC004; ++mlid) {
                for (const auto& end : damaged.end_ports) {
                    if (flood(damaged, rows, mlid, end.switch_index, end.switch_port.value()).twice) {
                        return false;
                    }
                }
            }
            return true;
        };
        base::Prng prng(lost);
        for (int order = 0; order < 20; ++order) {
            MftRows now = before;
            for (const bool dropping : {true, false}) {
                std::vector<MftWrite> writes = dropping ? plan.drops : plan.writes;
                for (std::size_t i = writes.size(); i > 1; --i) {
                    std::swap(writes[i - 1], writes[prng.below(i)]);
                }
                for (const MftWrite& write : writes) {
                    const mad::MftBlock block =
                        dropping
                            ? mft_block(before[write.switch_index], write.block, write.position, plan.moved)
                            : mft_block(after[write.switch_index], write.block, write.position, {});
                    for (unsigned i = 0; i < block.port_masks.size(); ++i) {
                        PortMask& mask = now[write.switch_index]
                                            [static_cast<std::uint16_t>(0xC000 + write.block * 32U + i)];
                        for (unsigned p = 0; p < 16; ++p) {
                            mask.set(write.position * 16U + p, (block.port_masks[i] >> p & 1U) != 0);
                        }
                    }
                    ASSERT_TRUE(sound(now)) << "cable " << lost << " order " << order;
                }
            }
        }
    }
    EXPECT_GT(moved, 0U);
}

TEST(MftPlan, AnUnknownTableIsWrittenUpToTheHighestMlid) {
    const Topology topology = topology_of("star:hosts=4");
    MulticastGroups groups;
    for (const auto& end : topology.end_ports) {
        groups[mad::Mlid{0xC021}].push_back({end.port_guid, true});
    }
    const MftRows rows = plan_trees(topology, groups);
    const MftPlan plan = plan_mfts(topology, rows, rows, {0});
    EXPECT_EQ(plan.writes.size(), 2U) << "two blocks of 32, ports below 16";
    EXPECT_TRUE(plan_mfts(topology, rows, rows, {}).writes.empty());
}

}  // namespace
}  // namespace ibf::sm
