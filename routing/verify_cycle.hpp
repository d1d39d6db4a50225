// DOC: the channel dependency graph and its cycles.
//
// Vertices are lane channels (a lane of a directed switch-to-switch link); an edge says that a packet may
// hold the one while it waits for the other. Edges leave a channel only to the ports of the switch that it
// enters, so a channel's edges are a small bitset over that switch's link slots and lanes.
#pragma once

#include <cstdint>
#include <vector>

#include "routing/verify_tables.hpp"

namespace ibf::routing {

class Dependencies {
public:
    /// `lanes`: how many are told apart, 1..16.
    Dependencies(const TableView& view, std::uint32_t lanes)
        : lanes_(lanes),
          words_((view.slots_most() * lanes + 63) / 64),
          bits_(std::size_t{view.channel_count()} * lanes * words_) {}

    void add(std::uint32_t channel, std::uint32_t lane, std::uint32_t next_slot, std::uint32_t next_lane) {
        const std::uint32_t bit = next_slot * lanes_ + next_lane;
        bits_[(std::size_t{channel} * lanes_ + lane) * words_ + bit / 64] |= std::uint64_t{1} << (bit % 64);
    }
    void merge(const Dependencies& other);
    [[nodiscard]] std::uint32_t lanes() const { return lanes_; }
    /// link slot * lanes + lane at the switch that the channel of `vertex` (channel * lanes + lane) enters,
    /// ascending.
    void list(std::uint32_t vertex, std::vector<std::uint32_t>& out) const;

private:
    std::uint32_t lanes_;
    std::uint32_t words_;
    std::vector<std::uint64_t> bits_;
};

/// One cycle of vertices (channel * lanes + lane), the shortest through the place where it was found; empty
/// if there is none.
[[nodiscard]] std::vector<std::uint32_t> find_cycle(const TableView& view, const Dependencies& dependencies);

/// For people: "leaf-1 (0x...)" port 5, and where it leads.
[[nodiscard]] ChannelStep channel_step(const Topology& topology, const TableView& view, std::uint32_t channel,
                                       std::uint32_t lane);

}  // namespace ibf::routing
