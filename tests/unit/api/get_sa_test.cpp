// Groups, services and the SA's counters, as the API shows them: from a snapshot made by hand.
#include <algorithm>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "daemon/api/api.hpp"
#include "mad/sa_mad.hpp"
#include "tests/unit/fabric_from_netlist.hpp"

namespace ibf::api {
namespace {

using Json = nlohmann::json;
using namespace std::chrono_literals;

constexpr base::Instant kNow{1000s};

constexpr const char* kBroadcast = "ff12:401b:ffff:0:0:0:ffff:ffff";

fabric::Group broadcast_group() {
    fabric::Group group;
    group.mgid = mad::parse_gid(kBroadcast).value();
    group.mlid = mad::Mlid{0xC000};
    group.qkey = 0xB1B;
    group.mtu = static_cast<std::uint8_t>(mad::Mtu::b2048);
    group.rate = 16;  // the code of 100 Gb/s
    group.pkey = mad::kPKeyDefaultFull;
    group.sl = 3;
    group.scope = 2;
    group.well_known = true;
    return group;
}

fabric::Service service() {
    fabric::Service service;
    service.id = 0x1000;
    service.gid = {0xfe80000000000000ULL, mad::Guid{0x1234}};
    service.pkey = mad::kPKeyDefaultLimited;
    service.lease = 600;
    service.until = kNow + 125'900ms;
    service.record[32] = 0x5A;  // of its key
    constexpr std::string_view kName = "SRP.T10:feed\xff";
    std::copy(kName.begin(), kName.end(), service.record.begin() + 48);
    service.record[112] = 0xAB;
    return service;
}

/// Notices of trap 64 (a port came up) from any class manager.
fabric::Subscription subscription(mad::Gid subscriber) {
    fabric::Subscription subscription;
    subscription.subscriber = subscriber;
    subscription.number = 7;
    subscription.lid = mad::Lid{12};
    subscription.qpn = 1;
    auto& bytes = subscription.inform_info;
    bytes[16] = bytes[17] = 0xFF;  // LIDRangeBegin: all
    bytes[22] = 1;                 // IsGeneric
    bytes[24] = 0;
    bytes[25] = 3;   // Type
    bytes[27] = 64;  // TrapNumber
    bytes[35] = 4;   // ProducerType
    return subscription;
}

class GetSaTest : public ::testing::Test {
protected:
    void SetUp() override {
        snapshot_ = test::snapshot_of_spec("fat-tree:radix=4,levels=2");
        ASSERT_NE(snapshot_.fabric, nullptr);
        const auto host = std::find_if(snapshot_.fabric->nodes.begin(), snapshot_.fabric->nodes.end(),
                                       [](const fabric::Node& node) { return !node.is_switch(); });
        name_ = host->description;
        port_ = host->ports[1].guid;
        lid_ = fabric::lids_of(*host, mad::PortNum{1}).base;
        gid_ = {0xfe80000000000000ULL, port_};
        auto tables = std::make_shared<fabric::SaTables>();
        fabric::Group group = broadcast_group();
        group.members[port_] = {gid_, fabric::kFullMember | fabric::kSendOnlyNonMember, false};
        group.members[mad::Guid{0xDEAD}] = {{gid_.prefix, mad::Guid{0xDEAD}}, fabric::kNonMember, true};
        tables->groups[group.mgid] = std::make_shared<const fabric::Group>(group);
        fabric::Group empty = broadcast_group();
        empty.mgid = mad::parse_gid("ff12:601b:ffff::1").value();
        empty.mlid = mad::Mlid{0xC001};
        empty.well_known = false;
        tables->groups[empty.mgid] = std::make_shared<const fabric::Group>(empty);
        tables->services[{0x1000, service().gid, service().pkey}] =
            std::make_shared<const fabric::Service>(service());
        tables->subscriptions.push_back(std::make_shared<const fabric::Subscription>(subscription(gid_)));
        snapshot_.sa = tables;
    }

    std::pair<int, Json> get(const std::string& target) const {
        HttpReply reply = handle({"GET", target, "", kNow}, snapshot_);
        Json body = Json::parse(take_body(reply), nullptr, false);
        EXPECT_FALSE(body.is_discarded()) << target;
        return {reply.status, std::move(body)};
    }

    fabric::Snapshot snapshot_;
    std::string name_;
    mad::Guid port_{};
    mad::Lid lid_{};
    mad::Gid gid_{};
};

TEST_F(GetSaTest, GroupsAreInOperatorsUnits) {
    const auto [status, body] = get("/v1/groups");
    ASSERT_EQ(status, 200);
    ASSERT_EQ(body["groups"].size(), 2U);
    const Json& group = body["groups"][0];
    EXPECT_EQ(group["mgid"], kBroadcast);
    EXPECT_EQ(group["mlid"], "0xc000");
    EXPECT_EQ(group["pkey"], "0xffff");
    EXPECT_EQ(group["qkey"], "0x00000b1b");
    EXPECT_EQ(group["mtu"], 2048);
    EXPECT_EQ(group["rate_gbps"], 100.0);
    EXPECT_EQ(group["sl"], 3);
    EXPECT_EQ(group["well_known"], true);
    EXPECT_EQ(group["member_count"], 2);
    EXPECT_EQ(body["groups"][1]["members"], Json::array());
}

TEST_F(GetSaTest, MembersAreNamedEvenWhereThePortIsGone) {
    const Json body = get("/v1/groups?mgid=ff12:401b:ffff::ffff:ffff").second;
    ASSERT_EQ(body["groups"].size(), 1U);
    const Json& members = body["groups"][0]["members"];
    ASSERT_EQ(members.size(), 2U);
    const bool gone_first = members[0]["port_guid"] == "0x000000000000dead";
    const Json& here = members[gone_first ? 1 : 0];
    const Json& gone = members[gone_first ? 0 : 1];
    EXPECT_EQ(here["port_guid"], fmt::format("{}", port_));
    EXPECT_EQ(here["node"], name_);
    EXPECT_EQ(here["port"], 1);
    EXPECT_EQ(here["join_states"], (Json{"full", "send-only"}));
    EXPECT_EQ(here["proxy"], false);
    EXPECT_FALSE(gone.contains("node"));
    EXPECT_EQ(here["gone"], false);
    EXPECT_EQ(gone["gone"], true);
    EXPECT_EQ(gone["join_states"], Json{"non"});
    EXPECT_EQ(gone["proxy"], true);
}

TEST_F(GetSaTest, MembersMayBeLeftOut) {
    const Json body = get("/v1/groups?members=no").second;
    EXPECT_EQ(body["groups"][0]["member_count"], 2);
    EXPECT_FALSE(body["groups"][0].contains("members"));
    EXPECT_EQ(get("/v1/groups?members=some").first, 400);
}

TEST_F(GetSaTest, GroupsNameWhoLimitsThem) {
    auto tables = std::make_shared<fabric::SaTables>(*snapshot_.sa);
    fabric::Group group = broadcast_group();
    group.limited_by = {port_};
    group.limiters = 5;
    tables->groups[group.mgid] = std::make_shared<const fabric::Group>(group);
    snapshot_.sa = tables;
    const Json row = get("/v1/groups?members=no").second["groups"][0];
    EXPECT_EQ(row["limiters"], 5);
    ASSERT_EQ(row["limited_by"].size(), 1U);
    EXPECT_EQ(row["limited_by"][0]["node"], name_);
}

// C94: whose joins were refused, newest first; of one group only its own.
TEST_F(GetSaTest, RefusedJoinsAreListed) {
    EXPECT_EQ(get("/v1/groups").second["refused"], Json::array());
    snapshot_.join_refusals = {
        {broadcast_group().mgid, port_, "it is too slow", base::WallTime{std::chrono::milliseconds{1500}},
         12},
        {mad::parse_gid("ff12:601b:ffff::1").value(), mad::Guid{0xDEAD}, "no room", {}, 1}};
    for (const char* target : {"/v1/groups", "/v1/groups?members=no"}) {
        const Json refused = get(target).second["refused"];
        ASSERT_EQ(refused.size(), 2U);
        EXPECT_EQ(refused[0]["mgid"], kBroadcast);
        EXPECT_EQ(refused[0]["node"], name_);
        EXPECT_EQ(refused[0]["reason"], "it is too slow");
        EXPECT_EQ(refused[0]["times"], 12);
        EXPECT_EQ(refused[0]["time"], base::format_utc(base::WallTime{std::chrono::milliseconds{1500}}));
        EXPECT_FALSE(refused[1].contains("node"));
    }
    EXPECT_EQ(get("/v1/groups?mgid=ff12:401b:ffff::ffff:ffff").second["refused"].size(), 1U);
}

TEST_F(GetSaTest, AGroupThatIsNoneIsNotFound) {
    const auto [status, body] = get("/v1/groups?mgid=ff12::1");
    EXPECT_EQ(status, 404);
    EXPECT_NE(body["error"]["message"].get<std::string>().find("ff12:0:0:0:0:0:0:1"), std::string::npos);
    EXPECT_EQ(get("/v1/groups?mgid=0xc000").first, 400) << "an MLID is no MGID";
}

TEST_F(GetSaTest, AGroupOfTheWholeFabricComesInPieces) {
    auto tables = std::make_shared<fabric::SaTables>(*snapshot_.sa);
    fabric::Group group = broadcast_group();
    constexpr std::uint64_t kMany = 20'000;
    for (std::uint64_t guid = 1; guid <= kMany; ++guid) {
        group.members[mad::Guid{guid}] = {{gid_.prefix, mad::Guid{guid}}, fabric::kFullMember, false};
    }
    tables->groups[group.mgid] = std::make_shared<const fabric::Group>(group);
    snapshot_.sa = tables;
    HttpReply reply = handle({"GET", "/v1/groups", ""}, snapshot_);
    ASSERT_TRUE(reply.stream);
    std::string body;
    std::size_t largest = 0;
    for (std::string piece; reply.stream(piece); piece.clear()) {
        largest = std::max(largest, piece.size());
        body += piece;
    }
    EXPECT_LT(largest, 128U * 1024U);
    EXPECT_EQ(Json::parse(body)["groups"][0]["members"].size(), kMany);
}

TEST_F(GetSaTest, ServicesShowNameAndLeaseButNoKey) {
    const Json body = get("/v1/services").second;
    ASSERT_EQ(body["services"].size(), 1U);
    const Json& row = body["services"][0];
    EXPECT_EQ(row["id"], "0x0000000000001000");
    EXPECT_EQ(row["gid"], "fe80:0:0:0:0:0:0:1234");
    EXPECT_EQ(row["pkey"], "0x7fff");
    EXPECT_EQ(row["name"], "SRP.T10:feed\xef\xbf\xbd") << "bytes that are no text are replaced";
    EXPECT_EQ(row["lease_seconds"], 600);
    EXPECT_EQ(row["remaining_seconds"], 125);
    EXPECT_EQ(row["has_key"], true);
    EXPECT_EQ(row["data"].get<std::string>(), "ab" + std::string(126, '0'));
    EXPECT_EQ(row.dump().find("5a"), std::string::npos) << row;
}

TEST_F(GetSaTest, ALeaseForEverIsNull) {
    auto tables = std::make_shared<fabric::SaTables>();
    fabric::Service lasting = service();
    lasting.lease = 0xFFFFFFFF;
    tables->services[{1, lasting.gid, lasting.pkey}] = std::make_shared<const fabric::Service>(lasting);
    snapshot_.sa = tables;
    const Json row = get("/v1/services").second["services"][0];
    EXPECT_TRUE(row["lease_seconds"].is_null());
    EXPECT_TRUE(row["remaining_seconds"].is_null());
}

TEST_F(GetSaTest, ALeaseThatIsOverHasNothingLeft) {
    auto tables = std::make_shared<fabric::SaTables>();
    fabric::Service late = service();
    late.until = kNow - 1s;
    tables->services[{1, late.gid, late.pkey}] = std::make_shared<const fabric::Service>(late);
    snapshot_.sa = tables;
    EXPECT_EQ(get("/v1/services").second["services"][0]["remaining_seconds"], 0);
}

TEST_F(GetSaTest, CountersAndRequestsInWords) {
    fabric::SaActivity activity;
    activity.requests = 42;
    activity.answered = 40;
    activity.dropped = 1;
    const auto kind = [&](mad::SaMethod method, mad::SaAttribute attribute, std::uint64_t requests) {
        auto& row = activity.by_kind.emplace_back();
        row.method = static_cast<std::uint8_t>(method);
        row.attribute = static_cast<std::uint16_t>(attribute);
        row.requests = requests;
    };
    kind(mad::SaMethod::set, mad::SaAttribute::mc_member_record, 2);
    kind(mad::SaMethod::get, mad::SaAttribute::path_record, 39);
    kind({}, {}, 1);
    activity.by_kind[1].latencies = {39, 10us, 20us, 30us};
    activity.by_kind[1].rate.count(kNow);
    activity.latencies = activity.by_kind[1].latencies;
    activity.client_count = 70;
    auto& client = activity.clients.emplace_back();
    client.lid = lid_;
    client.requests = 39;
    client.duplicates = 3;
    client.dropped = 1;
    client.last_seen = kNow - 2s;
    activity.clients.push_back({mad::Lid{4000}, 1, 0, 0, {}, kNow});
    snapshot_.sa_activity = std::make_shared<const fabric::SaActivity>(activity);
    const Json body = get("/v1/sa").second;
    EXPECT_EQ(body["requests"], 42);
    EXPECT_EQ(body["answered"], 40);
    EXPECT_EQ(body["dropped"], 1);
    EXPECT_EQ(body["groups"], 2);
    EXPECT_EQ(body["members"], 2);
    EXPECT_EQ(body["services"], 1);
    ASSERT_EQ(body["by_kind"].size(), 3U);
    const Json& paths = body["by_kind"][0];
    EXPECT_EQ(paths["method"], "Get") << "the most frequent first";
    EXPECT_EQ(paths["attribute"], "PathRecord");
    EXPECT_EQ(paths["requests"], 39);
    EXPECT_DOUBLE_EQ(paths["per_second"].get<double>(), 0.2);
    EXPECT_EQ(paths["latency"]["count"], 39);
    EXPECT_DOUBLE_EQ(paths["latency"]["p99_seconds"].get<double>(), 20e-6);
    EXPECT_EQ(body["latency"], paths["latency"]);
    EXPECT_EQ(body["by_kind"][1]["attribute"], "MCMemberRecord");
    EXPECT_EQ(body["by_kind"][2]["method"], "other");
    EXPECT_EQ(body["by_kind"][2]["attribute"], "other");
    EXPECT_EQ(body["client_count"], 70);
    ASSERT_EQ(body["clients"].size(), 2U);
    const Json& first = body["clients"][0];
    EXPECT_EQ(first["lid"], lid_.value());
    EXPECT_EQ(first["node"], name_);
    EXPECT_EQ(first["requests"], 39);
    EXPECT_EQ(first["duplicates"], 3);
    EXPECT_EQ(first["dropped"], 1);
    EXPECT_DOUBLE_EQ(first["last_seen_seconds"].get<double>(), 2.0);
    EXPECT_FALSE(body["clients"][1].contains("node")) << "nobody has this LID now";
}

TEST_F(GetSaTest, SubscriptionsSayWhoWantsWhat) {
    const Json body = get("/v1/sa").second;
    ASSERT_EQ(body["subscriptions"].size(), 1U);
    const Json& row = body["subscriptions"][0];
    EXPECT_EQ(row["subscriber"], mad::to_string(gid_));
    EXPECT_EQ(row["node"], name_);
    EXPECT_EQ(row["lid"], 12);
    EXPECT_EQ(row["number"], 7);
    EXPECT_EQ(row["type"], "subnet-management");
    EXPECT_EQ(row["trap"], 64);
    EXPECT_EQ(row["producer"], "class-manager");
    EXPECT_TRUE(row["about_first_lid"].is_null());
}

TEST_F(GetSaTest, SubscriptionsSayWhetherReportsArrive) {
    auto tables = std::make_shared<fabric::SaTables>();
    const auto add = [&](mad::Gid gid, mad::Lid lid) {
        fabric::Subscription item = subscription(gid);
        item.lid = lid;
        tables->subscriptions.push_back(std::make_shared<const fabric::Subscription>(item));
    };
    add(gid_, lid_);
    add(gid_, mad::Lid{4000});
    add({gid_.prefix, mad::Guid{0xDEAD}}, lid_);
    snapshot_.sa = tables;
    const Json rows = get("/v1/sa").second["subscriptions"];
    ASSERT_EQ(rows.size(), 3U);
    EXPECT_EQ(rows[0]["state"], "active");
    EXPECT_EQ(rows[1]["state"], "moved");
    EXPECT_EQ(rows[2]["state"], "gone");
}

TEST_F(GetSaTest, BeforeTheSaBeganThereIsNothing) {
    snapshot_.sa = nullptr;
    EXPECT_EQ(get("/v1/groups").second, (Json{{"refused", Json::array()}, {"groups", Json::array()}}));
    EXPECT_EQ(get("/v1/services").second, (Json{{"services", Json::array()}}));
    const Json body = get("/v1/sa").second;
    EXPECT_EQ(body["requests"], 0);
    EXPECT_EQ(body["by_kind"], Json::array());
    EXPECT_EQ(body["clients"], Json::array());
    EXPECT_EQ(body["subscriptions"], Json::array());
    snapshot_.fabric = nullptr;
    EXPECT_EQ(get("/v1/groups").first, 503);
}

}  // namespace
}  // namespace ibf::api
