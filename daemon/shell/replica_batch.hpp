// DOC: a batch of records as it comes from another ibfabricd: Begin, Pieces, Commit. Pure.
//
// Records are handed out all together, with the Commit, or not at all; none of them was cut off. What a peer
// can make us hold is bounded, records that are small in octets and large in memory included. The first error
// is the end: the connection has to be closed, and with it goes what has come.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "base/result.hpp"
#include "daemon/shell/replica_frames.hpp"
#include "db/records.hpp"

namespace ibf::shell {

class IncomingBatch {
public:
    /// Of one batch, as octets and as records. The tables of 1,000 switches are 50 MB, 100 with SLs.
    static constexpr std::size_t kBytesMax = std::size_t{1} << 30U;

    struct Whole {
        Begin begun;
        db::Batch records;
    };

    IncomingBatch() : IncomingBatch(kBytesMax) {}
    explicit IncomingBatch(std::size_t bytes_max) : bytes_max_(bytes_max) {}

    [[nodiscard]] bool under_way() const { return begun_.has_value(); }
    void begin(const Begin& begin);
    /// REQUIRES: under_way. Errors: parse (no record), refused (more than a fabric's memory can be).
    [[nodiscard]] base::Result<void> add(const Piece& piece);
    /// REQUIRES: under_way. Errors: parse: something is missing.
    [[nodiscard]] base::Result<Whole> end(const Commit& commit);
    /// What is under way is not wanted any more.
    void drop() { begun_.reset(); }

private:
    std::size_t bytes_max_;
    std::optional<Begin> begun_;
    db::Batch records_;
    std::string octets_;     ///< of the record under way
    bool open_ = false;      ///< one is: its last piece has not come
    std::size_t bytes_ = 0;  ///< of the batch
    std::uint64_t commits_ = 0;
};

}  // namespace ibf::shell
