// libibumad's opened ports: agents, sending, receiving. A port's number is its descriptor, as in libibumad.
//
// A frame is taken off the socket whole or not at all, and nothing is kept here, so poll and epoll on the
// descriptor tell the truth. A message longer than the caller's buffer stays, and ENOSPC says how long it is,
// as ib_umad's read().
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <memory>
#include <mutex>
#include <optional>

#include <infiniband/umad.h>

#include "sim/umad/link.hpp"

using namespace ibf::sim;

namespace {

/// What every frame that arrives begins with.
struct FrameStart {
    FrameHeader header;
    MadFrame mad;
    std::array<std::uint8_t, kMadFrameLeast> bytes;
};
static_assert(sizeof(FrameStart) == sizeof(FrameHeader) + sizeof(MadFrame) + kMadFrameLeast);

struct OpenPort {
    std::uint32_t handle = 0;
    std::mutex sending;
    std::mutex receiving;
    std::optional<FrameStart> begun;  ///< of a long message whose end is still in the socket
};

std::mutex ports_mutex;
std::map<int, std::shared_ptr<OpenPort>> ports;

std::shared_ptr<OpenPort> find_port(int number) {
    const std::lock_guard lock(ports_mutex);
    const auto found = ports.find(number);
    return found == ports.end() ? nullptr : found->second;
}

/// libibumad leaves the reason in errno too.
int with_errno(int result) {
    if (result < 0) {
        errno = -result;
    }
    return result;
}

AgentFrame agent_frame(const OpenPort& port, int mgmt_class, int version, std::uint8_t rmpp_version,
                       const long* method_mask) {
    AgentFrame frame;
    frame.handle = port.handle;
    frame.mgmt_class = static_cast<std::uint8_t>(mgmt_class);
    frame.class_version = static_cast<std::uint8_t>(version);
    frame.rmpp_version = rmpp_version;
    static_assert(sizeof(long) == sizeof(std::uint64_t), "the method mask is two longs");
    for (std::size_t i = 0; method_mask != nullptr && i < frame.methods.size(); ++i) {
        frame.methods[i] = static_cast<std::uint64_t>(method_mask[i]);
    }
    return frame;
}

int add_agent(const AgentFrame& frame) {
    std::uint32_t agent = 0;
    return shim::ask_agent(FrameKind::add_agent, frame, agent) == 0 ? static_cast<int>(agent)
                                                                    : with_errno(-EPERM);
}

MadFrame mad_frame(const ib_user_mad_t& umad) {
    MadFrame frame;
    frame.agent = umad.agent_id;
    frame.timeout_ms = umad.timeout_ms;
    frame.retries = umad.retries;
    frame.qpn = be32toh(umad.addr.qpn);
    frame.qkey = be32toh(umad.addr.qkey);
    frame.flow_label = be32toh(umad.addr.flow_label);
    frame.lid = be16toh(umad.addr.lid);
    frame.pkey_index = umad.addr.pkey_index;
    frame.sl = umad.addr.sl;
    frame.path_bits = umad.addr.path_bits;
    frame.grh_present = umad.addr.grh_present;
    frame.gid_index = umad.addr.gid_index;
    frame.hop_limit = umad.addr.hop_limit;
    frame.traffic_class = umad.addr.traffic_class;
    std::copy(std::begin(umad.addr.gid), std::end(umad.addr.gid), frame.gid.begin());
    return frame;
}

void fill_umad(const MadFrame& frame, std::size_t length, ib_user_mad_t& umad) {
    umad = ib_user_mad_t{};
    umad.agent_id = frame.agent;
    umad.status = frame.status;
    umad.timeout_ms = frame.timeout_ms;
    umad.retries = frame.retries;
    umad.length = static_cast<std::uint32_t>(sizeof umad + length);
    umad.addr.qpn = htobe32(frame.qpn);
    umad.addr.qkey = htobe32(frame.qkey);
    umad.addr.flow_label = htobe32(frame.flow_label);
    umad.addr.lid = htobe16(frame.lid);
    umad.addr.pkey_index = frame.pkey_index;
    umad.addr.sl = frame.sl;
    umad.addr.path_bits = frame.path_bits;
    umad.addr.grh_present = frame.grh_present;
    umad.addr.gid_index = frame.gid_index;
    umad.addr.hop_limit = frame.hop_limit;
    umad.addr.traffic_class = frame.traffic_class;
    std::copy(frame.gid.begin(), frame.gid.end(), std::begin(umad.addr.gid));
}

/// Takes `size` bytes off the socket; what has begun to arrive is waited for. 0 or a negative errno.
int take(int socket, void* to, std::size_t size) {
    std::size_t got = 0;
    while (got < size) {
        const ssize_t more =
            ::recv(socket, static_cast<char*>(to) + got, size - got, got == 0 ? MSG_DONTWAIT : MSG_WAITALL);
        if (more < 0 && errno == EINTR) {
            continue;
        }
        if (more <= 0) {
            return more < 0 && errno == EAGAIN ? -EAGAIN : -EIO;
        }
        got += static_cast<std::size_t>(more);
    }
    return 0;
}

/// The next MAD; the agent's number, or a negative errno. `length`: room in, size out.
int receive(int socket, OpenPort& port, ib_user_mad_t& umad, int& length) {
    const std::lock_guard lock(port.receiving);
    const std::size_t room = static_cast<std::size_t>(std::max(length, 0));
    if (room < kMadFrameLeast) {
        return -EINVAL;
    }
    length = 0;
    if (!port.begun) {
        FrameStart start;
        if (const int error = take(socket, &start, sizeof start); error != 0) {
            return error;
        }
        if (start.header.magic != kFrameMagic || start.header.kind != FrameKind::mad ||
            start.header.bytes < sizeof start - sizeof start.header) {
            return -EPROTO;
        }
        port.begun = start;
    }
    const FrameStart& start = *port.begun;
    const std::size_t carried = start.header.bytes - sizeof(MadFrame);
    const std::size_t size = std::min<std::size_t>(start.mad.length, carried);
    std::uint8_t* const mad = reinterpret_cast<std::uint8_t*>(&umad) + sizeof umad;
    fill_umad(start.mad, size, umad);
    std::copy_n(start.bytes.begin(), std::min(size, start.bytes.size()), mad);
    length = static_cast<int>(size);
    if (room < carried) {
        return -ENOSPC;
    }
    const int agent = static_cast<int>(start.mad.agent);
    int error = 0;
    if (carried > kMadFrameLeast) {
        do {  // its end may be on the way
            error = take(socket, mad + kMadFrameLeast, carried - kMadFrameLeast);
        } while (error == -EAGAIN && umad_poll(socket, -1) == 0);
    }
    port.begun.reset();
    return error == 0 ? agent : error;
}

}  // namespace

IBF_EXPORT int umad_open_port(const char* ca_name, int portnum) {
    return shim::guarded(-EIO, [&] {
        if (ca_name != nullptr && *ca_name != '\0' && std::string_view(ca_name) != shim::kDevice) {
            return with_errno(-ENODEV);
        }
        auto port = std::make_shared<OpenPort>();
        const int socket =
            shim::begin(FrameKind::open_port, static_cast<std::uint8_t>(portnum), port->handle);
        if (socket < 0) {
            return with_errno(socket);
        }
        const std::lock_guard lock(ports_mutex);
        ports[socket] = std::move(port);
        return socket;
    });
}

IBF_EXPORT int umad_close_port(int portid) {
    return shim::guarded(-EIO, [&] {
        const std::lock_guard lock(ports_mutex);
        if (ports.erase(portid) == 0) {
            return with_errno(-EINVAL);
        }
        ::close(portid);
        return 0;
    });
}

IBF_EXPORT int umad_get_fd(int portid) {
    return portid;
}

IBF_EXPORT int umad_register(int portid, int mgmt_class, int mgmt_version, uint8_t rmpp_version,
                             long method_mask[]) {
    return shim::guarded(-EIO, [&] {
        const std::shared_ptr<OpenPort> port = find_port(portid);
        return port ? add_agent(agent_frame(*port, mgmt_class, mgmt_version, rmpp_version, method_mask))
                    : with_errno(-EINVAL);
    });
}

IBF_EXPORT int umad_register_oui(int portid, int mgmt_class, uint8_t rmpp_version, uint8_t oui[3],
                                 long method_mask[]) {
    return shim::guarded(-EIO, [&] {
        constexpr int kVendorFirst = 0x30;
        constexpr int kVendorLast = 0x4F;
        const std::shared_ptr<OpenPort> port = find_port(portid);
        if (!port || mgmt_class < kVendorFirst || mgmt_class > kVendorLast) {
            return with_errno(-EINVAL);
        }
        AgentFrame frame = agent_frame(*port, mgmt_class, 1, rmpp_version, method_mask);
        frame.oui = std::uint32_t{oui[0]} << 16U | std::uint32_t{oui[1]} << 8U | oui[2];
        return add_agent(frame);
    });
}

IBF_EXPORT int umad_register2(int port_fd, umad_reg_attr* attr, uint32_t* agent_id) {
    return shim::guarded(EIO, [&] {
        const std::shared_ptr<OpenPort> port = find_port(port_fd);
        if (!port || attr == nullptr || agent_id == nullptr ||
            (attr->flags & ~unsigned{UMAD_USER_RMPP}) != 0) {
            return EINVAL;
        }
        AgentFrame frame =
            agent_frame(*port, attr->mgmt_class, attr->mgmt_class_version, attr->rmpp_version, nullptr);
        frame.user_rmpp = (attr->flags & UMAD_USER_RMPP) != 0 ? 1 : 0;
        frame.oui = attr->oui;
        frame.methods = {attr->method_mask[0], attr->method_mask[1]};
        return -shim::ask_agent(FrameKind::add_agent, frame, *agent_id);
    });
}

IBF_EXPORT int umad_unregister(int portid, int agentid) {
    return shim::guarded(-EIO, [&] {
        const std::shared_ptr<OpenPort> port = find_port(portid);
        if (!port) {
            return with_errno(-EINVAL);
        }
        AgentFrame frame;
        frame.handle = port->handle;
        frame.agent = static_cast<std::uint32_t>(agentid);
        std::uint32_t ignored = 0;
        return with_errno(shim::ask_agent(FrameKind::remove_agent, frame, ignored));
    });
}

IBF_EXPORT int umad_send(int portid, int agentid, void* umad, int length, int timeout_ms, int retries) {
    return shim::guarded(-EIO, [&] {
        const std::shared_ptr<OpenPort> port = find_port(portid);
        if (!port || umad == nullptr || length < 0) {
            return with_errno(-EINVAL);
        }
        auto& mad = *static_cast<ib_user_mad_t*>(umad);
        mad.agent_id = static_cast<std::uint32_t>(agentid);
        mad.timeout_ms = static_cast<std::uint32_t>(std::max(timeout_ms, 0));
        mad.retries = static_cast<std::uint32_t>(std::max(retries, 0));
        MadFrame frame = mad_frame(mad);
        frame.length = static_cast<std::uint32_t>(length);
        const std::lock_guard lock(port->sending);
        const int error = shim::send_frame(portid, FrameKind::mad, &frame, sizeof frame, umad_get_mad(umad),
                                           static_cast<std::size_t>(length));
        return error == 0 ? 0 : with_errno(-EIO);
    });
}

IBF_EXPORT int umad_poll(int portid, int timeout_ms) {
    pollfd polled{.fd = portid, .events = POLLIN, .revents = 0};
    const int ready = ::poll(&polled, 1, timeout_ms);
    if (ready == 1) {
        return 0;
    }
    return with_errno(ready == 0 ? -ETIMEDOUT : -EIO);
}

IBF_EXPORT int umad_recv(int portid, void* umad, int* length, int timeout_ms) {
    return shim::guarded(-EIO, [&] {
        const std::shared_ptr<OpenPort> port = find_port(portid);
        if (!port || umad == nullptr || length == nullptr) {
            return with_errno(-EINVAL);
        }
        auto& mad = *static_cast<ib_user_mad_t*>(umad);
        const int room = *length;
        const int result = receive(portid, *port, mad, *length);
        if (result != -EAGAIN || timeout_ms == 0) {
            return with_errno(result);
        }
        if (const int error = umad_poll(portid, timeout_ms); error != 0) {
            return error;
        }
        *length = room;
        return with_errno(receive(portid, *port, mad, *length));
    });
}
