#include "routing/proof.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cstring>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "routing/rings.hpp"
#include "routing/verify_parts.hpp"

namespace ibf::routing {

namespace {

/// Topology reduced to what columns are followed by. Links: [switch * width + port].
struct Skeleton {
    struct Owner {
        std::uint32_t at = kNoIndex;  ///< switch
        std::uint8_t port = 0;        ///< 0: the switch itself
        bool operator==(const Owner&) const = default;
    };
    std::vector<mad::Guid> switches;
    std::uint32_t width = 1;  ///< ports of the largest switch, and one
    std::vector<std::uint16_t> next;
    std::vector<std::uint8_t> peer_port;
    std::vector<Owner> owners;     ///< by LID
    std::vector<char> has_source;  ///< by switch: end ports with a LID
    std::uint64_t sources = 0;
    bool whole = true;  ///< in one piece, every switch with a LID

    [[nodiscard]] std::size_t link(std::uint32_t at, std::uint32_t port) const {
        return std::size_t{at} * width + port;
    }
    [[nodiscard]] std::uint16_t next_of(std::uint32_t at, std::uint32_t port) const {
        return port < width ? next[link(at, port)] : kNoNext;
    }
    [[nodiscard]] std::uint32_t words() const { return (width + 63) / 64; }
};

void own(Skeleton& skeleton, mad::LidRange lids, Skeleton::Owner owner) {
    for (std::uint32_t lid = lids.base.value(); lid != 0 && lid < lids.end(); ++lid) {
        if (lid < skeleton.owners.size()) {
            skeleton.owners[lid] = owner;
        }
    }
}

bool in_one_piece(const Skeleton& skeleton) {
    std::vector<char> seen(skeleton.switches.size(), 0);
    std::vector<std::uint32_t> reached;
    const auto reach = [&](std::uint32_t at) {
        if (seen[at] == 0) {
            seen[at] = 1;
            reached.push_back(at);
        }
    };
    if (!skeleton.switches.empty()) {
        reach(0);
    }
    for (std::size_t i = 0; i < reached.size(); ++i) {
        for (std::uint32_t port = 1; port < skeleton.width; ++port) {
            if (const std::uint16_t next = skeleton.next_of(reached[i], port); next != kNoNext) {
                reach(next);
            }
        }
    }
    return reached.size() == skeleton.switches.size();
}

Skeleton skeleton_of(const Topology& topology) {
    Skeleton out;
    for (const TopologySwitch& item : topology.switches) {
        out.width = std::max<std::uint32_t>(out.width, static_cast<std::uint32_t>(item.peers.size()));
    }
    out.next.assign(topology.switches.size() * out.width, kNoNext);
    out.peer_port.assign(out.next.size(), 0);
    out.owners.resize(topology.max_lid + 1U);
    out.has_source.assign(topology.switches.size(), 0);
    for (std::uint32_t at = 0; at < topology.switches.size(); ++at) {
        const TopologySwitch& item = topology.switches[at];
        out.switches.push_back(item.guid);
        out.whole = out.whole && item.lids.count() != 0 && item.lids.base != mad::kLidNone;
        own(out, item.lids, {at, 0});
        for (std::uint32_t port = 1; port < item.peers.size(); ++port) {
            if (item.peers[port].kind == PortPeer::Kind::switch_) {
                out.next[out.link(at, port)] = static_cast<std::uint16_t>(item.peers[port].index);
                out.peer_port[out.link(at, port)] = item.peers[port].port.value();
            }
        }
    }
    for (const TopologyEndPort& item : topology.end_ports) {
        if (item.switch_index != kNoIndex && item.lids.base != mad::kLidNone) {
            own(out, item.lids, {item.switch_index, item.switch_port.value()});
            out.has_source[item.switch_index] = 1;
            ++out.sources;
        }
    }
    out.whole = out.whole && topology.switches.size() < kNoNext && in_one_piece(out);
    return out;
}

/// Which channel waits for which: [link * words]: bits of the exits of the switch that it enters.
using Waits = std::vector<std::uint64_t>;

void add(const Skeleton& skeleton, Waits& waits, std::size_t channel, std::uint32_t exit) {
    waits[channel * skeleton.words() + exit / 64] |= std::uint64_t{1} << (exit % 64);
}

template <class Do>
void for_each_wait(const Skeleton& skeleton, const Waits& waits, std::size_t channel, const Do& act) {
    for (std::uint32_t word = 0; word < skeleton.words(); ++word) {
        for (std::uint64_t bits = waits[channel * skeleton.words() + word]; bits != 0; bits &= bits - 1) {
            const auto exit = word * 64 + static_cast<std::uint32_t>(std::countr_zero(bits));
            act(skeleton.link(skeleton.next[channel], exit));
        }
    }
}

/// One cycle of channels; empty if there is none. Takes away channels that nothing waits into; each that is
/// left then has one of its kind before it.
std::vector<std::size_t> cycle_of(const Skeleton& skeleton, const Waits& waits) {
    std::vector<std::uint32_t> into(skeleton.next.size(), 0);
    std::vector<std::size_t> open;
    for (std::size_t channel = 0; channel < into.size(); ++channel) {
        for_each_wait(skeleton, waits, channel, [&](std::size_t next) { ++into[next]; });
    }
    for (std::size_t channel = 0; channel < into.size(); ++channel) {
        if (into[channel] == 0) {
            open.push_back(channel);
        }
    }
    for (std::size_t i = 0; i < open.size(); ++i) {
        for_each_wait(skeleton, waits, open[i], [&](std::size_t next) {
            if (--into[next] == 0) {
                open.push_back(next);
            }
        });
    }
    if (open.size() == into.size()) {
        return {};
    }
    std::vector<std::size_t> before(into.size(), into.size());
    std::size_t at = into.size();
    for (std::size_t channel = into.size(); channel-- > 0;) {
        if (into[channel] != 0) {
            for_each_wait(skeleton, waits, channel, [&](std::size_t next) { before[next] = channel; });
            at = channel;
        }
    }
    std::vector<char> seen(into.size(), 0);
    for (; seen[at] == 0; at = before[at]) {
        seen[at] = 1;
    }
    std::vector<std::size_t> cycle{at};
    for (std::size_t channel = before[at]; channel != at; channel = before[channel]) {
        cycle.push_back(channel);
    }
    std::reverse(cycle.begin() + 1, cycle.end());
    return cycle;
}

}  // namespace

struct Proof {
    Skeleton skeleton;
    std::vector<std::shared_ptr<const LftRow>> rows;
    Waits waits;
    /// By LID of a switch: switches from which it is not reached (from top to top of a tree no path is
    /// legal).
    std::vector<std::uint32_t> lost;
};

namespace {

Waits waits_of(const Skeleton& skeleton, const TableView& view, const Dependencies& dependencies) {
    Waits waits(skeleton.next.size() * skeleton.words(), 0);
    std::vector<std::uint32_t> slots;
    for (std::uint32_t channel = 0; channel < view.channel_count(); ++channel) {
        dependencies.list(channel, slots);
        const std::uint32_t from = view.channel_switch(channel);
        const std::size_t link = skeleton.link(from, view.channel_port(channel));
        const std::uint16_t next = view.exit(from, view.channel_port(channel)).next;
        for (const std::uint32_t slot : slots) {
            add(skeleton, waits, link, view.channel_port(view.first_channel(next) + slot));
        }
    }
    return waits;
}

/// (switch, LID) whose way on is another one now.
struct Entry {
    std::uint16_t lid = 0;
    std::uint16_t at = 0;
    auto operator<=>(const Entry&) const = default;
};

class Change {
public:
    Change(const Topology& topology, const Routes& routes, const Proof& before)
        : topology_(topology),
          before_(before),
          fresh_(std::make_shared<Proof>()),
          rings_(topology.switches.size()) {
        fresh_->skeleton = skeleton_of(topology);
        fresh_->rows = in_order_of(topology, routes).rows;
    }

    std::optional<Proven> prove() {
        if (!may_carry_over()) {
            return std::nullopt;
        }
        carry_links();
        if (!find_entries() || !follow_entries()) {
            return std::nullopt;
        }
        return judge();
    }

private:
    [[nodiscard]] const Skeleton& now() const { return fresh_->skeleton; }
    [[nodiscard]] std::uint8_t port(std::uint32_t at, std::uint32_t lid) const {
        const LftRow& row = *fresh_->rows[at];
        return lid < row.size() ? row[lid] : mad::kLftDrop;
    }
    /// The old entry, where its link is still the same; else drop.
    [[nodiscard]] std::uint8_t old_port(std::uint32_t at, std::uint32_t lid) const {
        const LftRow& row = *before_.rows[from_[at]];
        const std::uint8_t exit = lid < row.size() ? row[lid] : mad::kLftDrop;
        return exit < now().width && same_[now().link(at, exit)] != 0 ? exit : mad::kLftDrop;
    }

    [[nodiscard]] bool may_carry_over() {
        const Skeleton& old = before_.skeleton;
        if (!now().whole || now().width != old.width ||
            std::any_of(fresh_->rows.begin(), fresh_->rows.end(), [](const auto& row) { return !row; })) {
            return false;
        }
        to_.assign(old.switches.size(), kNoIndex);
        for (std::uint32_t at = 0; at < now().switches.size(); ++at) {
            const auto found = std::lower_bound(old.switches.begin(), old.switches.end(), now().switches[at]);
            if (found == old.switches.end() || *found != now().switches[at]) {
                return false;
            }
            from_.push_back(static_cast<std::uint32_t>(found - old.switches.begin()));
            to_[from_.back()] = at;
            if (now().has_source[at] != 0 && old.has_source[from_.back()] == 0) {
                return false;
            }
        }
        return true;
    }

    /// What was waited for over links that are still there.
    void carry_links() {
        const Skeleton& old = before_.skeleton;
        same_.assign(now().next.size(), 0);
        for (std::uint32_t at = 0; at < now().switches.size(); ++at) {
            for (std::uint32_t port = 1; port < now().width; ++port) {
                const std::size_t link = now().link(at, port);
                const std::size_t was = old.link(from_[at], port);
                same_[link] = now().next[link] != kNoNext && old.next[was] == from_[now().next[link]] &&
                              old.peer_port[was] == now().peer_port[link];
            }
        }
        if (now().switches == old.switches) {
            return carry_all_but_changed();
        }
        fresh_->waits.assign(now().next.size() * now().words(), 0);
        for (std::uint32_t at = 0; at < now().switches.size(); ++at) {
            for (std::uint32_t port = 1; port < now().width; ++port) {
                if (same_[now().link(at, port)] != 0) {
                    for_each_wait(old, before_.waits, old.link(from_[at], port), [&](std::size_t was) {
                        carry_wait(now().link(at, port), static_cast<std::uint32_t>(was % old.width));
                    });
                }
            }
        }
    }

    /// The same where all switches have the numbers that they had: the few links that changed are taken out.
    void carry_all_but_changed() {
        fresh_->waits = before_.waits;
        const std::uint32_t words = now().words();
        for (std::size_t link = 0; link < same_.size(); ++link) {
            if (same_[link] != 0 || (now().next[link] == kNoNext && before_.skeleton.next[link] == kNoNext)) {
                continue;
            }
            std::fill_n(fresh_->waits.begin() + static_cast<std::ptrdiff_t>(link * words), words, 0);
            const auto at = static_cast<std::uint32_t>(link / now().width);
            const auto exit = static_cast<std::uint32_t>(link % now().width);
            for (std::uint32_t input = 1; input < now().width; ++input) {
                if (const std::uint16_t from = now().next_of(at, input); from != kNoNext) {
                    const std::size_t channel = now().link(from, now().peer_port[now().link(at, input)]);
                    fresh_->waits[channel * words + exit / 64] &= ~(std::uint64_t{1} << (exit % 64));
                }
            }
        }
    }

    void carry_wait(std::size_t channel, std::uint32_t exit) {
        if (same_[now().link(now().next[channel], exit)] != 0) {
            add(now(), fresh_->waits, channel, exit);
        }
    }

    [[nodiscard]] bool same_owner(std::uint32_t lid) const {
        if (lid >= before_.skeleton.owners.size()) {
            return false;
        }
        Skeleton::Owner was = before_.skeleton.owners[lid];
        was.at = was.at == kNoIndex ? kNoIndex : to_[was.at];
        return was == now().owners[lid];
    }

    [[nodiscard]] bool find_entries() {
        const std::size_t most = 64 * now().switches.size();  // beyond that a full proof is no dearer
        for (std::uint32_t at = 0; at < now().switches.size() && entries_.size() <= most; ++at) {
            find_in_row(at);
        }
        fresh_->lost.assign(now().owners.size(), 0);
        for (std::uint32_t lid = 1; lid < now().owners.size() && entries_.size() <= most; ++lid) {
            if (now().owners[lid].at == kNoIndex) {
                continue;
            }
            if (same_owner(lid)) {
                fresh_->lost[lid] = before_.lost[lid];
                continue;
            }
            for (std::uint32_t at = 0; at < now().switches.size(); ++at) {
                note(at, lid);
            }
        }
        std::sort(entries_.begin(), entries_.end());
        entries_.erase(std::unique(entries_.begin(), entries_.end()), entries_.end());
        return entries_.size() <= most;
    }

    void note(std::uint32_t at, std::uint32_t lid) {
        if (now().owners[lid].at != kNoIndex) {
            entries_.push_back({static_cast<std::uint16_t>(lid), static_cast<std::uint16_t>(at)});
        }
    }

    void find_in_row(std::uint32_t at) {
        const LftRow& row = *fresh_->rows[at];
        const LftRow& old = *before_.rows[from_[at]];
        const auto end = static_cast<std::uint32_t>(now().owners.size());
        for (std::uint32_t block = 0; &row != &old && block < end; block += mad::kLftBlockEntries) {
            const std::size_t to = block + mad::kLftBlockEntries;
            if (to <= row.size() && to <= old.size() &&
                std::memcmp(row.data() + block, old.data() + block, mad::kLftBlockEntries) == 0) {
                continue;
            }
            for (std::uint32_t lid = block; lid < std::min<std::size_t>(to, end); ++lid) {
                if (port(at, lid) != (lid < old.size() ? old[lid] : mad::kLftDrop)) {
                    note(at, lid);
                }
            }
        }
        std::vector<char> moved(256, 0);
        bool any = false;
        for (std::uint32_t exit = 1; exit < now().width; ++exit) {
            const bool link = now().next[now().link(at, exit)] != kNoNext ||
                              before_.skeleton.next[before_.skeleton.link(from_[at], exit)] != kNoNext;
            moved[exit] = link && same_[now().link(at, exit)] == 0 ? 1 : 0;
            any = any || moved[exit] != 0;
        }
        for (std::uint32_t lid = 1; any && lid < std::min<std::size_t>(end, row.size()); ++lid) {
            if (moved[row[lid]] != 0) {
                note(at, lid);
            }
        }
    }

    /// Everybody whose way changed arrives; what waits for what on the way is drawn.
    [[nodiscard]] bool follow_entries() {
        mixed_ = fresh_->waits;
        stamp_.assign(now().switches.size(), 0);
        column_.resize(now().switches.size());
        for (std::size_t first = 0; first < entries_.size();) {
            std::size_t last = first;
            while (last < entries_.size() && entries_[last].lid == entries_[first].lid) {
                ++last;
            }
            if (!follow_lid({entries_.data() + first, last - first})) {
                return false;
            }
            first = last;
        }
        return true;
    }

    [[nodiscard]] bool follow_lid(std::span<const Entry> changed) {
        const std::uint32_t lid = changed.front().lid;
        const bool to_switch = now().owners[lid].port == 0;
        if (to_switch) {
            read_column(changed);
            if (!follow_switch_lid(lid)) {
                return false;
            }
        }
        for (const Entry& entry : changed) {
            if (!to_switch && !arrives(entry.at, lid)) {
                return false;
            }
        }
        find_rings(changed);
        if (to_switch) {
            mix_switch_lid();
            return true;
        }
        for (const Entry& entry : changed) {
            draw(entry.at, lid, {port(entry.at, lid), mad::kLftDrop}, fresh_->waits);
            draw(entry.at, lid, exits(entry.at, lid), mixed_);
        }
        return true;
    }

    enum class End : std::uint8_t { unknown, owner, nowhere, ring };

    [[nodiscard]] End end_of(std::uint32_t at, std::uint32_t lid) const {
        const Skeleton::Owner& owner = now().owners[lid];
        for (std::size_t hops = 0; hops <= now().switches.size(); ++hops) {
            const std::uint8_t exit = port(at, lid);
            if (at == owner.at && exit == owner.port) {
                return End::owner;
            }
            const std::uint16_t next = now().next_of(at, exit);
            if (next == kNoNext) {
                return End::nowhere;
            }
            at = next;
        }
        return End::ring;
    }
    [[nodiscard]] bool arrives(std::uint32_t at, std::uint32_t lid) const {
        return end_of(at, lid) == End::owner;
    }

    /// All switches' ways to a LID. They lie rows apart in the tables, so whoever walks by them often reads
    /// them once.
    void read_column(std::span<const Entry> changed) {
        const std::uint32_t lid = changed.front().lid;
        for (std::uint32_t at = 0; at < now().switches.size(); ++at) {
            column_[at] = port(at, lid);
        }
        old_column_ = column_;
        for (const Entry& entry : changed) {
            old_column_[entry.at] = old_port(entry.at, lid);
        }
    }

    /// Where the ways of the column end, by switch.
    void find_ends(const Skeleton::Owner& owner) {
        ends_.assign(now().switches.size(), End::unknown);
        std::vector<std::uint32_t> walked;
        for (std::uint32_t start = 0; start < now().switches.size(); ++start) {
            walked.clear();
            std::uint32_t at = start;
            End end = ends_[at];
            while (end == End::unknown) {
                ends_[at] = End::ring;  // unless the way from here ends otherwise
                walked.push_back(at);
                const std::uint16_t next = now().next_of(at, column_[at]);
                if (at == owner.at && column_[at] == owner.port) {
                    end = End::owner;
                } else if (next == kNoNext) {
                    end = End::nowhere;
                } else {
                    at = next;
                    end = ends_[at];
                }
            }
            for (const std::uint32_t on : walked) {
                ends_[on] = end;
            }
        }
    }

    /// A switch's own LID: only end ports need to reach it, and only their packets wait on the way.
    [[nodiscard]] bool follow_switch_lid(std::uint32_t lid) {
        find_ends(now().owners[lid]);
        std::uint32_t lost = 0;
        ++round_;
        for (std::uint32_t at = 0; at < now().switches.size(); ++at) {
            if (ends_[at] == End::ring || (ends_[at] == End::nowhere && now().has_source[at] != 0)) {
                return false;
            }
            lost += ends_[at] == End::nowhere ? 1U : 0U;
            for (std::uint32_t on = at; now().has_source[at] != 0 && stamp_[on] != round_;) {
                stamp_[on] = round_;
                const std::uint16_t next = now().next_of(on, column_[on]);
                if (next == kNoNext) {
                    break;
                }
                if (now().next_of(next, column_[next]) != kNoNext) {
                    add(now(), fresh_->waits, now().link(on, column_[on]), column_[next]);
                }
                on = next;
            }
        }
        fresh_->lost[lid] = lost;
        return true;
    }

    using Exits = std::array<std::uint8_t, 2>;  ///< drop: none

    /// What a switch forwards by while new tables are being written.
    [[nodiscard]] Exits exits(std::uint32_t at, std::uint32_t lid) const {
        return exits_of(at, port(at, lid), old_port(at, lid));
    }
    [[nodiscard]] Exits exits_of(std::uint32_t at, std::uint8_t fresh, std::uint8_t old) const {
        const std::uint16_t next = now().next_of(at, old);
        const bool dropped = next != kNoNext && rings_.any() && rings_.on_ring(at, next);
        return {fresh, old == fresh || dropped ? mad::kLftDrop : old};
    }

    /// Adds what waits for `out` at a switch, and what `out` waits for. Both tables count for the neighbours
    /// where both do here; the new ones alone where they do.
    void draw(std::uint32_t at, std::uint32_t lid, Exits out, Waits& waits) const {
        const bool both = &waits == &mixed_;
        const auto of = [&](std::uint32_t there) {
            return both ? exits(there, lid) : Exits{port(there, lid), mad::kLftDrop};
        };
        for (const std::uint8_t exit : out) {
            const std::uint16_t next = now().next_of(at, exit);
            if (next == kNoNext) {
                continue;
            }
            for (const std::uint8_t further : of(next)) {
                if (now().next_of(next, further) != kNoNext) {
                    add(now(), waits, now().link(at, exit), further);
                }
            }
            for (std::uint32_t input = 1; input < now().width; ++input) {
                const std::uint16_t from = now().next_of(at, input);
                const std::uint8_t leads_here = from == kNoNext ? 0 : now().peer_port[now().link(at, input)];
                const Exits theirs = from == kNoNext ? Exits{} : of(from);
                if (leads_here != 0 && std::find(theirs.begin(), theirs.end(), leads_here) != theirs.end()) {
                    add(now(), waits, now().link(from, leads_here), exit);
                }
            }
        }
    }

    /// Old hops on a ring of old and new ones are dropped before new ones are written (sm/lft_plan).
    void find_rings(std::span<const Entry> changed) {
        const std::uint32_t lid = changed.front().lid;
        std::vector<std::uint32_t> starts;
        for (const Entry& entry : changed) {
            starts.push_back(entry.at);
        }
        rings_.find(starts, [&](std::uint32_t at, int which) -> std::uint32_t {
            const std::uint16_t next = now().next_of(at, which == 0 ? old_port(at, lid) : port(at, lid));
            return next == kNoNext ? kNoIndex : next;
        });
    }

    /// Whatever packets of end ports come by in any mix of old and new.
    void mix_switch_lid() {
        const auto exits_by_column = [&](std::uint32_t at) {
            return exits_of(at, column_[at], old_column_[at]);
        };
        std::vector<std::uint32_t> reached;
        ++round_;
        const auto reach = [&](std::uint32_t at) {
            if (stamp_[at] != round_) {
                stamp_[at] = round_;
                reached.push_back(at);
            }
        };
        for (std::uint32_t at = 0; at < now().switches.size(); ++at) {
            if (now().has_source[at] != 0) {
                reach(at);
            }
        }
        for (std::size_t i = 0; i < reached.size(); ++i) {
            for (const std::uint8_t exit : exits_by_column(reached[i])) {
                const std::uint16_t next = now().next_of(reached[i], exit);
                if (next == kNoNext) {
                    continue;
                }
                reach(next);
                for (const std::uint8_t further : exits_by_column(next)) {
                    if (now().next_of(next, further) != kNoNext) {
                        add(now(), mixed_, now().link(reached[i], exit), further);
                    }
                }
            }
        }
    }

    /// Switches that are gone are not missed any more by those LIDs that they did not reach.
    void forget_lost() {
        std::vector<std::uint32_t> gone;
        for (std::uint32_t was = 0; was < to_.size(); ++was) {
            if (to_[was] == kNoIndex) {
                gone.push_back(was);
            }
        }
        for (std::uint32_t lid = 1; !gone.empty() && lid < now().owners.size(); ++lid) {
            const bool carried = fresh_->lost[lid] != 0 && same_owner(lid) &&
                                 !std::binary_search(entries_.begin(), entries_.end(), lid, LidLess{});
            for (const std::uint32_t was : carried ? gone : std::vector<std::uint32_t>{}) {
                fresh_->lost[lid] -= reached_before(was, lid) ? 0U : 1U;
            }
        }
    }
    struct LidLess {
        bool operator()(const Entry& a, std::uint32_t lid) const { return a.lid < lid; }
        bool operator()(std::uint32_t lid, const Entry& a) const { return lid < a.lid; }
    };
    [[nodiscard]] bool reached_before(std::uint32_t at, std::uint32_t lid) const {
        const Skeleton& old = before_.skeleton;
        while (at != old.owners[lid].at) {
            const LftRow& row = *before_.rows[at];
            const std::uint16_t next = old.next_of(at, lid < row.size() ? row[lid] : mad::kLftDrop);
            if (next == kNoNext) {
                return false;
            }
            at = next;  // tables that were proven: no ring
        }
        return true;
    }

    [[nodiscard]] std::optional<Proven> judge() {
        for (std::size_t i = 0; i < mixed_.size(); ++i) {
            mixed_[i] |= fresh_->waits[i];
        }
        Proven out;
        if (const auto ring = cycle_of(now(), mixed_); !ring.empty()) {
            if (!cycle_of(now(), fresh_->waits).empty()) {
                return std::nullopt;
            }
            out.verdict.transit_loop = steps_of(ring);
        }
        forget_lost();
        for (std::uint32_t lid = 1; lid < now().owners.size(); ++lid) {
            if (now().owners[lid].at == kNoIndex) {
                continue;
            }
            out.verdict.pairs_checked += now().sources;
            out.verdict.pairs_checked += now().owners[lid].port != 0 ? now().switches.size() - 1 : 0;
            out.verdict.switch_pairs_unreachable += fresh_->lost[lid];
        }
        out.mixture_seen = true;
        out.proof = std::move(fresh_);
        return out;
    }

    [[nodiscard]] std::vector<ChannelStep> steps_of(const std::vector<std::size_t>& ring) const {
        const auto name = [&](std::size_t at) {
            return fmt::format("{} ({})", topology_.switches[at].name, topology_.switches[at].guid);
        };
        std::vector<ChannelStep> steps;
        for (const std::size_t channel : ring) {
            steps.push_back({name(channel / now().width),
                             mad::PortNum{static_cast<std::uint8_t>(channel % now().width)},
                             name(now().next[channel]), mad::PortNum{now().peer_port[channel]}, 0});
        }
        return steps;
    }

    const Topology& topology_;
    const Proof& before_;
    std::shared_ptr<Proof> fresh_;
    std::vector<std::uint32_t> from_;  ///< by switch: its index before
    std::vector<std::uint32_t> to_;    ///< by index before: its index, kNoIndex: gone
    std::vector<char> same_;           ///< by link: as before
    std::vector<Entry> entries_;
    Waits mixed_;                           ///< what old and new tables together need
    std::vector<std::uint8_t> column_;      ///< by switch: its way to the LID at hand; see read_column()
    std::vector<std::uint8_t> old_column_;  ///< the same before; drop where that link is gone
    std::vector<End> ends_;
    std::vector<std::uint32_t> stamp_;
    std::uint32_t round_ = 0;
    RingFinder rings_;
};

}  // namespace

namespace {

Proven prove_whole(const Topology& topology, const Routes& routes, unsigned threads) {
    Proven out;
    auto proof = std::make_shared<Proof>();
    proof->skeleton = skeleton_of(topology);
    const bool keep = single_lane(routes) && proof->skeleton.whole;
    const auto look = [&](const TableView& view, const Dependencies& dependencies,
                          const std::vector<LostSwitches>& lost) {
        if (!keep) {
            return;
        }
        proof->waits = waits_of(proof->skeleton, view, dependencies);
        proof->lost.assign(proof->skeleton.owners.size(), 0);
        for (const LostSwitches& item : lost) {
            proof->lost[item.lid] = item.switches;
        }
    };
    out.verdict = examine(topology, routes, {}, threads, look);
    if (keep && out.verdict.reachable() && out.verdict.lane_faults == 0 && out.verdict.credit_loop_free) {
        proof->rows = in_order_of(topology, routes).rows;
        out.proof = std::move(proof);
    }
    return out;
}

}  // namespace

Proven prove(const Topology& topology, const Routes& routes, const Proof* before, unsigned threads) {
    if (before != nullptr) {
        if (auto proven = prove_change(topology, routes, *before)) {
            return std::move(*proven);
        }
    }
    return prove_whole(topology, routes, threads);
}

std::optional<Proven> prove_change(const Topology& topology, const Routes& routes, const Proof& before) {
    const auto start = std::chrono::steady_clock::now();
    auto proven = single_lane(routes) ? Change(topology, routes, before).prove() : std::nullopt;
    if (proven) {
        proven->verdict.seconds =
            std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    }
    return proven;
}

}  // namespace ibf::routing
