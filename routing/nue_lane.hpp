// DOC: one lane of the nue engine.
//
// A NueLane lays in-trees, destination after destination, whose dependencies on its lane stay acyclic. A tree
// grows from the destination, hop by hop: a switch is settled when its exit is fixed. Of the exits that lead
// to a switch settled one hop before, that is the lightest whose dependency on the next exit may be used.
//
// Nobody is left over, by this invariant: when a switch is settled with an exit, the dependencies on that
// exit are taken too for its neighbours in the escape tree that are not settled yet. An exit for which that
// fails is not used. The lane's escape tree is a spanning tree whose dependencies are kept from the start. So
// as soon as the escape-tree neighbour of a switch (the one toward the destination) is settled, the link to
// it is an exit that cannot fail: the dependency on what lies ahead was taken, and those on the link itself,
// from further switches of the escape tree, belong to the escape tree. Hence every switch is settled, at the
// latest one hop after that neighbour; the escape serves a switch, never a whole destination. What was taken
// for a neighbour that went another way is dropped when the tree is finished.
//
// A switch whose LinearFDBCap lies below the LID is left out of its trees. The escape tree is a maximum
// spanning tree by that capacity, so what is left of it still spans whatever can be reached without such
// switches.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "routing/channel_order.hpp"
#include "routing/graph.hpp"
#include "routing/routes.hpp"

namespace ibf::routing {

/// A LID and the port of its switch that delivers it (0: the switch itself).
struct NueLid {
    std::uint16_t lid = 0;
    std::uint8_t local_port = 0;
};

/// LIDs of one switch that share one in-tree.
struct NueTree {
    std::vector<NueLid> lids;     ///< the first one's old entries count for all
    std::uint32_t end_ports = 0;  ///< how many of them are LIDs of end ports
};

struct NueDestination {
    std::uint32_t at = 0;
    std::vector<NueTree> trees;
};

/// What all lanes read.
struct NueFabric {
    const Topology& topology;
    const Graph& graph;
    const Channels& channels;
    const ByteMatrix& hops;                                    ///< shortest, between any two switches
    const std::vector<std::shared_ptr<const LftRow>>& old;     ///< by switch; null where there are none
    const std::vector<std::shared_ptr<const LftRow>>& minhop;  ///< by switch: what min-hop would choose
};

/// Which dependencies a lane takes that are not in use yet.
enum class NueAppetite : std::uint8_t {
    /// All that close no cycle, for the sake of the shortest path: the first destinations get theirs, the
    /// last
    /// pay for it. Of exits that lead equally far the lightest.
    any,
    /// Those of up/down paths (and what neighbours in the escape tree need): detours for all destinations
    /// alike. Of exits that lead equally far min-hop's, else the lightest.
    ordered,
};

using LftRows = std::vector<std::shared_ptr<LftRow>>;

class NueLane {
public:
    /// `position`: an up/down order of the switches (updn.hpp); the escape tree hangs each under its first
    /// neighbour.
    NueLane(const NueFabric& fabric, const std::vector<std::uint32_t>& position, NueAppetite appetite);

    /// Lays all trees of the destination, with `load` on the channels and its own flows added as it goes.
    void route(const NueDestination& destination, const std::vector<std::uint64_t>& load, LftRows& rows);

    /// `load` as route() left it.
    [[nodiscard]] const std::vector<std::uint64_t>& load() const { return load_; }
    /// Hops of all flows beyond the shortest, so far.
    [[nodiscard]] std::uint64_t detours() const { return detours_; }

private:
    void grow_escape_tree(const std::vector<std::uint32_t>& position);
    void keep_escape_tree();
    void point_escape_tree(std::uint32_t to);
    void lay(std::uint32_t to, const NueTree& tree, LftRows& rows);
    void begin(std::uint32_t to, std::uint16_t lid);
    void offer(std::uint32_t at);
    [[nodiscard]] bool choose(std::uint32_t at, std::uint32_t hops, std::uint16_t lid);
    [[nodiscard]] bool choose_by_price(std::uint32_t at, std::uint32_t hops);
    [[nodiscard]] bool settle(std::uint32_t at, std::uint32_t exit);
    [[nodiscard]] std::uint64_t price(std::uint32_t exit) const;
    [[nodiscard]] bool usable(std::uint32_t exit) const;
    [[nodiscard]] std::uint32_t exit_in(const LftRow* row, std::uint32_t at, std::uint32_t hops,
                                        std::uint16_t lid) const;
    void count_flows(std::uint32_t to, std::uint32_t end_ports);
    void write(std::uint32_t to, const NueTree& tree, LftRows& rows) const;

    const NueFabric& fabric_;
    const Channels& channels_;
    NueAppetite appetite_;
    ChannelOrder order_;
    std::vector<std::vector<std::uint32_t>> escape_;  ///< by switch: its exits in the escape tree
    std::vector<std::uint32_t> escape_exit_;          ///< by switch: the one toward the destination
    std::vector<std::uint64_t> load_;                 ///< flows by channel
    std::uint64_t detours_ = 0;

    // One in-tree.
    std::vector<std::uint32_t> hops_;  ///< by switch: kUnsettled, kLeftOut or links to the destination
    std::vector<std::uint32_t> exit_;  ///< by switch: kNoIndex at the destination
    std::vector<std::uint64_t> path_load_;
    std::vector<std::uint32_t> settled_;                           ///< in this order
    std::vector<std::uint32_t> offered_;                           ///< switches beside those settled last
    std::vector<std::pair<std::uint64_t, std::uint32_t>> priced_;  ///< exits of one switch
    std::vector<std::uint64_t> flows_;
};

}  // namespace ibf::routing
