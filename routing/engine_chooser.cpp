#include "routing/engine_chooser.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace ibf::routing {

namespace {

void add_group(GroupSet& set, unsigned group) {
    set[group / 64] |= std::uint64_t{1} << (group % 64);
}

bool is_same(const GroupSet& a, const GroupSet& b) {
    return ((a[0] ^ b[0]) | (a[1] ^ b[1]) | (a[2] ^ b[2]) | (a[3] ^ b[3])) == 0;
}

bool has_many(const GroupSet& set) {
    std::uint64_t seen = 0;
    std::uint64_t again = 0;
    for (const std::uint64_t word : set) {
        again |= (word & (word - 1)) | (seen != 0 ? word : 0);
        seen |= word;
    }
    return again != 0;
}

bool is_within(const GroupSet& inner, const GroupSet& outer) {
    bool within = true;
    for (unsigned word = 0; word < kGroupWords; ++word) {
        within = within && (inner[word] & ~outer[word]) == 0;
    }
    return within;
}

}  // namespace

SlotTables::SlotTables(const Shape& shape, std::uint32_t numbers) {
    for (std::size_t at = 0; at < shape.slots.size(); ++at) {
        const auto slots = static_cast<std::uint32_t>(shape.slots[at].size());
        if (slots < 2) {
            continue;
        }
        std::vector<std::uint8_t>& table = tables_[{shape.divider[at], slots}];
        table.reserve(numbers);
        std::uint32_t left = shape.divider[at];
        for (std::uint32_t slot = 0; table.size() < numbers; slot = slot + 1 == slots ? 0 : slot + 1) {
            for (left = shape.divider[at]; left != 0 && table.size() < numbers; --left) {
                table.push_back(static_cast<std::uint8_t>(slot));
            }
        }
    }
}

const std::uint8_t* SlotTables::find(std::uint32_t divider, std::size_t slots) const {
    const auto found = tables_.find({divider, static_cast<std::uint32_t>(slots)});
    return found == tables_.end() ? nullptr : found->second.data();
}

PortChooser::PortChooser(const Graph& graph, const Shape& shape, const SlotTables& tables)
    : graph_(graph), shape_(shape), tables_(tables) {}

void PortChooser::start(std::uint32_t at) {
    at_ = at;
    groups_ = graph_.groups_of(at);
    divider_ = shape_.divider[at];
    slots_ = static_cast<std::uint32_t>(shape_.slots[at].size());
    slot_of_ = tables_.find(divider_, slots_);
    group_of_port_.fill(-1);
    for (std::size_t group = 0; group < groups_.size(); ++group) {
        for (std::uint32_t i = 0; i < groups_[group].port_count; ++i) {
            const std::uint32_t link = groups_[group].first_port + i;
            group_of_port_[graph_.ports[link]] = static_cast<std::int16_t>(group);
            rate_of_port_[graph_.ports[link]] = graph_.rate(link);
        }
    }
    up_ = {};
    for (const std::uint8_t port : shape_.slots[at]) {
        if (port != kHole) {
            add_group(up_, static_cast<unsigned>(group_of_port_[port]));
        }
    }
    work_out(single_, {});
    work_out(many_, {});
    choice_ = &single_;
}

void PortChooser::use(const GroupSet& set) {
    Choice& choice = has_many(set) ? many_ : single_;
    if (!is_same(set, choice.set)) {
        work_out(choice, set);
    }
    choice_ = &choice;
}

void PortChooser::work_out(Choice& choice, const GroupSet& set) {
    for (const std::uint8_t port : choice.ports) {
        choice.allowed[port] = 0;
    }
    choice.set = set;
    list_ports(choice);
    for (const std::uint8_t port : choice.ports) {
        choice.allowed[port] = 1;
    }
    // Candidates that are not all above are counted from the first neighbour with a higher index than our
    // own: if everybody counted from the lowest, the lowest would draw most of the traffic.
    const auto higher = std::find_if(choice.ports.begin(), choice.ports.end(), [&](std::uint8_t port) {
        return groups_[static_cast<unsigned>(group_of_port_[port])].peer > at_;
    });
    choice.onward =
        higher == choice.ports.end() ? 0 : static_cast<std::uint32_t>(higher - choice.ports.begin());
    choice.upward = slot_of_ != nullptr && choice.ports.size() > 1 && is_within(set, up_);
    choice.pick.clear();
    if (choice.upward) {
        const std::vector<std::uint8_t>& slots = shape_.slots[at_];
        for (int copy = 0; copy < 2; ++copy) {
            for (const std::uint8_t port : slots) {
                choice.pick.push_back(port != kHole && choice.allowed[port] != 0 ? port : kHole);
            }
        }
        choice.whole = std::find(choice.pick.begin(), choice.pick.end(), kHole) == choice.pick.end();
    }
}

void PortChooser::list_ports(Choice& choice) const {
    choice.ports.clear();
    bool more = true;
    for (std::uint32_t layer = 0; more; ++layer) {
        more = false;
        for (unsigned word = 0; word < kGroupWords; ++word) {
            for (std::uint64_t bits = choice.set[word]; bits != 0; bits &= bits - 1) {
                const PortGroup& group = groups_[word * 64 + static_cast<unsigned>(std::countr_zero(bits))];
                if (layer < group.port_count) {
                    choice.ports.push_back(graph_.ports_of(group)[layer]);
                }
                more = more || layer + 1 < group.port_count;
            }
        }
    }
    if (!graph_.rates.empty()) {
        repeat_by_share(choice.ports);
    }
}

void PortChooser::repeat_by_share(std::vector<std::uint8_t>& ports) const {
    std::vector<std::uint32_t> rates;
    for (const std::uint8_t port : ports) {
        rates.push_back(rate_of_port_[port]);
    }
    const std::vector<std::uint8_t> shares = shares_of(rates);
    const std::size_t count = ports.size();
    for (unsigned round = 1; round < kSharesMost; ++round) {
        for (std::size_t i = 0; i < count; ++i) {
            if (round < shares[i]) {
                ports.push_back(ports[i]);
            }
        }
    }
}

std::size_t PortChooser::turn(std::uint32_t number) const {
    const std::size_t count = choice_->ports.size();
    if (count == 1) {
        return 0;
    }
    if (!choice_->upward) {
        return (number / divider_ + choice_->onward) % count;
    }
    // The numbers of a slot that cannot serve go round the candidates, each slot starting at another one.
    return (number / divider_ / slots_ + slot_of_[number]) % count;
}

std::uint8_t PortChooser::ideal(std::uint32_t number) const {
    if (choice_->upward) {
        const std::uint8_t port = choice_->pick[slot_of_[number]];
        if (port != kHole) {
            return port;
        }
    }
    return choice_->ports[turn(number)];
}

void PortChooser::fill(const TargetRun& run, std::uint8_t* out) const {
    if (choice_->ports.size() == 1) {
        std::memset(out, choice_->ports.front(), run.count);
    } else if (choice_->upward && choice_->whole) {
        fill_slots(run, out);
    } else {
        for (std::uint32_t i = 0; i < run.count; ++i) {
            out[i] = ideal(run.number + i);
        }
    }
}

/// Numbers in a row keep a slot for `divider` of them, or walk through the slots if that is 1.
void PortChooser::fill_slots(const TargetRun& run, std::uint8_t* out) const {
    for (std::uint32_t done = 0; done < run.count;) {
        const std::uint32_t number = run.number + done;
        const std::uint32_t slot = slot_of_[number];
        const std::uint32_t left = run.count - done;
        if (divider_ == 1) {
            const std::uint32_t here = std::min(left, slots_);
            std::memcpy(out + done, choice_->pick.data() + slot, here);
            done += here;
        } else {
            const std::uint32_t here = std::min(left, divider_ - number % divider_);
            std::memset(out + done, choice_->pick[slot], here);
            done += here;
        }
    }
}

bool PortChooser::allows_all(const std::uint8_t* ports, std::uint32_t count) const {
    std::uint8_t all = 1;
    for (std::uint32_t i = 0; i < count; ++i) {
        all &= choice_->allowed[ports[i]];
    }
    return all != 0;
}

}  // namespace ibf::routing
