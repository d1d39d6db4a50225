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
#include <optional>
#include <vector>

#include "routing/engine_chooser.hpp"
#include "routing/graph.hpp"
#include "routing/line_bits.hpp"
#include "routing/routes.hpp"
#include "routing/updown.hpp"

namespace ibf::routing {

/// What becomes of uneven loads.
enum class Evening : std::uint8_t {
    by_flows,  ///< irregular fabrics are evened out for all-to-all (engine_balance.hpp)
    none,      ///< the closed form stands
};

class CandidatePlanes;
/// Adds the candidates of one switch to empty planes; called from several threads at once.
using SetRule = std::function<void(std::uint32_t at, CandidatePlanes& out)>;

/// A LID and the switch that it is delivered at.
struct FlowTarget {
    std::uint16_t lid = 0;
    bool end_port = false;  ///< false: the switch's own LID, which no flows go to
    std::uint32_t at = 0;
};
/// Entries of all switches; null: a switch without entries.
using DraftRows = std::vector<LftRow*>;
struct EnginePlan;
/// Moves entries of fresh tables within the candidates. Targets come switch by switch, in the shape's order.
using FlowPlacer =
    std::function<void(const Graph&, const EnginePlan&, const std::vector<FlowTarget>&, const DraftRows&)>;

/// What an engine makes of one graph: its candidates, how long its paths are, and the shape to spread by.
/// A group of switch s that leads to p is a candidate toward d if it comes one hop closer. A group that goes
/// down: if down[p][d] + 1 == down[s][d]. One that goes up: if s has no way down to d and lengths[p][d] + 1
/// == lengths[s][d]. A spare one: as one that goes down, or if s has no way down to d and down[p][d] + 1 ==
/// lengths[s][d].
struct EnginePlan {
    SetRule sets;  ///< in place of the distances below, where candidates do not follow from them
    /// [s][d]: hops of every candidate path, kUnreached: none. May be null where `sets` serve and nothing is
    /// evened out.
    std::shared_ptr<const ByteMatrix> lengths;
    std::shared_ptr<const ByteMatrix> down;  ///< null: no group goes down
    std::vector<UpDownLink> links;           ///< by graph group; empty: all go up
    Shape shape;
    Evening evening = Evening::by_flows;
    FlowPlacer placer;  ///< lays the flows of fresh tables in place of the evening out; may be null
    std::shared_ptr<const UpDown> basis;   ///< what the next evaluation can build on; may be null
    std::optional<UpDownChanges> changes;  ///< from the evaluation before, if this one was built on it
};
/// `before`: the basis of the previous evaluation, if it was of the same switches; may be null.
using Planner =
    std::function<base::Result<EnginePlan>(const std::shared_ptr<const Graph>& graph, const UpDown* before)>;

/// The candidate sets of one switch toward every destination switch, as bytes that vectorise: in each line of
/// 64 destinations, plane b holds groups 8b .. 8b+7.
class CandidatePlanes {
public:
    explicit CandidatePlanes(std::uint32_t columns) : lines_((columns + 63) / 64) {}

    [[nodiscard]] std::uint32_t lines() const { return lines_; }
    /// at() is good for destinations in these lines.
    void load(const Graph& graph, const EnginePlan& plan, std::uint32_t at, const LineSet& lines);
    [[nodiscard]] GroupSet at(std::uint32_t destination) const;

    void add(std::size_t group, std::uint32_t destination);

private:
    void clear(std::size_t groups, const LineSet& lines);
    void find_goals(const EnginePlan& plan, std::uint32_t at);
    void add_closer(std::size_t group, const std::uint8_t* nearer, const std::uint8_t* goal);

    std::uint32_t lines_;
    std::size_t planes_ = 0;
    std::vector<std::uint32_t> loaded_;  ///< lines
    std::vector<std::uint8_t> goals_;  ///< of going up: where the switch can go down, one that nothing meets
    std::vector<std::uint8_t> bytes_;
};

/// Who has a LID: a switch, and the port that it is delivered by.
struct LidHome {
    std::uint32_t at = kNoIndex;
    std::uint8_t port = 0;
    friend bool operator==(const LidHome&, const LidHome&) = default;
};

/// Rows that are still those of the evaluation are known to hold candidates of its basis only.
struct EngineMemo {
    std::shared_ptr<const UpDown> basis;
    std::vector<LidHome> homes;  ///< by LID
    std::vector<std::shared_ptr<const LftRow>> rows;
};

/// `scarce[s]` != 0: the LinearFDBCap of switch s lies below the top LID in use.
[[nodiscard]] std::vector<char> scarce_switches(const Topology& topology);
/// Entries of a row for all LIDs up to max_lid, in whole blocks.
[[nodiscard]] std::size_t lft_row_size(std::uint32_t max_lid);
/// The row of each switch in earlier tables, matched by GUID; null where there is none.
[[nodiscard]] std::vector<std::shared_ptr<const LftRow>> old_rows(const Topology& topology,
                                                                  const Routes* previous);

/// Switches with neighbours of which none is above; what an engine reports as its roots.
[[nodiscard]] std::vector<mad::Guid> switches_with_none_above(
    const Topology& topology, const Graph& graph,
    const std::function<bool(std::uint32_t peer, std::uint32_t at)>& is_above);

/// SwitchIndex values of RouteOptions::root_guids, those that are there. Errors: unsupported if none is.
[[nodiscard]] base::Result<std::vector<std::uint32_t>> configured_roots(const Topology& topology,
                                                                        const RouteOptions& options);

/// Runs the planner once per class of LIDs (one class, unless some switch's LinearFDBCap is below the top
/// LID: LIDs that it cannot hold are routed around it) and fills the rows. Where the previous tables carry a
/// memo only destinations are looked at whose candidates changed; the rows are the same bytes without it.
[[nodiscard]] base::Result<Routes> build_tables(const Topology& topology, const Routes* previous,
                                                unsigned threads, const Planner& planner);

/// What an up/down engine makes of a fabric. Made once, on the whole graph, and shared by all classes of
/// LIDs: their dependencies share the lane.
struct Orientation {
    UpDownOrder order;
    Heights heights;               ///< to spread by
    std::vector<mad::Guid> roots;  ///< Routes::roots
};
using Orienter = std::function<base::Result<Orientation>(const Graph& graph)>;

/// build_tables() for engines that are up/down on an order of their own.
[[nodiscard]] base::Result<Routes> build_up_down_tables(const Topology& topology, const Routes* previous,
                                                        unsigned threads, const Orienter& orient);

}  // namespace ibf::routing
