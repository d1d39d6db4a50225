#include "daemon/sa/desk.hpp"

#include <algorithm>

namespace ibf::sa {
namespace {

using mad::SaMethod;

constexpr mad::MadStatus kBadVersion = 0x0004;
constexpr mad::MadStatus kBadMethod = 0x0008;
constexpr mad::MadStatus kBadMethodAttribute = 0x000C;
constexpr std::uint8_t kResponseBit = 0x80;

bool is_table(SaMethod method) {
    return method == SaMethod::get_table || method == SaMethod::get_multi ||
           method == SaMethod::get_trace_table;
}

bool changes(SaMethod method, mad::SaAttribute attribute) {
    using A = mad::SaAttribute;
    const bool kept = attribute == A::mc_member_record || attribute == A::service_record;
    return (method == SaMethod::set && (kept || attribute == A::inform_info)) ||
           (method == SaMethod::remove && kept);
}

std::uint8_t reply_method(std::uint8_t method) {
    switch (static_cast<SaMethod>(method)) {
        case SaMethod::set: return static_cast<std::uint8_t>(SaMethod::get_resp);
        case SaMethod::get_trace_table: return static_cast<std::uint8_t>(SaMethod::get_table_resp);
        default: return static_cast<std::uint8_t>(method | kResponseBit);
    }
}

/// The answer's header; its data are still the request's.
mad::SaMad reply_head(const mad::SaMad& request, mad::MadStatus status, const RecordType* type) {
    mad::SaMad reply = request;
    reply.header.method = reply_method(request.header.method);
    reply.header.status = status;
    reply.rmpp = {};
    reply.sm_key = 0;  // never told (C15-0.1.5)
    reply.attribute_offset = status == 0 && type != nullptr ? type->attribute_offset() : std::uint16_t{0};
    return reply;
}

}  // namespace

mad::WireMad reply_to(const mad::WireMad& wire, const mad::SaMad& request, mad::MadStatus status,
                      const RecordType* type, std::span<const std::uint8_t> record) {
    mad::SaMad reply = reply_head(request, status, type);
    if (status == 0) {
        reply.data.fill(0);
        std::copy_n(record.begin(), std::min(record.size(), reply.data.size()), reply.data.begin());
    }
    return {mad::encode_sa_mad(reply), wire.address, {}};
}

Desk::Desk(const SaConfig& config, const DeskLimits& limits, const mad::RmppLimits& rmpp)
    : config_(config),
      limits_(limits),
      rmpp_(rmpp),
      view_(std::make_shared<View>(std::make_shared<fabric::Snapshot>())),
      tables_(std::make_shared<fabric::SaTables>()) {}

void Desk::show(std::shared_ptr<const View> view, std::shared_ptr<const fabric::SaTables> tables) {
    view_ = std::move(view);
    tables_ = std::move(tables);
}

void Desk::settle(mad::RmppOutputs&& from, base::Instant now, DeskOutputs& out) {
    std::move(from.wire.begin(), from.wire.end(), std::back_inserter(out.wire));
    for (mad::RmppMessage& message : from.received) {
        take_message(std::move(message), now, out);
    }
    for (const auto& ended : from.ended) {
        if (ended.sending) {
            // Whatever became of the table: the same request may come again.
            const auto of_table = [&](const RequestKey& key) {
                return std::get<0>(key) == ended.peer.lid && std::get<1>(key) == ended.peer.qp &&
                       std::get<2>(key) == ended.tid;
            };
            constexpr auto kFirstOfTables = static_cast<std::uint8_t>(mad::SaMethod::get_table);
            const auto first =
                in_hand_.lower_bound({ended.peer.lid, ended.peer.qp, ended.tid, kFirstOfTables, 0});
            if (first != in_hand_.end() && of_table(*first)) {
                in_hand_.erase(first);
            }
        }
    }
}

void Desk::on_mad(const mad::WireMad& mad, base::Instant now, DeskOutputs& out) {
    const auto request = mad::parse_sa_mad(mad.bytes);
    if (!request) {
        ++counters_.malformed;
        return;
    }
    if (request->rmpp.active) {
        mad::RmppOutputs outputs;
        if (rmpp_.on_receive(mad, now, outputs)) {
            settle(std::move(outputs), now, out);
            return;
        }
    }
    if (request->header.is_response()) {
        out.for_registry.push_back(mad);  // ReportResp; anything else is nobody's
        return;
    }
    if (may_ask(*request)) {
        take({mad, {}, nullptr}, *request, now, out);
    }
}

/// A request that came in several packets.
void Desk::take_message(mad::RmppMessage&& message, base::Instant now, DeskOutputs& out) {
    mad::WireMad first;
    first.address = message.peer;
    std::copy(message.header.begin(), message.header.end(), first.bytes.begin());
    const auto request = mad::parse_sa_mad(first.bytes);
    if (request && !request->header.is_response() && may_ask(*request)) {
        take({first, {}, std::move(message.data)}, *request, now, out);
    }
}

bool Desk::may_ask(const mad::SaMad& request) {
    ++counters_.requests;
    const mad::SmState state = view_->snapshot().mastership.state;
    const bool holds = view_->snapshot().mode == fabric::SmMode::hold;  // clients have nobody else to ask
    if (!holds && (state == mad::SmState::standby || state == mad::SmState::not_active)) {
        ++counters_.silent;
        return false;
    }
    if (request.sm_key != 0 && request.sm_key != config_.sa_key) {
        ++counters_.malformed;
        return false;
    }
    return true;
}

void Desk::take(Waiting item, const mad::SaMad& request, base::Instant now, DeskOutputs& out) {
    const mad::WireMad& mad = item.mad;
    item.arrived = now;
    item.kind =
        statistics_.kind_of(request.header.method, static_cast<std::uint16_t>(request.header.attribute));
    statistics_.requested(item.kind, mad.address.lid, now);
    if (changes(request.method(), request.attribute())) {
        ++counters_.to_registry;
        out.for_registry.push_back(mad);
        return;
    }
    item.key = {mad.address.lid, mad.address.qp, request.header.tid, request.header.method,
                static_cast<std::uint16_t>(request.header.attribute)};
    if (in_hand_.contains(item.key)) {
        ++counters_.duplicates;
        statistics_.duplicate(mad.address.lid);
        return;
    }
    auto& queue = waiting_[mad.address.lid];
    if (queue.size() >= limits_.per_asker || waiting_count_ >= limits_.waiting) {
        ++counters_.dropped;
        statistics_.dropped(mad.address.lid);
        if (queue.empty()) {
            waiting_.erase(mad.address.lid);
        }
        if (config_.when_full == fabric::WhenFull::busy) {
            refuse(item, request, mad::kStatusBusy, out);
        }
        return;
    }
    in_hand_.insert(item.key);
    queue.push_back(std::move(item));
    ++waiting_count_;
}

void Desk::measure(base::Instant now) {
    if (last_served_) {
        statistics_.answered(last_served_->kind, now - last_served_->arrived);
        last_served_.reset();
    }
}

bool Desk::serve(base::Instant now, DeskOutputs& out) {
    measure(now);
    if (waiting_.empty()) {
        return false;
    }
    auto turn = waiting_.lower_bound(next_);
    if (turn == waiting_.end()) {
        turn = waiting_.begin();
    }
    const Waiting item = std::move(turn->second.front());
    turn->second.pop_front();
    --waiting_count_;
    next_ = mad::Lid{static_cast<std::uint16_t>(turn->first.value() + 1U)};
    if (turn->second.empty()) {
        waiting_.erase(turn);
    }
    const auto request = mad::parse_sa_mad(item.mad.bytes);
    const std::size_t sending = rmpp_.sending();
    if (request) {
        answer(item, *request, now, out);
        last_served_ = {item.kind, item.arrived};
    }
    if (rmpp_.sending() == sending) {
        in_hand_.erase(item.key);  // answered in one MAD: a retry is a new question
    }
    return true;
}

void Desk::refuse(const Waiting& item, const mad::SaMad& request, mad::MadStatus status, DeskOutputs& out) {
    ++counters_.answered;
    out.wire.push_back(reply_to(item.mad, request, status, nullptr, {}));
    if (item.data) {
        rmpp_.forget(item.mad.address,
                     request.header.tid);  // this answer ends the exchange, and is not RMPP's
    }
}

void Desk::answer(const Waiting& item, const mad::SaMad& request, base::Instant now, DeskOutputs& out) {
    const mad::WireMad& mad = item.mad;
    const auto refuse = [&](mad::MadStatus status) { this->refuse(item, request, status, out); };
    constexpr std::uint8_t kClassVersion = 2;
    if (request.header.class_version != kClassVersion) {
        return refuse(kBadVersion);
    }
    if (request.method() != SaMethod::get && !is_table(request.method())) {
        return refuse(record_type(request.attribute()) != nullptr ? kBadMethodAttribute : kBadMethod);
    }
    if (!reads(request.method(), request.attribute())) {
        return refuse(kBadMethodAttribute);
    }
    const Query query{request, *view_, *tables_, config_, view_->by_lid(mad.address.lid)};
    const std::span<const std::uint8_t> data =
        item.data ? std::span<const std::uint8_t>(*item.data) : std::span<const std::uint8_t>(request.data);
    Answer found = read(query, data);
    if (found.status == mad::kSaNoRecords && is_table(request.method())) {
        found.status = 0;  // a table without records is an answer
    }
    if (found.status != 0) {
        return refuse(found.status);
    }
    counters_.records += found.count();
    if (is_table(request.method())) {
        return found.records.size() > config_.answer_bytes
                   ? refuse(mad::kSaNoResources)
                   : send_table(mad, request, std::move(found), now, out);
    }
    if (found.count() != 1) {
        return refuse(found.count() == 0 ? mad::kSaNoRecords : mad::kSaTooManyRecords);
    }
    ++counters_.answered;
    out.wire.push_back(reply_to(mad, request, 0, found.type, found.records));
}

void Desk::send_table(const mad::WireMad& mad, const mad::SaMad& request, Answer&& answer, base::Instant now,
                      DeskOutputs& out) {
    const mad::MadBuffer head = mad::encode_sa_mad(reply_head(request, 0, answer.type));
    mad::RmppMessage message;
    std::copy_n(head.begin(), message.header.size(), message.header.begin());
    message.data = std::make_shared<const std::vector<std::uint8_t>>(std::move(answer.records));
    message.peer = mad.address;
    ++counters_.answered;
    mad::RmppOutputs outputs;
    rmpp_.send(std::move(message), now, outputs);
    settle(std::move(outputs), now, out);
}

void Desk::on_time(base::Instant now, DeskOutputs& out) {
    measure(now);
    mad::RmppOutputs outputs;
    rmpp_.on_time(now, outputs);
    settle(std::move(outputs), now, out);
}

fabric::SaActivity Desk::activity(base::Instant now) const {
    fabric::SaActivity activity;
    activity.requests = counters_.requests;
    activity.answered = counters_.answered;
    activity.records = counters_.records;
    activity.duplicates = counters_.duplicates;
    activity.dropped = counters_.dropped;
    activity.malformed = counters_.malformed;
    activity.changes = counters_.to_registry;
    activity.tables_delivered = rmpp_.counters().delivered;
    activity.tables_failed = rmpp_.counters().failed;
    statistics_.tell(now, activity);
    return activity;
}

}  // namespace ibf::sa
