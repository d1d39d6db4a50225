// What ib_mad does above a port: open requests, their ends, and messages longer than a MAD.
#include "sim/port_layer.hpp"

#include <gtest/gtest.h>

namespace ibf::sim {
namespace {

using std::chrono::milliseconds;

class Recorder final : public PortLayer::Sink {
public:
    struct Up {
        AgentId agent = 0;
        std::uint32_t status = 0;
        std::vector<std::uint8_t> bytes;
    };
    void transmit(const mad::WireMad& mad) override { wire.push_back(mad); }
    void hand_up(const HandedUp& what) override {
        up.push_back({what.agent, what.status, {what.bytes.begin(), what.bytes.end()}});
    }
    void clear() {
        wire.clear();
        up.clear();
    }
    std::vector<mad::WireMad> wire;
    std::vector<Up> up;
};

class PortLayerTest : public ::testing::Test {
protected:
    AgentId add(std::uint8_t mgmt_class, std::uint8_t version, std::initializer_list<std::size_t> methods,
                std::uint8_t rmpp_version) {
        AgentRequest request;
        request.mgmt_class = mgmt_class;
        request.class_version = version;
        request.rmpp_version = rmpp_version;
        for (const std::size_t method : methods) {
            request.methods.set(method);
        }
        return *layer.add_agent(request);
    }
    static std::vector<std::uint8_t> request(std::uint8_t mgmt_class, std::uint8_t method, std::size_t size) {
        std::vector<std::uint8_t> bytes(size);
        bytes[0] = 1;
        bytes[1] = mgmt_class;
        bytes[2] = mgmt_class == 0x03 ? 2 : 1;
        bytes[3] = method;
        bytes[8] = 0xAA;  // an upper half that is not the sender's to choose
        bytes[15] = 7;
        return bytes;
    }
    void send(AgentId agent, const std::vector<std::uint8_t>& bytes, base::Duration timeout,
              std::uint32_t retries) {
        layer.send(agent, {.bytes = bytes, .address = peer, .timeout = timeout, .retries = retries}, now,
                   out);
    }
    static mad::WireMad answer_to(const mad::WireMad& mad) {
        mad::WireMad answer = mad;
        answer.bytes[3] = static_cast<std::uint8_t>(answer.bytes[3] | 0x80U);
        return answer;
    }

    PortLayer layer;
    Recorder out;
    base::Instant now{};
    mad::MadAddress peer = [] {
        mad::MadAddress address;
        address.lid = mad::Lid{9};
        address.qp = 1;
        address.qkey = 0x80010000;
        return address;
    }();
};

TEST_F(PortLayerTest, ARequestCarriesItsAgentsNumberAndItsAnswerComesBack) {
    const AgentId first = add(0x81, 1, {}, 0);
    const AgentId second = add(0x81, 1, {}, 0);
    send(second, request(0x81, 1, 256), milliseconds{100}, 0);
    ASSERT_EQ(out.wire.size(), 1U);
    EXPECT_EQ(out.wire[0].bytes[8], 0);
    EXPECT_EQ(out.wire[0].bytes[11], second);
    EXPECT_EQ(out.wire[0].bytes[15], 7);
    layer.on_receive(answer_to(out.wire[0]), now, out);
    ASSERT_EQ(out.up.size(), 1U);
    EXPECT_EQ(out.up[0].agent, second);
    EXPECT_EQ(out.up[0].status, 0U);
    EXPECT_EQ(out.up[0].bytes.size(), 256U);
    EXPECT_EQ(layer.open_requests(), 0U);
    EXPECT_NE(first, second);
}

TEST_F(PortLayerTest, AnAnswerIsHandedUpOnceAndOnlyWhileAwaited) {
    const AgentId agent = add(0x81, 1, {}, 0);
    send(agent, request(0x81, 1, 256), milliseconds{100}, 0);
    layer.on_receive(answer_to(out.wire[0]), now, out);
    layer.on_receive(answer_to(out.wire[0]), now, out);  // the duplicate
    EXPECT_EQ(out.up.size(), 1U);
    send(agent, request(0x81, 1, 256), milliseconds{0}, 0);  // not awaited
    layer.on_receive(answer_to(out.wire[1]), now, out);
    EXPECT_EQ(out.up.size(), 1U);
    EXPECT_EQ(layer.counters().late, 2U);
}

TEST_F(PortLayerTest, RetriesThenTimesOutWithTheHeader) {
    const AgentId agent = add(0x81, 1, {}, 0);
    send(agent, request(0x81, 1, 256), milliseconds{100}, 2);
    for (int i = 0; i < 5; ++i) {
        ASSERT_EQ(layer.next_deadline().has_value(), i < 3);
        now += milliseconds{100};
        layer.on_time(now, out);
    }
    EXPECT_EQ(out.wire.size(), 3U);
    ASSERT_EQ(out.up.size(), 1U);
    EXPECT_EQ(out.up[0].status, kTimedOut);
    EXPECT_EQ(out.up[0].bytes.size(), 24U);
    EXPECT_EQ(out.up[0].bytes[15], 7);
    EXPECT_EQ(layer.counters().timed_out, 1U);
}

TEST_F(PortLayerTest, AGlobalRouteMustBeMirrored) {
    const AgentId agent = add(0x04, 1, {}, 0);
    peer.grh_gid = mad::Gid{.prefix = 1, .interface_id = mad::Guid{2}};
    send(agent, request(0x04, 1, 256), milliseconds{100}, 0);
    mad::WireMad answer = answer_to(out.wire[0]);
    answer.address.grh_gid.reset();
    layer.on_receive(answer, now, out);
    EXPECT_TRUE(out.up.empty());
    layer.on_receive(answer_to(out.wire[0]), now, out);
    EXPECT_EQ(out.up.size(), 1U);
}

TEST_F(PortLayerTest, WhatNobodyRegisteredForIsRefused) {
    mad::WireMad query;
    const std::vector<std::uint8_t> bytes = request(0x03, 1, 256);
    std::copy(bytes.begin(), bytes.end(), query.bytes.begin());
    query.address = peer;
    layer.on_receive(query, now, out);
    ASSERT_EQ(out.wire.size(), 1U);
    EXPECT_EQ(out.wire[0].bytes[3], 0x81);
    EXPECT_EQ(out.wire[0].bytes[5], 0x0C);
    EXPECT_EQ(out.wire[0].address.lid, mad::Lid{9});
    query.bytes[3] = 0x12;  // GetTable: silence
    layer.on_receive(query, now, out);
    EXPECT_EQ(out.wire.size(), 1U);
    EXPECT_EQ(layer.counters().unclaimed, 2U);
}

TEST_F(PortLayerTest, ALeavingAgentTakesItsRequestsAlong) {
    const AgentId agent = add(0x81, 1, {}, 0);
    const AgentId stays = add(0x81, 1, {}, 0);
    send(agent, request(0x81, 1, 256), milliseconds{100}, 5);
    send(stays, request(0x81, 1, 256), milliseconds{100}, 0);
    layer.remove_agent(agent);
    EXPECT_EQ(layer.open_requests(), 1U);
    send(agent, request(0x81, 1, 256), milliseconds{100}, 5);
    EXPECT_EQ(layer.counters().refused, 1U);
    layer.on_time(now + milliseconds{200}, out);
    ASSERT_EQ(out.up.size(), 1U);
    EXPECT_EQ(out.up[0].agent, stays);
}

TEST_F(PortLayerTest, RefusesWhatIsNoMad) {
    const AgentId agent = add(0x81, 1, {}, 0);
    send(agent, std::vector<std::uint8_t>(35), milliseconds{0}, 0);
    send(agent, request(0x81, 1, 300), milliseconds{0}, 0);  // longer than a MAD, and no RMPP
    EXPECT_TRUE(out.wire.empty());
    EXPECT_EQ(layer.counters().refused, 2U);
}

/// Two ports with an SA on one and a client on the other, joined by a wire that may lose packets.
class TwoPorts : public PortLayerTest {
protected:
    /// Carries what is on the wires until both are still.
    void carry(unsigned lose_every) {
        unsigned count = 0;
        for (int turns = 0; turns < 10'000 && (!out.wire.empty() || !far_out.wire.empty()); ++turns) {
            const std::vector<mad::WireMad> there = std::exchange(out.wire, {});
            const std::vector<mad::WireMad> back = std::exchange(far_out.wire, {});
            for (const mad::WireMad& mad : there) {
                if (lose_every == 0 || ++count % lose_every != 0) {
                    far.on_receive(mad, now, far_out);
                }
            }
            for (const mad::WireMad& mad : back) {
                if (lose_every == 0 || ++count % lose_every != 0) {
                    layer.on_receive(mad, now, out);
                }
            }
            now += milliseconds{1};
            layer.on_time(now, out);
            far.on_time(now, far_out);
            if (out.wire.empty() && far_out.wire.empty() && far.next_deadline()) {
                now = std::max(now, *far.next_deadline());
                far.on_time(now, far_out);
            }
        }
    }

    PortLayer far;
    Recorder far_out;
};

std::vector<std::uint8_t> table_of(const mad::WireMad& query, std::size_t data_bytes) {
    std::vector<std::uint8_t> bytes(query.bytes.begin(), query.bytes.begin() + 56);
    bytes[3] = 0x92;  // GetTableResp
    bytes[24] = 1;
    bytes[25] = 1;
    bytes[26] = 1;  // Active
    for (std::size_t i = 0; i < data_bytes; ++i) {
        bytes.push_back(static_cast<std::uint8_t>(i * 7));
    }
    return bytes;
}

TEST_F(TwoPorts, ATableTravelsWholeBetweenKernels) {
    for (const std::size_t size :
         {std::size_t{0}, std::size_t{64}, std::size_t{200}, std::size_t{201}, std::size_t{100'000}}) {
        for (const unsigned lose_every : {0U, 7U}) {
            AgentRequest request_agent;
            request_agent.mgmt_class = 0x03;
            request_agent.class_version = 2;
            request_agent.rmpp_version = 1;
            const AgentId client = *layer.add_agent(request_agent);
            request_agent.methods.set(0x12);
            const AgentId server = *far.add_agent(request_agent);
            out.clear();
            far_out.clear();
            send(client, request(0x03, 0x12, 256), std::chrono::minutes{10}, 0);
            ASSERT_EQ(out.wire.size(), 1U);
            const mad::WireMad query = std::exchange(out.wire, {})[0];
            far.on_receive(query, now, far_out);
            ASSERT_EQ(far_out.up.size(), 1U);
            const std::vector<std::uint8_t> table = table_of(query, size);
            far.send(server, {.bytes = table, .address = query.address, .timeout = {}, .retries = 0}, now,
                     far_out);
            carry(lose_every);
            ASSERT_EQ(out.up.size(), 1U) << size << " bytes, one lost in " << lose_every;
            EXPECT_EQ(out.up[0].status, 0U);
            EXPECT_EQ(out.up[0].bytes.size(), table.size());
            EXPECT_TRUE(std::equal(table.begin() + 56, table.end(), out.up[0].bytes.begin() + 56));
            EXPECT_EQ(out.up[0].bytes[26] & 0x03U, 0x03U);  // Active, First
            layer.remove_agent(client);
            far.remove_agent(server);
        }
    }
}

TEST_F(TwoPorts, AUserSpaceAgentSeesEveryPacket) {
    AgentRequest by_user;
    by_user.mgmt_class = 0x03;
    by_user.class_version = 2;
    by_user.rmpp_version = 1;
    by_user.user_rmpp = true;
    const AgentId client = *layer.add_agent(by_user);
    send(client, request(0x03, 0x12, 256), milliseconds{100}, 0);
    mad::WireMad segment = answer_to(out.wire[0]);
    segment.bytes[24] = segment.bytes[25] = segment.bytes[26] = 1;
    for (std::uint8_t number = 1; number <= 3; ++number) {
        segment.bytes[31] = number;
        layer.on_receive(segment, now, out);
    }
    // The first one closes the request; the others are RMPP and go up all the same.
    ASSERT_EQ(out.up.size(), 3U);
    EXPECT_EQ(out.up[2].bytes[31], 3);
    EXPECT_EQ(out.wire.size(), 1U);
}

}  // namespace
}  // namespace ibf::sim
