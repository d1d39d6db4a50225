// Probe runs over the API: what is told is judged, stored and given back.
#include <algorithm>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/prng.hpp"
#include "daemon/api/api.hpp"
#include "daemon/api/probe_history.hpp"

namespace ibf::api {
namespace {

using nlohmann::json;

/// Runs in memory.
class Shelf final : public ProbeHistory {
public:
    base::Result<std::uint64_t> put(const db::ProbePut& put) override {
        if (fails) {
            return base::fail(base::ErrorKind::io, "disk full");
        }
        if (!put.run) {
            db::ProbeRun& run = kept.emplace_back();
            run.id = kept.size();
            run.uid = put.uid;
        }
        db::ProbeRun& run = kept[put.run.value_or(kept.size()) - 1];
        if (put.head) {
            run.head = *put.head;
        }
        for (db::ProbeFlow flow : put.flows) {
            flow.number = ++run.flows;
            flow_rows.push_back(flow);
        }
        for (db::ProbeFinding finding : put.findings) {
            finding.number = ++run.findings;
            finding_rows.push_back(finding);
        }
        return run.id;
    }
    base::Result<std::vector<db::ProbeRun>> runs(std::uint64_t limit) override {
        return std::vector<db::ProbeRun>(
            kept.rbegin(),
            kept.rbegin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(limit, kept.size())));
    }
    base::Result<db::ProbeRun> run(std::uint64_t id) override {
        if (id == 0 || id > kept.size()) {
            return base::fail(base::ErrorKind::not_found, "no such run");
        }
        return kept[id - 1];
    }
    base::Result<std::vector<db::ProbeFlow>> flows(std::uint64_t, std::uint64_t after,
                                                   std::uint64_t limit) override {
        return page(flow_rows, after, limit);
    }
    base::Result<std::vector<db::ProbeFinding>> findings(std::uint64_t, std::uint64_t after,
                                                         std::uint64_t limit) override {
        return page(finding_rows, after, limit);
    }

    std::vector<db::ProbeRun> kept;
    std::vector<db::ProbeFlow> flow_rows;
    std::vector<db::ProbeFinding> finding_rows;
    bool fails = false;

private:
    template <class Row>
    static std::vector<Row> page(const std::vector<Row>& rows, std::uint64_t after, std::uint64_t limit) {
        std::vector<Row> out;
        for (const Row& row : rows) {
            if (row.number > after && out.size() < limit) {
                out.push_back(row);
            }
        }
        return out;
    }
};

struct Given {
    int status = 0;
    json body;
};

class ProbeRuns : public ::testing::Test {
protected:
    Given ask(const std::string& method, const std::string& target, const std::string& body = {}) {
        HttpRequest request{method, target, body};
        request.uid = 1000;
        HttpReply reply = handle(request, fabric::Snapshot{});
        if (reply.complete) {
            reply = std::exchange(reply.complete, nullptr)(shelf_);
        }
        return {reply.status, json::parse(take_body(reply), nullptr, false)};
    }
    static json flow() {
        return {{"round", 2},
                {"from", {{"guid", "0x11"}, {"port", 1}, {"name", "host-01"}}},
                {"to", {{"guid", "0x12"}, {"port", 2}, {"name", "host-02"}}},
                {"lid", 12},
                {"verdict", "proved"},
                {"p50_ns", 1500},
                {"p99_ns", 2500},
                {"max_ns", 9500},
                {"bits_per_second", 98'000'000'000},
                {"bytes", 1024},
                {"errors", 1},
                {"text", "fine"}};
    }
    std::string refusal(const json& flow) {
        const Given given =
            ask("POST", "/v1/probe/runs", json{{"head", json::object()}, {"flows", {flow}}}.dump());
        EXPECT_EQ(given.status, 400);
        EXPECT_TRUE(shelf_.kept.empty());
        return given.body["error"]["message"];
    }
    Shelf shelf_;
};

TEST_F(ProbeRuns, ToldInPiecesAndGivenBack) {
    const json head{{"asked_by", "alice"},    {"command", "--size 64K"},
                    {"tables", "ftree 0x12"}, {"begun_ms", 1800000000000},
                    {"planned", 700},         {"link_directions", 64},
                    {"crossed", 62}};
    const Given begun = ask("POST", "/v1/probe/runs", json{{"head", head}}.dump());
    EXPECT_EQ(begun.status, 201);
    ASSERT_EQ(begun.body["run"], 1);
    const json finding{{"kind", "wrong-entry"}, {"guid", "0x5"}, {"port", 17},
                       {"name", "leaf"},        {"lid", 5},      {"text", "LID 5"}};
    for (int i = 0; i < 2; ++i) {
        const json piece{{"flows", std::vector<json>(512, flow())}, {"findings", {finding}}};
        EXPECT_EQ(ask("POST", "/v1/probe/runs?run=1", piece.dump()).status, 200);
    }
    json end = head;
    end["ended_ms"] = 1800000060500;
    end["interrupted"] = true;
    end["proved"] = 600;
    EXPECT_EQ(ask("POST", "/v1/probe/runs?run=1", json{{"head", end}}.dump()).status, 200);

    const json list = ask("GET", "/v1/probe/runs").body["runs"];
    ASSERT_EQ(list.size(), 1U);
    const json expected{{"run", 1},
                        {"begun", "2027-01-15T08:00:00.000Z"},
                        {"ended", "2027-01-15T08:01:00.500Z"},
                        {"seconds", 60.5},
                        {"asked_by", "alice"},
                        {"uid", 1000},
                        {"command", "--size 64K"},
                        {"tables", "ftree 0x12"},
                        {"interrupted", true},
                        {"link_directions", 64},
                        {"crossed", 62},
                        {"planned", 700},
                        {"flows", 1024},
                        {"proved", 600},
                        {"findings", 2}};
    EXPECT_EQ(list[0], expected);
    EXPECT_EQ(ask("GET", "/v1/probe/run?run=1").body, expected);
    const json flows = ask("GET", "/v1/probe/run?run=1&rows=flows").body;
    EXPECT_EQ(flows["run"], 1);
    ASSERT_EQ(flows["flow_rows"].size(), 1024U) << "pages that end where the rows do";
    json row = flow();
    row["number"] = 1024;
    row["from"]["guid"] = "0x0000000000000011";
    row["to"]["guid"] = "0x0000000000000012";
    EXPECT_EQ(flows["flow_rows"][1023], row);
    json place = finding;
    place["number"] = 2;
    place["guid"] = "0x0000000000000005";
    EXPECT_EQ(ask("GET", "/v1/probe/run?run=1&rows=findings").body["finding_rows"][1], place);
    json without = finding;
    without.erase("lid");
    EXPECT_EQ(ask("POST", "/v1/probe/runs?run=1", json{{"findings", {without}}}.dump()).status, 200);
    EXPECT_TRUE(ask("GET", "/v1/probe/run?run=1&rows=findings").body["finding_rows"][2]["lid"].is_null());
}

TEST_F(ProbeRuns, ARunWithoutRowsAndOneThatIsNotThere) {
    ASSERT_EQ(ask("POST", "/v1/probe/runs", R"({"head":{}})").status, 201);
    EXPECT_EQ(ask("GET", "/v1/probe/run?run=1&rows=flows").body["flow_rows"], json::array());
    EXPECT_TRUE(ask("GET", "/v1/probe/run?run=1").body["ended"].is_null());
    EXPECT_TRUE(ask("GET", "/v1/probe/run?run=1").body["seconds"].is_null());
    EXPECT_EQ(ask("GET", "/v1/probe/run?run=2").status, 404);
    EXPECT_EQ(ask("GET", "/v1/probe/run?run=x").status, 400);
    EXPECT_EQ(ask("GET", "/v1/probe/run").status, 400);
    EXPECT_EQ(ask("GET", "/v1/probe/run?run=1&rows=all").status, 400);
}

TEST_F(ProbeRuns, WhatIsWrongIsNamedAndNothingIsStored) {
    const auto with = [](const char* key, const json& value) {
        json row = flow();
        row[key] = value;
        return row;
    };
    EXPECT_EQ(refusal(with("lid", 0xC000)), "flows[0].lid is no whole number from 0 to 49151");
    EXPECT_EQ(refusal(with("bytes", -1)), "flows[0].bytes is no whole number from 0 to 9223372036854775807");
    EXPECT_EQ(refusal(with("bytes", 18446744073709551615ULL)),
              "flows[0].bytes is no whole number from 0 to 9223372036854775807");
    EXPECT_EQ(refusal(with("round", 1.5)), "flows[0].round is no whole number from 0 to 9223372036854775807");
    EXPECT_EQ(refusal(with("verdict", 5)), "flows[0].verdict is no text");
    EXPECT_EQ(refusal(with("from", 5)), "flows[0].from is no object");
    EXPECT_EQ(refusal(with("from", json::object())), "flows[0].from.guid is no GUID");
    EXPECT_EQ(refusal(with("to", {{"guid", "0x1"}, {"port", 255}})),
              "flows[0].to.port is no whole number from 0 to 254");
    EXPECT_EQ(refusal(5), "flows[0] is no object");
    const auto message = [&](const std::string& body) {
        const Given given = ask("POST", "/v1/probe/runs", body);
        EXPECT_EQ(given.status, 400) << body;
        return given.body["error"]["message"].get<std::string>();
    };
    EXPECT_EQ(message(R"({"head":{"interrupted":1}})"), "head.interrupted is neither true nor false");
    EXPECT_EQ(message(R"({"head":[]})"), "head is no object");
    EXPECT_EQ(message(R"({"head":{},"findings":{}})"), "findings is no array");
    EXPECT_EQ(message(R"({"head":{},"findings":[{"guid":"0x5","lid":49152}]})"),
              "findings[0].lid is no whole number from 0 to 49151");
    EXPECT_EQ(message(R"({"head":{},"flows":7})"), "flows is no array");
    EXPECT_EQ(message(R"({"flows":[]})"), "a new probe run begins with its head");
    for (const std::string& body :
         {std::string{}, std::string("["), std::string("[]"), std::string(900'000, '[')}) {
        EXPECT_EQ(message(body), "the body is no JSON object with head, flows or findings");
    }
    EXPECT_TRUE(shelf_.kept.empty());
}

TEST_F(ProbeRuns, BytesThatAreWrongSomewhereNeverPassForMore) {
    const std::string good =
        json{{"head", {{"asked_by", "a"}, {"begun_ms", 5}}},
             {"flows", {flow(), flow()}},
             {"findings", {{{"kind", "k"}, {"guid", "0x5"}, {"port", 17}, {"name", "n"}, {"text", "t"}}}}}
            .dump();
    base::Prng prng(7);
    int taken = 0;
    for (int i = 0; i < 20'000; ++i) {
        std::string body = good;
        for (std::uint64_t hits = 1 + prng.below(3); hits > 0; --hits) {
            const auto at = static_cast<std::size_t>(prng.below(body.size()));
            switch (prng.below(3)) {
                case 0: body[at] = static_cast<char>(prng.below(256)); break;
                case 1: body.erase(at, 1 + prng.below(8)); break;
                default:
                    body.insert(at, body.substr(static_cast<std::size_t>(prng.below(body.size())), 9));
                    break;
            }
        }
        const Given given = ask("POST", "/v1/probe/runs", body);
        ASSERT_TRUE(given.status == 201 || given.status == 400) << body;
        ASSERT_TRUE(given.body.is_object()) << "an answer that can be read";
        taken += given.status == 201 ? 1 : 0;
    }
    EXPECT_GT(taken, 100) << "some are harmless";
    for (const db::ProbeFlow& row : shelf_.flow_rows) {
        ASSERT_LE(row.lid.value(), mad::kLidUnicastMax);
        ASSERT_LE(row.bytes, std::uint64_t{1} << 63U);
        ASSERT_LE(row.from.name.size(), 255U);
    }
}

TEST_F(ProbeRuns, LongTextIsCutBetweenCharacters) {
    std::string name;
    for (int i = 0; i < 200; ++i) {
        name += "\xc3\xa9";  // two octets
    }
    json row = flow();
    row["from"]["name"] = name;
    ASSERT_EQ(ask("POST", "/v1/probe/runs", json{{"head", json::object()}, {"flows", {row}}}.dump()).status,
              201);
    EXPECT_EQ(shelf_.flow_rows[0].from.name, name.substr(0, 254));
}

TEST_F(ProbeRuns, AFullDiskIsSaid) {
    shelf_.fails = true;
    const Given given = ask("POST", "/v1/probe/runs", R"({"head":{}})");
    EXPECT_EQ(given.status, 500);
    EXPECT_EQ(given.body["error"]["message"], "disk full");
}

TEST(ExportSls, ADigitForEachLidWhereNotAllAreZero) {
    fabric::Snapshot snapshot;
    snapshot.fabric = std::make_shared<fabric::Fabric>();
    HttpReply none = handle({"GET", "/v1/export?format=sls", ""}, snapshot);
    EXPECT_EQ(none.status, 200);
    EXPECT_EQ(take_body(none), "") << "no routes: nothing to say";
    auto routes = std::make_shared<routing::Routes>();
    routes->switch_guids = {mad::Guid{1}, mad::Guid{2}, mad::Guid{3}};
    routes->sls = {std::make_shared<routing::SlRow>(routing::SlRow{0, 3, 15}), nullptr,
                   std::make_shared<routing::SlRow>(routing::SlRow{10})};
    snapshot.held = routes;
    HttpReply reply = handle({"GET", "/v1/export?format=sls", ""}, snapshot);
    EXPECT_EQ(take_body(reply), "0x0000000000000001 03f\n0x0000000000000003 a\n");
}

TEST(BodyBytesMax, OnlyAPieceOfARunMayBeLarge) {
    EXPECT_EQ(body_bytes_max("/v1/probe/runs"), 1024U * 1024U);
    EXPECT_EQ(body_bytes_max("/v1/probe/runs?run=3"), 1024U * 1024U);
    EXPECT_EQ(body_bytes_max("/v1/sweep?x=/v1/probe/runs"), 64U * 1024U);
    EXPECT_EQ(body_bytes_max(""), 64U * 1024U);
}

}  // namespace
}  // namespace ibf::api
