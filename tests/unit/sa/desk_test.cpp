#include "daemon/sa/desk.hpp"

#include "base/prng.hpp"
#include "sa_bench.hpp"

namespace ibf::test {
namespace {

using mad::SaAttribute;
using mad::SaMethod;

class DeskBench : public SaBench {
public:
    DeskBench() : SaBench(t2()), desk(config, sa::DeskLimits{}, mad::RmppLimits{}) {
        show(mad::SmState::master);
    }

    void show(mad::SmState state) { show(state, fabric::SmMode::up); }
    void show(mad::SmState state, fabric::SmMode mode) {
        auto snapshot = std::make_shared<fabric::Snapshot>(lab.snapshot());
        snapshot->mastership.state = state;
        snapshot->mode = mode;
        desk.show(std::make_shared<sa::View>(snapshot), std::make_shared<fabric::SaTables>());
    }
    mad::WireMad wire(mad::SaMad mad, std::uint16_t lid, std::uint64_t tid) {
        mad.header.tid = tid;
        mad::WireMad sent{mad::encode_sa_mad(mad), {}, {}};
        sent.address.lid = mad::Lid{lid};
        sent.address.qp = 1;
        sent.address.qkey = 0x80010000;
        return sent;
    }
    mad::SaMad path() {
        return request(SaMethod::get, SaAttribute::path_record,
                       {{"SLID", end("h1").lids.base.value()}, {"DLID", end("h5").lids.base.value()}});
    }
    void serve_all() {
        while (desk.serve(now, out)) {
        }
    }
    mad::SaMad reply(std::size_t index) { return mad::parse_sa_mad(out.wire.at(index).bytes).value(); }

    sa::Desk desk;
    sa::DeskOutputs out;
    base::Instant now{std::chrono::seconds{1}};
};

TEST(Desk, AnswersAlongTheWayTheQuestionCame) {
    DeskBench bench;
    mad::WireMad question = bench.wire(bench.path(), 7, 0x1122334455667788ULL);
    question.address.pkey_index = 3;
    question.address.sl = mad::Sl{2};
    question.address.qp = 77;
    bench.desk.on_mad(question, bench.now, bench.out);
    bench.serve_all();
    ASSERT_EQ(bench.out.wire.size(), 1U);
    const mad::SaMad reply = bench.reply(0);
    EXPECT_EQ(reply.header.method, 0x81);
    EXPECT_EQ(reply.header.status, 0);
    EXPECT_EQ(reply.header.tid, 0x1122334455667788ULL);
    EXPECT_EQ(reply.sm_key, 0U);
    EXPECT_EQ(reply.attribute_offset, 8U);
    EXPECT_EQ(bench.out.wire[0].address.lid, mad::Lid{7});
    EXPECT_EQ(bench.out.wire[0].address.qp, 77U);
    EXPECT_EQ(bench.out.wire[0].address.pkey_index, 3);
    EXPECT_EQ(bench.out.wire[0].address.sl, mad::Sl{2});
}

TEST(Desk, StatusesSayWhatIsWrong) {
    DeskBench bench;
    const auto status = [&](mad::SaMad mad) {
        bench.out.wire.clear();
        bench.desk.on_mad(bench.wire(mad, 5, 9), bench.now, bench.out);
        bench.serve_all();
        return bench.reply(0).header.status;
    };
    mad::SaMad mad = bench.path();
    mad.header.class_version = 1;
    EXPECT_EQ(status(mad), 0x0004) << "class version";
    mad = bench.path();
    mad.header.method = 0x13;
    EXPECT_EQ(status(mad), 0x000C) << "traces are asked for as TraceRecords";
    mad = SaBench::request(SaMethod::get, SaAttribute::node_record, {});
    EXPECT_EQ(status(mad), mad::kSaTooManyRecords);
    mad = SaBench::request(SaMethod::get, SaAttribute::node_record, {{"LID", 0xBFFF}});
    EXPECT_EQ(status(mad), mad::kSaNoRecords);
    mad.header.attribute = static_cast<mad::Attribute>(SaAttribute::service_association_record);
    EXPECT_EQ(status(mad), 0x000C);
}

// C88: retries of what waits are dropped, and a greedy asker waits for himself.
TEST(FieldCase, C88_retries_and_greed) {
    DeskBench bench;
    for (std::uint16_t client = 1; client <= 1000; ++client) {
        for (int i = 0; i < 10; ++i) {
            bench.desk.on_mad(bench.wire(bench.path(), client, 4), bench.now, bench.out);
        }
    }
    bench.serve_all();
    EXPECT_EQ(bench.out.wire.size(), 1000U) << "work done once for each";
    EXPECT_EQ(bench.desk.counters().duplicates, 9000U);

    bench.out.wire.clear();
    for (std::uint64_t tid = 0; tid < 1000; ++tid) {
        bench.desk.on_mad(bench.wire(bench.path(), 3, tid), bench.now, bench.out);
    }
    bench.desk.on_mad(bench.wire(bench.path(), 900, 1), bench.now, bench.out);
    EXPECT_EQ(bench.desk.counters().dropped, 1000U - sa::DeskLimits{}.per_asker);
    ASSERT_TRUE(bench.desk.serve(bench.now, bench.out));
    ASSERT_TRUE(bench.desk.serve(bench.now, bench.out));
    EXPECT_TRUE(bench.out.wire[0].address.lid == mad::Lid{900} ||
                bench.out.wire[1].address.lid == mad::Lid{900})
        << "the modest one is served among the first two";
}

/// A client as Linux is one: whoever gets no answer asks again, a status other than 0 is a failure at once.
class LinuxClient {
public:
    static constexpr std::uint64_t kQuestions = 200;  ///< at once
    static constexpr int kRetries = 5;

    explicit LinuxClient(DeskBench& bench) : bench_(bench) {
        for (std::uint64_t tid = 0; tid < kQuestions; ++tid) {
            open_.insert(tid);
        }
    }
    void ask_all() {
        for (int i = 0; i <= kRetries; ++i) {
            for (const std::uint64_t tid : open_) {
                bench_.desk.on_mad(bench_.wire(bench_.path(), 3, tid), bench_.now, bench_.out);
            }
            bench_.serve_all();
            for (std::size_t k = 0; k < bench_.out.wire.size(); ++k) {
                const mad::SaMad reply = bench_.reply(k);
                EXPECT_EQ(open_.erase(reply.header.tid), 1U);
                ++(reply.header.status == 0 ? answered : failed)[reply.header.status];
            }
            bench_.out.wire.clear();
        }
    }
    std::map<mad::MadStatus, std::uint64_t> answered, failed;  ///< by status

private:
    DeskBench& bench_;
    std::set<std::uint64_t> open_;
};

// C89: by default a full queue is silent: the retry finds room, and the application gets what it asked for.
TEST(FieldCase, C89_silent_when_full) {
    DeskBench bench;
    LinuxClient client(bench);
    client.ask_all();
    EXPECT_EQ(client.answered[0], LinuxClient::kQuestions);
    EXPECT_TRUE(client.failed.empty());
}

// C89: configured to say BUSY, it says so to what does not fit, and to nothing else.
TEST(FieldCase, C89_busy_when_full) {
    DeskBench bench;
    bench.config.when_full = fabric::WhenFull::busy;
    bench.desk.replace_config(bench.config);
    LinuxClient client(bench);
    client.ask_all();
    constexpr mad::MadStatus kBusy = 0x0001;
    EXPECT_EQ(client.answered[0], sa::DeskLimits{}.per_asker);
    EXPECT_EQ(client.failed, (std::map<mad::MadStatus, std::uint64_t>{
                                 {kBusy, LinuxClient::kQuestions - sa::DeskLimits{}.per_asker}}));
    EXPECT_EQ(bench.desk.counters().dropped, client.failed[kBusy]);
}

TEST(Desk, IsSilentWhereItIsNotTheMastersAndToAForeignKey) {
    DeskBench bench;
    mad::SaMad foreign = bench.path();
    foreign.sm_key = 77;
    bench.desk.on_mad(bench.wire(foreign, 3, 1), bench.now, bench.out);
    bench.show(mad::SmState::standby);
    bench.desk.on_mad(bench.wire(bench.path(), 3, 2), bench.now, bench.out);
    bench.serve_all();
    EXPECT_TRUE(bench.out.wire.empty());
    EXPECT_EQ(bench.desk.counters().silent, 1U);
    EXPECT_EQ(bench.desk.counters().malformed, 1U);
}

TEST(Desk, AnswersInHoldModeAlthoughItIsNotActive) {
    DeskBench bench;
    bench.show(mad::SmState::not_active, fabric::SmMode::hold);
    bench.desk.on_mad(bench.wire(bench.path(), 3, 1), bench.now, bench.out);
    bench.serve_all();
    EXPECT_EQ(bench.out.wire.size(), 1U);
    EXPECT_EQ(bench.desk.counters().silent, 0U);
}

// The answer to GetTraceTable is a GetTableResp (IBA 15.2.2, table 189).
TEST(Desk, ATraceIsATable) {
    DeskBench bench;
    mad::SaMad mad = bench.path();
    mad.header.method = static_cast<std::uint8_t>(SaMethod::get_trace_table);
    mad.header.attribute = static_cast<mad::Attribute>(SaAttribute::trace_record);
    bench.desk.on_mad(bench.wire(mad, 3, 1), bench.now, bench.out);
    bench.serve_all();
    ASSERT_GE(bench.out.wire.size(), 1U);
    EXPECT_EQ(bench.reply(0).header.method, 0x92);
    EXPECT_EQ(bench.reply(0).header.attribute, mad.header.attribute);
    EXPECT_EQ(bench.reply(0).attribute_offset, 6U);
}

TEST(Desk, ATableGoesByRmppAndChangesGoToTheRegistry) {
    DeskBench bench;
    bench.desk.on_mad(bench.wire(SaBench::request(SaMethod::get_table, SaAttribute::node_record, {}), 3, 1),
                      bench.now, bench.out);
    bench.serve_all();
    ASSERT_GE(bench.out.wire.size(), 1U);
    const mad::SaMad first = bench.reply(0);
    EXPECT_EQ(first.header.method, 0x92);
    EXPECT_TRUE(first.rmpp.active);
    EXPECT_TRUE(first.rmpp.first);
    EXPECT_EQ(first.rmpp.segment, 1U);
    EXPECT_EQ(first.attribute_offset, 14U);
    bench.desk.on_mad(bench.wire(SaBench::request(SaMethod::set, SaAttribute::mc_member_record, {}), 3, 2),
                      bench.now, bench.out);
    EXPECT_EQ(bench.out.for_registry.size(), 1U);
}

// The end of a table is that of its own request, not of another one with the same TID.
TEST(Desk, ATableThatEndedCanBeAskedForAgain) {
    DeskBench bench;
    const mad::WireMad table =
        bench.wire(SaBench::request(SaMethod::get_table, SaAttribute::node_record, {}), 3, 1);
    bench.desk.on_mad(table, bench.now, bench.out);
    bench.serve_all();
    bench.desk.on_mad(bench.wire(bench.path(), 3, 1), bench.now, bench.out);  // waits meanwhile
    while (const auto deadline = bench.desk.next_deadline()) {  // nobody acknowledges: it is given up
        bench.now = *deadline;
        bench.desk.on_time(bench.now, bench.out);
    }
    bench.serve_all();
    bench.out.wire.clear();
    bench.desk.on_mad(table, bench.now, bench.out);
    bench.serve_all();
    EXPECT_GE(bench.out.wire.size(), 1U);
}

TEST(Desk, TellsWhoAskedAndHowLongAnAnswerTook) {
    using std::chrono::milliseconds;
    DeskBench bench;
    bench.desk.on_mad(bench.wire(bench.path(), 3, 1), bench.now, bench.out);
    bench.desk.on_mad(bench.wire(bench.path(), 3, 1), bench.now, bench.out);
    bench.desk.on_mad(bench.wire(bench.path(), 4, 1), bench.now, bench.out);
    bench.desk.on_mad(bench.wire(SaBench::request(SaMethod::set, SaAttribute::mc_member_record, {}), 4, 2),
                      bench.now, bench.out);
    ASSERT_TRUE(bench.desk.serve(bench.now += milliseconds{1}, bench.out));
    EXPECT_EQ(bench.desk.activity(bench.now).latencies.count, 0U)
        << "not sent yet, for all that the desk knows";
    ASSERT_TRUE(bench.desk.serve(bench.now += milliseconds{1}, bench.out));
    bench.desk.on_time(bench.now += milliseconds{5}, bench.out);
    const fabric::SaActivity activity = bench.desk.activity(bench.now);
    EXPECT_EQ(activity.requests, 4U);
    EXPECT_EQ(activity.answered, 2U);
    EXPECT_EQ(activity.duplicates, 1U);
    ASSERT_EQ(activity.by_kind.size(), 2U);
    EXPECT_EQ(activity.by_kind[0].requests, 3U);
    EXPECT_EQ(activity.by_kind[0].latencies.count, 2U);
    EXPECT_EQ(activity.by_kind[0].latencies.max, milliseconds{7});
    EXPECT_EQ(activity.by_kind[1].latencies.count, 0U) << "a join is answered elsewhere";
    ASSERT_EQ(activity.clients.size(), 2U);
    EXPECT_EQ(activity.clients[0].lid, mad::Lid{3});
    EXPECT_EQ(activity.clients[0].requests, 2U);
    EXPECT_EQ(activity.clients[0].duplicates, 1U);
}

TEST(Desk, GarbageIsCounted) {
    DeskBench bench;
    base::Prng prng(5);
    for (int i = 0; i < 20'000; ++i) {
        mad::WireMad wire;
        for (std::uint8_t& byte : wire.bytes) {
            byte = static_cast<std::uint8_t>(prng.below(256));
        }
        if (prng.below(2) == 0) {
            wire.bytes[0] = 1;
            wire.bytes[1] = 3;
            wire.bytes[2] = 2;
        }
        wire.address.lid = mad::Lid{static_cast<std::uint16_t>(prng.below(20))};
        bench.desk.on_mad(wire, bench.now, bench.out);
        bench.serve_all();
        bench.now += std::chrono::milliseconds{1};
        bench.desk.on_time(bench.now, bench.out);
        bench.out = {};
    }
    EXPECT_GT(bench.desk.counters().malformed, 1000U);
}

}  // namespace
}  // namespace ibf::test
