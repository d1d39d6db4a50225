// DOC: the subnet management agent of every device.
//
// One Agent serves all devices of a World: a Get or Set in, an answer out, the tables and links changed where
// the wire rules (rules.hpp) allow it. What it is not: it neither walks packets nor keeps time nor sends
// traps, and SMInfo, traps and TrapRepress are the simulator's. IBA 14.2.4 (M_Key), 14.2.5 (attributes). Any
// bytes may come: a wrong modifier, method or attribute is answered with a status.
#pragma once

#include <optional>

#include "mad/smp.hpp"
#include "sim/rules.hpp"
#include "sim/world.hpp"

namespace ibf::sim {

inline constexpr mad::MadStatus kStatusBadVersion = 0x0004;
inline constexpr mad::MadStatus kStatusBadMethod = 0x0008;
inline constexpr mad::MadStatus kStatusBadAttribute = 0x000C;
inline constexpr mad::MadStatus kStatusBadValue = 0x001C;

struct Answer {
    mad::MadStatus status = 0;
    bool silent = false;           ///< the agent says nothing: M_Key mismatch
    std::optional<Rule> broken{};  ///< the wire rule that refused the Set
    mad::AttributeData data{};     ///< refused Sets echo what was asked for, as real agents do

    static Answer with(const mad::AttributeData& data) { return Answer{.data = data}; }
    static Answer failed(mad::MadStatus status, const mad::AttributeData& echo) {
        return Answer{.status = status, .data = echo};
    }
    static Answer refused(Rule rule, const mad::AttributeData& echo) {
        return Answer{.status = kStatusBadValue, .broken = rule, .data = echo};
    }
};

class Agent {
public:
    explicit Agent(World& world) : world_(world) {}

    /// `at`: the device, and the port by which the request came in (0: from the device itself, at a switch).
    [[nodiscard]] Answer serve(PortRef at, const mad::Smp& request, base::Instant now);

private:
    enum class KeyCheck : std::uint8_t { open, hide_key, reject };
    [[nodiscard]] KeyCheck check_mkey(PortRef at, const mad::Smp& request, base::Instant now);
    [[nodiscard]] Answer get(PortRef at, const mad::Smp& request, KeyCheck key);
    [[nodiscard]] Answer set(PortRef at, const mad::Smp& request, base::Instant now);

    [[nodiscard]] Answer get_node_info(PortRef at) const;
    [[nodiscard]] Answer get_port_info(PortRef at, const mad::Smp& request, KeyCheck key);
    [[nodiscard]] Answer get_adaptive_routing(PortRef at, const mad::Smp& request) const;
    [[nodiscard]] Answer get_extended_port_info(PortRef at, const mad::Smp& request) const;
    [[nodiscard]] Answer get_pkeys(PortRef at, const mad::Smp& request) const;
    [[nodiscard]] Answer get_guids(PortRef at, const mad::Smp& request);
    [[nodiscard]] Answer get_sl2vl(PortRef at, const mad::Smp& request) const;
    [[nodiscard]] Answer get_vl_arb(PortRef at, const mad::Smp& request) const;
    [[nodiscard]] Answer get_lft(PortRef at, const mad::Smp& request) const;
    [[nodiscard]] Answer get_mft(PortRef at, const mad::Smp& request) const;

    [[nodiscard]] Answer set_switch_info(PortRef at, const mad::Smp& request);
    [[nodiscard]] Answer set_port_info(PortRef at, const mad::Smp& request, base::Instant now);
    [[nodiscard]] Answer set_pkeys(PortRef at, const mad::Smp& request);
    [[nodiscard]] Answer set_guids(PortRef at, const mad::Smp& request);
    [[nodiscard]] Answer set_sl2vl(PortRef at, const mad::Smp& request);
    [[nodiscard]] Answer set_vl_arb(PortRef at, const mad::Smp& request);
    [[nodiscard]] Answer set_lft(PortRef at, const mad::Smp& request);
    [[nodiscard]] Answer set_mft(PortRef at, const mad::Smp& request);
    void move_link(PortRef port, const mad::PortInfo& request, base::Instant now);

    World& world_;
};

/// A Set of SLtoVLMappingTable for all input or all output ports at once (modifier bits 16, 17;
/// IBA 14.2.5.8).
[[nodiscard]] bool is_optimised_sl2vl(const mad::MadHeader& header);

}  // namespace ibf::sim
