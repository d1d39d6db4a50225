// DOC: links and turns by number.
//
// A link is one direction of one cable between two switches: its number is its index into Graph::ports, so
// the links that leave a switch are consecutive. A turn is what a path does at a switch: in by one link, out
// by another. Deadlock is about turns: a packet holds the first link while it waits for the second.
#pragma once

#include <cstdint>
#include <vector>

#include "routing/graph.hpp"

namespace ibf::routing {

class Links {
public:
    explicit Links(const Graph& graph);

    [[nodiscard]] std::uint32_t count() const { return static_cast<std::uint32_t>(peer_.size()); }
    /// The link that leaves a switch by a port; kNoIndex where the port leads to no other switch.
    [[nodiscard]] std::uint32_t at(std::uint32_t from, std::uint8_t port) const {
        return by_port_[std::size_t{from} * 256 + port];
    }
    [[nodiscard]] std::uint32_t from(std::uint32_t link) const { return from_[link]; }
    [[nodiscard]] std::uint32_t peer(std::uint32_t link) const { return peer_[link]; }
    /// The links out of a switch: [first(s), first(s + 1)).
    [[nodiscard]] std::uint32_t first(std::uint32_t from) const { return first_[from]; }

    [[nodiscard]] std::uint32_t turn_count() const { return first_turn_.back(); }
    /// REQUIRES: `next` leaves the switch that `link` enters.
    [[nodiscard]] std::uint32_t turn(std::uint32_t link, std::uint32_t next) const {
        return first_turn_[link] + (next - first_[peer_[link]]);
    }
    /// The turns out of a link: [first_turn(l), first_turn(l + 1)), in the order of the links that they lead
    /// to.
    [[nodiscard]] std::uint32_t first_turn(std::uint32_t link) const { return first_turn_[link]; }
    [[nodiscard]] std::uint32_t turn_target(std::uint32_t link, std::uint32_t turn) const {
        return first_[peer_[link]] + (turn - first_turn_[link]);
    }

private:
    std::vector<std::uint32_t> first_;       ///< by switch, one more
    std::vector<std::uint32_t> from_;        ///< by link
    std::vector<std::uint32_t> peer_;        ///< by link
    std::vector<std::uint32_t> first_turn_;  ///< by link, one more
    std::vector<std::uint32_t> by_port_;     ///< by switch * 256 + port
};

}  // namespace ibf::routing
