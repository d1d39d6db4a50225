// DOC: the switch graph as the engines see it.
//
// Dense arrays over a Topology: links between two switches are gathered into one port group, self-cables are
// left out. DistanceMatrix holds one byte per (switch, destination switch); Shape says what the fabric looks
// like (which switch lies above which, in what order destinations are numbered). The engines build on these;
// the verifier does not use this file at all.
//
// "Above" comes from the hosts: the height of a switch is its host-weighted mean distance, the smaller the
// higher. In a tree that separates the levels whatever hangs off them: SHARP aggregation nodes sit on every
// switch of a real fabric, so "has an adapter" does not make a leaf, but a leaf's hosts are far from all
// others.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/result.hpp"
#include "routing/preferences.hpp"
#include "routing/topology.hpp"

namespace ibf::routing {

inline constexpr std::uint8_t kUnreached = 255;
inline constexpr unsigned kDistanceMax = 250;  ///< longest path in switch hops that the byte matrices carry

/// All links from one switch to one neighbour.
struct PortGroup {
    std::uint32_t peer = 0;
    std::uint32_t first_port = 0;  ///< into Graph::ports
    std::uint32_t port_count = 0;
};

struct Graph {
    std::vector<std::uint32_t> first_group;  ///< switch_count() + 1 offsets into groups
    std::vector<PortGroup> groups;           ///< by switch, then by peer index
    std::vector<std::uint8_t> ports;         ///< ascending within a group
    std::vector<std::uint32_t> hosts;        ///< end ports with a LID, per switch
    std::vector<std::uint32_t> rates;        ///< by index into ports: what flows are shared by; empty: alike
    std::vector<std::uint8_t> weights;       ///< by group: hops that it counts as; empty: one each

    [[nodiscard]] std::uint32_t switch_count() const { return static_cast<std::uint32_t>(hosts.size()); }
    [[nodiscard]] std::span<const PortGroup> groups_of(std::uint32_t at) const;
    [[nodiscard]] std::span<const std::uint8_t> ports_of(const PortGroup& group) const;
    /// Of a link, by its index into ports; 1 where all are alike.
    [[nodiscard]] std::uint32_t rate(std::uint32_t link) const { return rates.empty() ? 1 : rates[link]; }
};

/// What flows are to a link: as many as on a link of the fastest rate there is, or more.
class Burden {
public:
    explicit Burden(const Graph& graph);
    [[nodiscard]] std::uint64_t of(std::uint32_t link, std::uint64_t flows) const {
        return rates_.empty() ? flows : flows * fastest_ / rates_[link];
    }

private:
    const std::vector<std::uint32_t>& rates_;
    std::uint64_t fastest_;
};

/// `excluded[s]` != 0 leaves out every link of switch s; empty excludes none.
[[nodiscard]] Graph make_graph(const Topology& topology, const std::vector<char>& excluded);
/// The same as an operator prefers it. Slow links that are to be avoided are left out, but for those between
/// switches that reach each other over slow links only. Of links to one neighbour only those of the least
/// weight are left. Rates are there if they are to be weighed and differ.
[[nodiscard]] Graph make_graph(const Topology& topology, const std::vector<char>& excluded,
                               const Preferences& preferences);

inline constexpr unsigned kSharesMost = 8;
/// Rates in small numbers: of the fastest in eighths, at least 1, shortened. Equal rates are 1 each.
[[nodiscard]] std::vector<std::uint8_t> shares_of(const std::vector<std::uint32_t>& rates);

/// A square of bytes, in rows padded to 64, so that inner loops over 64 columns vectorise without -march
/// flags. The padding is an odd number of lines: else equal columns of all rows would meet in a few sets of
/// the cache. Rows can be shared between matrices that differ in a few of them.
class ByteMatrix {
public:
    explicit ByteMatrix(std::uint32_t rows);  ///< not filled
    ByteMatrix(std::uint32_t rows, std::uint8_t fill);
    ByteMatrix(ByteMatrix&&) = default;
    ByteMatrix& operator=(ByteMatrix&&) = default;

    /// The same rows, shared. To change one in either matrix, own_row() it first.
    [[nodiscard]] ByteMatrix share() const { return ByteMatrix(*this); }
    /// Puts a copy in the row's place, shared with nobody.
    std::uint8_t* own_row(std::uint32_t at);

    [[nodiscard]] std::uint8_t* row(std::uint32_t at) { return rows_[at].get(); }
    [[nodiscard]] const std::uint8_t* row(std::uint32_t at) const { return rows_[at].get(); }
    [[nodiscard]] std::uint32_t stride() const { return stride_; }

private:
    ByteMatrix(const ByteMatrix&) = default;

    std::uint32_t stride_;
    std::vector<std::shared_ptr<std::uint8_t[]>> rows_;
};

/// Hop distance between any two switches (kUnreached: none), by breadth-first search over bitsets.
/// Errors: unsupported beyond kDistanceMax hops.
[[nodiscard]] base::Result<ByteMatrix> hop_distances(const Graph& graph, unsigned threads);

/// Height order of switches; smaller is nearer to the top. Equal where nothing tells two switches apart.
using Heights = std::vector<std::uint64_t>;

/// Host-weighted sum of distances, compared only between switches of one component.
[[nodiscard]] Heights heights_from_hosts(const Graph& graph, const ByteMatrix& distances);

/// Tree order of switches: leaves pod by pod, then the rest by index. Engines number destinations in it, and
/// shift patterns go along it: what a closed form keeps apart are neighbours in this order.
[[nodiscard]] std::vector<std::uint32_t> switch_order(const Graph& graph, const ByteMatrix& distances,
                                                      const Heights& heights);

/// EndPortIndex values of the end ports with a LID, by switch, in the order of its ports.
[[nodiscard]] std::vector<std::vector<std::uint32_t>> attached_end_ports(const Topology& topology);

/// The order in which engines number destinations, and the slots over which each switch spreads them.
struct Shape {
    std::vector<std::uint32_t> order;  ///< switch_order()
    /// Up-going ports of a switch as a cycle of slots, 0 = hole (a neighbour that a sibling has and this one
    /// lacks, or a turn that a slower link lets pass). At most 256.
    std::vector<std::vector<std::uint8_t>> slots;
    std::vector<std::uint32_t> rounds;   ///< how often its slots go round its up-going ports; empty: once
    std::vector<std::uint32_t> divider;  ///< how many destinations in a row a switch sends to one slot
};
[[nodiscard]] Shape shape_of(const Graph& graph, const ByteMatrix& distances, const Heights& heights);

/// True if no neighbour of the switch lies below it.
[[nodiscard]] bool is_bottom(const Graph& graph, const Heights& heights, std::uint32_t at);

}  // namespace ibf::routing
