// DOC: what clients have left with the SA: groups and their members, services, subscriptions.
//
// Values, part of a Snapshot, immutable for readers; the registry (sa/registry) makes new ones.
#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "base/time.hpp"
#include "mad/ids.hpp"

namespace ibf::fabric {

// Bits of JoinState (IBA 15.2.5.17).
inline constexpr std::uint8_t kFullMember = 1;
inline constexpr std::uint8_t kNonMember = 2;
inline constexpr std::uint8_t kSendOnlyNonMember = 4;
inline constexpr std::uint8_t kSendOnlyFullMember = 8;

struct Member {
    mad::Gid port;
    std::uint8_t join_state = 0;
    bool proxy_join = false;
    auto operator<=>(const Member&) const = default;
};

struct Group {
    mad::Gid mgid;
    mad::Mlid mlid{};
    std::uint32_t qkey = 0;
    std::uint8_t mtu = 0;   ///< code
    std::uint8_t rate = 0;  ///< code
    std::uint8_t packet_life_time = 0;
    std::uint8_t tclass = 0;
    mad::PKey pkey{};
    std::uint8_t sl = 0;
    std::uint32_t flow_label = 0;
    std::uint8_t hop_limit = 0;
    std::uint8_t scope = 0;
    bool well_known = false;              ///< made by configuration: stays without members
    std::map<mad::Guid, Member> members;  ///< by port GUID
    /// Where MTU and rate follow the ports: those that hold the others back, the first `kLimitersShown` of
    /// them.
    std::vector<mad::Guid> limited_by;
    std::uint32_t limiters = 0;  ///< how many there are
    auto operator<=>(const Group&) const = default;
};
inline constexpr std::size_t kLimitersShown = 8;

/// What a client gets whose request finds its queue full.
enum class WhenFull : std::uint8_t {
    silent,  ///< nothing: it asks again, and finds room
    busy,    ///< status BUSY, which Linux hands to the application as a failure
};

/// A group that configuration wants to exist, whoever joins it.
struct ConfiguredGroup {
    mad::Gid mgid;
    mad::PKey pkey = mad::kPKeyDefaultFull;
    std::uint32_t qkey = 0x0b1b;  ///< as RFC 4391's implementations have it
    std::uint8_t sl = 0;
    std::uint8_t mtu = 0;   ///< code; 0: what every port of the partition can
    std::uint8_t rate = 0;  ///< code; 0: likewise
    auto operator<=>(const ConfiguredGroup&) const = default;
};

/// A join that was refused, and why. One entry however often it is tried.
struct JoinRefusal {
    mad::Gid mgid;
    mad::Guid port{};
    std::string reason;
    base::WallTime when{};  ///< last
    std::uint64_t times = 1;
};

inline constexpr std::uint32_t kLeaseForEver = 0xFFFFFFFF;

struct Service {
    std::uint64_t id = 0;
    mad::Gid gid;
    mad::PKey pkey{};
    std::uint32_t lease = 0;                 ///< seconds as asked, or kLeaseForEver
    base::Instant until{};                   ///< end of the lease where it has one
    std::array<std::uint8_t, 176> record{};  ///< as registered
};

struct Subscription {
    mad::Gid subscriber;
    std::uint16_t number = 0;  ///< InformInfoRecord.Enum
    mad::Lid lid{};            ///< where reports go
    std::uint32_t qpn = 1;
    std::uint16_t pkey_index = 0;
    mad::Sl sl{};
    std::uint8_t path_bits = 0;
    std::array<std::uint8_t, 36> inform_info{};
    auto operator<=>(const Subscription&) const = default;
};

using PortMask = std::bitset<256>;
/// A switch's multicast table: exit ports by MLID; no empty masks.
using MftRow = std::map<std::uint16_t, PortMask>;
/// As acknowledged, by switch GUID; a switch whose table is not known is not in it.
using MulticastTables = std::map<mad::Guid, MftRow>;

struct SaTables {
    std::map<mad::Gid, std::shared_ptr<const Group>> groups;  ///< by MGID
    /// By RID: ServiceID, ServiceGID, ServiceP_Key (IBA 15.2.5.14).
    std::map<std::tuple<std::uint64_t, mad::Gid, mad::PKey>, std::shared_ptr<const Service>> services;
    std::vector<std::shared_ptr<const Subscription>> subscriptions;
};

}  // namespace ibf::fabric
