// probe run, rehearsed: the whole way from the words to the report, on a simulated fabric.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include <nlohmann/json.hpp>

#include "cli/probe_rows.hpp"
#include "routing/netlist.hpp"
#include "routing/routes.hpp"
#include "run_cli.hpp"

namespace ibf::cli {
namespace {

constexpr const char* kFatTree = "fat-tree:radix=8,levels=2";

Said rehearse(std::vector<std::string> words) {
    words.insert(words.begin(), {"probe", "run", kFatTree, "--engine", "ftree", "--sim", "--no-store"});
    return run_cli(words);
}

std::string script(const std::string& name, const std::string& text) {
    const auto path = std::filesystem::path(testing::TempDir()) / ("ibf-probe-run-" + name);
    std::ofstream(path) << text;
    return path.string();
}

TEST(ProbeRun, AHealthyFabricHasNoFindingAndEveryHopIsProved) {
    const Said said = rehearse({"--json"});
    ASSERT_EQ(said.code, 0) << said.err << said.out.substr(0, 500);
    const Json report = Json::parse(said.out);
    EXPECT_TRUE(report["findings"].empty());
    EXPECT_EQ(report["flows"].size(), 32U);
    for (const Json& flow : report["flows"]) {
        EXPECT_EQ(flow["verdict"], "proved");
    }
    EXPECT_EQ(report["read"]["switches"], 12);
    EXPECT_EQ(report["tables"].get<std::string>().substr(0, 8), "ftree 0x");
    const Said text = rehearse({"--list", "3"});
    EXPECT_EQ(text.code, 0);
    EXPECT_NE(text.out.find("32 of 32 tried, 32 proved on every hop"), std::string::npos) << text.out;
    EXPECT_NE(text.out.find("and 29 more"), std::string::npos) << text.out;
    EXPECT_NE(text.out.find("12 of 12 switches"), std::string::npos) << text.out;
    EXPECT_NE(text.out.find("768 of 768 table entries"), std::string::npos) << text.out;
}

TEST(ProbeRun, HopsThatOneEndAloneProvesAreNoted) {
    const std::vector<std::string> words{"--list", "0", "--faults", script("dead", "at 0s dead spine-001\n")};
    const Said said = rehearse(words);
    EXPECT_EQ(said.code, 1) << said.err;
    EXPECT_NE(said.out.find("note        16 hops are proved by one end alone"), std::string::npos)
        << said.out;
    const Said told = rehearse({"--json", words[2], words[3]});
    EXPECT_EQ(Json::parse(told.out)["notes"].size(), 1U);
}

TEST(ProbeRun, OnlyReadingFindsAWrongEntryAndASwappedCable) {
    const auto netlist = routing::netlist_from_spec(kFatTree).value();
    const auto topology = routing::topology_of(netlist, 0).value();
    routing::RouteOptions how;
    how.engines = {"ftree"};
    const auto routes = routing::route(topology, nullptr, how)->routes;
    const auto& leaf = topology.switches[topology.end_ports[0].switch_index];
    const mad::Lid far = topology.end_ports.back().lids.base;
    const std::uint8_t right = routes.port(routing::SwitchIndex{topology.end_ports[0].switch_index}, far);
    const int wrong = right == 5 ? 6 : 5;
    const Said said = rehearse(
        {"--no-traffic", "--json", "--faults",
         script("entry", fmt::format("at 0s lft-entry {} lid={} number={}\n", leaf.name, far, wrong))});
    EXPECT_EQ(said.code, 1) << said.err;
    const Json report = Json::parse(said.out);
    ASSERT_EQ(report["findings"].size(), 1U) << report["findings"];
    EXPECT_EQ(report["findings"][0]["kind"], "wrong-entry");
    EXPECT_EQ(report["findings"][0]["name"], leaf.name);
    EXPECT_EQ(report["findings"][0]["lid"], far.value());
    EXPECT_EQ(report["findings"][0]["has"], wrong);
    EXPECT_EQ(report["findings"][0]["wants"], right);
    EXPECT_TRUE(report["flows"].empty());

    const Said swapped =
        rehearse({"--no-traffic", "--faults",
                  script("cables", fmt::format("at 0s swap-cables {0}/5 with={0}/6\n", leaf.name))});
    EXPECT_EQ(swapped.code, 1) << swapped.err;
    EXPECT_NE(swapped.out.find("miswired-cable"), std::string::npos) << swapped.out;
    EXPECT_NE(swapped.out.find(leaf.name), std::string::npos) << swapped.out;
}

TEST(ProbeRun, OnlySomeRoundsAndAmongSomeHosts) {
    const Said said = rehearse({"--rounds", "1", "--no-audit", "--json", "--hosts",
                                script("hosts", "host-0001\nhost-0005\nhost-0009\n")});
    ASSERT_EQ(said.code, 0) << said.err;
    const Json report = Json::parse(said.out);
    EXPECT_EQ(report["coverage"]["rounds_run"], 1);
    EXPECT_LT(report["read"]["table_entries"].get<int>(), 12 * 64) << "only of switches on the paths";
}

TEST(ProbeRun, WhereNothingIsSentNothingIsFine) {
    const std::string hosts = script("one-leaf", "host-0001\nhost-0002\n");
    const Said said = rehearse({"--hosts", hosts});
    EXPECT_EQ(said.code, 1) << said.out << said.err;
    EXPECT_NE(said.out.find("nothing was sent"), std::string::npos) << said.out;
    EXPECT_EQ(rehearse({"--hosts", hosts, "--no-traffic"}).code, 0);
}

TEST(ProbeRun, SizesAndRatesAsPeopleWriteThem) {
    EXPECT_EQ(Json::parse(rehearse({"--json", "--size", "64K"}).out)["flows"],
              Json::parse(rehearse({"--json", "--size", "65536"}).out)["flows"]);
    EXPECT_EQ(rehearse({"--rate", "10G"}).code, 0);
    for (const char* wrong : {"-1", "fast", "1.5"}) {
        EXPECT_EQ(rehearse({"--rate", wrong}).code, 2) << wrong;
        EXPECT_EQ(rehearse({"--size", wrong}).code, 2) << wrong;
    }
    EXPECT_EQ(rehearse({"--size", "2G"}).code, 2);
    EXPECT_EQ(rehearse({"--seconds", "nan"}).code, 2);
    EXPECT_EQ(run_cli({"probe", "compare", "--last", "--slower", "nan"}).code, 2);
    EXPECT_EQ(run_cli({"status", "--wait-up", "nan"}).code, 2);
}

TEST(ProbeRun, EachTestHasItsSize) {
    for (const auto& [test, size] :
         std::vector<std::pair<std::string, int>>{{"write", 65536}, {"ping", 64}, {"ud", 1024}}) {
        const Said said = rehearse({"--test", test, "--json"});
        ASSERT_EQ(said.code, 0) << test << said.err;
        const Json flow = Json::parse(said.out)["flows"][0];
        ASSERT_GT(flow["messages"].get<int>(), 0) << test;
        EXPECT_EQ(flow["bytes"].get<int>() / flow["messages"].get<int>(), size) << test;
    }
}

TEST(ProbeRun, WrongWordsAreUsage) {
    EXPECT_EQ(rehearse({"--test", "read"}).code, 2);
    EXPECT_EQ(rehearse({"--seconds", "0"}).code, 2);
    EXPECT_EQ(rehearse({"--parallel", "0"}).code, 2);
    EXPECT_EQ(rehearse({"--faults", "/nonexistent"}).code, 2);
    EXPECT_EQ(rehearse({"--faults", script("bad", "at 0s lft-entry nobody lid=1 number=2\n")}).code, 2);
    EXPECT_EQ(run_cli({"probe", "run", kFatTree, "--faults", "x"}).code, 2) << "only of a simulated fabric";
    const Said keyless = run_cli({"probe", "run", kFatTree, "--no-store"});
    EXPECT_EQ(keyless.code, 2);
    EXPECT_NE(keyless.err.find("--key"), std::string::npos) << keyless.err;
    EXPECT_EQ(run_cli({"probe", "run", kFatTree, "--key", "/nonexistent/key", "--no-store"}).code, 4);
    EXPECT_EQ(run_cli({"probe", "run", "--socket", "/nonexistent/sock"}).code, 3);
    EXPECT_EQ(run_cli({"probe", "run", "--engine", "ftree", "--socket", "/nonexistent/sock"}).code, 2);
    EXPECT_EQ(
        run_cli({"probe", "run", kFatTree, "--no-traffic", "--no-store", "--port", "no_such0/1"}).code / 2, 1)
        << "no such port: usage, or nobody to ask by";
}

TEST(ProbeRunRows, FlowsThatWereNotReachedAreLeftOut) {
    const Json end{{"guid", "0x1"}, {"port", 1}, {"name", "a"}, {"lid", 3}};
    const Json hop{
        {"out", end}, {"in", end}, {"verdict", "seen-elsewhere"}, {"seen_at", end}, {"why", "odd"}};
    const auto flow = [&](bool ran, const std::string& text) {
        return Json{{"from", end},
                    {"to", end},
                    {"lid", 3},
                    {"round", 0},
                    {"ran", ran},
                    {"verdict", ran ? "proved" : "no-evidence"},
                    {"bytes", 64},
                    {"messages", 1},
                    {"bits_per_second", 5.5},
                    {"errors", 2},
                    {"text", text},
                    {"unproved", Json::array({hop})},
                    {"latency", Json{{"p50", 7}, {"p99", 8}, {"maximum", 9}}}};
    };
    Json report{
        {"flows", Json::array({flow(true, ""), flow(false, "no agent"), flow(false, "")})},
        {"findings",
         Json::array(
             {Json{{"kind", "wrong-entry"},
                   {"guid", "0x9"},
                   {"name", "leaf"},
                   {"port", 5},
                   {"lid", 7},
                   {"text", "odd"}},
              Json{{"kind", "dead-link"}, {"guid", "0x9"}, {"name", "leaf"}, {"port", 5}, {"text", "odd"}}})},
        {"interrupted", false},
        {"coverage", Json{{"links", 4}, {"crossed", 3}, {"pairs", 3}}}};
    const Json run = probe_run_json({"alice", "--size 1", "ftree", 1000, 3500}, report);
    ASSERT_EQ(run["flow_rows"].size(), 2U);
    EXPECT_EQ(run["flows"], 2);
    EXPECT_EQ(run["planned"], 3);
    EXPECT_EQ(run["proved"], 1);
    EXPECT_EQ(run["seconds"], 2.5);
    const Json& row = run["flow_rows"][0];
    EXPECT_EQ(row["round"], 1) << "people count from one";
    EXPECT_EQ(row["p50_ns"], 7);
    EXPECT_EQ(row["p99_ns"], 8);
    EXPECT_EQ(row["max_ns"], 9);
    EXPECT_EQ(row["bits_per_second"], 5);
    EXPECT_EQ(row["errors"], 2);
    EXPECT_EQ(row["text"], "a/1 -> a/1: seen-elsewhere at a/1 (odd)");
    EXPECT_EQ(run["finding_rows"][0]["lid"], 7) << "two of one port are told apart by it";
    EXPECT_TRUE(run["finding_rows"][1]["lid"].is_null());
    EXPECT_EQ(run["flow_rows"][1]["text"], "no agent") << "of what was not sent no hop is told";
    EXPECT_NE(probe_run_text(run, 5, 5).find("2 of 3 tried, 1 proved on every hop"), std::string::npos);
    report["interrupted"] = true;
    const Json stopped = probe_run_json({"alice", "--size 1", "ftree", 1000, 3500}, report);
    EXPECT_EQ(stopped["flow_rows"].size(), 1U) << "what had not begun when somebody said stop";
    EXPECT_NE(probe_run_text(stopped, 5, 5).find("1 of 3 tried, 1 proved on every hop; interrupted"),
              std::string::npos);
}

TEST(ProbeExplain, AllOrOne) {
    const Said all = run_cli({"probe", "explain", "--json"});
    EXPECT_EQ(all.code, 0);
    EXPECT_GT(Json::parse(all.out)["counters"].size(), 10U);
    const Said one = run_cli({"probe", "explain", "out_of_sequence"});
    EXPECT_EQ(one.code, 0);
    EXPECT_NE(one.out.find("out_of_sequence"), std::string::npos);
    EXPECT_EQ(run_cli({"probe", "explain", "nonsense\x1b"}).code, 2);
}

}  // namespace
}  // namespace ibf::cli
