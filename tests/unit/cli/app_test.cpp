#include "cli/app.hpp"

#include <filesystem>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/unit/cli/run_cli.hpp"

namespace ibf::cli {
namespace {

TEST(App, WrongWordsAreUsageErrors) {
    EXPECT_EQ(run_cli({}).code, 2);
    const Said unknown = run_cli({"stauts"});
    EXPECT_EQ(unknown.code, 2);
    EXPECT_NE(unknown.err.find("stauts"), std::string::npos);
    EXPECT_EQ(run_cli({"nodes", "--bogus"}).code, 2);
    EXPECT_EQ(run_cli({"path", "only-one"}).code, 2);
    EXPECT_EQ(run_cli({"export", "--format", "pdf"}).code, 2);
    EXPECT_EQ(run_cli({"plan", "ring:4", "--engine", "magic"}).code, 2);
    EXPECT_EQ(run_cli({"generate", "nosuch:4"}).code, 2);
}

TEST(App, HelpAndVersionAreNoErrors) {
    EXPECT_EQ(run_cli({"--version"}).code, 0);
    const Said help = run_cli({"plan", "--help"});
    EXPECT_EQ(help.code, 0);
    EXPECT_NE(help.out.find("--engine"), std::string::npos);
}

TEST(App, NoDaemonIsItsOwnExitCode) {
    for (const char* command : {"status", "nodes", "check", "sweep", "events"}) {
        EXPECT_EQ(run_cli({command, "--socket", "/nonexistent/sock"}).code, 3) << command;
    }
}

TEST(App, PlanSaysWhoServesAndWhyNot) {
    const Said said = run_cli({"plan", "ring:5", "--engine", "minhop,updn", "--json"});
    EXPECT_EQ(said.code, 0) << said.err;
    const auto plan = nlohmann::json::parse(said.out);
    EXPECT_EQ(plan["engine"], "updn");
    EXPECT_EQ(plan["credit_loops"], 0);
    EXPECT_EQ(plan["unreachable_pairs"], 0);
    EXPECT_NE(plan["attempts"][0]["refused_because"].get<std::string>().find("credit loop"),
              std::string::npos);
    EXPECT_EQ(run_cli({"plan", "ring:5", "--engine", "minhop"}).code, 1)
        << "none of the engines asked for serves";
    EXPECT_NE(run_cli({"plan", "ring:5"}).out.find("minhop refused"), std::string::npos);
}

TEST(App, PlanNamesATableFileThatItCannotTake) {
    const Said missing = run_cli({"plan", "ring:5", "--engine", "file", "--lfts", "/nonexistent/lfts"});
    EXPECT_NE(missing.code, 0);
    EXPECT_NE(missing.err.find("/nonexistent/lfts cannot be read"), std::string::npos) << missing.err;
    EXPECT_NE(run_cli({"plan", "ring:5", "--engine", "file"}).out.find("file refused: no tables were given"),
              std::string::npos);
}

TEST(App, GeneratedFabricsAreReadBack) {
    const std::string path = (std::filesystem::temp_directory_path() / "ibf-app-test.net").string();
    const Said made = run_cli({"generate", "fat-tree:radix=4,levels=2", "-o", path, "--json"});
    ASSERT_EQ(made.code, 0) << made.err;
    EXPECT_EQ(nlohmann::json::parse(made.out)["links"], 16);
    const auto plan = nlohmann::json::parse(run_cli({"plan", path, "--json"}).out);
    EXPECT_EQ(plan["switches"], 6);
    EXPECT_EQ(plan["end_ports"], 8);
    EXPECT_EQ(run_cli({"generate", "fat-tree:radix=4,levels=2"}).out.size(),
              std::filesystem::file_size(path));
    std::filesystem::remove(path);
}

}  // namespace
}  // namespace ibf::cli
