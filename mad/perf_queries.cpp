#include "mad/perf_queries.hpp"

#include <utility>

namespace ibf::mad {
namespace {

constexpr std::uint16_t kPartitionBits = 0x7FFF;

/// A place to ask instead that we can address: by LID, in the default partition (or one that is not said).
bool can_follow(const ClassPortInfo& info) {
    const std::uint16_t partition = info.redirect_pkey.value() & kPartitionBits;
    return info.redirect_lid != kLidNone && (partition == kPartitionBits || partition == 0);
}

}  // namespace

void PerfQueries::make_ready(std::uint32_t id, Target& target) {
    if (!target.ready && !target.waiting.empty() && target.in_flight < limits_.window_target) {
        target.ready = true;
        ready_.push_back(id);
    }
}

void PerfQueries::submit(const PerfQuestion& question) {
    Target& target = targets_[question.target];
    target.waiting.push_back({.question = question});
    ++waiting_;
    make_ready(question.target, target);
}

WireMad PerfQueries::wire(const Target& target, const Item& item, std::uint32_t tid) const {
    WireMad mad;
    mad.bytes = encode_perf_get(item.question.attribute, item.question.port, Tid{tid});
    mad.address.lid = item.question.lid;
    mad.address.sl = item.question.sl;
    mad.address.qp = kPerfQp;
    mad.address.qkey = kPerfQKey;
    if (target.redirect) {
        mad.address.lid = target.redirect->redirect_lid;
        mad.address.sl = target.redirect->redirect_sl;
        mad.address.qp = target.redirect->redirect_qp;
        mad.address.qkey = target.redirect->redirect_qkey;
    }
    mad.response_timeout = limits_.timeout;
    return mad;
}

void PerfQueries::poll_send(base::Instant now, std::vector<WireMad>& out) {
    while (!ready_.empty() && flights_.size() < limits_.window_total) {
        const std::uint32_t id = ready_.front();
        ready_.pop_front();
        Target& target = targets_[id];
        target.ready = false;
        if (target.waiting.empty() || target.in_flight >= limits_.window_target) {
            continue;
        }
        Item item = std::move(target.waiting.front());
        target.waiting.pop_front();
        --waiting_;
        ++item.sends;
        item.by_redirect = target.redirect.has_value();
        ++target.in_flight;
        const std::uint32_t tid = next_tid_++;
        out.push_back(wire(target, item, tid));
        deadlines_.insert({now + limits_.timeout, tid});
        flights_.emplace(tid, Flight{.item = std::move(item), .deadline = now + limits_.timeout});
        make_ready(id, target);
    }
}

/// Takes a question out of flight; its Item is moved or copied by the caller before.
void PerfQueries::end(std::map<std::uint32_t, Flight>::iterator flight) {
    const std::uint32_t id = flight->second.item.question.target;
    deadlines_.erase({flight->second.deadline, flight->first});
    flights_.erase(flight);
    Target& target = targets_[id];
    --target.in_flight;
    make_ready(id, target);
}

bool PerfQueries::on_receive(const WireMad& mad, std::vector<PerfAnswer>& out) {
    const base::Result<PerfReply> reply = parse_perf_reply(mad.bytes);
    const auto flight = reply ? flights_.find(reply->tid.value()) : flights_.end();
    if (flight == flights_.end()) {
        return false;
    }
    Item item = flight->second.item;
    Target& target = targets_[item.question.target];
    target.heard = true;
    const bool redirects = (reply->status & kStatusRedirect) != 0;
    const ClassPortInfo elsewhere = redirects ? decode_class_port_info(reply->data) : ClassPortInfo{};
    if (redirects && can_follow(elsewhere) && !item.by_redirect) {
        // Those that were under way when the first one said so find the way in their turn.
        target.redirect = elsewhere;
        item.sends = 0;
        target.waiting.push_front(std::move(item));
        ++waiting_;
        end(flight);
        return true;
    }
    if ((reply->status & kStatusBusy) != 0 && item.sends <= limits_.retries) {
        return true;  // it is asked again when its time is over
    }
    end(flight);
    out.push_back({.tag = item.question.tag,
                   .kind = reply->status == 0 ? PerfAnswer::Kind::reply : PerfAnswer::Kind::error_status,
                   .status = reply->status,
                   .data = reply->data});
    return true;
}

/// Nothing that waits for this device is sent any more.
void PerfQueries::give_up(Target& target, std::vector<PerfAnswer>& out) {
    for (const Item& item : target.waiting) {
        out.push_back({.tag = item.question.tag, .kind = PerfAnswer::Kind::timeout});
    }
    waiting_ -= target.waiting.size();
    target.waiting.clear();
}

void PerfQueries::on_time(base::Instant now, std::vector<PerfAnswer>& out) {
    while (!deadlines_.empty() && deadlines_.begin()->first <= now) {
        const auto flight = flights_.find(deadlines_.begin()->second);
        Item item = flight->second.item;
        Target& target = targets_[item.question.target];
        if (item.sends <= limits_.retries) {
            target.waiting.push_front(std::move(item));
            ++waiting_;
            end(flight);
            continue;
        }
        end(flight);
        out.push_back({.tag = item.question.tag, .kind = PerfAnswer::Kind::timeout});
        if (!std::exchange(target.heard, false)) {
            give_up(target, out);
        }
    }
}

std::optional<base::Instant> PerfQueries::next_deadline() const {
    return deadlines_.empty() ? std::nullopt : std::optional(deadlines_.begin()->first);
}

void PerfQueries::abandon_all() {
    targets_.clear();
    ready_.clear();
    flights_.clear();
    deadlines_.clear();
    waiting_ = 0;
}

}  // namespace ibf::mad
