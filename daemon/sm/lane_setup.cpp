#include "daemon/sm/lane_setup.hpp"

#include <algorithm>

#include "base/fnv.hpp"
#include "daemon/sm/port_plan.hpp"
#include "mad/codec.hpp"
#include "routing/verify_lanes.hpp"

namespace ibf::sm {
namespace {

using mad::Sl2VlTable;
using mad::VlArbBlock;

/// Works out one device's job.
class JobPlanner {
public:
    /// `at`: the switch's place in the routes; empty for an adapter or router port.
    JobPlanner(const LaneSetupInput& input, fabric::PortRef ref, std::optional<std::uint32_t> at)
        : input_(input),
          node_(input.fabric.nodes[ref.node]),
          device_(lane_device(input.fabric, ref)),
          at_(at),
          count_(device_.ports.size()) {
        job_.at = ref;
        job_.owner = fabric::lid_owner(node_, ref.port);
        device_.optimised = device_.optimised && !input.row_by_row.contains(job_.owner);
        for (std::size_t port = 0; port < count_; ++port) {
            lanes_.push_back(find_lanes(port));
        }
    }

    /// Empty: all that it shall hold was acknowledged.
    std::optional<LaneJob> plan() {
        const auto known = input_.acknowledged.find(job_.owner);
        for (std::size_t exit = device_.is_switch ? 1 : 0; exit < count_; ++exit) {
            if (known != input_.acknowledged.end() && !lanes_[exit]) {
                keep_print(known->second, exit);
            }
            if (lanes_[exit]) {
                const std::uint64_t print = print_of(exit);
                job_.prints[static_cast<std::uint8_t>(exit)] = print;
                const bool same =
                    known != input_.acknowledged.end() && print_in(known->second, exit) == print;
                if (!same) {
                    due_.push_back(exit);
                }
                linked_.push_back(exit);
            }
        }
        if (due_.empty()) {
            return std::nullopt;
        }
        if (device_.has_maps) {
            add_mappings();
        } else if (device_.is_switch) {
            job_.lacking = "it has no SL to VL mapping";
        }
        std::for_each(due_.begin(), due_.end(), [this](std::size_t port) { add_arbitration(port); });
        return std::move(job_);
    }

private:
    [[nodiscard]] const fabric::Port& port_at(std::size_t port) const {
        return node_.ports[device_.is_switch ? port : job_.at.port.value()];
    }

    /// Data lanes of the link at a port; empty: no link.
    [[nodiscard]] std::optional<unsigned> find_lanes(std::size_t number) {
        const fabric::Port& port = port_at(number);
        if ((device_.is_switch && number == 0) || !port.known || port.peer.node == fabric::kNoNode) {
            return std::nullopt;
        }
        const std::uint8_t code = link_vls(port, input_.fabric.port(port.peer), input_.config);
        job_.lanes_due = job_.lanes_due || port.info.operational_vls != code;
        return mad::vl_count(code);
    }

    static std::uint64_t print_in(const LanePrints& prints, std::size_t exit) {
        const auto found = prints.find(static_cast<std::uint8_t>(exit));
        return found == prints.end() ? 0 : found->second;
    }
    /// A port without a link holds what it held.
    void keep_print(const LanePrints& prints, std::size_t exit) {
        if (const std::uint64_t print = print_in(prints, exit); print != 0) {
            job_.prints[static_cast<std::uint8_t>(exit)] = print;
        }
    }

    /// What (input, exit) shall map SLs to. An SL that no path has goes to some lane that is there.
    [[nodiscard]] Sl2VlTable wanted(std::size_t input, std::size_t exit) const {
        Sl2VlTable table;
        for (unsigned sl = 0; sl < routing::kServiceLevels; ++sl) {
            unsigned lane = sl;
            if (at_) {
                lane = input_.routes.lane(
                    routing::SwitchIndex{*at_}, mad::PortNum{static_cast<std::uint8_t>(input)},
                    mad::PortNum{static_cast<std::uint8_t>(exit)}, static_cast<std::uint8_t>(sl));
            }
            table.vls[sl] = mad::Vl{static_cast<std::uint8_t>(lane % *lanes_[exit])};
        }
        return table;
    }

    [[nodiscard]] std::uint64_t print_of(std::size_t exit) const {
        base::Fnv1a print;
        print.add(static_cast<std::uint8_t>(*lanes_[exit]));
        for (std::size_t input = 0; input < count_; ++input) {
            for (const mad::Vl vl : wanted(input, exit).vls) {
                print.add(vl.value());
            }
        }
        return std::max<std::uint64_t>(print.value(), 1);
    }

    void write(std::uint32_t modifier, const Sl2VlTable& table) {
        job_.writes.push_back({mad::Attribute::sl2vl_table, modifier, mad::encode(table)});
    }

    void add_mappings() {
        if (!device_.is_switch) {
            return write(map_modifier(device_, 0, 0), wanted(0, 0));
        }
        const bool all = due_.size() == linked_.size();
        if (device_.optimised && all && due_.size() > 1 && alike(due_)) {
            write(kAllExits | kAllInputs, wanted(1, due_.front()));
            for (const std::size_t exit : due_) {  // masks mean outer ports: port 0 is set by itself
                write(map_modifier(device_, 0, exit), wanted(0, exit));
            }
            return;
        }
        for (const std::size_t exit : due_) {
            write(map_modifier(device_, 0, exit), wanted(0, exit));
            if (device_.optimised && alike({exit})) {
                write(kAllInputs | static_cast<std::uint32_t>(exit), wanted(1, exit));
                continue;
            }
            for (std::size_t input = 1; input < count_; ++input) {
                write(map_modifier(device_, input, exit), wanted(input, exit));
            }
        }
    }

    /// All outer inputs toward these exits want the same.
    [[nodiscard]] bool alike(const std::vector<std::size_t>& exits) const {
        const Sl2VlTable model = wanted(1, exits.front());
        return std::all_of(exits.begin(), exits.end(), [&](std::size_t exit) {
            for (std::size_t input = 1; input < count_; ++input) {
                if (wanted(input, exit) != model) {
                    return false;
                }
            }
            return true;
        });
    }

    /// Every data lane of the port one turn of equal weight.
    void add_arbitration(std::size_t port) {
        const unsigned lanes = *lanes_[port];
        const unsigned room = device_.ports[port].arbitration_low;
        if (lanes < 2 || room == 0) {
            return;
        }
        if (room < lanes) {
            job_.lacking = fmt::format("port {} has {} data lanes, but room for {} in its arbitration table",
                                       port, lanes, room);
            return;
        }
        VlArbBlock block;
        for (std::size_t entry = 0; entry < std::min<std::size_t>(lanes, kArbitrationBlockEntries); ++entry) {
            block.entries[entry] = {mad::Vl{static_cast<std::uint8_t>(entry)}, kLaneWeight};
        }
        job_.writes.push_back(
            {mad::Attribute::vl_arbitration, arbitration_modifier(device_, port, 1), mad::encode(block)});
    }

    const LaneSetupInput& input_;
    const fabric::Node& node_;
    LaneDevice device_;
    std::optional<std::uint32_t> at_;
    std::size_t count_;
    std::vector<std::optional<unsigned>> lanes_;  ///< by port; empty: no link
    std::vector<std::size_t> linked_;             ///< exits with a link
    std::vector<std::size_t> due_;  ///< of these, those that did not acknowledge what they shall hold
    LaneJob job_;
};

}  // namespace

std::vector<LaneJob> plan_lane_setup(const LaneSetupInput& input) {
    std::vector<LaneJob> jobs;
    if (routing::single_lane(input.routes)) {
        return jobs;
    }
    std::map<std::uint32_t, std::uint32_t> switch_at;
    for (std::uint32_t s = 0; s < input.view.switch_nodes.size(); ++s) {
        switch_at.emplace(input.view.switch_nodes[s], s);
    }
    for (std::uint32_t n = 0; n < input.fabric.nodes.size(); ++n) {
        const fabric::Node& node = input.fabric.nodes[n];
        const auto found = switch_at.find(n);
        if (node.is_switch() && found == switch_at.end()) {
            continue;
        }
        for (auto [p, end] = fabric::addressed_ports(node); p < end; ++p) {
            if (!node.ports[p].known) {
                continue;
            }
            const auto at = node.is_switch() ? std::optional(found->second) : std::nullopt;
            if (auto job = JobPlanner(input, {n, mad::PortNum{static_cast<std::uint8_t>(p)}}, at).plan()) {
                jobs.push_back(std::move(*job));
            }
        }
    }
    return jobs;
}

LaneSetup::LaneSetup(std::vector<LaneJob> jobs) : jobs_(std::move(jobs)), taken_(jobs_.size(), 0) {
    for (std::uint32_t index = 0; index < jobs_.size(); ++index) {
        if (!jobs_[index].writes.empty() && !jobs_[index].lanes_due) {
            ready_.push_back(index);
        }
    }
}

void LaneSetup::begin_rest() {
    for (std::uint32_t index = 0; index < jobs_.size(); ++index) {
        if (!jobs_[index].writes.empty() && jobs_[index].lanes_due) {
            ready_.push_back(index);
        }
    }
}

std::optional<std::pair<std::uint32_t, LaneWrite>> LaneSetup::next() {
    if (ready_.empty()) {
        return std::nullopt;
    }
    const std::uint32_t index = ready_.front();
    ready_.pop_front();
    return std::pair{index, jobs_[index].writes[taken_[index]]};
}

void LaneSetup::took(std::uint32_t job) {
    ++sets_;
    if (++taken_[job] < jobs_[job].writes.size()) {
        ready_.push_back(job);
    }
}

void LaneSetup::failed(std::uint32_t job) {
    jobs_[job].lacking = "it did not take what it was given";
}

void LaneSetup::keep(LanesAcknowledged& out) const {
    for (std::uint32_t index = 0; index < jobs_.size(); ++index) {
        const LaneJob& job = jobs_[index];
        if (job.lacking.empty() && taken_[index] == job.writes.size()) {
            out.insert_or_assign(job.owner, job.prints);
        } else {
            out.erase(job.owner);
        }
    }
}

}  // namespace ibf::sm
