// DOC: MCMemberRecord (IBA 15.2.5.17), from what is kept of groups and members.
#pragma once

#include <cstdint>
#include <span>

#include "daemon/fabric/sa_tables.hpp"
#include "daemon/sa/record_type.hpp"

namespace ibf::sa {

// Octets of an MCMemberRecord (IBA 15.2.5.17).
inline constexpr std::size_t kMgidAt = 0;
inline constexpr std::size_t kPortGidAt = 16;

/// The record's type, found once.
[[nodiscard]] const RecordType& member_type();
/// The group's part of the record; PortGID, JoinState and ProxyJoin are left alone.
void put_group(std::span<std::uint8_t> record, const fabric::Group& group);
/// The member's part.
void put_member(std::span<std::uint8_t> record, const fabric::Member& member);

}  // namespace ibf::sa
