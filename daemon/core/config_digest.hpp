// DOC: what of the configuration should be the same on every SM of a fabric, as numbers to be compared.
//
// Two SMs that differ in it would undo each other's work with each take-over. Priority, polling, sweeps and
// the like may differ and are left out. Files count by what is in them. A digest tells configurations apart;
// it hides no key from who can guess it, and goes to authenticated peers alone. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "daemon/sm/config.hpp"

namespace ibf::core {

struct ConfigDigest {
    std::string topic;  ///< "partitions and groups", ...
    std::uint64_t value = 0;
    bool operator==(const ConfigDigest&) const = default;
};
using ConfigDigests = std::vector<ConfigDigest>;

/// Sorted by topic.
[[nodiscard]] ConfigDigests config_digests(const sm::SmConfig& config);
/// The topics that are not alike on both sides, or that only one of them has. Both sorted.
[[nodiscard]] std::vector<std::string> differences(const ConfigDigests& ours, const ConfigDigests& theirs);

}  // namespace ibf::core
