#include "db/probe_store.hpp"

#include <chrono>
#include <thread>

#include "tests/unit/db/place.hpp"

namespace ibf::db {
namespace {

using test::FileSizeLimit;
using test::Place;
using test::Stranger;

constexpr std::uint64_t kHighPort = 0xf000000000000001ULL;  // negative as SQLite's integer

ProbeHead head_of(const std::string& who) {
    ProbeHead head;
    head.asked_by = who;
    head.command = "--size 64K";
    head.tables = "ftree 0x12";
    head.begun_ms = 1'800'000'000'000;
    head.link_directions = 64;
    head.crossed = 62;
    head.planned = 32;
    return head;
}

ProbeFlow flow_to(std::uint64_t guid) {
    ProbeFlow flow;
    flow.round = 3;
    flow.from = {mad::Guid{kHighPort}, mad::PortNum{1}, "host \"1\""};
    flow.to = {mad::Guid{guid}, mad::PortNum{2}, "host 2"};
    flow.lid = mad::Lid{0xBFFF};
    flow.verdict = "proved";
    flow.p50_ns = 1'700;
    flow.p99_ns = 2'300;
    flow.max_ns = 90'000;
    flow.bits_per_second = 98'000'000'000;
    flow.bytes = 1U << 30U;
    flow.errors = 5;
    flow.text = "slow";
    return flow;
}

ProbePut piece(std::optional<std::uint64_t> run, std::size_t flows) {
    ProbePut put;
    put.run = run;
    put.uid = 1000;
    if (!run) {
        put.head = head_of("alice");
    }
    for (std::size_t i = 0; i < flows; ++i) {
        put.flows.push_back(flow_to(i + 1));
    }
    return put;
}

TEST(ProbeStore, ARunComesBackAsItWasTold) {
    Place place;
    const auto database = place.open();
    ASSERT_EQ(database->put_probe(piece(std::nullopt, 1)).value(), 1U);
    ProbePut more = piece(1, 2);
    more.findings.push_back({0,
                             "wrong-entry",
                             {mad::Guid{kHighPort}, mad::PortNum{17}, "leaf-1"},
                             mad::Lid{5},
                             "LID 5 leads out of 17, not 18"});
    more.head = head_of("alice");
    more.head->ended_ms = 1'800'000'060'000;
    more.head->proved = 2;
    more.head->interrupted = 1;
    ASSERT_EQ(database->put_probe(more).value(), 1U);

    const ProbeReader reader(place.path());
    const ProbeRun run = reader.run(1).value();
    EXPECT_EQ(run.uid, 1000U);
    EXPECT_EQ(run.head.asked_by, "alice");
    EXPECT_EQ(run.head.command, "--size 64K");
    EXPECT_EQ(run.head.tables, "ftree 0x12");
    EXPECT_EQ(run.head.begun_ms, 1'800'000'000'000);
    EXPECT_EQ(run.head.ended_ms, 1'800'000'060'000);
    EXPECT_EQ(run.head.interrupted, 1);
    EXPECT_EQ(run.head.link_directions, 64U);
    EXPECT_EQ(run.head.crossed, 62U);
    EXPECT_EQ(run.head.planned, 32U);
    EXPECT_EQ(run.head.proved, 2U);
    EXPECT_EQ(run.flows, 3U);
    EXPECT_EQ(run.findings, 1U);
    const auto flows = reader.flows(1, 0, 10).value();
    ASSERT_EQ(flows.size(), 3U);
    const ProbeFlow& last = flows[2];
    EXPECT_EQ(last.number, 3U);
    EXPECT_EQ(last.round, 3U);
    EXPECT_EQ(last.from.guid, mad::Guid{kHighPort});
    EXPECT_EQ(last.from.name, "host \"1\"");
    EXPECT_EQ(last.to.guid, mad::Guid{2});
    EXPECT_EQ(last.to.port, mad::PortNum{2});
    EXPECT_EQ(last.lid, mad::Lid{0xBFFF});
    EXPECT_EQ(last.verdict, "proved");
    EXPECT_EQ(last.p50_ns, 1'700U);
    EXPECT_EQ(last.p99_ns, 2'300U);
    EXPECT_EQ(last.max_ns, 90'000U);
    EXPECT_EQ(last.bits_per_second, 98'000'000'000U);
    EXPECT_EQ(last.bytes, 1U << 30U);
    EXPECT_EQ(last.errors, 5U);
    EXPECT_EQ(last.text, "slow");
    EXPECT_EQ(reader.flows(1, 1, 1).value().front().number, 2U) << "page by page";
    const auto findings = reader.findings(1, 0, 10).value();
    ASSERT_EQ(findings.size(), 1U);
    EXPECT_EQ(findings[0].number, 1U);
    EXPECT_EQ(findings[0].kind, "wrong-entry");
    EXPECT_EQ(findings[0].at.guid, mad::Guid{kHighPort});
    EXPECT_EQ(findings[0].at.port, mad::PortNum{17});
    EXPECT_EQ(findings[0].at.name, "leaf-1");
    EXPECT_EQ(findings[0].lid, mad::Lid{5});
    EXPECT_EQ(findings[0].text, "LID 5 leads out of 17, not 18");
    EXPECT_EQ(Stranger(place.path()).ask("SELECT begun, ended, flows FROM probe_runs"),
              "2027-01-15T08:00:00.000Z|2027-01-15T08:01:00.000Z|3");
    EXPECT_EQ(Stranger(place.path()).ask("SELECT guid, port, lid FROM probe_findings"),
              "0xf000000000000001|17|5");
    EXPECT_EQ(Stranger(place.path()).ask("SELECT DISTINCT from_guid FROM probe_flows"), "0xf000000000000001");
}

TEST(ProbeStore, NobodyElsesRunTakesAPiece) {
    Place place;
    const auto database = place.open();
    const auto refused = database->put_probe(piece(7, 1));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind, base::ErrorKind::not_found);
    EXPECT_EQ(Stranger(place.path()).ask("SELECT count(*) FROM probe_flow"), "0");
    const auto none = ProbeReader(place.path()).run(7);
    ASSERT_FALSE(none);
    EXPECT_EQ(none.error().kind, base::ErrorKind::not_found);
    EXPECT_TRUE(database->put_probe(piece(std::nullopt, 1))) << "the next transaction is not disturbed";
}

TEST(ProbeStore, OldRunsGoByNumberAndByTheirFlows) {
    Place place;
    HistoryLimits limits;
    limits.probe_runs = 3;
    limits.probe_flows = 10;
    auto opened = place.try_open(limits);
    ASSERT_TRUE(opened);
    for (int i = 0; i < 5; ++i) {
        ASSERT_TRUE((*opened)->put_probe(piece(std::nullopt, 2)));
    }
    Stranger reader(place.path());
    EXPECT_EQ(reader.ask("SELECT id FROM probe_run ORDER BY id"), "3 4 5") << "three";
    EXPECT_EQ(reader.ask("SELECT DISTINCT run FROM probe_flow ORDER BY run"), "3 4 5");
    ASSERT_TRUE((*opened)->put_probe(piece(5, 5)));
    EXPECT_EQ(reader.ask("SELECT id FROM probe_run ORDER BY id"), "4 5") << "ten flows";
    EXPECT_EQ(reader.ask("SELECT count(*) FROM probe_flow"), "9");
    ASSERT_TRUE((*opened)->put_probe(piece(5, 20)));
    EXPECT_EQ(reader.ask("SELECT id FROM probe_run"), "5") << "the newest stays whatever it holds";
    EXPECT_EQ(ProbeReader(place.path()).runs(10).value().front().flows, 27U);
    EXPECT_FALSE((*opened)->put_probe(piece(4, 1))) << "it is gone";
}

TEST(ProbeStore, ARunIsFullAtItsLimit) {
    Place place;
    const auto database = place.open();
    ASSERT_TRUE(database->put_probe(piece(std::nullopt, 1)));
    Stranger(place.path()).run(fmt::format("UPDATE probe_run SET flows = {}", kProbeFlowsMost - 1));
    const auto refused = database->put_probe(piece(1, 2));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind, base::ErrorKind::refused);
    EXPECT_TRUE(database->put_probe(piece(1, 0)));
}

TEST(ProbeStore, OfAFullDiskTheTellerHearsAndNothingElseIsLost) {
    Place place;
    std::string state = "ok";
    Writer writer(place.open(), 100, [&](std::string text) { state = std::move(text); });
    const std::uint64_t run = writer.put_probe(piece(std::nullopt, 1)).value();
    {
        const FileSizeLimit limit(256 * 1024);
        const auto refused = writer.put_probe(piece(run, 20'000));
        ASSERT_FALSE(refused);
        EXPECT_EQ(refused.error().kind, base::ErrorKind::io);
    }
    writer.post({test::event(1)});
    EXPECT_TRUE(writer.flush(std::chrono::seconds{10}));
    EXPECT_TRUE(writer.put_probe(piece(run, 1)));
    Stranger reader(place.path());
    EXPECT_EQ(reader.ask("SELECT count(*) FROM event"), "1");
    EXPECT_EQ(reader.ask("SELECT count(*) FROM probe_flow"), "2") << "nothing of the piece that did not fit";
    EXPECT_EQ(state, "ok") << "history is being kept";
}

TEST(ProbeStore, SeveralThreadsTellAtOnce) {
    Place place;
    Writer writer(place.open(), 100, [](std::string) {});
    std::vector<std::thread> tellers;
    for (int i = 0; i < 3; ++i) {
        tellers.emplace_back([&] {
            const auto run = writer.put_probe(piece(std::nullopt, 1));
            for (int j = 0; run && j < 20; ++j) {
                EXPECT_TRUE(writer.put_probe(piece(*run, 3)));
            }
        });
    }
    for (std::thread& teller : tellers) {
        teller.join();
    }
    EXPECT_EQ(Stranger(place.path()).ask("SELECT flows FROM probe_run"), "61 61 61");
}

TEST(ProbeStore, WithoutADatabaseTheReasonIsSaid) {
    Writer writer(
        [] { return base::Result<std::unique_ptr<Database>>{base::fail(base::ErrorKind::io, "no disk")}; },
        100, "no disk", [](std::string) {});
    const auto refused = writer.put_probe(piece(std::nullopt, 1));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().message, "no disk");
    EXPECT_FALSE(ProbeReader("/nowhere/at/all.db").runs(1));
}

}  // namespace
}  // namespace ibf::db
