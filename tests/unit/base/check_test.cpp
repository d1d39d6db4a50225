#include "base/check.hpp"

#include <gtest/gtest.h>

namespace ibf::base {
namespace {

TEST(Check, PassesQuietly) {
    int evaluated = 0;
    IBF_CHECK(++evaluated == 1, "never {}", "printed");
    EXPECT_EQ(evaluated, 1);
}

TEST(CheckDeathTest, PrintsConditionTextAndDumpThenAborts) {
    EXPECT_EXIT(
        {
            set_check_dump([] { return std::string("last event: link down\n"); });
            const int lid = 7;
            IBF_CHECK(lid == 8, "LID {} is taken", lid);
        },
        testing::KilledBySignal(SIGABRT),
        "broken invariant at .*lid == 8: LID 7 is taken\nlast event: link down");
}

// A dump that fails a check itself must not loop.
TEST(CheckDeathTest, ADumpThatFailsEndsToo) {
    EXPECT_EXIT(
        {
            set_check_dump([]() -> std::string {
                IBF_CHECK(false, "inner");
                return {};
            });
            IBF_CHECK(false, "outer");
        },
        testing::KilledBySignal(SIGABRT), "outer\n.*inner");
}

}  // namespace
}  // namespace ibf::base
