#include "base/toml_guard.hpp"

#include <gtest/gtest.h>

namespace ibf::base {
namespace {

TEST(TomlGuard, OrdinaryTextsPass) {
    EXPECT_EQ(hostile_toml("", "f"), "");
    EXPECT_EQ(hostile_toml("[a]\r\n\tkey = \"10.0.0.1\" # a.b.c\n", "f"), "");
    EXPECT_EQ(hostile_toml("# " + std::string(100, '.'), "f"), "") << "a comment may have any";
}

TEST(TomlGuard, WhatTomlPlusPlusDoesNotSurviveIsNamedWithItsPlace) {
    std::string deep = "a";
    for (int i = 0; i < 33; ++i) {
        deep += ".a";
    }
    EXPECT_TRUE(hostile_toml("x = 1\n" + deep + " = 1\n", "f").starts_with("f:2:1: too many dots"));
    EXPECT_EQ(hostile_toml("x = 1\ny\x01 = 2\n", "f"), "f:2:2: control character 0x01");
    EXPECT_EQ(hostile_toml("\x7F", "f"), "f:1:1: control character 0x7f");
    EXPECT_NE(hostile_toml("\"#\"" + deep, "f"), "") << "that is no comment";
}

}  // namespace
}  // namespace ibf::base
