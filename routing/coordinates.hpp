// DOC: coordinates of grids, found from the switch graph alone.
//
// A grid is a Cartesian product of lines: open lines (mesh; of two switches: hypercube), rings (torus) and
// cliques (HyperX). No seed file, no order of ports and no names are needed, because such a graph has only
// one decomposition (Sabidussi 1960). One pair of readings remains: a ring of four is a square of two lines
// of two. Here it always is the latter; with_rings_of_four() joins them again.
//
// How: opposite cables of a square run the same way. That splits the cables into classes, one for each step
// along each dimension; classes that meet in a square belong to different dimensions, all others that meet
// the same classes to the same one. Cut a dimension's cables and what hangs together is one layer, so one
// coordinate. Missing cables and switches take squares away but never make false ones (but in cliques), so a
// damaged grid is still found where damage is sparse; switches that lost their squares are placed between
// their neighbours. At the end every cable must join neighbours of the grid found: a wrong guess is refused,
// not routed.
//
// Numbering is by the GUIDs, averaged over all lines of a dimension, so that one switch lost does not
// renumber a fabric whose GUIDs follow its shape.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "routing/graph.hpp"

namespace ibf::routing {

enum class LineKind : std::uint8_t {
    open,    ///< neighbours differ by one; also every dimension of size 2
    ring,    ///< and the last is the first one's neighbour; also every dimension of size 3
    clique,  ///< any two are neighbours; size 4 and above
};

struct Dimension {
    LineKind kind = LineKind::open;
    std::uint32_t size = 2;  ///< 2 and above
};

struct Grid {
    std::vector<Dimension> dimensions;  ///< none: one switch
    std::vector<std::uint32_t>
        switches;  ///< by position, the last dimension counts fastest; kNoIndex: missing

    [[nodiscard]] std::uint32_t stride(std::size_t dimension) const;
    [[nodiscard]] std::uint32_t coordinate(std::uint32_t position, std::size_t dimension) const;
    /// The position that differs from this one in one coordinate.
    [[nodiscard]] std::uint32_t moved(std::uint32_t position, std::size_t dimension, std::uint32_t to) const;
    /// "(2,0,5)"
    [[nodiscard]] std::string text(std::uint32_t position) const;
    [[nodiscard]] bool complete() const;  ///< no switch is missing
};

/// One grid for each connected component.
struct Grids {
    std::vector<Grid> grids;
    std::vector<std::uint32_t> grid_of;   ///< by switch: into grids
    std::vector<std::uint32_t> position;  ///< by switch: in its grid
};

inline constexpr std::size_t kDimensionsMax = 16;

/// Errors: unsupported with the plain reason why the fabric is no grid, or too damaged to tell.
[[nodiscard]] base::Result<Grids> find_grids(const Topology& topology, const Graph& graph);

/// Joins dimensions of size 2, two at a time, to rings of four.
[[nodiscard]] Grid with_rings_of_four(const Grid& grid);

/// The same grid with its dimensions in another order: the i-th of the result is dimension order[i].
[[nodiscard]] Grid reordered(const Grid& grid, const std::vector<std::size_t>& order);

/// "6x6x6 torus", "8x4 mesh", "hypercube of 6 dimensions", "grid of ring 6, line 2, clique 4".
[[nodiscard]] std::string describe(const Grid& grid);

}  // namespace ibf::routing
