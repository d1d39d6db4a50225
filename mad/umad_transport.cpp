#include "mad/umad_transport.hpp"

#include <endian.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <limits>
#include <span>
#include <thread>

#include <fmt/format.h>
#include <infiniband/umad.h>

#include "base/check.hpp"
#include "base/log.hpp"
#include "mad/transport.hpp"

namespace ibf::mad {
namespace {

using std::chrono::milliseconds;

constexpr const char* kSysfsRoot = SYS_INFINIBAND;
constexpr int kReceivePollMs = 200;       ///< how long a stop may take
constexpr int kClientReceivePollMs = 10;  ///< for a program that asks and ends, people wait for it
constexpr milliseconds kReceiveErrorPause{100};
constexpr unsigned kReceiveErrorsMost = 20;    ///< in a row, two seconds: the descriptor is dead
constexpr milliseconds kKernelTimerSlack{30};  ///< seven ticks at 250 Hz

/// One MAD with umad's header in front, as read and written.
struct alignas(ib_user_mad_t) UmadBuffer {
    std::array<std::uint8_t, sizeof(ib_user_mad_t) + sizeof(MadBuffer)> bytes{};

    [[nodiscard]] void* umad() { return bytes.data(); }
    [[nodiscard]] std::uint8_t* mad() { return static_cast<std::uint8_t*>(umad_get_mad(umad())); }
};

/// A file descriptor that closes itself. umad ports are closed by umad_close_port.
class OpenFile {
public:
    OpenFile() = default;
    explicit OpenFile(int file) : file_(file) {}
    ~OpenFile() { reset(); }
    OpenFile(const OpenFile&) = delete;
    OpenFile& operator=(const OpenFile&) = delete;

    void reset() {
        if (file_ >= 0) {
            ::close(file_);
        }
        file_ = -1;
    }
    void take(int file) {
        reset();
        file_ = file;
    }
    [[nodiscard]] bool is_open() const { return file_ >= 0; }

private:
    int file_ = -1;
};

void read_address(const ib_mad_addr_t& from, MadAddress& to) {
    to.lid = Lid{be16toh(from.lid)};
    to.qp = be32toh(from.qpn);
    to.qkey = be32toh(from.qkey);
    to.pkey_index = from.pkey_index;
    to.sl = Sl{from.sl};
    to.path_bits = from.path_bits;
    if (from.grh_present != 0) {
        to.grh_gid = Gid{.prefix = be64toh(from.ib_gid.global.subnet_prefix),
                         .interface_id = Guid{be64toh(from.ib_gid.global.interface_id)}};
        to.grh_hop_limit = from.hop_limit;
        to.grh_traffic_class = from.traffic_class;
        to.grh_flow_label = be32toh(from.flow_label);
    }
}

void write_address(const MadAddress& from, void* umad) {
    umad_set_addr(umad, from.lid.value(), static_cast<int>(from.qp), from.sl.value(),
                  static_cast<int>(from.qkey));
    umad_set_pkey(umad, from.pkey_index);
    umad_get_mad_addr(umad)->path_bits = from.path_bits;
    if (!from.grh_gid) {
        umad_set_grh(umad, nullptr);
        return;
    }
    ib_mad_addr_t grh{};  // umad_set_grh wants the flow label in host order
    grh.grh_present = 1;
    grh.hop_limit = from.grh_hop_limit;
    grh.traffic_class = from.grh_traffic_class;
    grh.flow_label = from.grh_flow_label;
    grh.ib_gid.global.subnet_prefix = htobe64(from.grh_gid->prefix);
    grh.ib_gid.global.interface_id = htobe64(from.grh_gid->interface_id.value());
    umad_set_grh(umad, &grh);
}

class UmadTransport final : public Transport {
public:
    struct Agents {
        int directed = -1;  ///< a client has this one not, nor the next
        int lid_routed = -1;
        int subnet_administration = -1;
        int performance = -1;  ///< a prober's

        [[nodiscard]] int of(MgmtClass mgmt_class) const {
            return mgmt_class == MgmtClass::subn_directed ? directed
                   : mgmt_class == MgmtClass::subn_lid    ? lid_routed
                   : mgmt_class == MgmtClass::subn_adm    ? subnet_administration
                   : mgmt_class == MgmtClass::perf        ? performance
                                                          : -1;
        }
    };

    UmadTransport(int port, Agents agents, LocalPort local)
        : port_(port), agents_(agents), local_(std::move(local)) {}

    ~UmadTransport() override {
        stopping_ = true;
        if (receiver_.joinable()) {
            receiver_.join();
        }
        // Those of managers and probers stay open to the end of the process, which follows: ibsim's umad2sim
        // follows a null pointer when a MAD arrives (the trap that tells of a manager's IsSM bit) while they
        // are taken away. A client is one of many in the life of its process, and is sent answers alone.
        if (agents_.directed < 0) {
            umad_close_port(port_);
        }
    }

    void when_lost(Lost lost) override { lost_ = std::move(lost); }
    void start(Sink sink) override;
    base::Result<void> send(const WireMad& mad) override;
    [[nodiscard]] LocalPort local_port() const override { return local_; }
    base::Result<void> set_is_sm(bool on) override;

private:
    void receive_loop(const Sink& sink);

    const int port_;
    const Agents agents_;
    const LocalPort local_;
    Lost lost_;
    OpenFile issm_;
    std::atomic<bool> stopping_{false};
    std::thread receiver_;
};

void UmadTransport::start(Sink sink) {
    IBF_CHECK(!receiver_.joinable(), "transport started twice");
    // Signals belong to the loop's thread; here they would only cut umad_recv's poll short.
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    receiver_ = std::thread([this, sink = std::move(sink)] { receive_loop(sink); });
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

/// A blocking umad_recv, because ibsim's descriptor knows only read, write, ioctl and poll: epoll on it
/// fails.
void UmadTransport::receive_loop(const Sink& sink) {
    UmadBuffer buffer;
    const int poll_ms = agents_.lid_routed < 0 ? kClientReceivePollMs : kReceivePollMs;
    unsigned failures = 0;  // in a row
    while (!stopping_) {
        int length = sizeof(MadBuffer);
        const int agent = umad_recv(port_, buffer.umad(), &length, poll_ms);
        if (agent == -ETIMEDOUT || agent == -EAGAIN || agent == -EINTR) {
            continue;
        }
        if (agent < 0) {
            if (++failures == kReceiveErrorsMost) {
                if (lost_) {
                    lost_(fmt::format(
                        "{}/{}: receiving fails ({}): was the adapter removed, or its driver loaded anew?",
                        local_.device, local_.port, std::strerror(-agent)));
                }
                return;
            }
            std::this_thread::sleep_for(kReceiveErrorPause);
            continue;
        }
        failures = 0;
        // A status means that our own request came back because its time was up: the sender knows.
        if (umad_status(buffer.umad()) != 0 || length != static_cast<int>(sizeof(MadBuffer))) {
            continue;
        }
        WireMad mad;
        std::memcpy(mad.bytes.data(), buffer.mad(), mad.bytes.size());
        read_address(*umad_get_mad_addr(buffer.umad()), mad.address);
        sink(std::move(mad));
    }
}

base::Result<void> UmadTransport::send(const WireMad& mad) {
    const int agent = agents_.of(static_cast<MgmtClass>(mad.bytes[1]));
    if (agent < 0) {
        return base::fail(base::ErrorKind::unsupported,
                          fmt::format("management class 0x{:02x} is not registered on {}/{}", mad.bytes[1],
                                      local_.device, local_.port));
    }
    UmadBuffer buffer;  // one each: the SM and the SA send from threads of their own
    std::memcpy(buffer.mad(), mad.bytes.data(), mad.bytes.size());
    write_address(mad.address, buffer.umad());
    // No kernel retries: the transaction table has its own, which know the windows.
    errno = 0;
    const int result = umad_send(port_, agent, buffer.umad(), static_cast<int>(mad.bytes.size()),
                                 static_cast<int>(kernel_timeout(mad.response_timeout).count()), 0);
    if (result < 0) {
        // libibumad says EIO, whatever the kernel said.
        return base::fail(base::ErrorKind::io,
                          fmt::format("{}/{}: the kernel refused to send a MAD: {}", local_.device,
                                      local_.port, std::strerror(errno != 0 ? errno : -result)));
    }
    return {};
}

base::Result<void> UmadTransport::set_is_sm(bool on) {
    if (!on) {
        issm_.reset();
        return {};
    }
    if (issm_.is_open()) {
        return {};
    }
    std::array<char, 256> path{};
    if (umad_get_issm_path(local_.device.c_str(), local_.port.value(), path.data(),
                           static_cast<int>(path.size())) != 0) {
        return base::fail(base::ErrorKind::unavailable,
                          fmt::format("{}/{} has no issm device: load the kernel module (modprobe ib_umad)",
                                      local_.device, local_.port));
    }
    // The kernel lets one process hold it; without O_NONBLOCK the open would wait for the other to end.
    const int file = ::open(path.data(), O_NONBLOCK | O_CLOEXEC);
    if (file < 0) {
        const std::string reason =
            errno == EAGAIN ? "another subnet manager holds it: stop that one first" : std::strerror(errno);
        return base::fail(base::ErrorKind::unavailable,
                          fmt::format("{} cannot be opened: {}", path.data(), reason));
    }
    issm_.take(file);
    return {};
}

base::Result<LocalPort> read_local_port(const PortChoice& choice) {
    LocalPort local;
    local.device = choice.device;
    local.port = PortNum{choice.port};
    umad_port_t port{};
    if (const int error = umad_get_port(choice.device.c_str(), choice.port, &port); error != 0) {
        return base::fail(base::ErrorKind::unavailable,
                          fmt::format("{}/{} cannot be read from {}: {}", choice.device, choice.port,
                                      kSysfsRoot, std::strerror(-error)));
    }
    local.port_guid = Guid{be64toh(port.port_guid)};
    local.sm_lid = Lid{static_cast<std::uint16_t>(port.sm_lid)};
    local.sm_sl = Sl{static_cast<std::uint8_t>(port.sm_sl)};
    local.lid = Lid{static_cast<std::uint16_t>(port.base_lid)};
    for (unsigned i = 0; i < port.pkeys_size; ++i) {
        local.pkeys.emplace_back(port.pkeys[i]);  // in host order
    }
    local.state_text = fmt::format("{}, {}", to_string(static_cast<PortState>(port.state)),
                                   to_string(static_cast<PhysState>(port.phys_state)));
    umad_release_port(&port);
    umad_ca_t device{};
    if (umad_get_ca(choice.device.c_str(), &device) == 0) {
        local.node_guid = Guid{be64toh(device.node_guid)};
        umad_release_ca(&device);
    }
    return local;
}

std::string open_error_text(const PortChoice& choice, int error) {
    if (error == EACCES || error == EPERM) {
        return fmt::format(
            "the umad device of {}/{} may not be opened: run as root, or give this user access to "
            "/dev/infiniband/umad*; a service's unit must allow it too (DeviceAllow=)",
            choice.device, choice.port);
    }
    return fmt::format("the umad device of {}/{} cannot be opened: {}", choice.device, choice.port,
                       std::strerror(error));
}

constexpr std::array<std::uint8_t, 4> kSmMethods{0x01, 0x02, 0x05, 0x07};  ///< Get, Set, Trap, TrapRepress
/// Get, Set, GetTable, GetTraceTable, GetMulti, Delete.
constexpr std::array<std::uint8_t, 6> kSaMethods{0x01, 0x02, 0x12, 0x13, 0x14, 0x15};

/// Registers one class, for answers and for the `wanted` requests. RMPP version 0: segments come and go as
/// they are, for our own RMPP.
base::Result<int> register_class(int port, MgmtClass mgmt_class, int class_version,
                                 std::span<const std::uint8_t> wanted, const PortChoice& choice) {
    std::array<long, 16 / sizeof(long)> methods{};
    for (const std::uint8_t method : wanted) {
        methods[method / (8 * sizeof(long))] |= 1L << (method % (8 * sizeof(long)));
    }
    const int agent = umad_register(port, static_cast<int>(mgmt_class), class_version, 0, methods.data());
    if (agent < 0) {
        return base::fail(
            base::ErrorKind::unavailable,
            fmt::format(
                "the kernel refused to register management class 0x{:02x} on {}/{} ({}): does another "
                "subnet manager (opensm, ufm) run on this port?",
                static_cast<unsigned>(mgmt_class), choice.device, choice.port, std::strerror(errno)));
    }
    return agent;
}

base::Result<UmadTransport::Agents> register_agents(int port, UmadUse use, const PortChoice& choice) {
    UmadTransport::Agents agents;
    const bool manager = use == UmadUse::manager;
    const std::span<const std::uint8_t> none;
    const auto add = [&](int& agent, MgmtClass mgmt_class, int version,
                         std::span<const std::uint8_t> wanted) {
        return register_class(port, mgmt_class, version, wanted, choice).map([&](int made) { agent = made; });
    };
    base::Result<void> done;
    if (manager) {
        done = add(agents.directed, MgmtClass::subn_directed, 1, kSmMethods).and_then([&] {
            return add(agents.lid_routed, MgmtClass::subn_lid, 1, kSmMethods);
        });
    }
    if (use == UmadUse::prober) {
        return add(agents.directed, MgmtClass::subn_directed, 1, none)
            .and_then([&] { return add(agents.performance, MgmtClass::perf, 1, none); })
            .map([&] { return agents; });
    }
    if (done) {
        done = add(agents.subnet_administration, MgmtClass::subn_adm, 2, manager ? kSaMethods : none);
    }
    return done.map([&] { return agents; });
}

}  // namespace

milliseconds kernel_timeout(base::Duration response_timeout) {
    if (response_timeout <= base::Duration::zero()) {
        return milliseconds{0};
    }
    constexpr milliseconds kMost{std::numeric_limits<int>::max()};
    const auto waited = std::min(std::chrono::duration_cast<milliseconds>(response_timeout), kMost);
    return std::max({waited - kKernelTimerSlack, waited / 2, milliseconds{1}});
}

base::Result<std::unique_ptr<Transport>> open_umad(const UmadOptions& options) {
    const base::Result<PortChoice> choice = choose_port(kSysfsRoot, options);
    if (!choice) {
        return tl::unexpected<base::Error>(choice.error());
    }
    if (umad_init() < 0) {
        return base::fail(base::ErrorKind::unavailable,
                          "libibumad cannot start: load the kernel module (modprobe ib_umad)");
    }
    base::Result<LocalPort> local = read_local_port(*choice);
    if (!local) {
        return tl::unexpected<base::Error>(local.error());
    }
    errno = 0;
    const int port = umad_open_port(choice->device.c_str(), choice->port);
    if (port < 0) {
        return base::fail(base::ErrorKind::unavailable, open_error_text(*choice, errno != 0 ? errno : -port));
    }
    const base::Result<UmadTransport::Agents> agents = register_agents(port, options.use, *choice);
    if (!agents) {
        umad_close_port(port);
        return tl::unexpected<base::Error>(agents.error());
    }
    return std::make_unique<UmadTransport>(port, *agents, std::move(*local));
}

}  // namespace ibf::mad
