#include "daemon/shell/config_file.hpp"

#include "daemon/shell/config_replica.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include <gtest/gtest.h>

#include "routing/lft_dump.hpp"

namespace ibf::shell {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

DaemonConfig good(const std::string& text) {
    auto config = parse_config(text, "t.toml");
    EXPECT_TRUE(config.has_value()) << (config ? "" : config.error().message);
    return config.value_or(DaemonConfig{});
}

std::string bad(const std::string& text) {
    const auto config = parse_config(text, "t.toml");
    EXPECT_FALSE(config.has_value()) << "was accepted: " << text;
    if (config) {
        return {};
    }
    EXPECT_EQ(config.error().kind, base::ErrorKind::parse);
    return config.error().message;
}

std::string file_text(const std::string& path) {
    std::ifstream file(path);
    EXPECT_TRUE(file.is_open()) << path;
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

/// A folder that goes when the test ends.
class TempFolder {
public:
    TempFolder() {
        std::string pattern = testing::TempDir() + "ibf-config-XXXXXX";
        path_ = ::mkdtemp(pattern.data());
    }
    ~TempFolder() { std::filesystem::remove_all(path_); }
    TempFolder(const TempFolder&) = delete;
    TempFolder& operator=(const TempFolder&) = delete;
    std::string write(const std::string& name, const std::string& text) const {
        std::ofstream(path_ + "/" + name) << text;
        return path_ + "/" + name;
    }
    [[nodiscard]] const std::string& path() const { return path_; }

private:
    std::string path_;
};

TEST(ConfigFile, EmptyTextIsTheDefaults) {
    EXPECT_EQ(dump_config(good("")), dump_config(DaemonConfig{}));
    EXPECT_EQ(dump_config(good("\xEF\xBB\xBF# only a comment\r\n")), dump_config(DaemonConfig{}));
}

TEST(ConfigFile, EveryKindOfValue) {
    const DaemonConfig config = good(R"(
[daemon]
port = "mlx5_0/1"
port_guid = "0x0002c90300a1b2c3"
log_level = "debug"
[database]
queue_max = 32
events_kept = 7
[sm]
subnet_prefix = "0xfec0000000000001"
priority = 15
sm_key = 0x10
lmc = 2
lmc_on_enhanced_port0 = true
sweep_interval = "1.5min"
trap_hold_down = "250 us"
[ports]
packet_life_time = 19
operational_vls_max = 8
hoq_life = 0x10
width_enabled = ["4x", "2x"]
speed_ext_enabled = ["HDR", "NDR"]
speed_ext2_enabled = ["XDR"]
[routing]
engines = ["updn"]
roots = ["0x2", "1", "0x0000000000000002"]
threads = 3
[mads]
window_total = 64
timeout = "20ms"
)");
    EXPECT_EQ(config.port, "mlx5_0/1");
    EXPECT_EQ(config.port_guid, mad::Guid{0x0002c90300a1b2c3});
    EXPECT_EQ(config.log_level, base::LogLevel::debug);
    EXPECT_EQ(config.database_queue_max, 32U);
    EXPECT_EQ(config.history.events, 7U);
    EXPECT_EQ(config.sm.subnet_prefix, 0xfec0000000000001ULL);
    EXPECT_EQ(config.sm.priority, 15);
    EXPECT_EQ(config.sm.sm_key, mad::SmKey{16});
    EXPECT_EQ(config.sm.lmc, 2);
    EXPECT_TRUE(config.sm.lmc_on_enhanced_port0);
    EXPECT_EQ(config.sm.sweep_interval, seconds{90});
    EXPECT_EQ(config.sm.trap_hold_down, microseconds{250});
    EXPECT_EQ(config.sm.packet_life_time, 19);
    EXPECT_EQ(config.sm.operational_vls_max, 4);  // the wire's code for 8 lanes
    EXPECT_EQ(config.sm.hoq_life, 16);
    EXPECT_EQ(config.sm.width_enabled, 2 | 16);
    EXPECT_EQ(config.sm.speed_enabled, 0);
    EXPECT_EQ(config.sm.speed_ext_enabled, 4 | 8);
    EXPECT_EQ(config.sm.speed_ext2_enabled, 1);
    EXPECT_EQ(config.sm.routing.engines, std::vector<std::string>{"updn"});
    EXPECT_EQ(config.sm.routing.root_guids, (std::vector<mad::Guid>{mad::Guid{2}, mad::Guid{1}}));
    EXPECT_EQ(config.sm.routing.threads, 3U);
    EXPECT_EQ(config.sm.mads.window_total, 64U);
    EXPECT_EQ(config.sm.mads.timeout, milliseconds{20});
    EXPECT_EQ(config.sm.mads.window_target, 4U);  // what was not said stays
}

TEST(ConfigFile, DumpReadsBackToTheSameValues) {
    DaemonConfig config;
    config.port = "quote \" backslash \\ tab \t";
    config.sm.sm_key = mad::SmKey{0xffffffffffffffffULL};
    config.sm.sweep_interval = microseconds{1'000'001};
    config.sm.width_enabled = 31;
    config.sm.operational_vls_max = 1;
    config.sm.routing.root_guids = {mad::Guid{7}, mad::Guid{0x8000000000000001ULL}};
    config.sm.mads.window_min = 1;
    const std::string text = dump_config(config);
    EXPECT_EQ(dump_config(good(text)), text);
    EXPECT_EQ(good(text).port, config.port);
    EXPECT_EQ(good(text).sm.routing.root_guids, config.sm.routing.root_guids);
}

TEST(ConfigFile, UnknownWordsNameTheNearest) {
    EXPECT_EQ(bad("[ports]\nmtu = 4096\nhoq_lif = 16\n"),
              "t.toml:2:1: unknown key 'mtu' in [ports]; its keys are: operational_vls_max, "
              "subnet_timeout, "
              "packet_life_time, hoq_life, hoq_life_hosts, vl_stall_count, error_threshold, width_enabled, "
              "speed_enabled, speed_ext_enabled, speed_ext2_enabled, separate_arm\n"
              "t.toml:3:1: unknown key 'hoq_lif' in [ports]; did you mean 'hoq_life'?");
    EXPECT_EQ(bad("[rooting]\nthreads = 1\n"),
              "t.toml:1:2: unknown section 'rooting'; did you mean 'routing'?");
    EXPECT_EQ(bad("[sm]\nhoq_life = 18\n"),
              "t.toml:2:1: hoq_life does not belong in [sm]: it is a key of [ports]");
    EXPECT_EQ(bad("lmc = 1\n"), "t.toml:1:1: lmc stands in no section: it is a key of [sm]");
    EXPECT_EQ(bad("sm = 1\n"),
              "t.toml:1:1: sm is an integer: it is a section, write [sm] on a line of its own");
    EXPECT_EQ(bad("[routing]\nengines = [\"minhop\", \"undn\"]\n"),
              "t.toml:2:22: engines: unknown engine 'undn'; did you mean 'updn'?");
    EXPECT_EQ(bad("[daemon]\nlog_level = \"inf\"\n"),
              "t.toml:2:13: log_level = 'inf' is unknown; did you mean 'info'?");
}

TEST(ConfigFile, WrongTypesAndRanges) {
    EXPECT_EQ(bad("[sm]\nlmc = 8\n"), "t.toml:2:7: lmc = 8 is out of range: 0..7");
    EXPECT_EQ(bad("[sm]\nlmc = -1\n"), "t.toml:2:7: lmc = -1 is out of range: 0..7");
    EXPECT_EQ(bad("[sm]\nlmc = \"1\"\n"), "t.toml:2:7: lmc is a string: expected an integer, 0..7");
    EXPECT_EQ(bad("[sm]\nlmc = {a = 1}\n"), "t.toml:2:7: lmc is a table: expected an integer, 0..7");
    EXPECT_EQ(bad("[sm]\nlmc = 1979-05-27\n"),
              "t.toml:2:7: lmc is a date or time: expected an integer, 0..7");
    EXPECT_EQ(bad("[ports]\nseparate_arm = 1\n"),
              "t.toml:2:16: separate_arm is an integer: expected a boolean, true or false");
    EXPECT_EQ(bad("[ports]\noperational_vls_max = 3\n"),
              "t.toml:2:23: operational_vls_max = 3 is none of its values: one of 1, 2, 4, 8, 15 data lanes");
    EXPECT_EQ(bad("[sm]\nsm_key = \"12345678901234567\"\n"),
              "t.toml:2:10: sm_key = '12345678901234567' is not a number of 64 bits: expected up to 16 hex "
              "digits, like "
              "\"0x0000000000000001\"");
    EXPECT_EQ(bad("[routing]\nroots = [\"0x0\"]\n"),
              "t.toml:2:10: roots: '0x0' is not a GUID: expected up to 16 hex digits, not all 0, like "
              "0x0002c90300a1b2c3");
    EXPECT_EQ(bad("[routing]\nengines = []\n"),
              "t.toml:2:11: engines is empty: expected at least one engine's name");
    EXPECT_EQ(bad("[daemon]\nsocket = \"run/x\"\n"),
              "t.toml:2:10: socket = 'run/x' cannot be used: expected an absolute path of at most 107 bytes");
    EXPECT_EQ(bad("[daemon]\nport = \"mlx5_0/x\"\n"),
              "t.toml:2:8: port = 'mlx5_0/x' cannot be used: expected DEVICE or "
              "DEVICE/PORT; empty: the first port that can serve");
}

TEST(ConfigFile, MulticastGroupsAreTables) {
    const DaemonConfig config = good(R"(
[sa]
when_full = "busy"
[[multicast.groups]]
ipoib = true
pkey = "0x0005"
scope = "site-local"
mtu = 2048
rate = "100 Gb/s"
[[multicast.groups]]
mgid = "ff15:a01c::7"
mtu = "auto"
rate = "auto"
sl = 3
qkey = "0x12345678"
)");
    EXPECT_EQ(config.sm.sa_when_full, fabric::WhenFull::busy);
    ASSERT_EQ(config.sm.multicast_groups.size(), 2U);
    const fabric::ConfiguredGroup& first = config.sm.multicast_groups[0];
    EXPECT_EQ(mad::to_string(first.mgid), "ff15:401b:8005:0:0:0:ffff:ffff");
    EXPECT_EQ(first.pkey, mad::PKey{0x8005});
    EXPECT_EQ(first.mtu, static_cast<std::uint8_t>(mad::Mtu::b2048));
    EXPECT_EQ(first.rate, 16) << "the code of 100 Gb/s";
    EXPECT_EQ(first.qkey, 0x0b1bU);
    const fabric::ConfiguredGroup& second = config.sm.multicast_groups[1];
    EXPECT_EQ(mad::to_string(second.mgid), "ff15:a01c:0:0:0:0:0:7");
    EXPECT_EQ(second.pkey, mad::kPKeyDefaultFull);
    EXPECT_EQ(second.mtu, 0);
    EXPECT_EQ(second.rate, 0);
    EXPECT_EQ(second.sl, 3);
    EXPECT_EQ(second.qkey, 0x12345678U);
    EXPECT_EQ(good(dump_config(config)).sm.multicast_groups, config.sm.multicast_groups);
    EXPECT_EQ(good("[multicast]\ngroups = [{ mgid = \"ff15:a01c::7\" }]\n").sm.multicast_groups.size(), 1U);
}

TEST(ConfigFile, MulticastGroupsThatAreWrong) {
    const std::string begin = "[[multicast.groups]]\n";
    EXPECT_EQ(
        bad(begin + "ipoib = true\nrate = \"99 Gb/s\"\n"),
        "t.toml:3:8: rate = '99 Gb/s' cannot be used: expected \"auto\", or one of 2.5, 5, 10, 14, 20, 25, "
        "28, 30, 40, 50, 56, 60, 80, 100, 112, 120, 168, 200, 300, 400, 600, 800, 1200 with \"Gb/s\"");
    EXPECT_EQ(bad(begin + "ipoib = true\nrate = 100\n"),
              "t.toml:3:8: rate = 100 cannot be used: expected a string with a unit, like \"100 Gb/s\"");
    EXPECT_EQ(
        bad(begin + "ipoib = true\nmtu = 1500\n"),
        "t.toml:3:7: mtu = 1500 cannot be used: expected 256, 512, 1024, 2048 or 4096 bytes, or \"auto\"");
    EXPECT_EQ(bad(begin + "mgid = \"fe80::1\"\n").substr(0, 10), "t.toml:2:8");
    EXPECT_EQ(bad(begin + "sl = 1\n"), "t.toml:1:1: a group needs a name: mgid, or ipoib = true");
    EXPECT_EQ(bad(begin + "ipoib = true\nmgid = \"ff12::1\"\n"),
              "t.toml:1:1: mgid and ipoib are both given: keep one of them");
    EXPECT_EQ(bad(begin + "mgid = \"ff12::1\"\nscope = \"global\"\n"),
              "t.toml:3:9: scope differs from that of mgid: leave it out");
    EXPECT_EQ(
        bad(begin + "ipoib = true\nscope = \"here\"\n"),
        "t.toml:3:9: scope = 'here' cannot be used: expected link-local, site-local, organization-local or "
        "global");
    EXPECT_EQ(bad(begin + "ipoib = true\nmtuu = 1\n"),
              "t.toml:3:1: unknown key 'mtuu' of a group; did you mean 'mtu'?");
    EXPECT_EQ(bad(begin + "ipoib = true\nsl = 16\npkey = 0\nqkey = -1\n"),
              "t.toml:3:6: sl = 16 cannot be used: expected an integer, 0..15\n"
              "t.toml:4:8: pkey = 0 cannot be used: expected a P_Key, \"0x0001\"..\"0xffff\"\n"
              "t.toml:5:8: qkey = -1 cannot be used: expected 32 bits, \"0x0\"..\"0xffffffff\"");
    EXPECT_EQ(bad(begin + "ipoib = true\n" + begin + "ipoib = true\npkey = 0x7fff\n"),
              "t.toml:3:1: group ff12:401b:ffff:0:0:0:ffff:ffff is there twice");
    EXPECT_EQ(
        bad("[multicast]\ngroups = 3\n"),
        "t.toml:2:10: groups is an integer: expected a list of tables, each begun by [[multicast.groups]]");
    EXPECT_EQ(bad("[multicast]\ngroups = [3]\n"),
              "t.toml:2:11: groups has an integer in its list: expected tables");
    EXPECT_EQ(
        bad("[[multicast.groups]]\nipoib = true\n[[multicast.groups.a.b.c]]\nx = [[[{y = [1]}]]]\n"),
        "t.toml:3:20: unknown key 'a' of a group; its keys are: mgid, ipoib, pkey, mtu, rate, sl, qkey, "
        "scope");
    EXPECT_EQ(bad("[sa]\nwhen_full = \"bus\"\n"),
              "t.toml:2:13: when_full = 'bus' is unknown; did you mean 'busy'?");
}

TEST(ConfigFile, ReplicaListsAddressesAndNames) {
    const DaemonConfig config = good(
        "[replica]\nlisten = \"[::]:7917\"\npeers = [\"sm1.example:7917\", \"[fe80::1%ib0]:1\"]\n"
        "names = [\"sm1\"]\nkey = \"/k\"\ncertificate = \"/c\"\nca = \"/a\"\non_difference = \"refuse\"\n");
    EXPECT_EQ(config.replica.peers, (std::vector<std::string>{"sm1.example:7917", "[fe80::1%ib0]:1"}));
    EXPECT_EQ(config.replica.names, std::vector<std::string>{"sm1"});
    EXPECT_EQ(config.replica.on_difference, OnDifference::refuse);
    EXPECT_TRUE(config.replica.used());
    EXPECT_FALSE(DaemonConfig{}.replica.used()) << "without the section nothing listens";
    for (const char* address :
         {"sm1", ":7917", "sm1:", "sm1:65536", "sm1:-1", "::1:7917", "sm 1:7917", "sm1:http"}) {
        EXPECT_FALSE(host_and_port(address)) << address;
        EXPECT_NE(bad(fmt::format("[replica]\npeers = [\"{}\"]\n", address)).find("peers: "),
                  std::string::npos);
        EXPECT_NE(bad(fmt::format("[replica]\nlisten = \"{}\"\n", address)).find("cannot be used"),
                  std::string::npos);
    }
    EXPECT_FALSE(parse_config("[replica]\nkey = \"sm.key\"\n", "x")) << "a relative path";
}

TEST(ConfigFile, DurationsWantAUnit) {
    EXPECT_EQ(bad("[sm]\nsweep_interval = 10\n"),
              "t.toml:2:18: sweep_interval has no unit: write it as a string with us, ms, s, min or h, like "
              "sweep_interval = \"10s\"");
    EXPECT_EQ(bad("[sm]\nsweep_interval = \"10\"\n"),
              "t.toml:2:18: sweep_interval = '10' is not a duration: a number and one of us, ms, s, min, h "
              "is expected, "
              "\"0s\"..\"24h\"");
    EXPECT_EQ(bad("[sm]\nsweep_interval = \"25h\"\n"),
              "t.toml:2:18: sweep_interval = '25h' is out of range: \"0s\"..\"24h\"");
    for (const char* text :
         {"", "s", "-1s", "inf s", "nan s", "1e3s", "1 week", "1s ", "99999999999999999999h"}) {
        bad(fmt::format("[sm]\nsweep_interval = \"{}\"\n", text));
    }
    EXPECT_EQ(good("[sm]\nsweep_interval = \"0s\"\n").sm.sweep_interval, base::Duration::zero());
}

TEST(ConfigFile, SaysAllThatIsWrongInTheOrderOfTheFile) {
    const std::string message =
        bad("[sm]\nlmc = 9\nnope = 1\npriority = 1\n[mads]\nretries = 99\n[daemon]\nport = 3\n");
    std::vector<std::string> lines;
    std::istringstream stream(message);
    for (std::string line; std::getline(stream, line);) {
        lines.push_back(line.substr(0, 10));
    }
    EXPECT_EQ(lines, (std::vector<std::string>{"t.toml:2:7", "t.toml:3:1", "t.toml:6:1", "t.toml:8:8"}));
}

TEST(ConfigFile, WhatIsWrongTogether) {
    EXPECT_EQ(bad("[mads]\nwindow_total = 8\nwindow_min = 9\n"),
              "t.toml:3:14: window_min = 9 is above window_total = 8");
    EXPECT_EQ(bad("[mads]\ntimeout_max = \"10ms\"\n"),
              "t.toml:1:1: timeout = \"200ms\" is above timeout_max = \"10ms\"");
    EXPECT_EQ(bad("[routing]\nroots = [\"0x1\"]\nroot_guid_file = \"r\"\n"),
              "t.toml:3:18: roots and root_guid_file are both given: keep one of them");
    EXPECT_EQ(bad("[replica]\npeers = [\"sm1:7917\"]\nkey = \"/k\"\nca = \"/a\"\n"),
              "t.toml:2:9: copies go over TLS alone: give certificate, key and ca, too");
    EXPECT_EQ(bad("[replica]\nlisten = \"[::]:7917\"\n"),
              "t.toml:2:10: copies go over TLS alone: give certificate, key and ca, too");
}

TEST(ConfigFile, GrammarErrorsHaveTheirPosition) {
    EXPECT_TRUE(bad("[sm]\nlmc = 1\nlmc = 2\n").starts_with("t.toml:3:")) << bad("[sm]\nlmc = 1\nlmc = 2\n");
    EXPECT_TRUE(bad("[sm]\nlmc = \n").starts_with("t.toml:2:"));
    for (const char* header : {"[#x]\n", "[=]\n", "[.]\n", "[[;]]\n", "[sm.]\n", "[sm.#]\n"}) {
        EXPECT_TRUE(bad(header).starts_with("t.toml:1:")) << header;
    }
    EXPECT_TRUE(bad("[sm\n").starts_with("t.toml:1:"));
    EXPECT_TRUE(bad("[sm]\nport = \"\xFF\"\n").starts_with("t.toml:2:"));
}

TEST(ConfigFile, HostileTextIsRefusedInBoundedSpace) {
    EXPECT_EQ(bad(std::string(kConfigBytesMax + 1, '#')), "t.toml:1:1: larger than 262144 bytes");
    std::string deep = "# a comment may have dots " + std::string(100, '.') + "\n";
    good(deep);
    for (int i = 0; i < 100'000; ++i) {
        deep += "a.";
    }
    EXPECT_EQ(bad(deep + "a = 1\n"),
              "t.toml:2:1: too many dots in one line: keys are written [section] and key = value");
    EXPECT_EQ(bad(std::string("[sm]\n[\0, ]\n", 11)), "t.toml:2:2: control character 0x00");
    bad("x = " + std::string(100'000, '['));
    std::string many = "[sm]\n";
    for (int i = 0; i < 10'000; ++i) {
        many += fmt::format("key{} = 1\n", i);
    }
    const std::string message = bad(many);
    EXPECT_EQ(std::count(message.begin(), message.end(), '\n'), 50);
    EXPECT_TRUE(message.ends_with("\n... and 9950 more"));
    EXPECT_NE(bad("\"\\u001b[2J\" = 1\n").find("'\\x1b[2J'"),
              std::string::npos);  // no escape reaches a terminal
}

TEST(ConfigFile, RootGuidFileIsReadBesideTheConfiguration) {
    const TempFolder folder;
    folder.write("roots",
                 "# spines\n0x0002c90300000002  # left\n\n  0002c90300000001\r\n0x0002c90300000002\n");
    const std::string path = folder.write("c.toml", "[routing]\nroot_guid_file = \"roots\"\n");
    const auto config = load_config(path);
    ASSERT_TRUE(config.has_value()) << config.error().message;
    EXPECT_EQ(config->sm.routing.root_guids,
              (std::vector<mad::Guid>{mad::Guid{0x0002c90300000001}, mad::Guid{0x0002c90300000002}}));
    EXPECT_EQ(dump_config(*config), dump_config(*parse_config(dump_config(*config), "dump")));

    folder.write("roots", "0x1\nswitch-1\n0\n");
    const auto refused = load_config(path);
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().message,
              folder.path() +
                  "/roots:2:1: 'switch-1' is not a GUID: expected up to 16 hex digits, not all 0, like "
                  "0x0002c90300a1b2c3\n" +
                  folder.path() +
                  "/roots:3:1: '0' is not a GUID: expected up to 16 hex digits, not all 0, like "
                  "0x0002c90300a1b2c3");
    folder.write("roots", "# none\n");
    EXPECT_FALSE(load_config(path).has_value());
    std::filesystem::remove(folder.path() + "/roots");
    ASSERT_FALSE(load_config(path).has_value());
    EXPECT_EQ(load_config(path).error().message,
              "root_guid_file " + folder.path() + "/roots cannot be opened: No such file or directory");
}

TEST(ConfigFile, LftsFileIsReadBesideTheConfiguration) {
    const TempFolder folder;
    folder.write("lfts",
                 "Unicast lids [0-1] of switch Lid 2 guid 0x0000000000000007 ('a'):\n"
                 "0x0001 003 # Channel Adapter portguid 0x0000000000000009: 'host'\n");
    const std::string path = folder.write("c.toml", "[routing]\nlfts_file = \"lfts\"\n");
    const auto config = load_config(path);
    ASSERT_TRUE(config.has_value()) << config.error().message;
    ASSERT_NE(config->sm.routing.lfts, nullptr);
    ASSERT_EQ(config->sm.routing.lfts->tables.size(), 1U);
    EXPECT_EQ(config->sm.routing.lfts->tables[0].switch_guid, mad::Guid{7});
    folder.write("lfts", "nothing of the kind\n");
    ASSERT_FALSE(load_config(path).has_value());
    EXPECT_NE(load_config(path).error().message.find("lfts_file " + folder.path() + "/lfts: "),
              std::string::npos);
}

/// Each time the configuration is read, so are the files that it names: at a reload too.
TEST(ConfigFile, PreferenceFilesAreReadBesideTheConfiguration) {
    const TempFolder folder;
    folder.write("weights", "0x1 3 2\n");
    folder.write("ignored", "0x1 4\n");
    folder.write("cn", "0x12\n0x11\n");
    folder.write("io", "0x13\n");
    folder.write("order", "0x14\n0x12\n");
    const std::string path = folder.write("c.toml",
                                          "[routing]\n"
                                          "slow_links = \"weigh\"\n"
                                          "hop_weights_file = \"weights\"\n"
                                          "port_prof_ignore_file = \"ignored\"\n"
                                          "cn_guid_file = \"cn\"\n"
                                          "io_guid_file = \"io\"\n"
                                          "guid_routing_order_file = \"order\"\n");
    const auto config = load_config(path);
    ASSERT_TRUE(config.has_value()) << config.error().message;
    const routing::SwitchPort third{mad::Guid{1}, mad::PortNum{3}};
    const routing::SwitchPort fourth{mad::Guid{1}, mad::PortNum{4}};
    routing::Preferences wanted;
    wanted.slow_links = routing::SlowLinks::weigh;
    wanted.hop_weights = {{third, 2}};
    wanted.ignored_ports = {fourth};
    wanted.compute_nodes = {mad::Guid{0x11}, mad::Guid{0x12}};
    wanted.io_nodes = {mad::Guid{0x13}};
    wanted.order = {mad::Guid{0x14}, mad::Guid{0x12}};
    EXPECT_EQ(config->sm.routing.preferences, wanted);
    const auto again = parse_config(dump_config(*config), "dump");
    ASSERT_TRUE(again.has_value()) << again.error().message;
    EXPECT_EQ(again->sm.preference_files, config->sm.preference_files);

    folder.write("weights", "0x1 3 5\n");
    ASSERT_TRUE(load_config(path).has_value());
    EXPECT_EQ(load_config(path)->sm.routing.preferences.hop_weights[0].hops, 5);
    folder.write("cn", "0x12\nnode-1\n");
    ASSERT_FALSE(load_config(path).has_value());
    EXPECT_EQ(load_config(path).error().message,
              folder.path() +
                  "/cn:2:1: 'node-1' is not a GUID: expected up to 16 hex digits, not all 0, like "
                  "0x0002c90300a1b2c3");
    std::filesystem::remove(folder.path() + "/cn");
    EXPECT_EQ(load_config(path).error().message,
              "cn_guid_file " + folder.path() + "/cn cannot be opened: No such file or directory");
}

TEST(ConfigFile, FilesThatCannotBeRead) {
    const TempFolder folder;
    const auto missing = load_config(folder.path() + "/none.toml");
    ASSERT_FALSE(missing.has_value());
    EXPECT_EQ(missing.error().kind, base::ErrorKind::io);
    EXPECT_FALSE(load_config(folder.path()).has_value());  // a folder
    const auto large = load_config(folder.write("large.toml", std::string(kConfigBytesMax + 1, '\n')));
    ASSERT_FALSE(large.has_value());
    EXPECT_NE(large.error().message.find("larger than"), std::string::npos);
}

// C75, C115: whatever a reload meets, the value in force is only replaced by a whole new one.
TEST(ConfigFile, ABrokenReloadLeavesTheConfigurationInForce) {
    const TempFolder folder;
    const std::string path = folder.write("c.toml", "[sm]\nlmc = 3\n");
    auto in_force = load_config(path).value();
    const std::string before = dump_config(in_force);
    for (const char* broken :
         {"[sm]\nlmc = 4\nlmc", "[sm]\nlmc = 4\npriority = 16\n", "lmc = 4\n", "\xFF\xFE"}) {
        folder.write("c.toml", broken);
        if (auto next = load_config(path)) {
            in_force = *next;
        } else {
            EXPECT_TRUE(next.error().message.starts_with(path + ":")) << next.error().message;
        }
        EXPECT_EQ(dump_config(in_force), before) << broken;
    }
    folder.write("c.toml", "[sm]\nlmc = 4\n");
    EXPECT_EQ(load_config(path)->sm.lmc, 4);
}

TEST(ConfigFile, SaysWhatTakesARestart) {
    const DaemonConfig running;
    DaemonConfig next;
    next.sm.lmc = 1;
    next.log_level = base::LogLevel::debug;
    EXPECT_TRUE(changed_at_start_only(running, next).empty());
    next.state_dir = "/elsewhere";
    next.history.sweeps = 5;
    EXPECT_EQ(changed_at_start_only(running, next),
              (std::vector<std::string>{"daemon.state_dir", "database.sweeps_kept"}));
}

TEST(ConfigOptions, DefaultsAreInsideTheirOwnRanges) {
    std::set<std::string> names;
    for (const OptionInfo& info : config_options()) {
        EXPECT_TRUE(names.insert(info.key).second || info.key == "queue_max")
            << info.key << " is there twice";
        good(fmt::format("[{}]\n{} = {}\n", info.section, info.key, info.standard));
        EXPECT_TRUE(info.help.ends_with('.')) << info.key;
        EXPECT_FALSE(info.range.empty()) << info.key;
    }
    EXPECT_GE(names.size(), 40U);
}

// With IBF_REWRITE=1 the file is written anew.
TEST(ConfigOptions, ExampleFileIsTheTable) {
    const std::string path = "docs/ibfabricd.toml";
    if (std::getenv("IBF_REWRITE") != nullptr) {
        std::ofstream(path) << example_config();
    }
    const std::string text = file_text(path);
    EXPECT_EQ(text, example_config()) << "run this test with IBF_REWRITE=1";

    // Taking the '#' off its keys gives the defaults.
    std::istringstream stream(text);
    std::string active;
    for (std::string line; std::getline(stream, line);) {
        const bool is_key = line.size() > 1 && line[0] == '#' && line[1] != ' ';
        active += (is_key ? line.substr(1) : line) + "\n";
    }
    EXPECT_EQ(dump_config(good(active)), dump_config(DaemonConfig{}));
}

TEST(ConfigOptions, ManPageNamesEveryKeyWithRangeAndDefault) {
    std::string page = file_text("man/ibfabricd.conf.5");
    std::erase(page, '\\');  // roff writes \- for a hyphen, \fB for bold
    for (const OptionInfo& info : config_options()) {
        EXPECT_NE(page.find(fmt::format(".SS [{}]", info.section)), std::string::npos) << info.section;
        EXPECT_NE(page.find(fmt::format("fB{} = {}fR\n", info.key, info.standard)), std::string::npos)
            << info.section << "." << info.key << " or its default " << info.standard;
        EXPECT_NE(page.find(info.range), std::string::npos) << info.key << ": " << info.range;
    }
}

}  // namespace
}  // namespace ibf::shell
