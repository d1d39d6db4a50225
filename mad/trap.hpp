// DOC: what a trap says.
//
// A Notice carries 54 octets of details, whose meaning depends on the trap number (IBA 13.4.8.2, 14.2.5.1).
// Here they become one value per kind of the subnet management traps, host order, every field. What is vendor
// specific, or of a number that IBA does not give, is an UnknownTrap: nothing is guessed.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <variant>

#include "mad/attributes.hpp"

namespace ibf::mad {

inline constexpr std::uint16_t kTrapLinkState = 128;
inline constexpr std::uint16_t kTrapLinkIntegrity = 129;
inline constexpr std::uint16_t kTrapBufferOverrun = 130;
inline constexpr std::uint16_t kTrapFlowControl = 131;
inline constexpr std::uint16_t kTrapLocalChange = 144;
inline constexpr std::uint16_t kTrapSystemGuid = 145;
inline constexpr std::uint16_t kTrapBadMKey = 256;
inline constexpr std::uint16_t kTrapBadPKey = 257;
inline constexpr std::uint16_t kTrapBadQKey = 258;
inline constexpr std::uint16_t kTrapBadPKeyAtSwitch = 259;

struct UnknownTrap {
    auto operator<=>(const UnknownTrap&) const = default;
};

/// 128: some port of this switch changed its state. Which one it does not say.
struct LinkStateTrap {
    Lid switch_lid{};
    auto operator<=>(const LinkStateTrap&) const = default;
};

/// 129 local link integrity, 130 excessive buffer overrun, 131 flow control update: thresholds of a port
/// passed.
struct PortErrorTrap {
    Lid lid{};
    PortNum port{};
    auto operator<=>(const PortErrorTrap&) const = default;
};

/// 144: the capability mask, or with other_local_changes what the flags name.
struct LocalChangeTrap {
    Lid lid{};
    bool other_local_changes = false;
    std::uint32_t capability_mask = 0;
    bool node_description = false;
    bool width_enabled = false;
    bool speed_enabled = false;
    bool sm_priority = false;
    bool hierarchy_info = false;
    bool capability_mask2_changed = false;
    std::uint16_t capability_mask2 = 0;
    auto operator<=>(const LocalChangeTrap&) const = default;
};

/// 145.
struct SystemGuidTrap {
    Lid lid{};
    Guid system_guid{};
    auto operator<=>(const SystemGuidTrap&) const = default;
};

/// 256: the issuer was sent an SMP with a wrong M_Key.
struct MKeyTrap {
    static constexpr std::size_t kPathMax = 30;

    Lid from{};     ///< who sent it, by its LID route
    Lid dr_from{};  ///< DrSLID, if it came on a directed route
    std::uint8_t method = 0;
    std::uint16_t attribute = 0;
    std::uint32_t modifier = 0;
    MKey mkey{};
    bool directed = false;   ///< DRNotice: it came on a directed route
    bool truncated = false;  ///< the way back is longer than return_path has room for
    std::uint8_t hops = 0;
    std::array<std::uint8_t, kPathMax> return_path{};
    auto operator<=>(const MKeyTrap&) const = default;
};

/// 257 P_Key and 258 Q_Key, told by the end that got the packet; 259 P_Key, told by a switch on the way.
struct KeyTrap {
    struct End {
        Lid lid{};
        std::uint32_t qp = 0;  ///< 24 bits
        Gid gid{};
        auto operator<=>(const End&) const = default;
    };
    End from;
    End to;
    std::uint32_t key = 0;  ///< the wrong one
    std::uint8_t sl = 0;
    std::uint16_t data_valid = 0;  ///< 259: which fields the switch could tell; the others are 0
    Lid switch_lid{};              ///< 259: where
    PortNum switch_port{};
    auto operator<=>(const KeyTrap&) const = default;
};

using Trap = std::variant<UnknownTrap, LinkStateTrap, PortErrorTrap, LocalChangeTrap, SystemGuidTrap,
                          MKeyTrap, KeyTrap>;

[[nodiscard]] Trap decode_trap(const Notice& notice);

/// A stable word for it: "link-integrity", "pkey-violation"; "trap" and "vendor-trap" for what is unknown.
[[nodiscard]] std::string_view trap_name(const Notice& notice);

}  // namespace ibf::mad
