#include "net/address.hpp"

#include <gtest/gtest.h>
#include <netinet/in.h>

namespace ibf::net {
namespace {

TEST(HostPorts, AreReadAndWritten) {
    const auto expect = [](const char* text, const std::string& host, unsigned port,
                           const std::string& shown) {
        const auto parsed = parse_host_port(text, 1);
        ASSERT_TRUE(parsed) << parsed.error().message;
        EXPECT_EQ(parsed->host, host) << text;
        EXPECT_EQ(parsed->port, port) << text;
        EXPECT_EQ(parsed->text(), shown) << text;
    };
    expect("host-17", "host-17", 1, "host-17:1");
    expect("host-17:65535", "host-17", 65535, "host-17:65535");
    expect("10.0.0.1:80", "10.0.0.1", 80, "10.0.0.1:80");
    expect("fd00::1", "fd00::1", 1, "[fd00::1]:1");
    expect("[fd00::1]", "fd00::1", 1, "[fd00::1]:1");
    expect("[::]:2", "::", 2, "[::]:2");
}

TEST(HostPorts, WhatIsNoneIsRefused) {
    for (const char* text :
         {"", ":", ":1", "a:", "a:0", "a:65536", "a:1x", "a:-1", "[::1", "[::1]x", "[::1]:", "[]:1"}) {
        EXPECT_FALSE(parse_host_port(text, 1)) << text;
    }
    EXPECT_FALSE(parse_host_port(std::string(300, 'a'), 1));
    EXPECT_FALSE(parse_host_port(std::string_view("a\0b", 3), 1));
}

Address address(const char* text) {
    const auto network = parse_network(text);
    EXPECT_TRUE(network) << text;
    return network ? network->base : Address{};
}

TEST(Networks, ContainWhatTheirBitsSay) {
    const auto contains = [](const char* network, const char* text) {
        return parse_network(network)->contains(address(text));
    };
    EXPECT_TRUE(contains("10.1.0.0/16", "10.1.255.3"));
    EXPECT_FALSE(contains("10.1.0.0/16", "10.2.0.0"));
    EXPECT_TRUE(contains("10.1.2.0/23", "10.1.3.9"));
    EXPECT_FALSE(contains("10.1.2.0/23", "10.1.4.0"));
    EXPECT_TRUE(contains("10.1.2.3", "10.1.2.3"));
    EXPECT_FALSE(contains("10.1.2.3", "10.1.2.2"));
    EXPECT_TRUE(contains("0.0.0.0/0", "255.1.2.3"));
    EXPECT_FALSE(contains("0.0.0.0/0", "fd00::1")) << "all of IPv4 is not all";
    EXPECT_TRUE(contains("::/0", "10.0.0.1"));
    EXPECT_TRUE(contains("fd00::/8", "fdff::1"));
    EXPECT_FALSE(contains("fd00::/8", "fe80::1"));
    EXPECT_TRUE(contains("10.0.0.0/8", "::ffff:10.1.1.1")) << "mapped";
}

TEST(Networks, WhatIsNoneIsRefused) {
    for (const char* text : {"", "10.0.0.0/33", "fd00::/129", "10.0.0/8", "host", "10.0.0.0/", "10.0.0.0/x",
                             "/8", "10.0.0.0/-1"}) {
        EXPECT_FALSE(parse_network(text)) << text;
    }
}

TEST(Addresses, OfSocketsAreWrittenAsPeopleDo) {
    sockaddr_in four{};
    four.sin_family = AF_INET;
    four.sin_addr.s_addr = htonl(0x0A000001);
    EXPECT_EQ(to_string(address_of(reinterpret_cast<const sockaddr&>(four))), "10.0.0.1");
    sockaddr_in6 six{};
    six.sin6_family = AF_INET6;
    six.sin6_addr = in6addr_loopback;
    EXPECT_EQ(to_string(address_of(reinterpret_cast<const sockaddr&>(six))), "::1");
    sockaddr other{};
    other.sa_family = AF_UNIX;
    EXPECT_EQ(address_of(other), Address{});
}

}  // namespace
}  // namespace ibf::net
