#include "mad/transactions.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include <gtest/gtest.h>

#include "base/prng.hpp"

namespace ibf::mad {
namespace {

using base::Duration;
using base::Instant;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Instant kStart{seconds{100}};
constexpr Tid kFirstTid{0x1000};

Request request_to(std::uint32_t target, std::uint64_t tag) {
    Request request;
    request.tag = tag;
    request.target = target;
    request.attribute = Attribute::port_info;
    request.modifier = static_cast<std::uint32_t>(tag);
    request.path.hops = 2;
    request.path.ports[1] = static_cast<std::uint8_t>(target);
    request.path.ports[2] = static_cast<std::uint8_t>(target >> 8U);
    return request;
}

Smp smp_of(const WireMad& mad) {
    return parse_smp(mad.bytes).value();
}

WireMad reply_to(const WireMad& mad) {
    Smp smp = smp_of(mad);
    smp.header.method = static_cast<std::uint8_t>(Method::get_resp);
    smp.returning = true;
    smp.data[0] = 0xAB;
    return {.bytes = encode_smp(smp), .address = mad.address};
}

WireMad changed(const WireMad& reply, const std::function<void(Smp&)>& change) {
    Smp smp = smp_of(reply);
    change(smp);
    return {.bytes = encode_smp(smp), .address = reply.address};
}

/// The table with its outputs kept.
struct Fixture {
    explicit Fixture(const TransactionLimits& limits) : table(limits, kFirstTid) {}

    void submit(std::uint32_t target, std::uint64_t tag) {
        ASSERT_TRUE(table.submit(request_to(target, tag)));
    }
    std::vector<WireMad> poll(Instant now) {
        std::vector<WireMad> out;
        table.poll_send(now, out);
        return out;
    }
    bool receive(const WireMad& mad, Instant now) { return table.on_receive(mad, now, done); }

    Transactions table;
    std::vector<Completion> done;
};

TEST(Transactions, SendsADirectedRouteGetAndCompletesItWithTheReply) {
    Fixture f({});
    Request request = request_to(7, 42);
    request.mkey = MKey{0x1122334455667788};
    ASSERT_TRUE(f.table.submit(request));
    const auto sent = f.poll(kStart);
    ASSERT_EQ(sent.size(), 1U);
    const Smp smp = smp_of(sent[0]);
    EXPECT_EQ(smp.header.mgmt_class, MgmtClass::subn_directed);
    EXPECT_EQ(smp.header.class_version, 1);
    EXPECT_EQ(smp.header.method, 0x01);
    EXPECT_EQ(smp.header.tid, kFirstTid.value());
    EXPECT_EQ(smp.header.attribute, Attribute::port_info);
    EXPECT_EQ(smp.header.modifier, 42U);
    EXPECT_EQ(smp.mkey, request.mkey);
    EXPECT_EQ(smp.path, request.path);
    EXPECT_EQ(smp.hop_pointer, 0);
    EXPECT_EQ(sent[0].address.lid, kLidPermissive);
    EXPECT_EQ(sent[0].address.qp, 0U);

    EXPECT_TRUE(f.receive(reply_to(sent[0]), kStart + microseconds{300}));
    ASSERT_EQ(f.done.size(), 1U);
    EXPECT_EQ(f.done[0].kind, Completion::Kind::reply);
    EXPECT_EQ(f.done[0].tag, 42U);
    EXPECT_EQ(f.done[0].request.path, request.path);
    EXPECT_EQ(f.done[0].data[0], 0xAB);
    EXPECT_EQ(f.done[0].round_trip, microseconds{300});
    EXPECT_EQ(f.done[0].sends, 1);
    EXPECT_EQ(f.table.in_flight(), 0U);
    EXPECT_FALSE(f.table.next_deadline().has_value());
    EXPECT_EQ(f.table.counters().replies, 1U);
}

TEST(Transactions, SendsALidRoutedSetOnTheLidClass) {
    Fixture f({});
    Request request = request_to(7, 1);
    request.lid = Lid{33};
    request.method = Method::set;
    ASSERT_TRUE(f.table.submit(request));
    const auto sent = f.poll(kStart);
    ASSERT_EQ(sent.size(), 1U);
    EXPECT_EQ(smp_of(sent[0]).header.mgmt_class, MgmtClass::subn_lid);
    EXPECT_EQ(smp_of(sent[0]).header.method, 0x02);
    EXPECT_EQ(sent[0].address.lid, Lid{33});
    EXPECT_TRUE(f.receive(reply_to(sent[0]), kStart));
}

TEST(Transactions, ErrorStatusCompletesWithTheStatus) {
    Fixture f({});
    f.submit(1, 1);
    const auto sent = f.poll(kStart);
    EXPECT_TRUE(f.receive(changed(reply_to(sent[0]), [](Smp& smp) { smp.header.status = 0x001C; }), kStart));
    ASSERT_EQ(f.done.size(), 1U);
    EXPECT_EQ(f.done[0].kind, Completion::Kind::error_status);
    EXPECT_EQ(f.done[0].status, 0x001C);
    EXPECT_EQ(f.table.counters().error_statuses, 1U);
    EXPECT_EQ(f.table.counters().replies, 0U);
}

TEST(Transactions, WindowsHoldInTotalAndPerTargetAndNobodyIsBlocked) {
    Fixture f({.window_total = 10, .window_target = 4});
    for (std::uint64_t i = 0; i < 20; ++i) {
        f.submit(1, i);  // one long queue in front of everybody
    }
    for (std::uint32_t target = 2; target < 12; ++target) {
        f.submit(target, 100U + target);
    }
    const auto sent = f.poll(kStart);
    ASSERT_EQ(sent.size(), 10U);
    std::map<std::uint8_t, int> by_target;
    for (const WireMad& mad : sent) {
        ++by_target[smp_of(mad).path.ports[1]];
    }
    EXPECT_EQ(by_target[1], 1) << "round robin: the long queue gets its turn, not the window";
    EXPECT_EQ(by_target.size(), 10U);
    EXPECT_TRUE(f.poll(kStart).empty());
    EXPECT_EQ(f.table.in_flight(), 10U);
    EXPECT_EQ(f.table.queued(), 20U);

    // Everybody but target 1 answers: it may now use the room, up to its own window.
    for (const WireMad& mad : sent) {
        if (smp_of(mad).path.ports[1] != 1) {
            EXPECT_TRUE(f.receive(reply_to(mad), kStart));
        }
    }
    const auto more = f.poll(kStart);
    EXPECT_EQ(std::count_if(more.begin(), more.end(),
                            [](const WireMad& mad) { return smp_of(mad).path.ports[1] == 1; }),
              3);
    EXPECT_EQ(f.table.in_flight(), 5U) << "4 to target 1 and 1 to target 11";
}

TEST(Transactions, KeepsTheOrderOfEachTarget) {
    Fixture f({.window_total = 7, .window_target = 2});
    std::map<std::uint32_t, std::uint64_t> next;
    for (std::uint64_t tag = 0; tag < 300; ++tag) {
        f.submit(static_cast<std::uint32_t>(tag % 9), tag / 9);
    }
    base::Prng prng{5};
    std::vector<WireMad> wire;
    while (f.done.size() < 300) {
        for (const WireMad& mad : f.poll(kStart)) {
            const Smp smp = smp_of(mad);
            EXPECT_EQ(smp.header.modifier, next[smp.path.ports[1]]++);
            wire.push_back(mad);
        }
        ASSERT_FALSE(wire.empty());
        ASSERT_LE(f.table.in_flight(), 7U);
        const auto pick = wire.begin() + static_cast<std::ptrdiff_t>(prng.below(wire.size()));
        EXPECT_TRUE(f.receive(reply_to(*pick), kStart));
        wire.erase(pick);
    }
}

TEST(Transactions, TimeoutsDoubleUpToTheMaximumThenGiveUp) {
    Fixture f({.retries = 4, .timeout = milliseconds{200}, .timeout_max = milliseconds{1000}});
    f.submit(1, 9);
    Instant now = kStart;
    for (const int wait_ms : {200, 400, 800, 1000, 1000}) {
        const auto sent = f.poll(now);
        ASSERT_EQ(sent.size(), 1U);
        EXPECT_EQ(smp_of(sent[0]).header.tid, kFirstTid.value()) << "a retry keeps its TID";
        ASSERT_EQ(f.table.next_deadline(), now + milliseconds{wait_ms});
        f.table.on_time(now + milliseconds{wait_ms} - Duration{1}, f.done);
        EXPECT_TRUE(f.poll(now).empty());
        now += milliseconds{wait_ms};
        f.table.on_time(now, f.done);
    }
    ASSERT_EQ(f.done.size(), 1U);
    EXPECT_EQ(f.done[0].kind, Completion::Kind::timeout);
    EXPECT_EQ(f.done[0].tag, 9U);
    EXPECT_EQ(f.done[0].sends, 5);
    EXPECT_EQ(f.table.counters().timeouts, 1U);
    EXPECT_EQ(f.table.counters().retried, 4U);
    EXPECT_EQ(f.table.counters().sent, 5U);
    EXPECT_TRUE(f.poll(now).empty());
}

TEST(Transactions, RetriesGoBeforeFreshRequestsInTheirOrder) {
    Fixture f({.window_target = 2});
    for (std::uint64_t tag = 0; tag < 4; ++tag) {
        f.submit(1, tag);
    }
    ASSERT_EQ(f.poll(kStart).size(), 2U);
    f.table.on_time(kStart + milliseconds{200}, f.done);
    const auto again = f.poll(kStart + milliseconds{200});
    ASSERT_EQ(again.size(), 2U);
    EXPECT_EQ(smp_of(again[0]).header.modifier, 0U);
    EXPECT_EQ(smp_of(again[1]).header.modifier, 1U);
}

// C37: a slow Set carries its own time-out and is not sent twice.
TEST(Transactions, ARequestsOwnTimeoutAndRetriesHold) {
    Fixture f({});
    Request slow = request_to(1, 1);
    slow.method = Method::set;
    slow.attribute = Attribute::sl2vl_table;
    slow.timeout = seconds{5};  // above timeout_max: stays
    slow.retries = 1;
    ASSERT_TRUE(f.table.submit(slow));
    const auto sent = f.poll(kStart);
    ASSERT_EQ(sent.size(), 1U);
    EXPECT_EQ(f.table.next_deadline(), kStart + seconds{5});
    f.table.on_time(kStart + milliseconds{400}, f.done);
    EXPECT_TRUE(f.receive(reply_to(sent[0]), kStart + milliseconds{400}));
    EXPECT_EQ(f.table.counters().retried, 0U);

    ASSERT_TRUE(f.table.submit(slow));
    Instant now = kStart + seconds{1};
    ASSERT_EQ(f.poll(now).size(), 1U);
    f.table.on_time(now += seconds{5}, f.done);
    ASSERT_EQ(f.poll(now).size(), 1U);
    f.table.on_time(now += seconds{5}, f.done);
    EXPECT_EQ(f.done.back().kind, Completion::Kind::timeout);
    EXPECT_EQ(f.done.back().sends, 2);
}

TEST(Transactions, ALateAnswerToTheFirstSendIsTheAnswer) {
    Fixture f({});
    f.submit(1, 1);
    const auto first = f.poll(kStart);
    f.table.on_time(kStart + milliseconds{200}, f.done);
    // Before the retry left ...
    EXPECT_TRUE(f.receive(reply_to(first[0]), kStart + milliseconds{201}));
    EXPECT_TRUE(f.poll(kStart + milliseconds{201}).empty());
    EXPECT_EQ(f.table.queued(), 0U);
    EXPECT_EQ(f.done.size(), 1U);
    EXPECT_EQ(f.done[0].sends, 1);

    // ... and after it: then the retry's own answer is a duplicate.
    f.submit(1, 2);
    const auto second = f.poll(kStart + seconds{1});
    f.table.on_time(kStart + milliseconds{1200}, f.done);
    const auto retry = f.poll(kStart + milliseconds{1200});
    ASSERT_EQ(retry.size(), 1U);
    EXPECT_TRUE(f.receive(reply_to(second[0]), kStart + milliseconds{1201}));
    EXPECT_FALSE(f.receive(reply_to(retry[0]), kStart + milliseconds{1202}));
    EXPECT_EQ(f.done.size(), 2U);
    EXPECT_EQ(f.table.counters().duplicates, 1U);
    EXPECT_EQ(f.table.counters().late, 0U);
    EXPECT_FALSE(f.table.next_deadline().has_value());
}

TEST(Transactions, AnsweringOneWaitingRetryKeepsTheOthers) {
    Fixture f({.window_target = 3});
    for (std::uint64_t tag = 0; tag < 3; ++tag) {
        f.submit(1, tag);
    }
    const auto sent = f.poll(kStart);
    f.table.on_time(kStart + milliseconds{200}, f.done);
    EXPECT_TRUE(f.receive(reply_to(sent[1]), kStart + milliseconds{200}));
    const auto again = f.poll(kStart + milliseconds{200});
    ASSERT_EQ(again.size(), 2U);
    EXPECT_EQ(smp_of(again[0]).header.modifier, 0U);
    EXPECT_EQ(smp_of(again[1]).header.modifier, 2U);
}

TEST(Transactions, AnswersToEndedRequestsAreLate) {
    Fixture f({.retries = 0});
    f.submit(1, 1);
    const auto sent = f.poll(kStart);
    f.table.on_time(kStart + seconds{1}, f.done);
    ASSERT_EQ(f.done.size(), 1U);
    EXPECT_FALSE(f.receive(reply_to(sent[0]), kStart + seconds{1}));
    EXPECT_EQ(f.table.counters().late, 1U);
    EXPECT_EQ(f.table.counters().duplicates, 0U);
}

// C41: only class, TID, attribute, modifier and path together make an answer.
TEST(Transactions, ForeignAnswersAreIgnoredAndCounted) {
    Fixture f({});
    f.submit(3, 77);
    f.submit(4, 78);
    const auto sent = f.poll(kStart);
    ASSERT_EQ(sent.size(), 2U);
    const WireMad reply = reply_to(sent[0]);
    const std::vector<std::function<void(Smp&)>> wrong{
        [](Smp& smp) { smp.header.tid += 1000; },
        [](Smp& smp) { smp.header.tid -= 1; },
        [](Smp& smp) { smp.header.tid += 1; },  // swapped: the other request's TID
        [](Smp& smp) { smp.header.attribute = Attribute::node_info; },
        [](Smp& smp) { smp.header.modifier ^= 1; },
        [](Smp& smp) { smp.path.ports[2] ^= 1; },
        [](Smp& smp) { smp.path.hops = 1; },
        [](Smp& smp) { smp.header.mgmt_class = MgmtClass::subn_lid; },
        [](Smp& smp) { smp.header.method = static_cast<std::uint8_t>(Method::get); },
        [](Smp& smp) { smp.header.method = static_cast<std::uint8_t>(Method::report_resp); },
    };
    for (const auto& change : wrong) {
        EXPECT_FALSE(f.receive(changed(reply, change), kStart));
    }
    WireMad garbage;
    garbage.bytes.fill(0xFF);
    EXPECT_FALSE(f.receive(garbage, kStart));
    EXPECT_EQ(f.table.counters().foreign, wrong.size() + 1);
    EXPECT_TRUE(f.done.empty());
    EXPECT_EQ(f.table.in_flight(), 2U);
    // The upper half of the TID belongs to umad.
    EXPECT_TRUE(f.receive(changed(reply, [](Smp& smp) { smp.header.tid |= 0xABCD'0000'0000'0000; }), kStart));
}

TEST(Transactions, ASendErrorCompletesTheRequestAtOnce) {
    Fixture f({.window_target = 1});
    f.submit(1, 1);
    f.submit(1, 2);
    const auto sent = f.poll(kStart);
    f.table.on_send_error(sent[0], kStart, f.done);
    f.table.on_send_error(sent[0], kStart, f.done);  // twice: the second finds nothing
    ASSERT_EQ(f.done.size(), 1U);
    EXPECT_EQ(f.done[0].kind, Completion::Kind::send_error);
    EXPECT_EQ(f.done[0].tag, 1U);
    EXPECT_EQ(f.poll(kStart).size(), 1U) << "its window is free again";
}

TEST(Transactions, AFullQueueRefuses) {
    Fixture f({.window_total = 2, .window_min = 1, .queue_max = 3});
    for (std::uint64_t tag = 0; tag < 3; ++tag) {
        f.submit(static_cast<std::uint32_t>(tag), tag);
    }
    EXPECT_EQ(f.table.room(), 0U);
    EXPECT_FALSE(f.table.submit(request_to(9, 9)));
    EXPECT_EQ(f.poll(kStart).size(), 2U);
    EXPECT_EQ(f.table.room(), 2U);
    EXPECT_TRUE(f.table.submit(request_to(9, 9)));
    EXPECT_EQ(f.table.counters().requests, 4U);
}

TEST(Transactions, AbandonedRequestsVanishAndTheirAnswersAreLate) {
    Fixture f({.window_total = 4, .window_min = 1});
    for (std::uint64_t tag = 0; tag < 10; ++tag) {
        f.submit(static_cast<std::uint32_t>(tag % 3), tag);
    }
    const auto sent = f.poll(kStart);
    ASSERT_EQ(sent.size(), 4U);
    EXPECT_TRUE(f.receive(reply_to(sent[0]), kStart));
    f.table.abandon_all();
    EXPECT_EQ(f.table.in_flight(), 0U);
    EXPECT_EQ(f.table.queued(), 0U);
    EXPECT_TRUE(f.poll(kStart).empty());
    EXPECT_FALSE(f.table.next_deadline().has_value());
    for (const WireMad& mad : sent) {
        EXPECT_FALSE(f.receive(reply_to(mad), kStart));
    }
    EXPECT_EQ(f.table.counters().late, 3U);
    EXPECT_EQ(f.table.counters().duplicates, 1U);
    EXPECT_EQ(f.done.size(), 1U);
    f.submit(1, 99);
    const auto fresh = f.poll(kStart);
    ASSERT_EQ(fresh.size(), 1U);
    EXPECT_TRUE(f.receive(reply_to(fresh[0]), kStart)) << "the table works on";
}

TEST(Transactions, SomeAreAbandonedAndTheOthersGoOn) {
    Fixture f({.window_total = 4, .window_min = 1});
    for (std::uint64_t tag = 0; tag < 10; ++tag) {
        f.submit(static_cast<std::uint32_t>(tag % 3), tag);
    }
    const auto sent = f.poll(kStart);  // tags 0 to 3
    ASSERT_EQ(sent.size(), 4U);
    f.table.abandon_if([](const Request& request) { return request.tag % 2 == 0; });
    EXPECT_EQ(f.table.in_flight(), 2U);
    EXPECT_EQ(f.table.queued(), 3U);
    EXPECT_EQ(f.poll(kStart).size(), 2U) << "their places in the window are free";
    EXPECT_FALSE(f.receive(reply_to(sent[0]), kStart));
    EXPECT_EQ(f.table.counters().late, 1U);
    while (const auto at = f.table.next_deadline()) {
        f.table.on_time(*at, f.done);
        for (auto out = f.poll(*at); !out.empty(); out = f.poll(*at)) {
            for (const WireMad& mad : out) {
                EXPECT_TRUE(f.receive(reply_to(mad), *at));
            }
        }
    }
    std::set<std::uint64_t> done;
    for (const Completion& completion : f.done) {
        EXPECT_TRUE(done.insert(completion.tag).second);
    }
    EXPECT_EQ(done, (std::set<std::uint64_t>{1, 3, 5, 7, 9}));
}

TEST(Transactions, TidsWrapAndStepOverThoseInUse) {
    Fixture f({.window_total = 4, .window_min = 1, .window_target = 4, .queue_max = 4});  // 16 cells
    Fixture wrapping({.window_total = 4, .window_min = 1, .window_target = 4, .queue_max = 4});
    wrapping.table = Transactions({.window_total = 4, .window_min = 1, .queue_max = 4}, Tid{0xFFFFFFFE});
    for (Fixture* fixture : {&f, &wrapping}) {
        fixture->submit(0, 0);  // never answered: holds its cell
        const WireMad held = fixture->poll(kStart).at(0);
        std::set<std::uint64_t> tids{smp_of(held).header.tid};
        for (std::uint64_t tag = 1; tag < 100; ++tag) {
            fixture->submit(1, tag);
            const auto sent = fixture->poll(kStart);
            ASSERT_EQ(sent.size(), 1U);
            EXPECT_TRUE(tids.insert(smp_of(sent[0]).header.tid).second);
            EXPECT_TRUE(fixture->receive(reply_to(sent[0]), kStart));
        }
        EXPECT_TRUE(fixture->receive(reply_to(held), kStart));
        EXPECT_EQ(fixture->table.counters().foreign, 0U);
    }
}

/// A fabric in virtual time: every MAD is answered one round trip later, or lost, as the script says.
class VirtualWire {
public:
    struct Verdict {
        bool lost = false;
        Duration delay = milliseconds{1};
    };
    using Script = std::function<Verdict(const Smp& smp, std::size_t on_wire)>;

    VirtualWire(const TransactionLimits& limits, Script script)
        : table(limits, kFirstTid), script_(std::move(script)) {}

    /// Keeps `backlog` requests queued over `targets` devices and runs until `end`.
    void run(std::uint32_t targets, std::size_t backlog, Instant end) {
        while (now < end) {
            while (table.queued() < backlog) {
                const auto target = static_cast<std::uint32_t>(submitted_ % targets);
                ASSERT_TRUE(table.submit(request_to(target, submitted_++)));
            }
            std::vector<WireMad> out;
            table.poll_send(now, out);
            for (const WireMad& mad : out) {
                const Verdict verdict = script_(smp_of(mad), answers_.size());
                if (!verdict.lost) {
                    answers_.emplace(now + verdict.delay, reply_to(mad));
                }
            }
            std::optional<Instant> next = table.next_deadline();
            if (!answers_.empty()) {
                next = std::min(next.value_or(answers_.begin()->first), answers_.begin()->first);
            }
            ASSERT_TRUE(next.has_value());
            now = *next;
            while (!answers_.empty() && answers_.begin()->first <= now) {
                table.on_receive(answers_.begin()->second, now, done_);
                answers_.erase(answers_.begin());
            }
            table.on_time(now, done_);
            replies +=
                static_cast<std::uint64_t>(std::count_if(done_.begin(), done_.end(), [](const Completion& c) {
                    return c.kind == Completion::Kind::reply;
                }));
            done_.clear();
        }
    }

    Transactions table;
    Instant now = kStart;
    std::uint64_t replies = 0;

private:
    Script script_;
    std::uint64_t submitted_ = 0;
    std::multimap<Instant, WireMad> answers_;
    std::vector<Completion> done_;
};

// C36: 1 ms round trip and 0.1 % loss at 10,000 devices.
TEST(Transactions, SparseLossLeavesEightyPercentOfTheWindow) {
    base::Prng prng{36};
    VirtualWire wire(
        {}, [&](const Smp&, std::size_t) { return VirtualWire::Verdict{.lost = prng.below(1000) == 0}; });
    wire.run(10000, 1000, kStart + milliseconds{1500});
    const double per_second = static_cast<double>(wire.replies) / 1.5;
    EXPECT_GE(per_second, 0.8 * 256 / 0.001);
    EXPECT_EQ(wire.table.counters().timeouts, 0U);
    EXPECT_EQ(wire.table.counters().window_cuts, 0U);
    RecordProperty("replies_per_second", static_cast<int>(per_second));
}

// C9, C35: devices that never answer cost their own requests, not the window.
TEST(Transactions, SilentDevicesDoNotCutTheWindow) {
    for (const int silent : {1, 5, 20}) {
        VirtualWire wire({.retries = 1}, [&](const Smp& smp, std::size_t) {
            return VirtualWire::Verdict{.lost = smp.path.ports[2] == 0 && smp.path.ports[1] < silent};
        });
        wire.run(1000, 1000, kStart + milliseconds{1500});
        EXPECT_EQ(wire.table.counters().window_cuts, 0U);
        EXPECT_EQ(wire.table.window(), 256U);
        EXPECT_GT(wire.table.counters().timeouts, 0U);
    }
}

/// Lets every deadline pass until the table is empty; returns how long that took. Answers are `answered`'s.
Duration run_out(Fixture& f, const std::function<bool(const Smp&)>& answered) {
    Instant now = kStart;
    while (true) {
        for (const WireMad& mad : f.poll(now)) {
            if (answered(smp_of(mad))) {
                f.receive(reply_to(mad), now);
            }
        }
        const auto deadline = f.table.next_deadline();
        if (!deadline) {
            if (f.table.queued() == 0) {
                return now - kStart;
            }
            continue;
        }
        now = std::max(now, *deadline);
        f.table.on_time(now, f.done);
    }
}

TEST(Transactions, ADeadDeviceIsGivenUpAsAWhole) {
    Fixture f({});
    for (std::uint64_t i = 0; i < 36; ++i) {
        f.submit(1, i);
    }
    f.submit(2, 100);
    const Duration spent = run_out(f, [](const Smp& smp) { return smp.path.ports[1] == 2; });
    EXPECT_EQ(spent, milliseconds{200 + 400 + 800 + 1600 + 8 * 200});
    EXPECT_EQ(f.table.counters().sent, 1U + 4U * 4U + 32U) << "after the first four, one send each";
    EXPECT_EQ(f.table.counters().timeouts, 36U);

    // What is asked later, perhaps of another device under that id, has all its retries again.
    f.submit(1, 200);
    run_out(f, [](const Smp&) { return false; });
    EXPECT_EQ(f.table.counters().sent, 49U + 4U);
}

TEST(Transactions, ADeviceThatAnswersAgainIsAskedAsBefore) {
    Fixture f({});
    for (std::uint64_t i = 0; i < 12; ++i) {
        f.submit(1, i);
    }
    // It ignores four questions of a kind for good, answers the fifth, and needs two sends for the rest.
    std::map<std::uint32_t, int> asked;
    run_out(f, [&](const Smp& smp) {
        const int times = ++asked[smp.header.modifier];
        return smp.header.modifier == 4 || (smp.header.modifier > 4 && times == 2);
    });
    EXPECT_GE(std::count_if(f.done.begin(), f.done.end(),
                            [](const auto& done) { return done.kind == Completion::Kind::reply; }),
              5);
    EXPECT_EQ(asked.at(11), 2) << "it lives: a lost question is repeated";
}

// A fabric that drops what exceeds its buffers: the window finds the size that passes, and grows back after.
TEST(Transactions, CongestionCutsTheWindowAndItRecovers) {
    std::size_t room = 64;
    VirtualWire wire(
        {}, [&](const Smp&, std::size_t on_wire) { return VirtualWire::Verdict{.lost = on_wire >= room}; });
    wire.run(2000, 1000, kStart + seconds{2});
    const auto& counters = wire.table.counters();
    EXPECT_GE(counters.window_cuts, 2U);
    EXPECT_LT(wire.table.window(), 256U);
    EXPECT_LE(static_cast<double>(counters.sent - counters.replies),
              0.02 * static_cast<double>(counters.sent));
    EXPECT_GE(static_cast<double>(wire.replies) / 2.0, 0.7 * 64 / 0.001) << "what passes is used";
    room = 100000;
    wire.run(2000, 1000, kStart + seconds{4});
    EXPECT_EQ(wire.table.window(), 256U);
}

TEST(Transactions, TheWindowIsCutAtMostOnceForOneBurst) {
    bool burst = true;
    VirtualWire wire({}, [&](const Smp&, std::size_t) { return VirtualWire::Verdict{.lost = burst}; });
    wire.run(2000, 1000, kStart + milliseconds{1});  // the whole window is lost
    burst = false;
    wire.run(2000, 1000, kStart + milliseconds{203});
    EXPECT_EQ(wire.table.counters().window_cuts, 1U);
    EXPECT_GE(wire.table.window(), 128U);
    wire.run(2000, 1000, kStart + seconds{2});
    EXPECT_EQ(wire.table.counters().window_cuts, 1U);
    EXPECT_EQ(wire.table.window(), 256U);
}

TEST(Transactions, TheWindowNeverFallsBelowItsMinimum) {
    base::Prng prng{8};
    VirtualWire wire(
        {}, [&](const Smp&, std::size_t) { return VirtualWire::Verdict{.lost = prng.below(3) == 0}; });
    wire.run(2000, 1000, kStart + seconds{20});
    EXPECT_GE(wire.table.window(), 16U);
    EXPECT_LE(wire.table.window(), 40U);
    EXPECT_GT(wire.replies, 0U);
}

TEST(Transactions, TheSameEventsGiveTheSameBytes) {
    const auto transcript = [] {
        base::Prng prng{99};
        std::vector<std::uint64_t> tids;
        VirtualWire wire({.window_total = 32}, [&](const Smp& smp, std::size_t) {
            tids.push_back(smp.header.tid << 16U | smp.header.modifier);
            return VirtualWire::Verdict{.lost = prng.below(20) == 0,
                                        .delay = microseconds{100 + prng.below(900)}};
        });
        wire.run(50, 100, kStart + seconds{3});
        return tids;
    };
    EXPECT_EQ(transcript(), transcript());
}

}  // namespace
}  // namespace ibf::mad
