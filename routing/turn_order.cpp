#include "routing/turn_order.hpp"

#include <algorithm>

#include "base/check.hpp"

namespace ibf::routing {

TurnOrder::TurnOrder(const std::vector<std::uint32_t>& vertices)
    : place_(vertices.size()), out_(vertices.size()), in_(vertices.size()), visited_(vertices.size(), 0) {
    for (std::uint32_t place = 0; place < vertices.size(); ++place) {
        place_[vertices[place]] = place;
    }
}

bool TurnOrder::visit(std::uint32_t vertex) {
    if (visited_[vertex] == stamp_) {
        return false;
    }
    visited_[vertex] = stamp_;
    return true;
}

/// Gathers what `start` leads to, up to the place of `goal`; false if that includes the goal, or may.
bool TurnOrder::search_forward(std::uint32_t start, std::uint32_t goal) {
    ++stamp_;
    ahead_.assign(1, start);
    visited_[start] = stamp_;
    std::size_t looked_at = 0;
    for (std::size_t head = 0; head < ahead_.size(); ++head) {
        looked_at += out_[ahead_[head]].size();
        if (looked_at > kEdgesSearched) {
            return false;
        }
        for (const std::uint32_t next : out_[ahead_[head]]) {
            if (next == goal) {
                return false;
            }
            if (place_[next] < place_[goal] && visit(next)) {
                ahead_.push_back(next);
            }
        }
    }
    return true;
}

void TurnOrder::search_backward(std::uint32_t start, std::uint32_t lowest) {
    ++stamp_;
    behind_.assign(1, start);
    visited_[start] = stamp_;
    for (std::size_t head = 0; head < behind_.size(); ++head) {
        for (const std::uint32_t before : in_[behind_[head]]) {
            if (place_[before] > lowest && visit(before)) {
                behind_.push_back(before);
            }
        }
    }
}

/// What leads to the edge moves before what it leads to, each part in its old order, within their old places.
void TurnOrder::reorder() {
    const auto by_place = [&](std::uint32_t a, std::uint32_t b) { return place_[a] < place_[b]; };
    std::sort(ahead_.begin(), ahead_.end(), by_place);
    std::sort(behind_.begin(), behind_.end(), by_place);
    behind_.insert(behind_.end(), ahead_.begin(), ahead_.end());
    places_.clear();
    for (const std::uint32_t vertex : behind_) {
        places_.push_back(place_[vertex]);
    }
    std::sort(places_.begin(), places_.end());
    for (std::size_t i = 0; i < behind_.size(); ++i) {
        place_[behind_[i]] = places_[i];
    }
}

bool TurnOrder::add(std::uint32_t from, std::uint32_t to) {
    if (from == to) {
        return false;
    }
    if (place_[from] > place_[to]) {
        if (!search_forward(to, from)) {
            return false;
        }
        search_backward(from, place_[to]);
        reorder();
    }
    out_[from].push_back(to);
    in_[to].push_back(from);
    return true;
}

void TurnOrder::take_back(std::uint32_t from, std::uint32_t to) {
    IBF_CHECK(!out_[from].empty() && out_[from].back() == to && !in_[to].empty() && in_[to].back() == from,
              "edge {} to {} was not the last", from, to);
    out_[from].pop_back();
    in_[to].pop_back();
}

}  // namespace ibf::routing
