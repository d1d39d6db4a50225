#include "sim/process/server.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>

#include <fmt/format.h>

#include "base/log.hpp"
#include "mad/octets.hpp"
#include "sim/world.hpp"

namespace ibf::sim {
namespace {

constexpr base::Duration kSlack =
    std::chrono::microseconds{100};  // events due so soon are run early, in one go
constexpr base::Duration kLongestWait = std::chrono::seconds{60};
constexpr std::size_t kQueuedMax = std::size_t{16} << 20U;  // bytes that a program may leave unread
constexpr std::size_t kInFlightMax = std::size_t{1} << 17U;
constexpr int kBacklog = 128;

mad::MadAddress address_of(const MadFrame& frame) {
    mad::MadAddress address{.lid = mad::Lid{frame.lid},
                            .qp = frame.qpn,
                            .qkey = frame.qkey,
                            .pkey_index = frame.pkey_index,
                            .sl = mad::Sl{frame.sl},
                            .path_bits = frame.path_bits,
                            .grh_gid = std::nullopt,
                            .grh_hop_limit = frame.hop_limit,
                            .grh_traffic_class = frame.traffic_class,
                            .grh_flow_label = frame.flow_label};
    if (frame.grh_present != 0) {
        address.grh_gid = mad::load_gid(frame.gid, 0);
    }
    return address;
}

MadFrame frame_of(std::uint32_t agent, const HandedUp& what) {
    const mad::MadAddress& address = what.address;
    MadFrame frame;
    frame.agent = agent;
    frame.length = static_cast<std::uint32_t>(what.bytes.size());
    frame.status = what.status;
    frame.qpn = address.qp;
    frame.lid = address.lid.value();
    frame.pkey_index = address.pkey_index;
    frame.sl = address.sl.value();
    frame.path_bits = address.path_bits;
    if (address.grh_gid) {
        frame.grh_present = 1;
        frame.hop_limit = address.grh_hop_limit;
        frame.traffic_class = address.grh_traffic_class;
        frame.flow_label = address.grh_flow_label;
        mad::store_gid(frame.gid, 0, *address.grh_gid);
    }
    return frame;
}

std::string node_text(const PlaceRequest& request) {
    const auto end = std::find(request.node.begin(), request.node.end(), '\0');
    return {request.node.begin(), end};
}

std::bitset<128> methods_of(const AgentFrame& frame) {
    std::bitset<128> methods;
    for (std::size_t bit = 0; bit < methods.size(); ++bit) {
        methods[bit] = (frame.methods[bit / 64] >> (bit % 64) & 1U) != 0;
    }
    return methods;
}

PortAnswer describe_port(const World& world, const Simulator::Place& place) {
    const Device& device = world.device(place.node);
    const Port& port = device.address_port(place.port);
    PortAnswer answer;
    answer.port_guid = port.guid.value();
    answer.gid_prefix = port.info.gid_prefix;
    answer.capability_mask = port.info.capability_mask;
    answer.rate_gbps =
        static_cast<std::uint32_t>(std::lround(mad::link_gbps(port.info.width_active, port.info.speed())));
    answer.lid = port.info.lid.value();
    answer.sm_lid = port.info.sm_lid.value();
    answer.port = place.port.value();
    answer.lmc = port.info.lmc;
    answer.sm_sl = port.info.sm_sl;
    answer.state = static_cast<std::uint8_t>(port.info.state);
    answer.phys_state = static_cast<std::uint8_t>(port.info.phys_state);
    answer.pkey_count =
        static_cast<std::uint16_t>(std::clamp<std::size_t>(device.pkey_capacity(place.port), 1, kPKeysMax));
    for (std::size_t i = 0; i < answer.pkey_count; ++i) {
        answer.pkeys[i] = port.pkey(i).value();
    }
    return answer;
}

NodeAnswer describe_node(const World& world, const Simulator::Place& place) {
    const mad::NodeInfo& info = world.device(place.node).info;
    NodeAnswer answer;
    answer.node_guid = info.node_guid.value();
    answer.system_guid = info.system_guid.value();
    answer.vendor_id = info.vendor_id;
    answer.revision = info.revision;
    answer.device_id = info.device_id;
    answer.type = static_cast<std::uint8_t>(info.type);
    answer.num_ports = info.num_ports;
    answer.port = place.port.value();
    return answer;
}

int errno_of(const base::Error& error) {
    return error.kind == base::ErrorKind::not_found ? ENODEV : EINVAL;
}

}  // namespace

/// A port with programs at it.
class Server::JoinedPort final : public PortLayer::Sink {
public:
    struct Owner {
        ConnectionId connection = 0;
        std::uint32_t number = 0;  ///< the agent's, in its connection
    };

    explicit JoinedPort(Server& server) : server_(server) {}

    void transmit(const mad::WireMad& mad) override { server_.simulator_->send(client, mad, server_.now()); }
    void hand_up(const HandedUp& what) override;

    PortLayer layer;
    Simulator::ClientId client = 0;
    std::map<AgentId, Owner> owners;
    bool is_sm = false;

private:
    Server& server_;
};

struct Server::Client {
    explicit Client(Descriptor socket) : connection(std::move(socket)) {}

    Connection connection;
    std::uint32_t handle = 0;
    JoinedPort* port = nullptr;                ///< of a port connection
    JoinedPort* issm = nullptr;                ///< of an issm connection
    std::optional<Simulator::ClientId> qp;     ///< of a qp connection
    std::array<AgentId, kAgentsMax> agents{};  ///< 0: free
};

void Server::JoinedPort::hand_up(const HandedUp& what) {
    const auto owner = owners.find(what.agent);
    if (owner == owners.end()) {
        return;
    }
    server_.write_mad(owner->second.connection, frame_of(owner->second.number, what), what.bytes);
}

void Server::write_mad(ConnectionId id, const MadFrame& frame, std::span<const std::uint8_t> bytes) {
    Connection& connection = clients_.at(id).connection;
    if (connection.queued() > kQueuedMax) {
        ++dropped_;
        return;
    }
    if (bytes.size() >= kMadFrameLeast) {
        connection.write_frame(FrameKind::mad, frame, bytes);
        return;
    }
    mad::MadBuffer filled{};
    std::copy(bytes.begin(), bytes.end(), filled.begin());
    connection.write_frame(FrameKind::mad, frame, filled);
}

base::Result<Descriptor> listen_at(const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.empty() || path.size() >= sizeof address.sun_path) {
        return base::fail(base::ErrorKind::usage, fmt::format("socket path '{}': give 1 to {} characters",
                                                              path, sizeof address.sun_path - 1));
    }
    std::memcpy(address.sun_path, path.data(), path.size());
    const auto* generic = reinterpret_cast<const sockaddr*>(&address);
    {
        const Descriptor probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
        if (::connect(probe.number(), generic, sizeof address) == 0) {
            return base::fail(base::ErrorKind::refused,
                              fmt::format("another ibfabric-sim serves {}: give another --socket", path));
        }
        if (errno == ECONNREFUSED) {
            ::unlink(path.c_str());
        }
    }
    Descriptor listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (listener.number() < 0 || ::bind(listener.number(), generic, sizeof address) != 0 ||
        ::listen(listener.number(), kBacklog) != 0) {
        return base::fail(base::ErrorKind::io,
                          fmt::format("cannot listen at {}: {}", path, std::strerror(errno)));
    }
    return listener;
}

Server::Server(std::unique_ptr<Simulator> simulator, Descriptor listener)
    : begin_(base::monotonic_now()), simulator_(std::move(simulator)), listener_(std::move(listener)) {}

Server::~Server() = default;

void Server::serve(const Descriptor& stop) {
    while (!quit_ && turn(kLongestWait, stop.number())) {
    }
    flush_all();
}

base::Duration Server::wait_time(base::Duration patience) const {
    std::optional<base::Instant> next = simulator_->next_event();
    for (const auto& [place, port] : ports_) {
        const std::optional<base::Instant> due = port->layer.next_deadline();
        if (due && (!next || *due < *next)) {
            next = due;
        }
    }
    return next ? std::clamp(*next - now(), base::Duration::zero(), patience) : patience;
}

bool Server::turn(base::Duration patience, int stop) {
    std::vector<pollfd> polled{{.fd = listener_.number(), .events = POLLIN, .revents = 0},
                               {.fd = stop, .events = POLLIN, .revents = 0}};
    std::vector<ConnectionId> ids;
    const bool full = simulator_->in_flight() > kInFlightMax;
    for (const auto& [id, client] : clients_) {
        const int wanted = (full || client.connection.at_end() ? 0 : POLLIN) |
                           (client.connection.queued() > 0 ? POLLOUT : 0);
        polled.push_back(
            {.fd = client.connection.number(), .events = static_cast<short>(wanted), .revents = 0});
        ids.push_back(id);
    }
    const base::Duration wait = wait_time(patience);
    const timespec limit{.tv_sec = static_cast<time_t>(wait.count() / 1'000'000'000),
                         .tv_nsec = static_cast<long>(wait.count() % 1'000'000'000)};
    if (::ppoll(polled.data(), polled.size(), &limit, nullptr) > 0) {
        if (polled[0].revents != 0) {
            accept_clients();
        }
        for (std::size_t i = 0; i < ids.size(); ++i) {
            const short seen = polled[i + 2].revents;
            Client& client = clients_.at(ids[i]);
            if ((seen & (POLLIN | POLLHUP | POLLERR)) != 0 && (!full || (seen & POLLIN) == 0)) {
                read_from(ids[i], client);
            }
        }
    }
    run_due();
    flush_all();
    return (polled[1].revents & POLLIN) == 0;
}

void Server::run_due() {
    const base::Instant until = now() + kSlack;
    for (const auto& [place, port] : ports_) {
        const std::optional<base::Instant> due = port->layer.next_deadline();
        if (due && *due <= until) {
            port->layer.on_time(until, *port);
        }
    }
    simulator_->advance(until);
}

void Server::flush_all() {
    for (auto item = clients_.begin(); item != clients_.end();) {
        Client& client = item->second;
        if (client.connection.queued() > 0) {
            client.connection.flush();
        }
        const bool done = client.connection.at_end() && client.connection.queued() == 0;
        if (client.connection.alive() && !done) {
            ++item;
            continue;
        }
        forget(client);
        item = clients_.erase(item);
    }
}

/// The program is gone: so are its agents, and IsSM if it held it.
void Server::forget(Client& client) {
    for (const AgentId agent : client.agents) {
        if (agent != 0) {
            client.port->layer.remove_agent(agent);
            client.port->owners.erase(agent);
        }
    }
    if (client.issm != nullptr) {
        client.issm->is_sm = false;
        simulator_->set_is_sm(client.issm->client, false);
    }
    if (client.qp) {
        simulator_->leave(*client.qp);
    }
}

void Server::accept_clients() {
    while (true) {
        const int socket = ::accept4(listener_.number(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (socket < 0) {
            return;
        }
        clients_.emplace(next_id_++, Client(Descriptor(socket)));
    }
}

void Server::read_from(ConnectionId id, Client& client) {
    Connection& connection = client.connection;
    connection.read();
    if (connection.speaks_text() == true) {
        while (std::optional<std::string> line = connection.next_line()) {
            const CommandAnswer answer = run_command(*line, *simulator_, report(), now());
            connection.write({reinterpret_cast<const std::uint8_t*>(answer.text.data()), answer.text.size()});
            quit_ = quit_ || answer.quit;
        }
        return;
    }
    while (std::optional<Frame> frame = connection.alive() ? connection.next_frame() : std::nullopt) {
        serve_frame(id, client, *frame);
    }
}

void Server::serve_frame(ConnectionId id, Client& client, const Frame& frame) {
    switch (frame.kind) {
        case FrameKind::mad: serve_mad(client, frame); break;
        case FrameKind::ask_node:
        case FrameKind::ask_port: serve_ask(client, frame); break;
        case FrameKind::open_port: open_port(id, client, frame); break;
        case FrameKind::open_qp: open_qp(id, client, frame); break;
        case FrameKind::take_issm: take_issm(client, frame); break;
        case FrameKind::add_agent: add_agent(client, frame); break;
        case FrameKind::remove_agent: remove_agent(client, frame); break;
        default: client.connection.end(); break;
    }
}

void Server::serve_mad(Client& client, const Frame& frame) {
    const auto head = read_payload<MadFrame>(frame.payload.data(), frame.payload.size());
    const AgentId agent = head.agent < kAgentsMax ? client.agents[head.agent] : 0;
    const bool whole =
        frame.payload.size() >= sizeof head && frame.payload.size() - sizeof head >= head.length;
    if (client.qp && whole && head.length == mad::MadBuffer{}.size()) {
        mad::WireMad mad{.bytes = {}, .address = address_of(head), .response_timeout = {}};
        std::copy_n(frame.payload.begin() + sizeof head, mad.bytes.size(), mad.bytes.begin());
        simulator_->send(*client.qp, mad, now());
        return;
    }
    if (!whole || client.port == nullptr || agent == 0) {
        ++dropped_;
        return;
    }
    client.port->layer.send(agent,
                            {.bytes = frame.payload.subspan(sizeof head, head.length),
                             .address = address_of(head),
                             .timeout = std::chrono::milliseconds{head.timeout_ms},
                             .retries = head.retries},
                            now(), *client.port);
}

void Server::refuse(Client& client, int error, const std::string& text) {
    Refused answer;
    answer.error = error;
    std::copy_n(text.begin(), std::min(text.size(), answer.text.size() - 1), answer.text.begin());
    client.connection.write_frame(FrameKind::refused, answer);
}

void Server::serve_ask(Client& client, const Frame& frame) {
    const auto request = read_payload<PlaceRequest>(frame.payload.data(), frame.payload.size());
    const base::Result<Simulator::Place> place = simulator_->locate(node_text(request), request.port);
    if (!place) {
        refuse(client, errno_of(place.error()), place.error().message);
    } else if (frame.kind == FrameKind::ask_node) {
        client.connection.write_frame(FrameKind::node_answer, describe_node(simulator_->world(), *place));
    } else {
        client.connection.write_frame(FrameKind::port_answer, describe_port(simulator_->world(), *place));
    }
}

Server::JoinedPort* Server::join(const Simulator::Place& place) {
    std::unique_ptr<JoinedPort>& port = ports_[place];
    if (!port) {
        port = std::make_unique<JoinedPort>(*this);
        JoinedPort* joined = port.get();
        port->client = simulator_->join(
            place, [this, joined](mad::WireMad&& mad) { joined->layer.on_receive(mad, now(), *joined); });
    }
    return port.get();
}

void Server::open_port(ConnectionId id, Client& client, const Frame& frame) {
    const auto request = read_payload<PlaceRequest>(frame.payload.data(), frame.payload.size());
    const base::Result<Simulator::Place> place = simulator_->locate(node_text(request), request.port);
    if (!place || client.port != nullptr || client.qp) {
        refuse(client, place ? EBUSY : errno_of(place.error()),
               place ? "this connection has opened a port already" : place.error().message);
        return;
    }
    client.port = join(*place);
    client.handle = static_cast<std::uint32_t>(id);
    client.connection.write_frame(FrameKind::done, Done{.value = client.handle});
}

void Server::open_qp(ConnectionId id, Client& client, const Frame& frame) {
    const auto request = read_payload<QpRequest>(frame.payload.data(), frame.payload.size());
    const base::Result<Simulator::Place> place =
        simulator_->locate(node_text(request.place), request.place.port);
    if (!place || client.port != nullptr || client.qp) {
        refuse(client, place ? EBUSY : errno_of(place.error()),
               place ? "this connection has opened a port already" : place.error().message);
        return;
    }
    const auto deliver = [this, id](mad::WireMad&& mad) {
        write_mad(id, frame_of(0, {.agent = 0, .status = 0, .address = mad.address, .bytes = mad.bytes}),
                  mad.bytes);
    };
    const base::Result<Simulator::ClientId> joined = simulator_->join_qp(*place, request.qp, deliver);
    if (!joined) {
        refuse(client, EBUSY, joined.error().message);
        return;
    }
    client.qp = *joined;
    client.connection.write_frame(FrameKind::done, Done{});
}

void Server::take_issm(Client& client, const Frame& frame) {
    const auto request = read_payload<PlaceRequest>(frame.payload.data(), frame.payload.size());
    const base::Result<Simulator::Place> place = simulator_->locate(node_text(request), request.port);
    if (!place) {
        refuse(client, errno_of(place.error()), place.error().message);
        return;
    }
    JoinedPort* port = join(*place);
    if (port->is_sm || client.issm != nullptr) {
        refuse(client, EAGAIN, "another program holds the port's issm device");
        return;
    }
    port->is_sm = true;
    client.issm = port;
    simulator_->set_is_sm(port->client, true);
    client.connection.write_frame(FrameKind::done, Done{});
}

void Server::add_agent(Client& client, const Frame& frame) {
    const auto request = read_payload<AgentFrame>(frame.payload.data(), frame.payload.size());
    const auto found = clients_.find(request.handle);
    if (found == clients_.end() || found->second.port == nullptr) {
        refuse(client, EBADF, "no such open port");
        return;
    }
    Client& owner = found->second;
    const auto slot = std::find(owner.agents.begin(), owner.agents.end(), AgentId{0});
    if (slot == owner.agents.end()) {
        refuse(client, ENOMEM, fmt::format("an open port has at most {} agents", kAgentsMax));
        return;
    }
    const base::Result<AgentId> agent = owner.port->layer.add_agent({.mgmt_class = request.mgmt_class,
                                                                     .class_version = request.class_version,
                                                                     .rmpp_version = request.rmpp_version,
                                                                     .user_rmpp = request.user_rmpp != 0,
                                                                     .oui = request.oui,
                                                                     .methods = methods_of(request)});
    if (!agent) {
        refuse(client, EINVAL, agent.error().message);
        return;
    }
    *slot = *agent;
    const auto number = static_cast<std::uint32_t>(slot - owner.agents.begin());
    owner.port->owners[*agent] = {.connection = found->first, .number = number};
    client.connection.write_frame(FrameKind::done, Done{.value = number});
}

void Server::remove_agent(Client& client, const Frame& frame) {
    const auto request = read_payload<AgentFrame>(frame.payload.data(), frame.payload.size());
    const auto found = clients_.find(request.handle);
    const bool known = found != clients_.end() && found->second.port != nullptr &&
                       request.agent < kAgentsMax && found->second.agents[request.agent] != 0;
    if (!known) {
        refuse(client, EINVAL, "no such agent");
        return;
    }
    JoinedPort& port = *found->second.port;
    AgentId& agent = found->second.agents[request.agent];
    port.layer.remove_agent(agent);
    port.owners.erase(agent);
    agent = 0;
    client.connection.write_frame(FrameKind::done, Done{});
}

ServerReport Server::report() const {
    ServerReport report{.ports = {}, .connections = clients_.size(), .dropped = dropped_};
    for (const auto& [place, port] : ports_) {
        const auto is_here = [joined = port.get()](const auto& item) { return item.second.port == joined; };
        report.ports.push_back({.node = simulator_->world().device(place.node).description,
                                .port = place.port,
                                .connections = static_cast<std::size_t>(
                                    std::count_if(clients_.begin(), clients_.end(), is_here)),
                                .agents = port->layer.agents(),
                                .is_sm = port->is_sm,
                                .counters = port->layer.counters()});
    }
    return report;
}

}  // namespace ibf::sim
