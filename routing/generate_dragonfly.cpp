// Dragonfly (Kim et al., ISCA 2008) and Dragonfly+ (Shpiner et al., HiPINEB 2017): groups of switches, every
// pair of groups joined by global cables. Global ports of a group count through its switches in order; in
// round r, the o-th of them leads o + 1 groups onward ("palm tree"), so its far end is the one that leads g -
// 1 - o onward.
#include <algorithm>
#include <cstdint>
#include <string_view>

#include <fmt/format.h>

#include "routing/generate_draft.hpp"
#include "routing/generate_families.hpp"

namespace ibf::routing {
namespace {

/// Where the global ports are: `switches` consecutive nodes per group, `ports` on each from `first_port` on.
struct Globals {
    std::uint32_t groups = 0;
    std::uint32_t first_node = 0;
    std::uint32_t group_stride = 0;  ///< nodes from one group's first global switch to the next one's
    std::uint32_t switches = 0;
    std::uint32_t first_port = 0;
    std::uint32_t ports = 0;

    [[nodiscard]] std::uint32_t node(std::uint32_t group, std::uint32_t global) const {
        return first_node + group * group_stride + global / ports;
    }
    [[nodiscard]] std::uint32_t port(std::uint32_t global) const { return first_port + global % ports; }
};

void paint_globals(FabricDraft& draft, const Globals& globals) {
    if (globals.groups < 2) {
        return;
    }
    const std::uint32_t others = globals.groups - 1;
    const std::uint32_t rounds = globals.switches * globals.ports / others;
    for (std::uint32_t round = 0; round < rounds; ++round) {
        for (std::uint32_t group = 0; group < globals.groups; ++group) {
            for (std::uint32_t onward = 0; onward < others; ++onward) {
                const std::uint32_t peer = (group + onward + 1) % globals.groups;
                if (group < peer) {
                    const std::uint32_t here = round * others + onward;
                    const std::uint32_t there = round * others + others - 1 - onward;
                    draft.connect(globals.node(group, here), globals.port(here), globals.node(peer, there),
                                  globals.port(there));
                }
            }
        }
    }
}

base::Result<void> check_groups(std::string_view family, std::uint64_t groups, std::uint64_t global_ports) {
    if (groups > global_ports + 1) {
        return base::fail(
            base::ErrorKind::usage,
            fmt::format("{}: a group has {} global ports, so there can be 1 to {} groups, not {}", family,
                        global_ports, global_ports + 1, groups));
    }
    return {};
}

/// Ports of a switch: p hosts, a - 1 to the rest of its group, h global.
base::Result<Netlist> draw_dragonfly(const Parameters& parameters) {
    const std::uint32_t a = parameters.number("a");
    const std::uint32_t p = parameters.number("p");
    const std::uint32_t h = parameters.number("h");
    const std::uint32_t g = parameters.given("g") ? parameters.number("g") : a * h + 1;
    if (auto fits = check_groups("dragonfly", g, std::uint64_t{a} * h); !fits) {
        return tl::unexpected(fits.error());
    }
    const std::uint64_t switches = std::uint64_t{a} * g;
    if (auto fits = check_size("dragonfly", switches, switches * p, p + a - 1U + h); !fits) {
        return tl::unexpected(fits.error());
    }
    FabricDraft draft(parameters);
    for (std::uint32_t i = 0; i < switches; ++i) {
        draft.add_switch(fmt::format("group-{:03}-switch-{:03}", i / a + 1, i % a + 1), p + a - 1 + h);
    }
    for (std::uint32_t group = 0; group < g; ++group) {
        for (std::uint32_t i = 0; i < a; ++i) {
            for (std::uint32_t j = i + 1; j < a; ++j) {
                draft.connect(group * a + i, p + j, group * a + j, p + i + 1);
            }
        }
    }
    paint_globals(draft, {g, 0, a, a, p + a, h});
    for (std::uint32_t i = 0; i < switches; ++i) {
        draft.add_hosts_to(i, 1, p);
    }
    return draft.take();
}

/// A group is a two-level tree: every leaf has a cable to every spine. Leaf ports: hosts, then spines. Spine
/// ports: leaves, then global.
base::Result<Netlist> draw_dragonfly_plus(const Parameters& parameters) {
    const std::uint32_t groups = parameters.number("groups");
    const std::uint32_t leaves = parameters.number("leaves");
    const std::uint32_t spines = parameters.number("spines");
    const std::uint32_t hosts = parameters.number("hosts");
    const std::uint32_t global = parameters.number("global");
    if (auto fits = check_groups("dragonfly+", groups, std::uint64_t{spines} * global); !fits) {
        return tl::unexpected(fits.error());
    }
    const std::uint32_t per_group = leaves + spines;
    const std::uint32_t most_ports = std::max(hosts + spines, leaves + global);
    if (auto fits = check_size("dragonfly+", std::uint64_t{per_group} * groups,
                               std::uint64_t{leaves} * groups * hosts, most_ports);
        !fits) {
        return tl::unexpected(fits.error());
    }
    FabricDraft draft(parameters);
    for (std::uint32_t group = 0; group < groups; ++group) {
        for (std::uint32_t leaf = 1; leaf <= leaves; ++leaf) {
            draft.add_switch(fmt::format("group-{:03}-leaf-{:03}", group + 1, leaf), hosts + spines);
        }
        for (std::uint32_t spine = 1; spine <= spines; ++spine) {
            draft.add_switch(fmt::format("group-{:03}-spine-{:03}", group + 1, spine), leaves + global);
        }
    }
    for (std::uint32_t group = 0; group < groups; ++group) {
        const std::uint32_t first = group * per_group;
        for (std::uint32_t leaf = 0; leaf < leaves; ++leaf) {
            for (std::uint32_t spine = 0; spine < spines; ++spine) {
                draft.connect(first + leaf, hosts + spine + 1, first + leaves + spine, leaf + 1);
            }
        }
    }
    paint_globals(draft, {groups, leaves, per_group, spines, leaves + 1, global});
    for (std::uint32_t group = 0; group < groups; ++group) {
        for (std::uint32_t leaf = 0; leaf < leaves; ++leaf) {
            draft.add_hosts_to(group * per_group + leaf, 1, hosts);
        }
    }
    return draft.take();
}

Key count(std::string_view name, double least, std::string_view fallback, std::string_view meaning) {
    return {name, KeyKind::number, least, kSwitchPortsMax, fallback, meaning};
}

}  // namespace

Family dragonfly_family() {
    return {"dragonfly",
            "dragonfly:a=4,p=2,h=2,g=9",
            "groups of fully connected switches, every pair of groups joined by global cables",
            "",
            {count("a", 1, "4", "switches per group"),
             count("p", 0, "2", "hosts per switch"),
             count("h", 1, "2", "global ports per switch"),
             {"g", KeyKind::number, 1, 10'000, "", "groups; default a*h+1, which uses every global port"}},
            draw_dragonfly};
}

Family dragonfly_plus_family() {
    return {"dragonfly+",
            "dragonfly+:groups=5,leaves=4,spines=4,hosts=4,global=4",
            "groups of leaf and spine switches, every pair of groups joined by cables between spines",
            "",
            {{"groups", KeyKind::number, 1, 10'000, "5", "groups"},
             count("leaves", 1, "4", "leaf switches per group"),
             count("spines", 1, "4", "spine switches per group"),
             count("hosts", 0, "4", "hosts per leaf"),
             count("global", 1, "4", "global ports per spine")},
            draw_dragonfly_plus};
}

}  // namespace ibf::routing
