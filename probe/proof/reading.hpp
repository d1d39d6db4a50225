// DOC: what is read of a fabric: cables, tables, links, counters.
//
// A FabricReader begins where the prober is plugged in and finds a directed route to each switch, over cables
// that it has looked through: a way that somebody has plugged elsewhere is not trusted, another one is tried.
// What it then reads by those ways, it reads of the right device. CounterReadings are asked by LID, along the
// programmed tables. Only Gets; what is silent or refused is left out, and counted.
#pragma once

#include <map>
#include <set>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "mad/attributes.hpp"
#include "probe/proof/asker.hpp"
#include "probe/proof/place.hpp"

namespace ibf::probe {

/// What is at the other end of the cable at `from`, by its NodeInfo.
struct CableReading {
    enum class State : std::uint8_t { as_expected, elsewhere, silent };
    Place from;
    Place to;  ///< as the topology says
    State state = State::silent;
    mad::Guid seen_guid{};  ///< of elsewhere
    mad::PortNum seen_port{};
};

struct TableBlock {
    std::uint32_t switch_index = 0;
    std::uint16_t block = 0;  ///< LIDs 64 * block and on
    auto operator<=>(const TableBlock&) const = default;
};
struct TableReading {
    TableBlock at;
    mad::LftBlock entries;
    std::uint16_t top = 0;  ///< LinearFDBTop: entries above it forward nothing
};

/// A port's counters, as far as they are known.
struct CounterReading {
    bool known = false;
    std::string why{};  ///< where not known
    bool wide = false;  ///< the traffic ones have 64 bits
    std::uint64_t transmit_words = 0;
    std::uint64_t receive_words = 0;
    bool knows_wait = false;
    mad::PortCounters counters{};  ///< errors, waits
};
using CounterReadings = std::map<Place, CounterReading>;

class FabricReader {
public:
    /// Errors: unavailable where nothing answers at the prober's own port, or it is not in the topology.
    [[nodiscard]] static base::Result<FabricReader> open(const routing::Topology& topology, MadAsker& asker,
                                                         std::stop_token stop);

    [[nodiscard]] bool reaches(std::uint32_t switch_index) const { return ways_[switch_index].has_value(); }
    [[nodiscard]] std::size_t reached() const;
    /// Those that were looked through on the way and did not lead where they should, or were silent.
    [[nodiscard]] const std::vector<CableReading>& odd_cables() const { return odd_cables_; }

    /// Through these switch ports, those with a cable at switches that are reached.
    [[nodiscard]] std::vector<CableReading> cables(std::span<const Place> from);
    [[nodiscard]] std::vector<TableReading> tables(std::span<const TableBlock> blocks);
    /// PortInfo; of a switch's port with the capability bits of its port 0.
    [[nodiscard]] std::map<Place, mad::PortInfo> ports(std::span<const Place> places);
    /// Those of these switches that say that adaptive routing is on.
    [[nodiscard]] std::vector<std::uint32_t> adaptive(std::span<const std::uint32_t> switches);
    [[nodiscard]] CounterReadings counters(std::span<const Place> places);

    [[nodiscard]] std::uint64_t questions() const { return questions_; }
    [[nodiscard]] std::uint64_t unanswered() const { return unanswered_; }
    [[nodiscard]] std::uint64_t refused() const { return refused_; }

private:
    FabricReader(const routing::Topology& topology, MadAsker& asker, std::stop_token stop)
        : topology_(&topology), asker_(&asker), stop_(std::move(stop)) {}

    [[nodiscard]] std::vector<Answer> ask(const std::vector<Question>& questions);
    [[nodiscard]] std::uint32_t device_of(const Place& place) const;
    [[nodiscard]] std::optional<Question> smp_to(const Place& place, mad::Attribute attribute,
                                                 std::uint32_t modifier) const;
    [[nodiscard]] Question through(const Place& from, const Place& to) const;
    [[nodiscard]] CableReading look(const Place& from, const Place& to, const Answer& answer);
    [[nodiscard]] base::Result<void> begin();
    void find_ways();
    std::map<Place, mad::PortInfo> port_infos(std::span<const Place> places, std::uint32_t modifier_bits);
    void learn_perf(std::span<const Place> places);
    void read_counters(std::span<const Place> places, CounterReadings& readings);

    const routing::Topology* topology_;
    MadAsker* asker_;
    std::stop_token stop_;
    std::vector<std::optional<mad::DrPath>> ways_;  ///< by SwitchIndex
    std::vector<std::uint32_t> vendors_;            ///< by SwitchIndex; 0: not known
    std::vector<CableReading> odd_cables_;
    /// By device: what its performance agent can do; none: it does not say.
    std::map<std::uint32_t, std::optional<mad::ClassPortInfo>> perf_;
    std::uint64_t questions_ = 0;
    std::uint64_t unanswered_ = 0;
    std::uint64_t refused_ = 0;
};

}  // namespace ibf::probe
