// DOC: which of a switch's candidate ports a destination leaves by.
//
// The closed form: destination number t goes to slot (t / divider) mod slots of the switch's up-going ports;
// candidates that are not all above share the numbers in turn. Where links run at different rates the slots
// leave a slower one turns out, and it takes fewer turns: its share is in proportion. A chooser serves one
// switch; it is told the candidate set toward a destination switch, then asked for the ports of single
// numbers or of whole runs. Sets repeat from one destination to the next, so what a set means is worked out
// once and kept until it changes.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "routing/engine_targets.hpp"
#include "routing/graph.hpp"

namespace ibf::routing {

/// A set of port groups of one switch: bit i is its i-th group. 254 ports make at most 254 groups.
inline constexpr unsigned kGroupWords = 4;
using GroupSet = std::array<std::uint64_t, kGroupWords>;

/// (number / divider) mod slots for every number; few distinct tables serve all switches of a fabric.
class SlotTables {
public:
    SlotTables(const Shape& shape, std::uint32_t numbers);
    /// nullptr where the switch has fewer than two slots.
    [[nodiscard]] const std::uint8_t* find(std::uint32_t divider, std::size_t slots) const;

private:
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<std::uint8_t>> tables_;
};

class PortChooser {
public:
    PortChooser(const Graph& graph, const Shape& shape, const SlotTables& tables);

    void start(std::uint32_t at);   ///< the switch whose ports are chosen from now on
    void use(const GroupSet& set);  ///< the candidates from now on
    [[nodiscard]] bool any() const { return !choice_->ports.empty(); }
    [[nodiscard]] bool allows(std::uint8_t port) const { return choice_->allowed[port] != 0; }
    /// Ports, each as often as its rate is worth beside the others'.
    [[nodiscard]] const std::vector<std::uint8_t>& candidates() const { return choice_->ports; }
    /// True if one more LID burdens port a less than port b; `load`: LIDs that they carry, by port.
    [[nodiscard]] bool is_lighter(std::uint8_t a, std::uint8_t b,
                                  const std::array<std::uint32_t, 256>& load) const {
        return (load[a] + std::uint64_t{1}) * rate_of_port_[b] <
               (load[b] + std::uint64_t{1}) * rate_of_port_[a];
    }

    // All below REQUIRE any().

    /// The port that a fresh start gives this number.
    [[nodiscard]] std::uint8_t ideal(std::uint32_t number) const;
    /// The same for a run: count ports from `out` on.
    void fill(const TargetRun& run, std::uint8_t* out) const;
    /// The place among candidates() at which this number takes its turn.
    [[nodiscard]] std::size_t turn(std::uint32_t number) const;
    /// True if all `count` ports are candidates.
    [[nodiscard]] bool allows_all(const std::uint8_t* ports, std::uint32_t count) const;

private:
    /// What one candidate set means.
    struct Choice {
        GroupSet set{};
        /// First links of all groups, then second links, ...; where rates differ those with more shares
        /// again.
        std::vector<std::uint8_t> ports;
        std::array<std::uint8_t, 256> allowed{};  ///< by port
        bool upward = false;                      ///< the slots serve
        bool whole = false;                       ///< and each slot's port is a candidate
        std::vector<std::uint8_t> pick;           ///< by slot, twice over; kHole: no candidate
        std::uint32_t onward = 0;
    };
    static constexpr std::uint8_t kHole = 0;

    void work_out(Choice& choice, const GroupSet& set);
    void list_ports(Choice& choice) const;
    void repeat_by_share(std::vector<std::uint8_t>& ports) const;
    void fill_slots(const TargetRun& run, std::uint8_t* out) const;

    const Graph& graph_;
    const Shape& shape_;
    const SlotTables& tables_;
    std::uint32_t at_ = 0;
    std::span<const PortGroup> groups_;
    std::uint32_t divider_ = 1;
    std::uint32_t slots_ = 0;
    const std::uint8_t* slot_of_ = nullptr;
    std::array<std::int16_t, 256> group_of_port_{};
    std::array<std::uint32_t, 256> rate_of_port_{};
    GroupSet up_{};
    Choice single_;  ///< the last set of one group,
    Choice many_;    ///< and of several: the two take turns
    const Choice* choice_ = &single_;
};

}  // namespace ibf::routing
