#include "cli/probe_compare.hpp"

#include <gtest/gtest.h>

#include "run_cli.hpp"

namespace ibf::cli {
namespace {

Json flow(int to, std::uint64_t p50, std::uint64_t rate, std::uint64_t errors, const std::string& verdict) {
    return Json{{"from", Json{{"guid", "0x1"}, {"port", 1}, {"name", "host-01"}}},
                {"to", Json{{"guid", "0x2"}, {"port", to}, {"name", ""}}},
                {"lid", to},
                {"verdict", verdict},
                {"p50_ns", p50},
                {"bits_per_second", rate},
                {"errors", errors}};
}

Json finding(const std::string& kind, int port) {
    return Json{{"kind", kind}, {"guid", "0x9"}, {"port", port}, {"name", "leaf"}, {"text", "what"}};
}

Json stored_run(int number, std::vector<Json> flows, std::vector<Json> findings) {
    Json run{{"run", number}, {"begun", "2027"},       {"tables", "ftree 0x1"},
             {"proved", 1},   {"flows", flows.size()}, {"findings", findings.size()}};
    run["flow_rows"] = std::move(flows);
    run["finding_rows"] = std::move(findings);
    return run;
}

constexpr std::uint64_t kGiga = 1'000'000'000;

TEST(ProbeCompare, SameRunsAreNotWorse) {
    const Json run = stored_run(1, {flow(1, 1500, 100 * kGiga, 0, "proved")}, {finding("wrong-entry", 5)});
    const Json same = compare_probe_runs(run, run, 20);
    EXPECT_FALSE(is_worse(same));
    EXPECT_EQ(same["compared"], 1);
    EXPECT_EQ(same["only_before"], 0);
    EXPECT_EQ(same["only_after"], 0);
    EXPECT_EQ(same["lasting_findings"], 1);
    EXPECT_TRUE(same["same_tables"].get<bool>());
    EXPECT_NE(comparison_text(same, 5).find("nothing got worse"), std::string::npos);
}

TEST(ProbeCompare, SlowerBeyondTheThresholdOnly) {
    const Json before =
        stored_run(1,
                   {flow(1, 1000, 100 * kGiga, 0, "proved"), flow(2, 1000, 100 * kGiga, 0, "proved"),
                    flow(3, 1000, 0, 0, "proved"), flow(4, 1000, 100 * kGiga, 0, "proved")},
                   {});
    const Json after =
        stored_run(2,
                   {flow(1, 1190, 81 * kGiga, 0, "proved"), flow(2, 1000, 79 * kGiga, 0, "proved"),
                    flow(3, 1210, 100 * kGiga, 0, "proved"), flow(5, 9000, kGiga, 9, "lost")},
                   {});
    const Json got = compare_probe_runs(before, after, 20);
    EXPECT_TRUE(is_worse(got));
    ASSERT_EQ(got["slower"].size(), 2U);
    EXPECT_EQ(got["slower"][0]["lid"], 2);
    EXPECT_DOUBLE_EQ(got["slower"][0]["rate_percent"].get<double>(), -21);
    EXPECT_EQ(got["slower"][1]["lid"], 3);
    EXPECT_DOUBLE_EQ(got["slower"][1]["latency_percent"].get<double>(), 21);
    EXPECT_EQ(got["slower"][1]["rate_percent"], 0) << "there is nothing to compare with";
    EXPECT_EQ(got["compared"], 3);
    EXPECT_EQ(got["only_before"], 1);
    EXPECT_EQ(got["only_after"], 1);
    EXPECT_TRUE(got["more_errors"].empty()) << "of a flow that was not there before";
    EXPECT_FALSE(is_worse(compare_probe_runs(before, after, 30)));
    EXPECT_NE(comparison_text(got, 1).find("and 1 more"), std::string::npos);
}

TEST(ProbeCompare, ErrorsVerdictsAndFindings) {
    const Json before =
        stored_run(1, {flow(1, 0, 0, 2, "proved"), flow(2, 0, 0, 2, "proved"), flow(3, 0, 0, 0, "lost")},
                   {finding("wrong-entry", 5), finding("errors", 5)});
    Json after = stored_run(
        2, {flow(1, 0, 0, 3, "proved"), flow(2, 0, 0, 1, "seen-elsewhere"), flow(3, 0, 0, 0, "lost")},
        {finding("wrong-entry", 6), finding("errors", 5)});
    after["tables"] = "minhop 0x2";
    const Json got = compare_probe_runs(before, after, 20);
    EXPECT_TRUE(is_worse(got));
    EXPECT_FALSE(got["same_tables"].get<bool>());
    ASSERT_EQ(got["more_errors"].size(), 1U);
    EXPECT_EQ(got["more_errors"][0]["lid"], 1);
    ASSERT_EQ(got["proved_no_longer"].size(), 1U);
    EXPECT_EQ(got["proved_no_longer"][0]["lid"], 2);
    ASSERT_EQ(got["new_findings"].size(), 1U);
    EXPECT_EQ(got["new_findings"][0]["port"], 6);
    ASSERT_EQ(got["gone_findings"].size(), 1U);
    EXPECT_EQ(got["gone_findings"][0]["port"], 5);
    EXPECT_EQ(got["lasting_findings"], 1);
    const std::string text = comparison_text(got, 5);
    for (const char* part :
         {"new findings (1)", "gone findings (1)", "flows proved no longer (1)", "flows with more errors (1)",
          "host-01/1", "0x2/2", "leaf/6", "proved -> seen-elsewhere", "2 -> 3"}) {
        EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
    }
    EXPECT_FALSE(is_worse(compare_probe_runs(after, stored_run(3, after["flow_rows"], {}), 20)))
        << "a finding that is gone";
}

TEST(ProbeCompare, AnotherWrongEntryOfTheSamePortIsNew) {
    const auto entry = [](int lid) {
        Json row = finding("wrong-entry", 5);
        row["lid"] = lid;
        return row;
    };
    Json link = finding("dead-link", 5);
    link["lid"] = nullptr;  // as the daemon gives it
    const Json got = compare_probe_runs(stored_run(1, {}, {entry(7), link}),
                                        stored_run(2, {}, {entry(7), entry(8), link}), 20);
    EXPECT_TRUE(is_worse(got));
    ASSERT_EQ(got["new_findings"].size(), 1U);
    EXPECT_EQ(got["new_findings"][0]["lid"], 8);
    EXPECT_EQ(got["lasting_findings"], 2);
}

TEST(ProbeCompare, FiguresForPeople) {
    EXPECT_EQ(nanoseconds_text(0), "-");
    EXPECT_EQ(nanoseconds_text(1530), "1.53us");
    EXPECT_EQ(nanoseconds_text(2'500'000), "2.50ms");
    EXPECT_EQ(nanoseconds_text(3'000'000'000), "3.00s");
    EXPECT_EQ(gigabits_text(0), "-");
    EXPECT_EQ(gigabits_text(98'100'000'000), "98.10");
    EXPECT_EQ(probe_end_text(Json{{"guid", "0x9"}, {"port", 0}, {"name", "a\x1b"}}), "a?");
}

TEST(ProbeStoreCommands, WrongWordsAreUsageAndNoDaemonIsSaid) {
    EXPECT_EQ(run_cli({"probe", "compare"}).code, 2);
    EXPECT_EQ(run_cli({"probe", "compare", "1", "2", "3"}).code, 2);
    EXPECT_EQ(run_cli({"probe", "compare", "1", "2", "--last"}).code, 2);
    EXPECT_EQ(run_cli({"probe", "compare", "x"}).code, 2);
    EXPECT_EQ(run_cli({"probe", "list", "--limit", "0"}).code, 2);
    for (const std::vector<std::string>& words : {std::vector<std::string>{"probe", "list"},
                                                  {"probe", "show"},
                                                  {"probe", "show", "3", "--flows"},
                                                  {"probe", "compare", "--last"},
                                                  {"probe", "compare", "1", "2"}}) {
        std::vector<std::string> all = words;
        all.insert(all.end(), {"--socket", "/nonexistent/sock"});
        EXPECT_EQ(run_cli(all).code, 3) << words[1];
    }
}

}  // namespace
}  // namespace ibf::cli
