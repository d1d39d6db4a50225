// DOC: dimension order on one grid: which neighbour comes next, which datelines a path crosses.
//
// A packet corrects its first coordinate along the line that it stands on, then the second, and so on. Within
// a line:
//   open    straight on;
//   ring    the shorter way; if that is broken, the longer one. Half-way round, the way is a matter of the
//           two coordinates alone, the same one both ways: a packet and its answer cross the same datelines,
//           so an answer on the request's service level is as safe as the request;
//   clique  straight; if that cable is missing, through a third switch, but never through one that comes
//           later in the line's order than both ends, so relays cannot wait for each other in a ring.
//
// The dateline of a ring lies between its last coordinate and its first. Crossing it is a property of the two
// coordinates, not of the damage: service levels that hosts got before a fault stay right.
//
// Where a path would turn there may be no switch. A packet then goes on until that hole is the next hop, and
// takes one hop of the next dimension early: an early turn (Schutt's torus-2QoS). Engines that cannot bear
// the turn back that follows ask early_turn().
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "routing/coordinates.hpp"

namespace ibf::routing {

inline constexpr std::uint8_t kNoGroup = 255;    ///< no port group; 254 ports make at most 254 groups
inline constexpr std::uint32_t kLineMax = 1024;  ///< switches in one line that the tables are made for

class GridWays {
public:
    /// The grid's first dimension is the first to be corrected. REQUIRES: lines_fit(grid).
    GridWays(const Graph& graph, Grid grid);

    [[nodiscard]] static bool lines_fit(const Grid& grid);
    [[nodiscard]] const Grid& grid() const { return grid_; }

    /// Port group of the switch at a position to take toward another one; kNoGroup: there is no way.
    [[nodiscard]] std::uint8_t next(std::uint32_t from, std::uint32_t to) const;
    /// The dimension that a neighbour lies in.
    [[nodiscard]] std::size_t dimension_of(std::uint32_t from, std::uint32_t neighbour) const;
    /// Bit i: the path crosses the dateline of dimension i.
    [[nodiscard]] std::uint32_t datelines(std::uint32_t from, std::uint32_t to) const;

    /// A line that is in pieces, in words; empty if there is none.
    [[nodiscard]] std::string broken_line(const Topology& topology) const;
    /// A place where a path turns early, in words; empty if none does.
    [[nodiscard]] std::string early_turn(const Topology& topology) const;

private:
    static constexpr std::uint8_t kTurn = 254;  ///< the place to go to is a hole, one hop away

    struct LineView;
    void find_links(const Graph& graph);
    void fill_line(std::uint32_t first, std::size_t dimension);
    void fill_ring(const LineView& line);
    void fill_open(const LineView& line);
    void fill_clique(const LineView& line);
    [[nodiscard]] bool reaches(const LineView& line, std::uint32_t from, std::uint32_t to,
                               std::uint32_t onward) const;
    [[nodiscard]] std::uint8_t& toward(std::uint32_t at, std::size_t dimension, std::uint32_t coordinate) {
        return toward_[std::size_t{at} * width_ + offset_[dimension] + coordinate];
    }
    [[nodiscard]] std::uint8_t toward(std::uint32_t at, std::size_t dimension,
                                      std::uint32_t coordinate) const {
        return toward_[std::size_t{at} * width_ + offset_[dimension] + coordinate];
    }
    [[nodiscard]] std::uint32_t coordinate(std::uint32_t at, std::size_t dimension) const {
        return coordinates_[std::size_t{at} * grid_.dimensions.size() + dimension];
    }
    [[nodiscard]] std::uint8_t back_from_hole(std::uint32_t from, std::size_t dimension,
                                              std::uint32_t hole) const;
    [[nodiscard]] bool is_corner(std::uint32_t from, std::size_t dimension, std::uint32_t coordinate) const;

    Grid grid_;
    std::vector<std::uint16_t> coordinates_;  ///< by position and dimension
    std::vector<std::size_t> offset_;         ///< by dimension, into a row of the tables below
    std::size_t width_ = 0;                   ///< of such a row: the sizes summed up
    std::vector<std::uint8_t> link_;    ///< by position, dimension, coordinate: the group of a direct cable
    std::vector<std::uint8_t> toward_;  ///< and the group to take, kTurn or kNoGroup
};

/// True if the ring's shorter way from one coordinate to another leads upward (over the last to the first).
[[nodiscard]] bool goes_upward(std::uint32_t size, std::uint32_t from, std::uint32_t to);

}  // namespace ibf::routing
