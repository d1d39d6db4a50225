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
//
// Entries of previous tables that are still candidates stay. One that is not goes to the candidate that
// carries the fewest LIDs of the same destination switch, ties in the order of the dealing out: so what
// becomes of an entry depends on its destination switch alone, and evaluating a part gives what evaluating
// all would. A row of which every entry stays is the previous row itself, shared.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "routing/engine_chooser.hpp"
#include "routing/graph.hpp"
#include "routing/routes.hpp"

namespace ibf::routing {

/// A group is a candidate toward switch d wherever nearer[d] + 1 == goal[d]. Both are rows of ByteMatrix.
struct HopRows {
    const std::uint8_t* nearer = nullptr;
    const std::uint8_t* goal = nullptr;
};
/// For one of the groups of switch `at`; called from several threads at once.
using CandidateRule = std::function<HopRows(std::uint32_t at, const PortGroup& group)>;

/// The candidate sets of one switch toward every destination switch, as bytes that vectorise: in each line of
/// 64 destinations, plane b holds groups 8b .. 8b+7.
class CandidatePlanes {
public:
    explicit CandidatePlanes(std::uint32_t columns) : lines_((columns + 63) / 64) {}

    void load(const Graph& graph, const CandidateRule& rule, std::uint32_t at);
    /// Empty, for a switch of so many groups.
    void reset(std::size_t groups);
    void add(std::size_t group, std::uint32_t destination);
    [[nodiscard]] GroupSet at(std::uint32_t destination) const;

private:
    void add(std::size_t group, const HopRows& rows);

    std::size_t lines_;
    std::size_t planes_ = 0;
    std::vector<std::uint8_t> bytes_;
};

/// What becomes of uneven loads.
enum class Evening : std::uint8_t {
    by_flows,  ///< irregular fabrics are evened out for all-to-all (engine_balance.hpp)
    none,      ///< the closed form stands
};

/// Adds the candidates of one switch to empty planes; called from several threads at once.
using SetRule = std::function<void(std::uint32_t at, CandidatePlanes& out)>;

/// What an engine makes of one graph: its rule, how long its paths are, and the shape to spread by.
struct EnginePlan {
    CandidateRule rule;
    SetRule sets;  ///< in place of `rule` where candidates do not follow from distances
    /// [s][d]: hops of every candidate path, kUnreached: none. May be null where nothing is evened out.
    std::shared_ptr<const ByteMatrix> lengths;
    Shape shape;
    Evening evening = Evening::by_flows;
};
using Planner = std::function<base::Result<EnginePlan>(const Graph&)>;

/// `scarce[s]` != 0: the LinearFDBCap of switch s lies below the top LID in use.
[[nodiscard]] std::vector<char> scarce_switches(const Topology& topology);

/// SwitchIndex values of RouteOptions::root_guids, those that are there. Errors: unsupported if none is.
[[nodiscard]] base::Result<std::vector<std::uint32_t>> configured_roots(const Topology& topology,
                                                                        const RouteOptions& options);

/// Runs the planner once per class of LIDs (one class, unless some switch's LinearFDBCap is below the top
/// LID: LIDs that it cannot hold are routed around it) and fills the rows.
[[nodiscard]] base::Result<Routes> build_tables(const Topology& topology, const Routes* previous,
                                                unsigned threads, const Planner& planner);

}  // namespace ibf::routing
