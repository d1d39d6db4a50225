// DOC: what a port shall be. Pure.
//
// One function composes every PortInfo Set: the last Get, changed (IBA 14.2.5.6; design, wire rules). State
// fields are 0 (no change); who moves the state sets it on the result. Fields that a port kind does not own
// stay as read.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "daemon/fabric/fabric.hpp"
#include "daemon/sm/config.hpp"

namespace ibf::sm {

struct PortTarget {
    mad::PortInfo set;          ///< to be encoded; state and phys_state no_change
    bool differs = false;       ///< something that we own is not as it shall be
    bool needs_bounce = false;  ///< NeighborMTU or OperationalVLs differ, which an Active link cannot change
    std::string_view
        refused;  ///< why the width that policy names is not asked for; empty: it is, or none is named
    std::uint64_t fingerprint = 0;  ///< of the owned fields; equal fingerprints ask for the same thing
};

struct PortPlanInput {
    const fabric::Fabric& fabric;
    const fabric::LidMap& lids;
    mad::Lid sm_lid;
    const SmConfig& config;
};

/// `ref`: a linked port, or switch port 0.
[[nodiscard]] PortTarget plan_port(const PortPlanInput& input, fabric::PortRef ref);

/// OperationalVLs code (1..5) of a link: what both ends have, within policy.
[[nodiscard]] std::uint8_t link_vls(const fabric::Port& a, const fabric::Port& b, const SmConfig& config);

/// The P_Key table a port shall have: what it has, plus full membership of the default partition, in place of
/// a limited one or in the first free entry; no other index moves. Empty vector: nothing to write.
struct PKeyChange {
    std::uint16_t block = 0;
    mad::PKeyBlock keys;
};
[[nodiscard]] std::vector<PKeyChange> plan_pkeys(const fabric::Node& node, const fabric::Port& port);

/// True if plan_pkeys has no place for the key: the table is full of others.
[[nodiscard]] bool pkey_table_full(const fabric::Port& port);

}  // namespace ibf::sm
