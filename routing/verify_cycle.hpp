// DOC: the channel dependency graph and its cycles.
//
// Vertices are channels (directed switch-to-switch links); an edge says that a packet may hold the one while
// it waits for the other. Edges leave a channel only to the ports of the switch that it enters, so a
// channel's edges are a small bitset over that switch's link slots.
#pragma once

#include <cstdint>
#include <vector>

#include "routing/verify_tables.hpp"

namespace ibf::routing {

class Dependencies {
public:
    explicit Dependencies(const TableView& view)
        : words_((view.slots_most() + 63) / 64), bits_(std::size_t{view.channel_count()} * words_) {}

    void add(std::uint32_t channel, std::uint8_t next_slot) {
        bits_[std::size_t{channel} * words_ + next_slot / 64] |= std::uint64_t{1} << (next_slot % 64);
    }
    void merge(const Dependencies& other);
    /// Link slots of the switch that `channel` enters, ascending.
    void list(std::uint32_t channel, std::vector<std::uint32_t>& out) const;

private:
    std::uint32_t words_;
    std::vector<std::uint64_t> bits_;
};

/// One cycle, channel by channel, the shortest through the place where it was found; empty if there is none.
[[nodiscard]] std::vector<std::uint32_t> find_cycle(const TableView& view, const Dependencies& dependencies);

}  // namespace ibf::routing
