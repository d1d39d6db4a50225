// DOC: the simulator's machine: packets, clients and the events that move them.
//
// A MAD's life is four events: depart (it leaves its source and its way is walked at once), arrive (after
// hops * hop_delay it queues at the device's agent, which serves one MAD at a time), serve (the answer's way
// back is walked, so a link lost meanwhile loses it; then it is answered) and deliver. Packets live in slots
// that are used again; an event names the slot. Everything runs on the caller's thread inside advance().
//
// engine.cpp moves packets, script.cpp applies faults.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/prng.hpp"
#include "sim/agent.hpp"
#include "sim/event_queue.hpp"
#include "sim/fault_table.hpp"
#include "sim/simulator.hpp"
#include "sim/trap_desk.hpp"
#include "sim/world.hpp"

namespace ibf::sim {

/// "name/12" apart; the port is empty where there is no such ending.
[[nodiscard]] std::pair<std::string, std::optional<mad::PortNum>> split_port(const std::string& where);

class Engine {
public:
    using ClientId = Simulator::ClientId;
    using Deliver = std::function<void(mad::WireMad&&)>;

    Engine(routing::Netlist netlist, const SimOptions& options);

    [[nodiscard]] World& world() { return world_; }
    [[nodiscard]] const World& world() const { return world_; }
    /// As Simulator::locate.
    [[nodiscard]] base::Result<PortRef> locate(const std::string& node, std::uint8_t port) const;
    /// As Simulator::join and join_qp.
    [[nodiscard]] ClientId join(PortRef at, std::uint32_t qp, Deliver deliver);
    void leave(ClientId client);
    [[nodiscard]] bool has_qp(PortRef at, std::uint32_t qp) const;
    [[nodiscard]] std::size_t in_flight() const { return packets_.size() - free_packets_.size(); }
    [[nodiscard]] mad::LocalPort local_port(ClientId client) const;
    void set_is_sm(ClientId client, bool on);
    void send(ClientId client, const mad::WireMad& mad, base::Instant now);

    void schedule(const std::vector<Fault>& faults);
    [[nodiscard]] base::Result<void> check_target(const Fault& fault) const;
    [[nodiscard]] base::Result<void> inject(const Fault& fault, base::Instant now);

    void advance(base::Instant until);
    [[nodiscard]] std::optional<base::Instant> next_event() const;
    [[nodiscard]] const SimCounters& counters() const;
    void set_observer(Simulator::Observer observer) { observer_ = std::move(observer); }

private:
    struct Client {
        PortRef at;
        Deliver deliver;
        std::uint32_t qp = kGsiQp;  ///< kGsiQp: the port's management queue pairs, 0 and 1
        bool is_sm = false;
    };
    struct Packet {
        mad::Smp smp;            ///< where is_smp
        mad::MadBuffer bytes{};  ///< other classes, as sent
        mad::MadHeader header;   ///< other classes
        mad::MadAddress to;      ///< as the sender addressed it
        mad::Lid from_lid{};
        std::uint32_t from_qp = kGsiQp;  ///< of classes on QP1
        mad::PKey pkey{};                ///< of classes on QP1: the one in force at the sender's index
        PortRef source;
        PortRef at;                     ///< where it arrived
        std::optional<ClientId> asker;  ///< the client whose request this is, or is the answer to
        Verdict verdict;
        bool is_smp = true;
        bool overlaps = false;  ///< an optimised SL2VL Set met another one being executed

        [[nodiscard]] const mad::MadHeader& head() const { return is_smp ? smp.header : header; }
        [[nodiscard]] bool directed() const {
            return is_smp && smp.header.mgmt_class == mad::MgmtClass::subn_directed;
        }
    };
    /// A fault that goes on by itself: a flapping link, a babbling trap.
    struct Periodic {
        Fault fault;
        PortRef at;
        std::uint32_t left = 0;  ///< rounds left where fault.count > 0
        bool down = false;       ///< flap: the link is in its down half
    };

    // --- clients (engine.cpp) ---
    [[nodiscard]] mad::PortNum first_cabled(std::uint32_t node) const;
    [[nodiscard]] base::Result<std::uint32_t> first_adapter() const;

    // --- packets (engine.cpp) ---
    [[nodiscard]] std::uint32_t acquire();
    void release(std::uint32_t slot);
    void lose(std::uint32_t slot);
    void run(const Event& event);
    void depart(std::uint32_t slot);
    void arrive(std::uint32_t slot);
    void reach_client(std::uint32_t slot);
    void deliver_at(std::uint32_t slot, base::Instant when, bool twice);
    void queue_for_agent(std::uint32_t slot);
    void serve(std::uint32_t slot);
    void serve_smp(std::uint32_t slot);
    void answer(std::uint32_t slot, const std::optional<Arrival>& arrival);
    void deliver(std::uint32_t slot);
    [[nodiscard]] std::optional<Arrival> walk_answer(const Packet& packet);
    [[nodiscard]] bool goes_to_client(const Packet& packet) const;
    [[nodiscard]] static bool to_own_qp(const Packet& packet);
    [[nodiscard]] bool is_nobodys(const Packet& packet) const;
    /// The node whose counters are asked for there; a queue pair may speak for another device.
    [[nodiscard]] std::optional<std::uint32_t> perf_subject(const Packet& packet) const;
    [[nodiscard]] base::Result<PortRef> find_port(const std::string& where) const;
    [[nodiscard]] base::Result<void> check_second(const Fault& fault, std::size_t targets) const;
    void redirect_perf(const Fault& fault, PortRef at);
    [[nodiscard]] std::optional<ClientId> receiver(const Packet& packet) const;
    [[nodiscard]] std::optional<std::uint16_t> pkey_index_at(PortRef at, mad::PKey pkey) const;
    [[nodiscard]] std::optional<mad::WireMad> wire_form(const Packet& packet) const;
    void count(const mad::MadHeader& header);

    // --- traps ---
    void send_link_traps();
    void raise_trap(std::uint16_t number, PortRef subject, std::uint32_t sends);
    void trap_due(std::uint32_t slot);
    void stray_trap(std::uint16_t number, PortRef subject);

    // --- faults (script.cpp) ---
    [[nodiscard]] base::Result<std::vector<PortRef>> find_targets(const Fault& fault) const;
    void apply(const Fault& fault, PortRef at);
    void apply_to_device(const Fault& fault, PortRef at);
    void apply_to_cable(const Fault& fault, PortRef at);
    void reboot(std::uint32_t node, base::Duration silent);
    void agent_back(std::uint32_t node, std::uint32_t boots);
    void train_all(std::uint32_t node);
    void pull_cable(PortRef at);
    void plug_cable(PortRef at);
    void fault_repeat(std::uint32_t index);

    EventQueue agenda_;
    World world_;
    Agent agent_;
    TrapDesk traps_;
    FaultTable faults_;
    base::Prng prng_;
    base::Instant now_{};
    std::deque<Client> clients_;
    std::map<PortRef, std::vector<ClientId>> clients_at_;
    std::deque<Packet> packets_;  ///< a deque: slots stay put while a delivery sends anew
    std::vector<std::uint32_t> free_packets_;
    std::vector<Fault> scheduled_;
    std::vector<Periodic> periodic_;
    Simulator::Observer observer_;
    bool any_standing_fault_ = false;
    std::array<std::uint64_t, static_cast<std::size_t>(Rule::count_)> broken_{};
    std::map<std::uint32_t, std::uint64_t> kinds_;  ///< method << 16 | attribute
    mutable SimCounters counters_;
};

}  // namespace ibf::sim
