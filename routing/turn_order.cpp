#include "routing/turn_order.hpp"

#include "base/check.hpp"

namespace ibf::routing {

TurnOrder::TurnOrder(const std::vector<std::uint32_t>& vertices)
    : places_(vertices), out_(vertices.size()), in_(vertices.size()), visited_(vertices.size(), 0) {}

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
            if (places_.of(next) < places_.of(goal) && visit(next)) {
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
            if (places_.of(before) > lowest && visit(before)) {
                behind_.push_back(before);
            }
        }
    }
}

bool TurnOrder::add(std::uint32_t from, std::uint32_t to) {
    if (from == to) {
        return false;
    }
    if (places_.of(from) > places_.of(to)) {
        if (!search_forward(to, from)) {
            return false;
        }
        search_backward(from, places_.of(to));
        places_.put_before(behind_, ahead_);
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
