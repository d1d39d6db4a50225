#include "daemon/sm/table_reader.hpp"

#include <algorithm>

#include "mad/codec.hpp"

namespace ibf::sm {

TableReader::TableReader(std::shared_ptr<const fabric::Fabric> fabric,
                         const std::vector<std::uint32_t>& switches, std::uint16_t epoch)
    : fabric_(std::move(fabric)), epoch_(epoch) {
    for (const std::uint32_t node : switches) {
        const std::uint32_t top = fabric_->nodes[node].switch_info->linear_fdb_top;
        Target target;
        target.node = node;
        target.blocks = static_cast<std::uint16_t>(top / mad::kLftBlockEntries + 1);
        target.row.assign(std::size_t{target.blocks} * mad::kLftBlockEntries, mad::kLftDrop);
        most_blocks_ = std::max(most_blocks_, target.blocks);
        targets_.push_back(std::move(target));
    }
}

std::optional<mad::Request> TableReader::next() {
    if (!again_.empty()) {
        mad::Request request = std::move(again_.back());
        again_.pop_back();
        ++open_;
        return request;
    }
    while (block_ < most_blocks_) {
        if (target_ == targets_.size()) {
            target_ = 0;
            ++block_;
            continue;
        }
        const auto index = static_cast<std::uint32_t>(target_++);
        const Target& target = targets_[index];
        if (block_ >= target.blocks || target.failed) {
            continue;
        }
        mad::Request request;
        request.tag = Tag{Ask::lft_get, 0, epoch_, index}.pack();
        request.target = device_target(target.node);
        request.attribute = mad::Attribute::linear_forwarding_table;
        request.modifier = block_;
        request.path = fabric_->nodes[target.node].path;
        ++open_;
        return request;
    }
    return std::nullopt;
}

void TableReader::on(const mad::Completion& completion) {
    --open_;
    Target& target = targets_[Tag::unpack(completion.tag).index];
    if (completion.kind == mad::Completion::Kind::error_status && !target.asked_again) {
        target.asked_again = true;  // busy, perhaps: once more
        again_.push_back(completion.request);
        return;
    }
    if (completion.kind != mad::Completion::Kind::reply) {
        target.failed = true;
        return;
    }
    const mad::LftBlock block = mad::decode_lft(completion.data);
    std::copy(block.ports.begin(), block.ports.end(),
              target.row.begin() +
                  static_cast<std::ptrdiff_t>(completion.request.modifier * mad::kLftBlockEntries));
}

}  // namespace ibf::sm
