// DOC: from candidates to forwarding tables.
//
// An engine says which port groups may carry a packet at one switch toward another (its candidates);
// everything else is common: which LIDs there are, which of them lie above a switch's LinearFDBCap, how
// destinations are spread over candidates, and how entries of the previous tables stay.
//
// Spreading follows D-Mod-K (Zahavi 2012) and Dmodc (Gliksberg et al. 2019): destination number t goes to
// slot (t / divider) mod slots of a switch's up-going ports, so all switches of a level agree on the way down
// and no two of them crowd one spine. Where the slot's port is no candidate, the destinations of that slot
// are dealt out over the candidates in turn. docs/routing/minhop.md tells more.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "routing/graph.hpp"
#include "routing/routes.hpp"

namespace ibf::routing {

/// A set of port groups of one switch: bit i is its i-th group. 254 ports make at most 254 groups.
inline constexpr unsigned kGroupWords = 4;
using GroupSet = std::array<std::uint64_t, kGroupWords>;

/// The candidate sets of one switch toward every destination switch, as bytes that vectorise: plane b holds
/// groups 8b .. 8b+7 of every destination.
class CandidatePlanes {
public:
    explicit CandidatePlanes(std::uint32_t columns) : stride_((columns + 63) / 64 * 64) {}

    void reset(std::size_t groups);
    /// Group `group` is a candidate toward d wherever nearer[d] + 1 == goal[d]. Rows are padded to 64.
    void add_where_closer(std::size_t group, const std::uint8_t* nearer, const std::uint8_t* goal);
    [[nodiscard]] GroupSet at(std::uint32_t destination) const;

private:
    std::uint32_t stride_;
    std::size_t planes_ = 0;
    std::vector<std::uint8_t> bytes_;
};

/// Fills the planes for one switch; called from several threads at once.
using CandidateRule = std::function<void(std::uint32_t at, CandidatePlanes& out)>;

/// What an engine makes of one graph: its rule, how long its paths are, and the shape to spread by.
struct EnginePlan {
    CandidateRule rule;
    std::shared_ptr<const ByteMatrix> lengths;  ///< [s][d]: hops of every candidate path, kUnreached: none
    Shape shape;
};
using Planner = std::function<base::Result<EnginePlan>(const Graph&)>;

/// `scarce[s]` != 0: the LinearFDBCap of switch s lies below the top LID in use.
[[nodiscard]] std::vector<char> scarce_switches(const Topology& topology);

/// Entries of a row: all LIDs in use, in whole blocks.
[[nodiscard]] std::size_t row_size(const Topology& topology);

/// The old row of each switch, matched by GUID; nullptr where there is none.
[[nodiscard]] std::vector<const LftRow*> old_rows(const Topology& topology, const Routes* previous);

/// Runs the planner once per class of LIDs (one class, unless some switch's LinearFDBCap is below the top
/// LID: LIDs that it cannot hold are routed around it) and fills the rows.
[[nodiscard]] base::Result<Routes> build_tables(const Topology& topology, const Routes* previous,
                                                unsigned threads, const Planner& planner);

}  // namespace ibf::routing
