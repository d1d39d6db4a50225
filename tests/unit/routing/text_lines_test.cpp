#include "routing/text_lines.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace ibf::routing {
namespace {

TEST(LineScanner, DropsMarksLineEndsAndBlanks) {
    LineScanner lines("\xEF\xBB\xBF one \r\n\n\ttwo\nthree");
    std::vector<std::string> seen;
    while (lines.next()) {
        seen.emplace_back(lines.line());
    }
    EXPECT_EQ(seen, (std::vector<std::string>{"one", "", "two", "three"}));
    EXPECT_EQ(lines.number(), 4U);
}

TEST(TokenScanner, TakesOnlyWhatIsThere) {
    TokenScanner scanner("[12](a)\"b\" word");
    EXPECT_FALSE(scanner.take("("));
    EXPECT_TRUE(scanner.take("["));
    EXPECT_EQ(scanner.take_number(), 12U);
    EXPECT_FALSE(scanner.take_number());
    EXPECT_TRUE(scanner.take("]"));
    EXPECT_EQ(scanner.take_enclosed('(', ')'), "a");
    EXPECT_FALSE(scanner.take_enclosed('(', ')'));
    EXPECT_EQ(scanner.take_enclosed('"', '"'), "b");
    scanner.skip_blanks();
    EXPECT_EQ(scanner.take_word(), "word");
    EXPECT_TRUE(scanner.at_end());
    EXPECT_EQ(scanner.take_word(), "");
}

TEST(TokenScanner, RefusesNumbersBeyond32BitsAndOpenEnds) {
    EXPECT_FALSE(TokenScanner("4294967296").take_number());
    EXPECT_EQ(TokenScanner("4294967295").take_number(), 4294967295U);
    EXPECT_FALSE(TokenScanner("\"open").take_enclosed('"', '"'));
}

TEST(Numbers, AreWholeOrNothing) {
    EXPECT_EQ(to_number("12"), 12U);
    EXPECT_EQ(to_number("0x1F"), 31U);
    EXPECT_FALSE(to_number("12 "));
    EXPECT_FALSE(to_number("-4"));
    EXPECT_FALSE(to_number(""));
    EXPECT_FALSE(to_number("0x"));
    EXPECT_EQ(to_hex("ffffffffffffffff"), 0xffffffffffffffffU);
    EXPECT_FALSE(to_hex("10000000000000000"));
    EXPECT_FALSE(to_hex("1/1"));
}

}  // namespace
}  // namespace ibf::routing
