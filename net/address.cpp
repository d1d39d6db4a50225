#include "net/address.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <charconv>
#include <cstring>

#include <fmt/format.h>

#include "base/words.hpp"

namespace ibf::net {
namespace {

using base::ErrorKind;
using base::Result;

constexpr std::array<std::uint8_t, 12> kMapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF};
constexpr unsigned kMappedBits = 96;
constexpr std::size_t kHostBytesMax = 255;

bool is_mapped(const Address& address) {
    return std::equal(kMapped.begin(), kMapped.end(), address.octets.begin());
}

/// The octets, and how many bits such an address has.
unsigned parse_address(std::string_view text, Address& address) {
    const std::string whole(text);
    std::array<std::uint8_t, 4> four{};
    if (::inet_pton(AF_INET, whole.c_str(), four.data()) == 1) {
        std::copy(kMapped.begin(), kMapped.end(), address.octets.begin());
        std::copy(four.begin(), four.end(), address.octets.begin() + kMapped.size());
        return 32;
    }
    return ::inet_pton(AF_INET6, whole.c_str(), address.octets.data()) == 1 ? 128 : 0;
}

template <class Number>
bool parse_number(std::string_view text, Number& value) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc{} && end == text.data() + text.size();
}

}  // namespace

std::string HostPort::text() const {
    return host.find(':') == host.npos ? fmt::format("{}:{}", host, port)
                                       : fmt::format("[{}]:{}", host, port);
}

Result<HostPort> parse_host_port(std::string_view text, std::uint16_t default_port) {
    const auto wrong = [&](std::string_view what) {
        return base::fail(
            ErrorKind::usage,
            fmt::format("{} {}: HOST, HOST:PORT or [ADDRESS]:PORT is expected", base::quote(text), what));
    };
    HostPort out{std::string(text), default_port};
    std::string_view port;
    if (text.starts_with('[')) {
        const std::size_t end = text.find(']');
        if (end == text.npos || (end + 1 < text.size() && text[end + 1] != ':')) {
            return wrong("has a '[' and no ']' that fits");
        }
        out.host = text.substr(1, end - 1);
        port = text.substr(std::min(end + 2, text.size()));
        if (end + 1 < text.size() && port.empty()) {
            return wrong("ends without a port");
        }
    } else if (std::count(text.begin(), text.end(), ':') == 1) {
        out.host = text.substr(0, text.find(':'));
        port = text.substr(out.host.size() + 1);
        if (port.empty()) {
            return wrong("ends without a port");
        }
    }
    if (out.host.empty() || out.host.size() > kHostBytesMax || out.host.find('\0') != out.host.npos) {
        return wrong("names no host");
    }
    if (!port.empty() && (!parse_number(port, out.port) || out.port == 0)) {
        return wrong("has a port that is none (1 to 65535)");
    }
    return out;
}

Address address_of(const sockaddr& socket_address) {
    Address out;
    if (socket_address.sa_family == AF_INET) {
        sockaddr_in four{};
        std::memcpy(&four, &socket_address, sizeof four);
        std::copy(kMapped.begin(), kMapped.end(), out.octets.begin());
        std::memcpy(out.octets.data() + kMapped.size(), &four.sin_addr, 4);
    } else if (socket_address.sa_family == AF_INET6) {
        sockaddr_in6 six{};
        std::memcpy(&six, &socket_address, sizeof six);
        std::memcpy(out.octets.data(), &six.sin6_addr, out.octets.size());
    }
    return out;
}

std::string to_string(const Address& address) {
    std::array<char, INET6_ADDRSTRLEN> text{};
    const bool four = is_mapped(address);
    const void* const from = address.octets.data() + (four ? kMapped.size() : 0);
    return ::inet_ntop(four ? AF_INET : AF_INET6, from, text.data(), text.size()) != nullptr ? text.data()
                                                                                             : "?";
}

bool Network::contains(const Address& address) const {
    for (unsigned bit = 0; bit < bits; bit += 8) {
        const unsigned rest = std::min(8U, bits - bit);
        const unsigned mask = 0xFFU << (8 - rest) & 0xFFU;
        if (((base.octets[bit / 8] ^ address.octets[bit / 8]) & mask) != 0) {
            return false;
        }
    }
    return true;
}

Result<Network> parse_network(std::string_view text) {
    Network out;
    const std::size_t slash = text.find('/');
    const unsigned most = text.size() > kHostBytesMax ? 0 : parse_address(text.substr(0, slash), out.base);
    unsigned bits = most;
    if (most == 0 || (slash != text.npos && (!parse_number(text.substr(slash + 1), bits) || bits > most))) {
        return base::fail(ErrorKind::usage,
                          fmt::format("{} is no network: 10.1.0.0/16, fd00::/8 or one address "
                                      "is expected",
                                      base::quote(text)));
    }
    out.bits = most == 32 ? bits + kMappedBits : bits;
    return out;
}

}  // namespace ibf::net
