// DOC: the lanes of one table column.
//
// All paths to a LID form an in-tree. Which lanes of its links they use depends on the SL that each source
// gives its packets and on what the switches make of it on the way; this file follows every SL from its
// sources to the root. From Topology and Routes alone, as the rest of the verifier.
#pragma once

#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "routing/verify_cycle.hpp"
#include "routing/verify_tables.hpp"

namespace ibf::routing {

/// True if all traffic shares lane 0: neither SLs nor maps are said.
[[nodiscard]] bool single_lane(const Routes& routes);

/// One above the highest lane that SLs and maps lead to, 1..16.
[[nodiscard]] std::uint32_t lanes_told_apart(const Routes& routes);

/// Which switches send to a LID.
enum class Senders : std::uint8_t {
    end_ports,               ///< only those with end ports
    end_ports_and_switches,  ///< and the ports 0 that have a LID
};

/// Follows lanes down columns; one per thread.
class LaneWalker {
public:
    LaneWalker(const Topology& topology, const Routes& routes, const TableView& view);

    /// Adds the dependencies of all paths to the LID that `walker` walked last.
    void walk(const ColumnWalker& walker, std::uint32_t lid, Senders senders, Dependencies& out);

    /// (channel, lane) that paths use and the link does not have, or that is VL 15.
    [[nodiscard]] const std::set<std::pair<std::uint32_t, std::uint8_t>>& faults() const { return faults_; }

private:
    using LaneSet = std::uint16_t;  ///< bit v: lane v

    [[nodiscard]] std::uint8_t lane(std::uint32_t at, std::uint8_t input, std::uint8_t exit,
                                    unsigned sl) const;
    void start(std::uint32_t at, std::uint32_t lid, Senders senders);
    void advance(const ColumnWalker& walker, std::uint32_t at, Dependencies& out);
    void note(std::uint32_t at, std::uint8_t slot, LaneSet lanes);

    const Topology& topology_;
    const Routes& routes_;
    const TableView& view_;
    /// Per switch: input ports that end-port traffic may come in by, one of each class.
    std::vector<std::vector<std::uint8_t>> inputs_;
    std::vector<std::uint8_t> exit_;      ///< by switch: exit port toward the LID being walked
    std::vector<LaneSet> lanes_;          ///< by switch * 16 + SL: lanes it leaves on toward that LID
    std::vector<std::uint16_t> service_;  ///< by switch: bit s: packets of SL s leave it
    std::set<std::pair<std::uint32_t, std::uint8_t>> faults_;
};

}  // namespace ibf::routing
