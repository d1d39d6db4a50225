// DOC: the fabric as the simulator knows it, for checkers outside.
//
// JSON: {"nodes": [{"guid", "system_guid", "type", "description", "present", "num_ports", "ports": [{"port",
// "guid", "lid", "lmc", "sm_lid", "state", "phys_state", "mtu", "mtu_cap", "width", "speed", "is_sm",
// "gid_prefix", "pkeys"}]}], "links": [{"a", "a_port", "b", "b_port"}]}. Nodes in the order of the topology,
// links that are up once each, by (node, port); guid and pkeys only of ports that have their own: adapters'
// and switch port 0. With tables, a switch has "linear_top", "lft" (two hex digits a LID from 0 on; ff: drop)
// and "mft" ({"0xc000": [port, ...]}). With lanes, a node has "sl2vl" ({"EXIT": [16 hex digits by input port,
// ...]}; of an adapter one for each port) and "vl_arbitration" ({"PORT": {"BLOCK": 128 hex digits}}, the
// blocks that the port can hold).
#pragma once

#include <string>

#include "sim/simulator.hpp"

namespace ibf::sim {

enum class TruthTables : std::uint8_t { left_out, included, lanes };

[[nodiscard]] std::string truth_json(const Simulator& simulator, TruthTables tables);

}  // namespace ibf::sim
