// DOC: one simulated device and its ports: what an agent remembers.
//
// A Device is plain state: node data, per-port PortInfo, the tables. It is built from a netlist node and put
// back to power-up state by power_up(). It knows no links (world.hpp) and answers nothing (agent.hpp). Tables
// that few devices use (P_Keys beyond the power-up one, SL2VL, VL arbitration, MFT) are empty until written,
// so that a fabric of 48,896 LIDs fits in well under 2 GB.
// Invariant: Port::info.wire is the encoding of Port::info; change it through Port::store().
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/time.hpp"
#include "mad/attributes.hpp"
#include "mad/codec.hpp"
#include "routing/netlist.hpp"

namespace ibf::sim {

struct SimOptions;

inline constexpr std::uint32_t kNoNode = 0xFFFFFFFFU;
inline constexpr unsigned kPKeysPerBlock = 32;
inline constexpr std::uint16_t kMlidBase = 0xC000;

/// CapabilityMask and CapabilityMask2 bits (IBA 14.2.5.6) that the simulated agents look at or set.
inline constexpr std::uint32_t kCapIsSm = 0x00000002;
inline constexpr std::uint32_t kCapTrap = 0x00000008;
inline constexpr std::uint32_t kCapSlMap = 0x00000040;
inline constexpr std::uint32_t kCapSystemGuid = 0x00000800;
inline constexpr std::uint32_t kCapExtendedSpeeds = 0x00004000;
inline constexpr std::uint32_t kCapMask2 = 0x00008000;
inline constexpr std::uint32_t kCapCapabilityNotice = 0x00400000;
inline constexpr std::uint32_t kCapReregister = 0x02000000;
inline constexpr std::uint32_t kCapMulticastTop = 0x40000000;
inline constexpr std::uint16_t kCap2Width2x = 0x0010;
inline constexpr std::uint16_t kCap2Hdr = 0x0020;
inline constexpr std::uint16_t kCap2Ndr = 0x0400;
inline constexpr std::uint16_t kCap2Xdr = 0x1000;

/// What a port counted of the packets that crossed it.
struct Traffic {
    std::uint64_t transmit_packets = 0;
    std::uint64_t receive_packets = 0;
    std::uint64_t transmit_words = 0;
    std::uint64_t receive_words = 0;
    std::uint64_t transmit_wait = 0;  ///< ticks of a word's time with something to send and no credit
};

/// The rarely touched part of a port.
struct PortTables {
    std::array<mad::VlArbBlock, 4> vl_arb{};  ///< blocks 1..4: low 0-31, low 32-63, high 0-31, high 32-63
    mad::GuidInfo guids;
    mad::PortCounters errors;        ///< the error counters; the traffic ones are Traffic's
    Traffic traffic_base;            ///< subtracted from Traffic in PortCounters answers
    base::Instant mkey_lease_end{};  ///< zero: the lease does not run
};

/// What an adapter's driver told its host of the port, how often each: Linux's IB_EVENT_*. Whether a driver
/// speaks of a new SM's LID differs: mlx4 and mlx5 do not.
struct PortEvents {
    std::uint32_t active = 0;
    std::uint32_t error = 0;
    std::uint32_t lid_change = 0;
    std::uint32_t sm_change = 0;
    std::uint32_t client_reregister = 0;
    std::uint32_t pkey_change = 0;
};

struct Port {
    mad::PortInfo info;
    Traffic traffic;
    PortEvents events;
    std::unique_ptr<PortTables> extra;  ///< see tables()
    std::vector<mad::PKey> pkeys;       ///< empty: the power-up table, 0xFFFF at index 0
    std::uint32_t peer_node = kNoNode;  ///< as cabled, whether the cable works or not
    std::uint32_t training = 0;         ///< generation; a trained event of an older one is stale
    mad::Guid guid{};
    mad::PortNum peer_port{};
    mad::LinkWidth cable_width = mad::LinkWidth::none;
    mad::LinkSpeed cable_speed = mad::LinkSpeed::none;
    bool cable_out = false;      ///< pulled by a fault
    bool transmit_dead = false;  ///< one-way fault: what leaves here is lost
    double loss = 0;             ///< share of the data packets that come in damaged
    double share = 1;            ///< of the link's rate that its peer gives credits for

    void store(const mad::PortInfo& value);
    [[nodiscard]] PortTables& tables();
    /// Block 1..4 of VLArbitrationTable: as written, else as after power-on (each lane its turn, low
    /// priority).
    [[nodiscard]] mad::VlArbBlock vl_arb_block(std::size_t block) const;
    [[nodiscard]] mad::PKey pkey(std::size_t index) const;
};

struct Device {
    mad::NodeInfo info;  ///< port_guid and local_port are filled in per answer
    std::string description;
    std::vector<Port> ports;  ///< [0..num_ports]; [0] unused in CAs and routers
    mad::SwitchInfo switch_info;
    std::vector<std::uint8_t> lft;                ///< grows with what is written; beyond: mad::kLftDrop
    std::vector<std::vector<std::uint16_t>> mft;  ///< [position][MLID - 0xC000]
    std::vector<mad::Sl2VlTable> sl2vl;  ///< [in * ports + out]; CAs: [port]; empty: power-up mapping
    base::Instant busy_until{};          ///< the agent serves one MAD at a time
    base::Instant sl2vl_busy_until{};    ///< an optimised SL2VL Set is being executed until then
    std::uint32_t boots = 0;             ///< generation; an agent_back event of an older one is stale
    bool present = true;
    bool agent_dead = false;
    bool mute = false;  ///< sends no traps
    bool bad_node_info = false;
    bool adaptive_routing = false;  ///< its tables are one way of several
    bool extended_counters = true;  ///< its performance agent has 64-bit ones
    /// Its performance agent says to ask there instead.
    struct PerfElsewhere {
        mad::Lid lid{};
        std::uint32_t qp = 0;
    };
    std::optional<PerfElsewhere> perf_elsewhere;
    std::map<std::uint32_t, std::uint32_t> perf_for;  ///< by queue pair: for which node it answers there

    [[nodiscard]] bool is_switch() const { return info.type == mad::NodeType::switch_; }
    [[nodiscard]] bool has_port(std::size_t port) const { return port < ports.size(); }
    /// The port that carries the addresses of `port`: port 0 of a switch, else the port itself.
    [[nodiscard]] Port& address_port(mad::PortNum port) { return ports[is_switch() ? 0 : port.value()]; }
    [[nodiscard]] const Port& address_port(mad::PortNum port) const {
        return ports[is_switch() ? 0 : port.value()];
    }
    [[nodiscard]] std::uint8_t lft_entry(mad::Lid lid) const {
        return lid.value() < lft.size() ? lft[lid.value()] : mad::kLftDrop;
    }
    void set_lft_entry(mad::Lid lid, std::uint8_t port);
    [[nodiscard]] mad::Sl2VlTable sl2vl_table(mad::PortNum in, mad::PortNum out) const;
    /// The power-up mappings become entries that can be written.
    void write_out_sl2vl();
    [[nodiscard]] mad::Sl2VlTable& sl2vl_entry(mad::PortNum in, mad::PortNum out);
    /// P_Keys that the port can hold.
    [[nodiscard]] std::size_t pkey_capacity(mad::PortNum port) const;
};

[[nodiscard]] Device make_device(const routing::NetlistNode& node, const SimOptions& options);

/// Tables, LIDs and states as after power-on. Links are down; port 0 of a switch is Active at once.
void power_up(Device& device, const routing::NetlistNode& node, const SimOptions& options);

}  // namespace ibf::sim
