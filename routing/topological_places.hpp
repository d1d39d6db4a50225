// DOC: places in a topological order, and how one is mended.
//
// The step that incremental orders share (Pearce and Kelly, JEA 11, 2006): once a search has found what leads
// to the start of a new edge and what its end leads to, all these change places among themselves. What may
// be searched, and which edges there are, is the business of who holds the order.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace ibf::routing {

class TopologicalPlaces {
public:
    /// `vertices`: all of them, in the order to begin with.
    explicit TopologicalPlaces(const std::vector<std::uint32_t>& vertices) : place_(vertices.size()) {
        for (std::uint32_t place = 0; place < vertices.size(); ++place) {
            place_[vertices[place]] = place;
        }
    }

    [[nodiscard]] std::uint32_t of(std::uint32_t vertex) const { return place_[vertex]; }

    /// Deals the places of both out anew: first to `before`, then to `after`, each in its order so far.
    void put_before(std::vector<std::uint32_t>& before, std::vector<std::uint32_t>& after) {
        const auto by_place = [&](std::uint32_t a, std::uint32_t b) { return place_[a] < place_[b]; };
        std::sort(before.begin(), before.end(), by_place);
        std::sort(after.begin(), after.end(), by_place);
        before.insert(before.end(), after.begin(), after.end());
        free_.clear();
        for (const std::uint32_t vertex : before) {
            free_.push_back(place_[vertex]);
        }
        std::sort(free_.begin(), free_.end());
        for (std::size_t i = 0; i < before.size(); ++i) {
            place_[before[i]] = free_[i];
        }
    }

private:
    std::vector<std::uint32_t> place_;  ///< by vertex
    std::vector<std::uint32_t> free_;   ///< scratch
};

}  // namespace ibf::routing
