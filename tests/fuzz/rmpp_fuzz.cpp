// Two Rmpp objects and a wire in the hands of the input: it sends messages, delivers, doubles, drops,
// reorders and spoils packets, makes up packets of its own, and moves time. Whatever it does, the stores stay
// within their limits; while it spoils nothing and makes up nothing, what arrives is what was sent; and in
// the end all is quiet.
//
// The input is a run of steps: an octet that says what to do, and the octets that the step asks for (0 at the
// end).

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <set>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "mad/rmpp.hpp"
#include "mad/sa_mad.hpp"
#include "tests/fuzz/input.hpp"

namespace {

using namespace ibf;
using namespace ibf::mad;
using ibf::fuzz::Input;
using ibf::fuzz::require;

constexpr RmppLimits kLimits{.window = 4,
                             .transfers = 6,
                             .per_peer = 3,
                             .message_bytes = 5000,
                             .receive_bytes = 9000,
                             .retries = 2,
                             .timeout = std::chrono::milliseconds{10}};
constexpr std::size_t kStepsMax = 2000;
constexpr std::size_t kWireMax = 256;
constexpr std::array<std::uint8_t, 4> kMethods{0x92, 0x12, 0x14, 0x94};

MadAddress address(std::uint8_t lid) {
    MadAddress address;
    address.lid = Lid{lid};
    address.qp = 1;
    return address;
}

WireMad packet(std::uint8_t method, std::uint8_t tid) {
    SaMad mad;
    mad.header.method = method;
    mad.header.tid = tid;
    WireMad wire;
    wire.bytes = encode_sa_mad(mad);
    return wire;
}

class Field {
public:
    void step(Input& input) {
        const std::uint8_t action = input.octet();
        const std::size_t side = action >> 7U;
        switch (action & 7U) {
            case 0: send(side, input); break;
            case 1: deliver(input, Keep::no); break;
            case 2: deliver(input, Keep::yes); break;
            case 3: drop(input); break;
            case 4: spoil(input); break;
            case 5: make_up(side, input); break;
            case 6: pass(std::chrono::milliseconds{1U << (input.octet() % 8)}); break;
            default: forget(side, input); break;
        }
    }

    /// A wire that lost nothing carries all that the limits admit, without a time-out. And all transfers end
    /// by themselves, whatever is delivered no more.
    void end() {
        if (honest_ && lossless_) {
            while (!wire_.empty()) {
                const auto [to, mad] = wire_.front();
                wire_.pop_front();
                give(to, mad);
            }
            require(open() == 0 || !lossless_);
        }
        wire_.clear();
        for (int i = 0; i < 10'000 && open() > 0; ++i) {
            pass(std::chrono::milliseconds{5});
            wire_.clear();
        }
        require(open() == 0);
        require(sides_[0].receive_bytes() == 0 && sides_[1].receive_bytes() == 0);
    }

private:
    enum class Keep : std::uint8_t { no, yes };

    void send(std::size_t side, Input& input) {
        const std::uint8_t which = input.octet();
        const std::uint8_t tid = which >> 4U;
        // Two messages under one TID may be mixed up once the first is remembered no more.
        honest_ = honest_ && used_.insert({side, which % kMethods.size(), tid}).second;
        const std::uint32_t bytes = input.word() % (kLimits.message_bytes + 100);
        RmppMessage message;
        const WireMad head = packet(kMethods[which % kMethods.size()], tid);
        std::copy_n(head.bytes.begin(), kSaHeaderBytes, message.header.begin());
        std::vector<std::uint8_t> data(bytes);
        for (std::size_t i = 0; i < data.size(); ++i) {
            data[i] = static_cast<std::uint8_t>(i / 200 + i * 7 + ++serial_);
        }
        sent_.push_back(data);
        message.data = std::make_shared<const std::vector<std::uint8_t>>(std::move(data));
        message.peer = address(static_cast<std::uint8_t>(1 - side));
        RmppOutputs out;
        sides_[side].send(std::move(message), now_, out);
        collect(side, out);
    }

    void deliver(Input& input, Keep keep) {
        if (wire_.empty()) {
            return;
        }
        const auto at = wire_.begin() + static_cast<std::ptrdiff_t>(input.octet() % wire_.size());
        const auto [to, mad] = *at;
        if (keep == Keep::no) {
            wire_.erase(at);
        }
        give(to, mad);
    }

    void drop(Input& input) {
        if (!wire_.empty()) {
            lossless_ = false;
            wire_.erase(wire_.begin() + static_cast<std::ptrdiff_t>(input.octet() % wire_.size()));
        }
    }

    void spoil(Input& input) {
        if (!wire_.empty()) {
            honest_ = false;
            WireMad& mad = wire_[input.octet() % wire_.size()].second;
            mad.bytes[input.octet()] ^= input.octet();
        }
    }

    void make_up(std::size_t side, Input& input) {
        honest_ = false;
        const std::uint8_t which = input.octet();
        const std::uint8_t flags = input.octet();
        WireMad mad = packet(kMethods[which % kMethods.size()], which >> 4U);
        mad.address = address(flags >> 6U);
        RmppHeader rmpp{.version = 1,
                        .type = static_cast<RmppType>((which >> 2U & 3U) + 1),
                        .active = true,
                        .first = (flags & 1U) != 0,
                        .last = (flags & 2U) != 0};
        rmpp.segment = (flags & 4U) != 0 ? input.word() << 16U | input.word() : input.octet() % 32U;
        rmpp.payload_length = (flags & 8U) != 0 ? input.word() << 16U | input.word() : input.octet();
        rmpp.status = (flags & 16U) != 0 ? input.octet() : 0;
        write_rmpp_header(rmpp, mad.bytes);
        give(side, mad);
    }

    void pass(base::Duration duration) {
        lossless_ = false;  // what stays on the wire for so long is as good as lost
        now_ += duration;
        for (std::size_t side = 0; side < 2; ++side) {
            RmppOutputs out;
            sides_[side].on_time(now_, out);
            collect(side, out);
            require(!sides_[side].next_deadline() || *sides_[side].next_deadline() > now_);
        }
    }

    void forget(std::size_t side, Input& input) {
        lossless_ = false;
        const std::uint8_t which = input.octet();
        const auto tid = (which & 1U) != 0 ? std::optional<std::uint64_t>{which >> 4U} : std::nullopt;
        sides_[side].forget(address(static_cast<std::uint8_t>(1 - side)), tid);
        collect(side, {});
    }

    void give(std::size_t to, const WireMad& mad) {
        RmppOutputs out;
        (void)sides_[to].on_receive(mad, now_, out);
        collect(to, out);
    }

    void collect(std::size_t side, const RmppOutputs& out) {
        const Rmpp& rmpp = sides_[side];
        require(rmpp.sending() <= kLimits.transfers && rmpp.receiving() <= kLimits.transfers);
        require(rmpp.receive_bytes() <= kLimits.receive_bytes);
        require(rmpp.next_deadline().has_value() == (rmpp.sending() + rmpp.receiving() > 0));
        // One packet in, a message's segments out at most.
        require(out.wire.size() <= kLimits.transfers * (kLimits.message_bytes / kSaDataBytes + 2));
        for (const RmppMessage& message : out.received) {
            require(message.data->size() <= kLimits.message_bytes);
            require(!honest_ || std::find(sent_.begin(), sent_.end(), *message.data) != sent_.end());
        }
        for (const RmppOutputs::Ended& ended : out.ended) {
            require(!honest_ || !lossless_ || ended.how == RmppEnd::delivered ||
                    ended.status == static_cast<std::uint8_t>(RmppStatus::resources));
        }
        for (const WireMad& mad : out.wire) {
            require(parse_rmpp_header(mad.bytes).active);
            if (mad.address.lid.value() != 1 - side || wire_.size() >= kWireMax) {
                lossless_ = false;
                continue;
            }
            wire_.emplace_back(1 - side, mad);
            wire_.back().second.address = address(static_cast<std::uint8_t>(side));
        }
    }

    [[nodiscard]] std::size_t open() const {
        return sides_[0].sending() + sides_[0].receiving() + sides_[1].sending() + sides_[1].receiving();
    }

    std::array<Rmpp, 2> sides_{Rmpp{kLimits}, Rmpp{kLimits}};
    base::Instant now_{};
    std::deque<std::pair<std::size_t, WireMad>> wire_;
    std::vector<std::vector<std::uint8_t>> sent_;
    std::size_t serial_ = 0;
    std::set<std::tuple<std::size_t, std::size_t, std::uint8_t>> used_;  ///< side, method, TID
    bool honest_ = true;                                                 ///< nothing spoilt or made up
    bool lossless_ = true;  ///< nothing dropped, and no time passed
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    ibf::fuzz::run_steps<Field>(data, size, kStepsMax);
    return 0;
}
