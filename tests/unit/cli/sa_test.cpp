#include <gtest/gtest.h>

#include "cli/sa_text.hpp"
#include "tests/unit/cli/run_cli.hpp"

namespace ibf::cli {
namespace {

bool has(const std::string& text, std::string_view part) {
    return text.find(part) != std::string::npos;
}

Json group() {
    return Json::parse(R"({"mgid":"ff12:401b:ffff:0:0:0:ffff:ffff","mlid":"0xc000","pkey":"0xffff",
        "qkey":"0x00000b1b","mtu":2048,"rate_gbps":2.5,"sl":3,"well_known":true,"member_count":1234,
        "members":[{"port_guid":"0x01","node":"gpu-07","port":1,"join_states":["full","send-only"],"proxy":true},
                   {"port_guid":"0x02","join_states":[],"proxy":false}]})");
}

TEST(SaText, GroupsAreOneLineEach) {
    EXPECT_EQ(
        groups_text(Json::array({group()})),
        "MGID                            MLID    P_KEY   Q_KEY        MTU  RATE  SL  MEMBERS  WELL KNOWN\n"
        "ff12:401b:ffff:0:0:0:ffff:ffff  0xc000  0xffff  0x00000b1b  2048  2.5G   3     1234  yes\n");
    EXPECT_EQ(groups_text(Json::array()), "none\n");
}

TEST(SaText, AGroupNamesItsMembersAndHowTheyJoined) {
    const std::string text = group_text(group());
    EXPECT_TRUE(has(text, "members         1,234\n")) << text;
    EXPECT_TRUE(has(text, "0x01       gpu-07/1   full,send-only (by proxy)\n")) << text;
    EXPECT_TRUE(has(text, "0x02       port gone  -\n")) << text;
}

TEST(SaText, AGroupSaysWhoLimitsIt) {
    Json slow = group();
    slow["limiters"] = 5;
    slow["limited_by"] = Json::parse(R"([{"port_guid":"0x1","node":"gpu-07","port":1},{"port_guid":"0x2"}])");
    EXPECT_TRUE(has(group_text(slow), "limited by      gpu-07/1, port gone and 3 more\n"))
        << group_text(slow);
    EXPECT_FALSE(has(group_text(group()), "limited by"));
}

TEST(SaText, RefusedJoinsSayWhy) {
    EXPECT_EQ(refused_text(Json::array()), "");
    EXPECT_EQ(
        refused_text(Json::parse(R"([{"time":"2026-11-29T23:14:23.000Z","mgid":"ff12::1","node":"gpu-07",
        "port":1,"times":12,"reason":"it is too slow"}])")),
        "\nrefused joins\n"
        "TIME                      MGID     PORT      TIMES  REASON\n"
        "2026-11-29T23:14:23.000Z  ff12::1  gpu-07/1     12  it is too slow\n");
}

TEST(SaText, ServicesHaveLeases) {
    const Json rows = Json::parse(R"([
        {"id":"0x1","name":"SRP","gid":"fe80::1","node":"io","port":2,"pkey":"0x7fff",
         "lease_seconds":600,"remaining_seconds":125,"has_key":true},
        {"id":"0x2","name":"a\u001bb","gid":"fe80::2","pkey":"0x7fff","lease_seconds":null,
         "remaining_seconds":null,"has_key":false}])");
    const std::string text = services_text(rows);
    EXPECT_TRUE(has(text, "io/2")) << text;
    EXPECT_TRUE(has(text, "    600s  2m05s  yes")) << text;
    EXPECT_TRUE(has(text, "for ever      -  no")) << text;
    EXPECT_TRUE(has(text, "a?b")) << "control characters never reach the terminal: " << text;
    EXPECT_EQ(services_text(Json::array()), "none\n");
}

TEST(SaText, ActivitySaysWhoIsSubscribedToWhat) {
    const std::string text =
        sa_text(Json::parse(R"({"requests":12345,"answered":12000,"records":99,"dropped":7,
        "groups":1,"members":2,"services":0,
        "latency":{"count":12000,"median_seconds":0.00001,"p99_seconds":0.0005,"max_seconds":0.02},
        "by_kind":[{"method":"Get","attribute":"PathRecord","requests":12000,"per_second":12.34,
                    "latency":{"count":12000,"median_seconds":0.00001,"p99_seconds":0.0005,"max_seconds":0.02}},
                   {"method":"Set","attribute":"InformInfo","requests":2,"per_second":0,
                    "latency":{"count":0,"median_seconds":0,"p99_seconds":0,"max_seconds":0}}],
        "client_count":1001,
        "clients":[{"lid":12,"node":"gpu-07","port":1,"requests":9000,"per_second":12.34,"duplicates":3,"dropped":7,
                    "last_seen_seconds":2.5}],
        "subscriptions":[
          {"subscriber":"fe80::1","node":"gpu-07","port":1,"lid":12,"qpn":1,"state":"moved","generic":true,
           "type":"all","trap":null,"producer":"class-manager","about_first_lid":null,"about_last_lid":null},
          {"subscriber":"fe80::2","lid":13,"qpn":1,"generic":false,"type":"urgent","device_id":9,"vendor":"0x0002c9",
           "about_first_lid":4,"about_last_lid":5},
          {"subscriber":"fe80::3","lid":14,"qpn":1,"generic":true,"type":"urgent","trap":64,"producer":"all",
           "about_gid":"fe80::9"}]})"));
    EXPECT_TRUE(has(text, "12,345, 12,000 answered with 99 records")) << text;
    EXPECT_TRUE(has(text, "7 dropped (queue full)")) << text;
    EXPECT_TRUE(has(text, "1 group with 2 members, 0 services, 3 subscriptions")) << text;
    EXPECT_TRUE(has(text, "answers after   median 10us, p99 500us, max 20.0ms\n")) << text;
    EXPECT_TRUE(has(text, "Get     PathRecord     12000   12.3    10us  500us  20.0ms\n")) << text;
    EXPECT_TRUE(has(text, "Set     InformInfo         2    0.0       -      -       -\n")) << text;
    EXPECT_TRUE(has(text, " 12  gpu-07/1      9000   12.3           3        7  2.50s ago\n")) << text;
    EXPECT_TRUE(has(text, "and 1,000 more\n")) << text;
    EXPECT_TRUE(has(text, "gpu-07/1    12    1  moved  all")) << text;
    EXPECT_TRUE(has(text, "trap any of class-manager  all\n")) << text;
    EXPECT_TRUE(has(text, "device 9 of 0x0002c9       LID 4-5\n")) << text;
    EXPECT_TRUE(has(text, "trap 64 of all             fe80::9\n")) << text;
}

TEST(SaText, AnEmptySaHasNoTables) {
    const std::string text = sa_text(Json::object());
    EXPECT_TRUE(has(text, "0 groups with 0 members")) << text;
    EXPECT_FALSE(has(text, "METHOD")) << text;
    EXPECT_FALSE(has(text, "CLIENT")) << text;
    EXPECT_FALSE(has(text, "SUBSCRIBER")) << text;
}

TEST(SaCommands, WrongWordsAndNoDaemonHaveTheirExitCodes) {
    EXPECT_EQ(run_cli({"groups", "ff12::1", "ff12::2"}).code, 2) << "one group at a time";
    EXPECT_EQ(run_cli({"services", "srp"}).code, 2);
    EXPECT_EQ(run_cli({"sa", "--bogus"}).code, 2);
    for (const char* command : {"groups", "services", "sa"}) {
        EXPECT_EQ(run_cli({command, "--help"}).code, 0) << command;
        EXPECT_EQ(run_cli({command, "--socket", "/nonexistent/sock"}).code, 3) << command;
        EXPECT_EQ(run_cli({command, "--json", "--socket", "/nonexistent/sock"}).code, 3) << command;
    }
}

}  // namespace
}  // namespace ibf::cli
