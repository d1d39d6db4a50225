#include "routing/coordinates_find.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>

#include "routing/coordinates.hpp"

namespace ibf::routing {

DisjointSets::DisjointSets(std::uint32_t count) : parent_(count) {
    std::iota(parent_.begin(), parent_.end(), 0U);
}

std::uint32_t DisjointSets::find(std::uint32_t item) {
    while (parent_[item] != item) {
        parent_[item] = parent_[parent_[item]];
        item = parent_[item];
    }
    return item;
}

void DisjointSets::join(std::uint32_t a, std::uint32_t b) {
    a = find(a);
    b = find(b);
    parent_[std::max(a, b)] = std::min(a, b);
}

bool Piece::adjacent(std::uint32_t a, std::uint32_t b) const {
    const std::vector<Neighbour>& list = beside[a];
    const auto found = std::lower_bound(
        list.begin(), list.end(), b, [](const Neighbour& item, std::uint32_t key) { return item.at < key; });
    return found != list.end() && found->at == b;
}

namespace {

/// The members of one component, numbered in `number`.
Piece piece_from(const Graph& graph, std::vector<std::uint32_t> members, std::vector<std::uint32_t>& number) {
    Piece piece;
    std::sort(members.begin(), members.end());
    for (std::uint32_t local = 0; local < members.size(); ++local) {
        number[members[local]] = local;
    }
    piece.members = std::move(members);
    piece.beside.resize(piece.size());
    for (std::uint32_t a = 0; a < piece.size(); ++a) {
        for (const PortGroup& group : graph.groups_of(piece.members[a])) {
            const std::uint32_t b = number[group.peer];
            if (a < b) {
                const auto cable = static_cast<std::uint32_t>(piece.cables.size());
                piece.cables.push_back({a, b});
                piece.beside[a].push_back({b, cable});
                piece.beside[b].push_back({a, cable});
            }
        }
    }
    for (auto& list : piece.beside) {
        std::sort(list.begin(), list.end(), [](const auto& x, const auto& y) { return x.at < y.at; });
    }
    return piece;
}

}  // namespace

std::vector<Piece> pieces_of(const Graph& graph) {
    std::vector<Piece> pieces;
    std::vector<char> seen(graph.switch_count(), 0);
    std::vector<std::uint32_t> number(graph.switch_count(), 0);
    for (std::uint32_t start = 0; start < graph.switch_count(); ++start) {
        if (seen[start] != 0) {
            continue;
        }
        std::vector<std::uint32_t> members{start};
        seen[start] = 1;
        for (std::size_t head = 0; head < members.size(); ++head) {
            for (const PortGroup& group : graph.groups_of(members[head])) {
                if (seen[group.peer] == 0) {
                    seen[group.peer] = 1;
                    members.push_back(group.peer);
                }
            }
        }
        pieces.push_back(piece_from(graph, std::move(members), number));
    }
    return pieces;
}

namespace {

/// Four switches in a ring without a short cut: cables one.first and one.second are opposite, so are the
/// other two.
struct Square {
    std::array<std::uint32_t, 2> one;
    std::array<std::uint32_t, 2> other;
};

/// Two switches two hops apart with exactly two switches between them span a square. In a clique there are
/// more between them, on a straight line there is one.
class SquareFinder {
public:
    explicit SquareFinder(const Piece& piece) : piece_(piece), middles_(piece.size()) {}

    std::vector<Square> find() {
        for (std::uint32_t from = 0; from < piece_.size(); ++from) {
            look_from(from);
        }
        return std::move(squares_);
    }

private:
    struct Middle {
        std::uint32_t at = 0;
        std::uint32_t near_cable = 0;
        std::uint32_t far_cable = 0;
    };
    struct Middles {
        std::uint32_t count = 0;
        std::array<Middle, 2> first;
    };

    void look_from(std::uint32_t from) {
        for (const Piece::Neighbour& near : piece_.beside[from]) {
            for (const Piece::Neighbour& far : piece_.beside[near.at]) {
                if (far.at <= from) {
                    continue;
                }
                Middles& between = middles_[far.at];
                if (between.count == 0) {
                    touched_.push_back(far.at);
                }
                if (between.count < 2) {
                    between.first[between.count] = {near.at, near.cable, far.cable};
                }
                ++between.count;
            }
        }
        for (const std::uint32_t to : touched_) {
            const Middles& between = middles_[to];
            const auto& [a, b] = between.first;
            if (between.count == 2 && !piece_.adjacent(from, to) && !piece_.adjacent(a.at, b.at)) {
                squares_.push_back({{a.near_cable, b.far_cable}, {b.near_cable, a.far_cable}});
            }
            middles_[to].count = 0;
        }
        touched_.clear();
    }

    const Piece& piece_;
    std::vector<Middles> middles_;
    std::vector<std::uint32_t> touched_;
    std::vector<Square> squares_;
};

/// Cables that are opposite each other in squares, and which of these classes meet in one.
struct Classes {
    std::vector<std::uint32_t> of_cable;
    std::vector<std::uint32_t> cables;  ///< how many, by class
    std::size_t words = 0;
    std::vector<std::uint64_t> meets;  ///< bit rows by class

    [[nodiscard]] std::size_t count() const { return cables.size(); }
    [[nodiscard]] const std::uint64_t* row(std::uint32_t of) const { return meets.data() + of * words; }
    [[nodiscard]] bool meet(std::uint32_t a, std::uint32_t b) const {
        return (row(a)[b / 64] >> (b % 64) & 1U) != 0;
    }
};

constexpr std::size_t kClassesMax = 8192;  ///< 8 MB of bits; a clique of 128 in one dimension has 8128

std::optional<Classes> classes_of(const Piece& piece, const std::vector<Square>& squares) {
    const auto count = static_cast<std::uint32_t>(piece.cables.size());
    DisjointSets sets(count);
    for (const Square& square : squares) {
        sets.join(square.one[0], square.one[1]);
        sets.join(square.other[0], square.other[1]);
    }
    Classes classes;
    classes.of_cable.resize(count);
    for (std::uint32_t cable = 0; cable < count; ++cable) {
        const std::uint32_t first = sets.find(cable);  // the lowest of its class, so numbered already
        if (first == cable) {
            classes.of_cable[cable] = static_cast<std::uint32_t>(classes.cables.size());
            classes.cables.push_back(0);
        } else {
            classes.of_cable[cable] = classes.of_cable[first];
        }
        ++classes.cables[classes.of_cable[cable]];
    }
    if (classes.count() > kClassesMax) {
        return std::nullopt;
    }
    classes.words = (classes.count() + 63) / 64;
    classes.meets.assign(classes.count() * classes.words, 0);
    for (const Square& square : squares) {
        const std::uint32_t a = classes.of_cable[square.one[0]];
        const std::uint32_t b = classes.of_cable[square.other[0]];
        classes.meets[a * classes.words + b / 64] |= std::uint64_t{1} << (b % 64);
        classes.meets[b * classes.words + a / 64] |= std::uint64_t{1} << (a % 64);
    }
    return classes;
}

/// Classes of one dimension as far as they are found, and all classes that any of them meets.
struct Axis {
    std::vector<std::uint32_t> classes;
    std::vector<std::uint64_t> meets;
};

/// A class runs along an axis if it meets less than half of it and meets what that meets. Whole grids give
/// all or nothing. Where squares are missing, classes fall apart, so their cables are counted: splinters
/// weigh little.
bool belongs(const Classes& classes, std::uint32_t item, const Axis& axis) {
    std::uint64_t whole = 0;
    std::uint64_t met = 0;
    for (const std::uint32_t other : axis.classes) {
        whole += classes.cables[other];
        met += classes.meet(item, other) ? classes.cables[other] : 0;
    }
    std::uint64_t mine = 0;
    std::uint64_t shared = 0;
    for (std::size_t word = 0; word < classes.words; ++word) {
        for (std::uint64_t bits = classes.row(item)[word]; bits != 0; bits &= bits - 1) {
            const auto bit = static_cast<unsigned>(std::countr_zero(bits));
            mine += classes.cables[word * 64 + bit];
            shared += (axis.meets[word] >> bit & 1U) != 0 ? classes.cables[word * 64 + bit] : 0;
        }
    }
    return 2 * met < whole && 4 * shared >= mine;
}

std::optional<std::vector<Axis>> axes_of(const Classes& classes) {
    std::vector<std::uint32_t> order(classes.count());
    std::iota(order.begin(), order.end(), 0U);
    std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
        return classes.cables[a] > classes.cables[b];  // the most intact first
    });
    std::vector<Axis> axes;
    for (const std::uint32_t item : order) {
        const std::uint64_t* row = classes.row(item);
        if (std::all_of(row, row + classes.words, [](std::uint64_t word) { return word == 0; })) {
            continue;  // no square is left around these cables
        }
        auto axis = std::find_if(axes.begin(), axes.end(),
                                 [&](const Axis& known) { return belongs(classes, item, known); });
        if (axis == axes.end()) {
            if (axes.size() == kDimensionsMax) {
                return std::nullopt;
            }
            axis = axes.insert(axes.end(), {{}, std::vector<std::uint64_t>(classes.words, 0)});
        }
        axis->classes.push_back(item);
        for (std::size_t word = 0; word < classes.words; ++word) {
            axis->meets[word] |= row[word];
        }
    }
    return axes;
}

}  // namespace

std::optional<Axes> find_axes(const Piece& piece) {
    const std::vector<Square> squares = SquareFinder(piece).find();
    Axes result;
    if (squares.empty()) {  // one dimension: nothing meets anything
        result.count = piece.cables.empty() ? 0 : 1;
        result.of_cable.assign(piece.cables.size(), 0);
        return result;
    }
    const std::optional<Classes> classes = classes_of(piece, squares);
    const std::optional<std::vector<Axis>> axes = classes ? axes_of(*classes) : std::nullopt;
    if (!axes) {
        return std::nullopt;
    }
    std::vector<std::uint8_t> axis_of(classes->count(), kNoAxis);
    for (std::size_t axis = 0; axis < axes->size(); ++axis) {
        for (const std::uint32_t item : (*axes)[axis].classes) {
            axis_of[item] = static_cast<std::uint8_t>(axis);
        }
    }
    result.count = axes->size();
    for (const std::uint32_t item : classes->of_cable) {
        result.of_cable.push_back(axis_of[item]);
    }
    return result;
}

}  // namespace ibf::routing
