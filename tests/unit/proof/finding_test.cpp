#include "probe/proof/finding.hpp"

#include <gtest/gtest.h>

#include <set>

namespace ibf::probe {
namespace {

TEST(Findings, OneOfAKindAtAPlace) {
    std::vector<Finding> findings;
    const Place here{.index = 1, .port = mad::PortNum{2}};
    const Place there{.index = 1, .port = mad::PortNum{3}};
    add_finding(findings, {.kind = Finding::Kind::port_errors, .at = here, .text = "first"});
    add_finding(findings, {.kind = Finding::Kind::port_errors, .at = here, .text = "again"});
    ASSERT_EQ(findings.size(), 1U);
    EXPECT_EQ(findings[0].text, "first");
    add_finding(findings, {.kind = Finding::Kind::port_errors, .at = there});
    add_finding(findings, {.kind = Finding::Kind::throttled_link, .at = here});
    add_finding(findings, {.kind = Finding::Kind::wrong_entry, .at = here, .lid = mad::Lid{1}});
    add_finding(findings, {.kind = Finding::Kind::wrong_entry, .at = here, .lid = mad::Lid{2}});
    EXPECT_EQ(findings.size(), 5U);
}

TEST(Findings, EachKindHasAWord) {
    std::set<std::string_view> words;
    for (int kind = 0; kind <= static_cast<int>(Finding::Kind::lost_traffic); ++kind) {
        words.insert(to_string(static_cast<Finding::Kind>(kind)));
    }
    EXPECT_EQ(words.size(), 11U);
    EXPECT_FALSE(words.contains("unknown"));
}

}  // namespace
}  // namespace ibf::probe
