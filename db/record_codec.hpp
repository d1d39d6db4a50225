// DOC: records as octets, for a standby's copy.
//
// Pure. What a standby cannot see for itself has a form here: LIDs, tables, what is drained, what clients
// left with the SA, history. Not the fabric, which it sweeps; not lane tables, which count only for who wrote
// them; not a clean stop, which is of one run. decode() reads what a peer sent: every length is checked
// before it is believed.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "db/records.hpp"

namespace ibf::db {

/// Of one encoded record. A million members of groups are 60 MB.
inline constexpr std::size_t kRecordBytesMax = std::size_t{128} << 20U;

/// It goes to standbys.
[[nodiscard]] bool is_copied(const Record& record);
/// REQUIRES: is_copied.
[[nodiscard]] std::string encode(const Record& record);
/// Errors: parse.
[[nodiscard]] base::Result<Record> decode(std::string_view octets);

}  // namespace ibf::db
