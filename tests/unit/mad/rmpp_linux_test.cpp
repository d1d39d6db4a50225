// Rmpp against the behaviour of Linux' RMPP (drivers/infiniband/core/mad_rmpp.c), modelled from its rules:
// what it drops, when it answers, what it aborts. Where Linux differs from us: it never answers a gap, it
// answers within a window at its end only, it drops a repeated segment beyond its last ACK without a word,
// and it waits 2 s for an ACK.

#include <gtest/gtest.h>

#include "tests/unit/mad/rmpp_pair.hpp"

namespace ibf::mad {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t kTid = 0x0000000500000017;

/// Both sides of one transfer at a time.
class LinuxPeer {
public:
    LinuxPeer(std::uint32_t window, std::vector<WireMad>& out) : window_(window), out_(out) {}

    // --- receiver ---

    /// The data of the whole message, once.
    std::optional<std::vector<std::uint8_t>> whole;
    int aborts_sent = 0;

    void on_packet(const WireMad& mad, base::Instant now) {
        const RmppHeader rmpp = rmpp_of(mad);
        switch (rmpp.type) {
            case RmppType::data: on_data(mad, rmpp); break;
            case RmppType::ack: on_ack(mad, rmpp, now); break;
            default: ended = rmpp; break;
        }
    }

    /// What the other side's STOP or ABORT said.
    std::optional<RmppHeader> ended;

    // --- sender ---

    bool delivered = false;
    bool awaits_answer = false;  ///< double-sided

    void send(const RmppMessage& message, base::Instant now) {
        message_ = message;
        count_ = static_cast<std::uint32_t>(
            std::max<std::size_t>(1, (message.data->size() + kSaDataBytes - 1) / kSaDataBytes));
        send_window_ = 1;
        acked_ = sent_ = 0;
        send_on(now);
    }

    [[nodiscard]] std::optional<base::Instant> deadline() const {
        return count_ > 0 && acked_ < count_ ? std::optional{retry_at_} : std::nullopt;
    }

    void on_time(base::Instant now) {
        if (deadline() && *deadline() <= now) {
            sent_ = acked_;
            send_on(now);
        }
    }

private:
    void on_data(const WireMad& mad, const RmppHeader& rmpp) {
        if (rmpp.status != 0 || rmpp.first != (rmpp.segment == 1)) {
            ++aborts_sent;
            return;
        }
        if (segments_.empty()) {
            if (rmpp.segment != 1) {
                return;
            }
            segments_[1] = mad;
            in_order_ = 1;
            if (!finish_if_last()) {
                receive_window_ += window_;
                ack(mad);
            }
            return;
        }
        if (rmpp.segment > receive_window_) {
            return;
        }
        if (rmpp.segment <= last_ack_ || whole) {
            ack(mad);
            return;
        }
        if (!segments_.emplace(rmpp.segment, mad).second) {
            return;
        }
        const std::uint32_t before = in_order_;
        while (segments_.contains(in_order_ + 1)) {
            ++in_order_;
        }
        if (in_order_ == before || finish_if_last()) {
            return;
        }
        if (in_order_ == receive_window_) {
            receive_window_ += window_;
            ack(mad);
        }
    }

    bool finish_if_last() {
        const WireMad& last = segments_.at(in_order_);
        if (!rmpp_of(last).last) {
            return false;
        }
        // get_mad_len(): of the last PayloadLength alone.
        const std::size_t bytes = in_order_ * kSaDataBytes - (220 - rmpp_of(last).payload_length);
        whole.emplace();
        for (const auto& [segment, mad] : segments_) {
            whole->insert(whole->end(), mad.bytes.begin() + kSaHeaderBytes, mad.bytes.end());
        }
        whole->resize(bytes);
        ack(segments_.at(1));
        return true;
    }

    void ack(const WireMad& to) {
        last_ack_ = in_order_;
        reply(to, {.version = 1,
                   .type = RmppType::ack,
                   .active = true,
                   .segment = in_order_,
                   .payload_length = receive_window_});
    }

    void reply(const WireMad& to, const RmppHeader& rmpp) {
        WireMad mad = to;
        std::fill(mad.bytes.begin() + kSaHeaderBytes, mad.bytes.end(), std::uint8_t{0});
        mad.bytes[3] ^= 0x80;
        write_rmpp_header(rmpp, mad.bytes);
        out_.push_back(mad);
    }

    void send_on(base::Instant now) {
        while (sent_ < send_window_ && sent_ < count_) {
            const std::uint32_t segment = ++sent_;
            const auto bytes = static_cast<std::uint32_t>(message_.data->size());
            std::uint32_t length = segment == 1 ? bytes + 20 * count_ : 0;
            if (segment == count_) {
                length = 20 + bytes - 200 * (count_ - 1);
            }
            WireMad mad;
            std::copy(message_.header.begin(), message_.header.end(), mad.bytes.begin());
            const std::size_t from = std::size_t{segment - 1} * kSaDataBytes;
            std::copy_n(message_.data->begin() + static_cast<std::ptrdiff_t>(from),
                        std::min(kSaDataBytes, message_.data->size() - from),
                        mad.bytes.begin() + kSaHeaderBytes);
            write_rmpp_header({.version = 1,
                               .type = RmppType::data,
                               .active = true,
                               .first = segment == 1,
                               .last = segment == count_,
                               .segment = segment,
                               .payload_length = length},
                              mad.bytes);
            out_.push_back(mad);
        }
        retry_at_ = now + 2s;
    }

    void on_ack(const WireMad& mad, const RmppHeader& rmpp, base::Instant now) {
        if (rmpp.status != 0 || rmpp.payload_length < rmpp.segment) {
            ++aborts_sent;
            return;
        }
        if (count_ == 0 || (acked_ == count_ && !awaits_answer)) {
            return;
        }
        if (acked_ == count_) {
            turn(mad);
            return;
        }
        if (rmpp.segment > count_ || rmpp.segment > send_window_) {
            ++aborts_sent;
            return;
        }
        if (rmpp.payload_length < send_window_ || rmpp.segment < acked_) {
            return;
        }
        acked_ = rmpp.segment;
        send_window_ = rmpp.payload_length;
        if (acked_ < count_) {
            send_on(now);
            return;
        }
        delivered = true;
        if (awaits_answer) {
            turn(mad);
        }
    }

    void turn(const WireMad& ack_of_all) {
        reply(ack_of_all, {.version = 1, .type = RmppType::ack, .active = true, .payload_length = 1});
    }

    std::uint32_t window_;
    std::vector<WireMad>& out_;
    std::map<std::uint32_t, WireMad> segments_;
    std::uint32_t in_order_ = 0;
    std::uint32_t last_ack_ = 0;
    std::uint32_t receive_window_ = 1;
    RmppMessage message_;
    std::uint32_t count_ = 0;
    std::uint32_t sent_ = 0;
    std::uint32_t acked_ = 0;
    std::uint32_t send_window_ = 1;
    base::Instant retry_at_{};
};

/// Ours at LID 10, Linux at LID 11, and a wire that loses.
class WithLinux {
public:
    WithLinux(std::uint32_t linux_window, double loss, std::uint64_t seed)
        : linux(linux_window, from_linux_), loss_(loss), prng_(seed) {}

    void send_ours(RmppMessage message) {
        RmppOutputs out;
        ours.send(std::move(message), now, out);
        collect(std::move(out));
    }

    void send_linux(const RmppMessage& message) {
        linux.send(message, now);
        carry_linux();
    }

    bool step() {
        std::optional<base::Instant> next = ours.next_deadline();
        const auto sooner = [&next](std::optional<base::Instant> at) {
            next = at && (!next || *at < *next) ? at : next;
        };
        sooner(linux.deadline());
        if (!wire_.empty()) {
            sooner(wire_.begin()->first.first);
        }
        if (!next || *next > base::Instant{10min}) {
            return false;
        }
        now = std::max(now, *next);
        if (!wire_.empty() && wire_.begin()->first.first <= now) {
            const auto [to_linux, mad] = wire_.extract(wire_.begin()).mapped();
            if (to_linux) {
                linux.on_packet(mad, now);
                carry_linux();
            } else {
                RmppOutputs out;
                ours.on_receive(mad, now, out);
                collect(std::move(out));
            }
            return true;
        }
        RmppOutputs out;
        ours.on_time(now, out);
        collect(std::move(out));
        linux.on_time(now);
        carry_linux();
        return true;
    }

    void run() {
        while (step()) {
        }
    }

private:
    void collect(RmppOutputs out) {
        for (RmppMessage& message : out.received) {
            received.push_back(std::move(message));
        }
        ended.insert(ended.end(), out.ended.begin(), out.ended.end());
        for (const WireMad& mad : out.wire) {
            put(true, mad);
        }
    }

    void carry_linux() {
        for (const WireMad& mad : std::exchange(from_linux_, {})) {
            put(false, mad);
        }
    }

    void put(bool to_linux, WireMad mad) {
        if (prng_.unit() >= loss_) {
            mad.address = address_of(to_linux ? 0 : 1);
            wire_.emplace(std::pair{now + 20us, ++serial_}, std::pair{to_linux, mad});
        }
    }

    std::vector<WireMad> from_linux_;

public:
    Rmpp ours{{}};
    LinuxPeer linux;
    base::Instant now{};
    std::vector<RmppMessage> received;
    std::vector<RmppOutputs::Ended> ended;

private:
    double loss_;
    base::Prng prng_;
    std::uint64_t serial_ = 0;
    std::map<std::pair<base::Instant, std::uint64_t>, std::pair<bool, WireMad>> wire_;
};

RmppMessage table_to_linux(std::size_t bytes) {
    return message_to(1, SaMethod::get_table_resp, kTid, bytes, bytes + 5);
}

TEST(RmppLinux, ReceivesWhatWeSend) {
    // 64: an eighth of the default receive queue; 1 and 1,024 are the ends of what it can be.
    for (const std::uint32_t window : {64U, 1U, 7U, 1024U}) {
        for (const std::size_t bytes : {0U, 1U, 200U, 201U, 6600U, 300'000U}) {
            WithLinux net(window, 0, 1);
            const RmppMessage message = table_to_linux(bytes);
            net.send_ours(message);
            net.run();
            ASSERT_TRUE(net.linux.whole.has_value()) << window << " " << bytes;
            EXPECT_EQ(*net.linux.whole, *message.data);
            ASSERT_EQ(net.ended.size(), 1U);
            EXPECT_EQ(net.ended[0].how, RmppEnd::delivered);
            EXPECT_EQ(net.ours.counters().segments_again, 0U);
            EXPECT_LT(net.now, base::Instant{100ms}) << "no time-out";
        }
    }
}

TEST(RmppLinux, ReceivesWhatWeSendInSpiteOfLosses) {
    for (const double loss : {0.02, 0.2}) {
        base::Instant slowest{};
        for (std::uint64_t seed = 0; seed < 30; ++seed) {
            WithLinux net(64, loss, seed);
            const RmppMessage message = table_to_linux(4341 * 64);
            net.send_ours(message);
            net.run();
            ASSERT_TRUE(net.linux.whole.has_value()) << seed;
            EXPECT_EQ(*net.linux.whole, *message.data);
            ASSERT_EQ(net.ended.size(), 1U);
            EXPECT_EQ(net.ended[0].how, RmppEnd::delivered) << seed;
            EXPECT_EQ(net.linux.aborts_sent, 0);
            // Linux' client waits 1 s and asks three times more: the whole table in less than 4 s.
            EXPECT_LT(net.now, base::Instant{loss < 0.1 ? 4s : 60s}) << seed;
            slowest = std::max(slowest, net.now);
        }
        std::printf("4,341 paths to Linux, %.0f %% loss: %.2f s at worst\n", 100 * loss,
                    std::chrono::duration<double>(slowest.time_since_epoch()).count());
    }
}

TEST(RmppLinux, SendsWhatWeReceive) {
    for (const std::size_t bytes : {0U, 1U, 200U, 201U, 6600U, 300'000U}) {
        WithLinux net(64, 0, 1);
        const RmppMessage message = message_to(0, SaMethod::get_multi, kTid, bytes, 3);
        net.send_linux(message);
        net.run();
        ASSERT_EQ(net.received.size(), 1U) << bytes;
        EXPECT_EQ(*net.received[0].data, *message.data);
        EXPECT_TRUE(net.linux.delivered);
        EXPECT_EQ(net.linux.aborts_sent, 0);
        EXPECT_TRUE(net.ended.empty());
    }
}

TEST(RmppLinux, SendsWhatWeReceiveInSpiteOfLosses) {
    for (std::uint64_t seed = 0; seed < 30; ++seed) {
        WithLinux net(64, 0.02, seed);
        const RmppMessage message = message_to(0, SaMethod::get_multi, kTid, 100'000, 3);
        net.send_linux(message);
        net.run();
        ASSERT_EQ(net.received.size(), 1U) << seed;
        EXPECT_EQ(*net.received[0].data, *message.data);
        EXPECT_TRUE(net.linux.delivered) << seed;
        EXPECT_EQ(net.linux.aborts_sent, 0) << seed;
        EXPECT_FALSE(net.linux.ended.has_value()) << seed;
    }
}

TEST(RmppLinux, DoubleSided) {
    for (std::uint64_t seed = 0; seed < 30; ++seed) {
        WithLinux net(64, seed == 0 ? 0 : 0.03, seed);
        const RmppMessage request = message_to(0, SaMethod::get_multi, kTid, 1500, 3);
        const RmppMessage answer = message_to(1, SaMethod::get_multi_resp, kTid, 20'000, 4);
        net.linux.awaits_answer = true;
        net.send_linux(request);
        bool answered = false;
        while (net.step()) {
            if (!answered && !net.received.empty()) {
                answered = true;
                net.send_ours(answer);
            }
        }
        ASSERT_TRUE(net.linux.whole.has_value()) << seed;
        EXPECT_EQ(*net.linux.whole, *answer.data);
        EXPECT_EQ(*net.received.at(0).data, *request.data);
        ASSERT_EQ(net.ended.size(), 1U);
        EXPECT_EQ(net.ended[0].how, RmppEnd::delivered);
        EXPECT_EQ(net.linux.aborts_sent, 0) << seed;
    }
}

}  // namespace
}  // namespace ibf::mad
