// What a standby takes over of the master's memory, and when it may say that its clients are known. The whole
// of it, with registry and records on their way: tests/unit/core/standby_copy_test.cpp.
#include <gtest/gtest.h>

#include "harness.hpp"

namespace ibf::test {
namespace {

using std::chrono::seconds;

class CopyAtTheSm : public ::testing::Test {
protected:
    CopyAtTheSm() : a(t2(), at("h1")), b(a, second()) {
        a.start();
        EXPECT_TRUE(a.run_until_up(seconds{5}));
        a.advance(seconds{1});
        b.start();
        EXPECT_TRUE(a.run_until([&] { return b.sm->role() == sm::Role::standby; }, seconds{5}));
    }
    static LabOptions second() {
        LabOptions options = at("h5");
        options.config.reregister = sm::Reregister::lost;
        return options;
    }
    [[nodiscard]] mad::Guid master() const { return a.sim.local_port(a.client).port_guid; }
    void take(db::Batch batch, sm::CopyExtent extent) {
        sm::Effects effects;
        b.sm->take_copy(std::move(batch), extent, "h1", effects);
        for (const sm::Effect& effect : effects) {
            for (const db::Record& record : std::get<sm::Persist>(effect).batch) {
                stored.push_back(record);
            }
        }
    }
    /// h1 ends; how many runs asked hosts to register anew?
    [[nodiscard]] std::size_t asked_after_take_over() {
        a.kill();
        EXPECT_TRUE(b.run_until_up(seconds{30}));
        b.advance(seconds{1});
        return b.events("reregister");
    }
    Lab a;
    Lab b;
    db::Batch stored;
};

TEST_F(CopyAtTheSm, OnlyWhoIsNotMasterTakesOne) {
    EXPECT_FALSE(a.sm->takes_copies());
    EXPECT_TRUE(b.sm->takes_copies());
    a.kill();
    ASSERT_TRUE(b.run_until_up(seconds{30}));
    EXPECT_FALSE(b.sm->takes_copies());
}

TEST_F(CopyAtTheSm, AWholeOneReplacesTables) {
    const auto row = std::make_shared<const routing::LftRow>(64, std::uint8_t{1});
    take({db::TableRecord{mad::Guid{1}, 63, row, "updn"}, db::TableRecord{mad::Guid{2}, 63, row, "updn"}},
         sm::CopyExtent::whole);
    EXPECT_EQ(stored.size(), 2U);
    stored.clear();
    take({db::TableForgetRecord{mad::Guid{1}}}, sm::CopyExtent::changes);
    take({db::TableRecord{mad::Guid{3}, 63, row, "updn"}}, sm::CopyExtent::whole);
    ASSERT_EQ(stored.size(), 3U);
    EXPECT_EQ(std::get<db::TableRecord>(stored[1]).switch_guid, mad::Guid{3});
    EXPECT_EQ(std::get<db::TableForgetRecord>(stored[2]).switch_guid, mad::Guid{2})
        << "1 was forgotten already";
}

TEST_F(CopyAtTheSm, HistoryHasItsOriginAndOurNumbers) {
    db::EventRow event;
    event.id = 900'000;
    event.kind = "link-down";
    event.text = "leaf1 port 5";
    take({event}, sm::CopyExtent::changes);
    const auto& row = std::get<db::EventRow>(stored.at(0));
    EXPECT_EQ(row.text, "[h1] leaf1 port 5");
    EXPECT_LT(row.id, 1000U);
    const fabric::Snapshot seen = b.snapshot();
    EXPECT_EQ(seen.events.front().text, row.text);
    EXPECT_EQ(seen.events.front().id, row.id);
}

TEST_F(CopyAtTheSm, ClientsOfACopyThatIsTheLastAreKnown) {
    b.sm->note_clients({master(), true, {}, b.now + seconds{60}});
    EXPECT_EQ(asked_after_take_over(), 0U);
    EXPECT_TRUE(b.sm->clients_heard());
}
TEST_F(CopyAtTheSm, OfOneThatLacksSomeTheseAreAsked) {
    const mad::Guid h2{a.sim.netlist().nodes[a.node("h2")].guid.value() + 1};
    b.sm->note_clients({master(), true, {h2, mad::Guid{4711}}, b.now + seconds{60}});
    EXPECT_EQ(asked_after_take_over(), 1U);
    EXPECT_NE(b.find_event("reregister")->text.find("1 port(s)"), std::string::npos)
        << b.find_event("reregister")->text;
    EXPECT_TRUE(b.sm->clients_heard());
}
TEST_F(CopyAtTheSm, OfOneThatLacksSomethingTheyAreAsked) {
    b.sm->note_clients({master(), false, {}, b.now + seconds{60}});
    EXPECT_EQ(asked_after_take_over(), 1U);
}
TEST_F(CopyAtTheSm, OfAnotherMasterTheyAreAsked) {
    b.sm->note_clients({mad::Guid{77}, true, {}, b.now + seconds{60}});
    EXPECT_EQ(asked_after_take_over(), 1U);
}
TEST_F(CopyAtTheSm, OfOneThatEndedBeforeItsMasterTheyAreAsked) {
    b.sm->note_clients({master(), true, {}, b.now});
    b.advance(seconds{5});
    EXPECT_EQ(asked_after_take_over(), 1U);
}

}  // namespace
}  // namespace ibf::test
