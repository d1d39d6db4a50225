#include "cli/table.hpp"

#include <gtest/gtest.h>

namespace ibf::cli {
namespace {

TEST(Table, ColumnsAlignAndLinesEndWithoutBlanks) {
    const Json rows{{{"name", "a"}, {"lid", 7}}, {{"name", "a longer one"}, {"lid", 49151}}};
    EXPECT_EQ(render_table(rows, {text_column("NAME", "name"), number_column("LID", "lid")}),
              "NAME            LID\n"
              "a                 7\n"
              "a longer one  49151\n");
    EXPECT_EQ(render_table(rows, {number_column("LID", "lid"), text_column("NAME", "name")}),
              "  LID  NAME\n"
              "    7  a\n"
              "49151  a longer one\n");
}

TEST(Table, WidthCountsCharactersNotBytes) {
    const Json rows{{{"name", "Zürich"}, {"lid", 1}}, {{"name", "London"}, {"lid", 2}}};
    EXPECT_EQ(render_table(rows, {text_column("N", "name"), number_column("L", "lid")}),
              "N       L\nZürich  1\nLondon  2\n");
}

TEST(Table, FieldsOfEveryKind) {
    const Json row{{"text", "x"}, {"empty", ""},   {"null", nullptr}, {"yes", true},
                   {"count", 12}, {"rate", 200.0}, {"part", 0.125}};
    EXPECT_EQ(field_text(row, "text"), "x");
    EXPECT_EQ(field_text(row, "empty"), "-");
    EXPECT_EQ(field_text(row, "null"), "-");
    EXPECT_EQ(field_text(row, "absent"), "-");
    EXPECT_EQ(field_text(row, "yes"), "yes");
    EXPECT_EQ(field_text(row, "count"), "12");
    EXPECT_EQ(field_text(row, "rate"), "200");
    EXPECT_EQ(field_text(row, "part"), "0.125");
}

TEST(Table, DescriptionsCannotDriveTheTerminal) {
    EXPECT_EQ(printable("evil\x1b[2Jname\n\x7f"), "evil?[2Jname??");
    EXPECT_EQ(field_text(Json{{"name", "a\tb"}}, "name"), "a?b");
}

TEST(Table, Numbers) {
    EXPECT_EQ(grouped(0), "0");
    EXPECT_EQ(grouped(999), "999");
    EXPECT_EQ(grouped(1000), "1,000");
    EXPECT_EQ(grouped(173'828'592), "173,828,592");
    EXPECT_EQ(counted(1, "switch", "switches"), "1 switch");
    EXPECT_EQ(counted(2000, "switch", "switches"), "2,000 switches");
    EXPECT_EQ(seconds_text(0.00085), "850us");
    EXPECT_EQ(seconds_text(0.0123), "12.3ms");
}

}  // namespace
}  // namespace ibf::cli
