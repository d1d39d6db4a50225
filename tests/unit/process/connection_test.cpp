// Frames and lines out of a byte stream that comes in any pieces.
#include "sim/process/connection.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

namespace ibf::sim {
namespace {

class ConnectionTest : public ::testing::Test {
protected:
    ConnectionTest() {
        std::array<int, 2> ends{};
        EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends.data()), 0);
        connection.emplace(Descriptor(ends[0]));
        far.emplace(ends[1]);
    }
    void put(const std::string& bytes) {
        EXPECT_EQ(::send(far->number(), bytes.data(), bytes.size(), 0), static_cast<ssize_t>(bytes.size()));
    }
    std::optional<Connection> connection;
    std::optional<Descriptor> far;
};

TEST_F(ConnectionTest, FramesComeWholeHoweverTheyArrive) {
    const FrameHeader header{.kind = FrameKind::done, .bytes = 4};
    std::string bytes(reinterpret_cast<const char*>(&header), sizeof header);
    bytes += "abcd";
    for (const char byte : bytes + bytes.substr(0, 5)) {
        EXPECT_FALSE(connection->next_frame());
        put(std::string(1, byte));
        connection->read();
        if (const std::optional<Frame> frame = connection->next_frame()) {
            EXPECT_EQ(frame->kind, FrameKind::done);
            EXPECT_EQ(std::string(frame->payload.begin(), frame->payload.end()), "abcd");
        }
    }
    put(bytes.substr(5) + bytes + bytes);
    connection->read();
    int frames = 0;
    while (connection->next_frame()) {
        ++frames;
    }
    EXPECT_EQ(frames, 3);
    EXPECT_EQ(connection->speaks_text(), false);
    EXPECT_TRUE(connection->alive());
}

TEST_F(ConnectionTest, LinesAndTheEnd) {
    put("one\ntwo");
    connection->read();
    EXPECT_EQ(connection->speaks_text(), true);
    EXPECT_EQ(connection->next_line(), "one");
    EXPECT_EQ(connection->next_line(), std::nullopt);
    put("\n");
    connection->read();
    EXPECT_EQ(connection->next_line(), "two");
    far.reset();
    connection->read();
    EXPECT_TRUE(connection->at_end());
    EXPECT_TRUE(connection->alive());
}

TEST_F(ConnectionTest, AnEndlessLineEndsIt) {
    const std::string piece(32'768, 'x');
    for (int i = 0; i < 3 && connection->alive(); ++i) {
        put(piece);
        connection->read();
        EXPECT_FALSE(connection->next_line());
    }
    EXPECT_FALSE(connection->alive());
}

TEST_F(ConnectionTest, WhatTheSocketDoesNotTakeWaits) {
    const std::vector<std::uint8_t> much(4 << 20, 7);
    connection->write(much);
    connection->flush();
    EXPECT_GT(connection->queued(), 0U);
    std::size_t got = 0;
    std::vector<char> buffer(1 << 20);
    while (got < much.size()) {
        const ssize_t more = ::recv(far->number(), buffer.data(), buffer.size(), MSG_DONTWAIT);
        got += static_cast<std::size_t>(std::max<ssize_t>(more, 0));
        connection->flush();
        ASSERT_TRUE(connection->alive());
    }
    EXPECT_EQ(connection->queued(), 0U);
    far.reset();
    connection->write(much);
    connection->flush();
    EXPECT_FALSE(connection->alive());
}

}  // namespace
}  // namespace ibf::sim
