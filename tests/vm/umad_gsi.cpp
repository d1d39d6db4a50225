// What a kernel's umad devices do on a port that is Ethernet, by libibumad and by our own transport.
//
//   umad_gsi register DEVICE     which management classes the kernel lets a program register there
//   umad_gsi answer DEVICE       answers the first SubnAdmGet that comes, by libibumad
//   umad_gsi ask DEVICE GID      asks that port, through mad::open_umad; prints the answer's status
//
// The transport takes no Ethernet port, since no subnet manager has a say there: whoever asks has to make
// sysfs say InfiniBand (the test binds another file over link_layer). Everything below that one check is the
// real thing.
#include <arpa/inet.h>
#include <endian.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <future>
#include <string>
#include <string_view>

#include <infiniband/umad.h>

#include "mad/transport.hpp"

namespace {

using namespace ibf;

constexpr std::uint8_t kClassSa = 0x03;
constexpr std::uint8_t kGet = 0x01;
constexpr std::uint8_t kGetResp = 0x81;
constexpr std::size_t kMadBytes = 256;
constexpr std::size_t kMarkAt = 200;  ///< in the data of an SA MAD
constexpr std::uint8_t kMark = 0xA5;
constexpr std::uint32_t kQKeyOfQp1 = 0x80010000;
constexpr int kWaitMs = 60000;

/// A port held by libibumad; gone with the program.
int open_port(const char* device) {
    if (umad_init() < 0) {
        std::puts("umad_init fails");
        return -1;
    }
    const int port = umad_open_port(device, 1);
    if (port < 0) {
        std::printf("umad_open_port: %s\n", std::strerror(-port));
    }
    return port;
}

int register_class(int port, int mgmt_class) {
    std::array<long, 16 / sizeof(long)> methods{};
    methods[0] = 1L << kGet;
    errno = 0;
    return umad_register(port, mgmt_class, mgmt_class == kClassSa ? 2 : 1, 0, methods.data());
}

int show_classes(const char* device) {
    const int port = open_port(device);
    if (port < 0) {
        return 1;
    }
    for (const int mgmt_class : {0x81, 0x01, 0x03, 0x04, 0x09}) {
        const int agent = register_class(port, mgmt_class);
        std::printf("class 0x%02x: %s\n", static_cast<unsigned>(mgmt_class),
                    agent < 0 ? std::strerror(errno) : "registered");
    }
    return 0;
}

int answer(const char* device) {
    const int port = open_port(device);
    const int agent = port < 0 ? -1 : register_class(port, kClassSa);
    if (agent < 0) {
        std::puts("cannot register");
        return 1;
    }
    std::puts("ready");
    std::fflush(stdout);
    alignas(ib_user_mad_t) std::array<std::uint8_t, sizeof(ib_user_mad_t) + kMadBytes> buffer{};
    int length = kMadBytes;
    if (const int got = umad_recv(port, buffer.data(), &length, kWaitMs); got < 0) {
        std::printf("umad_recv: %s\n", std::strerror(-got));
        return 1;
    }
    auto* mad = static_cast<std::uint8_t*>(umad_get_mad(buffer.data()));
    const ib_mad_addr_t from = *umad_get_mad_addr(buffer.data());
    std::printf("asked by QP %u, class 0x%02x, with a GRH: %s\n", be32toh(from.qpn), mad[1],
                from.grh_present != 0 ? "yes" : "no");
    mad[3] = kGetResp;
    mad[kMarkAt] = kMark;
    umad_get_mad_addr(buffer.data())->qkey = htobe32(kQKeyOfQp1);
    const int sent = umad_send(port, agent, buffer.data(), kMadBytes, 0, 0);
    std::printf("answer: %s\n", sent < 0 ? std::strerror(-sent) : "sent");
    return sent < 0 ? 1 : 0;
}

mad::WireMad question(const std::array<std::uint8_t, 16>& gid) {
    mad::WireMad mad;
    mad.bytes[0] = 1;
    mad.bytes[1] = kClassSa;
    mad.bytes[2] = 2;
    mad.bytes[3] = kGet;
    mad.bytes[15] = 0x77;  // TID
    mad.bytes[17] = 0x01;  // ClassPortInfo
    std::uint64_t prefix = 0;
    std::uint64_t interface_id = 0;
    std::memcpy(&prefix, gid.data(), sizeof prefix);
    std::memcpy(&interface_id, gid.data() + sizeof prefix, sizeof interface_id);
    mad.address.qp = 1;
    mad.address.qkey = kQKeyOfQp1;
    mad.address.grh_gid =
        mad::Gid{.prefix = be64toh(prefix), .interface_id = mad::Guid{be64toh(interface_id)}};
    mad.address.grh_hop_limit = 1;
    mad.response_timeout = std::chrono::seconds{20};
    return mad;
}

int ask(const char* device, const std::array<std::uint8_t, 16>& gid) {
    auto port = mad::open_umad({.device = device, .port = 1, .use = mad::UmadUse::client});
    if (!port) {
        std::puts(port.error().message.c_str());
        return 1;
    }
    std::promise<mad::WireMad> promise;
    std::future<mad::WireMad> answered = promise.get_future();
    bool is_told = false;  // of the receiver's thread only
    (*port)->start([&](mad::WireMad&& mad) {
        if (!is_told) {
            is_told = true;
            promise.set_value(mad);
        }
    });
    // By LID first: there are none on Ethernet.
    mad::WireMad by_lid = question(gid);
    by_lid.address.grh_gid.reset();
    by_lid.address.lid = mad::Lid{1};
    const auto refused = (*port)->send(by_lid);
    std::printf("by LID: %s\n", refused ? "sent" : refused.error().message.c_str());
    if (const auto sent = (*port)->send(question(gid)); !sent) {
        std::printf("by GID: %s\n", sent.error().message.c_str());
        return 1;
    }
    std::puts("by GID: sent");
    if (answered.wait_for(std::chrono::milliseconds{kWaitMs}) != std::future_status::ready) {
        std::puts("no answer");
        return 1;
    }
    const mad::WireMad got = answered.get();
    std::printf("answered: method 0x%02x mark 0x%02x, with a GRH: %s\n", got.bytes[3], got.bytes[kMarkAt],
                got.address.grh_gid ? "yes" : "no");
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    const std::string_view verb = argc > 1 ? argv[1] : "";
    std::array<std::uint8_t, 16> gid{};
    if (verb == "register" && argc == 3) {
        return show_classes(argv[2]);
    }
    if (verb == "answer" && argc == 3) {
        return answer(argv[2]);
    }
    if (verb == "ask" && argc == 4 && inet_pton(AF_INET6, argv[3], gid.data()) == 1) {
        return ask(argv[2], gid);
    }
    std::fputs("usage: umad_gsi register DEVICE | answer DEVICE | ask DEVICE GID\n", stderr);
    return 2;
}
