// DOC: forwarding tables read as trees, for the engines that put paths into layers.
//
// All paths to one LID form a tree that hangs from the switch where the LID is delivered. ColumnTree lists
// its switches, those nearer to the root first; Columns hands out the LIDs of a fabric and says how many
// sources each switch has toward them (as the verifier counts: end ports send to every LID, ports 0 of
// switches to end ports). Not the verifier's walker: the proof shares no code with what it proves.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "routing/graph.hpp"
#include "routing/links.hpp"
#include "routing/routes.hpp"

namespace ibf::routing {

using Rows = std::vector<std::shared_ptr<const LftRow>>;

class ColumnTree {
public:
    ColumnTree(const Links& links, const Rows& rows);

    /// Reads the tree of one LID. `nearest_first`: all switches, tried in this order; a good guess is fast.
    void read(std::uint32_t lid, std::uint32_t root, std::span<const std::uint32_t> nearest_first);

    /// Switches with a path, the root left out; each comes after the one that its link leads to.
    [[nodiscard]] const std::vector<std::uint32_t>& order() const { return order_; }
    /// The link that a switch of order() sends by.
    [[nodiscard]] std::uint32_t link(std::uint32_t at) const { return link_[at]; }

private:
    void follow(std::uint32_t from, std::uint32_t lid);

    const Links& links_;
    const Rows& rows_;
    std::vector<std::uint32_t> link_;
    std::vector<std::uint32_t> order_;
    std::vector<std::uint32_t> settled_;  ///< by switch: the reading in which it was found to arrive
    std::vector<std::uint32_t> tried_;    ///< by switch: the reading in which it was followed
    std::vector<std::uint32_t> trail_;
    std::uint32_t reading_ = 0;
};

/// A LID that is delivered at a switch: an end port's, or the switch's own.
struct ColumnLid {
    std::uint16_t lid = 0;
    bool end_port = false;
};

class Columns {
public:
    Columns(const Topology& topology, const Graph& graph);

    [[nodiscard]] std::uint32_t switch_count() const { return static_cast<std::uint32_t>(lids_.size()); }
    /// By switch: its end ports' LIDs, ascending, then its own.
    [[nodiscard]] const std::vector<ColumnLid>& at(std::uint32_t root) const { return lids_[root]; }
    /// Sources at a switch that send to the LID.
    [[nodiscard]] std::uint32_t sources(std::uint32_t at, const ColumnLid& to) const {
        return end_ports_[at] + (to.end_port ? addressable_[at] : 0U);
    }

private:
    std::vector<std::vector<ColumnLid>> lids_;
    std::vector<std::uint32_t> end_ports_;   ///< with a LID, by switch
    std::vector<std::uint8_t> addressable_;  ///< by switch: 1 if port 0 has a LID
};

/// All paths of one set of tables.
class Paths {
public:
    /// `rows`, one per switch of the topology, must outlive this.
    [[nodiscard]] static base::Result<Paths> of(const Topology& topology, const Rows& rows, unsigned threads);

    [[nodiscard]] const Links& links() const { return links_; }
    [[nodiscard]] const Columns& columns() const { return columns_; }
    [[nodiscard]] const Rows& rows() const { return *rows_; }
    [[nodiscard]] std::uint32_t switch_count() const { return columns_.switch_count(); }
    [[nodiscard]] unsigned threads() const { return threads_; }
    /// For for_each_tree: one by LID.
    [[nodiscard]] std::vector<char> all_lids() const { return std::vector<char>(lid_end_, 1); }

    /// Called with a tree, the switch that it hangs from and its LID; `slot` as in parallel_ranges.
    using Visit = std::function<void(unsigned slot, const ColumnTree&, std::uint32_t root, const ColumnLid&)>;
    /// Reads every LID's tree for which wanted[LID] != 0; on several threads unless `threads` is 1.
    void for_each_tree(const std::vector<char>& wanted, unsigned threads, const Visit& visit) const;

private:
    Paths(const Topology& topology, const Rows& rows, const Graph& graph, ByteMatrix distances,
          unsigned threads);

    Links links_;
    Columns columns_;
    ByteMatrix distances_;
    const Rows* rows_;
    std::size_t lid_end_;
    unsigned threads_;
};

/// Switches by hops (`hops[s]`, kUnreached: left out), ties by index.
void sort_by_distance(std::span<const std::uint8_t> hops, std::vector<std::uint32_t>& out);

}  // namespace ibf::routing
