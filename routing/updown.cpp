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

std::uint32_t strip_count(std::uint32_t switches) {
    return (switches + kStrip - 1) / kStrip;
}

/// Where can go down does; whole is what remains else.
void prefer_down(ByteLine& whole, const ByteLine& down) {
    ByteLine length = down;
    length.take(whole, down.equals(ByteLine(kUnreached)));
    whole = length;
}

/// The low byte of a number per component: two components that share it cost time, not paths.
std::vector<std::uint8_t> components_of(const Graph& graph) {
    std::vector<char> seen(graph.switch_count(), 0);
    std::vector<std::uint8_t> low(graph.switch_count(), 0);
    std::vector<std::uint32_t> open;
    std::uint8_t next = 0;
    for (std::uint32_t start = 0; start < graph.switch_count(); ++start) {
        if (seen[start] != 0) {
            continue;
        }
        seen[start] = 1;
        open.push_back(start);
        while (!open.empty()) {
            const std::uint32_t at = open.back();
            open.pop_back();
            low[at] = next;
            for (const PortGroup& group : graph.groups_of(at)) {
                if (group.peer != kNoIndex && seen[group.peer] == 0) {
                    seen[group.peer] = 1;
                    open.push_back(group.peer);
                }
            }
        }
        ++next;
    }
    return low;
}

/// Hops of one line of destinations, all switches.
struct StripHops {
    std::vector<std::uint8_t> down;
    std::vector<std::uint8_t> whole;

    void resize(std::uint32_t switches) {
        down.resize(std::size_t{switches} * kStrip);
        whole.resize(std::size_t{switches} * kStrip);
    }
    [[nodiscard]] std::uint8_t* down_at(std::uint32_t at) { return &down[at * std::size_t{kStrip}]; }
    [[nodiscard]] std::uint8_t* whole_at(std::uint32_t at) { return &whole[at * std::size_t{kStrip}]; }
};

enum class Use : std::uint8_t { no_spares, all };

/// Fills lines of the hops of one evaluation. Shared by all threads.
class HopFiller {
public:
    explicit HopFiller(const UpDown& plan)
        : plan_(plan), graph_(*plan.graph), by_position_(graph_.switch_count()) {
        for (std::uint32_t at = 0; at < graph_.switch_count(); ++at) {
            by_position_[plan.order.position[at]] = at;
        }
        has_spares_ = std::find(plan.links.begin(), plan.links.end(), UpDownLink::spare) != plan.links.end();
    }

    [[nodiscard]] const std::vector<std::uint32_t>& by_position() const { return by_position_; }

    /// True if some destination of the line needs spare links. `other` is scratch.
    bool fill(std::uint32_t line, StripHops& out, StripHops& other) const {
        fill_strip(line, Use::no_spares, out);
        if (!has_spares_) {
            return false;
        }
        ByteLine lost(std::uint8_t{0});
        const ByteLine homes = homes_of(line);
        for (std::uint32_t at = 0; at < graph_.switch_count(); ++at) {
            lost.merge(lost_of(at, ByteLine(out.whole_at(at)), homes));
        }
        lost.mask(real_columns(line));
        if (!lost.any()) {
            return false;
        }
        fill_strip(line, Use::all, other);
        const auto take_lost = [&lost](const std::vector<std::uint8_t>& from,
                                       std::vector<std::uint8_t>& into) {
            for (std::size_t i = 0; i < into.size(); i += kStrip) {
                ByteLine bytes(&into[i]);
                bytes.take(ByteLine(&from[i]), lost);
                bytes.store(&into[i]);
            }
        };
        take_lost(other.down, out.down);
        take_lost(other.whole, out.whole);
        return true;
    }

    /// Down distances of one switch from those of its neighbours; `row(s)` is where those of s begin.
    template <class Row>
    [[nodiscard]] ByteLine down_of(std::uint32_t at, std::uint32_t line, Use use, const Row& row) const {
        ByteLine mine = nearest(at, row, [use](UpDownLink link) {
            return link == UpDownLink::down || (link == UpDownLink::spare && use == Use::all);
        });
        if (at / kStrip == line) {
            std::array<std::uint8_t, kStrip> self{};
            mine.store(self.data());
            self[at % kStrip] = 0;
            mine = ByteLine(self.data());
        }
        return mine;
    }

    /// Whole paths of one switch from the whole paths of those above it, and from the down distances (its own
    /// among them) of those that spare links lead to.
    template <class Row, class DownRow>
    [[nodiscard]] ByteLine whole_of(std::uint32_t at, const Row& row, const DownRow& down) const {
        ByteLine mine = nearest(at, row, [](UpDownLink link) { return link == UpDownLink::up; });
        if (has_spares_) {
            mine.lower_to(nearest(at, down, [](UpDownLink link) { return link == UpDownLink::spare; }));
        }
        prefer_down(mine, ByteLine(down(at)));
        return mine;
    }

    /// 255 for destinations of its own component that a switch does not reach.
    [[nodiscard]] ByteLine lost_of(std::uint32_t at, const ByteLine& whole, const ByteLine& homes) const {
        ByteLine missing = whole.equals(ByteLine(kUnreached));
        missing.mask(homes.equals(ByteLine(plan_.components[at])));
        return missing;
    }
    [[nodiscard]] ByteLine homes_of(std::uint32_t line) const {
        std::array<std::uint8_t, kStrip> homes{};
        std::copy_n(plan_.components.begin() + line * kStrip, real_count(line), homes.begin());
        return ByteLine(homes.data());
    }
    /// 255 for columns that are switches.
    [[nodiscard]] ByteLine real_columns(std::uint32_t line) const {
        std::array<std::uint8_t, kStrip> real{};
        std::fill_n(real.begin(), real_count(line), std::uint8_t{0xFF});
        return ByteLine(real.data());
    }

private:
    [[nodiscard]] std::uint32_t real_count(std::uint32_t line) const {
        return std::min(graph_.switch_count() - line * kStrip, kStrip);
    }

    /// Down distances from the end of the order to its start, then the whole paths from the start to the end.
    void fill_strip(std::uint32_t line, Use use, StripHops& out) const {
        const auto down = [&out](std::uint32_t at) { return out.down_at(at); };
        const auto whole = [&out](std::uint32_t at) { return out.whole_at(at); };
        for (auto it = by_position_.rbegin(); it != by_position_.rend(); ++it) {
            down_of(*it, line, use, down).store(down(*it));
        }
        for (const std::uint32_t at : by_position_) {
            whole_of(at, whole, down).store(whole(at));
        }
    }

    template <class Row, class Takes>
    [[nodiscard]] ByteLine nearest(std::uint32_t at, const Row& row, const Takes& takes) const {
        ByteLine nearest(kUnreached);
        for (std::uint32_t group = graph_.first_group[at]; group < graph_.first_group[at + 1]; ++group) {
            if (takes(plan_.links[group])) {
                nearest.lower_to(ByteLine(row(graph_.groups[group].peer)));
            }
        }
        nearest.add_one_below(kUnreached);
        return nearest;
    }

    const UpDown& plan_;
    const Graph& graph_;
    std::vector<std::uint32_t> by_position_;
    bool has_spares_ = false;
};

/// Works out every line.
void fill_all(const HopFiller& filler, unsigned threads, UpDown& out) {
    const std::uint32_t count = out.graph->switch_count();
    std::vector<StripHops> strips(resolve_threads(threads));
    std::vector<StripHops> scratch(strips.size());
    parallel_ranges(strip_count(count), 1, threads, [&](const WorkRange& range) {
        StripHops& strip = strips[range.slot];
        strip.resize(count);
        scratch[range.slot].resize(count);
        const auto line = static_cast<std::uint32_t>(range.begin);
        out.needs_spares[line] = filler.fill(line, strip, scratch[range.slot]) ? 1 : 0;
        for (std::uint32_t at = 0; at < count; ++at) {
            ByteLine(strip.down_at(at)).store(out.down.row(at) + line * kStrip);
            ByteLine(strip.whole_at(at)).store(out.whole.row(at) + line * kStrip);
        }
    });
}

/// Works out the lines that lost and new links reach; the rest stays shared with the evaluation before.
class HopUpdater {
public:
    HopUpdater(const UpDown& before, const HopFiller& filler, UpDown& now)
        : before_(before),
          filler_(filler),
          graph_(*now.graph),
          lines_(strip_count(graph_.switch_count())),
          now_(now),
          changes_{LineBits(graph_.switch_count(), lines_), LineBits(graph_.switch_count(), lines_),
                   std::vector<char>(graph_.switch_count(), 0)},
          owns_down_(graph_.switch_count(), 0),
          owns_whole_(graph_.switch_count(), 0),
          redo_(lines_) {}

    UpDownChanges run(unsigned threads) {
        for (std::uint32_t line = 0; line < lines_; ++line) {
            if (before_.needs_spares[line] != 0) {
                redo_.set(line);
            }
        }
        find_relinked();
        LineSet due(lines_);
        const std::vector<std::uint32_t>& by_position = filler_.by_position();
        for (auto it = by_position.rbegin(); it != by_position.rend(); ++it) {
            gather(*it, UpDownLink::down, changes_.down, due);
            due.for_each([&](std::uint32_t line) { update_down(*it, line); });
        }
        for (const std::uint32_t at : by_position) {
            gather(at, UpDownLink::up, changes_.whole, due);
            merge(at, UpDownLink::spare, changes_.down, due);
            due.merge(changes_.down.row(at));
            due.for_each([&](std::uint32_t line) { update_whole(at, line); });
        }
        redo_spares(threads);
        return std::move(changes_);
    }

private:
    void find_relinked() {
        for (std::uint32_t at = 0; at < graph_.switch_count(); ++at) {
            const std::span<const PortGroup> mine = graph_.groups_of(at);
            const std::span<const PortGroup> old = before_.graph->groups_of(at);
            bool same = mine.size() == old.size();
            for (std::size_t i = 0; same && i < mine.size(); ++i) {
                same = mine[i].peer == old[i].peer && now_.links[graph_.first_group[at] + i] ==
                                                          before_.links[before_.graph->first_group[at] + i];
            }
            changes_.relinked[at] = same ? 0 : 1;
        }
    }

    void gather(std::uint32_t at, UpDownLink kind, const LineBits& changed, LineSet& due) const {
        due.clear();
        if (changes_.relinked[at] != 0) {
            due.set_all();
            return;
        }
        merge(at, kind, changed, due);
    }

    /// Adds the lines that changed at those whom links of this kind lead to.
    void merge(std::uint32_t at, UpDownLink kind, const LineBits& changed, LineSet& due) const {
        for (std::uint32_t group = graph_.first_group[at]; group < graph_.first_group[at + 1]; ++group) {
            if (now_.links[group] == kind) {
                due.merge(changed.row(graph_.groups[group].peer));
            }
        }
    }

    void update_down(std::uint32_t at, std::uint32_t line) {
        if (!redo_.has(line)) {
            const ByteLine fresh = filler_.down_of(at, line, Use::no_spares, [&](std::uint32_t peer) {
                return std::as_const(now_.down).row(peer) + line * kStrip;
            });
            put(at, line, fresh, now_.down, owns_down_, changes_.down);
        }
    }

    void update_whole(std::uint32_t at, std::uint32_t line) {
        if (redo_.has(line)) {
            return;
        }
        const ByteLine fresh = filler_.whole_of(
            at, [&](std::uint32_t peer) { return std::as_const(now_.whole).row(peer) + line * kStrip; },
            [&](std::uint32_t peer) { return std::as_const(now_.down).row(peer) + line * kStrip; });
        if (put(at, line, fresh, now_.whole, owns_whole_, changes_.whole)) {
            ByteLine lost = filler_.lost_of(at, fresh, filler_.homes_of(line));
            lost.mask(filler_.real_columns(line));
            if (lost.any()) {
                lost_.push_back(line);
            }
        }
    }

    /// Lines that need spare links now, or did before, are filled as if nothing were known.
    void redo_spares(unsigned threads) {
        for (const std::uint32_t line : lost_) {
            redo_.set(line);
        }
        std::vector<std::uint32_t> lines;
        redo_.for_each([&](std::uint32_t line) { lines.push_back(line); });
        const std::uint32_t count = graph_.switch_count();
        std::vector<StripHops> strips(lines.size());
        std::vector<StripHops> scratch(resolve_threads(threads));
        parallel_ranges(lines.size(), 1, threads, [&](const WorkRange& range) {
            const std::uint32_t line = lines[range.begin];
            strips[range.begin].resize(count);
            scratch[range.slot].resize(count);
            now_.needs_spares[line] = filler_.fill(line, strips[range.begin], scratch[range.slot]) ? 1 : 0;
        });
        for (std::size_t i = 0; i < lines.size(); ++i) {
            for (std::uint32_t at = 0; at < count; ++at) {
                put(at, lines[i], ByteLine(strips[i].down_at(at)), now_.down, owns_down_, changes_.down);
                put(at, lines[i], ByteLine(strips[i].whole_at(at)), now_.whole, owns_whole_, changes_.whole);
            }
        }
    }

    /// Compares with what stands there, which may be shared; true if it differs.
    static bool put(std::uint32_t at, std::uint32_t line, const ByteLine& bytes, ByteMatrix& matrix,
                    std::vector<char>& owns, LineBits& changed) {
        if (!bytes.differs(ByteLine(std::as_const(matrix).row(at) + line * kStrip))) {
            return false;
        }
        if (owns[at] == 0) {
            matrix.own_row(at);
            owns[at] = 1;
        }
        bytes.store(matrix.row(at) + line * kStrip);
        changed.set(at, line);
        return true;
    }

    const UpDown& before_;
    const HopFiller& filler_;
    const Graph& graph_;
    std::uint32_t lines_;
    UpDown& now_;
    UpDownChanges changes_;
    std::vector<char> owns_down_;
    std::vector<char> owns_whole_;
    LineSet redo_;
    std::vector<std::uint32_t> lost_;
};

/// Rows that nothing changed in were looked at before.
bool is_too_long(const ByteMatrix& whole, std::uint32_t count, const std::optional<UpDownChanges>& changes) {
    for (std::uint32_t at = 0; at < count; ++at) {
        if (changes && changes->whole.is_empty(at)) {
            continue;
        }
        const std::uint8_t* row = whole.row(at);
        ByteLine longest(std::uint8_t{0});
        for (std::uint32_t line = 0; line < strip_count(count); ++line) {
            ByteLine hops(row + line * kStrip);
            hops.take(ByteLine(std::uint8_t{0}), hops.equals(ByteLine(kUnreached)));
            longest.raise_to(hops);
        }
        if (longest.highest() > kDistanceMax) {
            return true;
        }
    }
    return false;
}

/// Groups toward switches that are gone stay, without a peer: their owners are to be seen as changed.
std::shared_ptr<const Graph> renumber_graph(const Graph& old, const std::vector<std::uint32_t>& old_of) {
    std::vector<std::uint32_t> new_of(old.switch_count(), kNoIndex);
    for (std::uint32_t at = 0; at < old_of.size(); ++at) {
        new_of[old_of[at]] = at;
    }
    auto graph = std::make_shared<Graph>();
    graph->ports = old.ports;
    graph->first_group.push_back(0);
    for (const std::uint32_t was : old_of) {
        for (PortGroup group : old.groups_of(was)) {
            group.peer = new_of[group.peer];
            graph->groups.push_back(group);
        }
        graph->first_group.push_back(static_cast<std::uint32_t>(graph->groups.size()));
        graph->hosts.push_back(old.hosts[was]);
    }
    return graph;
}

/// Neighbours in the new numbering that were neighbours in the old one are copied in one go.
void renumber_row(const std::uint8_t* from, const std::vector<std::uint32_t>& old_of, std::uint8_t* into) {
    for (std::size_t at = 0; at < old_of.size();) {
        std::size_t end = at + 1;
        while (end < old_of.size() && old_of[end] - old_of[at] == end - at) {
            ++end;
        }
        std::copy_n(from + old_of[at], end - at, into + at);
        at = end;
    }
    std::fill_n(into + old_of.size(),
                strip_count(static_cast<std::uint32_t>(old_of.size())) * kStrip - old_of.size(), kUnreached);
}

}  // namespace

std::shared_ptr<const UpDown> renumbered(const UpDown& old, const std::vector<std::uint32_t>& old_of,
                                         unsigned threads) {
    const auto count = static_cast<std::uint32_t>(old_of.size());
    const auto now = std::make_shared<UpDown>(UpDown{renumber_graph(*old.graph, old_of),
                                                     {},
                                                     {},
                                                     {},
                                                     ByteMatrix(count),
                                                     ByteMatrix(count),
                                                     std::vector<char>(strip_count(count), 0)});
    now->components = components_of(*now->graph);
    for (std::uint32_t at = 0; at < count; ++at) {
        const auto first = old.links.begin() + old.graph->first_group[old_of[at]];
        const auto end = old.links.begin() + old.graph->first_group[old_of[at] + 1];
        now->links.insert(now->links.end(), first, end);
        now->needs_spares[at / kStrip] |= old.needs_spares[old_of[at] / kStrip];
    }
    parallel_ranges(count, 64, threads, [&](const WorkRange& range) {
        for (auto at = static_cast<std::uint32_t>(range.begin); at < range.end; ++at) {
            renumber_row(old.down.row(old_of[at]), old_of, now->down.row(at));
            renumber_row(old.whole.row(old_of[at]), old_of, now->whole.row(at));
        }
    });
    return now;
}

base::Result<UpDownStep> up_down_step(std::shared_ptr<const Graph> graph, UpDownOrder order,
                                      const UpDown* before, unsigned threads) {
    const std::uint32_t count = graph->switch_count();
    std::vector<std::uint8_t> components = components_of(*graph);
    const bool builds_on = before != nullptr && before->components == components;
    const auto now = std::make_shared<UpDown>(UpDown{
        std::move(graph),
        std::move(order),
        {},
        std::move(components),
        builds_on ? before->down.share() : ByteMatrix(count),
        builds_on ? before->whole.share() : ByteMatrix(count),
        builds_on ? before->needs_spares : std::vector<char>(strip_count(count), 0),
    });
    now->links.reserve(now->graph->groups.size());
    for (std::uint32_t at = 0; at < count; ++at) {
        for (const PortGroup& group : now->graph->groups_of(at)) {
            now->links.push_back(now->order.is_up(at, group.peer)      ? UpDownLink::up
                                 : now->order.is_spare(at, group.peer) ? UpDownLink::spare
                                                                       : UpDownLink::down);
        }
    }
    const HopFiller filler(*now);
    UpDownStep step{now, std::nullopt};
    if (builds_on) {
        step.changes = HopUpdater(*before, filler, *now).run(threads);
    } else {
        fill_all(filler, threads, *now);
    }
    if (is_too_long(now->whole, count, step.changes)) {
        return base::fail(base::ErrorKind::unsupported,
                          fmt::format("an up/down path is longer than {} hops", kDistanceMax));
    }
    return step;
}

}  // namespace ibf::routing
