// DOC: the complete channel dependency graph, and which of its dependencies may be used together.
//
// A channel is a directed link between two switches; a dependency (c, n) says that packets go from channel c
// into channel n, one of the exits of the switch that c enters. Dally and Seitz (1987): routes cannot
// deadlock if the dependencies in use form no cycle. Channels are the links; ChannelOrder holds the
// dependencies of one lane in use and takes a further one only if they stay acyclic.
//
// It does so by a topological order kept up to date (Pearce and Kelly, 2006): a dependency that agrees with
// the order costs nothing; another is looked into between the places of its two ends only, and if it closes
// no cycle the order is mended there. Marks of a search are generation stamps, so none is ever cleared.
//
// Dependencies are kept, or taken on trial and dropped again. One that would close a cycle of kept ones never
// becomes usable; that is remembered, and the answer costs one bit from then on. Whether add() succeeds thus
// depends on the dependencies in use alone, not on the way that led to them.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "routing/links.hpp"
#include "routing/topological_places.hpp"
#include "routing/topology.hpp"

namespace ibf::routing {

/// Links that know the other direction of their cable. The links out of one switch are its exits; a channel's
/// slot is its place among them.
class Channels : public Links {
public:
    Channels(const Topology& topology, const Graph& graph);

    [[nodiscard]] std::uint32_t reverse(std::uint32_t channel) const { return reverse_[channel]; }
    [[nodiscard]] std::uint32_t slot(std::uint32_t channel) const { return channel - first(from(channel)); }
    [[nodiscard]] std::uint32_t slots_most() const { return slots_most_; }  ///< channels out of one switch

private:
    std::vector<std::uint32_t> reverse_;
    std::uint32_t slots_most_ = 0;
};

class ChannelOrder {
public:
    /// `order`: all channels in the topological order to begin with; the nearer to what will be used, the
    /// less there is to mend. `channels` must outlive this.
    ChannelOrder(const Channels& channels, const std::vector<std::uint32_t>& order);

    /// True if (c, n) is in use, or would be without a look: it agrees with the order.
    [[nodiscard]] bool agrees(std::uint32_t c, std::uint32_t n) const {
        return places_.of(c) < places_.of(n);
    }
    /// True if (c, n) is in use or agrees with the order that was given to begin with.
    [[nodiscard]] bool ordained(std::uint32_t c, std::uint32_t n) const;
    /// True if (c, n) closes a cycle of kept dependencies.
    [[nodiscard]] bool blocked(std::uint32_t c, std::uint32_t n) const;

    /// Takes (c, n) on trial unless it is in use already. False if that closed a cycle; nothing changed then.
    [[nodiscard]] bool add(std::uint32_t c, std::uint32_t n);
    /// REQUIRES: (c, n) is in use.
    void keep(std::uint32_t c, std::uint32_t n);
    [[nodiscard]] std::size_t trials() const { return trials_.size(); }
    /// Drops what was taken on trial, and not kept since, until trials() is `mark`.
    void drop_to(std::size_t mark);

private:
    /// One bit per dependency, in rows by channel: exits of the switch that it enters, or channels into the
    /// switch that it leaves (numbered by the other direction of their cables).
    class Bits {
    public:
        Bits(std::uint32_t rows, std::uint32_t words) : words_(words), bits_(std::size_t{rows} * words) {}
        [[nodiscard]] bool test(std::uint32_t row, std::uint32_t bit) const {
            return (bits_[std::size_t{row} * words_ + bit / 64] >> (bit % 64) & 1U) != 0;
        }
        void set(std::uint32_t row, std::uint32_t bit) {
            bits_[std::size_t{row} * words_ + bit / 64] |= std::uint64_t{1} << (bit % 64);
        }
        void clear(std::uint32_t row, std::uint32_t bit) {
            bits_[std::size_t{row} * words_ + bit / 64] &= ~(std::uint64_t{1} << (bit % 64));
        }
        template <class Each>
        void for_each(std::uint32_t row, const Each& each) const;

    private:
        std::uint32_t words_;
        std::vector<std::uint64_t> bits_;
    };

    [[nodiscard]] std::uint32_t input_slot(std::uint32_t c) const {
        return channels_.slot(channels_.reverse(c));
    }
    [[nodiscard]] bool make_room(std::uint32_t c, std::uint32_t n);
    [[nodiscard]] bool search_ahead(std::uint32_t c, std::uint32_t n);
    void search_behind(std::uint32_t c, std::uint32_t n);
    [[nodiscard]] bool all_kept(std::uint32_t first, std::uint32_t last) const;

    const Channels& channels_;
    Bits next_;     ///< in use: by channel held, its exits
    Bits before_;   ///< the same by channel waited for, its inputs
    Bits kept_;     ///< as next_
    Bits blocked_;  ///< as next_
    TopologicalPlaces places_;
    TopologicalPlaces home_ = places_;  ///< as it was to begin with
    std::vector<std::pair<std::uint32_t, std::uint32_t>> trials_;

    // One search. A channel was seen in it if its stamp is the search's.
    std::uint32_t search_ = 0;
    std::vector<std::uint32_t> seen_;
    std::vector<std::uint32_t> reached_from_;
    std::vector<std::uint32_t> ahead_;
    std::vector<std::uint32_t> behind_;
};

}  // namespace ibf::routing
