#include "probe/verbs/cm.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>

#include <fmt/format.h>
#include <rdma/rdma_cma.h>

namespace ibf::probe::verbs {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr seconds kConnectPatience{15};  ///< for all connections of a side together
constexpr milliseconds kStopPatience{50};
constexpr int kResolveMs = 3000;
constexpr int kRejectedNobodyListens = 8;  ///< IBA 12.6.7.2, invalid service id

base::Error cm_error(const char* what, int why) {
    why = why_not_opened("/dev/infiniband/rdma_cm", why);
    if (why == ENODEV || why == ENOENT) {
        return {
            base::ErrorKind::unavailable,
            fmt::format("librdmacm: {}: {}: modprobe rdma_ucm, or leave out --cm", what, std::strerror(why))};
    }
    if (why == EACCES || why == EPERM) {
        return {
            base::ErrorKind::refused,
            fmt::format("librdmacm: {}: /dev/infiniband/rdma_cm may not be opened: run as root, or give the "
                        "file to a group that you are in",
                        what)};
    }
    return {base::ErrorKind::unavailable, fmt::format("librdmacm: {}: {}", what, std::strerror(why))};
}

base::Result<void> done_or(int result, const char* what) {
    if (result != 0) {
        return tl::unexpected(cm_error(what, errno));
    }
    return {};
}

struct SocketAddress {
    sockaddr_storage storage{};
    [[nodiscard]] sockaddr* get() { return reinterpret_cast<sockaddr*>(&storage); }
};

base::Result<SocketAddress> parsed(const std::string& host, std::uint16_t port) {
    SocketAddress address;
    auto* v4 = reinterpret_cast<sockaddr_in*>(&address.storage);
    auto* v6 = reinterpret_cast<sockaddr_in6*>(&address.storage);
    if (::inet_pton(AF_INET, host.c_str(), &v4->sin_addr) == 1) {
        v4->sin_family = AF_INET;
        v4->sin_port = htons(port);
    } else if (::inet_pton(AF_INET6, host.c_str(), &v6->sin6_addr) == 1) {
        v6->sin6_family = AF_INET6;
        v6->sin6_port = htons(port);
    } else {
        return base::fail(base::ErrorKind::usage, fmt::format("'{}' is no IP address", host));
    }
    return address;
}

/// Of InfiniBand: the IPoIB interface of that port, of which its GIDs tell nothing.
std::string ipoib_of(const PortDescription& port) {
    std::error_code ignored;
    const std::string folder = fmt::format("/sys/class/infiniband/{}/device/net", port.device);
    for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
        std::ifstream file(entry.path() / "dev_port");
        unsigned number = 0;
        if (file >> number && number + 1 == port.port) {
            return entry.path().filename();
        }
    }
    return {};
}

/// A global address of the interface; IPv4 first.
std::string address_on(const std::string& netdev) {
    ifaddrs* list = nullptr;
    if (netdev.empty() || ::getifaddrs(&list) != 0) {
        return {};
    }
    const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owner(list, &::freeifaddrs);
    std::string v6;
    for (const ifaddrs* at = list; at != nullptr; at = at->ifa_next) {
        if (at->ifa_addr == nullptr || netdev != at->ifa_name) {
            continue;
        }
        std::array<char, INET6_ADDRSTRLEN> text{};
        if (at->ifa_addr->sa_family == AF_INET) {
            ::inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(at->ifa_addr)->sin_addr, text.data(),
                        text.size());
            return text.data();
        }
        if (at->ifa_addr->sa_family == AF_INET6) {
            const in6_addr& raw = reinterpret_cast<const sockaddr_in6*>(at->ifa_addr)->sin6_addr;
            if (!IN6_IS_ADDR_LINKLOCAL(&raw)) {
                ::inet_ntop(AF_INET6, &raw, text.data(), text.size());
                v6 = text.data();
            }
        }
    }
    return v6;
}

/// What a connection request carries: the token that the control channel told, and which queue pair it is.
using Greeting = std::array<std::uint8_t, 8>;

Greeting greeting(std::uint32_t token, std::uint32_t number) {
    Greeting made{};
    for (unsigned i = 0; i < 4; ++i) {
        made[i] = static_cast<std::uint8_t>(token >> (24 - 8 * i));
    }
    made[4] = static_cast<std::uint8_t>(number);
    return made;
}

/// How many reads may be under way the two then agree on by themselves.
rdma_conn_param parameters(const Setting& setting) {
    rdma_conn_param wanted{};
    wanted.responder_resources = reads_in(setting);
    wanted.initiator_depth = reads_out(setting);
    wanted.retry_count = setting.spec.retries;
    wanted.rnr_retry_count = setting.spec.rnr_retries;
    return wanted;
}

/// Left to the kernel, the timeout would follow from the path's packet life time.
base::Result<void> set_ack_timeout(rdma_cm_id* id, const Setting& setting) {
    std::uint8_t timeout = setting.spec.ack_timeout;
    return done_or(rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, &timeout, sizeof timeout),
                   "the acknowledge timeout cannot be set");
}

}  // namespace

base::Result<ibv_context*> cm_context(std::string_view device) {
    int count = 0;
    errno = 0;
    ibv_context** contexts = rdma_get_devices(&count);
    if (contexts == nullptr) {
        return tl::unexpected(cm_error("no devices", errno));
    }
    ibv_context* found = nullptr;
    for (int i = 0; i < count; ++i) {
        if (device == ibv_get_device_name(contexts[i]->device)) {
            found = contexts[i];
        }
    }
    rdma_free_devices(contexts);  // the list; librdmacm keeps the devices open
    if (found == nullptr) {
        return base::fail(base::ErrorKind::not_found,
                          fmt::format("librdmacm does not know a device {}", device));
    }
    return found;
}

base::Result<std::string> ip_address_of(const Chosen& chosen) {
    const bool is_ethernet = chosen.port.layer == LinkLayer::ethernet;
    const std::string netdev = is_ethernet ? chosen.gid.netdev : ipoib_of(chosen.port);
    const std::string text = to_text(chosen.gid.gid);
    constexpr std::string_view kMapped = "::ffff:";
    if (is_ethernet && text.starts_with(kMapped)) {
        return text.substr(kMapped.size());
    }
    std::string address = address_on(netdev);
    if (address.empty()) {
        return base::fail(
            base::ErrorKind::unavailable,
            fmt::format(
                "--cm needs an IP address, and {}/{} has none{}: ip addr add ADDRESS dev INTERFACE, or leave "
                "out --cm",
                chosen.port.device, chosen.port.port,
                netdev.empty() ? " and no network interface either" : " on " + netdev));
    }
    return address;
}

void CmConnections::Acknowledge::operator()(rdma_cm_event* event) const {
    rdma_ack_cm_event(event);
}

base::Result<std::unique_ptr<CmConnections>> CmConnections::make() {
    std::unique_ptr<CmConnections> made(new CmConnections());
    errno = 0;
    made->channel_ = rdma_create_event_channel();
    if (made->channel_ == nullptr) {
        return tl::unexpected(cm_error("no event channel", errno));
    }
    const int flags = ::fcntl(made->channel_->fd, F_GETFL);
    if (flags < 0 || ::fcntl(made->channel_->fd, F_SETFL, flags | O_NONBLOCK) < 0) {
        return tl::unexpected(cm_error("event channel", errno));
    }
    return made;
}

CmConnections::~CmConnections() {
    for (rdma_cm_id* id : ids_) {
        if (id == nullptr) {
            continue;
        }
        if (id->qp != nullptr) {
            rdma_disconnect(id);  // fails if it never was connected
            rdma_destroy_qp(id);
        }
        rdma_destroy_id(id);
    }
    if (listener_ != nullptr) {
        rdma_destroy_id(listener_);
    }
    if (channel_ != nullptr) {
        rdma_destroy_event_channel(channel_);
    }
}

base::Result<CmAddress> CmConnections::listen(const std::string& host, std::uint32_t connections) {
    auto address = parsed(host, 0);
    if (!address) {
        return tl::unexpected(address.error());
    }
    if (auto made = done_or(rdma_create_id(channel_, &listener_, nullptr, RDMA_PS_TCP), "no identifier");
        !made) {
        return tl::unexpected(made.error());
    }
    if (auto bound = done_or(rdma_bind_addr(listener_, address->get()), "cannot bind"); !bound) {
        return tl::unexpected(bound.error());
    }
    if (auto listens = done_or(rdma_listen(listener_, static_cast<int>(connections)), "cannot listen");
        !listens) {
        return tl::unexpected(listens.error());
    }
    return CmAddress{host, ntohs(rdma_get_src_port(listener_))};
}

base::Result<CmConnections::Event> CmConnections::next_event(base::Instant deadline) {
    for (;;) {
        const auto left = std::chrono::duration_cast<milliseconds>(deadline - base::monotonic_now());
        if (stop_.stop_requested()) {
            return base::fail(base::ErrorKind::unavailable, "interrupted before there was a connection");
        }
        if (left <= milliseconds{0}) {
            return base::fail(base::ErrorKind::unavailable,
                              fmt::format("librdmacm: no connection within {} s", kConnectPatience.count()));
        }
        pollfd ready{.fd = channel_->fd, .events = POLLIN, .revents = 0};
        const int count = ::poll(&ready, 1, static_cast<int>(std::min(left, kStopPatience).count()));
        if (count == 0) {
            continue;
        }
        rdma_cm_event* event = nullptr;
        if (count > 0 && rdma_get_cm_event(channel_, &event) == 0) {
            return Event(event);
        }
        if (errno != EINTR && errno != EAGAIN) {
            return tl::unexpected(cm_error("event channel", errno));
        }
    }
}

base::Result<void> CmConnections::expect(int kind, base::Instant deadline, const EndpointAddress& peer) {
    const auto event = next_event(deadline);
    if (!event) {
        return base::fail(event.error().kind, fmt::format("{}: {}", peer.device, event.error().message));
    }
    if ((*event)->event == kind) {
        return {};
    }
    const int status = (*event)->status;
    const bool is_rejected = (*event)->event == RDMA_CM_EVENT_REJECTED;
    return base::fail(base::ErrorKind::unavailable,
                      fmt::format("{} at {}: librdmacm says {} ({}){}", peer.device, peer.cm_host,
                                  rdma_event_str((*event)->event), status,
                                  is_rejected && status == kRejectedNobodyListens ? ": nobody listens there"
                                  : is_rejected                                   ? ""
                                                : ": is that address in reach (ping), and on an RDMA port?"));
}

base::Result<void> CmConnections::make_queue_pair(rdma_cm_id* id, const Setting& setting, ibv_pd* domain,
                                                  ibv_cq* queue, std::uint32_t number,
                                                  const Prepare& prepare) {
    if (id->verbs != domain->context || id->port_num != setting.chosen.port.port) {
        return base::fail(
            base::ErrorKind::unavailable,
            fmt::format("the route of that connection is by {}/{}, and not by {}/{}: choose another "
                        "device, or mend the IP routes",
                        id->verbs == nullptr ? "none" : ibv_get_device_name(id->verbs->device), id->port_num,
                        setting.chosen.port.device, setting.chosen.port.port));
    }
    ibv_qp_init_attr wanted = wishes(setting, queue);
    if (rdma_create_qp(id, domain, &wanted) != 0) {
        wanted = wishes(setting, queue);
        wanted.cap.max_inline_data = 0;
        if (auto made = done_or(rdma_create_qp(id, domain, &wanted), "no queue pair"); !made) {
            return made;
        }
    }
    return prepare(id->qp, number, wanted.cap.max_inline_data);
}

base::Result<void> CmConnections::admit(const Event& event, const Setting& setting, ibv_pd* domain,
                                        ibv_cq* queue, std::uint32_t token, const Prepare& prepare) {
    rdma_cm_id* id = event->id;
    const rdma_conn_param& asked = event->param.conn;
    Greeting said{};
    std::uint32_t number = setting.spec.queue_pairs;
    if (asked.private_data != nullptr && asked.private_data_len >= said.size()) {
        std::memcpy(said.data(), asked.private_data, said.size());
        number = said[4];
    }
    const bool is_ours = number < setting.spec.queue_pairs && said == greeting(token, number);
    if (!is_ours || ids_[number] != nullptr) {
        rdma_reject(id, nullptr, 0);  // if that fails, the other side finds out by its own timeout
        return {};
    }
    ids_[number] = id;
    if (auto made = make_queue_pair(id, setting, domain, queue, number, prepare); !made) {
        return made;
    }
    if (auto set = set_ack_timeout(id, setting); !set) {
        return set;
    }
    rdma_conn_param wanted = parameters(setting);
    wanted.responder_resources = std::min(wanted.responder_resources, asked.responder_resources);
    wanted.initiator_depth = std::min(wanted.initiator_depth, asked.initiator_depth);
    return done_or(rdma_accept(id, &wanted), "a connection cannot be accepted");
}

base::Result<void> CmConnections::accept(const Setting& setting, ibv_pd* domain, ibv_cq* queue,
                                         std::uint32_t token, const Prepare& prepare) {
    const base::Instant deadline = base::monotonic_now() + kConnectPatience;
    ids_.assign(setting.spec.queue_pairs, nullptr);
    for (std::uint32_t established = 0; established < setting.spec.queue_pairs;) {
        auto event = next_event(deadline);
        if (!event) {
            return tl::unexpected(event.error());
        }
        const auto kind = (*event)->event;
        if (kind == RDMA_CM_EVENT_CONNECT_REQUEST) {
            rdma_cm_id* id = (*event)->id;
            auto admitted = admit(*event, setting, domain, queue, token, prepare);
            if (!admitted) {
                return admitted;
            }
            event->reset();  // to destroy an identifier waits until its events are acknowledged
            if (std::find(ids_.begin(), ids_.end(), id) == ids_.end()) {
                rdma_destroy_id(id);
            }
        } else if (kind == RDMA_CM_EVENT_ESTABLISHED) {
            if (auto set = set_rnr_timer((*event)->id->qp, setting.spec.rnr_timer); !set) {
                return set;
            }
            ++established;
        } else {
            return base::fail(base::ErrorKind::unavailable,
                              fmt::format("a connection failed while it was made: librdmacm says {} ({})",
                                          rdma_event_str(kind), (*event)->status));
        }
    }
    return {};
}

base::Result<void> CmConnections::connect_one(const Setting& setting, ibv_pd* domain, ibv_cq* queue,
                                              const std::string& our_host, const EndpointAddress& peer,
                                              std::uint32_t number, const Prepare& prepare) {
    const base::Instant deadline = base::monotonic_now() + kConnectPatience;
    auto from = parsed(our_host, 0);
    auto to = parsed(peer.cm_host, peer.cm_port);
    if (!from || !to) {
        return tl::unexpected(from ? to.error() : from.error());
    }
    rdma_cm_id* id = nullptr;
    if (auto made = done_or(rdma_create_id(channel_, &id, nullptr, RDMA_PS_TCP), "no identifier"); !made) {
        return made;
    }
    ids_.push_back(id);
    std::uint8_t type_of_service = setting.way.traffic_class;
    base::Result<void> step =
        type_of_service == 0
            ? base::Result<void>{}
            : done_or(rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &type_of_service, 1),
                      "the traffic class cannot be set");
    const auto then = [&](auto&& next) {
        if (step) {
            step = next();
        }
    };
    then(
        [&] { return done_or(rdma_resolve_addr(id, from->get(), to->get(), kResolveMs), "cannot resolve"); });
    then([&] { return expect(RDMA_CM_EVENT_ADDR_RESOLVED, deadline, peer); });
    then([&] { return set_ack_timeout(id, setting); });
    then([&] { return done_or(rdma_resolve_route(id, kResolveMs), "cannot resolve a route"); });
    then([&] { return expect(RDMA_CM_EVENT_ROUTE_RESOLVED, deadline, peer); });
    then([&] { return make_queue_pair(id, setting, domain, queue, number, prepare); });
    const Greeting greets = greeting(peer.q_key, number);
    rdma_conn_param wanted = parameters(setting);
    wanted.private_data = greets.data();
    wanted.private_data_len = static_cast<std::uint8_t>(greets.size());
    then([&] { return done_or(rdma_connect(id, &wanted), "cannot connect"); });
    then([&] { return expect(RDMA_CM_EVENT_ESTABLISHED, deadline, peer); });
    then([&] { return set_rnr_timer(id->qp, setting.spec.rnr_timer); });
    return step;
}

base::Result<void> CmConnections::connect(const Setting& setting, ibv_pd* domain, ibv_cq* queue,
                                          const std::string& our_host, const EndpointAddress& peer,
                                          const Prepare& prepare) {
    for (std::uint32_t number = 0; number < setting.spec.queue_pairs; ++number) {
        if (auto made = connect_one(setting, domain, queue, our_host, peer, number, prepare); !made) {
            return made;
        }
    }
    return {};
}

}  // namespace ibf::probe::verbs
