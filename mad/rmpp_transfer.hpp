// DOC: one RMPP transfer, each of its two sides (IBA 13.6.3 to 13.6.6).
//
// RmppSend knows which segments of its message the receiver has, which it may have, and when to send again.
// RmppReceive puts a message together and says what to answer. Neither knows its peers, keys, limits over all
// transfers, or ABORTs: that is Rmpp's part.
//
// Loss. The receiver keeps what arrives out of order within the window and repeats its ACK for the first few
// segments beyond a gap; on the second repeat the sender sends the missing segment again, and on each ACK
// that ends at another gap that one. A receiver that does not repeat ACKs (Linux) shows a loss by silence
// only: the sender goes back to the first segment not acknowledged. The wait for that is measured, since 500
// ms a loss would make 14 seconds of an answer of 1,400 packets with 2 % loss; it doubles up to
// RmppLimits::timeout, and only waits as long as that count as retries.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/time.hpp"
#include "mad/rmpp.hpp"
#include "mad/sa_mad.hpp"

namespace ibf::mad {

/// PayloadLength counts the SA header's part behind the RMPP header: SM_Key, AttributeOffset, ComponentMask.
inline constexpr std::uint32_t kRmppClassHeaderBytes = 20;
inline constexpr std::uint32_t kRmppPayloadMax = kRmppClassHeaderBytes + kSaDataBytes;

/// When to send again: RFC 6298's estimate, kept between 1/32 of the longest wait and that one, which holds
/// also until there is a measurement.
class RoundTripTimer {
public:
    explicit RoundTripTimer(base::Duration longest);

    void measured(base::Duration round_trip);
    void back_off();  ///< nothing came: twice as long next time
    void progress();  ///< something came: half as long, down to the estimate
    [[nodiscard]] base::Duration wait() const;
    [[nodiscard]] bool at_longest() const { return wait() == longest_; }

private:
    base::Duration longest_;
    base::Duration smoothed_{};
    base::Duration variation_{};
    bool has_measured_ = false;
    std::uint32_t doublings_ = 0;
};

class RmppSend {
public:
    /// What became of the transfer by an ACK.
    struct Acked {
        bool delivered = false;
        RmppStatus refusal = RmppStatus::normal;  ///< other than normal: the ACK breaks the protocol
    };

    /// `window_last`: the first NewWindowLast; 1 unless the peer opened the window before (double-sided
    /// transfers).
    RmppSend(RmppMessage message, std::uint32_t window_last, const RmppLimits& limits);

    void start(base::Instant now, std::vector<WireMad>& out);
    [[nodiscard]] Acked on_ack(const RmppHeader& ack, base::Instant now, std::vector<WireMad>& out);
    /// Sends again. False: out of retries.
    [[nodiscard]] bool on_deadline(base::Instant now, std::vector<WireMad>& out);

    [[nodiscard]] base::Instant deadline() const { return deadline_; }
    [[nodiscard]] const RmppMessage& message() const { return message_; }
    [[nodiscard]] bool all_sent() const { return sent_ == segments_; }
    [[nodiscard]] std::uint64_t segments_out() const { return segments_out_; }
    [[nodiscard]] std::uint64_t segments_again() const { return segments_again_; }

private:
    void send_fresh(base::Instant now, std::vector<WireMad>& out);
    void send_again(std::uint32_t segment, std::vector<WireMad>& out);
    void on_repeated_ack(base::Instant now, std::vector<WireMad>& out);
    [[nodiscard]] std::uint32_t payload_length(std::uint32_t segment) const;
    [[nodiscard]] WireMad packet(std::uint32_t segment) const;

    RmppMessage message_;
    std::uint32_t segments_;
    std::uint32_t window_last_;     ///< of the receiver: the last segment it takes
    std::uint32_t sent_ = 0;        ///< the highest ever sent
    std::uint32_t acked_ = 0;       ///< acked_ <= sent_ <= window_last_
    std::uint32_t repeats_ = 0;     ///< of the ACK of acked_
    std::uint32_t recover_to_ = 0;  ///< below it, an ACK that moves shows the next gap
    std::uint32_t timed_ = 0;       ///< segment whose ACK is timed; 0: none
    base::Instant timed_at_{};
    RoundTripTimer timer_;
    std::uint32_t retries_left_;
    std::uint32_t retries_;
    base::Instant deadline_{};
    std::uint64_t segments_out_ = 0;
    std::uint64_t segments_again_ = 0;
};

class RmppReceive {
public:
    struct Taken {
        bool progress = false;  ///< the segment is new
        bool answer = false;    ///< by an ACK
        bool whole = false;
        RmppStatus refusal = RmppStatus::normal;  ///< other than normal: the transfer is over
    };

    /// For the packet with segment 1, which is then to be given to on_data().
    RmppReceive(const WireMad& first, const RmppLimits& limits);

    /// `room`: bytes that may still be kept beyond footprint(), in all transfers.
    [[nodiscard]] Taken on_data(const WireMad& mad, const RmppHeader& rmpp, std::size_t room);

    /// The state as an ACK puts it: the last in order and the last we take.
    [[nodiscard]] std::uint32_t acknowledged() const { return in_order_; }
    [[nodiscard]] std::uint32_t window_last() const { return window_last_; }
    /// Bytes held.
    [[nodiscard]] std::size_t footprint() const { return data_.capacity(); }
    /// The first packet, without data: what an ABORT is made of when no packet is at hand.
    [[nodiscard]] const WireMad& first() const { return first_; }
    /// Once whole.
    [[nodiscard]] RmppMessage take();

private:
    [[nodiscard]] RmppStatus check(const RmppHeader& rmpp) const;
    [[nodiscard]] bool make_room(std::size_t bytes, std::size_t room);
    void keep(const WireMad& mad, const RmppHeader& rmpp);
    [[nodiscard]] bool answer_beyond_gap();
    void grant();
    [[nodiscard]] bool held(std::uint32_t segment) const { return held_[segment % held_.size()]; }

    WireMad first_;
    std::vector<std::uint8_t> data_;  ///< segments in their place
    std::size_t message_bytes_max_;
    std::vector<bool> held_;         ///< ring over the window: segments beyond in_order_ that are there
    std::uint32_t in_order_ = 0;     ///< in_order_ <= window_last_ <= in_order_ + the window
    std::uint32_t window_last_ = 1;  ///< granted
    std::uint32_t answered_ = 0;     ///< in_order_ at the last ACK
    std::uint32_t highest_ = 0;      ///< segment held
    std::uint32_t last_ = 0;         ///< the message's last segment; 0: not seen yet
    std::uint32_t beyond_gap_ = 0;   ///< segments that came since in_order_ moved
};

}  // namespace ibf::mad
