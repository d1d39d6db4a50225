// The text form of fault scripts.
#include <gtest/gtest.h>

#include "sim/simulator.hpp"

namespace ibf::sim {
namespace {

TEST(Faults, ReadsEveryField) {
    const auto faults = parse_faults(
        "# a script\n"
        "\n"
        "at 1.5s drop switch-01 attr=PortInfo method=Set count=3 probability=0.25\r\n"
        "flap \"MF0;spine 1:X/U1/7\" delay=200ms count=2   # quoted, with a port\n"
        "at 10us trap 0x0002c90000000100/4 number=131 count=260 delay=1ms\n",
        "script");
    ASSERT_TRUE(faults) << faults.error().message;
    ASSERT_EQ(faults->size(), 3U);
    const Fault& drop = (*faults)[0];
    EXPECT_EQ(drop.kind, Fault::Kind::drop);
    EXPECT_EQ(drop.at, std::chrono::milliseconds{1500});
    EXPECT_EQ(drop.where, "switch-01");
    EXPECT_EQ(drop.attribute, mad::Attribute::port_info);
    EXPECT_EQ(drop.method, mad::Method::set);
    EXPECT_EQ(drop.count, 3U);
    EXPECT_DOUBLE_EQ(drop.probability, 0.25);
    EXPECT_EQ((*faults)[1].where, "MF0;spine 1:X/U1/7");
    EXPECT_EQ((*faults)[1].delay, std::chrono::milliseconds{200});
    EXPECT_EQ((*faults)[2].number, 131);
    EXPECT_EQ((*faults)[2].at, std::chrono::microseconds{10});
}

struct BadLine {
    const char* text;
    const char* expected;
};

TEST(Faults, ErrorsNameLineAndRemedy) {
    const BadLine cases[] = {
        {"dropp sw", "s:1: unknown fault 'dropp': did you mean 'drop'?"},
        {"\nlink_down sw/1", "s:2: unknown fault 'link_down': did you mean 'link-down'?"},
        {"drop sw attr=PortInf", "unknown attribute 'PortInf': did you mean 'PortInfo'?"},
        {"drop sw method=Gett", "unknown method 'Gett': did you mean 'Get'?"},
        {"drop sw conut=3", "unknown option 'conut': did you mean 'count'?"},
        {"drop sw count", "options are written key=value"},
        {"drop sw count=-1", "is not a number"},
        {"drop sw count=99999999999", "is not a number"},
        {"drop sw probability=2", "above 1"},
        {"drop sw probability=nan", "is not a number"},
        {"at 5 drop sw", "is no time"},
        {"at 1e300s drop sw", "is no time"},
        {"at 9999999999s drop sw", "longer than a year"},
        {"at", "'at' without a time"},
        {"drop", "a fault is written"},
        {"drop \"sw", "not closed"},
        {"trap sw", "needs its number"},
    };
    for (const BadLine& item : cases) {
        const auto faults = parse_faults(item.text, "s");
        ASSERT_FALSE(faults) << item.text;
        EXPECT_EQ(faults.error().kind, base::ErrorKind::parse);
        EXPECT_NE(faults.error().message.find(item.expected), std::string::npos) << faults.error().message;
    }
}

TEST(Faults, AnyTextIsReadOrRefused) {
    base::Prng prng(3);
    constexpr std::string_view kAlphabet = "drop at sw/=\"#\n1.5smsattrcount0x";
    for (int round = 0; round < 2000; ++round) {
        std::string text;
        for (std::uint64_t length = prng.below(80); length > 0; --length) {
            text += kAlphabet[prng.below(kAlphabet.size())];
        }
        const auto faults = parse_faults(text, "fuzz");
        EXPECT_TRUE(faults || !faults.error().message.empty());
    }
}

}  // namespace
}  // namespace ibf::sim
