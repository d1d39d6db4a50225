// The audit of tables that were taken on trust: blocks read now and then while nothing else is to be done.
#include <utility>

#include "base/check.hpp"
#include "daemon/sm/subnet_manager.hpp"
#include "mad/codec.hpp"

namespace ibf::sm {

using fabric::kNoNode;
using mad::Completion;
using Severity = fabric::EventRecord::Severity;

bool SubnetManager::may_audit() const {
    return std::holds_alternative<Idle>(phase_) && fabric_ && election_.may_write() && mads_.room() > 0;
}

void SubnetManager::ask_audit(base::Instant now) {
    const auto question = may_audit() ? audit_.next(now) : std::nullopt;
    if (!question) {
        return;
    }
    const std::uint32_t node = fabric_->find(question->guid);
    if (node == kNoNode) {
        audit_.drop(question->guid);
        return audit_.close(TableAudit::Outcome::settled, now);
    }
    mad::Request request;
    request.tag = Tag{Ask::audit_lft, 0, epoch_, node}.pack();
    request.target = device_target(node);
    request.attribute = mad::Attribute::linear_forwarding_table;
    request.modifier = question->block;
    request.path = fabric_->nodes[node].path;
    const bool taken = mads_.submit(std::move(request));
    IBF_CHECK(taken, "the transaction table refused a request although it had room");
}

/// An answer counts only if no sweep came between: then what the switch should hold may have changed under
/// way.
void SubnetManager::on_audit(const Completion& completion, base::Instant now) {
    const Tag tag = Tag::unpack(completion.tag);
    const bool stale = tag.epoch != epoch_ || !std::holds_alternative<Idle>(phase_);
    audit_.close(stale ? TableAudit::Outcome::ask_again : TableAudit::Outcome::settled, now);
    if (stale || completion.kind != Completion::Kind::reply) {
        return;
    }
    const mad::Guid guid = fabric_->nodes[tag.index].guid();
    const auto known = programmed_.find(guid);
    if (known == programmed_.end() || !known->second.row ||
        mad::decode_lft(completion.data) ==
            block_of(*known->second.row, static_cast<std::uint16_t>(completion.request.modifier))) {
        return;
    }
    programmed_.erase(known);
    audit_.drop(guid);
    audit_findings_.push_back(guid);
    want_sweep(SweepScope::full, fmt::format("the table of switch {} is not as it was left", guid), now);
}

void SubnetManager::tell_audit(base::Instant now, Effects& out) {
    for (const mad::Guid guid : std::exchange(audit_findings_, {})) {
        announce(Severity::warning, "table-differs",
                 fmt::format("the forwarding table of {} is not as we left it: it is read and mended",
                             name_of(guid)),
                 guid, {}, now, out);
    }
}

}  // namespace ibf::sm
