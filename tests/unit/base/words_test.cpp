#include "base/words.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace ibf::base {
namespace {

TEST(Words, EditDistance) {
    EXPECT_EQ(edit_distance("", ""), 0U);
    EXPECT_EQ(edit_distance("", "abc"), 3U);
    EXPECT_EQ(edit_distance("kitten", "sitting"), 3U);
    EXPECT_EQ(edit_distance("PortInfo", "portinfo"), 0U) << "case is no mistake";
    EXPECT_EQ(edit_distance(std::string(100'000, 'x'), "x"), 63U) << "bounded work for any input";
}

TEST(Words, NearestTakesTheFirstOfEquals) {
    const std::vector<std::string> words{"minhop", "updn", "upup"};
    EXPECT_EQ(nearest_word("undn", words), "updn");
    EXPECT_EQ(nearest_word("uppn", words), "updn");
    EXPECT_EQ(nearest_word("x", std::vector<std::string>{}), "");
}

}  // namespace
}  // namespace ibf::base
