// DOC: two Rmpp objects joined by a wire in virtual time that loses, delays, reorders and doubles packets,
// all from one seed. Every segment put on the wire is held against what the other side had granted by then.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/prng.hpp"
#include "mad/rmpp.hpp"
#include "mad/sa_mad.hpp"

namespace ibf::mad {

struct WireFaults {
    double loss = 0;
    double doubling = 0;
    base::Duration latency = std::chrono::microseconds{20};
    base::Duration jitter{};  ///< added, uniform: reorders what is closer together
};

inline constexpr std::uint32_t kTestQkey = 0x80010000;

inline MadAddress address_at(std::uint16_t lid) {
    MadAddress address;
    address.lid = Lid{lid};
    address.qp = 1;
    address.qkey = kTestQkey;
    address.sl = Sl{3};
    return address;
}

/// Side 0 has LID 10, side 1 has LID 11.
inline MadAddress address_of(std::size_t side) {
    return address_at(static_cast<std::uint16_t>(10 + side));
}

inline RmppHeader rmpp_of(const WireMad& mad) {
    return parse_rmpp_header(mad.bytes);
}

/// A message to that side, of random data.
inline RmppMessage message_to(std::size_t side, SaMethod method, std::uint64_t tid, std::size_t bytes,
                              std::uint64_t seed) {
    SaMad mad;
    mad.header.method = static_cast<std::uint8_t>(method);
    mad.header.tid = tid;
    mad.header.attribute = static_cast<Attribute>(SaAttribute::path_record);
    mad.attribute_offset = 8;
    const MadBuffer wire = encode_sa_mad(mad);
    RmppMessage message;
    std::copy_n(wire.begin(), kSaHeaderBytes, message.header.begin());
    base::Prng prng{seed};
    std::vector<std::uint8_t> data(bytes);
    for (std::uint8_t& octet : data) {
        octet = static_cast<std::uint8_t>(prng.next());
    }
    message.data = std::make_shared<const std::vector<std::uint8_t>>(std::move(data));
    message.peer = address_of(side);
    return message;
}

class RmppPair {
public:
    RmppPair(const RmppLimits& limits, const WireFaults& faults, std::uint64_t seed)
        : sides_{Rmpp{limits}, Rmpp{limits}}, faults_(faults), prng_(seed) {}

    void send(std::size_t from, RmppMessage message) {
        RmppOutputs out;
        sides_[from].send(std::move(message), now_, out);
        collect(from, std::move(out));
    }

    /// Until nothing is on the wire and no transfer is open; false where that takes longer than `at_most`.
    bool run(base::Duration at_most) {
        const base::Instant end = now_ + at_most;
        while (step(end)) {
        }
        return wire_.empty() && sides_[0].sending() + sides_[0].receiving() == 0 &&
               sides_[1].sending() + sides_[1].receiving() == 0;
    }

    /// The next event not after `end`; false where there is none.
    bool step(base::Instant end) {
        std::optional<base::Instant> next;
        const auto sooner = [&next](std::optional<base::Instant> at) {
            next = at && (!next || *at < *next) ? at : next;
        };
        sooner(sides_[0].next_deadline());
        sooner(sides_[1].next_deadline());
        if (!wire_.empty()) {
            sooner(wire_.begin()->first.first);
        }
        if (!next || *next > end) {
            return false;
        }
        now_ = std::max(now_, *next);
        if (!wire_.empty() && wire_.begin()->first.first <= now_) {
            const auto [to, mad] = wire_.extract(wire_.begin()).mapped();
            deliver(to, mad);
            return true;
        }
        for (std::size_t side = 0; side < 2; ++side) {
            RmppOutputs out;
            sides_[side].on_time(now_, out);
            collect(side, std::move(out));
        }
        return true;
    }

    void deliver(std::size_t to, const WireMad& mad) {
        RmppOutputs out;
        taken_all_ = sides_[to].on_receive(mad, now_, out) && taken_all_;
        collect(to, std::move(out));
    }

    Rmpp& side(std::size_t index) { return sides_[index]; }
    std::vector<RmppMessage>& received(std::size_t side) { return received_[side]; }
    std::vector<RmppOutputs::Ended>& ended(std::size_t side) { return ended_[side]; }
    [[nodiscard]] base::Instant now() const { return now_; }
    [[nodiscard]] std::uint64_t beyond_window() const { return beyond_window_; }
    [[nodiscard]] std::uint64_t packets() const { return packets_; }
    [[nodiscard]] bool taken_all() const { return taken_all_; }
    [[nodiscard]] const std::vector<std::string>& transcript() const { return transcript_; }

    /// Asked for each packet: true drops it.
    std::function<bool(std::size_t from, const RmppHeader&)> drop;
    /// Keeps one line for each packet sent.
    bool keep_transcript = false;

private:
    void collect(std::size_t from, RmppOutputs out) {
        for (RmppMessage& message : out.received) {
            received_[from].push_back(std::move(message));
        }
        ended_[from].insert(ended_[from].end(), out.ended.begin(), out.ended.end());
        for (const WireMad& mad : out.wire) {
            put(from, mad);
        }
    }

    void put(std::size_t from, const WireMad& mad) {
        const RmppHeader rmpp = rmpp_of(mad);
        watch_window(from, mad, rmpp);
        ++packets_;
        if (keep_transcript) {
            transcript_.push_back(std::to_string(now_.time_since_epoch().count()) + " " +
                                  std::to_string(from) + " " + std::to_string(static_cast<int>(rmpp.type)) +
                                  " " + std::to_string(rmpp.segment) + " " +
                                  std::to_string(rmpp.payload_length));
        }
        if ((drop && drop(from, rmpp)) || prng_.unit() < faults_.loss) {
            return;
        }
        const std::size_t copies = prng_.unit() < faults_.doubling ? 2 : 1;
        for (std::size_t i = 0; i < copies; ++i) {
            base::Duration delay = faults_.latency;
            if (faults_.jitter > base::Duration::zero()) {
                delay += base::Duration{static_cast<std::int64_t>(
                    prng_.below(static_cast<std::uint64_t>(faults_.jitter.count())))};
            }
            WireMad arriving = mad;
            arriving.address = address_of(from);
            wire_.emplace(std::pair{now_ + delay, ++serial_}, std::pair{1 - from, arriving});
        }
    }

    /// A data packet's method and TID name the transfer; an ACK's method is turned.
    void watch_window(std::size_t from, const WireMad& mad, const RmppHeader& rmpp) {
        const auto tid = parse_header(mad.bytes)->tid;
        const bool ack = rmpp.type == RmppType::ack;
        const auto method = static_cast<std::uint8_t>(mad.bytes[3] ^ (ack ? 0x80U : 0U));
        auto& granted = granted_.try_emplace({ack ? 1 - from : from, tid, method}, 1U).first->second;
        if (ack) {
            granted = std::max(granted, rmpp.payload_length);
        } else if (rmpp.type == RmppType::data && rmpp.segment > granted) {
            ++beyond_window_;
        }
    }

    std::array<Rmpp, 2> sides_;
    WireFaults faults_;
    base::Prng prng_;
    base::Instant now_{};
    std::uint64_t serial_ = 0;
    std::map<std::pair<base::Instant, std::uint64_t>, std::pair<std::size_t, WireMad>> wire_;
    std::array<std::vector<RmppMessage>, 2> received_;
    std::array<std::vector<RmppOutputs::Ended>, 2> ended_;
    std::map<std::tuple<std::size_t, std::uint64_t, std::uint8_t>, std::uint32_t> granted_;
    std::uint64_t beyond_window_ = 0;
    std::uint64_t packets_ = 0;
    bool taken_all_ = true;
    std::vector<std::string> transcript_;
};

}  // namespace ibf::mad
