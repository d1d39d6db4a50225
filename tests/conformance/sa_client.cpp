// One MCMemberRecord request of this port: what IPoIB sends, as words.
//
//   sa_client create|join|send-only|leave MGID
//
// Prints "status 0xSSSS mlid 0xMMMM state 0xJ", or "status timeout".
#include <algorithm>
#include <cstdio>
#include <exception>
#include <string_view>

#include "tests/conformance/sa_port.hpp"

namespace {

using namespace sa_client;

// Components and offsets of MCMemberRecord (IBA 15.2.5.17).
constexpr std::uint64_t kMgid = 1U << 0U, kPortGid = 1U << 1U, kQKeyGiven = 1U << 2U, kTClass = 1U << 6U,
                        kPKey = 1U << 7U, kSl = 1U << 12U, kFlowLabel = 1U << 13U, kJoinState = 1U << 16U;
constexpr std::size_t kPortGidAt = 16, kQKeyAt = 32, kMlidAt = 36, kPKeyAt = 40, kStateAt = 48;
constexpr std::uint8_t kFull = 1, kSendOnly = 4;

Request member_request(std::string_view verb, const std::array<std::uint8_t, 16>& mgid,
                       const std::array<std::uint8_t, 16>& gid) {
    Request request;
    request.method = verb == "leave" ? kMethodDelete : kMethodSet;
    request.attribute = kMcMemberRecord;
    request.components = kMgid | kPortGid | kJoinState;
    std::copy(mgid.begin(), mgid.end(), request.data.begin());
    std::copy(gid.begin(), gid.end(), request.data.begin() + kPortGidAt);
    request.data[kStateAt] = verb == "send-only" ? kSendOnly : kFull;
    if (verb == "create") {
        request.components |= kQKeyGiven | kPKey | kSl | kFlowLabel | kTClass;
        request.put32(kQKeyAt, 0x0b1b);
        request.put16(kPKeyAt, 0xffff);
    }
    return request;
}

}  // namespace

int main(int argc, char** argv) {
    std::array<std::uint8_t, 16> mgid{};
    constexpr std::array<std::string_view, 4> kVerbs{"create", "join", "send-only", "leave"};
    if (argc != 3 || std::find(kVerbs.begin(), kVerbs.end(), argv[1]) == kVerbs.end() ||
        inet_pton(AF_INET6, argv[2], mgid.data()) != 1) {
        std::fputs("usage: sa_client create|join|send-only|leave MGID\n", stderr);
        return 2;
    }
    try {
        Port port;
        port.send(member_request(argv[1], mgid, port.gid()), 1000, 3);
        const Answer answer = port.receive();
        if (answer.error != 0) {
            std::puts("status timeout");
            return 1;
        }
        std::printf("status 0x%04x mlid 0x%04x state 0x%x\n", answer.status, answer.get16(kMlidAt),
                    answer.data[kStateAt] & 0xfU);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "sa_client: %s\n", error.what());
        return 2;
    }
    return 0;
}
