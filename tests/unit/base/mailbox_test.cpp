#include "base/mailbox.hpp"

#include <poll.h>

#include <memory>
#include <thread>

#include <gtest/gtest.h>

namespace ibf::base {
namespace {

bool readable(int descriptor) {
    pollfd waiting{.fd = descriptor, .events = POLLIN, .revents = 0};
    return ::poll(&waiting, 1, 0) == 1;
}

TEST(Mailbox, DrainsInOrderAndReusesTheStorage) {
    Mailbox<int> box(10);
    std::vector<int> got{99};
    box.drain(got);
    EXPECT_TRUE(got.empty());
    for (int i = 0; i < 3; ++i) {
        EXPECT_TRUE(box.push(std::move(i)));
    }
    box.drain(got);
    EXPECT_EQ(got, (std::vector<int>{0, 1, 2}));
    box.drain(got);
    EXPECT_TRUE(got.empty());
}

TEST(Mailbox, AFullBoxRefusesAndCounts) {
    Mailbox<int> box(2);
    EXPECT_TRUE(box.push(1));
    EXPECT_TRUE(box.push(2));
    EXPECT_FALSE(box.push(3));
    EXPECT_FALSE(box.push(4));
    EXPECT_EQ(box.refused(), 2U);
    std::vector<int> got;
    box.drain(got);
    EXPECT_EQ(got, (std::vector<int>{1, 2}));
    EXPECT_TRUE(box.push(5)) << "room again";
}

TEST(Mailbox, TheWakeDescriptorIsReadableWhileSomethingWaits) {
    Mailbox<int> box(10);
    EXPECT_FALSE(readable(box.wake_fd()));
    EXPECT_TRUE(box.push(1));
    EXPECT_TRUE(box.push(2));
    EXPECT_TRUE(readable(box.wake_fd()));
    std::vector<int> got;
    box.drain(got);
    EXPECT_FALSE(readable(box.wake_fd()));
    EXPECT_TRUE(box.push(3));
    EXPECT_TRUE(readable(box.wake_fd()));
}

TEST(Mailbox, CarriesWhatCanOnlyBeMoved) {
    Mailbox<std::unique_ptr<int>> box(1);
    EXPECT_TRUE(box.push(std::make_unique<int>(7)));
    std::vector<std::unique_ptr<int>> got;
    EXPECT_TRUE(box.wait(got));
    EXPECT_EQ(*got.at(0), 7);
}

TEST(Mailbox, ClosedRefusesButGivesWhatWaits) {
    Mailbox<int> box(10);
    EXPECT_TRUE(box.push(1));
    box.close();
    EXPECT_FALSE(box.push(2));
    EXPECT_TRUE(readable(box.wake_fd()));
    std::vector<int> got;
    EXPECT_TRUE(box.wait(got));
    EXPECT_EQ(got, std::vector<int>{1});
    EXPECT_FALSE(box.wait(got));
    EXPECT_TRUE(got.empty());
}

TEST(Mailbox, CloseWakesAWaitingReader) {
    Mailbox<int> box(10);
    std::thread reader([&] {
        std::vector<int> got;
        EXPECT_FALSE(box.wait(got));
    });
    box.close();
    reader.join();
}

TEST(Mailbox, NothingIsLostBetweenManySendersAndOneReader) {
    constexpr int kSenders = 4;
    constexpr int kEach = 5000;
    Mailbox<std::pair<int, int>> box(kSenders * kEach);
    std::vector<std::thread> senders;
    for (int sender = 0; sender < kSenders; ++sender) {
        senders.emplace_back([&box, sender] {
            for (int i = 0; i < kEach; ++i) {
                EXPECT_TRUE(box.push({sender, i}));
            }
        });
    }
    std::vector<int> next(kSenders, 0);
    int total = 0;
    std::vector<std::pair<int, int>> got;
    while (total < kSenders * kEach && box.wait(got)) {
        for (const auto& [sender, value] : got) {
            EXPECT_EQ(value, next[static_cast<std::size_t>(sender)]++) << "each sender's order is kept";
            ++total;
        }
    }
    for (std::thread& sender : senders) {
        sender.join();
    }
    EXPECT_EQ(total, kSenders * kEach);
    EXPECT_EQ(box.refused(), 0U);
}

}  // namespace
}  // namespace ibf::base
