#include "mad/sa_client.hpp"

#include <gtest/gtest.h>

#include "tests/unit/mad/scripted_sa.hpp"

namespace ibf::mad::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr SaQueryLimits kQuick{.timeout = milliseconds{20}, .retries = 2};

SaMad node_question() {
    SaMad mad;
    mad.header.method = static_cast<std::uint8_t>(SaMethod::get);
    mad.header.attribute = static_cast<Attribute>(SaAttribute::node_record);
    return mad;
}

struct SaClientTest : ::testing::Test {
    std::unique_ptr<SaClient> client(const SaQueryLimits& limits = kQuick) {
        return *SaClient::over(std::make_unique<ScriptedSa>(script), limits);
    }
    std::shared_ptr<SaScript> script = std::make_shared<SaScript>();
};

TEST_F(SaClientTest, GivesTheRecordThatComes) {
    script->answer = [](const SaMad& asked) {
        return answered(asked, 0, [](SaMad& mad) { mad.data[0] = 42; });
    };
    const auto asker = client();
    const auto reply = asker->ask(node_question());
    ASSERT_TRUE(reply);
    ASSERT_EQ(reply->count(), 1U);
    EXPECT_EQ(reply->record(0)[0], 42);
    ASSERT_TRUE(asker->ask(node_question()));
    EXPECT_NE(script->asked[0].header.tid, script->asked[1].header.tid);
}

TEST_F(SaClientTest, SilenceIsToldAfterAllTries) {
    const auto reply = client()->ask(node_question());
    ASSERT_FALSE(reply);
    EXPECT_EQ(reply.error().kind, base::ErrorKind::unavailable);
    EXPECT_EQ(script->asked.size(), 3U);
    EXPECT_EQ(reply.error().message.find("--sa-key"), std::string::npos) << "no key was given";
}

TEST_F(SaClientTest, GivesUpInTimeHoweverManyTriesAreLeft) {
    const auto begun = base::monotonic_now();
    const auto reply = client({.timeout = seconds{30}})->ask(node_question(), begun + milliseconds{30}, {});
    ASSERT_FALSE(reply);
    EXPECT_LT(base::monotonic_now() - begun, seconds{10});
}

TEST_F(SaClientTest, HearsAStop) {
    std::stop_source source;
    source.request_stop();
    const auto begun = base::monotonic_now();
    const auto reply =
        client({.timeout = seconds{30}})->ask(node_question(), begun + seconds{60}, source.get_token());
    ASSERT_FALSE(reply);
    EXPECT_EQ(reply.error().message, "interrupted");
    EXPECT_LT(base::monotonic_now() - begun, seconds{10});
}

TEST_F(SaClientTest, APortWithoutASubnetManagerIsNotAsked) {
    script->port.sm_lid = kLidNone;
    const auto made = SaClient::over(std::make_unique<ScriptedSa>(script), kQuick);
    ASSERT_FALSE(made);
    EXPECT_NE(made.error().message.find("mlx5_0/1 (Active, LinkUp): no subnet manager"), std::string::npos);
}

}  // namespace
}  // namespace ibf::mad::test
