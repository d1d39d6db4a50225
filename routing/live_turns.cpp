#include "routing/live_turns.hpp"

#include <algorithm>

#include "routing/parallel.hpp"

namespace ibf::routing {

namespace {

/// Sets of turns.
class TurnBits {
public:
    explicit TurnBits(std::uint32_t turns) : words_((turns + std::size_t{63}) / 64, 0) {}
    void add(std::uint32_t turn) { words_[turn / 64] |= std::uint64_t{1} << (turn % 64); }
    [[nodiscard]] bool has(std::uint32_t turn) const { return (words_[turn / 64] >> (turn % 64) & 1U) != 0; }
    void merge(const TurnBits& other) {
        std::transform(words_.begin(), words_.end(), other.words_.begin(), words_.begin(),
                       [](std::uint64_t a, std::uint64_t b) { return a | b; });
    }

private:
    std::vector<std::uint64_t> words_;
};

/// The turns of paths that have a source, all LIDs together.
TurnBits turns_made(const Paths& paths) {
    const Links& links = paths.links();
    struct Scratch {
        TurnBits turns;
        std::vector<char> busy;  ///< by switch: a source lies behind it
    };
    const unsigned slots = resolve_threads(paths.threads());
    std::vector<Scratch> scratch(slots, {TurnBits(0), {}});
    const auto mark = [&](unsigned slot, const ColumnTree& tree, std::uint32_t root, const ColumnLid& to) {
        Scratch& mine = scratch[slot];
        if (mine.busy.empty()) {
            mine = {TurnBits(links.turn_count()), std::vector<char>(paths.switch_count())};
        }
        for (const std::uint32_t at : tree.order()) {
            mine.busy[at] = paths.columns().sources(at, to) != 0 ? 1 : 0;
        }
        for (auto at = tree.order().rbegin(); at != tree.order().rend(); ++at) {
            const std::uint32_t next = links.peer(tree.link(*at));
            if (next != root && mine.busy[*at] != 0) {
                mine.busy[next] = 1;
                mine.turns.add(links.turn(tree.link(*at), tree.link(next)));
            }
        }
    };
    paths.for_each_tree(paths.all_lids(), paths.threads(), mark);
    TurnBits all(links.turn_count());
    for (const Scratch& part : scratch) {
        if (!part.busy.empty()) {
            all.merge(part.turns);
        }
    }
    return all;
}

/// Tarjan's strongly connected components, without recursion. Component numbers are dense.
class Components {
public:
    Components(const Links& links, const TurnBits& turns)
        : links_(links),
          turns_(turns),
          found_(links.count(), 0),
          low_(links.count(), 0),
          of_(links.count(), kNoIndex) {
        for (std::uint32_t link = 0; link < links.count(); ++link) {
            if (found_[link] == 0) {
                search(link);
            }
        }
    }
    [[nodiscard]] std::uint32_t of(std::uint32_t link) const { return of_[link]; }

private:
    struct Frame {
        std::uint32_t link;
        std::uint32_t turn;  ///< the next one to look at
    };

    void open(std::uint32_t link) {
        found_[link] = low_[link] = ++time_;
        stack_.push_back(link);
        frames_.push_back({link, links_.first_turn(link)});
    }

    void search(std::uint32_t start) {
        open(start);
        while (!frames_.empty()) {
            const std::uint32_t link = frames_.back().link;
            const std::uint32_t turn = frames_.back().turn++;
            if (turn == links_.first_turn(link + 1)) {
                close(link);
            } else if (turns_.has(turn)) {
                const std::uint32_t next = links_.turn_target(link, turn);
                if (found_[next] == 0) {
                    open(next);
                } else if (of_[next] == kNoIndex) {
                    low_[link] = std::min(low_[link], found_[next]);
                }
            }
        }
    }

    void close(std::uint32_t link) {
        frames_.pop_back();
        if (!frames_.empty()) {
            const std::uint32_t before = frames_.back().link;
            low_[before] = std::min(low_[before], low_[link]);
        }
        if (low_[link] != found_[link]) {
            return;
        }
        std::uint32_t member = kNoIndex;
        do {
            member = stack_.back();
            stack_.pop_back();
            of_[member] = components_;
        } while (member != link);
        ++components_;
    }

    const Links& links_;
    const TurnBits& turns_;
    std::vector<std::uint32_t> found_;  ///< when a link was first seen; 0: not yet
    std::vector<std::uint32_t> low_;    ///< the earliest link still open that it leads back to
    std::vector<std::uint32_t> of_;     ///< component; kNoIndex while open
    std::vector<std::uint32_t> stack_;
    std::vector<Frame> frames_;
    std::uint32_t time_ = 0;
    std::uint32_t components_ = 0;
};

}  // namespace

LiveTurns::LiveTurns(const Paths& paths) {
    const Links& links = paths.links();
    const TurnBits made = turns_made(paths);
    const Components components(links, made);
    vertex_.assign(links.count(), kNoIndex);
    const auto vertex_of = [&](std::uint32_t link) {
        if (vertex_[link] == kNoIndex) {
            vertex_[link] = vertices_++;
        }
        return vertex_[link];
    };
    id_.assign(links.turn_count(), kNoIndex);
    for (std::uint32_t link = 0; link < links.count(); ++link) {
        for (std::uint32_t turn = links.first_turn(link); turn < links.first_turn(link + 1); ++turn) {
            const std::uint32_t next = links.turn_target(link, turn);
            if (made.has(turn) && components.of(link) == components.of(next)) {
                id_[turn] = count();
                const std::uint32_t from = vertex_of(link);
                turns_.push_back({from, vertex_of(next)});
            }
        }
    }
}

}  // namespace ibf::routing
