#include "db/waiting.hpp"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "db/database.hpp"

namespace ibf::db {
namespace {

/// A part of the fabric takes the place of what waits about the same nodes.
void merge(FabricRecord& waiting, FabricRecord&& part) {
    const std::set<mad::Guid> of(part.of->begin(), part.of->end());
    const auto take_over = [](auto& rows, auto& newer, const auto& is_of_part) {
        std::erase_if(rows, is_of_part);
        std::move(newer.begin(), newer.end(), std::back_inserter(rows));
    };
    take_over(waiting.nodes, part.nodes, [&](const NodeRow& row) { return of.contains(row.guid); });
    take_over(waiting.ports, part.ports, [&](const PortRow& row) { return of.contains(row.node_guid); });
    take_over(waiting.links, part.links,
              [&](const LinkRow& row) { return of.contains(row.a_guid) || of.contains(row.b_guid); });
    if (waiting.of) {
        waiting.of->insert(waiting.of->end(), of.begin(), of.end());
    }
}

}  // namespace

bool Waiting::empty() const {
    return latest_.empty() && tables_.empty() && history_.empty() && !stop_;
}

std::uint64_t Waiting::absorb(Batch&& batch) {
    for (Record& record : batch) {
        if (auto* stop = std::get_if<CleanStopRecord>(&record)) {
            stop_ = *stop;
            continue;
        }
        if (stop_ && !is_history(record)) {
            stop_->clean = false;  // only the last word on the fabric may be a clean stop
        }
        place(std::move(record));
    }
    const std::size_t excess = history_.size() - std::min(history_.size(), history_max_);
    history_.erase(history_.begin(), history_.begin() + static_cast<std::ptrdiff_t>(excess));
    return excess;
}

Batch Waiting::take() {
    Batch batch;
    for (auto& [kind, record] : std::exchange(latest_, {})) {
        batch.push_back(std::move(record));
    }
    for (auto& [guid, record] : std::exchange(tables_, {})) {
        batch.push_back(std::move(record));
    }
    std::move(history_.begin(), history_.end(), std::back_inserter(batch));
    history_.clear();
    if (stop_) {
        batch.emplace_back(*std::exchange(stop_, std::nullopt));
    }
    return batch;
}

void Waiting::place(Record&& record) {
    if (const auto* table = std::get_if<TableRecord>(&record)) {
        const mad::Guid guid = table->switch_guid;
        tables_.insert_or_assign(guid, std::move(record));
    } else if (const auto* forget = std::get_if<TableForgetRecord>(&record)) {
        const mad::Guid guid = forget->switch_guid;
        tables_.insert_or_assign(guid, std::move(record));
    } else if (std::holds_alternative<FabricRecord>(record) || std::holds_alternative<LidsRecord>(record) ||
               std::holds_alternative<SaStateRecord>(record) || std::holds_alternative<LanesRecord>(record) ||
               std::holds_alternative<DrainsRecord>(record)) {
        const std::size_t kind = record.index();
        const auto waiting = latest_.find(kind);
        auto* part = std::get_if<FabricRecord>(&record);
        if (part != nullptr && part->of && waiting != latest_.end()) {
            merge(std::get<FabricRecord>(waiting->second), std::move(*part));
        } else {
            latest_.insert_or_assign(kind, std::move(record));
        }
    } else {
        history_.push_back(std::move(record));
    }
}

}  // namespace ibf::db
