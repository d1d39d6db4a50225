// PFC as the kernel tells of it: DCB by netlink (linux/dcbnl.h).
#include <linux/dcbnl.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <span>

#include "probe/lossless.hpp"

namespace ibf::probe {
namespace {

constexpr std::size_t kNameMost = 15;  ///< IFNAMSIZ without the end
constexpr std::size_t kAttribute = 4;  ///< octets of a netlink attribute's header
constexpr std::uint16_t kTypeMask = 0x3FFF;

std::size_t aligned(std::size_t octets) {
    return (octets + 3) / 4 * 4;
}

/// The payload of the first attribute of that type; empty if there is none.
std::span<const std::byte> find_attribute(std::span<const std::byte> in, std::uint16_t type) {
    while (in.size() >= kAttribute) {
        nlattr head{};
        std::memcpy(&head, in.data(), kAttribute);
        if (head.nla_len < kAttribute || head.nla_len > in.size()) {
            return {};
        }
        if ((head.nla_type & kTypeMask) == type) {
            return in.subspan(kAttribute, head.nla_len - kAttribute);
        }
        in = in.subspan(std::min(aligned(head.nla_len), in.size()));
    }
    return {};
}

struct DcbRequest {
    nlmsghdr head;
    dcbmsg message;
    nlattr name_head;
    char name[kNameMost + 1];
};

bool ask_dcb(int file, const std::string& netdev) {
    DcbRequest request{};
    request.head.nlmsg_len = sizeof request;
    request.head.nlmsg_type = RTM_GETDCB;
    request.head.nlmsg_flags = NLM_F_REQUEST;
    request.message.dcb_family = AF_UNSPEC;
    request.message.cmd = DCB_CMD_IEEE_GET;
    request.name_head.nla_type = DCB_ATTR_IFNAME;
    request.name_head.nla_len = static_cast<std::uint16_t>(kAttribute + netdev.size() + 1);
    netdev.copy(request.name, kNameMost);
    request.head.nlmsg_len =
        static_cast<std::uint32_t>(offsetof(DcbRequest, name_head) + aligned(request.name_head.nla_len));
    return ::send(file, &request, request.head.nlmsg_len, 0) == static_cast<ssize_t>(request.head.nlmsg_len);
}

std::optional<std::uint8_t> read_dcb(int file) {
    std::array<std::byte, 8192> room{};
    const ssize_t count = ::recv(file, room.data(), room.size(), 0);
    nlmsghdr head{};
    if (count < static_cast<ssize_t>(sizeof head + sizeof(dcbmsg))) {
        return {};
    }
    std::memcpy(&head, room.data(), sizeof head);
    if (head.nlmsg_type != RTM_GETDCB) {
        return {};  // the driver has no DCB: an error message
    }
    const auto all = std::span<const std::byte>(room.data(), static_cast<std::size_t>(count));
    const auto ieee = find_attribute(all.subspan(sizeof head + sizeof(dcbmsg)), DCB_ATTR_IEEE);
    const auto pfc = find_attribute(ieee, DCB_ATTR_IEEE_PFC);
    ieee_pfc told{};
    if (pfc.size() < sizeof told) {
        return {};
    }
    std::memcpy(&told, pfc.data(), sizeof told);
    return told.pfc_en;
}

}  // namespace

std::optional<std::uint8_t> pfc_classes_of(const std::string& netdev) {
    if (netdev.empty() || netdev.size() > kNameMost) {
        return {};
    }
    const int file = ::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
    if (file < 0) {
        return {};
    }
    const timeval patience{.tv_sec = 1, .tv_usec = 0};
    std::optional<std::uint8_t> classes;
    if (::setsockopt(file, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) == 0 &&
        ask_dcb(file, netdev)) {
        classes = read_dcb(file);
    }
    ::close(file);
    return classes;
}

}  // namespace ibf::probe
