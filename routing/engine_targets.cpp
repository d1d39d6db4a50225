#include "routing/engine_targets.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>

namespace ibf::routing {

namespace {

/// Which of its node's ports an end port is, among those that hang off a switch.
struct Rail {
    std::uint32_t first_end = 0;  ///< the node's first such port
    std::uint32_t place = 0;
    std::uint32_t count = 1;
};

std::vector<Rail> rails_of(const Topology& topology) {
    const auto& ends = topology.end_ports;
    std::vector<Rail> rails(ends.size());
    for (std::uint32_t first = 0; first < ends.size();) {
        std::uint32_t next = first;
        std::vector<std::uint32_t> used;
        for (; next < ends.size() && ends[next].node_guid == ends[first].node_guid; ++next) {
            if (ends[next].switch_index != kNoIndex && ends[next].lids.count() != 0) {
                used.push_back(next);
            }
        }
        for (std::uint32_t place = 0; place < used.size(); ++place) {
            rails[used[place]] = {used.front(), place, static_cast<std::uint32_t>(used.size())};
        }
        first = next;
    }
    return rails;
}

/// Deals the numbers of a leaf out to its end ports. Rails of a node want places apart, and slots that no
/// other rail of the node has.
class LeafNumbers {
public:
    LeafNumbers(const Topology& topology, const Shape& shape)
        : shape_(shape), rails_(rails_of(topology)), slots_taken_(topology.end_ports.size()) {}

    /// The place of each of the leaf's ends, a permutation of 0 .. ends.size() - 1.
    const std::vector<std::uint32_t>& deal(std::uint32_t at, const std::vector<std::uint32_t>& ends,
                                           std::uint32_t first_number) {
        const auto count = static_cast<std::uint32_t>(ends.size());
        places_.assign(count, 0);
        free_.assign(count, 1);
        for (std::uint32_t i = 0; i < count; ++i) {
            const Rail& rail = rails_[ends[i]];
            const std::uint32_t wanted = (i + rail.place * count / rail.count) % count;
            places_[i] = rail.count == 1 ? next_free(wanted) : place_apart(at, rail, wanted, first_number);
            free_[places_[i]] = 0;
        }
        return places_;
    }

private:
    [[nodiscard]] std::uint32_t next_free(std::uint32_t place) const {
        while (free_[place] == 0) {
            place = (place + 1) % static_cast<std::uint32_t>(free_.size());
        }
        return place;
    }

    std::uint32_t place_apart(std::uint32_t at, const Rail& rail, std::uint32_t wanted,
                              std::uint32_t first_number) {
        const auto count = static_cast<std::uint32_t>(free_.size());
        // Rounds lead to the same ports again: apart is what is apart within one.
        const std::size_t ports = shape_.slots[at].size() / (shape_.rounds.empty() ? 1 : shape_.rounds[at]);
        const auto slots = static_cast<std::uint32_t>(std::max<std::size_t>(1, ports));
        std::vector<std::uint32_t>& taken = slots_taken_[rail.first_end];
        std::uint32_t place = next_free(wanted);
        for (std::uint32_t step = 0; step < count; ++step) {
            const std::uint32_t other = (wanted + step) % count;
            const std::uint32_t slot = (first_number + other) % slots;
            if (free_[other] != 0 && std::find(taken.begin(), taken.end(), slot) == taken.end()) {
                place = other;
                break;
            }
        }
        taken.push_back((first_number + place) % slots);
        return place;
    }

    const Shape& shape_;
    std::vector<Rail> rails_;
    std::vector<std::vector<std::uint32_t>> slots_taken_;  ///< by the node's first end
    std::vector<std::uint32_t> places_;
    std::vector<char> free_;
};

/// Numbers of end ports, by EndPortIndex: all that have the same turn in a row, leaf by leaf.
std::vector<std::uint32_t> number_ends(const Topology& topology, const Shape& shape,
                                       const std::vector<std::vector<std::uint32_t>>& attached,
                                       const Roles& roles) {
    struct Seat {
        std::uint32_t turn;
        std::uint32_t at;
        std::uint32_t end;
    };
    std::vector<Seat> seats;
    seats.reserve(topology.end_ports.size());
    for (const std::uint32_t at : shape.order) {
        for (const std::uint32_t end : attached[at]) {
            seats.push_back({roles.turn_of(end), at, end});
        }
    }
    if (!roles.turn.empty()) {
        std::stable_sort(seats.begin(), seats.end(),
                         [](const Seat& a, const Seat& b) { return a.turn < b.turn; });
    }
    LeafNumbers leaf(topology, shape);
    std::vector<std::uint32_t> numbers(topology.end_ports.size(), 0);
    std::vector<std::uint32_t> together;
    std::uint32_t next = 0;
    for (auto first = seats.begin(); first != seats.end();) {
        const auto last = std::find_if(first, seats.end(), [&](const Seat& seat) {
            return seat.turn != first->turn || seat.at != first->at;
        });
        together.clear();
        std::for_each(first, last, [&](const Seat& seat) { together.push_back(seat.end); });
        const std::vector<std::uint32_t>& places = leaf.deal(first->at, together, next);
        for (std::size_t i = 0; i < together.size(); ++i) {
            numbers[together[i]] = next + places[i];
        }
        next += static_cast<std::uint32_t>(together.size());
        first = last;
    }
    return numbers;
}

}  // namespace

std::vector<LidClass> lid_classes(const Topology& topology) {
    std::vector<std::uint32_t> cuts{0, topology.max_lid + 1U};
    for (const TopologySwitch& item : topology.switches) {
        if (item.lft_cap <= topology.max_lid) {
            cuts.push_back(item.lft_cap);
        }
    }
    std::sort(cuts.begin(), cuts.end());
    cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
    std::vector<LidClass> classes;
    for (std::size_t i = 0; i + 1 < cuts.size(); ++i) {
        classes.push_back({cuts[i], cuts[i + 1]});
    }
    return classes;
}

Targets::Targets(const Topology& topology, const Shape& shape, const LidClass& of, const Roles& roles)
    : class_(of) {
    const std::vector<std::vector<std::uint32_t>> attached = attached_end_ports(topology);
    const std::vector<std::uint32_t> numbers = number_ends(topology, shape, attached, roles);
    for (std::uint32_t place = 0; place < shape.order.size(); ++place) {
        const std::uint32_t at = shape.order[place];
        first_.push_back(static_cast<std::uint32_t>(all_.size()));
        for (const std::uint32_t end : attached[at]) {
            const TopologyEndPort& port = topology.end_ports[end];
            add(port.lids, port.switch_port.value(), roles.of(end), numbers[end]);
        }
        // Switches are numbered apart from hosts, one on: where every switch has one host, the two part ways.
        add(topology.switches[at].lids, 0, Role::uncounted, place + 1);
        first_run_.push_back(static_cast<std::uint32_t>(runs_.size()));
        close_runs();
    }
    first_.push_back(static_cast<std::uint32_t>(all_.size()));
    first_run_.push_back(static_cast<std::uint32_t>(runs_.size()));
    std::vector<char> held(of.high - of.low, 0);
    for (const Target& target : all_) {
        held[target.lid - of.low] = 1;
    }
    for (std::uint32_t lid = of.low; lid < of.high; ++lid) {
        if (held[lid - of.low] == 0) {
            vacant_.push_back(static_cast<std::uint16_t>(lid));
        }
    }
}

void Targets::add(const mad::LidRange& lids, std::uint8_t port, Role role, std::uint32_t number) {
    for (std::uint32_t lid = lids.base.value(); lid < lids.end(); ++lid) {
        if (lid >= class_.low && lid < class_.high) {
            const std::uint32_t mine = number + (lid - lids.base.value());
            all_.push_back({static_cast<std::uint16_t>(lid), port, role, mine});
            numbers_ = std::max(numbers_, mine + 1);
        }
    }
}

/// Gathers the targets of the last destination switch into runs.
void Targets::close_runs() {
    const std::size_t first = runs_.size();
    for (std::size_t i = first_.back(); i < all_.size(); ++i) {
        const Target& target = all_[i];
        const bool follows = runs_.size() > first && runs_.back().lid + runs_.back().count == target.lid &&
                             runs_.back().number + runs_.back().count == target.number;
        if (!follows) {
            runs_.push_back({target.lid, 0, target.number});
        }
        ++runs_.back().count;
    }
}

}  // namespace ibf::routing
