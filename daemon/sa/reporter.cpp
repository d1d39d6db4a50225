#include "daemon/sa/reporter.hpp"

#include <algorithm>

#include "daemon/sa/record_type.hpp"
#include "mad/codec.hpp"
#include "mad/octets.hpp"

namespace ibf::sa {
namespace {

constexpr base::Duration kAnswerTime = std::chrono::seconds{1};
constexpr std::size_t kIssuerGidAt = 64;  ///< behind the 64 octets of the Notice

}  // namespace

bool wants(const fabric::Subscription& subscription, const Report& report) {
    static const RecordType& type = record_type_of(mad::SaAttribute::inform_info);
    const auto field = [&](std::string_view name) { return type.get(subscription.inform_info, name); };
    const auto matches = [&](std::string_view name, std::uint64_t all, std::uint64_t value) {
        return field(name) == all || field(name) == value;
    };
    const std::uint64_t begin = field("LIDRangeBegin");
    const std::uint64_t issuer = report.notice.issuer_lid.value();
    const bool in_range = begin == 0xFFFF || (begin == 0 && field("LIDRangeEnd") == 0) ||
                          (issuer >= begin && issuer <= field("LIDRangeEnd"));
    const mad::Gid gid = mad::load_gid(subscription.inform_info, 0);
    return in_range && (gid == mad::Gid{} || gid == report.issuer) &&
           (field("IsGeneric") != 0) == report.notice.generic &&
           matches("Type", 0xFFFF, report.notice.type) &&
           matches("TrapNumber", 0xFFFF, report.notice.trap_number) &&
           matches("ProducerType", 0xFFFFFF, report.notice.producer);
}

void Reporter::send(const std::shared_ptr<const fabric::Subscription>& to, const Report& report,
                    base::Instant now, std::vector<mad::WireMad>& out) {
    if (full()) {
        ++dropped_;
        return;
    }
    mad::SaMad mad;
    mad.header.method = static_cast<std::uint8_t>(mad::SaMethod::report);
    mad.header.attribute = static_cast<mad::Attribute>(mad::SaAttribute::notice);
    mad.header.tid = ++last_tid_;
    const mad::AttributeData notice = mad::encode(report.notice);
    std::copy(notice.begin(), notice.end(), mad.data.begin());
    mad::store_gid(mad.data, kIssuerGidAt, report.issuer);
    Open open;
    open.wire.bytes = mad::encode_sa_mad(mad);
    open.wire.address.lid = to->lid;
    open.wire.address.qp = to->qpn;
    open.wire.address.qkey = 0x80010000;
    open.wire.address.pkey_index = to->pkey_index;
    open.wire.address.sl = to->sl;
    open.wire.address.path_bits = to->path_bits;
    open.wire.response_timeout = kAnswerTime;
    open.to = to;
    open.due = now + kAnswerTime;
    open.sends = 1;
    out.push_back(open.wire);
    due_.insert({open.due, last_tid_});
    open_.insert_or_assign(last_tid_, std::move(open));
}

bool Reporter::on_response(const mad::SaMad& mad) {
    const auto found = open_.find(static_cast<std::uint32_t>(mad.header.tid));
    if (mad.method() != mad::SaMethod::report_resp || found == open_.end()) {
        return false;
    }
    unanswered_.erase({found->second.to->subscriber, found->second.to->number});
    due_.erase({found->second.due, found->first});
    open_.erase(found);
    return true;
}

std::vector<std::shared_ptr<const fabric::Subscription>> Reporter::on_time(base::Instant now,
                                                                           std::vector<mad::WireMad>& out) {
    std::vector<std::shared_ptr<const fabric::Subscription>> gone;
    while (!due_.empty() && due_.begin()->first <= now) {
        const std::uint32_t tid = due_.begin()->second;
        due_.erase(due_.begin());
        Open& open = open_.at(tid);
        if (open.sends < kSends) {
            ++open.sends;
            open.due = now + kAnswerTime;
            due_.insert({open.due, tid});
            out.push_back(open.wire);
            continue;
        }
        if (++unanswered_[{open.to->subscriber, open.to->number}] == kUnansweredMost) {
            unanswered_.erase({open.to->subscriber, open.to->number});
            gone.push_back(open.to);
        }
        open_.erase(tid);
    }
    return gone;
}

std::optional<base::Instant> Reporter::next_deadline() const {
    return due_.empty() ? std::nullopt : std::optional(due_.begin()->first);
}

}  // namespace ibf::sa
