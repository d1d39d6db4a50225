// DOC: names and networks as people write them. Pure.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.hpp"

struct sockaddr;

namespace ibf::net {

struct HostPort {
    std::string host;  ///< name or address; of IPv6 without brackets
    std::uint16_t port = 0;
    [[nodiscard]] std::string text() const;  ///< "host:1", "[fe80::1]:1"
};

/// "HOST", "HOST:PORT", "[V6]", "[V6]:PORT", "V6". Errors: usage.
[[nodiscard]] base::Result<HostPort> parse_host_port(std::string_view text, std::uint16_t default_port);

/// An address as IPv6 has it; those of IPv4 are mapped (::ffff:a.b.c.d).
struct Address {
    std::array<std::uint8_t, 16> octets{};
    friend bool operator==(const Address&, const Address&) = default;
};
/// IPv4 or IPv6; all zero for anything else.
[[nodiscard]] Address address_of(const sockaddr& socket_address);
[[nodiscard]] std::string to_string(const Address& address);

/// "10.1.0.0/16", "fd00::/8", or one address.
struct Network {
    Address base{};
    unsigned bits = 128;
    [[nodiscard]] bool contains(const Address& address) const;
};
/// Errors: usage: what it is, and an example.
[[nodiscard]] base::Result<Network> parse_network(std::string_view text);

}  // namespace ibf::net
