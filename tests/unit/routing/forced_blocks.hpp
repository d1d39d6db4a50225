// DOC: how many LFT blocks the loss of a link or switch forces anybody to write, and how many were written.
//
// On trees whose hosts all hang off the lowest switches. Shares nothing with the engines: levels are hops
// from the switches that have hosts, and a legal path goes up some levels, then down (any engine on one lane
// that keeps paths shortest has no others).
//
// An entry is forced if its old next hop is gone, or leads to a switch from which no legal path goes on, and
// somebody sends over it: the switch itself does, to hosts; to LIDs of switches only paths from switches with
// hosts count. An engine may know longer ways that are legal too: what it left as it is was not forced. A
// block is forced if it holds a forced entry. An entry that nobody sends over but the switch itself has to
// change too where its cable is gone; such blocks are counted apart. Entries for LIDs that nobody has any
// more are dropped by every engine, and counted apart: nobody sends there, so nothing waits for them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "routing/routes.hpp"

namespace ibf::routing::test {

struct BlockCount {
    std::uint64_t forced = 0;
    std::uint64_t forced_idle =
        0;                    ///< hold no such entry, but one that nobody sends over and whose cable is gone
    std::uint64_t moved = 0;  ///< hold an entry of a living LID that is another one now
    std::uint64_t idle = 0;   ///< of those, the ones that nobody sends over: from switch to switch only
    std::uint64_t dropped = 0;   ///< hold no such entry, but one of a LID that is gone
    std::uint64_t switches = 0;  ///< that have any of these
};

class ForcedBlocks {
public:
    /// `before`: of `cut` as it was before links or switches went; `after`: of `cut`.
    ForcedBlocks(const Routes& before, const Topology& cut, const Routes& after)
        : old_(in_order_of(cut, before).rows),
          cut_(cut),
          after_(after),
          home_(before.rows.front()->size(), kNoIndex) {
        find_levels();
        find_reach();
        find_homes();
        find_sent_over();
    }

    [[nodiscard]] BlockCount count() const {
        BlockCount result;
        for (std::uint32_t at = 0; at < cut_.switches.size(); ++at) {
            count_row(at, result);
        }
        return result;
    }

private:
    using Bits = std::vector<std::uint64_t>;
    static void set(Bits& bits, std::size_t i) { bits[i / 64] |= std::uint64_t{1} << (i % 64); }
    static bool has(const Bits& bits, std::size_t i) { return (bits[i / 64] >> (i % 64) & 1) != 0; }

    void find_levels() {
        level_.assign(cut_.switches.size(), kNoIndex);
        std::vector<std::uint32_t> reached;
        for (const TopologyEndPort& end : cut_.end_ports) {
            if (end.switch_index != kNoIndex && level_[end.switch_index] != 0) {
                level_[end.switch_index] = 0;
                reached.push_back(end.switch_index);
            }
        }
        leaves_ = reached;
        for (std::size_t i = 0; i < reached.size(); ++i) {
            for_each_peer(reached[i], [&](std::uint32_t peer) {
                if (level_[peer] == kNoIndex) {
                    level_[peer] = level_[reached[i]] + 1;
                    reached.push_back(peer);
                }
            });
        }
        by_level_ = reached;
    }

    template <class Do>
    void for_each_peer(std::uint32_t at, const Do& act) const {
        for (const PortPeer& peer : cut_.switches[at].peers) {
            if (peer.kind == PortPeer::Kind::switch_) {
                act(peer.index);
            }
        }
    }

    /// down_[n]: destination switches below n. legal_[n]: those that n reaches by going up, then down.
    void find_reach() {
        const std::size_t words = cut_.switches.size() / 64 + 1;
        down_.assign(cut_.switches.size(), Bits(words, 0));
        const auto merge = [](Bits& into, const Bits& from) {
            for (std::size_t i = 0; i < into.size(); ++i) {
                into[i] |= from[i];
            }
        };
        for (const std::uint32_t at : by_level_) {
            set(down_[at], at);
            for_each_peer(at, [&](std::uint32_t peer) {
                if (level_[peer] + 1 == level_[at]) {
                    merge(down_[at], down_[peer]);
                }
            });
        }
        legal_ = down_;
        for (auto at = by_level_.rbegin(); at != by_level_.rend(); ++at) {
            for_each_peer(*at, [&](std::uint32_t peer) {
                if (level_[peer] == level_[*at] + 1) {
                    merge(legal_[*at], legal_[peer]);
                }
            });
        }
    }

    void find_homes() {
        const auto put = [&](const mad::LidRange& lids, std::uint32_t at) {
            for (std::uint32_t lid = lids.base.value(); lid != 0 && lid < lids.base.value() + lids.count();
                 ++lid) {
                home_[lid] = at;
            }
        };
        for (const TopologyEndPort& end : cut_.end_ports) {
            if (end.switch_index != kNoIndex) {
                put(end.lids, end.switch_index);
            }
        }
        host_lids_.assign(home_.size(), 0);
        for (std::size_t lid = 0; lid < home_.size(); ++lid) {
            host_lids_[lid] = home_[lid] != kNoIndex ? 1 : 0;
        }
        for (std::uint32_t at = 0; at < cut_.switches.size(); ++at) {
            put(cut_.switches[at].lids, at);
        }
    }

    /// Walks the new tables from every leaf to the LID of every switch.
    void find_sent_over() {
        sent_over_.assign(cut_.switches.size(), Bits(home_.size() / 64 + 1, 0));
        for (std::uint32_t to = 0; to < cut_.switches.size(); ++to) {
            const std::uint32_t lid = cut_.switches[to].lids.base.value();
            for (const std::uint32_t leaf : leaves_) {
                std::uint32_t at = leaf;
                for (std::size_t hops = 0; at != to && hops < 64; ++hops) {
                    set(sent_over_[at], lid);
                    at = next_of(cut_.switches[at], after_.rows[at]->at(lid));
                    if (at == kNoIndex) {
                        break;
                    }
                }
            }
        }
    }

    static std::uint32_t next_of(const TopologySwitch& of, std::uint8_t port) {
        const bool leads = port < of.peers.size() && of.peers[port].kind == PortPeer::Kind::switch_;
        return leads ? of.peers[port].index : kNoIndex;
    }

    [[nodiscard]] bool is_sent_over(std::uint32_t at, std::size_t lid) const {
        return host_lids_[lid] != 0 || has(sent_over_[at], lid);
    }

    [[nodiscard]] bool is_forced(std::uint32_t at, std::size_t lid, std::uint8_t port) const {
        const std::uint32_t to = home_[lid];
        if (to == kNoIndex || to == at || !is_sent_over(at, lid)) {
            return false;
        }
        const std::uint32_t next = next_of(cut_.switches[at], port);
        if (next == kNoIndex) {
            return true;
        }
        return !has(level_[next] > level_[at] ? legal_[next] : down_[next], to);
    }

    void count_row(std::uint32_t at, BlockCount& result) const {
        const LftRow& old = *old_[at];
        const LftRow& now = *after_.rows[at];
        std::set<std::size_t> forced;
        std::set<std::size_t> forced_idle;
        std::set<std::size_t> moved;
        std::set<std::size_t> sent_over;
        std::set<std::size_t> dropped;
        for (std::size_t lid = 1; lid < std::min(old.size(), home_.size()); ++lid) {
            const std::size_t block = lid / mad::kLftBlockEntries;
            const std::uint8_t after = lid < now.size() ? now[lid] : mad::kLftDrop;
            if (after == old[lid]) {
                continue;
            }
            (home_[lid] != kNoIndex ? moved : dropped).insert(block);
            if (home_[lid] != kNoIndex && is_sent_over(at, lid)) {
                sent_over.insert(block);
            }
            if (is_forced(at, lid, old[lid])) {
                forced.insert(block);
            } else if (home_[lid] != kNoIndex && next_of(cut_.switches[at], old[lid]) == kNoIndex) {
                forced_idle.insert(block);
            }
        }
        result.forced += forced.size();
        result.forced_idle += static_cast<std::uint64_t>(
            std::count_if(forced_idle.begin(), forced_idle.end(),
                          [&](std::size_t block) { return forced.count(block) == 0; }));
        result.moved += moved.size();
        result.idle += moved.size() - sent_over.size();
        result.dropped += static_cast<std::uint64_t>(std::count_if(
            dropped.begin(), dropped.end(), [&](std::size_t block) { return moved.count(block) == 0; }));
        result.switches += moved.empty() && dropped.empty() ? 0 : 1;
    }

    std::vector<std::shared_ptr<const LftRow>> old_;
    const Topology& cut_;
    const Routes& after_;
    std::vector<std::uint32_t> level_;  ///< by switch
    std::vector<std::uint32_t> leaves_;
    std::vector<std::uint32_t> by_level_;  ///< lowest first
    std::vector<Bits> down_;
    std::vector<Bits> legal_;
    std::vector<std::uint32_t> home_;  ///< by LID; kNoIndex: nobody's
    std::vector<char> host_lids_;      ///< by LID
    std::vector<Bits> sent_over_;      ///< by switch: LIDs of switches that leaves reach over it
};

}  // namespace ibf::routing::test
