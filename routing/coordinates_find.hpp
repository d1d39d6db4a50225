// DOC: which cables of a grid run along the same dimension; the first half of coordinates.hpp.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "routing/graph.hpp"

namespace ibf::routing {

/// Sets that grow together. The representative is the lowest member, so it depends on no order.
class DisjointSets {
public:
    explicit DisjointSets(std::uint32_t count);
    std::uint32_t find(std::uint32_t item);
    void join(std::uint32_t a, std::uint32_t b);

private:
    std::vector<std::uint32_t> parent_;
};

/// All links between two neighbours.
struct Cable {
    std::uint32_t a = 0;
    std::uint32_t b = 0;
};

/// A connected component under numbers of its own.
struct Piece {
    struct Neighbour {
        std::uint32_t at = 0;
        std::uint32_t cable = 0;
    };
    std::vector<std::uint32_t> members;          ///< switch indices, ascending
    std::vector<std::vector<Neighbour>> beside;  ///< by member, ascending
    std::vector<Cable> cables;                   ///< between members, a < b

    [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(members.size()); }
    [[nodiscard]] bool adjacent(std::uint32_t a, std::uint32_t b) const;
};

/// In order of the lowest switch index.
[[nodiscard]] std::vector<Piece> pieces_of(const Graph& graph);

inline constexpr std::uint8_t kNoAxis = 255;

/// The dimensions of a piece: of each cable the one that it runs along, kNoAxis where nothing tells.
struct Axes {
    std::size_t count = 0;
    std::vector<std::uint8_t> of_cable;
};

/// Empty if the cables form more dimensions, or more steps in them, than any grid has.
[[nodiscard]] std::optional<Axes> find_axes(const Piece& piece);

}  // namespace ibf::routing
