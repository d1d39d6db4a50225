// ibfabric plan: one chain, engines side by side, failed cables, a job's hosts.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "routing/netlist.hpp"
#include "routing/routes.hpp"
#include "run_cli.hpp"

namespace ibf::cli {
namespace {

using nlohmann::json;

json plan_of(std::vector<std::string> words) {
    words.insert(words.begin(), "plan");
    words.emplace_back("--json");
    const Said said = run_cli(words);
    EXPECT_TRUE(said.code == 0 || said.code == 1) << said.err;
    return json::parse(said.out);
}

/// A file of that text, gone with the test.
class TextFile {
public:
    TextFile(const std::string& name, const std::string& text)
        : path_((std::filesystem::temp_directory_path() / ("ibf-plan-test-" + name)).string()) {
        std::ofstream(path_) << text;
    }
    ~TextFile() { std::filesystem::remove(path_); }
    TextFile(const TextFile&) = delete;
    TextFile& operator=(const TextFile&) = delete;
    [[nodiscard]] const std::string& path() const { return path_; }

private:
    std::string path_;
};

TEST(Plan, KeysThatScriptsRelyOn) {
    const json plan = plan_of({"fat-tree:radix=4,levels=2"});
    for (const char* key : {"engine",
                            "switches",
                            "end_ports",
                            "links",
                            "lids",
                            "compute_seconds",
                            "verify_seconds",
                            "vls",
                            "lane_faults",
                            "unreachable_pairs",
                            "loops",
                            "credit_loops",
                            "pairs_checked",
                            "switch_pairs_unreachable",
                            "max_link_load",
                            "mean_link_load",
                            "sigma_link_load",
                            "unused_links",
                            "max_hops",
                            "mean_hops",
                            "max_dilation",
                            "mean_dilation",
                            "attempts",
                            "hash",
                            "peak_rss_bytes",
                            "levels",
                            "patterns",
                            "hosts",
                            "seed"}) {
        EXPECT_TRUE(plan.contains(key)) << key;
    }
    EXPECT_TRUE(plan["patterns"].empty()) << "patterns take their time: only when asked for";
}

TEST(Plan, ComparesEachEngineByItself) {
    const Said said = run_cli({"plan", "ring:5", "--compare", "--engine", "minhop,updn", "--json"});
    EXPECT_EQ(said.code, 0) << said.err;
    const json plans = json::parse(said.out);
    ASSERT_EQ(plans.size(), 2U);
    EXPECT_EQ(plans[0]["engine"], "minhop");
    EXPECT_EQ(plans[0]["served"], false);
    EXPECT_NE(plans[0]["refused_because"].get<std::string>().find("credit loop"), std::string::npos);
    EXPECT_EQ(plans[0]["credit_loops"], 1);
    EXPECT_EQ(plans[0]["patterns"]["shift"]["count"], 4) << "refused tables are measured all the same";
    EXPECT_EQ(plans[1]["engine"], "updn");
    EXPECT_EQ(plans[1]["served"], true);
    EXPECT_EQ(plans[1]["refused_because"], "");
    EXPECT_EQ(plans[1]["credit_loops"], 0);
    EXPECT_EQ(run_cli({"plan", "ring:5", "--compare", "--engine", "minhop"}).code, 1) << "no engine serves";
    EXPECT_EQ(plan_of({"ring:5", "--compare"}).size(), routing::engine_names().size());
}

/// What a line of the table says after its title, with single blanks; "?" if there is no such line.
std::string cells(const std::string& table, const std::string& title) {
    const auto at = table.find("\n" + title + "  ");
    if (at == std::string::npos) {
        return "?";
    }
    std::istringstream line(
        table.substr(at + 1 + title.size(), table.find('\n', at + 1) - at - 1 - title.size()));
    std::string out;
    for (std::string word; line >> word;) {
        out += (out.empty() ? "" : " ") + word;
    }
    return out;
}

TEST(Plan, ComparisonIsATable) {
    const Said said = run_cli({"plan", "ring:5", "--compare", "--engine", "minhop,updn"});
    EXPECT_TRUE(
        said.out.starts_with("fabric      5 switches, 5 end ports, 10 links, 10 LIDs\n"
                             "traffic     5 of 5 end ports; shift: all 4 displacements; "
                             "permutation: 200 by seed 1; bisection: 200 by seed 1\n\n"))
        << said.out;
    EXPECT_EQ(cells(said.out, ""), "minhop updn");
    EXPECT_EQ(cells(said.out, "serves"), "no yes");
    EXPECT_EQ(cells(said.out, "credit loops"), "1 0");
    EXPECT_EQ(cells(said.out, "lanes"), "1 1");
    // Five switches in a ring: two hops at most, so displacement 1 and 4 load one, 2 and 3 two.
    EXPECT_EQ(cells(said.out, "shift: mean-max (max)"), "1.50 (2) 1.50 (2)");
    EXPECT_EQ(cells(said.out, "effective bisection").size(), std::string("0.807 0.785").size());
    EXPECT_EQ(cells(said.out, "  flows lost"), "?") << "nothing is lost, nothing is said of it";
    EXPECT_NE(said.out.find("\nminhop refused: routes could deadlock"), std::string::npos);
    EXPECT_EQ(said.out.find("updn refused"), std::string::npos);
}

TEST(Plan, PatternsOnAFullTree) {
    const json plans = plan_of({"fat-tree:radix=8,levels=3", "--compare", "--engine", "minhop,updn"});
    for (const json& plan : plans) {
        const json& shift = plan["patterns"]["shift"];
        EXPECT_EQ(shift["count"], 127);
        EXPECT_EQ(shift["possible"], 127);
        EXPECT_EQ(shift["mean_max"], 1.0);
        EXPECT_EQ(shift["max"], 1);
        EXPECT_EQ(shift["lost_flows"], 0);
        EXPECT_EQ(plan["patterns"]["permutation"]["count"], 200);
        EXPECT_GT(plan["patterns"]["permutation"]["mean_max"], 1.0);
        EXPECT_GT(plan["patterns"]["bisection"]["bandwidth"], 0.5);
        EXPECT_LT(plan["patterns"]["bisection"]["bandwidth"], 1.0);
    }
}

TEST(Plan, PatternsAskedFor) {
    const json plan =
        plan_of({"ring:5", "--engine", "updn", "--pattern", "shift,bisection", "--matchings", "7"});
    EXPECT_EQ(plan["patterns"].size(), 2U);
    EXPECT_EQ(plan["patterns"]["bisection"]["count"], 7);
    EXPECT_EQ(plan_of({"--pattern", "all", "--engine", "updn", "ring:5"})["patterns"].size(), 3U)
        << "an option does not swallow SPEC";
    const Said said = run_cli({"plan", "ring:5", "--engine", "updn", "--pattern", "shift"});
    EXPECT_NE(said.out.find("shift       worst link "), std::string::npos) << said.out;
    EXPECT_EQ(said.out.find("permutation "), std::string::npos);
    EXPECT_EQ(run_cli({"plan", "ring:5", "--pattern", "stencil"}).code, 2);
    EXPECT_EQ(run_cli({"plan", "ring:5", "--matchings", "0"}).code, 2);
    EXPECT_EQ(run_cli({"plan", "ring:5", "--vls", "16"}).code, 2);
    EXPECT_EQ(run_cli({"plan", "ring:5", "--compare", "--engine", "magic"}).code, 2);
}

TEST(Plan, FailedCablesAreTheGeneratorsMissingOnes) {
    const std::string tree = "fat-tree:radix=8,levels=3";
    const json failed = plan_of({tree, "--engine", "updn", "--fail", "10%", "--seed", "3"});
    EXPECT_EQ(failed["failed_links"], 26);
    EXPECT_EQ(failed["links"], 384 - 26);
    EXPECT_EQ(failed["hash"], plan_of({tree + ",missing-links=0.1,seed=3", "--engine", "updn"})["hash"]);
    EXPECT_NE(failed["hash"], plan_of({tree, "--engine", "updn", "--fail", "10%", "--seed", "4"})["hash"]);
    const TextFile file("tree.net", run_cli({"generate", tree}).out);
    EXPECT_EQ(failed["hash"],
              plan_of({file.path(), "--engine", "updn", "--fail", "10", "--seed", "3"})["hash"]);
    EXPECT_EQ(plan_of({file.path(), "--engine", "updn", "--fail", "0%"})["failed_links"], 0);
    for (const char* share : {"96%", "two", "%", "2%%", "nan", "inf", "1e9"}) {
        const Said said = run_cli({"plan", "ring:5", "--fail", share});
        EXPECT_EQ(said.code, 2) << share;
        EXPECT_NE(said.err.find("from 0% to 95%, like 2%"), std::string::npos) << said.err;
    }
}

TEST(Plan, OnlyAJobsHosts) {
    const TextFile job("job.txt", "# two leaves\nhost-0001\nhost-0002\nhost-0005\nhost-0006\n");
    const json plan =
        plan_of({"fat-tree:radix=8,levels=2", "--engine", "updn", "--pattern", "all", "--hosts", job.path()});
    EXPECT_EQ(plan["hosts"], 4);
    EXPECT_EQ(plan["end_ports"], 32);
    EXPECT_EQ(plan["patterns"]["shift"]["possible"], 3);
    EXPECT_EQ(plan["max_link_load"], 2) << "all-to-all: two hosts to each of two";
    const TextFile typo("typo.txt", "host-0001\nhost-0099x\n");
    const Said unknown = run_cli({"plan", "fat-tree:radix=8,levels=2", "--hosts", typo.path()});
    EXPECT_EQ(unknown.code, 2);
    EXPECT_NE(unknown.err.find("typo.txt:2: no host here is called 'host-0099x'"), std::string::npos)
        << unknown.err;
    const TextFile lone("lone.txt", "host-0001\n");
    EXPECT_EQ(run_cli({"plan", "fat-tree:radix=8,levels=2", "--hosts", lone.path()}).code, 2);
    EXPECT_EQ(run_cli({"plan", "fat-tree:radix=8,levels=2", "--hosts", "./no-such-list"}).code, 4);
}

TEST(Plan, PreferencesAreReadFromFiles) {
    // A 4-port tree of two levels: leaf 0 has hosts on ports 1 and 2, uplinks on 3 and 4.
    const std::vector<std::string> base{"fat-tree:radix=4,levels=2", "--engine", "minhop"};
    const auto with = [&](std::vector<std::string> more) {
        more.insert(more.begin(), base.begin(), base.end());
        return plan_of(more);
    };
    const json plain = with({});
    EXPECT_EQ(plain["remark"], "");
    const auto netlist = routing::generate_netlist(base.front());
    ASSERT_TRUE(netlist);
    std::string weights;
    std::string guids;
    for (const routing::NetlistNode& node : netlist->nodes) {
        if (node.type == mad::NodeType::switch_ && weights.empty()) {
            weights = fmt::format("# one way\n{} 3 4\n", node.guid);
        } else if (node.type == mad::NodeType::ca) {
            guids = fmt::format("{}\n{}", node.guid, guids);  // the last host first
        }
    }
    const TextFile weights_file("weights", weights);
    const TextFile guids_file("guids", guids);
    EXPECT_NE(with({"--hop-weights", weights_file.path()})["hash"], plain["hash"]);
    EXPECT_NE(with({"--guid-order", guids_file.path()})["hash"], plain["hash"]);
    EXPECT_EQ(with({"--slow-links", "avoid"})["hash"], plain["hash"]) << "all links run as fast as they can";
    const json tree = plan_of({base.front(), "--engine", "ftree", "--hop-weights", weights_file.path()});
    EXPECT_EQ(tree["remark"], "has no use for hop_weights_file");
    const Said said =
        run_cli({"plan", base.front(), "--engine", "ftree", "--hop-weights", weights_file.path()});
    EXPECT_NE(said.out.find("ftree: has no use for hop_weights_file"), std::string::npos) << said.out;
}

TEST(Plan, AFileThatIsNoneIsNamedWithItsLine) {
    const TextFile file("bad-weights", "# weights\nleaf-1 3 2\n");
    for (const std::string flag :
         {"--hop-weights", "--ignored-ports", "--compute-nodes", "--io-nodes", "--guid-order"}) {
        const Said said = run_cli({"plan", "fat-tree:radix=4,levels=2", flag, file.path()});
        EXPECT_EQ(said.code, 2) << flag;
        EXPECT_NE(said.err.find(file.path() + ":2:1: 'leaf-1' is not a GUID"), std::string::npos) << said.err;
        EXPECT_NE(run_cli({"plan", "fat-tree:radix=4,levels=2", flag, "/nowhere"}).code, 0);
    }
    EXPECT_NE(run_cli({"plan", "fat-tree:radix=4,levels=2", "--slow-links", "shun"}).code, 0);
}

TEST(Plan, FiguresDoNotDependOnThreads) {
    const auto figures = [](const char* threads) {
        json plans =
            plan_of({"fat-tree:radix=8,levels=3", "--compare", "--fail", "5%", "--threads", threads});
        for (json& plan : plans) {
            for (const char* key : {"compute_seconds", "verify_seconds", "peak_rss_bytes"}) {
                plan.erase(key);
            }
        }
        return plans.dump();
    };
    EXPECT_EQ(figures("1"), figures("2"));
}

/// A folder for the test, gone with it.
class Folder {
public:
    Folder() : path_(std::filesystem::temp_directory_path() / "ibf-plan-test-dump") {
        std::filesystem::remove_all(path_);
    }
    ~Folder() { std::filesystem::remove_all(path_); }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;
    [[nodiscard]] std::string path() const { return path_.string(); }
    [[nodiscard]] std::string file(const std::string& name) const { return (path_ / name).string(); }

private:
    std::filesystem::path path_;
};

/// What is dumped reads back: the fabric as a topology file, the tables as the engine "file".
TEST(Plan, DumpOfAPlan) {
    const Folder folder;
    const std::string spec = "torus:4x4,hosts=2";
    const json plan = plan_of({spec, "--engine", "updn", "--dump", folder.path()});
    ASSERT_EQ(plan["dump"].size(), 5U);
    for (const json& file : plan["dump"]) {
        EXPECT_EQ(std::filesystem::file_size(file["path"].get<std::string>()), file["bytes"]);
    }
    const json again = plan_of({spec, "--engine", "file", "--lfts", folder.file("opensm-lfts.dump")});
    EXPECT_EQ(again["engine"], "file");
    EXPECT_EQ(again["hash"], plan["hash"]);
    const json cables = plan_of({folder.file("opensm-subnet.lst")});
    EXPECT_EQ(cables["links"], plan["links"]);
    EXPECT_EQ(cables["lids"], plan["lids"]);
}

/// With the damage that the plan is of, and its LMC.
TEST(Plan, DumpOfADamagedFabric) {
    const Folder folder;
    const json plan =
        plan_of({"fat-tree:radix=8,levels=2", "--fail", "10%", "--lmc", "1", "--dump", folder.path()});
    EXPECT_GT(plan["failed_links"], 0);
    EXPECT_EQ(plan_of({folder.file("opensm-subnet.lst")})["links"], plan["links"]);
    std::ifstream guids(folder.file("guid2lid"));
    std::size_t lines = 0;
    for (std::string line; std::getline(guids, line);) {
        lines += line.empty() ? 0 : 1;
    }
    EXPECT_EQ(lines, plan["switches"].get<std::size_t>() + plan["end_ports"].get<std::size_t>());
}

TEST(Plan, DumpsAreOfOnePlanAndIntoAFolder) {
    const Said compared = run_cli({"plan", "ring:4", "--compare", "--dump", "dumps"});
    EXPECT_EQ(compared.code, 2);
    EXPECT_NE(compared.err.find("leave --compare out"), std::string::npos) << compared.err;
    const TextFile file("no-folder", "");
    const Said nowhere = run_cli({"plan", "ring:4", "--dump", file.path() + "/dumps"});
    EXPECT_EQ(nowhere.code, 4);
    EXPECT_NE(nowhere.err.find(file.path()), std::string::npos) << nowhere.err;
}

}  // namespace
}  // namespace ibf::cli
