#include "daemon/sm/lane_plan.hpp"

#include <algorithm>
#include <map>

#include "mad/codec.hpp"

namespace ibf::sm {
namespace {

using fabric::LaneTables;
using mad::Sl2VlTable;
using mad::VlArbBlock;

constexpr mad::Vl kManagement{15};

using Faults = std::map<std::string, std::vector<std::size_t>>;  ///< by what is wrong: the ports

/// Data lanes of a port; one there always is. Of one that nothing leaves by: as many as it can ever run.
unsigned lanes_of(const LanePort& port) {
    return std::max(1U, mad::vl_count(port.sends ? port.operational_vls : port.vl_cap));
}

bool loses(mad::Vl vl, const LanePort& exit) {
    return vl == kManagement || vl.value() >= lanes_of(exit);
}

/// SL 0 on VL 0; others stay, but for lanes that the port does not run, which no agent takes. An SL on VL 15
/// is one that somebody barred.
Sl2VlTable mended(Sl2VlTable table, const LanePort& exit) {
    for (std::size_t sl = 1; sl < table.vls.size(); ++sl) {
        if (table.vls[sl] != kManagement && loses(table.vls[sl], exit)) {
            table.vls[sl] = mad::Vl{static_cast<std::uint8_t>(sl % lanes_of(exit))};
        }
    }
    table.vls[0] = mad::Vl{0};
    return table;
}

/// "1-4, 7"
std::string port_list(const std::vector<std::size_t>& ports) {
    std::string text;
    for (std::size_t i = 0; i < ports.size();) {
        std::size_t last = i;
        while (last + 1 < ports.size() && ports[last + 1] == ports[last] + 1) {
            ++last;
        }
        text += fmt::format("{}{}", text.empty() ? "" : ", ", ports[i]);
        text += last > i ? fmt::format("-{}", ports[last]) : std::string{};
        i = last + 1;
    }
    return text;
}

void note(Faults& faults, std::string what, std::size_t port) {
    std::vector<std::size_t>& ports = faults[std::move(what)];
    if (ports.empty() || ports.back() != port) {
        ports.push_back(port);
    }
}

/// Works out the mapping Sets of one device.
class MapPlan {
public:
    MapPlan(const LaneDevice& device, const LaneTables& tables, Faults& faults)
        : device_(device), tables_(tables) {
        for (std::size_t exit = 0; exit < device.ports.size(); ++exit) {
            for (std::size_t input = 0; input < device.ports.size(); ++input) {
                judge(input, exit, faults);
            }
        }
    }

    void add_writes(std::vector<LaneWrite>& out) {
        write_by_mask(0, kAllExits | kAllInputs, out);
        for (std::size_t exit = 1; exit < device_.ports.size(); ++exit) {
            write_by_mask(exit, kAllInputs, out);
        }
        for (const Pair& pair : bad_) {
            out.push_back(write(map_modifier(device_, pair.second, pair.first), wanted(pair)));
        }
    }

private:
    using Pair = std::pair<std::size_t, std::size_t>;  ///< exit, input

    void judge(std::size_t input, std::size_t exit, Faults& faults) {
        const LanePort& there = device_.ports[exit];
        const Sl2VlTable* table = tables_.map(input, exit);
        const bool hairpin = device_.is_switch && input == exit;
        if (!there.sends || !device_.ports[input].receives || hairpin || table == nullptr ||
            !loses(table->vls[0], there)) {
            return;
        }
        bad_.emplace_back(exit, input);
        note(faults,
             table->vls[0] == kManagement
                 ? std::string("SL 0 led to VL 15")
                 : fmt::format("SL 0 led to VL {} of {} operational", table->vls[0], lanes_of(there)),
             exit);
    }

    [[nodiscard]] static LaneWrite write(std::uint32_t modifier, const Sl2VlTable& table) {
        return {mad::Attribute::sl2vl_table, modifier, mad::encode(table)};
    }

    /// Of a pair that loses packets.
    [[nodiscard]] Sl2VlTable wanted(const Pair& pair) const {
        return mended(*tables_.map(pair.second, pair.first), device_.ports[pair.first]);
    }

    /// A mapping may be written over by what it holds already, and by what it shall hold if SL 0 is lost in
    /// it, now or whenever its ports come up. Any other is what somebody set there.
    [[nodiscard]] bool may_become(const Sl2VlTable& value, std::size_t input, std::size_t exit) const {
        const Sl2VlTable* held = tables_.map(input, exit);
        const LanePort& there = device_.ports[exit];
        return held != nullptr &&
               (*held == value || (loses(held->vls[0], there) && mended(*held, there) == value));
    }

    /// One Set in place of several, if nothing that it covers is to be kept. The masks mean outer ports.
    void write_by_mask(std::size_t exit, std::uint32_t mask, std::vector<LaneWrite>& out) {
        const auto covered = [&](const Pair& pair) {
            return pair.first != 0 && pair.second != 0 && ((mask & kAllExits) != 0 || pair.first == exit);
        };
        if (!device_.optimised || std::count_if(bad_.begin(), bad_.end(), covered) < 2) {
            return;
        }
        const Sl2VlTable value = wanted(*std::find_if(bad_.begin(), bad_.end(), covered));
        for (std::size_t e = 1; e < device_.ports.size(); ++e) {
            for (std::size_t i = 1; i < device_.ports.size() && covered({e, i}); ++i) {
                if (!may_become(value, i, e)) {
                    return;
                }
            }
        }
        out.push_back(write(mask | static_cast<std::uint32_t>(exit), value));
        bad_.erase(std::remove_if(bad_.begin(), bad_.end(), covered), bad_.end());
    }

    const LaneDevice& device_;
    const LaneTables& tables_;
    std::vector<Pair> bad_;  ///< pairs that lose packets and are not yet covered by a Set
};

/// The block that gives VL 0 a weight again: in a free entry, else in the first.
VlArbBlock with_weight(VlArbBlock block, std::size_t entries) {
    const auto end =
        block.entries.begin() + static_cast<std::ptrdiff_t>(std::min(entries, kArbitrationBlockEntries));
    const auto by_weight = [](const VlArbBlock::Entry& a, const VlArbBlock::Entry& b) {
        return a.weight < b.weight;
    };
    const std::uint8_t most = std::max_element(block.entries.begin(), end, by_weight)->weight;
    auto place = std::find_if(block.entries.begin(), end,
                              [](const VlArbBlock::Entry& entry) { return entry.weight == 0; });
    *(place == end ? block.entries.begin() : place) = {mad::Vl{0}, most == 0 ? kLaneWeight : most};
    return block;
}

void plan_arbitration(const LaneDevice& device, const LaneTables& tables, std::size_t port, Faults& faults,
                      std::vector<LaneWrite>& out) {
    const LanePort& at = device.ports[port];
    if (!at.sends || lanes_of(at) < 2 || at.arbitration_low + at.arbitration_high == 0) {
        return;  // a single lane waits for no other
    }
    for (std::size_t block = 1; block <= fabric::kArbitrationBlocks; ++block) {
        const VlArbBlock* held = tables.arbitration_block(port, block);
        if (held == nullptr) {
            return;
        }
        const std::size_t capacity = block <= 2 ? at.arbitration_low : at.arbitration_high;
        const std::size_t before = (block - 1) % 2 * kArbitrationBlockEntries;
        const std::size_t entries = std::min(capacity - std::min(capacity, before), kArbitrationBlockEntries);
        const bool served = std::any_of(
            held->entries.begin(), held->entries.begin() + static_cast<std::ptrdiff_t>(entries),
            [](const VlArbBlock::Entry& entry) { return entry.vl == mad::Vl{0} && entry.weight > 0; });
        if (served) {
            return;
        }
    }
    const bool low = at.arbitration_low > 0;
    const std::size_t block = low ? 1 : 3;
    note(faults, "VL 0 had no weight", port);
    out.push_back({mad::Attribute::vl_arbitration, arbitration_modifier(device, port, block),
                   mad::encode(with_weight(*tables.arbitration_block(port, block),
                                           low ? at.arbitration_low : at.arbitration_high))});
}

LanePort lane_port(const fabric::Node& node, std::size_t number) {
    const fabric::Port& port = node.ports[number];
    const bool management = node.is_switch() && number == 0;
    const bool passed = port.peer.node != fabric::kNoNode && port.info.state == mad::PortState::active;
    return {port.info.vl_cap, port.info.operational_vls, port.info.vl_arb_low_cap, port.info.vl_arb_high_cap,
            management || passed,
            // A base port 0 has no lanes of its own.
            management ? node.switch_info && node.switch_info->enhanced_port0 : passed};
}

}  // namespace

bool LanePort::same_lanes(const LanePort& other) const {
    return vl_cap == other.vl_cap && operational_vls == other.operational_vls &&
           arbitration_low == other.arbitration_low && arbitration_high == other.arbitration_high;
}

bool LanePort::has_arbitration_block(std::size_t block) const {
    const std::size_t capacity = block <= 2 ? arbitration_low : arbitration_high;
    return capacity > (block - 1) % 2 * kArbitrationBlockEntries;
}

LaneDevice lane_device(const fabric::Fabric& fabric, fabric::PortRef at) {
    const fabric::Node& node = fabric.nodes[at.node];
    LaneDevice device;
    device.node = node.guid();
    device.at = at;
    device.is_switch = node.is_switch();
    device.has_maps = node.ports[at.port.value()].info.has_sl_mapping();
    device.optimised = node.switch_info && node.switch_info->optimized_sl2vl;
    if (!node.is_switch()) {
        device.ports.push_back(lane_port(node, at.port.value()));
        return device;
    }
    for (std::size_t p = 0; p < node.ports.size(); ++p) {
        device.ports.push_back(lane_port(node, p));
    }
    return device;
}

bool LaneWrite::optimised() const {
    return attribute == mad::Attribute::sl2vl_table && (modifier & (kAllExits | kAllInputs)) != 0;
}

void apply(const LaneWrite& write, const LaneDevice& device, LaneTables& tables) {
    const std::size_t low = write.modifier & 0xFFU;
    if (write.attribute == mad::Attribute::vl_arbitration) {
        return tables.set_arbitration_block(device.is_switch ? low : 0, write.modifier >> 16U,
                                            mad::decode_vl_arb(write.data));
    }
    const Sl2VlTable table = mad::decode_sl2vl(write.data);
    const std::size_t high = (write.modifier >> 8U) & 0xFFU;
    const auto meant = [&](std::uint32_t mask, std::size_t one, std::size_t port) {
        return (write.modifier & mask) != 0 ? port != 0 : port == one;
    };
    for (std::size_t exit = 0; exit < tables.ports; ++exit) {
        for (std::size_t input = 0; input < tables.ports; ++input) {
            if (meant(kAllExits, low, exit) && meant(kAllInputs, high, input)) {
                tables.set_map(input, exit, table);
            }
        }
    }
}

/// Adapters and routers have one table a port, that of the port asked (IBA 14.2.5.8, 14.2.5.9).
std::uint32_t map_modifier(const LaneDevice& device, std::size_t input, std::size_t exit) {
    return device.is_switch ? static_cast<std::uint32_t>(input << 8U | exit) : 0U;
}

std::uint32_t arbitration_modifier(const LaneDevice& device, std::size_t port, std::size_t block) {
    return static_cast<std::uint32_t>(block << 16U | (device.is_switch ? port : 0U));
}

LanePlan plan_lanes(const LaneDevice& device, const LaneTables& tables) {
    LanePlan plan;
    Faults faults;
    MapPlan maps(device, tables, faults);
    maps.add_writes(plan.writes);
    for (std::size_t port = 0; port < device.ports.size(); ++port) {
        plan_arbitration(device, tables, port, faults, plan.writes);
    }
    for (const auto& [what, ports] : faults) {
        plan.wrong += plan.wrong.empty() ? "" : "; ";
        plan.wrong += device.is_switch ? fmt::format("{} at exit port{} {}", what,
                                                     ports.size() > 1 ? "s" : "", port_list(ports))
                                       : what;
    }
    return plan;
}

}  // namespace ibf::sm
