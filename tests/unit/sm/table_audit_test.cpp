#include "daemon/sm/table_audit.hpp"

#include <gtest/gtest.h>

#include "harness.hpp"

namespace ibf::test {
namespace {

using mad::Attribute;
using sm::TableAudit;
using std::chrono::seconds;

TEST(TableAudit, AsksEachBlockOnceAndOneAtATime) {
    TableAudit audit;
    EXPECT_FALSE(audit.due());
    audit.trust(mad::Guid{7}, 130);
    audit.trust(mad::Guid{3}, 5);
    base::Instant now{};
    std::vector<std::pair<std::uint64_t, std::uint16_t>> asked;
    while (audit.due()) {
        now = *audit.due();
        const auto question = audit.next(now);
        ASSERT_TRUE(question);
        asked.emplace_back(question->guid.value(), question->block);
        EXPECT_FALSE(audit.next(now)) << "one is open";
        const bool again = asked.size() == 1 || asked.size() == 5;  // the last block of its switch, each time
        audit.close(again ? TableAudit::Outcome::ask_again : TableAudit::Outcome::settled, now);
        EXPECT_FALSE(audit.next(now)) << "too soon";
    }
    EXPECT_EQ(asked, (std::vector<std::pair<std::uint64_t, std::uint16_t>>{
                         {3, 0}, {3, 0}, {7, 0}, {7, 1}, {7, 2}, {7, 2}}));
    EXPECT_EQ(now.time_since_epoch(), 5 * TableAudit::kPace);
}

TEST(TableAudit, AfterACleanStopTablesAreReadInTheBackgroundAndNothingIsWritten) {
    Lab lab(t2());
    lab.start();
    ASSERT_TRUE(lab.run_until_up(seconds{5}));
    lab.advance(seconds{5});
    lab.stop();
    lab.forget_counts();
    lab.start();
    lab.advance(seconds{30});
    EXPECT_EQ(lab.gets(Attribute::linear_forwarding_table), 4U);
    EXPECT_EQ(lab.all_sets(), 0U);
    EXPECT_EQ(lab.events("table-differs"), 0U);
}

TEST(TableAudit, AnEntryChangedWhileNobodyLookedIsFoundAndMended) {
    Lab lab(t2());
    lab.start();
    ASSERT_TRUE(lab.run_until_up(seconds{5}));
    lab.advance(seconds{5});
    lab.stop();
    const std::string before = lab.tables_text();
    const std::uint32_t spine = lab.node("spine2");
    lab.sim.set_lft_entry(spine, mad::Lid{2}, 2);
    lab.sim.set_lft_entry(spine, mad::Lid{6}, mad::kLftDrop);
    ASSERT_NE(lab.tables_text(), before);
    lab.start();
    lab.advance(seconds{30});
    ASSERT_EQ(lab.events("table-differs"), 1U);
    EXPECT_NE(lab.find_event("table-differs")->text.find("spine2"), std::string::npos);
    EXPECT_EQ(lab.tables_text(), before);
    EXPECT_EQ(join_lines(problems(lab, CheckOptions{{}, {}, 4000})), "");
}

}  // namespace
}  // namespace ibf::test
