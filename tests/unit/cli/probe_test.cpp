// ibfabric probe plan: the cover, its rounds, and what traffic would do.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>

#include <nlohmann/json.hpp>

#include "run_cli.hpp"

namespace ibf::cli {
namespace {

using nlohmann::json;

constexpr const char* kTree = "fat-tree:radix=8,levels=2";

json probe_of(std::vector<std::string> words) {
    words.insert(words.begin(), {"probe", "plan"});
    words.emplace_back("--json");
    const Said said = run_cli(words);
    EXPECT_TRUE(said.code == 0 || said.code == 1) << said.err;
    return json::parse(said.out);
}

std::string host_file(const std::string& name, const std::string& text) {
    const auto path = std::filesystem::path(testing::TempDir()) / ("ibf-probe-test-" + name);
    std::ofstream(path) << text;
    return path.string();
}

TEST(ProbePlan, KeysThatScriptsRelyOn) {
    const json plan = probe_of({kTree});
    for (const char* key :
         {"engine", "switches", "end_ports", "hosts", "unreachable_pairs", "credit_loops", "hash", "attempts",
          "link_directions", "crossed", "flows_needed", "flows_at_least", "rounds", "rounds_at_least",
          "uncrossed", "flows", "patterns"}) {
        EXPECT_TRUE(plan.contains(key)) << key;
    }
    ASSERT_EQ(plan["flows"].size(), plan["flows_needed"].get<std::size_t>());
    std::size_t round = 1;
    for (const json& flow : plan["flows"]) {
        for (const char* key : {"round", "from", "to", "lid", "sl", "links"}) {
            EXPECT_TRUE(flow.contains(key)) << key;
        }
        EXPECT_GE(flow["round"], round) << "round by round";
        round = flow["round"];
    }
    EXPECT_EQ(plan["rounds"], round);
    for (const char* word : {"ring", "all-to-all", "shift", "permutation", "bisection"}) {
        ASSERT_TRUE(plan["patterns"].contains(word)) << word;
        EXPECT_EQ(plan["patterns"][word]["hot_links"].size(), 3U) << word;
        EXPECT_EQ(plan["patterns"][word]["hot_links"][0]["flows"], plan["patterns"][word]["max"]) << word;
    }
}

// Eight leaves with four hosts and four spines: each of the 32 link directions up needs a flow of its own,
// which crosses one down as well.
TEST(ProbePlan, AFatTreeNeedsOneFlowForEachUplink) {
    const json plan = probe_of({kTree, "--engine", "ftree"});
    EXPECT_EQ(plan["link_directions"], 64);
    EXPECT_EQ(plan["crossed"], 64);
    EXPECT_EQ(plan["flows_at_least"], 32);
    EXPECT_EQ(plan["flows_needed"], 32);
    EXPECT_TRUE(plan["uncrossed"].empty());
    EXPECT_EQ(plan["patterns"]["shift"]["max"], 1) << "as ftree has it";
}

TEST(ProbePlan, OnlyAmongTheHostsOfAJobInWhateverOrder) {
    const json plan = probe_of({kTree, "--hosts", host_file("a", "host-0001\nhost-0005\nhost-0009\n")});
    EXPECT_EQ(plan["hosts"], 3);
    EXPECT_EQ(plan["link_directions"], 64);
    EXPECT_LE(plan["crossed"], 12);
    EXPECT_EQ(plan["uncrossed"].size() + plan["crossed"].get<std::size_t>(), 64U);
    const std::set<std::string> job{"host-0001", "host-0005", "host-0009"};
    for (const json& flow : plan["flows"]) {
        EXPECT_TRUE(job.contains(flow["from"]["name"]));
        EXPECT_TRUE(job.contains(flow["to"]["name"]));
    }
    json again = probe_of({kTree, "--hosts", host_file("b", "host-0009\nhost-0001\nhost-0005\nhost-0001\n")});
    EXPECT_EQ(again["flows"], plan["flows"]);
    EXPECT_EQ(again["patterns"], plan["patterns"]);
}

TEST(ProbePlan, WhatPeopleRead) {
    const Said said = run_cli({"probe", "plan", kTree, "--list", "2", "--top", "1"});
    EXPECT_EQ(said.code, 0) << said.err;
    for (const char* text :
         {"32 flows cross 64 of 64 link directions; no cover has fewer than 32",
          "in each no two flows share a link", "all-to-all  worst link", "links that carry most:", "ring ",
          "FROM", "and 30 more (--list 32 or --json)"}) {
        EXPECT_NE(said.out.find(text), std::string::npos) << text << "\n" << said.out;
    }
    EXPECT_EQ(said.out.find("no pair crosses"), std::string::npos);
    const Said few = run_cli({"probe", "plan", kTree, "--hosts", host_file("c", "host-0001\nhost-0005\n")});
    EXPECT_NE(few.out.find("links that no pair crosses:"), std::string::npos) << few.out;
    EXPECT_NE(few.out.find("more (--json has all)"), std::string::npos) << few.out;
}

// Tables in force come as a dump, and dumps do not say which SL a path has: 0 would be a guess.
TEST(ProbePlan, ADumpOfTablesKnowsNoSls) {
    const std::string folder = testing::TempDir() + "probe-dump";
    ASSERT_EQ(run_cli({"plan", kTree, "--engine", "ftree", "--dump", folder}).code, 0);
    const json plan = probe_of({kTree, "--engine", "file", "--lfts", folder + "/opensm-lfts.dump"});
    ASSERT_FALSE(plan["flows"].empty());
    EXPECT_TRUE(plan["flows"][0]["sl"].is_null());
    EXPECT_FALSE(probe_of({kTree})["flows"][0]["sl"].is_null());
}

TEST(ProbePlan, WrongWordsAreUsageErrors) {
    EXPECT_EQ(run_cli({"probe"}).code, 2);
    EXPECT_EQ(run_cli({"probe", "plan"}).code, 2);
    EXPECT_EQ(run_cli({"probe", "plan", kTree, "--engine", "nonsense"}).code, 2);
    EXPECT_EQ(run_cli({"probe", "plan", kTree, "--hosts", "/nowhere/hosts"}).code, 4);
    const Said one = run_cli({"probe", "plan", kTree, "--hosts", host_file("d", "host-0001\n")});
    EXPECT_EQ(one.code, 2);
    EXPECT_NE(one.err.find("two end ports or more"), std::string::npos) << one.err;
}

}  // namespace
}  // namespace ibf::cli
