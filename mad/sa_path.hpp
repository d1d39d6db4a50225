// DOC: PathRecords, from the asker's side (IBA 15.2.5.16).
//
// The question for one path that can be taken both ways, and the record that answers it. Which fields a
// record has for queries in general is the field tables' matter (daemon/sa/record_type.hpp).
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "base/result.hpp"
#include "base/time.hpp"
#include "mad/ids.hpp"
#include "mad/sa_mad.hpp"

namespace ibf::mad {

struct PathQuestion {
    Lid slid{};
    Lid dlid{};                 ///< none: by `dgid`
    std::optional<Gid> dgid{};  ///< takes precedence of the LID
    std::optional<PKey> pkey{};
};

struct PathRecord {
    Gid dgid{};
    Gid sgid{};
    Lid dlid{};
    Lid slid{};
    bool is_reversible = false;
    PKey pkey{};
    Sl sl{};
    Mtu mtu = Mtu::none;
    std::uint8_t rate = 0;  ///< its code, see sa_rates.hpp
    std::uint64_t bits_per_second = 0;
    std::uint8_t packet_life = 0;  ///< 4.096 us * 2^n, at most

    /// At most that of 50, which is 146 years: more nanoseconds cannot be counted.
    [[nodiscard]] base::Duration packet_lifetime() const;
};

/// A Get, of one reversible path. TID and key are the caller's.
[[nodiscard]] SaMad path_question(const PathQuestion& question);
/// Errors: parse (too short, an MTU or rate that there is not).
[[nodiscard]] base::Result<PathRecord> parse_path_record(std::span<const std::uint8_t> bytes);
/// Errors: parse; also where the record is of other ends or another partition than was asked for, or of one
/// direction.
[[nodiscard]] base::Result<PathRecord> parse_path_answer(std::span<const std::uint8_t> bytes,
                                                         const PathQuestion& question);

}  // namespace ibf::mad
