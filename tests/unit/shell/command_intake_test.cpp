#include "daemon/shell/command_intake.hpp"

#include <gtest/gtest.h>

namespace ibf::shell {
namespace {

using api::AdminCommand;

/// A different one for each number.
AdminCommand command(std::uint64_t number) {
    AdminCommand clear;
    clear.kind = AdminCommand::Kind::health_clear;
    clear.port = {mad::Guid{number}, mad::PortNum{1}};
    return clear;
}

TEST(CommandIntake, WhatDoesNotFitIsRefusedAndSaid) {
    base::Mailbox<core::Event> events{4096};
    CommandIntake intake(events);
    for (std::uint64_t i = 0; i < CommandIntake::kWaitingMax; ++i) {
        ASSERT_TRUE(intake.take(command(i)));
    }
    EXPECT_FALSE(intake.take(command(5000)));
    EXPECT_TRUE(intake.take(command(CommandIntake::kWaitingMax - 1))) << "the last one will do for both";
    std::vector<core::Event> batch;
    events.drain(batch);
    EXPECT_EQ(batch.size(), CommandIntake::kWaitingMax) << "each once";
    intake.done(command(7));
    EXPECT_TRUE(intake.take(command(5000)));
    EXPECT_FALSE(intake.take(command(7)));
}

// Set, cleared and set again before the loop has looked: set in the end.
TEST(CommandIntake, WhatWasUndoneInBetweenIsDoneAgain) {
    base::Mailbox<core::Event> events{16};
    CommandIntake intake(events);
    for (const std::uint64_t number : {1, 2, 1, 1}) {
        EXPECT_TRUE(intake.take(command(number)));
    }
    std::vector<core::Event> batch;
    events.drain(batch);
    EXPECT_EQ(batch.size(), 3U);
    intake.done(command(1));
    EXPECT_TRUE(intake.take(command(1))) << "one of the two still waits";
    events.drain(batch);
    EXPECT_TRUE(batch.empty());
}

TEST(CommandIntake, AFullMailboxRefusesToo) {
    base::Mailbox<core::Event> events{2};
    CommandIntake intake(events);
    EXPECT_TRUE(intake.take(command(1)));
    EXPECT_TRUE(intake.take(command(2)));
    EXPECT_FALSE(intake.take(command(3)));
    std::vector<core::Event> batch;
    events.drain(batch);
    EXPECT_TRUE(intake.take(command(3))) << "what was refused does not count as waiting";
}

}  // namespace
}  // namespace ibf::shell
