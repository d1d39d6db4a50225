#include "mad/rmpp.hpp"

#include <endian.h>

#include <algorithm>
#include <compare>
#include <cstring>
#include <deque>
#include <map>
#include <set>
#include <type_traits>
#include <utility>

#include "base/check.hpp"
#include "mad/rmpp_transfer.hpp"
#include "mad/sa_mad.hpp"

namespace ibf::mad {
namespace {

constexpr std::uint8_t kResponseBit = 0x80;
constexpr std::size_t kClassOctet = 1;
constexpr std::size_t kMethodOctet = 3;
constexpr std::size_t kTidOctet = 8;

/// Ended transfers that may still be asked about are remembered up to this many times the limit of open ones.
constexpr std::size_t kRememberedPerOpen = 4;
/// PayloadLength is 32 bits and counts 20 more a segment.
constexpr std::size_t kMessageBytesMax = std::size_t{1} << 31U;
constexpr std::uint32_t kWindowMax = 1U << 16U;

/// A transfer. Its packets of data have this method; what the receiver sends has the other response bit. All
/// transfers with one peer are neighbours in the order.
struct Key {
    std::uint16_t lid = 0;
    std::uint32_t qp = 0;
    std::uint64_t tid = 0;
    std::uint8_t method = 0;
    auto operator<=>(const Key&) const = default;

    [[nodiscard]] bool same_peer(const Key& other) const { return lid == other.lid && qp == other.qp; }
    /// The transfer the other way of the same transaction; also the one that this receiver's packet is about.
    [[nodiscard]] Key turned() const {
        return {lid, qp, tid, static_cast<std::uint8_t>(method ^ kResponseBit)};
    }
    [[nodiscard]] bool is_response() const { return (method & kResponseBit) != 0; }
};

std::uint64_t tid_of(const std::uint8_t* mad) {
    std::uint64_t tid = 0;
    std::memcpy(&tid, mad + kTidOctet, sizeof tid);
    return be64toh(tid);
}

bool is_sa(const std::uint8_t* mad) {
    constexpr std::uint8_t kBaseVersion = 1;
    return mad[0] == kBaseVersion && mad[kClassOctet] == static_cast<std::uint8_t>(MgmtClass::subn_adm);
}

Key key_of(const MadAddress& peer, const std::uint8_t* mad) {
    return {peer.lid.value(), peer.qp, tid_of(mad), mad[kMethodOctet]};
}

enum class Side : std::uint8_t { send, receive };

struct TransferDeadline {
    base::Instant at;
    Side side = Side::send;
    Key key;
    auto operator<=>(const TransferDeadline&) const = default;
};

/// Transfers that have ended, so that a packet repeated because our last word was lost gets it again. Bounded
/// in time and number; the oldest go first.
template <class What>
class Remembered {
public:
    Remembered(base::Duration keep, std::size_t most) : keep_(keep), most_(most) {}

    void add(const Key& key, What what, base::Instant now) {
        expire(now);
        if (order_.size() >= most_) {
            drop_oldest();
        }
        const base::Instant until = now + keep_;
        items_.insert_or_assign(key, Item{std::move(what), until});
        order_.push_back({until, key});
    }

    [[nodiscard]] What* find(const Key& key, base::Instant now) {
        const auto item = items_.find(key);
        return item != items_.end() && item->second.until > now ? &item->second.what : nullptr;
    }

    void expire(base::Instant now) {
        while (!order_.empty() && order_.front().first <= now) {
            drop_oldest();
        }
    }

private:
    struct Item {
        What what;
        base::Instant until;
    };

    void drop_oldest() {
        // A key that was remembered anew since has a later time.
        const auto item = items_.find(order_.front().second);
        if (item != items_.end() && item->second.until == order_.front().first) {
            items_.erase(item);
        }
        order_.pop_front();
    }

    base::Duration keep_;
    std::size_t most_;
    std::map<Key, Item> items_;
    std::deque<std::pair<base::Instant, Key>> order_;
};

/// A packet back to where `to` came from: its header, the method turned, no data.
WireMad answer(const WireMad& to, const RmppHeader& rmpp) {
    WireMad mad;
    mad.address = to.address;
    std::copy_n(to.bytes.begin(), kSaHeaderBytes, mad.bytes.begin());
    mad.bytes[kMethodOctet] ^= kResponseBit;
    write_rmpp_header(rmpp, mad.bytes);
    return mad;
}

RmppHeader ack_header(std::uint32_t segment, std::uint32_t window_last) {
    return {.version = kRmppVersion,
            .type = RmppType::ack,
            .active = true,
            .segment = segment,
            .payload_length = window_last};
}

/// STOP for want of resources, ABORT for all else.
RmppHeader end_header(RmppStatus status) {
    return {.version = kRmppVersion,
            .type = status == RmppStatus::resources ? RmppType::stop : RmppType::abort,
            .active = true,
            .status = static_cast<std::uint8_t>(status)};
}

}  // namespace

struct Rmpp::Impl {
    struct Sending {
        RmppSend transfer;
        base::Instant deadline;
    };
    struct Receiving {
        RmppReceive transfer;
        base::Instant deadline;
    };
    /// The last ACK, and the window that the peer opened for the answer (IBA 13.6.6.3, double-sided).
    struct Received {
        std::uint32_t segments = 0;
        std::uint32_t window_last = 0;
        std::uint32_t answer_window = 1;
    };
    struct Sent {};
    using Sends = std::map<Key, Sending>;
    using Receives = std::map<Key, Receiving>;

    explicit Impl(const RmppLimits& table_limits)
        : limits(table_limits),
          silence(2 * (table_limits.retries + 1) * table_limits.timeout),
          received(silence, kRememberedPerOpen * table_limits.transfers),
          sent_requests(silence, kRememberedPerOpen * table_limits.transfers) {
        IBF_CHECK(limits.window > 0 && limits.window <= kWindowMax, "an RMPP window is 1 to 65,536 segments");
        IBF_CHECK(limits.timeout >= std::chrono::milliseconds{1}, "an RMPP time-out is at least 1 ms");
        IBF_CHECK(limits.transfers > 0 && limits.per_peer > 0, "RMPP with no transfers does nothing");
        IBF_CHECK(limits.message_bytes <= kMessageBytesMax, "an RMPP message is at most 2 GiB");
    }

    // --- what every transfer has ---

    template <class Transfers>
    bool full(const Transfers& transfers, const Key& key) const;
    template <class Transfer>
    void set_deadline(Side side, const Key& key, Transfer& transfer, base::Instant at);
    void report(Side side, const MadAddress& peer, const Key& key, RmppEnd how, RmppStatus status,
                RmppOutputs& out);
    void end_send(Sends::iterator at, RmppEnd how, RmppStatus status, base::Instant now, RmppOutputs& out);
    void end_receive(Receives::iterator at, RmppEnd how, RmppStatus status, RmppOutputs& out);
    template <class Transfers>
    void drop(Transfers& transfers, Side side, const Key& peer, std::optional<std::uint64_t> tid);

    // --- packets ---

    void on_data(const WireMad& mad, const RmppHeader& rmpp, base::Instant now, RmppOutputs& out);
    Receives::iterator start_receive(const WireMad& mad, const RmppHeader& rmpp, const Key& key,
                                     base::Instant now, RmppOutputs& out);
    void continue_receive(Receives::iterator at, const WireMad& mad, const RmppHeader& rmpp,
                          base::Instant now, RmppOutputs& out);
    void on_ack(const WireMad& mad, const RmppHeader& rmpp, base::Instant now, RmppOutputs& out);
    void on_ack_without_send(const WireMad& mad, const RmppHeader& rmpp, base::Instant now, RmppOutputs& out);
    bool end_their_receive(const WireMad& mad, RmppEnd how, RmppStatus status, base::Instant now,
                           RmppOutputs& out);
    void end_their_send(const WireMad& mad, RmppEnd how, RmppStatus status, RmppOutputs& out);
    void on_end(const WireMad& mad, const RmppHeader& rmpp, base::Instant now, RmppOutputs& out);
    void on_stray(const WireMad& mad, RmppStatus status, base::Instant now, RmppOutputs& out);
    void abort(const WireMad& mad, RmppStatus status, RmppOutputs& out);
    void on_deadline(const TransferDeadline& due, base::Instant now, RmppOutputs& out);

    RmppLimits limits;
    /// A transfer received is given up after so long without a new segment, and one that ended is remembered
    /// so long: twice what a sender like us tries for, and four of Linux's waits for an ACK.
    base::Duration silence;
    Sends sends;
    Receives receives;
    std::size_t receive_bytes = 0;  ///< footprints of `receives`
    Remembered<Received> received;
    Remembered<Sent> sent_requests;
    std::set<TransferDeadline> deadlines;  ///< one for each transfer
    RmppCounters counters;
};

/// No room for another transfer like `key`.
template <class Transfers>
bool Rmpp::Impl::full(const Transfers& transfers, const Key& key) const {
    if (transfers.size() >= limits.transfers) {
        return true;
    }
    std::uint32_t with_peer = 0;
    for (auto at = transfers.lower_bound({.lid = key.lid, .qp = key.qp});
         at != transfers.end() && at->first.same_peer(key); ++at) {
        if (++with_peer >= limits.per_peer) {
            return true;
        }
    }
    return false;
}

template <class Transfer>
void Rmpp::Impl::set_deadline(Side side, const Key& key, Transfer& transfer, base::Instant at) {
    if (at == transfer.deadline) {
        return;
    }
    auto node = deadlines.extract({transfer.deadline, side, key});
    IBF_CHECK(!node.empty(), "a transfer without its deadline");
    transfer.deadline = at;
    node.value().at = at;
    deadlines.insert(std::move(node));
}

void Rmpp::Impl::report(Side side, const MadAddress& peer, const Key& key, RmppEnd how, RmppStatus status,
                        RmppOutputs& out) {
    switch (how) {
        case RmppEnd::delivered: ++counters.delivered; break;
        case RmppEnd::refused: ++counters.refused; break;
        default: ++counters.failed; break;
    }
    out.ended.push_back({.sending = side == Side::send,
                         .peer = peer,
                         .tid = key.tid,
                         .how = how,
                         .status = static_cast<std::uint8_t>(status)});
}

void Rmpp::Impl::end_send(Sends::iterator at, RmppEnd how, RmppStatus status, base::Instant now,
                          RmppOutputs& out) {
    const Key key = at->first;
    if (how == RmppEnd::delivered && !key.is_response()) {
        sent_requests.add(key, {}, now);
    }
    report(Side::send, at->second.transfer.message().peer, key, how, status, out);
    deadlines.erase({at->second.deadline, Side::send, key});
    sends.erase(at);
}

void Rmpp::Impl::end_receive(Receives::iterator at, RmppEnd how, RmppStatus status, RmppOutputs& out) {
    report(Side::receive, at->second.transfer.first().address, at->first, how, status, out);
    receive_bytes -= at->second.transfer.footprint();
    deadlines.erase({at->second.deadline, Side::receive, at->first});
    receives.erase(at);
}

template <class Transfers>
void Rmpp::Impl::drop(Transfers& transfers, Side side, const Key& peer, std::optional<std::uint64_t> tid) {
    auto at = transfers.lower_bound({.lid = peer.lid, .qp = peer.qp, .tid = tid.value_or(0)});
    while (at != transfers.end() && at->first.same_peer(peer) && (!tid || at->first.tid == *tid)) {
        if constexpr (std::is_same_v<Transfers, Receives>) {
            receive_bytes -= at->second.transfer.footprint();
        }
        deadlines.erase({at->second.deadline, side, at->first});
        at = transfers.erase(at);
    }
}

// --- receiving ---

void Rmpp::Impl::on_data(const WireMad& mad, const RmppHeader& rmpp, base::Instant now, RmppOutputs& out) {
    ++counters.segments_in;
    const bool bad_segment = rmpp.segment == 0 || rmpp.first != (rmpp.segment == 1);
    if (rmpp.status != 0 || bad_segment) {
        const RmppStatus why = bad_segment ? RmppStatus::bad_segment : RmppStatus::bad_status;
        abort(mad, why, out);
        end_their_send(mad, RmppEnd::protocol, why, out);
        return;
    }
    const Key key = key_of(mad.address, mad.bytes.data());
    auto at = receives.find(key);
    if (at == receives.end()) {
        if (const Received* whole = received.find(key, now)) {
            if (rmpp.segment <= whole->segments) {
                out.wire.push_back(answer(mad, ack_header(whole->segments, whole->window_last)));
            }
            return;
        }
        if (rmpp.segment != 1) {
            return;  // of a transfer that we gave up, or that we were started in the middle of
        }
        at = start_receive(mad, rmpp, key, now, out);
        if (at == receives.end()) {
            return;
        }
    }
    continue_receive(at, mad, rmpp, now, out);
}

/// End where there is no room for it.
Rmpp::Impl::Receives::iterator Rmpp::Impl::start_receive(const WireMad& mad, const RmppHeader& rmpp,
                                                         const Key& key, base::Instant now,
                                                         RmppOutputs& out) {
    // What the first packet says of the whole, if it says anything, may save the peer sending it.
    const std::size_t longest =
        limits.message_bytes + (limits.message_bytes / kSaDataBytes + 1) * kRmppClassHeaderBytes;
    if (full(receives, key) || rmpp.payload_length > longest) {
        out.wire.push_back(answer(mad, end_header(RmppStatus::resources)));
        report(Side::receive, mad.address, key, RmppEnd::refused, RmppStatus::resources, out);
        return receives.end();
    }
    // An answer shows that the request arrived, be its last ACK lost or late.
    if (const auto request = sends.find(key.turned());
        request != sends.end() && key.is_response() && request->second.transfer.all_sent()) {
        end_send(request, RmppEnd::delivered, RmppStatus::normal, now, out);
    }
    const base::Instant deadline = now + silence;
    deadlines.insert({deadline, Side::receive, key});
    return receives.emplace(key, Receiving{RmppReceive(mad, limits), deadline}).first;
}

void Rmpp::Impl::continue_receive(Receives::iterator at, const WireMad& mad, const RmppHeader& rmpp,
                                  base::Instant now, RmppOutputs& out) {
    RmppReceive& transfer = at->second.transfer;
    const std::size_t before = transfer.footprint();
    const std::size_t room = limits.receive_bytes - std::min(limits.receive_bytes, receive_bytes);
    const RmppReceive::Taken taken = transfer.on_data(mad, rmpp, room);
    receive_bytes += transfer.footprint() - before;
    if (taken.refusal != RmppStatus::normal) {
        out.wire.push_back(answer(mad, end_header(taken.refusal)));
        const bool limit = taken.refusal == RmppStatus::resources;
        end_receive(at, limit ? RmppEnd::refused : RmppEnd::protocol, taken.refusal, out);
        return;
    }
    if (taken.answer) {
        out.wire.push_back(answer(mad, ack_header(transfer.acknowledged(), transfer.window_last())));
    }
    if (taken.whole) {
        const Key key = at->first;
        received.add(key, {.segments = transfer.acknowledged(), .window_last = transfer.window_last()}, now);
        ++counters.received;
        receive_bytes -= transfer.footprint();
        out.received.push_back(transfer.take());
        deadlines.erase({at->second.deadline, Side::receive, key});
        receives.erase(at);
    } else if (taken.progress) {
        set_deadline(Side::receive, at->first, at->second, now + silence);
    }
}

// --- sending ---

void Rmpp::Impl::on_ack(const WireMad& mad, const RmppHeader& rmpp, base::Instant now, RmppOutputs& out) {
    if (rmpp.status != 0) {
        abort(mad, RmppStatus::bad_status, out);
        end_their_receive(mad, RmppEnd::protocol, RmppStatus::bad_status, now, out);
        return;
    }
    const auto at = sends.find(key_of(mad.address, mad.bytes.data()).turned());
    if (at == sends.end()) {
        on_ack_without_send(mad, rmpp, now, out);
        return;
    }
    RmppSend& transfer = at->second.transfer;
    const std::uint64_t sent_before = transfer.segments_out();
    const std::uint64_t again_before = transfer.segments_again();
    const RmppSend::Acked acked = transfer.on_ack(rmpp, now, out.wire);
    counters.segments_out += transfer.segments_out() - sent_before;
    counters.segments_again += transfer.segments_again() - again_before;
    if (acked.refusal != RmppStatus::normal) {
        abort(mad, acked.refusal, out);
        end_send(at, RmppEnd::protocol, acked.refusal, now, out);
    } else if (acked.delivered) {
        if (!at->first.is_response()) {
            out.wire.push_back(answer(mad, ack_header(0, 1)));
        }
        end_send(at, RmppEnd::delivered, RmppStatus::normal, now, out);
    } else {
        set_deadline(Side::send, at->first, at->second, transfer.deadline());
    }
}

/// The turn of a double-sided transfer (IBA 13.6.6.3): the sender of the request answers its last ACK by one
/// of segment 0, which opens the window for the answer. Anything else is late.
void Rmpp::Impl::on_ack_without_send(const WireMad& mad, const RmppHeader& rmpp, base::Instant now,
                                     RmppOutputs& out) {
    const Key key = key_of(mad.address, mad.bytes.data());
    if (rmpp.segment > 0) {
        if (sent_requests.find(key.turned(), now) != nullptr) {
            out.wire.push_back(answer(mad, ack_header(0, 1)));
        }
    } else if (Received* request = received.find(key, now); request != nullptr && !key.is_response()) {
        request->answer_window = std::max(request->answer_window, rmpp.payload_length);
    }
}

// --- the end ---

/// Ends the transfer of which the packet's sender is the receiver. False: there is none.
bool Rmpp::Impl::end_their_receive(const WireMad& mad, RmppEnd how, RmppStatus status, base::Instant now,
                                   RmppOutputs& out) {
    const auto at = sends.find(key_of(mad.address, mad.bytes.data()).turned());
    if (at == sends.end()) {
        return false;
    }
    end_send(at, how, status, now, out);
    return true;
}

/// Ends the transfer of which the packet's sender is the sender.
void Rmpp::Impl::end_their_send(const WireMad& mad, RmppEnd how, RmppStatus status, RmppOutputs& out) {
    const auto at = receives.find(key_of(mad.address, mad.bytes.data()));
    if (at != receives.end()) {
        end_receive(at, how, status, out);
    }
}

/// STOP and ABORT come from either side: from the receiver with the response bit turned. Where there is a
/// transfer for both readings, it is the receiver's: senders just fall silent, in Linux always.
void Rmpp::Impl::on_end(const WireMad& mad, const RmppHeader& rmpp, base::Instant now, RmppOutputs& out) {
    const RmppEnd how = rmpp.type == RmppType::stop ? RmppEnd::stopped : RmppEnd::aborted;
    const auto status = static_cast<RmppStatus>(rmpp.status);
    if (!end_their_receive(mad, how, status, now, out)) {
        end_their_send(mad, how, status, out);
    }
}

/// Of a version or type that there is not, so that it does not say which side sent it.
void Rmpp::Impl::on_stray(const WireMad& mad, RmppStatus status, base::Instant now, RmppOutputs& out) {
    abort(mad, status, out);
    if (!end_their_receive(mad, RmppEnd::protocol, status, now, out)) {
        end_their_send(mad, RmppEnd::protocol, status, out);
    }
}

/// The peer is told what broke the protocol even if there is no transfer, as Linux does; never in answer to a
/// STOP or ABORT, or two could go on for ever.
void Rmpp::Impl::abort(const WireMad& mad, RmppStatus status, RmppOutputs& out) {
    out.wire.push_back(answer(mad, end_header(status)));
}

void Rmpp::Impl::on_deadline(const TransferDeadline& due, base::Instant now, RmppOutputs& out) {
    if (due.side == Side::receive) {
        const auto at = receives.find(due.key);
        out.wire.push_back(answer(at->second.transfer.first(), end_header(RmppStatus::too_long)));
        end_receive(at, RmppEnd::timed_out, RmppStatus::too_long, out);
        return;
    }
    const auto at = sends.find(due.key);
    RmppSend& transfer = at->second.transfer;
    const std::uint64_t again_before = transfer.segments_again();
    if (transfer.on_deadline(now, out.wire)) {
        const std::uint64_t again = transfer.segments_again() - again_before;
        counters.segments_out += again;
        counters.segments_again += again;
        set_deadline(Side::send, at->first, at->second, transfer.deadline());
        return;
    }
    // Ours is the data, so the method stays.
    WireMad mad{.address = transfer.message().peer};
    std::copy_n(transfer.message().header.begin(), kSaHeaderBytes, mad.bytes.begin());
    write_rmpp_header(end_header(RmppStatus::too_many_retries), mad.bytes);
    out.wire.push_back(mad);
    end_send(at, RmppEnd::timed_out, RmppStatus::too_many_retries, now, out);
}

// --- the interface ---

Rmpp::Rmpp(const RmppLimits& limits) : impl_(std::make_unique<Impl>(limits)) {}
Rmpp::~Rmpp() = default;
Rmpp::Rmpp(Rmpp&&) noexcept = default;
Rmpp& Rmpp::operator=(Rmpp&&) noexcept = default;

void Rmpp::send(RmppMessage message, base::Instant now, RmppOutputs& out) {
    Impl& table = *impl_;
    ++table.counters.sent;
    if (message.data == nullptr) {
        message.data = std::make_shared<const std::vector<std::uint8_t>>();
    }
    const Key key = key_of(message.peer, message.header.data());
    const bool takes = is_sa(message.header.data()) && message.data->size() <= table.limits.message_bytes &&
                       !table.sends.contains(key) && !table.full(table.sends, key);
    if (!takes) {
        table.report(Side::send, message.peer, key, RmppEnd::refused, RmppStatus::resources, out);
        return;
    }
    std::uint32_t window_last = 1;
    if (const Impl::Received* request = table.received.find(key.turned(), now);
        request != nullptr && key.is_response()) {
        window_last = request->answer_window;
    }
    const auto at =
        table.sends.emplace(key, Impl::Sending{RmppSend(std::move(message), window_last, table.limits), now})
            .first;
    table.deadlines.insert({now, Side::send, key});
    RmppSend& transfer = at->second.transfer;
    transfer.start(now, out.wire);
    table.counters.segments_out += transfer.segments_out();
    table.set_deadline(Side::send, key, at->second, transfer.deadline());
}

bool Rmpp::on_receive(const WireMad& mad, base::Instant now, RmppOutputs& out) {
    if (!is_sa(mad.bytes.data())) {
        return false;
    }
    const RmppHeader rmpp = parse_rmpp_header(mad.bytes);
    if (!rmpp.active) {
        return false;
    }
    if (rmpp.type == RmppType::stop || rmpp.type == RmppType::abort) {
        impl_->on_end(mad, rmpp, now, out);
    } else if (rmpp.version != kRmppVersion) {
        impl_->on_stray(mad, RmppStatus::bad_version, now, out);
    } else if (rmpp.type == RmppType::data) {
        impl_->on_data(mad, rmpp, now, out);
    } else if (rmpp.type == RmppType::ack) {
        impl_->on_ack(mad, rmpp, now, out);
    } else {
        impl_->on_stray(mad, RmppStatus::bad_type, now, out);
    }
    return true;
}

void Rmpp::on_time(base::Instant now, RmppOutputs& out) {
    Impl& table = *impl_;
    table.received.expire(now);
    table.sent_requests.expire(now);
    while (!table.deadlines.empty() && table.deadlines.begin()->at <= now) {
        const TransferDeadline due = *table.deadlines.begin();  // its place goes with the transfer
        table.on_deadline(due, now, out);
    }
}

std::optional<base::Instant> Rmpp::next_deadline() const {
    if (impl_->deadlines.empty()) {
        return std::nullopt;
    }
    return impl_->deadlines.begin()->at;
}

void Rmpp::forget(const MadAddress& peer, std::optional<std::uint64_t> tid) {
    const Key key{.lid = peer.lid.value(), .qp = peer.qp};
    impl_->drop(impl_->sends, Side::send, key, tid);
    impl_->drop(impl_->receives, Side::receive, key, tid);
}

std::size_t Rmpp::sending() const {
    return impl_->sends.size();
}

std::size_t Rmpp::receiving() const {
    return impl_->receives.size();
}

std::size_t Rmpp::receive_bytes() const {
    return impl_->receive_bytes;
}

const RmppCounters& Rmpp::counters() const {
    return impl_->counters;
}

}  // namespace ibf::mad
