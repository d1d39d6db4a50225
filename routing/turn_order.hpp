// DOC: a graph that is never allowed to close a cycle.
//
// Vertices keep a topological order while edges come in one by one (Pearce and Kelly, JEA 11, 2006): an edge
// that agrees with the order costs nothing, one that does not is searched for only between its ends' places.
// An edge that would close a cycle is refused and leaves no trace. So is one that would take too long to
// judge: in a large fabric, those come last and matter to few paths. The layered engines put the turns of one
// virtual lane into one of these: what fits is proved free of deadlock as it goes in.
#pragma once

#include <cstdint>
#include <vector>

#include "routing/topological_places.hpp"

namespace ibf::routing {

/// How many edges the search for one cycle may look at.
inline constexpr std::size_t kEdgesSearched = 20'000;

class TurnOrder {
public:
    /// `vertices`: all of them, in the order to begin with. The better the guess, the less is searched.
    explicit TurnOrder(const std::vector<std::uint32_t>& vertices);

    /// False, and nothing changes, if the edge would close a cycle, or might. An edge may be added only once.
    [[nodiscard]] bool add(std::uint32_t from, std::uint32_t to);
    /// Takes back the edge that was added last of those out of `from` and those into `to`.
    void take_back(std::uint32_t from, std::uint32_t to);

private:
    [[nodiscard]] bool search_forward(std::uint32_t start, std::uint32_t goal);
    void search_backward(std::uint32_t start, std::uint32_t lowest);
    [[nodiscard]] bool visit(std::uint32_t vertex);

    TopologicalPlaces places_;
    std::vector<std::vector<std::uint32_t>> out_;
    std::vector<std::vector<std::uint32_t>> in_;
    std::vector<std::uint32_t> visited_;  ///< stamp of the last search that came by
    std::uint32_t stamp_ = 0;
    std::vector<std::uint32_t> ahead_;   ///< reached from the edge's end
    std::vector<std::uint32_t> behind_;  ///< leading to the edge's start
};

}  // namespace ibf::routing
