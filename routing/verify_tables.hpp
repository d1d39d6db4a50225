// DOC: forwarding tables read as in-trees.
//
// The verifier and the quality figures both follow every table column (one LID, all switches) to its end.
// This file does that walking, from Topology and Routes alone: it shares nothing with the engines. A column
// is walked in time linear in the switches: each switch takes its answer from the next one, and the order in
// which one column was settled is the order tried for the next, which seldom needs a second look.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "routing/routes.hpp"

namespace ibf::routing {

inline constexpr std::uint16_t kNoNext = 0xFFFF;

/// Where an exit port of a switch leads: to the link `slot` of this switch toward `next`, or nowhere
/// (kNoNext: an end port, port 0, an empty or unknown port).
struct Exit {
    std::uint16_t next = kNoNext;
    std::uint8_t slot = 0;  ///< counts the switch-to-switch ports of a switch
};

/// Who owns a LID: a switch (port 0) or the end port behind (switch, port).
struct LidOwner {
    std::uint32_t switch_index = kNoIndex;
    std::uint8_t port = 0;              ///< exit port at that switch, 0 for the switch itself
    std::uint32_t end_port = kNoIndex;  ///< EndPortIndex value, kNoIndex for a switch
};

/// Tables joined with the topology: row pointers by switch (matched by GUID), exits, channels, LID owners.
class TableView {
public:
    TableView(const Topology& topology, const Routes& routes);

    [[nodiscard]] std::uint32_t switch_count() const { return static_cast<std::uint32_t>(rows_.size()); }
    [[nodiscard]] std::uint8_t port(std::uint32_t at, std::uint32_t lid) const {
        return rows_[at] != nullptr && lid < rows_[at]->size() ? (*rows_[at])[lid] : mad::kLftDrop;
    }
    [[nodiscard]] const Exit& exit(std::uint32_t at, std::uint8_t port) const {
        return exits_[std::size_t{at} * 256 + port];
    }
    /// A channel is a directed switch-to-switch link: first_channel(s) + slot.
    [[nodiscard]] std::uint32_t first_channel(std::uint32_t at) const { return first_channel_[at]; }
    [[nodiscard]] std::uint32_t channel_count() const { return first_channel_.back(); }
    [[nodiscard]] std::uint32_t slots_most() const { return slots_most_; }
    [[nodiscard]] std::uint8_t channel_port(std::uint32_t channel) const { return channels_[channel].port; }
    [[nodiscard]] std::uint32_t channel_switch(std::uint32_t channel) const {
        return channels_[channel].from;
    }
    [[nodiscard]] const LidOwner& owner(std::uint32_t lid) const { return owners_[lid]; }
    [[nodiscard]] std::uint32_t lid_end() const { return static_cast<std::uint32_t>(owners_.size()); }
    /// End ports with a LID on a switch: the sources of traffic.
    [[nodiscard]] std::uint32_t sources(std::uint32_t at) const { return sources_[at]; }
    [[nodiscard]] std::uint32_t component(std::uint32_t at) const { return component_[at]; }
    [[nodiscard]] std::uint32_t component_count() const { return components_; }

private:
    struct Channel {
        std::uint16_t from = 0;
        std::uint8_t port = 0;
    };
    void match_rows(const Topology& topology, const Routes& routes);
    void find_exits(const Topology& topology);
    void find_owners(const Topology& topology);
    void find_components(const Topology& topology);

    std::vector<const LftRow*> rows_;
    std::vector<Exit> exits_;
    std::vector<std::uint32_t> first_channel_;
    std::vector<Channel> channels_;
    std::vector<LidOwner> owners_;
    std::vector<std::uint32_t> sources_;
    std::vector<std::uint32_t> component_;
    std::uint32_t components_ = 0;
    std::uint32_t slots_most_ = 0;
};

enum class Fate : std::uint8_t { unknown, arrives, lost, loops, walking };

/// Walks columns; one per thread. Results are valid until the next column.
class ColumnWalker {
public:
    explicit ColumnWalker(const TableView& view);

    /// Reads the 64 columns that start at LID `first` (a multiple of 64).
    void load_block(std::uint32_t first);
    /// Follows one LID of the block from every switch.
    void walk(std::uint32_t lid);

    [[nodiscard]] std::uint16_t next(std::uint32_t at) const { return next_[at]; }
    [[nodiscard]] std::uint8_t slot(std::uint32_t at) const { return slot_[at]; }
    [[nodiscard]] Fate fate(std::uint32_t at) const { return fate_[at]; }
    /// All switches; one that forwards to another comes after it, unless they loop.
    [[nodiscard]] const std::vector<std::uint16_t>& order() const { return order_; }
    [[nodiscard]] std::uint32_t arriving() const { return arriving_; }

private:
    void settle(std::uint16_t at, Fate fate);
    void follow(std::uint16_t from);

    const TableView& view_;
    std::uint32_t block_ = 0;
    std::vector<std::uint8_t> ports_;  ///< [lid - block_][switch]
    std::vector<std::uint16_t> next_;
    std::vector<std::uint8_t> slot_;
    std::vector<Fate> fate_;
    std::vector<std::uint16_t> order_;
    std::vector<std::uint16_t> last_order_;
    std::vector<std::uint16_t> trail_;
    LidOwner owner_;
    std::uint32_t arriving_ = 0;
};

}  // namespace ibf::routing
