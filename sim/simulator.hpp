// DOC: the simulated fabric.
//
// Switches, adapters, routers and cables that answer MADs as real agents do: each SMA has its own tables;
// directed-route SMPs walk the cables port by port, LID-routed MADs walk the *programmed* LFTs over Active
// links. The agents enforce the wire rules of the design (see rules.hpp): a Set that breaks one is refused
// with status 0x1C and counted by rule. Credit-free, but fault-scriptable. A product, not a mock: operators
// use it for what-if.
//
// The simulator is a pure machine in time: send() enqueues, advance(until) delivers. In tests the caller owns
// a virtual clock; in the process a thread drives it with real time (sim_transport.hpp).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/prng.hpp"
#include "base/result.hpp"
#include "base/time.hpp"
#include "mad/smp.hpp"
#include "mad/transport.hpp"
#include "routing/netlist.hpp"

namespace ibf::sim {

struct SimOptions {
    std::uint64_t seed = 1;
    base::Duration hop_delay = std::chrono::nanoseconds{200};
    base::Duration agent_delay =
        std::chrono::microseconds{2};  ///< time an SMA takes per MAD, serialised per device
    bool lid_routed_smps = true;       ///< false: multi-plane devices drop LID-routed Gets and Sets
    bool optimized_sl2vl = true;       ///< switches take the optimised SLtoVL Set
    bool ext_speeds_need_bit31 =
        false;                         ///< PortInfo shows extended speeds only where the modifier has bit 31
    bool port0_refuses_bit31 = false;  ///< switch port 0 answers a modifier with bit 31 with status 0x1C
    base::Duration link_training = std::chrono::microseconds{100};  ///< Polling to LinkUp
    base::Duration trap_interval = std::chrono::seconds{1};         ///< until repressed, a trap is sent again
    std::uint32_t trap_sends = 5;                                   ///< at most so often
};

/// One fault or change. `where` names a node by description, id or GUID, with "/PORT" where a port is meant,
/// or "*" for all. Text form, one a line: "at 1.5s drop switch-01 attr=PortInfo method=Set count=3".
struct Fault {
    enum class Kind : std::uint8_t {
        drop,
        delay,
        duplicate,
        reorder,
        wrong_tid,
        error_status,  // on the answers (or requests) of a device
        slow_set,
        reboot,
        dead,
        alive,  // on a device; reboot wipes its tables
        link_down,
        link_up,
        flap,
        remove_node,
        add_node,  // on cables and nodes
        trap,
        mute_traps,
        corrupt_node_info,
        one_way,               // on what a device says
        swap_cables,           // two cables change their far ends, and nobody is told
        lossy,                 // `probability` of the data packets that come in at a port are damaged
        throttle,              // a port is given credits for `probability` of its rate
        lft_entry,             // the entry of `lid` becomes port `number`
        adaptive_routing,      // a switch says that its tables are one way of several
        no_extended_counters,  // a performance agent without 64-bit counters
        redirect_perf,         // a performance agent says to ask `with`, queue pair `number`
    };
    Kind kind = Kind::drop;
    base::Duration at{};  ///< from the start of the simulation
    std::string where;
    std::optional<mad::Attribute> attribute;  ///< only this attribute; empty: any
    std::optional<mad::Method> method;
    std::uint32_t count = 0;  ///< how many times (0: for ever)
    double probability = 1.0;
    base::Duration delay{};    ///< delay, slow_set, flap half period
    std::uint16_t number = 0;  ///< status for error_status, trap number for trap, port, queue pair
    std::string with{};        ///< the second one of two: as `where`
    mad::Lid lid{};
};
/// Errors: parse, with the line and the nearest right word.
[[nodiscard]] base::Result<std::vector<Fault>> parse_faults(std::string_view text, const std::string& origin);

/// The queue pair of management, and the Q_Key of those that speak with it (IBA 10.2.5).
inline constexpr std::uint32_t kGsiQp = 1;
inline constexpr std::uint32_t kGsiQKey = 0x80010000;

struct SimCounters {
    std::uint64_t mads = 0;
    std::uint64_t sets = 0;
    std::uint64_t delivered = 0;
    std::uint64_t lost = 0;
    std::uint64_t rule_breaks = 0;
    std::vector<std::pair<std::string, std::uint64_t>> by_rule;  ///< rule name, count; only those > 0
    std::vector<std::pair<std::string, std::uint64_t>> by_kind;  ///< "Get NodeInfo", count
};

class World;
struct DataFlow;
struct DataFate;

class Simulator {
public:
    Simulator(routing::Netlist netlist, const SimOptions& options);
    ~Simulator();
    Simulator(const Simulator&) = delete;
    Simulator& operator=(const Simulator&) = delete;

    /// Where a client can join: a port of an adapter or router, port 0 of a switch.
    struct Place {
        std::uint32_t node = 0;
        mad::PortNum port{};
        auto operator<=>(const Place&) const = default;
    };
    /// A node by description, id or GUID, or "NODE/PORT"; and, for adapters, a port (0: the one that `node`
    /// names, else the first cabled one). Empty name: the first CA with a cable, else the first. Errors:
    /// not_found.
    [[nodiscard]] base::Result<Place> locate(const std::string& node, std::uint8_t port) const;

    /// Joins where locate() says. `deliver` gets what arrives there.
    using ClientId = std::uint32_t;
    [[nodiscard]] base::Result<ClientId> join(const std::string& node, std::uint8_t port,
                                              std::function<void(mad::WireMad&&)> deliver);
    [[nodiscard]] ClientId join(const Place& place, std::function<void(mad::WireMad&&)> deliver);
    /// A queue pair above kGsiQp of its own, with Q_Key kGsiQKey, as srp_daemon has one: what it sends comes
    /// from `qp`, and `deliver` gets what is sent there. A number that is in use at the port is refused.
    [[nodiscard]] base::Result<ClientId> join_qp(const Place& place, std::uint32_t qp,
                                                 std::function<void(mad::WireMad&&)> deliver);
    /// The client is gone: nothing is delivered to it any more.
    void leave(ClientId client);
    [[nodiscard]] mad::LocalPort local_port(ClientId client) const;
    void set_is_sm(ClientId client, bool on);
    /// What the client at that port answers SMInfo itself: the simulator forwards SMInfo Gets for a port with
    /// IsSM to its client, everything else is answered by the simulated SMA.
    void send(ClientId client, const mad::WireMad& mad, base::Instant now);

    /// Faults to come, timed from Instant{}. A fault whose `where` names nothing is without effect: check
    /// first.
    void schedule(const std::vector<Fault>& faults);
    /// Errors: not_found for a `where` that names nothing, with the name.
    [[nodiscard]] base::Result<void> check_target(const Fault& fault) const;
    /// Errors: not_found for a `where` that names nothing.
    [[nodiscard]] base::Result<void> inject(const Fault& fault, base::Instant now);

    /// Runs everything due up to and including `until`.
    void advance(base::Instant until);
    [[nodiscard]] std::optional<base::Instant> next_event() const;
    /// MADs under way or queued at an agent.
    [[nodiscard]] std::size_t in_flight() const;

    // --- what outside checkers read (never the SM under test) ---
    [[nodiscard]] const routing::Netlist& netlist() const;  ///< as built; removed nodes stay listed
    [[nodiscard]] const World& world() const;               ///< everything; see world.hpp
    [[nodiscard]] mad::PortInfo port_info(std::uint32_t node, mad::PortNum port) const;
    [[nodiscard]] mad::SwitchInfo switch_info(std::uint32_t node) const;
    [[nodiscard]] std::uint8_t lft_entry(std::uint32_t node, mad::Lid lid) const;
    [[nodiscard]] mad::PKeyBlock pkeys(std::uint32_t node, mad::PortNum port, std::uint16_t block) const;
    [[nodiscard]] mad::Sl2VlTable sl2vl(std::uint32_t node, mad::PortNum in, mad::PortNum out) const;
    [[nodiscard]] mad::VlArbBlock vl_arb(std::uint32_t node, mad::PortNum port, std::uint8_t block) const;
    [[nodiscard]] bool present(std::uint32_t node) const;
    [[nodiscard]] const SimCounters& counters() const;
    /// Follows the switches' own tables from a CA port to a LID: the (node, exit port) steps. Errors:
    /// not_found with the hop where it broke (drop entry, link not Active, loop).
    struct Step {
        std::uint32_t node = 0;
        mad::PortNum out{};
    };
    [[nodiscard]] base::Result<std::vector<Step>> walk(std::uint32_t node, mad::PortNum port,
                                                       mad::Lid to) const;

    /// Called after each MAD an agent handled, for transcripts and in-flight checks; may be empty.
    using Observer =
        std::function<void(base::Instant, std::uint32_t node, const mad::Smp& request, mad::MadStatus)>;
    void set_observer(Observer observer);

    /// Traffic as a host's queue pair would send it: walks the programmed tables at once and moves counters.
    DataFate carry(const DataFlow& flow);

    // --- test preparation ---
    void set_lft_entry(std::uint32_t node, mad::Lid lid, std::uint8_t port);
    void set_port_info(std::uint32_t node, mad::PortNum port, const mad::PortInfo& info);
    void set_switch_info(std::uint32_t node, const mad::SwitchInfo& info);
    /// Of an adapter the table of port `out`.
    void set_sl2vl(std::uint32_t node, mad::PortNum in, mad::PortNum out, const mad::Sl2VlTable& table);
    void set_vl_arb(std::uint32_t node, mad::PortNum port, std::uint8_t block,
                    const mad::VlArbBlock& entries);
    void set_node_guid(std::uint32_t node, mad::Guid guid);

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

/// A Transport over a Simulator, driven in real time by a thread of its own. `faults` run from start().
[[nodiscard]] base::Result<std::unique_ptr<mad::Transport>> make_sim_transport(
    std::unique_ptr<Simulator> simulator, const std::string& node, std::uint8_t port);

}  // namespace ibf::sim
