#include "cli/client.hpp"

#include <gtest/gtest.h>

namespace ibf::cli {
namespace {

TEST(Client, ParametersAreEncodedAndEmptyOnesLeftOut) {
    EXPECT_EQ(target_of("/v1/nodes", {}), "/v1/nodes");
    EXPECT_EQ(target_of("/v1/nodes", {{"match", ""}}), "/v1/nodes");
    EXPECT_EQ(target_of("/v1/path", {{"src", "MF0;leaf 1/U1"}, {"dst", "lid:12"}}),
              "/v1/path?src=MF0%3Bleaf%201%2FU1&dst=lid:12");
    EXPECT_EQ(target_of("/v1/nodes", {{"match", "a&b=c%+\xc3\xbc"}}),
              "/v1/nodes?match=a%26b%3Dc%25%2B%C3%BC");
}

TEST(Client, NobodyThereIsUnavailableWithTheRemedy) {
    const auto answer = Client("/nonexistent/sock").get_json("/v1/status", {});
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().kind, base::ErrorKind::unavailable);
    EXPECT_NE(answer.error().message.find("--socket"), std::string::npos);
}

TEST(Client, ASocketPathThatNoSocketCanHaveIsAUsageError) {
    const auto answer = Client(std::string(200, 'x')).get_json("/v1/status", {});
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().kind, base::ErrorKind::usage);
}

}  // namespace
}  // namespace ibf::cli
