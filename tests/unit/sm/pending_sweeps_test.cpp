// Requests for looks: each scope has its own time.
#include <gtest/gtest.h>

#include "harness.hpp"

namespace ibf::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

/// A fabric in which h5 refuses to be set up: every ten seconds, at last, all is looked at for it.
void keep_failing(Lab& lab) {
    lab.inject("error-status h5 attr=PortInfo method=Set number=28");
    lab.start();
    ASSERT_TRUE(lab.run_until([&] { return lab.sm->mode() == fabric::SmMode::up; }, seconds{5}));
    lab.advance(seconds{40});
    const std::uint64_t before = lab.sweeps("full");
    ASSERT_TRUE(lab.run_until([&] { return lab.sweeps("full") > before; }, seconds{11}));
    lab.advance(seconds{2});
    lab.forget_counts();
}

TEST(PendingSweeps, ATrapsLookDoesNotMakeARetryOfEverythingComeEarly) {
    Lab lab(t2(), at("h1"));
    keep_failing(lab);
    lab.inject("link-down leaf2/6");
    lab.advance(milliseconds{100});
    EXPECT_EQ(lab.sweeps("touched"), 1U) << "at once";
    EXPECT_EQ(lab.sweeps("full"), 0U) << "at its time";
    lab.advance(seconds{3});
    lab.inject("link-up leaf2/6");
    lab.advance(seconds{2});
    EXPECT_EQ(lab.sweeps("touched"), 2U);
    EXPECT_EQ(lab.sweeps("full"), 0U);
    lab.advance(seconds{5});
    EXPECT_EQ(lab.sweeps("full"), 1U) << "not later either";
    EXPECT_EQ(wrong(lab, {lab.node("h5")}), "");
}

TEST(PendingSweeps, ALookAtEverythingAnswersWhatElseWaits) {
    Lab lab(t2(), at("h1"));
    lab.start();
    ASSERT_TRUE(lab.run_until_up(seconds{5}));
    lab.advance(seconds{12});
    lab.inject("trap leaf1/5 number=128 count=2 delay=1ms");  // the second waits half a second
    lab.advance(milliseconds{20});
    lab.forget_counts();
    lab.request_sweep(sm::SweepScope::full);
    lab.advance(seconds{5});
    EXPECT_EQ(lab.sweeps("full"), 1U);
    EXPECT_EQ(lab.sweeps("light"), 0U);
}

}  // namespace
}  // namespace ibf::test
