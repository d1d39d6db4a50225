#include "probe/verbs/wire.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <chrono>
#include <cstring>

#include <fmt/format.h>

#include "base/check.hpp"
#include "probe/payload.hpp"

namespace ibf::probe::verbs {
namespace {

using std::chrono::nanoseconds;
using std::chrono::seconds;

constexpr std::uint64_t kSlowestOctets = 8'000'000;  ///< a second: slower than any link that is up
constexpr seconds kPatienceAtLeast{5};
constexpr seconds kPatienceForEver{30};  ///< where the transport itself would try for ever
constexpr int kTimeoutFactorMost = 4;    ///< an adapter may wait four times as long as told (IBA 9.7.6.1.3)

base::Error post_error(int why, const EndpointAddress& peer) {
    return {base::ErrorKind::io,
            fmt::format("a request to {} cannot be posted: {}", peer.device, std::strerror(why))};
}

std::string_view failure_word(ibv_wc_status status) {
    switch (status) {
        case IBV_WC_RETRY_EXC_ERR: return failure::kRetryExceeded;
        case IBV_WC_RNR_RETRY_EXC_ERR: return failure::kRnrRetryExceeded;
        case IBV_WC_RESP_TIMEOUT_ERR: return failure::kTimeout;
        default: return failure::kOther;
    }
}

}  // namespace

void Wire::fill() {
    const Layout& layout = setting_.layout;
    const bool is_written_to = setting_.spec.test == Test::write && setting_.side == Side::target;
    std::vector<std::uint8_t> pattern(layout.message_bytes);
    for (std::uint32_t content = 0; content < layout.contents; ++content) {
        fill_pattern(pattern, setting_.spec.seed, content);
        expected_.push_back(crc32c(pattern));
        if (layout.source_slots != 0) {
            std::copy(pattern.begin(), pattern.end(), payload(layout.source(content)).begin());
        }
        if (is_written_to) {
            for (std::uint8_t& octet : pattern) {
                octet = static_cast<std::uint8_t>(~octet);
            }
            untouched_.push_back(crc32c(pattern));
            for (std::uint32_t lane = 0; lane < layout.queue_pairs; ++lane) {
                std::copy(pattern.begin(), pattern.end(), payload(layout.slot(lane, content)).begin());
            }
        }
    }
}

base::Result<void> Wire::take(ibv_qp* queue_pair, std::uint32_t number, std::uint32_t inline_bytes) {
    const Layout& layout = setting_.layout;
    lanes_.resize(std::max<std::size_t>(lanes_.size(), number + 1));
    Lane& lane = lanes_[number];
    lane.queue_pair = queue_pair;
    lane.inline_bytes = inline_bytes;
    for (std::uint32_t slot = layout.slots; slot > 0; --slot) {
        lane.free_slots.push_back(slot - 1);
    }
    for (std::uint32_t i = 0; i < layout.receives; ++i) {
        if (auto posted = post_receive(static_cast<std::uint8_t>(number)); !posted) {
            return posted;
        }
    }
    return {};
}

ibv_sge Wire::part(std::uint64_t offset) const {
    ibv_sge part{};
    part.addr = memory_.address() + offset;
    part.length = static_cast<std::uint32_t>(setting_.layout.message_bytes);
    part.lkey = memory_.local_key();
    return part;
}

base::Result<void> Wire::post_receive(std::uint8_t number, std::optional<std::uint32_t> slot) {
    Lane& lane = lanes_[number];
    const Layout& layout = setting_.layout;
    const bool wants_slot = !layout.has_unseen || layout.is_checked(lane.receives_posted);
    if (!slot && wants_slot && !lane.free_slots.empty()) {
        slot = lane.free_slots.back();
        lane.free_slots.pop_back();
    }
    IBF_CHECK(slot || layout.has_unseen, "no slot for a receive on queue pair {}", number);
    ibv_sge into = part(slot ? layout.slot(number, *slot) : layout.unseen());
    into.length += layout.headroom;
    ibv_recv_wr request{};
    request.wr_id = RequestId{RequestId::Kind::receive, number, slot.value_or(RequestId::kUnseen)}.packed();
    request.sg_list = &into;
    request.num_sge = 1;
    ibv_recv_wr* refused = nullptr;
    if (const int why = ibv_post_recv(lane.queue_pair, &request, &refused); why != 0) {
        return tl::unexpected(post_error(why, peer_));
    }
    ++lane.receives_posted;
    return {};
}

base::Result<void> Wire::post(Lane& lane, ibv_send_wr& request) {
    request.num_sge = 1;
    request.send_flags = IBV_SEND_SIGNALED;
    const bool may_be_inline = request.opcode != IBV_WR_RDMA_READ;
    if (may_be_inline && request.sg_list->length <= lane.inline_bytes) {
        request.send_flags |= IBV_SEND_INLINE;
    }
    if (lane.handle != nullptr) {
        request.wr.ud.ah = lane.handle;
        request.wr.ud.remote_qpn = lane.remote_number;
        request.wr.ud.remote_qkey = peer_.q_key;
    }
    ibv_send_wr* refused = nullptr;
    if (const int why = ibv_post_send(lane.queue_pair, &request, &refused); why != 0) {
        return tl::unexpected(post_error(why, peer_));
    }
    ++lane.posted;
    return {};
}

base::Result<void> Wire::post_send(std::uint8_t number, std::uint32_t sequence) {
    Lane& lane = lanes_[number];
    ibv_sge from = part(setting_.layout.source(lane.posted));
    ibv_send_wr request{};
    request.wr_id = RequestId{RequestId::Kind::send, number}.packed();
    request.sg_list = &from;
    request.opcode = lane.handle != nullptr ? IBV_WR_SEND_WITH_IMM : IBV_WR_SEND;
    request.imm_data = htonl(sequence);
    return post(lane, request);
}

base::Result<void> Wire::post_echo(std::uint8_t number, std::uint32_t slot, std::uint32_t sequence) {
    Lane& lane = lanes_[number];
    ibv_sge from = part(setting_.layout.slot(number, slot) + setting_.layout.headroom);
    ibv_send_wr request{};
    request.wr_id = RequestId{RequestId::Kind::send, number, slot}.packed();
    request.sg_list = &from;
    request.opcode = lane.handle != nullptr ? IBV_WR_SEND_WITH_IMM : IBV_WR_SEND;
    request.imm_data = htonl(sequence);
    return post(lane, request);
}

base::Result<void> Wire::post_one_sided(std::uint8_t number, const Layout& theirs) {
    Lane& lane = lanes_[number];
    const Layout& layout = setting_.layout;
    const bool is_read = setting_.spec.test == Test::read;
    RequestId id{RequestId::Kind::send, number};
    ibv_sge local{};
    ibv_send_wr request{};
    request.wr.rdma.rkey = peer_.memory_key;
    if (is_read) {
        const bool wants_slot = !layout.has_unseen || layout.is_checked(lane.posted);
        if (wants_slot && !lane.free_slots.empty()) {
            id.slot = lane.free_slots.back();
            lane.free_slots.pop_back();
        }
        IBF_CHECK(id.slot != RequestId::kUnseen || layout.has_unseen, "no slot for a read on {}", number);
        local = part(id.slot == RequestId::kUnseen ? layout.unseen() : layout.slot(number, id.slot));
        request.opcode = IBV_WR_RDMA_READ;
        request.wr.rdma.remote_addr = peer_.memory + theirs.source(lane.posted);
    } else {
        local = part(layout.source(lane.posted));
        request.opcode = IBV_WR_RDMA_WRITE;
        const auto content = static_cast<std::uint32_t>(lane.posted % layout.contents);
        request.wr.rdma.remote_addr = peer_.memory + theirs.slot(number, content);
    }
    request.wr_id = id.packed();
    request.sg_list = &local;
    return post(lane, request);
}

void Wire::compare(std::uint8_t lane, std::uint32_t slot, std::uint64_t message, std::uint64_t bytes,
                   Outcome& outcome) const {
    const Layout& layout = setting_.layout;
    if (slot == RequestId::kUnseen || layout.check_every == 0) {
        return;
    }
    const auto came = payload(layout.slot(lane, slot) + layout.headroom);
    ++outcome.checked;
    if (bytes != layout.message_bytes || crc32c(came) != expected_[message % layout.contents]) {
        ++outcome.corrupt;
    }
}

void Wire::mark(std::uint8_t lane, std::uint32_t slot) const {
    const Layout& layout = setting_.layout;
    if (slot != RequestId::kUnseen && layout.check_every != 0) {
        mark_compared(payload(layout.slot(lane, slot) + layout.headroom));
    }
}

void Wire::compare_written(Outcome& outcome) const {
    const Layout& layout = setting_.layout;
    if (layout.check_every == 0) {
        return;
    }
    for (std::uint32_t lane = 0; lane < layout.queue_pairs; ++lane) {
        for (std::uint32_t content = 0; content < layout.contents; ++content) {
            const std::uint32_t crc = crc32c(payload(layout.slot(lane, content)));
            if (crc != untouched_[content]) {
                ++outcome.checked;
                outcome.corrupt += crc != expected_[content] ? 1 : 0;
            }
        }
    }
}

base::Duration Wire::ack_timeout() const {
    return setting_.spec.ack_timeout == 0 ? nanoseconds{0} : nanoseconds{4096LL << setting_.spec.ack_timeout};
}

base::Duration Wire::patience() const {
    const TestSpec& spec = setting_.spec;
    const bool for_ever = spec.ack_timeout == 0;
    const auto tries =
        for_ever ? base::Duration{kPatienceForEver} : ack_timeout() * (spec.retries + 1) * kTimeoutFactorMost;
    // All queue pairs share the link: the first completion may wait for a message of each.
    const auto transfer = seconds{static_cast<std::int64_t>(setting_.layout.message_bytes *
                                                            setting_.layout.queue_pairs / kSlowestOctets)};
    return kPatienceAtLeast + tries + transfer;
}

void Wire::note_failure(const ibv_wc& completion, base::Duration quiet, Outcome& outcome) const {
    const char* words = ibv_wc_status_str(completion.status);
    ++outcome.errors[words];
    if (!outcome.failure.empty() || completion.status == IBV_WC_WR_FLUSH_ERR) {
        return;
    }
    const TestSpec& spec = setting_.spec;
    outcome.failure = failure_word(completion.status);
    const std::string when = base::format_duration(quiet);
    switch (completion.status) {
        case IBV_WC_RETRY_EXC_ERR:
            outcome.failure_text = fmt::format(
                "{} acknowledged nothing for {}: {} ({} tries of {} each, which an adapter may stretch "
                "fourfold). "
                "It is down, its queue pair is gone, or the path to it loses packets",
                peer_.device, when, words, spec.retries + 1,
                spec.ack_timeout == 0 ? std::string{"any length"} : base::format_duration(ack_timeout()));
            break;
        case IBV_WC_RNR_RETRY_EXC_ERR:
            outcome.failure_text =
                fmt::format("{} had nowhere to receive for {}: {} ({} retries). It is overloaded or stopped",
                            peer_.device, when, words, spec.rnr_retries);
            break;
        case IBV_WC_REM_ACCESS_ERR:
        case IBV_WC_REM_INV_REQ_ERR:
        case IBV_WC_REM_OP_ERR:
            outcome.failure_text = fmt::format("{} refused a request: {}", peer_.device, words);
            break;
        default:
            outcome.failure_text = fmt::format("a request with {} failed: {} (vendor's code {:#x})",
                                               peer_.device, words, completion.vendor_err);
    }
}

void Wire::note_timeout(base::Duration quiet, std::uint64_t outstanding, Outcome& outcome) const {
    if (outcome.failure.empty()) {
        outcome.failure = failure::kTimeout;
        outcome.failure_text = fmt::format(
            "nothing from or to {} completed for {}, with {} messages under way, and the device tries on "
            "(some take 7 retries, or an acknowledge timeout of 0, for ever: rdma_rxe does)",
            peer_.device, base::format_duration(quiet), outstanding);
    }
}

void Wire::note_corrupt(Outcome& outcome) const {
    if (outcome.corrupt > 0 && outcome.failure.empty()) {
        outcome.failure = failure::kCorrupt;
        outcome.failure_text =
            fmt::format("{} of {} messages that were compared, with {}, did not hold what was sent (CRC32C)",
                        outcome.corrupt, outcome.checked, peer_.device);
    }
}

}  // namespace ibf::probe::verbs
