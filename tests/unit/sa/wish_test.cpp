#include "daemon/sa/wish.hpp"

#include <gtest/gtest.h>

namespace ibf::sa {
namespace {

using How = Wish::How;

std::optional<std::uint8_t> choose(How how, std::uint8_t value, std::uint8_t least, std::uint8_t most) {
    return Wish{how, value}.choose({least, most});
}

TEST(Wish, ChoosesTheMostThatIsWantedAndCanBeHad) {
    EXPECT_EQ(choose(How::largest, 0, 1, 4), 4);
    EXPECT_EQ(choose(How::greater, 3, 1, 4), 4);
    EXPECT_EQ(choose(How::greater, 4, 1, 4), std::nullopt);
    EXPECT_EQ(choose(How::less, 4, 1, 5), 3);
    EXPECT_EQ(choose(How::less, 9, 1, 5), 5);
    EXPECT_EQ(choose(How::less, 1, 1, 5), std::nullopt) << "0 is no MTU";
    EXPECT_EQ(choose(How::less, 1, 0, 5), 0) << "but a life time";
    EXPECT_EQ(choose(How::less, 0, 0, 5), std::nullopt);
    EXPECT_EQ(choose(How::exactly, 3, 1, 5), 3);
    EXPECT_EQ(choose(How::exactly, 6, 1, 5), std::nullopt);
    EXPECT_EQ(choose(How::exactly, 0, 1, 5), std::nullopt);
    EXPECT_EQ(choose(How::exactly, 0, 0, 5), 0);
    EXPECT_EQ(choose(How::largest, 0, 1, 0), std::nullopt) << "nothing to be had";
}

TEST(Wish, IsMetByWhatIs) {
    EXPECT_TRUE((Wish{How::greater, 3}.met_by(4)));
    EXPECT_FALSE((Wish{How::greater, 3}.met_by(3)));
    EXPECT_TRUE((Wish{How::less, 3}.met_by(2)));
    EXPECT_FALSE((Wish{How::less, 3}.met_by(3)));
    EXPECT_TRUE((Wish{How::exactly, 3}.met_by(3)));
    EXPECT_FALSE((Wish{How::exactly, 3}.met_by(4)));
    EXPECT_TRUE(Wish{}.met_by(0)) << "nothing is wanted";
}

}  // namespace
}  // namespace ibf::sa
