#include "mad/sa_query.hpp"

#include <gtest/gtest.h>

namespace ibf::mad {
namespace {

using std::chrono::milliseconds;

/// A question on its way to an SA in the test's hands.
class SaQueryTest : public ::testing::Test {
protected:
    static constexpr SaQueryLimits kLimits{
        .timeout = milliseconds{100}, .retries = 2, .answer_bytes = 100'000};

    SaQueryTest() { query.start(now, sent); }

    static SaMad question() {
        SaMad mad;
        mad.header.method = static_cast<std::uint8_t>(SaMethod::get_table);
        mad.header.attribute = static_cast<Attribute>(SaAttribute::node_record);
        mad.header.tid = 77;
        return mad;
    }
    /// The answer's first packet as it stands before RMPP: the kernel's half of the TID is in.
    static SaMad answer(SaMethod method, MadStatus status) {
        SaMad mad = question();
        mad.header.method = static_cast<std::uint8_t>(method);
        mad.header.status = status;
        mad.header.tid = 0xABCD'0000'0000'0000ULL | 77U;
        mad.attribute_offset = status == 0 ? 14 : 0;
        return mad;
    }
    void give(const SaMad& mad) { query.on_receive({encode_sa_mad(mad), from_sa(), {}}, now, sent); }
    static MadAddress from_sa() {
        MadAddress address;
        address.lid = Lid{5};
        address.qp = 1;
        return address;
    }
    /// The SA's side of the transfer, until both are quiet.
    void give_table(std::size_t bytes) {
        Rmpp sa{RmppLimits{}};
        RmppMessage message;
        const MadBuffer head = encode_sa_mad(answer(SaMethod::get_table_resp, 0));
        std::copy_n(head.begin(), message.header.size(), message.header.begin());
        std::vector<std::uint8_t> data(bytes);
        for (std::size_t i = 0; i < bytes; ++i) {
            data[i] = static_cast<std::uint8_t>(i / 112);
        }
        message.data = std::make_shared<const std::vector<std::uint8_t>>(std::move(data));
        message.peer = from_sa();
        RmppOutputs out;
        sa.send(std::move(message), now, out);
        while (!out.wire.empty()) {
            std::vector<WireMad> acks;
            for (const WireMad& mad : out.wire) {
                query.on_receive(mad, now, acks);
            }
            out.wire.clear();
            for (const WireMad& mad : acks) {
                static_cast<void>(sa.on_receive(mad, now, out));
            }
        }
        delivered = sa.counters().delivered;
    }

    base::Instant now{std::chrono::seconds{1}};
    std::vector<WireMad> sent;
    SaQuery query{question(), Lid{5}, Sl{3}, kLimits};
    std::uint64_t delivered = 0;
};

TEST_F(SaQueryTest, GoesToTheSaOnItsQueuePair) {
    ASSERT_EQ(sent.size(), 1U);
    EXPECT_EQ(sent[0].address.lid, Lid{5});
    EXPECT_EQ(sent[0].address.sl, Sl{3});
    EXPECT_EQ(sent[0].address.qp, 1U);
    EXPECT_EQ(sent[0].address.qkey, 0x80010000U);
    EXPECT_EQ(sent[0].response_timeout, milliseconds{100});
}

TEST_F(SaQueryTest, AsksAgainWithTheSameTidAndGivesUp) {
    for (int i = 0; i < 3; ++i) {
        EXPECT_FALSE(query.outcome());
        ASSERT_TRUE(query.next_deadline());
        now = *query.next_deadline();
        query.on_time(now, sent);
    }
    ASSERT_EQ(sent.size(), 3U);
    EXPECT_EQ(parse_sa_mad(sent[2].bytes)->header.tid, 77U);
    ASSERT_TRUE(query.outcome());
    ASSERT_FALSE(query.outcome()->has_value());
    EXPECT_EQ(query.outcome()->error().kind, base::ErrorKind::unavailable);
    EXPECT_NE(query.outcome()->error().message.find("LID 5 (3 tries)"), std::string::npos);
    EXPECT_FALSE(query.next_deadline());
}

TEST_F(SaQueryTest, ATableOfManyPacketsComesWhole) {
    give_table(112 * 100);
    EXPECT_EQ(delivered, 1U);
    ASSERT_TRUE(query.outcome() && query.outcome()->has_value());
    const SaReply& reply = **query.outcome();
    ASSERT_EQ(reply.count(), 100U);
    EXPECT_EQ(reply.record(99).size(), 112U);
    EXPECT_EQ(reply.record(99)[111], 99);
}

TEST_F(SaQueryTest, ATableWithoutRecordsIsAnAnswer) {
    give_table(0);
    ASSERT_TRUE(query.outcome() && query.outcome()->has_value());
    EXPECT_EQ((*query.outcome())->count(), 0U);
}

TEST_F(SaQueryTest, AnAnswerThatIsTooLongIsRefused) {
    give_table(kLimits.answer_bytes + 1);
    ASSERT_TRUE(query.outcome());
    ASSERT_FALSE(query.outcome()->has_value());
    EXPECT_EQ(query.outcome()->error().kind, base::ErrorKind::refused);
}

TEST_F(SaQueryTest, OneRecordComesWithoutRmpp) {
    SaMad mad = answer(SaMethod::get_resp, 0);
    mad.attribute_offset = 0;
    mad.data[0] = 9;
    give(mad);
    ASSERT_TRUE(query.outcome() && query.outcome()->has_value());
    ASSERT_EQ((*query.outcome())->count(), 1U);
    EXPECT_EQ((*query.outcome())->record(0)[0], 9);
}

TEST_F(SaQueryTest, ATableWithoutRmppNorOffsetHasNoRecords) {
    SaMad mad = answer(SaMethod::get_table_resp, 0);
    mad.attribute_offset = 0;
    give(mad);
    ASSERT_TRUE(query.outcome() && query.outcome()->has_value());
    EXPECT_EQ((*query.outcome())->count(), 0U);
}

TEST_F(SaQueryTest, AStatusIsAnAnswer) {
    give(answer(SaMethod::get_table_resp, kSaRequestInvalid));
    ASSERT_TRUE(query.outcome() && query.outcome()->has_value());
    EXPECT_EQ((*query.outcome())->status, kSaRequestInvalid);
    EXPECT_EQ((*query.outcome())->count(), 0U);
}

// C89: another SA may say BUSY; that is no answer yet.
TEST_F(SaQueryTest, BusyIsAskedAgain) {
    give(answer(SaMethod::get_table_resp, 0x0001));
    EXPECT_FALSE(query.outcome());
    query.on_time(now += milliseconds{100}, sent);
    EXPECT_EQ(sent.size(), 2U);
    give(answer(SaMethod::get_table_resp, 0x0001));
    query.on_time(now += milliseconds{100}, sent);
    query.on_time(now += milliseconds{100}, sent);
    ASSERT_TRUE(query.outcome() && query.outcome()->has_value());
    EXPECT_EQ((*query.outcome())->status, 0x0001);
}

TEST_F(SaQueryTest, ABrokenTransferIsAskedForAnew) {
    SaMad first = answer(SaMethod::get_table_resp, 0);
    first.rmpp = {.version = 1, .type = RmppType::data, .active = true, .first = true, .segment = 1};
    first.rmpp.payload_length = 10'000;
    give(first);
    ASSERT_EQ(sent.size(), 2U) << "its ACK";
    SaMad abort = first;
    abort.rmpp = {.version = 1, .type = RmppType::abort, .active = true, .status = 126};
    give(abort);
    ASSERT_EQ(sent.size(), 3U);
    EXPECT_EQ(parse_sa_mad(sent[2].bytes)->header.tid, 78U)
        << "late packets of the old one are told from the new";
    EXPECT_FALSE(query.outcome());
    give_table(112);  // under the old TID
    EXPECT_FALSE(query.outcome());
}

TEST_F(SaQueryTest, ATransferThatStandsStillIsAskedForAnew) {
    SaMad first = answer(SaMethod::get_table_resp, 0);
    first.rmpp = {.version = 1, .type = RmppType::data, .active = true, .first = true, .segment = 1};
    first.rmpp.payload_length = 10'000;
    give(first);
    sent.clear();
    while (sent.empty() || parse_sa_mad(sent.back().bytes)->header.method != 0x12 ||
           parse_sa_mad(sent.back().bytes)->rmpp.active) {
        ASSERT_TRUE(query.next_deadline());
        now = *query.next_deadline();
        query.on_time(now, sent);
        ASSERT_FALSE(query.outcome());
    }
    EXPECT_EQ(parse_sa_mad(sent.back().bytes)->header.tid, 78U);
}

TEST_F(SaQueryTest, WhatIsNotOursIsLeftAlone) {
    SaMad other = answer(SaMethod::get_table_resp, kSaRequestInvalid);
    other.header.tid = 78;
    give(other);
    give(question());  // no response
    WireMad garbage{{}, from_sa(), {}};
    query.on_receive(garbage, now, sent);
    EXPECT_FALSE(query.outcome());
    EXPECT_EQ(sent.size(), 1U);
}

TEST(SaStatus, IsSaidInWordsWithTheRemedy) {
    const auto has = [](MadStatus status, const char* part) {
        return sa_status_text(status).find(part) != std::string::npos;
    };
    EXPECT_TRUE(has(0x0100, "0x0100"));
    EXPECT_TRUE(has(0x0100, "ask for less"));
    EXPECT_TRUE(has(0x0200, "--sa-key"));
    EXPECT_TRUE(has(0x0300, "no such record"));
    EXPECT_TRUE(has(0x0400, "more than one record"));
    EXPECT_TRUE(has(0x0500, "prefix"));
    EXPECT_TRUE(has(0x0600, "source and destination"));
    EXPECT_TRUE(has(0x0700, "SA key"));
    EXPECT_TRUE(has(0x0001, "busy"));
    EXPECT_TRUE(has(0x000C, "method and attribute not supported together"));
    EXPECT_TRUE(has(0x4200, "unknown status"));
}

}  // namespace
}  // namespace ibf::mad
