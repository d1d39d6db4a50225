#include "routing/grid_ways.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include <fmt/format.h>

namespace ibf::routing {

bool goes_upward(std::uint32_t size, std::uint32_t from, std::uint32_t to) {
    const std::uint32_t up = (to + size - from) % size;
    if (2 * up != size) {
        return 2 * up < size;
    }
    // Pairs half-way apart go over the dateline or not, by turns: both halves of the ring are used alike.
    const bool inside = std::min(from, to) % 2 == 0;
    return inside == (from < to);
}

namespace {

bool crosses(const Dimension& dimension, std::uint32_t from, std::uint32_t to) {
    if (dimension.kind != LineKind::ring || from == to || dimension.size < 4) {
        return false;  // in a ring of three all paths are one hop long: nothing to part
    }
    return goes_upward(dimension.size, from, to) != (from < to);
}

}  // namespace

/// The positions of one line and what lies there.
struct GridWays::LineView {
    std::size_t dimension = 0;
    std::vector<std::uint32_t> at;  ///< position by coordinate
    std::vector<char> alive;        ///< by coordinate: there is a switch

    [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(at.size()); }
};

bool GridWays::lines_fit(const Grid& grid) {
    return std::all_of(grid.dimensions.begin(), grid.dimensions.end(),
                       [](const Dimension& dimension) { return dimension.size <= kLineMax; });
}

GridWays::GridWays(const Graph& graph, Grid grid) : grid_(std::move(grid)) {
    for (const Dimension& dimension : grid_.dimensions) {
        offset_.push_back(width_);
        width_ += dimension.size;
    }
    const auto points = static_cast<std::uint32_t>(grid_.switches.size());
    for (std::uint32_t at = 0; at < points; ++at) {
        for (std::size_t i = 0; i < grid_.dimensions.size(); ++i) {
            coordinates_.push_back(static_cast<std::uint16_t>(grid_.coordinate(at, i)));
        }
    }
    link_.assign(points * width_, kNoGroup);
    toward_ = link_;
    find_links(graph);
    for (std::uint32_t at = 0; at < points; ++at) {
        for (std::size_t i = 0; i < grid_.dimensions.size(); ++i) {
            if (coordinate(at, i) == 0) {
                fill_line(at, i);
            }
        }
    }
}

void GridWays::find_links(const Graph& graph) {
    std::vector<std::uint32_t> position(graph.switch_count(), kNoIndex);
    for (std::uint32_t at = 0; at < grid_.switches.size(); ++at) {
        if (grid_.switches[at] != kNoIndex) {
            position[grid_.switches[at]] = at;
        }
    }
    for (std::uint32_t at = 0; at < grid_.switches.size(); ++at) {
        if (grid_.switches[at] == kNoIndex) {
            continue;
        }
        std::uint8_t index = 0;
        for (const PortGroup& group : graph.groups_of(grid_.switches[at])) {
            const std::uint32_t peer = position[group.peer];
            const std::size_t dimension = dimension_of(at, peer);
            link_[at * width_ + offset_[dimension] + coordinate(peer, dimension)] = index++;
        }
    }
}

std::size_t GridWays::dimension_of(std::uint32_t from, std::uint32_t neighbour) const {
    std::size_t dimension = 0;
    while (coordinate(from, dimension) == coordinate(neighbour, dimension)) {
        ++dimension;
    }
    return dimension;
}

void GridWays::fill_line(std::uint32_t first, std::size_t dimension) {
    LineView line;
    line.dimension = dimension;
    for (std::uint32_t i = 0; i < grid_.dimensions[dimension].size; ++i) {
        line.at.push_back(grid_.moved(first, dimension, i));
        line.alive.push_back(grid_.switches[line.at.back()] != kNoIndex ? 1 : 0);
    }
    switch (grid_.dimensions[dimension].kind) {
        case LineKind::open: fill_open(line); break;
        case LineKind::ring: fill_ring(line); break;
        case LineKind::clique: fill_clique(line); break;
    }
}

/// True if all cables of the way exist that steps by `onward`, up to a target that may be a hole.
bool GridWays::reaches(const LineView& line, std::uint32_t from, std::uint32_t to,
                       std::uint32_t onward) const {
    for (std::uint32_t at = from; at != to;) {
        const std::uint32_t next = (at + onward) % line.size();
        if (next == to && line.alive[to] == 0) {
            return true;
        }
        if (link_[line.at[at] * width_ + offset_[line.dimension] + next] == kNoGroup) {
            return false;
        }
        at = next;
    }
    return true;
}

void GridWays::fill_ring(const LineView& line) {
    const std::uint32_t size = line.size();
    for (std::uint32_t from = 0; from < size; ++from) {
        for (std::uint32_t to = 0; to < size; ++to) {
            if (from == to || line.alive[from] == 0) {
                continue;
            }
            const std::uint32_t shorter = goes_upward(size, from, to) ? 1 : size - 1;
            std::uint8_t& way = toward(line.at[from], line.dimension, to);
            for (const std::uint32_t onward : {shorter, size - shorter}) {
                if (way == kNoGroup && reaches(line, from, to, onward)) {
                    const std::uint32_t next = (from + onward) % size;
                    way = line.alive[next] == 0
                              ? kTurn
                              : link_[line.at[from] * width_ + offset_[line.dimension] + next];
                }
            }
        }
    }
}

void GridWays::fill_open(const LineView& line) {
    const std::uint32_t size = line.size();
    for (std::uint32_t from = 0; from < size; ++from) {
        for (std::uint32_t to = 0; to < size; ++to) {
            const std::uint32_t onward = from < to ? 1 : size - 1;
            if (from != to && line.alive[from] != 0 && reaches(line, from, to, onward)) {
                const std::uint32_t next = (from + onward) % size;
                toward(line.at[from], line.dimension, to) =
                    line.alive[next] == 0 ? kTurn
                                          : link_[line.at[from] * width_ + offset_[line.dimension] + next];
            }
        }
    }
}

/// The line's order puts the switches with the most cables first: the first one can mostly relay for all.
void GridWays::fill_clique(const LineView& line) {
    const auto link = [&](std::uint32_t from, std::uint32_t to) {
        return link_[line.at[from] * width_ + offset_[line.dimension] + to];
    };
    std::vector<std::uint32_t> order(line.size());
    std::iota(order.begin(), order.end(), 0U);
    std::vector<std::uint32_t> missing(line.size(), 0);
    for (std::uint32_t from = 0; from < line.size(); ++from) {
        for (std::uint32_t to = 0; to < line.size(); ++to) {
            missing[from] += link(from, to) == kNoGroup ? 1 : 0;
        }
    }
    std::stable_sort(order.begin(), order.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return missing[a] < missing[b]; });
    std::vector<std::uint32_t> place(line.size());
    for (std::uint32_t i = 0; i < order.size(); ++i) {
        place[order[i]] = i;
    }
    std::vector<std::uint32_t> relays;
    for (std::uint32_t from = 0; from < line.size(); ++from) {
        for (std::uint32_t to = 0; to < line.size(); ++to) {
            std::uint8_t& way = toward(line.at[from], line.dimension, to);
            if (from == to || line.alive[from] == 0) {
                continue;
            }
            if (line.alive[to] == 0 || link(from, to) != kNoGroup) {
                way = line.alive[to] == 0 ? kTurn : link(from, to);
                continue;
            }
            relays.clear();
            std::copy_if(
                order.begin(), order.begin() + std::max(place[from], place[to]), std::back_inserter(relays),
                [&](std::uint32_t by) { return link(from, by) != kNoGroup && link(by, to) != kNoGroup; });
            if (!relays.empty()) {
                way = link(from, relays[(from + to) % relays.size()]);
            }
        }
    }
}

std::uint8_t GridWays::next(std::uint32_t from, std::uint32_t to) const {
    std::size_t last = grid_.dimensions.size();
    for (std::size_t i = 0; i < grid_.dimensions.size(); ++i) {
        if (coordinate(from, i) == coordinate(to, i)) {
            continue;
        }
        const std::uint8_t way = toward(from, i, coordinate(to, i));
        if (way != kTurn) {
            return way;
        }
        last = i;
    }
    return last < grid_.dimensions.size() ? back_from_hole(from, last, coordinate(to, last)) : kNoGroup;
}

/// Holes lie ahead in all dimensions: one hop back, and the next line is another one.
std::uint8_t GridWays::back_from_hole(std::uint32_t from, std::size_t dimension, std::uint32_t hole) const {
    const Dimension& line = grid_.dimensions[dimension];
    const std::uint32_t here = coordinate(from, dimension);
    if (line.kind == LineKind::clique) {
        return kNoGroup;
    }
    const std::uint32_t back = (2 * here + line.size - hole) % line.size;
    return link_[std::size_t{from} * width_ + offset_[dimension] + back];
}

std::uint32_t GridWays::datelines(std::uint32_t from, std::uint32_t to) const {
    std::uint32_t crossed = 0;
    for (std::size_t i = 0; i < grid_.dimensions.size(); ++i) {
        crossed |= (crosses(grid_.dimensions[i], coordinate(from, i), coordinate(to, i)) ? 1U : 0U) << i;
    }
    return crossed;
}

std::string GridWays::broken_line(const Topology& topology) const {
    for (std::uint32_t at = 0; at < grid_.switches.size(); ++at) {
        for (std::size_t i = 0; i < grid_.dimensions.size() && grid_.switches[at] != kNoIndex; ++i) {
            for (std::uint32_t to = 0; to < grid_.dimensions[i].size; ++to) {
                const bool wanted =
                    grid_.switches[grid_.moved(at, i, to)] != kNoIndex || is_corner(at, i, to);
                if (to == coordinate(at, i) || toward(at, i, to) != kNoGroup || !wanted) {
                    continue;
                }
                const TopologySwitch& item = topology.switches[grid_.switches[at]];
                return fmt::format(
                    "cables or switches are missing: the {} along dimension {} through {} ({}) at {} "
                    "of a {} is in pieces, with no way to {}",
                    grid_.dimensions[i].kind == LineKind::ring ? "ring" : "line", i + 1, item.name, item.guid,
                    grid_.text(at), describe(grid_), grid_.text(grid_.moved(at, i, to)));
            }
        }
    }
    return {};
}

/// True if some path goes from here along the dimension to the coordinate and turns there.
bool GridWays::is_corner(std::uint32_t from, std::size_t dimension, std::uint32_t coordinate_to) const {
    for (std::uint32_t to = 0; to < grid_.switches.size(); ++to) {
        bool behind = grid_.switches[to] != kNoIndex && coordinate(to, dimension) == coordinate_to;
        for (std::size_t i = 0; i < dimension && behind; ++i) {
            behind = coordinate(from, i) == coordinate(to, i);
        }
        if (behind) {
            return true;
        }
    }
    return false;
}

std::string GridWays::early_turn(const Topology& topology) const {
    for (std::uint32_t at = 0; at < grid_.switches.size(); ++at) {
        for (std::size_t i = 0; i < grid_.dimensions.size() && grid_.switches[at] != kNoIndex; ++i) {
            for (std::uint32_t to = 0; to < grid_.dimensions[i].size; ++to) {
                if (to != coordinate(at, i) && toward(at, i, to) == kTurn && is_corner(at, i, to)) {
                    return fmt::format("a switch is missing at {} of a {}, where paths from {} turn",
                                       grid_.text(grid_.moved(at, i, to)), describe(grid_),
                                       topology.switches[grid_.switches[at]].name);
                }
            }
        }
    }
    return {};
}

}  // namespace ibf::routing
