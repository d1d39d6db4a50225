// A light sweep by itself: what it makes of answers that come, and of those that do not.
#include <gtest/gtest.h>

#include "daemon/sm/light_sweep.hpp"
#include "mad/codec.hpp"

namespace ibf::sm {
namespace {

using mad::PortNum;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::uint32_t kHeld = 1;  ///< the node with a port that is held down
constexpr std::uint32_t kOther = 2;
constexpr mad::Guid kHeldGuid{0x20};

/// Our adapter, and two switches of four ports.
std::shared_ptr<const fabric::Fabric> small_fabric() {
    auto fabric = std::make_shared<fabric::Fabric>();
    fabric->nodes.resize(3);
    fabric->local = {0, PortNum{1}};
    for (std::uint32_t n = 0; n < 3; ++n) {
        fabric::Node& node = fabric->nodes[n];
        node.info.node_guid = mad::Guid{std::uint64_t{0x10} * (n + 1)};
        node.info.type = n == 0 ? mad::NodeType::ca : mad::NodeType::switch_;
        node.ports.resize(n == 0 ? 2 : 5);
        for (fabric::Port& port : node.ports) {
            port.known = true;
            port.info.state = mad::PortState::active;
            port.info.phys_state = mad::PhysState::link_up;
        }
        if (n > 0) {
            node.switch_info = mad::SwitchInfo{};
        }
    }
    return fabric;
}

/// It and whoever answers it.
struct Asked {
    std::shared_ptr<const fabric::Fabric> fabric = small_fabric();
    LightSweep light{fabric, 1, false, SmQuestion{}, HeldPorts{{kHeldGuid, {PortNum{2}}}}};
    base::Instant now{seconds{1}};

    void answer(const mad::Request& request, const mad::AttributeData& data) {
        mad::Completion reply;
        reply.tag = request.tag;
        reply.data = data;
        reply.round_trip = milliseconds{1};
        light.on(reply, now);
    }
    /// Every question so far; both switches tell of a change. Of the held one's ports `heard` answer: number
    /// 2 is down, all others are as they were.
    void go(std::size_t heard) {
        while (const auto request = light.next()) {
            const Tag tag = Tag::unpack(request->tag);
            if (tag.ask == Ask::light_switch_info) {
                mad::SwitchInfo info;
                info.port_state_change = true;
                answer(*request, mad::encode(info));
            } else if (tag.index == 0 || tag.port <= heard) {
                mad::PortInfo info = fabric->nodes[tag.index].ports[tag.port].info;
                if (tag.index == kHeld && tag.port == 2) {
                    info.state = mad::PortState::down;
                }
                answer(*request, mad::encode(info));
            }
        }
    }
};

TEST(LightSweep, PortsOfAHeldSwitchThatAllAnsweredAreLookedPast) {
    Asked asked;
    asked.go(4);
    ASSERT_TRUE(asked.light.done(asked.now));
    const LightSweep::Result result = asked.light.take();
    ASSERT_TRUE(result.touched);
    EXPECT_EQ(result.touched->changed, std::vector<std::uint32_t>{kOther});
    EXPECT_TRUE(result.touched->unheard.empty());
    EXPECT_EQ(result.held, (HeldChanges{{kHeldGuid, {{PortNum{2}, mad::PortState::down}}}}));
}

TEST(LightSweep, AHeldSwitchWhosePortsDoNotAllAnswerIsNotTakenForUnchanged) {
    Asked asked;
    asked.go(2);
    EXPECT_FALSE(asked.light.done(asked.now));
    ASSERT_TRUE(asked.light.done(asked.now + seconds{1})) << "at the pace of the others";
    const LightSweep::Result result = asked.light.take();
    ASSERT_TRUE(result.touched);
    EXPECT_EQ(result.touched->changed, std::vector<std::uint32_t>{kOther});
    EXPECT_EQ(result.touched->unheard, std::set<std::uint32_t>{kHeld}) << "it is asked again";
    EXPECT_TRUE(result.held.empty()) << "of its ports nothing is concluded";
}

TEST(LightSweep, OnASwitchItAsksPort0WhoseItIs) {
    auto fabric = std::make_shared<fabric::Fabric>(*small_fabric());
    fabric->local = {kOther, PortNum{0}};
    LightSweep light{fabric, 1, false, SmQuestion{}, HeldPorts{}};
    std::size_t asked = 0;
    while (const auto request = light.next()) {
        const Tag tag = Tag::unpack(request->tag);
        mad::Completion reply;
        reply.tag = request->tag;
        reply.data = mad::encode(mad::SwitchInfo{});
        if (tag.ask == Ask::recheck_port) {
            ++asked;
            EXPECT_EQ(tag.index, kOther);
            EXPECT_EQ(request->modifier, 0U);
            EXPECT_EQ(request->path.hops, 0U);
            mad::PortInfo info = fabric->nodes[kOther].ports[0].info;
            info.sm_lid = mad::Lid{77};
            reply.data = mad::encode(info);
        }
        light.on(reply, base::Instant{seconds{1}});
    }
    EXPECT_EQ(asked, 1U);
    const LightSweep::Result result = light.take();
    EXPECT_EQ(result.changes.size(), 1U);
    EXPECT_FALSE(result.touched) << "no switch tells of that: everything is looked at";
}

}  // namespace
}  // namespace ibf::sm
