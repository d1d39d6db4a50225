// DOC: what Linux's ib_mad and ib_umad do above one port.
//
// All programs at a port share one PortLayer, as they share the kernel. It gives a request the upper half of
// its transaction ID, keeps it open for as long as the sender waits, sends it again `retries` times and then
// hands it back with status ETIMEDOUT; it hands responses up only while their request is open, and requests
// by class, version and method (agent_table.hpp). A Get or Set that nobody registered for is answered with
// status 0x000C, as the kernel does. For agents with kernel RMPP it segments what is longer than a MAD and
// hands up whole messages; for all others every packet passes untouched.
//
// Pure: no socket, no clock. Time and MADs come in, MADs and what goes up go out through the Sink. It knows
// neither programs nor files (process/server.hpp) nor how packets travel (engine.hpp).
// Linux: drivers/infiniband/core/{mad.c,mad_rmpp.c,user_mad.c}.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/time.hpp"
#include "mad/rmpp.hpp"
#include "mad/transport.hpp"
#include "sim/agent_table.hpp"

namespace ibf::sim {

/// What a program hands down. More than 256 bytes: an RMPP message of an agent with kernel RMPP.
struct SendRequest {
    std::span<const std::uint8_t> bytes;
    mad::MadAddress address;
    base::Duration timeout{};  ///< zero: no response is awaited
    std::uint32_t retries = 0;
};

/// What goes up to a program.
struct HandedUp {
    AgentId agent = 0;
    std::uint32_t status = 0;  ///< 0, or kTimedOut: `bytes` is the header of the program's own request
    mad::MadAddress address;
    std::span<const std::uint8_t> bytes;  ///< 256; RMPP messages: header and data
};
inline constexpr std::uint32_t kTimedOut = 110;  ///< ETIMEDOUT, as ib_umad reports it

struct PortLayerCounters {
    std::uint64_t sent = 0;
    std::uint64_t handed_up = 0;
    std::uint64_t timed_out = 0;
    std::uint64_t late = 0;       ///< responses whose request was not open
    std::uint64_t unclaimed = 0;  ///< requests that nobody registered for
    std::uint64_t refused = 0;    ///< sends that the kernel would refuse, or beyond kOpenRequestsMax
};

class PortLayer {
public:
    /// Requests of one port that may be open at once; those beyond time out at once.
    static constexpr std::size_t kOpenRequestsMax = std::size_t{1} << 18U;

    class Sink {
    public:
        Sink() = default;
        Sink(const Sink&) = delete;
        Sink& operator=(const Sink&) = delete;
        virtual ~Sink() = default;
        virtual void transmit(const mad::WireMad& mad) = 0;
        virtual void hand_up(const HandedUp& what) = 0;
    };

    /// Errors: as AgentTable::add.
    [[nodiscard]] base::Result<AgentId> add_agent(const AgentRequest& request);
    /// Its open requests and transfers end without a word.
    void remove_agent(AgentId agent);

    void send(AgentId agent, const SendRequest& request, base::Instant now, Sink& out);
    void on_receive(const mad::WireMad& mad, base::Instant now, Sink& out);
    void on_time(base::Instant now, Sink& out);
    [[nodiscard]] std::optional<base::Instant> next_deadline() const;

    [[nodiscard]] std::size_t agents() const { return agents_.size(); }
    [[nodiscard]] std::size_t open_requests() const { return deadlines_.size(); }
    [[nodiscard]] const PortLayerCounters& counters() const { return counters_; }

private:
    /// A request whose response is awaited.
    struct Open {
        AgentId agent = 0;
        std::uint64_t tid = 0;
        mad::MadAddress address;
        std::vector<std::uint8_t> bytes;
        base::Duration timeout{};
        base::Instant deadline{};
        std::uint32_t retries_left = 0;
    };
    /// The RMPP machine of an agent with kernel RMPP, and the headers of what it is sending.
    struct Transfers {
        mad::Rmpp rmpp;
        std::map<std::uint64_t, std::vector<std::uint8_t>> headers;
    };

    void emit(AgentId agent, std::span<const std::uint8_t> bytes, const mad::MadAddress& address,
              base::Duration timeout, base::Instant now, Sink& out);
    void open(AgentId agent, std::span<const std::uint8_t> bytes, const SendRequest& request,
              base::Instant now, Sink& out);
    void close(std::uint32_t slot);
    [[nodiscard]] std::optional<std::uint32_t> find_open(AgentId agent, std::uint64_t tid,
                                                         const mad::WireMad& response) const;
    void complete(AgentId agent, const mad::WireMad& first, std::span<const std::uint8_t> bytes, Sink& out);
    void time_out(AgentId agent, const mad::MadAddress& address, std::span<const std::uint8_t> bytes,
                  Sink& out);
    void refuse_unclaimed(const mad::WireMad& mad, Sink& out);
    void pass_on(AgentId agent, const mad::RmppOutputs& outputs, Sink& out);

    AgentTable agents_;
    std::map<AgentId, Transfers> transfers_;
    std::vector<Open> slots_;
    std::vector<std::uint32_t> free_;
    std::unordered_multimap<std::uint64_t, std::uint32_t> by_tid_;  ///< looked up, never walked
    std::set<std::pair<base::Instant, std::uint32_t>> deadlines_;
    PortLayerCounters counters_;
};

}  // namespace ibf::sim
