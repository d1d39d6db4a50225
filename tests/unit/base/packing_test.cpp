#include "base/packing.hpp"

#include <gtest/gtest.h>

#include <cstdint>

namespace ibf::base {
namespace {

std::string packed() {
    Packer out;
    out.number(std::uint8_t{0xAB});
    out.number(std::uint16_t{0x0102});
    out.number(std::uint32_t{0x03040506});
    out.number(std::uint64_t{0x0708090A0B0C0D0E});
    out.text("name");
    out.raw("tail");
    return out.take();
}

TEST(Packing, NumbersAreInNetworkOrder) {
    EXPECT_EQ(
        packed(),
        std::string("\xAB\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0A\x0B\x0C\x0D\x0E\0\0\0\4nametail", 27));
}

TEST(Packing, ComesBackAsItWas) {
    const std::string octets = packed();
    Unpacker in(octets);
    EXPECT_EQ(in.number<std::uint8_t>(), 0xAB);
    EXPECT_EQ(in.number<std::uint16_t>(), 0x0102);
    EXPECT_EQ(in.number<std::uint32_t>(), 0x03040506U);
    EXPECT_EQ(in.number<std::uint64_t>(), 0x0708090A0B0C0D0EU);
    EXPECT_EQ(in.text(4), "name");
    EXPECT_FALSE(in.done());
    EXPECT_EQ(in.raw(in.left()), "tail");
    EXPECT_TRUE(in.done());
}

TEST(Packing, WhatIsNotThereIsReadAsNothingAndRemembered) {
    const std::string octets = packed();
    for (std::size_t length = 0; length < 23; ++length) {
        Unpacker in(std::string_view(octets).substr(0, length));
        static_cast<void>(in.number<std::uint8_t>());
        static_cast<void>(in.number<std::uint16_t>());
        static_cast<void>(in.number<std::uint32_t>());
        static_cast<void>(in.number<std::uint64_t>());
        EXPECT_EQ(in.text(100), "") << length;
        EXPECT_FALSE(in.good()) << length;
        EXPECT_EQ(in.number<std::uint8_t>(), 0) << "and nothing after it";
    }
}

TEST(Packing, LengthsAndCountsAreBounded) {
    Packer out;
    out.text("12345");
    const std::string text = out.take();
    Unpacker longer(text);
    EXPECT_EQ(longer.text(4), "");
    EXPECT_FALSE(longer.good());
    out.number(std::uint32_t{3});
    out.raw("123456");
    const std::string things = out.take();
    Unpacker fits(things);
    EXPECT_EQ(fits.count(2), 3U);
    Unpacker too_many(things);
    EXPECT_EQ(too_many.count(3), 0U);
    EXPECT_FALSE(too_many.good());
}

}  // namespace
}  // namespace ibf::base
