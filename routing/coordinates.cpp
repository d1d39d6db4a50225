#include "routing/coordinates.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "routing/coordinates_find.hpp"

namespace ibf::routing {

std::uint32_t Grid::stride(std::size_t dimension) const {
    std::uint32_t product = 1;
    for (std::size_t i = dimension + 1; i < dimensions.size(); ++i) {
        product *= dimensions[i].size;
    }
    return product;
}

std::uint32_t Grid::coordinate(std::uint32_t position, std::size_t dimension) const {
    return position / stride(dimension) % dimensions[dimension].size;
}

std::uint32_t Grid::moved(std::uint32_t position, std::size_t dimension, std::uint32_t to) const {
    const std::uint32_t step = stride(dimension);
    return position - coordinate(position, dimension) * step + to * step;
}

std::string Grid::text(std::uint32_t position) const {
    std::vector<std::uint32_t> coordinates;
    for (std::size_t i = 0; i < dimensions.size(); ++i) {
        coordinates.push_back(coordinate(position, i));
    }
    return fmt::format("({})", fmt::join(coordinates, ","));
}

bool Grid::complete() const {
    return std::find(switches.begin(), switches.end(), kNoIndex) == switches.end();
}

namespace {

bool are_beside(const Dimension& dimension, std::uint32_t a, std::uint32_t b) {
    const std::uint32_t apart = a < b ? b - a : a - b;
    switch (dimension.kind) {
        case LineKind::open: return apart == 1;
        case LineKind::ring: return apart == 1 || apart + 1 == dimension.size;
        case LineKind::clique: return apart != 0;
    }
    return false;
}

/// True if a cable may join the two positions.
bool are_beside(const Grid& grid, std::uint32_t a, std::uint32_t b) {
    bool beside = false;
    for (std::size_t i = 0; i < grid.dimensions.size(); ++i) {
        const std::uint32_t from = grid.coordinate(a, i);
        const std::uint32_t to = grid.coordinate(b, i);
        if (from == to) {
            continue;
        }
        if (beside || !are_beside(grid.dimensions[i], from, to)) {
            return false;
        }
        beside = true;
    }
    return beside;
}

struct Layer {
    std::uint32_t switches = 0;
    std::uint32_t number = kNoIndex;  ///< along the axis; kNoIndex: too small to be a layer
};

/// The layers across one axis, and how cables of that axis join them.
struct GridLayers {
    std::vector<std::uint32_t> of;  ///< by member; kNoIndex: in none
    std::vector<std::set<std::uint32_t>> beside;
};

/// The end layer of an open dimension may have fallen apart. Its parts touch nothing but the layer before it,
/// which touches one whole layer at most.
void join_torn_ends(const Piece& piece, const Axes& axes, std::size_t axis, DisjointSets& sets) {
    std::vector<std::uint32_t> switches(piece.size(), 0);
    for (std::uint32_t at = 0; at < piece.size(); ++at) {
        ++switches[sets.find(at)];
    }
    const std::uint32_t largest = *std::max_element(switches.begin(), switches.end());
    const auto whole = [&](std::uint32_t part) { return 2 * switches[part] > largest; };
    std::map<std::uint32_t, std::set<std::uint32_t>> beside;
    for (std::size_t i = 0; i < piece.cables.size(); ++i) {
        if (axes.of_cable[i] == axis) {
            const std::uint32_t a = sets.find(piece.cables[i].a);
            const std::uint32_t b = sets.find(piece.cables[i].b);
            beside[a].insert(b);
            beside[b].insert(a);
        }
    }
    for (const auto& [layer, parts] : beside) {
        if (!whole(layer) || std::count_if(parts.begin(), parts.end(), whole) > 1) {
            continue;
        }
        std::vector<std::uint32_t> torn;
        std::uint32_t size = 0;
        for (const std::uint32_t part : parts) {
            if (!whole(part) && beside[part].size() == 1) {
                torn.push_back(part);
                size += switches[part];
            }
        }
        for (std::size_t i = 1; i < torn.size() && 2 * size > largest; ++i) {
            sets.join(torn[0], torn[i]);
        }
    }
}

GridLayers layers_of(const Piece& piece, const Axes& axes, std::size_t axis) {
    DisjointSets sets(piece.size());
    for (std::size_t i = 0; i < piece.cables.size(); ++i) {
        if (axes.of_cable[i] != axis && axes.of_cable[i] != kNoAxis) {
            sets.join(piece.cables[i].a, piece.cables[i].b);
        }
    }
    join_torn_ends(piece, axes, axis, sets);
    std::vector<Layer> found(piece.size());
    std::uint32_t largest = 0;
    for (std::uint32_t at = 0; at < piece.size(); ++at) {
        largest = std::max(largest, ++found[sets.find(at)].switches);
    }
    GridLayers layers;
    std::uint32_t count = 0;
    for (std::uint32_t at = 0; at < piece.size(); ++at) {
        Layer& mine = found[sets.find(at)];
        if (mine.number == kNoIndex && 2 * mine.switches > largest) {
            mine.number = count++;
        }
        layers.of.push_back(mine.number);
    }
    layers.beside.resize(count);
    for (std::size_t i = 0; i < piece.cables.size(); ++i) {
        const std::uint32_t a = layers.of[piece.cables[i].a];
        const std::uint32_t b = layers.of[piece.cables[i].b];
        if (axes.of_cable[i] == axis && a != b && a != kNoIndex && b != kNoIndex) {
            layers.beside[a].insert(b);
            layers.beside[b].insert(a);
        }
    }
    return layers;
}

/// Open line or ring, as far as it goes from `start`.
std::vector<std::uint32_t> follow_line(const GridLayers& layers, std::uint32_t start) {
    std::vector<std::uint32_t> line{start};
    std::uint32_t before = kNoIndex;
    while (true) {
        const std::uint32_t at = line.back();
        const auto next = std::find_if(layers.beside[at].begin(), layers.beside[at].end(),
                                       [&](std::uint32_t peer) { return peer != before; });
        if (next == layers.beside[at].end() || *next == start) {
            return line;
        }
        before = at;
        line.push_back(*next);
    }
}

/// The dimension, and the layers' coordinates in it.
struct Line {
    Dimension dimension;
    std::vector<std::uint32_t> coordinate;  ///< by layer
};

/// nullopt: the layers form no line, ring or clique.
std::optional<Line> line_of(const GridLayers& layers) {
    const auto count = static_cast<std::uint32_t>(layers.beside.size());
    std::size_t ends = 0;
    std::size_t most = 0;
    std::size_t links = 0;
    std::uint32_t start = 0;
    for (std::uint32_t at = 0; at < count; ++at) {
        const std::size_t neighbours = layers.beside[at].size();
        if (neighbours == 1 && ends++ == 0) {
            start = at;
        }
        most = std::max(most, neighbours);
        links += neighbours;
    }
    Line line;
    line.dimension.size = count;
    line.coordinate.assign(count, kNoIndex);
    if (count >= 2 && most <= 2) {
        const std::vector<std::uint32_t> way = follow_line(layers, start);
        if (way.size() != count) {
            return std::nullopt;
        }
        for (std::uint32_t i = 0; i < count; ++i) {
            line.coordinate[way[i]] = i;
        }
        line.dimension.kind = ends == 0 ? LineKind::ring : LineKind::open;
        return line;
    }
    // A clique that lost cables everywhere in the same place still is one: a row of hyperx alone, for
    // instance.
    if (count >= 4 && 4 * links >= 3 * std::size_t{count} * (count - 1)) {
        std::iota(line.coordinate.begin(), line.coordinate.end(), 0U);
        line.dimension.kind = LineKind::clique;
        return line;
    }
    return std::nullopt;
}

/// Puts the members of a piece on the points of a grid.
class Placement {
public:
    Placement(const Topology& topology, const Piece& piece)
        : topology_(topology), piece_(piece), position_(piece.size(), kNoIndex) {}

    /// Empty, or why the piece is no grid.
    [[nodiscard]] std::string find(const Axes& axes) {
        std::string reason = find_lines(axes);
        reason = reason.empty() ? place_core() : reason;
        reason = reason.empty() ? place_rest() : reason;
        return reason.empty() ? check_cables() : reason;
    }

    /// By member numbers, not switch indices.
    [[nodiscard]] const Grid& grid() const { return grid_; }

private:
    static constexpr unsigned kPassesMax = 256;  ///< over the switches that have no place yet

    [[nodiscard]] std::string name(std::uint32_t member) const {
        const TopologySwitch& item = topology_.switches[piece_.members[member]];
        return fmt::format("{} ({})", item.name, item.guid);
    }

    [[nodiscard]] std::string no_line(std::size_t axis, std::size_t axes) const {
        const std::size_t layers = layers_.back().beside.size();
        if (layers == 1) {
            return fmt::format(
                "its cables seem to run along {} dimensions, but without those of dimension {} all "
                "switches still hang together",
                axes, axis + 1);
        }
        return fmt::format(
            "along dimension {} of {} its switches lie in {} layers, which form neither a line nor a "
            "ring nor a clique",
            axis + 1, axes, layers);
    }

    std::string find_lines(const Axes& axes) {
        std::uint64_t points = 1;
        for (std::size_t axis = 0; axis < axes.count; ++axis) {
            layers_.push_back(layers_of(piece_, axes, axis));
            const std::optional<Line> line = line_of(layers_.back());
            if (!line) {
                return no_line(axis, axes.count);
            }
            grid_.dimensions.push_back(line->dimension);
            coordinate_.push_back(line->coordinate);
            points *= line->dimension.size;
            if (points > 4 * std::uint64_t{piece_.size()} + 64) {
                return fmt::format("its {} switches would fill less than a quarter of a {}", piece_.size(),
                                   describe(grid_));
            }
        }
        grid_.switches.assign(points, kNoIndex);
        return {};
    }

    std::string place_core() {
        std::uint32_t placed = 0;
        for (std::uint32_t at = 0; at < piece_.size(); ++at) {
            std::uint32_t position = 0;
            bool core = true;
            for (std::size_t i = 0; i < layers_.size() && core; ++i) {
                const std::uint32_t layer = layers_[i].of[at];
                core = layer != kNoIndex;
                position = position * grid_.dimensions[i].size + (core ? coordinate_[i][layer] : 0);
            }
            if (!core) {
                continue;
            }
            if (grid_.switches[position] != kNoIndex) {
                return fmt::format("{} and {} both lie at {} of a {}", name(grid_.switches[position]),
                                   name(at), grid_.text(position), describe(grid_));
            }
            place(at, position);
            ++placed;
        }
        if (2 * placed < piece_.size()) {
            return fmt::format("only {} of its {} switches lie in whole squares of a grid", placed,
                               piece_.size());
        }
        return {};
    }

    void place(std::uint32_t at, std::uint32_t position) {
        position_[at] = position;
        grid_.switches[position] = at;
    }

    /// Free points beside all neighbours of a member that are placed.
    [[nodiscard]] std::vector<std::uint32_t> room_for(std::uint32_t at) const {
        std::vector<std::uint32_t> placed;
        for (const Piece::Neighbour& peer : piece_.beside[at]) {
            if (position_[peer.at] != kNoIndex) {
                placed.push_back(position_[peer.at]);
            }
        }
        std::vector<std::uint32_t> room;
        for (std::size_t i = 0; i < grid_.dimensions.size() && !placed.empty(); ++i) {
            for (std::uint32_t to = 0; to < grid_.dimensions[i].size; ++to) {
                const std::uint32_t position = grid_.moved(placed.front(), i, to);
                if (grid_.switches[position] == kNoIndex &&
                    std::all_of(placed.begin(), placed.end(),
                                [&](std::uint32_t peer) { return are_beside(grid_, position, peer); })) {
                    room.push_back(position);
                }
            }
        }
        return room;
    }

    /// Switches with one place left for them take it. When none is so lucky, the first that has a choice
    /// takes the lowest: a switch that hangs off one cable fits in several places equally well.
    std::string place_rest() {
        for (unsigned pass = 0; pass < kPassesMax; ++pass) {
            std::uint32_t waiting = kNoIndex;
            std::uint32_t choice = kNoIndex;
            bool moved = false;
            for (std::uint32_t at = 0; at < piece_.size(); ++at) {
                if (position_[at] != kNoIndex) {
                    continue;
                }
                const std::vector<std::uint32_t> room = room_for(at);
                if (room.size() == 1) {
                    place(at, room.front());
                    moved = true;
                } else if (choice == kNoIndex) {
                    waiting = at;
                    choice = room.empty() ? kNoIndex : *std::min_element(room.begin(), room.end());
                }
            }
            if (moved) {
                continue;
            }
            if (waiting == kNoIndex) {
                return {};
            }
            if (choice == kNoIndex) {
                return fmt::format("{} fits nowhere in a {}", name(waiting), describe(grid_));
            }
            place(waiting, choice);
        }
        return fmt::format(
            "too many of its {} switches have lost the cables that tell where in a {} they lie",
            piece_.size(), describe(grid_));
    }

    [[nodiscard]] std::string check_cables() const {
        for (const Cable& cable : piece_.cables) {
            const std::uint32_t a = position_[cable.a];
            const std::uint32_t b = position_[cable.b];
            if (!are_beside(grid_, a, b)) {
                return fmt::format("the cable from {} at {} to {} at {} joins no neighbours of a {}",
                                   name(cable.a), grid_.text(a), name(cable.b), grid_.text(b),
                                   describe(grid_));
            }
        }
        return {};
    }

    const Topology& topology_;
    const Piece& piece_;
    Grid grid_;
    std::vector<GridLayers> layers_;
    std::vector<std::vector<std::uint32_t>> coordinate_;  ///< by axis and layer
    std::vector<std::uint32_t> position_;                 ///< by member
};

/// Mean place of a coordinate's switches within their lines, as a fraction; ties by the lowest switch.
struct MeanRank {
    std::uint64_t sum = 0;
    std::uint64_t count = 0;
    std::uint32_t lowest = kNoIndex;

    bool operator<(const MeanRank& other) const {
        const std::uint64_t mine = sum * other.count;
        const std::uint64_t theirs = other.sum * count;
        return mine != theirs ? mine < theirs : lowest < other.lowest;
    }
};

std::vector<MeanRank> mean_ranks(const Grid& grid, std::size_t dimension) {
    std::vector<MeanRank> ranks(grid.dimensions[dimension].size);
    std::vector<std::pair<std::uint32_t, std::uint32_t>> line;  // (switch, coordinate)
    for (std::uint32_t position = 0; position < grid.switches.size(); ++position) {
        if (grid.coordinate(position, dimension) != 0) {
            continue;
        }
        line.clear();
        for (std::uint32_t to = 0; to < ranks.size(); ++to) {
            const std::uint32_t item = grid.switches[grid.moved(position, dimension, to)];
            if (item != kNoIndex) {
                line.emplace_back(item, to);
            }
        }
        std::sort(line.begin(), line.end());
        for (std::size_t rank = 0; rank < line.size(); ++rank) {
            MeanRank& mine = ranks[line[rank].second];
            mine.sum += rank;
            ++mine.count;
            mine.lowest = std::min(mine.lowest, line[rank].first);
        }
    }
    return ranks;
}

/// Old coordinate of each new one: low GUIDs first.
std::vector<std::uint32_t> numbering(const Grid& grid, std::size_t dimension) {
    const std::vector<MeanRank> ranks = mean_ranks(grid, dimension);
    const auto size = static_cast<std::uint32_t>(ranks.size());
    std::vector<std::uint32_t> old(size);
    std::iota(old.begin(), old.end(), 0U);
    switch (grid.dimensions[dimension].kind) {
        case LineKind::open:
            if (ranks.back() < ranks.front()) {
                std::reverse(old.begin(), old.end());
            }
            break;
        case LineKind::ring: {
            const auto first =
                static_cast<std::uint32_t>(std::min_element(ranks.begin(), ranks.end()) - ranks.begin());
            const bool onward = ranks[(first + 1) % size] < ranks[(first + size - 1) % size];
            for (std::uint32_t i = 0; i < size; ++i) {
                old[i] = onward ? (first + i) % size : (first + size - i) % size;
            }
            break;
        }
        case LineKind::clique:
            std::sort(old.begin(), old.end(),
                      [&](std::uint32_t a, std::uint32_t b) { return ranks[a] < ranks[b]; });
            break;
    }
    return old;
}

Grid renumbered(const Grid& grid) {
    std::vector<std::vector<std::uint32_t>> old;
    for (std::size_t i = 0; i < grid.dimensions.size(); ++i) {
        old.push_back(numbering(grid, i));
    }
    Grid result = grid;
    for (std::uint32_t position = 0; position < grid.switches.size(); ++position) {
        std::uint32_t from = position;
        for (std::size_t i = 0; i < old.size(); ++i) {
            from = grid.moved(from, i, old[i][grid.coordinate(position, i)]);
        }
        result.switches[position] = grid.switches[from];
    }
    return result;
}

/// Dimensions whose neighbours are farthest apart in GUID order first: where GUIDs follow the shape, the
/// slowest coordinate.
Grid with_dimensions_sorted(const Grid& grid) {
    struct Key {
        std::uint64_t apart = 0;
        std::uint64_t cables = 0;
        std::uint64_t lowest = ~std::uint64_t{0};
    };
    std::vector<Key> keys(grid.dimensions.size());
    for (std::uint32_t position = 0; position < grid.switches.size(); ++position) {
        for (std::size_t i = 0; i < keys.size(); ++i) {
            const std::uint32_t next = (grid.coordinate(position, i) + 1) % grid.dimensions[i].size;
            const std::uint32_t a = grid.switches[position];
            const std::uint32_t b = grid.switches[grid.moved(position, i, next)];
            if (a != kNoIndex && b != kNoIndex) {
                keys[i].apart += std::max(a, b) - std::min(a, b);
                ++keys[i].cables;
                keys[i].lowest =
                    std::min(keys[i].lowest, std::uint64_t{std::min(a, b)} << 32 | std::max(a, b));
            }
        }
    }
    std::vector<std::size_t> order(keys.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        const std::uint64_t mine = keys[a].apart * keys[b].cables;
        const std::uint64_t theirs = keys[b].apart * keys[a].cables;
        return mine != theirs ? mine > theirs : keys[a].lowest < keys[b].lowest;
    });
    return reordered(grid, order);
}

}  // namespace

base::Result<Grids> find_grids(const Topology& topology, const Graph& graph) {
    Grids result;
    result.grid_of.assign(graph.switch_count(), 0);
    result.position.assign(graph.switch_count(), 0);
    for (const Piece& piece : pieces_of(graph)) {
        const std::optional<Axes> axes = find_axes(piece);
        Placement placement(topology, piece);
        const std::string reason =
            axes ? placement.find(*axes) : "its switches form too many different squares";
        if (!reason.empty()) {
            return base::fail(
                base::ErrorKind::unsupported,
                fmt::format("the fabric is no grid (mesh, torus, hypercube, HyperX): {}", reason));
        }
        Grid grid = placement.grid();
        for (std::uint32_t& item : grid.switches) {
            item = item == kNoIndex ? kNoIndex : piece.members[item];
        }
        grid = renumbered(with_dimensions_sorted(grid));
        for (std::uint32_t position = 0; position < grid.switches.size(); ++position) {
            if (grid.switches[position] != kNoIndex) {
                result.grid_of[grid.switches[position]] = static_cast<std::uint32_t>(result.grids.size());
                result.position[grid.switches[position]] = position;
            }
        }
        result.grids.push_back(std::move(grid));
    }
    return result;
}

Grid reordered(const Grid& grid, const std::vector<std::size_t>& order) {
    Grid result;
    for (const std::size_t dimension : order) {
        result.dimensions.push_back(grid.dimensions[dimension]);
    }
    result.switches.assign(grid.switches.size(), kNoIndex);
    for (std::uint32_t position = 0; position < grid.switches.size(); ++position) {
        std::uint32_t to = 0;
        for (const std::size_t dimension : order) {
            to = to * grid.dimensions[dimension].size + grid.coordinate(position, dimension);
        }
        result.switches[to] = grid.switches[position];
    }
    return result;
}

namespace {

/// Replaces dimensions `a` and `b` of size 2 by a ring of four in the place of `a`.
Grid joined(const Grid& grid, std::size_t a, std::size_t b) {
    std::vector<std::size_t> order(grid.dimensions.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    order.erase(order.begin() + static_cast<std::ptrdiff_t>(b));
    order.insert(order.begin() + static_cast<std::ptrdiff_t>(a) + 1, b);
    const Grid adjacent = reordered(grid, order);
    Grid result = adjacent;
    result.dimensions.erase(result.dimensions.begin() + static_cast<std::ptrdiff_t>(a));
    result.dimensions[a] = {LineKind::ring, 4};
    for (std::uint32_t position = 0; position < adjacent.switches.size(); ++position) {
        const std::uint32_t around = result.coordinate(position, a);
        const std::uint32_t square = around ^ (around >> 1U);  // Gray code: one line at a time
        result.switches[position] = adjacent.switches[result.moved(position, a, square)];
    }
    return result;
}

}  // namespace

Grid with_rings_of_four(const Grid& grid) {
    Grid result = grid;
    while (true) {
        const auto is_pair = [](const Dimension& dimension) { return dimension.size == 2; };
        const auto first = std::find_if(result.dimensions.begin(), result.dimensions.end(), is_pair);
        if (first == result.dimensions.end()) {
            return result;
        }
        const auto second = std::find_if(first + 1, result.dimensions.end(), is_pair);
        if (second == result.dimensions.end()) {
            return result;
        }
        result = joined(result, static_cast<std::size_t>(first - result.dimensions.begin()),
                        static_cast<std::size_t>(second - result.dimensions.begin()));
    }
}

std::string describe(const Grid& grid) {
    if (grid.dimensions.empty()) {
        return "single switch";
    }
    const auto all = [&](const auto& test) {
        return std::all_of(grid.dimensions.begin(), grid.dimensions.end(), test);
    };
    std::vector<std::uint32_t> sizes;
    for (const Dimension& dimension : grid.dimensions) {
        sizes.push_back(dimension.size);
    }
    if (all([](const Dimension& d) { return d.size == 2; })) {
        return fmt::format("hypercube of {} dimension{}", sizes.size(), sizes.size() == 1 ? "" : "s");
    }
    if (all([](const Dimension& d) { return d.kind == LineKind::open; })) {
        return fmt::format("{} mesh", fmt::join(sizes, "x"));
    }
    if (all([](const Dimension& d) { return d.kind == LineKind::ring || d.size == 2; })) {
        return fmt::format("{} torus", fmt::join(sizes, "x"));
    }
    if (all([](const Dimension& d) { return d.kind == LineKind::clique || d.size <= 3; })) {
        return fmt::format("{} HyperX", fmt::join(sizes, "x"));
    }
    constexpr const char* kKinds[] = {"line", "ring", "clique"};
    std::vector<std::string> parts;
    for (const Dimension& dimension : grid.dimensions) {
        parts.push_back(
            fmt::format("{} {}", kKinds[static_cast<std::size_t>(dimension.kind)], dimension.size));
    }
    return fmt::format("grid of {}", fmt::join(parts, ", "));
}

}  // namespace ibf::routing
