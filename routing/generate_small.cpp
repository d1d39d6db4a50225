#include <fmt/format.h>

#include "routing/generate_draft.hpp"
#include "routing/generate_families.hpp"

namespace ibf::routing {
namespace {

base::Result<Netlist> draw_back_to_back(const Parameters& parameters) {
    FabricDraft draft(parameters);
    const auto a = draft.add_host();
    const auto b = draft.add_host();
    draft.connect(a, 1, b, 1);
    return draft.take();
}

base::Result<Netlist> draw_single(const Parameters& parameters) {
    const std::uint32_t hosts = parameters.number("hosts");
    FabricDraft draft(parameters);
    const auto only = draft.add_switch("switch-001", hosts);
    draft.add_hosts_to(only, 1, hosts);
    return draft.take();
}

/// A hub without hosts; port i of it leads to leaf i, whose ports 1..hosts have hosts and whose last one goes
/// up.
base::Result<Netlist> draw_star(const Parameters& parameters) {
    const std::uint32_t leaves = parameters.number("leaves");
    const std::uint32_t hosts = parameters.number("hosts");
    if (auto fits = check_size("star", leaves + 1U, std::uint64_t{leaves} * hosts, hosts + 1U); !fits) {
        return tl::unexpected(fits.error());
    }
    FabricDraft draft(parameters);
    const auto hub = draft.add_switch("spine-001", leaves);
    for (std::uint32_t leaf = 1; leaf <= leaves; ++leaf) {
        const auto node = draft.add_switch(fmt::format("leaf-{:03}", leaf), hosts + 1);
        draft.connect(node, hosts + 1, hub, leaf);
    }
    for (std::uint32_t leaf = 1; leaf <= leaves; ++leaf) {
        draft.add_hosts_to(hub + leaf, 1, hosts);
    }
    return draft.take();
}

/// Port 1 leads to the next switch, port 2 to the one before, hosts follow. Two switches have one cable.
base::Result<Netlist> draw_ring(const Parameters& parameters) {
    const std::uint32_t switches = parameters.number("switches");
    const std::uint32_t hosts = parameters.number("hosts");
    if (auto fits = check_size("ring", switches, std::uint64_t{switches} * hosts, hosts + 2U); !fits) {
        return tl::unexpected(fits.error());
    }
    FabricDraft draft(parameters);
    for (std::uint32_t i = 1; i <= switches; ++i) {
        draft.add_switch(fmt::format("switch-{:03}", i), hosts + 2);
    }
    const std::uint32_t cables = switches == 2 ? 1 : switches;
    for (std::uint32_t i = 0; i < cables; ++i) {
        draft.connect(i, 1, (i + 1) % switches, 2);
    }
    for (std::uint32_t i = 0; i < switches; ++i) {
        draft.add_hosts_to(i, 3, hosts);
    }
    return draft.take();
}

}  // namespace

Family back_to_back_family() {
    return {"back-to-back", "back-to-back", "two hosts and one cable, no switch", "", {}, draw_back_to_back};
}

Family single_family() {
    return {"single",
            "single:8",
            "one switch with hosts on every port",
            "hosts",
            {{"hosts", KeyKind::number, 1, kSwitchPortsMax, "4", "hosts, and ports of the switch"}},
            draw_single};
}

Family star_family() {
    return {"star",
            "star:leaves=8,hosts=16",
            "leaf switches with one cable each to a hub without hosts",
            "leaves",
            {{"leaves", KeyKind::number, 1, kSwitchPortsMax, "4", "leaf switches"},
             {"hosts", KeyKind::number, 0, kSwitchPortsMax - 1, "1", "hosts per leaf"}},
            draw_star};
}

Family ring_family() {
    return {"ring",
            "ring:4,hosts=2",
            "switches in a circle: the smallest fabric whose shortest paths can deadlock",
            "switches",
            {{"switches", KeyKind::number, 2, 10'000, "4", "switches in the circle"},
             {"hosts", KeyKind::number, 0, kSwitchPortsMax - 2, "1", "hosts per switch"}},
            draw_ring};
}

}  // namespace ibf::routing
