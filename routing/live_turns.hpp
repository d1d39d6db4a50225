// DOC: the turns that can take part in a deadlock.
//
// Of all turns that paths make, only those inside a strongly connected component of links can ever be on a
// cycle, whichever of the paths share a lane (Tarjan 1972). All others are harmless in every layer and are
// left alone; on a tree none is live. Live turns and the links that they join are numbered densely.
#pragma once

#include <cstdint>
#include <vector>

#include "routing/column_trees.hpp"

namespace ibf::routing {

class LiveTurns {
public:
    /// From the turns of every path that has a source.
    explicit LiveTurns(const Paths& paths);

    [[nodiscard]] std::uint32_t count() const { return static_cast<std::uint32_t>(turns_.size()); }
    /// The number of a turn; kNoIndex if it is harmless.
    [[nodiscard]] std::uint32_t find(std::uint32_t turn) const { return id_[turn]; }

    /// The links that a live turn joins, as vertices below vertex_count().
    [[nodiscard]] std::uint32_t from(std::uint32_t id) const { return turns_[id].from; }
    [[nodiscard]] std::uint32_t to(std::uint32_t id) const { return turns_[id].to; }
    [[nodiscard]] std::uint32_t vertex_count() const { return vertices_; }
    /// The vertex of a link; kNoIndex if no live turn joins it.
    [[nodiscard]] std::uint32_t vertex(std::uint32_t link) const { return vertex_[link]; }

private:
    struct Turn {
        std::uint32_t from = 0;
        std::uint32_t to = 0;
    };
    std::vector<std::uint32_t> id_;  ///< by turn
    std::vector<Turn> turns_;
    std::vector<std::uint32_t> vertex_;  ///< by link
    std::uint32_t vertices_ = 0;
};

}  // namespace ibf::routing
