#include "mad/rmpp_transfer.hpp"

#include <algorithm>
#include <utility>

#include "base/check.hpp"

namespace ibf::mad {
namespace {

/// The shortest wait before sending again is this part of the longest: 16 ms of 500 ms, which covers the
/// scheduling of a busy host.
constexpr int kShortestWaitPart = 32;
/// And this part of it until there is a measurement: in a subnet, 62 ms are many round trips.
constexpr int kFirstWaitPart = 8;
/// RFC 6298: the smoothed value moves by 1/8 of each measurement, the variation by 1/4.
constexpr int kSmoothing = 8;
constexpr int kVariationSmoothing = 4;

/// In flight at most. A receiver may answer nothing before it has its window's last segment, as Linux does,
/// so all that it grants must be sent; Linux grants an eighth of its receive queue, which has 8,192 entries
/// at most.
constexpr std::uint32_t kFlightMax = 1024;

/// An ACK repeated so often shows a loss; once alone it may answer a segment that was sent twice.
constexpr std::uint32_t kRepeatsOfLoss = 2;
/// Segments beyond one gap that are answered: one may move the ACK, two repeat it, one may be lost.
constexpr std::uint32_t kAnswersPerGap = 4;

std::uint32_t segments_of(const RmppMessage& message) {
    const std::size_t bytes = message.data->size();
    return static_cast<std::uint32_t>(std::max<std::size_t>(1, (bytes + kSaDataBytes - 1) / kSaDataBytes));
}

}  // namespace

RoundTripTimer::RoundTripTimer(base::Duration longest) : longest_(longest) {}

void RoundTripTimer::measured(base::Duration round_trip) {
    if (!has_measured_) {
        has_measured_ = true;
        smoothed_ = round_trip;
        variation_ = round_trip / 2;
        return;
    }
    const base::Duration error = std::chrono::abs(round_trip - smoothed_);
    variation_ += (error - variation_) / kVariationSmoothing;
    smoothed_ += (round_trip - smoothed_) / kSmoothing;
}

void RoundTripTimer::back_off() {
    if (!at_longest()) {
        ++doublings_;
    }
}

/// Step by step: where a wait is shorter than the round trip, all is sent twice and nothing can be measured
/// (Karn), so what the backing off has found must not be forgotten at once.
void RoundTripTimer::progress() {
    doublings_ -= std::min(doublings_, 1U);
}

base::Duration RoundTripTimer::wait() const {
    const base::Duration first = has_measured_
                                     ? std::max(smoothed_ + 4 * variation_, longest_ / kShortestWaitPart)
                                     : longest_ / kFirstWaitPart;
    // Six doublings at most, from the shortest: no overflow.
    return std::min(std::min(first, longest_) * (1 << doublings_), longest_);
}

// --- sending ---

RmppSend::RmppSend(RmppMessage message, std::uint32_t window_last, const RmppLimits& limits)
    : message_(std::move(message)),
      segments_(segments_of(message_)),
      window_last_(std::max(window_last, 1U)),
      timer_(limits.timeout),
      retries_left_(limits.retries),
      retries_(limits.retries) {}

void RmppSend::start(base::Instant now, std::vector<WireMad>& out) {
    send_fresh(now, out);
    deadline_ = now + timer_.wait();
}

/// As many segments for the first time as the window lets go.
void RmppSend::send_fresh(base::Instant now, std::vector<WireMad>& out) {
    const std::uint32_t until = std::min(window_last_, acked_ + std::min(kFlightMax, segments_ - acked_));
    if (sent_ >= until) {
        return;
    }
    if (timed_ == 0) {
        timed_ = sent_ + 1;
        timed_at_ = now;
    }
    while (sent_ < until) {
        out.push_back(packet(++sent_));
        ++segments_out_;
    }
    deadline_ = now + timer_.wait();
}

void RmppSend::send_again(std::uint32_t segment, std::vector<WireMad>& out) {
    if (segment == timed_) {
        timed_ = 0;  // Karn: its ACK could be that of either send
    }
    out.push_back(packet(segment));
    ++segments_out_;
    ++segments_again_;
}

RmppSend::Acked RmppSend::on_ack(const RmppHeader& ack, base::Instant now, std::vector<WireMad>& out) {
    const std::uint32_t window_last = ack.payload_length;
    if (window_last < ack.segment) {
        return {.refusal = RmppStatus::window_too_small};
    }
    if (ack.segment > sent_) {
        return {.refusal = RmppStatus::segment_too_big};
    }
    if (window_last < window_last_ || ack.segment < acked_) {
        return {};  // overtaken by a later one
    }
    const bool wider = std::exchange(window_last_, window_last) < window_last;
    if (ack.segment == acked_) {
        // An ACK of nothing opens the window of a double-sided transfer's answer: it repeats no ACK.
        if (!wider && ack.segment > 0 && sent_ > acked_) {
            on_repeated_ack(now, out);
        }
        send_fresh(now, out);
        return {};
    }
    acked_ = ack.segment;
    repeats_ = 0;
    retries_left_ = retries_;
    timer_.progress();
    if (timed_ != 0 && acked_ >= timed_) {
        timer_.measured(now - timed_at_);
        timed_ = 0;
    }
    if (acked_ == segments_) {
        return {.delivered = true};
    }
    deadline_ = now + timer_.wait();
    if (acked_ < recover_to_) {
        send_again(acked_ + 1, out);
    }
    send_fresh(now, out);
    return {};
}

void RmppSend::on_repeated_ack(base::Instant now, std::vector<WireMad>& out) {
    if (++repeats_ != kRepeatsOfLoss || acked_ < recover_to_) {
        return;
    }
    recover_to_ = sent_;
    send_again(acked_ + 1, out);
    deadline_ = now + timer_.wait();
}

bool RmppSend::on_deadline(base::Instant now, std::vector<WireMad>& out) {
    if (timer_.at_longest()) {
        if (retries_left_ == 0) {
            return false;
        }
        --retries_left_;
    }
    timer_.back_off();
    repeats_ = 0;
    recover_to_ = 0;
    // All that is in flight; where the receiver has closed its window, the last it has, so that it answers.
    const std::uint32_t from = sent_ > acked_ ? acked_ + 1 : acked_;
    for (std::uint32_t segment = from; segment <= sent_; ++segment) {
        send_again(segment, out);
    }
    deadline_ = now + timer_.wait();
    return true;
}

/// Of the whole message in the first segment, of what is valid in the last, 0 in between (IBA 13.6.2.1).
std::uint32_t RmppSend::payload_length(std::uint32_t segment) const {
    const auto bytes = static_cast<std::uint32_t>(message_.data->size());
    if (segment == segments_) {
        return kRmppClassHeaderBytes + bytes - (segments_ - 1) * static_cast<std::uint32_t>(kSaDataBytes);
    }
    return segment == 1 ? bytes + segments_ * kRmppClassHeaderBytes : 0;
}

WireMad RmppSend::packet(std::uint32_t segment) const {
    WireMad mad;
    mad.address = message_.peer;
    std::copy(message_.header.begin(), message_.header.end(), mad.bytes.begin());
    write_rmpp_header({.version = kRmppVersion,
                       .type = RmppType::data,
                       .active = true,
                       .first = segment == 1,
                       .last = segment == segments_,
                       .segment = segment,
                       .payload_length = payload_length(segment)},
                      mad.bytes);
    const std::vector<std::uint8_t>& data = *message_.data;
    const std::size_t from = std::size_t{segment - 1} * kSaDataBytes;
    const std::size_t count = std::min(kSaDataBytes, data.size() - from);
    std::copy_n(data.data() + from, count, mad.bytes.begin() + kSaHeaderBytes);
    return mad;
}

// --- receiving ---

RmppReceive::RmppReceive(const WireMad& first, const RmppLimits& limits)
    : first_(first), message_bytes_max_(limits.message_bytes), held_(limits.window) {
    std::fill(first_.bytes.begin() + kSaHeaderBytes, first_.bytes.end(), std::uint8_t{0});
}

RmppReceive::Taken RmppReceive::on_data(const WireMad& mad, const RmppHeader& rmpp, std::size_t room) {
    if (rmpp.segment > window_last_) {
        return {};
    }
    if (rmpp.segment <= in_order_) {  // sent again: our ACK was lost
        grant();
        return {.answer = true};
    }
    if (held(rmpp.segment)) {
        return {.answer = answer_beyond_gap()};
    }
    if (const RmppStatus refusal = check(rmpp); refusal != RmppStatus::normal) {
        return {.refusal = refusal};
    }
    const std::size_t before = std::size_t{rmpp.segment - 1} * kSaDataBytes;
    const std::size_t valid = rmpp.last ? rmpp.payload_length - kRmppClassHeaderBytes : kSaDataBytes;
    if (!make_room(before + valid, room)) {
        return {.refusal = RmppStatus::resources};
    }
    keep(mad, rmpp);
    Taken taken{.progress = true};
    if (in_order_ < rmpp.segment) {
        taken.answer = answer_beyond_gap();
        return taken;
    }
    beyond_gap_ = 0;
    taken.whole = in_order_ == last_;
    // Half a window early, so that the sender need not stop; and where another gap follows.
    const std::size_t half = std::max<std::size_t>(held_.size() / 2, 1);
    taken.answer = taken.whole || in_order_ == 1 || in_order_ - answered_ >= half || highest_ > in_order_;
    if (taken.answer) {
        grant();
    }
    return taken;
}

bool RmppReceive::answer_beyond_gap() {
    if (beyond_gap_ >= kAnswersPerGap) {
        return false;
    }
    ++beyond_gap_;
    grant();
    return true;
}

/// What the ACK about to be made says.
void RmppReceive::grant() {
    answered_ = in_order_;
    window_last_ = in_order_ + static_cast<std::uint32_t>(held_.size());
}

RmppStatus RmppReceive::check(const RmppHeader& rmpp) const {
    if (rmpp.last && (rmpp.payload_length < kRmppClassHeaderBytes || rmpp.payload_length > kRmppPayloadMax)) {
        return RmppStatus::bad_length;
    }
    // One segment is the last, and none comes behind it.
    const bool behind_last = last_ != 0 && (rmpp.last || rmpp.segment > last_);
    if (behind_last || (rmpp.last && rmpp.segment < highest_)) {
        return RmppStatus::unspecified;
    }
    return RmppStatus::normal;
}

/// Room is doubled, so that a message is copied as often as its length has bits at most; never taken on the
/// word of the first packet, which would let one packet take it all.
bool RmppReceive::make_room(std::size_t bytes, std::size_t room) {
    if (bytes > message_bytes_max_) {
        return false;
    }
    if (bytes > data_.capacity()) {
        const std::size_t doubled = std::min(2 * data_.capacity(), message_bytes_max_);
        const std::size_t wanted = std::max(bytes, doubled);
        if (wanted - data_.capacity() > room) {
            return false;
        }
        data_.reserve(wanted);
    }
    data_.resize(std::max(data_.size(), bytes));
    return true;
}

void RmppReceive::keep(const WireMad& mad, const RmppHeader& rmpp) {
    const std::size_t before = std::size_t{rmpp.segment - 1} * kSaDataBytes;
    const std::size_t valid = rmpp.last ? rmpp.payload_length - kRmppClassHeaderBytes : kSaDataBytes;
    std::copy_n(mad.bytes.begin() + kSaHeaderBytes, valid,
                data_.begin() + static_cast<std::ptrdiff_t>(before));
    held_[rmpp.segment % held_.size()] = true;
    highest_ = std::max(highest_, rmpp.segment);
    if (rmpp.last) {
        last_ = rmpp.segment;
    }
    while (in_order_ < highest_ && held(in_order_ + 1)) {
        held_[++in_order_ % held_.size()] = false;
    }
}

RmppMessage RmppReceive::take() {
    IBF_CHECK(last_ != 0 && in_order_ == last_, "a message taken before it is whole");
    RmppMessage message;
    std::copy_n(first_.bytes.begin(), kSaHeaderBytes, message.header.begin());
    message.data = std::make_shared<const std::vector<std::uint8_t>>(std::move(data_));
    message.peer = first_.address;
    return message;
}

}  // namespace ibf::mad
