// What an outsider finds wrong with a fabric at rest.
#include <algorithm>
#include <deque>

#include <fmt/format.h>

#include "base/prng.hpp"
#include "harness.hpp"

namespace ibf::test {
namespace {

using mad::PortNum;
using mad::PortState;

struct End {
    std::uint32_t node = 0;
    PortNum port{};
};

class Outsider {
public:
    Outsider(const Lab& lab, const CheckOptions& options)
        : lab_(lab), nodes_(lab.sim.netlist().nodes), options_(options) {}

    std::vector<std::string> look() {
        find_connected();
        check_states();
        check_lids();
        check_walks();
        check_rules();
        for (const std::string& loop : lab_.loops()) {
            say(loop);
        }
        return std::move(found_);
    }

private:
    [[nodiscard]] bool is_switch(std::uint32_t node) const {
        return nodes_[node].type == mad::NodeType::switch_;
    }

    [[nodiscard]] mad::PortInfo info(std::uint32_t node, std::size_t port) const {
        return lab_.sim.port_info(node, PortNum{static_cast<std::uint8_t>(port)});
    }

    /// A cable whose link is up, between nodes that count.
    [[nodiscard]] bool link_up(std::uint32_t node, std::size_t port) const {
        const routing::NetlistPort& item = nodes_[node].ports[port];
        return item.peer_node && counts(*item.peer_node) && info(node, port).state != PortState::down &&
               info(*item.peer_node, item.peer_port.value()).state != PortState::down;
    }

    [[nodiscard]] bool counts(std::uint32_t node) const {
        return lab_.sim.present(node) && !lab_.dead.contains(node) && !options_.left_out.contains(node);
    }

    void check_rules() {
        static const std::set<std::string> kRaces{"port-state", "peer-not-armed"};
        std::map<std::string, std::uint64_t> forgiven;
        for (const auto& [rule, count] : options_.raced) {
            forgiven[rule] = kRaces.contains(rule) ? count : 0;
        }
        for (const auto& [rule, count] : lab_.sim.counters().by_rule) {
            if (const std::uint64_t broken = count - std::min(count, forgiven[rule]); broken > 0) {
                say(fmt::format("wire rule {} was broken {} times", rule, broken));
            }
        }
    }

    void find_connected() {
        reached_.assign(nodes_.size(), false);
        const mad::LocalPort own = lab_.sim.local_port(lab_.client);
        std::deque<std::uint32_t> queue;
        for (std::uint32_t n = 0; n < nodes_.size(); ++n) {
            if (nodes_[n].guid == own.node_guid && lab_.sim.present(n)) {
                queue.push_back(n);
                reached_[n] = true;
            }
        }
        const std::uint32_t first = queue.empty() ? 0 : queue.front();
        while (!queue.empty()) {
            const std::uint32_t n = queue.front();
            queue.pop_front();
            for (std::size_t p = 1; p < nodes_[n].ports.size(); ++p) {
                const bool onward = is_switch(n) || (n == first && p == own.port.value());
                const bool open = onward && link_up(n, p) && !reached_[*nodes_[n].ports[p].peer_node];
                if (open) {
                    reached_[*nodes_[n].ports[p].peer_node] = true;
                    queue.push_back(*nodes_[n].ports[p].peer_node);
                }
            }
        }
    }

    /// Ports of reached nodes that are linked into the subnet.
    template <class Visit>
    void for_linked_ports(Visit visit) const {
        for (std::uint32_t n = 0; n < nodes_.size(); ++n) {
            for (std::size_t p = 1; reached_[n] && p < nodes_[n].ports.size(); ++p) {
                if (link_up(n, p) && reached_[*nodes_[n].ports[p].peer_node]) {
                    visit(End{n, PortNum{static_cast<std::uint8_t>(p)}});
                }
            }
        }
    }

    void check_states() {
        for_linked_ports([&](End end) {
            const mad::PortInfo here = info(end.node, end.port.value());
            if (here.state != PortState::active) {
                say(fmt::format("{} port {} is {}", nodes_[end.node].description, end.port,
                                mad::to_string(here.state)));
            }
        });
    }

    void check_lids() {
        std::map<std::uint32_t, std::string> owner;
        const auto claim = [&](std::uint32_t node, std::size_t port) {
            const mad::PortInfo own = info(node, port);
            const std::string name = fmt::format("{} port {}", nodes_[node].description, port);
            if (own.lid == mad::kLidNone) {
                say(name + " has no LID");
            }
            const mad::LidRange range{own.lid, own.lmc};
            for (std::uint32_t lid = range.base.value(); lid < range.end(); ++lid) {
                if (const auto [at, fresh] = owner.emplace(lid, name); !fresh) {
                    say(fmt::format("LID {} is {}'s and {}'s", lid, at->second, name));
                }
            }
        };
        for (std::uint32_t n = 0; n < nodes_.size(); ++n) {
            if (reached_[n] && is_switch(n)) {
                claim(n, 0);
            }
        }
        for_linked_ports([&](End end) {
            if (!is_switch(end.node)) {
                claim(end.node, end.port.value());
                ends_.push_back(end);
            }
        });
    }

    void walk(const End& from, const End& to) {
        const mad::PortInfo target = info(to.node, to.port.value());
        const mad::LidRange range{target.lid, target.lmc};
        for (std::uint32_t lid = range.base.value(); lid < range.end(); ++lid) {
            const auto steps = lab_.sim.walk(from.node, from.port, mad::Lid{static_cast<std::uint16_t>(lid)});
            if (!steps) {
                say(fmt::format("{} does not reach {} (LID {}): {}", nodes_[from.node].description,
                                nodes_[to.node].description, lid, steps.error().message));
            }
        }
    }

    void check_walks() {
        std::vector<End> targets = ends_;
        for (std::uint32_t n = 0; n < nodes_.size(); ++n) {
            if (reached_[n] && is_switch(n)) {
                targets.push_back({n, PortNum{0}});
            }
        }
        const std::size_t pairs = ends_.size() * targets.size();
        if (pairs <= options_.pairs_max) {
            for (const End& from : ends_) {
                for (const End& to : targets) {
                    if (from.node != to.node || from.port != to.port) {
                        walk(from, to);
                    }
                }
            }
            return;
        }
        base::Prng prng(pairs);
        for (std::uint32_t i = 0; i < options_.pairs_max; ++i) {
            const End& from = ends_[prng.below(ends_.size())];
            const End& to = targets[prng.below(targets.size())];
            if (from.node != to.node || from.port != to.port) {
                walk(from, to);
            }
        }
    }

    void say(std::string text) {
        constexpr std::size_t kToldMax = 20;
        if (found_.size() < kToldMax) {
            found_.push_back(std::move(text));
        }
    }

    const Lab& lab_;
    const std::vector<routing::NetlistNode>& nodes_;
    const CheckOptions& options_;
    std::vector<bool> reached_;
    std::vector<End> ends_;
    std::vector<std::string> found_;
};

}  // namespace

std::vector<std::string> problems(const Lab& lab, const CheckOptions& options) {
    return Outsider(lab, options).look();
}

}  // namespace ibf::test
