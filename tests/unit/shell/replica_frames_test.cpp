#include "daemon/shell/replica_frames.hpp"

#include <gtest/gtest.h>

#include "base/prng.hpp"

namespace ibf::shell {
namespace {

base::Result<Frame> decode_whole(std::string_view octets) {
    return decode_header(octets.substr(0, kFrameHeaderBytes)).and_then([&](FrameHeader header) {
        return decode(header, octets.substr(kFrameHeaderBytes));
    });
}

std::vector<Frame> every_frame() {
    return {Hello{1, mad::Guid{0x1234}, "sm1", {{"LMC", 7}, {"routing", 8}}},
            Standing{true},
            Want{5, 6},
            Begin{true, 9, 10},
            Piece{true, std::string("\0\1\2", 3)},
            Commit{11},
            Told{~std::uint64_t{0}, core::ToldTo::client, mad::Guid{9}},
            Beat{},
            Bye{"enough"}};
}

TEST(ReplicaFrames, EveryOneComesBackAsItWas) {
    for (const Frame& frame : every_frame()) {
        const std::string octets = encode(frame);
        const auto back = decode_whole(octets);
        ASSERT_TRUE(back) << back.error().message;
        EXPECT_EQ(back->index(), frame.index());
        EXPECT_EQ(encode(*back), octets);
    }
    const auto hello = std::get<Hello>(*decode_whole(encode(every_frame()[0])));
    EXPECT_EQ(hello.guid, mad::Guid{0x1234});
    EXPECT_EQ(hello.name, "sm1");
    EXPECT_EQ(hello.digests, std::get<Hello>(every_frame()[0]).digests);
    EXPECT_EQ(std::get<Piece>(*decode_whole(encode(every_frame()[4]))).octets.size(), 3U);
}

TEST(ReplicaFrames, HeadersAreJudgedBeforeAnythingIsRead) {
    const auto header = [](std::uint32_t length, std::uint8_t type) {
        std::string octets;
        for (int shift = 24; shift >= 0; shift -= 8) {
            octets += static_cast<char>(length >> static_cast<unsigned>(shift));
        }
        return decode_header(octets + static_cast<char>(type));
    };
    const std::uint8_t piece = static_cast<std::uint8_t>(encode(Piece{})[4]);
    const std::uint8_t commit = static_cast<std::uint8_t>(encode(Commit{})[4]);
    EXPECT_TRUE(header(kFrameBytesMax, piece));
    EXPECT_FALSE(header(kFrameBytesMax + 1, piece));
    EXPECT_TRUE(header(kSmallFrameBytesMax, commit));
    EXPECT_FALSE(header(kSmallFrameBytesMax + 1, commit));
    EXPECT_FALSE(header(0xFFFFFFFF, piece));
    EXPECT_FALSE(header(1, 0));
    EXPECT_FALSE(header(1, 10));
    EXPECT_FALSE(header(0x47455420, 0x2F)) << "GET /";
}

TEST(ReplicaFrames, WhatIsCutOffOrTooLongIsRefused) {
    for (const Frame& frame : every_frame()) {
        const std::string octets = encode(frame);
        const FrameHeader header = decode_header(octets.substr(0, kFrameHeaderBytes)).value();
        const bool open_ended = std::holds_alternative<Piece>(frame);
        for (std::size_t length = 0; !open_ended && length < header.length; ++length) {
            EXPECT_FALSE(decode(header, std::string_view(octets).substr(kFrameHeaderBytes, length)))
                << frame.index();
        }
        EXPECT_EQ(static_cast<bool>(decode(header, octets.substr(kFrameHeaderBytes) + '\0')), open_ended);
    }
}

TEST(ReplicaFrames, ChangedOctetsDoNoHarm) {
    base::Prng chance(11);
    std::uint32_t taken = 0;
    for (int i = 0; i < 20'000; ++i) {
        const auto frames = every_frame();
        std::string octets = encode(frames[chance.below(frames.size())]);
        octets[chance.below(octets.size())] = static_cast<char>(chance.below(256));
        if (const auto frame = decode_whole(octets)) {
            ++taken;
            EXPECT_TRUE(decode_whole(encode(*frame)));
        }
    }
    EXPECT_GT(taken, 100U);
}

}  // namespace
}  // namespace ibf::shell
