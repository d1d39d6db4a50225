// The simulated fabric driven by the clock.
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "base/mailbox.hpp"
#include "base/time.hpp"
#include "sim/simulator.hpp"
#include "sim_bench.hpp"

namespace ibf::sim {
namespace {

TEST(SimTransport, AnswersByTheClock) {
    base::Mailbox<mad::WireMad> box(1000);
    auto simulator = std::make_unique<Simulator>(four_switches(), SimOptions{});
    auto transport = make_sim_transport(std::move(simulator), "h1", 0);
    ASSERT_TRUE(transport) << transport.error().message;
    (*transport)->start([&](mad::WireMad&& mad) { static_cast<void>(box.push(std::move(mad))); });
    EXPECT_TRUE((*transport)->set_is_sm(true));
    EXPECT_EQ((*transport)->local_port().port, mad::PortNum{1});
    constexpr std::size_t kRequests = 200;
    for (std::size_t i = 0; i < kRequests; ++i) {
        mad::Smp smp;
        smp.header.method = static_cast<std::uint8_t>(mad::Method::get);
        smp.header.attribute = mad::Attribute::node_info;
        smp.header.tid = i;
        smp.path = path_of({1, 3});
        mad::WireMad wire;
        wire.bytes = mad::encode_smp(smp);
        ASSERT_TRUE((*transport)->send(wire));
    }
    std::size_t answers = 0;
    std::vector<mad::WireMad> batch;
    while (answers < kRequests && box.wait(batch)) {
        answers += batch.size();
    }
    EXPECT_EQ(answers, kRequests);
}

TEST(SimTransport, NamesAMissingNode) {
    auto transport = make_sim_transport(std::make_unique<Simulator>(star_of_four(), SimOptions{}), "h9", 0);
    ASSERT_FALSE(transport);
    EXPECT_NE(transport.error().message.find("h9"), std::string::npos);
}

}  // namespace
}  // namespace ibf::sim
