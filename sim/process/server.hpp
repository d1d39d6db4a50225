// DOC: the simulated fabric as a process: sockets on one side, the Simulator on the other.
//
// One thread, one poll loop. Simulated time is the time since the server was made. Every port that a program
// opens gets one PortLayer, shared by all programs there, and one client of the Simulator; both stay, as a
// kernel stays when a program ends. What a program may keep waiting is bounded: it reads slowly, then what
// arrives for it is dropped and counted, as by a full receive queue; the fabric holds too many packets, then
// no program is read from until it has delivered some. See protocol.hpp for the frames, commands.hpp for
// text.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "base/time.hpp"
#include "sim/port_layer.hpp"
#include "sim/process/commands.hpp"
#include "sim/process/connection.hpp"
#include "sim/simulator.hpp"

namespace ibf::sim {

/// A listening unix socket. A path left behind by a server that is gone is taken over. Errors: refused where
/// a server still answers there, io otherwise.
[[nodiscard]] base::Result<Descriptor> listen_at(const std::string& path);

class Server {
public:
    Server(std::unique_ptr<Simulator> simulator, Descriptor listener);
    ~Server();
    Server(const Server&) = delete;
    Server& operator=(const Server&) = delete;

    /// Serves until `stop` is readable or a client says quit.
    void serve(const Descriptor& stop);
    /// One pass: waits up to `patience` for input or the fabric's next event, then does all that is due.
    /// `stop` (or -1) ends the wait. False: `stop` is readable.
    [[nodiscard]] bool turn(base::Duration patience, int stop);
    [[nodiscard]] bool quit_asked() const { return quit_; }

private:
    using ConnectionId = std::uint64_t;
    struct Client;
    class JoinedPort;

    [[nodiscard]] base::Instant now() const { return base::Instant{base::monotonic_now() - begin_}; }
    [[nodiscard]] base::Duration wait_time(base::Duration patience) const;
    void accept_clients();
    void read_from(ConnectionId id, Client& client);
    void serve_frame(ConnectionId id, Client& client, const Frame& frame);
    void serve_mad(Client& client, const Frame& frame);
    /// Queues a MAD for a program; dropped and counted where it leaves too many unread.
    void write_mad(ConnectionId id, const MadFrame& frame, std::span<const std::uint8_t> bytes);
    void serve_ask(Client& client, const Frame& frame);
    void open_port(ConnectionId id, Client& client, const Frame& frame);
    void open_qp(ConnectionId id, Client& client, const Frame& frame);
    void take_issm(Client& client, const Frame& frame);
    void add_agent(Client& client, const Frame& frame);
    void remove_agent(Client& client, const Frame& frame);
    void refuse(Client& client, int error, const std::string& text);
    void run_due();
    void flush_all();
    void forget(Client& client);
    [[nodiscard]] JoinedPort* join(const Simulator::Place& place);
    [[nodiscard]] ServerReport report() const;

    const base::Instant begin_;
    std::unique_ptr<Simulator> simulator_;
    Descriptor listener_;
    std::map<ConnectionId, Client> clients_;
    std::map<Simulator::Place, std::unique_ptr<JoinedPort>> ports_;
    ConnectionId next_id_ = 1;
    std::uint64_t dropped_ = 0;
    bool quit_ = false;
};

}  // namespace ibf::sim
