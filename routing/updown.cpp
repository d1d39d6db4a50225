#include "routing/updown.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <utility>

#include <fmt/format.h>

#include "routing/byte_lines.hpp"
#include "routing/parallel.hpp"

namespace ibf::routing {

namespace {

constexpr std::uint32_t kStrip = ByteLine::kBytes;  ///< destinations that one inner loop handles
constexpr std::uint8_t kNoGoal = 254;               ///< whole + 1 never gets here: kDistanceMax is lower

/// 64 columns of a matrix, or of a scratch copy that is only 64 wide.
struct Strip {
    std::uint8_t* first = nullptr;
    std::uint32_t stride = 0;

    [[nodiscard]] std::uint8_t* row(std::uint32_t at) const { return first + std::size_t{at} * stride; }
};

struct StripHops {
    Strip down;
    Strip whole;
    Strip goal;
};

StripHops strip_of(UpDownHops& hops, std::size_t column) {
    const auto cut = [column](ByteMatrix& matrix) { return Strip{matrix.row(0) + column, matrix.stride()}; };
    return {cut(hops.down), cut(hops.whole), cut(hops.goal)};
}

/// Who can go down must: the goal of going up is then one that no neighbour meets.
void settle_down(std::uint8_t* whole, std::uint8_t* goal, const std::uint8_t* down) {
    const ByteLine no_descent = ByteLine(down).equals(ByteLine(kUnreached));
    const ByteLine climbed(whole);
    ByteLine length(down);
    length.take(climbed, no_descent);
    length.store(whole);
    ByteLine wanted(kNoGoal);
    wanted.take(climbed, no_descent);
    wanted.store(goal);
}

enum class Link : std::uint8_t { up, down, spare };
enum class Use : std::uint8_t { no_spares, all };

/// What all strips of one matrix are filled from.
class HopFiller {
public:
    HopFiller(const Graph& graph, const UpDownOrder& order)
        : graph_(graph), order_(order), by_position_(graph.switch_count()) {
        for (std::uint32_t at = 0; at < graph.switch_count(); ++at) {
            by_position_[order.position[at]] = at;
            for (const PortGroup& group : graph.groups_of(at)) {
                const bool spare = order.is_spare(at, group.peer);
                has_spares_ = has_spares_ || spare;
                links_.push_back(order.is_up(at, group.peer) ? Link::up : spare ? Link::spare : Link::down);
            }
        }
        components_ = components_of(graph);
    }

    void fill(std::uint32_t column, UpDownHops& out, std::vector<std::uint8_t>& scratch) const {
        const StripHops strip = strip_of(out, column);
        fill_strip(column, Use::no_spares, strip);
        if (!has_spares_) {
            return;
        }
        const ByteLine lost = find_lost(column, strip.whole);
        if (!lost.any()) {
            return;
        }
        const std::size_t size = std::size_t{graph_.switch_count()} * kStrip;
        scratch.resize(3 * size);
        const StripHops other{
            {scratch.data(), kStrip}, {scratch.data() + size, kStrip}, {scratch.data() + 2 * size, kStrip}};
        fill_strip(column, Use::all, other);
        for (std::uint32_t at = 0; at < graph_.switch_count(); ++at) {
            take_lost(lost, other.down.row(at), strip.down.row(at));
            take_lost(lost, other.whole.row(at), strip.whole.row(at));
            take_lost(lost, other.goal.row(at), strip.goal.row(at));
        }
    }

private:
    /// Down distances from the end of the order to its start, then the whole paths from the start to the end.
    void fill_strip(std::uint32_t column, Use use, const StripHops& out) const {
        for (auto it = by_position_.rbegin(); it != by_position_.rend(); ++it) {
            const std::uint32_t at = *it;
            std::uint8_t* mine = out.down.row(at);
            std::fill_n(mine, kStrip, kUnreached);
            if (at - column < kStrip) {
                mine[at - column] = 0;
            }
            step(at, out.down, mine,
                 [use](Link link) { return link == Link::down || (link == Link::spare && use == Use::all); });
        }
        for (const std::uint32_t at : by_position_) {
            std::uint8_t* mine = out.whole.row(at);
            std::fill_n(mine, kStrip, kUnreached);
            step(at, out.whole, mine, [](Link link) { return link == Link::up; });
            settle_down(mine, out.goal.row(at), out.down.row(at));
        }
    }

    template <class Takes>
    void step(std::uint32_t at, const Strip& from, std::uint8_t* mine, const Takes& takes) const {
        ByteLine nearest(kUnreached);
        const std::uint32_t first = graph_.first_group[at];
        for (std::uint32_t group = first; group < graph_.first_group[at + 1]; ++group) {
            if (takes(links_[group])) {
                nearest.lower_to(ByteLine(from.row(graph_.groups[group].peer)));
            }
        }
        nearest.add_one_below(kUnreached);
        nearest.lower_to(ByteLine(mine));
        nearest.store(mine);
    }

    /// 255 for destinations that a switch of their own component does not reach.
    [[nodiscard]] ByteLine find_lost(std::uint32_t column, const Strip& whole) const {
        std::array<std::uint8_t, kStrip> home{};
        const std::uint32_t end = std::min(graph_.switch_count(), column + kStrip);
        std::copy(components_.begin() + column, components_.begin() + end, home.begin());
        const ByteLine homes(home.data());
        ByteLine lost(std::uint8_t{0});
        for (std::uint32_t at = 0; at < graph_.switch_count(); ++at) {
            ByteLine missing = ByteLine(whole.row(at)).equals(ByteLine(kUnreached));
            missing.mask(homes.equals(ByteLine(components_[at])));
            lost.merge(missing);
        }
        std::array<std::uint8_t, kStrip> real{};
        std::fill_n(real.begin(), end - column, std::uint8_t{0xFF});
        lost.mask(ByteLine(real.data()));
        return lost;
    }

    static void take_lost(const ByteLine& lost, const std::uint8_t* from, std::uint8_t* into) {
        ByteLine line(into);
        line.take(ByteLine(from), lost);
        line.store(into);
    }

    /// The low byte of a number per component: two components that share it cost time, not paths.
    static std::vector<std::uint8_t> components_of(const Graph& graph) {
        std::vector<std::uint32_t> number(graph.switch_count(), kNoIndex);
        std::vector<std::uint8_t> low(graph.switch_count(), 0);
        std::uint32_t next = 0;
        std::vector<std::uint32_t> open;
        for (std::uint32_t start = 0; start < graph.switch_count(); ++start) {
            if (number[start] != kNoIndex) {
                continue;
            }
            number[start] = next++;
            open.push_back(start);
            while (!open.empty()) {
                const std::uint32_t at = open.back();
                open.pop_back();
                low[at] = static_cast<std::uint8_t>(number[at]);
                for (const PortGroup& group : graph.groups_of(at)) {
                    if (number[group.peer] == kNoIndex) {
                        number[group.peer] = number[at];
                        open.push_back(group.peer);
                    }
                }
            }
        }
        return low;
    }

    const Graph& graph_;
    const UpDownOrder& order_;
    std::vector<std::uint32_t> by_position_;
    std::vector<Link> links_;  ///< by graph group
    std::vector<std::uint8_t> components_;
    bool has_spares_ = false;
};

}  // namespace

base::Result<UpDownHops> up_down_hops(const Graph& graph, const UpDownOrder& order, unsigned threads) {
    const std::uint32_t count = graph.switch_count();
    UpDownHops hops{ByteMatrix(count), ByteMatrix(count), ByteMatrix(count)};
    const HopFiller filler(graph, order);
    std::vector<std::vector<std::uint8_t>> scratch(resolve_threads(threads));
    std::atomic<bool> too_long{false};
    parallel_ranges(
        (std::size_t{count} + kStrip - 1) / kStrip * kStrip, kStrip, threads, [&](const WorkRange& range) {
            const auto column = static_cast<std::uint32_t>(range.begin);
            filler.fill(column, hops, scratch[range.slot]);
            for (std::uint32_t at = 0; at < count; ++at) {
                const std::uint8_t* row = hops.whole.row(at) + column;
                if (std::any_of(row, row + kStrip,
                                [](std::uint8_t d) { return d > kDistanceMax && d != kUnreached; })) {
                    too_long = true;
                }
            }
        });
    if (too_long) {
        return base::fail(base::ErrorKind::unsupported,
                          fmt::format("an up/down path is longer than {} hops", kDistanceMax));
    }
    return hops;
}

CandidateRule up_down_rule(const Graph& graph, const UpDownOrder& order,
                           std::shared_ptr<const UpDownHops> hops) {
    return [&graph, &order, hops = std::move(hops)](std::uint32_t at, const PortGroup& group) -> HopRows {
        if (order.is_up(at, group.peer)) {
            return {hops->whole.row(group.peer), hops->goal.row(at)};
        }
        return {hops->down.row(group.peer), hops->down.row(at)};
    };
}

}  // namespace ibf::routing
