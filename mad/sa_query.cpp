#include "mad/sa_query.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace ibf::mad {
namespace {

constexpr std::uint32_t kGsiQp = 1;
constexpr std::uint32_t kGsiQKey = 0x80010000;
constexpr std::size_t kRecordUnit = 8;  ///< of AttributeOffset
/// A transfer that stands still for 2 * (3 + 1) time-outs is over (mad/rmpp.hpp).
constexpr std::uint8_t kTransferRetries = 3;

RmppLimits rmpp_limits(const SaQueryLimits& limits) {
    return {.transfers = 1,
            .per_peer = 1,
            .message_bytes = limits.answer_bytes,
            .receive_bytes = limits.answer_bytes,
            .retries = kTransferRetries,
            .timeout = limits.timeout};
}

std::uint32_t low_half(std::uint64_t tid) {
    return static_cast<std::uint32_t>(tid);
}

}  // namespace

std::size_t SaReply::count() const {
    return data == nullptr || record_bytes == 0 ? 0 : data->size() / record_bytes;
}

std::span<const std::uint8_t> SaReply::record(std::size_t index) const {
    return std::span(*data).subspan(index * record_bytes, record_bytes);
}

SaQuery::SaQuery(const SaMad& question, Lid sa, Sl sl, const SaQueryLimits& limits)
    : question_(question), limits_(limits), rmpp_(rmpp_limits(limits)), retries_left_(limits.retries) {
    sa_.lid = sa;
    sa_.sl = sl;
    sa_.qp = kGsiQp;
    sa_.qkey = kGsiQKey;
}

void SaQuery::start(base::Instant now, std::vector<WireMad>& out) {
    out.push_back({encode_sa_mad(question_), sa_, limits_.timeout});
    due_ = now + limits_.timeout;
}

void SaQuery::again(base::Instant now, std::vector<WireMad>& out) {
    if (retries_left_ > 0) {
        --retries_left_;
        start(now, out);
        return;
    }
    if (busy_) {
        outcome_ = SaReply{.status = kStatusBusy};
        return;
    }
    outcome_ = base::fail(
        base::ErrorKind::unavailable,
        fmt::format("no answer from the subnet administrator at LID {} ({} tries): is its "
                    "subnet manager running ('sminfo'), is the way there open{}?",
                    sa_.lid, limits_.retries + 1, question_.sm_key == 0 ? "" : ", is --sa-key right"));
}

void SaQuery::on_receive(const WireMad& mad, base::Instant now, std::vector<WireMad>& out) {
    const auto head = parse_sa_mad(mad.bytes);
    if (outcome_ || !head || low_half(head->header.tid) != low_half(question_.header.tid)) {
        return;
    }
    if (head->rmpp.active) {
        RmppOutputs outputs;
        static_cast<void>(rmpp_.on_receive(mad, now, outputs));
        settle(outputs, now, out);
        return;
    }
    if (!head->header.is_response()) {
        return;
    }
    busy_ = (head->header.status & kStatusBusy) != 0;
    if (!busy_) {  // else it is asked again when its time is up
        finish(*head,
               std::make_shared<const std::vector<std::uint8_t>>(head->data.begin(), head->data.end()));
    }
}

void SaQuery::settle(const RmppOutputs& from, base::Instant now, std::vector<WireMad>& out) {
    out.insert(out.end(), from.wire.begin(), from.wire.end());
    for (const RmppMessage& message : from.received) {
        MadBuffer first{};
        std::copy(message.header.begin(), message.header.end(), first.begin());
        if (const auto head = parse_sa_mad(first); head && head->header.is_response()) {
            finish(*head, message.data);
            return;
        }
    }
    for (const RmppOutputs::Ended& ended : from.ended) {
        if (outcome_ || low_half(ended.tid) != low_half(question_.header.tid)) {
            continue;
        }
        if (ended.how == RmppEnd::refused) {
            outcome_ = base::fail(base::ErrorKind::refused,
                                  fmt::format("the answer is longer than {} MB: ask for less, by more fields",
                                              limits_.answer_bytes >> 20U));
            return;
        }
        // Packets of the broken transfer may still be under way.
        ++question_.header.tid;
        again(now, out);
    }
}

void SaQuery::finish(const SaMad& head, std::shared_ptr<const std::vector<std::uint8_t>> data) {
    SaReply reply{.status = head.header.status};
    if (reply.status == 0) {
        const std::size_t told = head.attribute_offset * kRecordUnit;
        // Without RMPP it is one record, and of a Get many an SA tells no offset; a table without has none.
        const bool single = !head.rmpp.active && (told != 0 || head.method() == SaMethod::get_resp);
        reply.record_bytes = single ? data->size() : told;
        reply.data = std::move(data);
    }
    outcome_ = std::move(reply);
}

void SaQuery::on_time(base::Instant now, std::vector<WireMad>& out) {
    if (outcome_) {
        return;
    }
    if (rmpp_.receiving() > 0) {
        RmppOutputs outputs;
        rmpp_.on_time(now, outputs);
        settle(outputs, now, out);
    } else if (now >= due_) {
        again(now, out);
    }
}

std::optional<base::Instant> SaQuery::next_deadline() const {
    if (outcome_) {
        return std::nullopt;
    }
    return rmpp_.receiving() > 0 ? rmpp_.next_deadline() : due_;
}

std::string sa_status_text(MadStatus status) {
    constexpr MadStatus kClassBits = 0xFF00;
    const auto words = [&]() -> std::string {
        switch (status & kClassBits) {
            case kSaNoResources:
                return "the SA has not the resources to answer: the answer may be too long, ask for less, by "
                       "more "
                       "fields";
            case kSaRequestInvalid:
                return "the SA takes the request for invalid: a field's value may not be asked for, or the "
                       "SA key is "
                       "needed (--sa-key), as for P_Key tables";
            case kSaNoRecords: return "no such record";
            case kSaTooManyRecords: return "more than one record fits, and one was asked for";
            case kSaInvalidGid:
                return "a GID is of no port of this subnet: see 'ibfabric query node'; the prefix must be "
                       "the "
                       "subnet's";
            case kSaInsufficientComponents:
                return "the SA wants more fields given: for paths give source and destination";
            case kSaRequestDenied:
                return "the SA denies the request: it is for holders of the SA key (--sa-key), or of that "
                       "partition";
            case 0: return status_text(status);
            default: return "unknown status";
        }
    };
    return fmt::format("status 0x{:04x}: {}", status, words());
}

}  // namespace ibf::mad
