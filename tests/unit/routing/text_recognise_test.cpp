#include <gtest/gtest.h>

#include <string>

#include "routing/text_dialects.hpp"

namespace ibf::routing {
namespace {

TEST(TextRecognise, KnowsADialectByItsFirstTellingLine) {
    EXPECT_EQ(recognise("$ prompt\nSwitch\t8 \"s\"\n", "t"), Dialect::netlist);
    EXPECT_EQ(recognise("Hca 1 \"h\"", "t"), Dialect::netlist);
    EXPECT_EQ(recognise("Rt\t1 \"r\"", "t"), Dialect::netlist);
    EXPECT_EQ(recognise("START_RUN_INFO\nEND_RUN_INFO\nSTART_NODES\n", "t"), Dialect::db_csv);
    EXPECT_EQ(recognise("# c\n\n{ CA Ports:01 NodeGUID:1 } { SW", "t"), Dialect::subnet_lst);
}

TEST(TextRecognise, NamesTheLineThatTellsOfSomethingElse) {
    const auto message = [](const char* text) {
        const auto dialect = recognise(text, "t");
        return dialect ? std::string() : dialect.error().message;
    };
    EXPECT_TRUE(message("\n{\n \"nodes\": []\n}\n").starts_with("t:3: ") ||
                message("\n{\n").starts_with("t:2: "));
    EXPECT_NE(message("{\n").find("JSON"), std::string::npos);
    EXPECT_TRUE(message("# c\nSX6036 sw\n  P1 -> SX6036 sw2 P1\n").starts_with("t:3: "));
    EXPECT_TRUE(message("Cautious words\nSwitches were seen\n").starts_with("t:2: no topology found"));
    EXPECT_TRUE(message("").starts_with("t:1: the text is empty"));
}

}  // namespace
}  // namespace ibf::routing
