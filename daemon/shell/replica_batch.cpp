#include "daemon/shell/replica_batch.hpp"

#include <utility>

#include "base/check.hpp"
#include "db/record_codec.hpp"

namespace ibf::shell {

void IncomingBatch::begin(const Begin& begin) {
    begun_ = begin;
    records_.clear();
    octets_.clear();
    open_ = false;
    bytes_ = 0;
}

base::Result<void> IncomingBatch::add(const Piece& piece) {
    IBF_CHECK(under_way(), "a piece of a batch that has not begun");
    bytes_ += piece.octets.size() + (open_ ? 0 : sizeof(db::Record));
    octets_ += piece.octets;
    open_ = !piece.last;
    if (octets_.size() > db::kRecordBytesMax || bytes_ > bytes_max_) {
        return base::fail(base::ErrorKind::refused, "it sends more than a fabric's memory can be");
    }
    if (open_) {
        return {};
    }
    auto record = db::decode(octets_);
    octets_.clear();
    if (!record) {
        return tl::unexpected(std::move(record.error()));
    }
    records_.push_back(std::move(*record));
    return {};
}

base::Result<IncomingBatch::Whole> IncomingBatch::end(const Commit& commit) {
    IBF_CHECK(under_way(), "the end of a batch that has not begun");
    if (commit.number != ++commits_ || open_) {
        return base::fail(base::ErrorKind::parse, "something is missing in what came");
    }
    return Whole{*std::exchange(begun_, std::nullopt), std::exchange(records_, {})};
}

}  // namespace ibf::shell
