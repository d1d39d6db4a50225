// DOC: what a link runs at, and what it could.
//
// Both ends say which widths and speeds they support, and which of those are enabled; a link trains to the
// best that both have (IBA 14.2.5.6, 14.3.18). One that runs at less has a bad cable, connector or port:
// nothing else says so. What somebody disabled on purpose is not held against a link.
#pragma once

#include <cstdint>
#include <string>

#include "mad/attributes.hpp"

namespace ibf::mad {

struct LinkRate {
    LinkWidth width = LinkWidth::none;
    LinkSpeed speed = LinkSpeed::none;

    [[nodiscard]] std::uint32_t mbps() const;  ///< signalling, all lanes
    friend bool operator==(const LinkRate&, const LinkRate&) = default;
};

/// What a port says that it runs at; none where it has no link. An external switch port needs the capability
/// bits of port 0 (fabric::info_of).
[[nodiscard]] LinkRate running_rate(const PortInfo& info);
/// Widest and fastest of what both ends support and have enabled; none of what they do not say.
[[nodiscard]] LinkRate possible_rate(const PortInfo& a, const PortInfo& b);
/// Fewer lanes or slower ones.
[[nodiscard]] bool is_below(const LinkRate& running, const LinkRate& possible);

[[nodiscard]] std::string to_string(const LinkRate& rate);  ///< "4x HDR"

}  // namespace ibf::mad
