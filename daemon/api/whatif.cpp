#include "daemon/api/whatif.hpp"

#include <algorithm>
#include <set>
#include <tuple>

#include "daemon/fabric/forwarding.hpp"
#include "daemon/sm/lft_plan.hpp"
#include "routing/parallel.hpp"

namespace ibf::api {
namespace {

using fabric::Snapshot;
using routing::Routes;
using routing::Topology;

routing::RouteOptions options_of(const Snapshot& snapshot, const WhatIfQuestion& question) {
    routing::RouteOptions options =
        snapshot.route_options ? *snapshot.route_options : routing::RouteOptions{};
    if (!question.engines.empty()) {
        options.engines = question.engines;
    }
    options.threads = std::max(1U, routing::resolve_threads(0) / 2);
    // A drained switch that goes is away: the others leave its entries as they are.
    for (const routing::TopologySwitch& item : snapshot.view->topology.switches) {
        const bool leaves = question.down.has(item.guid) && options.drained.elements.has(item.guid);
        if (leaves && item.lids.count() != 0) {
            options.drained.away.push_back(item.lids);
        }
    }
    return options;
}

/// The tables in force of the switches that are left, in their order.
sm::RowsInForce rows_left(const Snapshot& snapshot, const Topology& left) {
    sm::RowsInForce rows;
    const auto& switches = snapshot.view->topology.switches;
    std::size_t at = 0;
    for (const routing::TopologySwitch& item : left.switches) {
        while (switches[at].guid != item.guid) {
            ++at;
        }
        rows.push_back(at < snapshot.programmed.size() ? snapshot.programmed[at] : nullptr);
    }
    return rows;
}

void count_writes(const Snapshot& snapshot, const Topology& left, const Routes& routes, WhatIf& out) {
    const sm::LftPlan plan = sm::plan_lfts(left, rows_left(snapshot, left), routes);
    std::set<std::uint32_t> switches;
    for (const sm::LftWrite& write : plan.writes) {
        switches.insert(write.switch_index);
    }
    out.blocks = plan.writes.size();
    out.switches = switches.size();
    out.safety_blocks = plan.drops.size();
}

LoadFigures figures_of(const std::vector<routing::LinkLoad>& loads) {
    LoadFigures figures;
    std::uint64_t sum = 0;
    for (const routing::LinkLoad& load : loads) {
        figures.worst = std::max(figures.worst, load.flows);
        sum += load.flows;
    }
    figures.links = loads.size();
    figures.mean = loads.empty() ? 0 : static_cast<double>(sum) / static_cast<double>(loads.size());
    return figures;
}

void compare_loads(const Snapshot& snapshot, const Topology& left, const Routes& routes, unsigned threads,
                   std::size_t hot_most, WhatIf& out) {
    const Topology& whole = snapshot.view->topology;
    const auto before =
        routing::link_loads(whole, fabric::Forwarding(snapshot).routes(), routing::hosts_of(whole), threads);
    const auto after = routing::link_loads(left, routes, routing::hosts_of(left), threads);
    out.load_before = figures_of(before);
    out.load_after = figures_of(after);
    // Both are in the order of GUID and port, and what is left was there before.
    auto old = before.begin();
    for (const routing::LinkLoad& load : after) {
        const mad::Guid from = left.switches[load.from.value()].guid;
        const auto is_before = [&](const routing::LinkLoad& other) {
            return std::pair(whole.switches[other.from.value()].guid, other.port) <
                   std::pair(from, load.port);
        };
        while (is_before(*old)) {
            ++old;
        }
        if (load.flows > old->flows) {
            out.hot.push_back({from, load.port, old->flows, load.flows});
        }
    }
    std::stable_sort(out.hot.begin(), out.hot.end(), [](const HotLink& a, const HotLink& b) {
        return std::tuple(b.after, b.after - b.before) < std::tuple(a.after, a.after - a.before);
    });
    out.hot.resize(std::min(out.hot.size(), hot_most));
}

bool is_cut_off(const Topology& topology, const routing::Losses& lost, mad::Guid port) {
    return std::any_of(lost.cut_off.begin(), lost.cut_off.end(), [&](routing::EndPortIndex host) {
        return topology.end_ports[host.value()].port_guid == port;
    });
}

}  // namespace

base::Result<WhatIf> what_if(const Snapshot& snapshot, const WhatIfQuestion& question) {
    const Topology& whole = snapshot.view->topology;
    const Topology left = routing::without(whole, question.down);
    if (left.switches.empty() || routing::hosts_of(left).empty()) {
        return base::fail(base::ErrorKind::usage,
                          "no switch with a host would be left: there is nothing to route");
    }
    WhatIf out;
    out.lost = routing::losses(whole, question.down);
    const fabric::PortRef local = snapshot.fabric->local;
    out.sm_cut_off =
        local.node != fabric::kNoNode &&
        is_cut_off(whole, out.lost, fabric::lid_owner(snapshot.fabric->nodes[local.node], local.port));
    const routing::RouteOptions options = options_of(snapshot, question);
    const Routes* previous = snapshot.routes ? &snapshot.routes->routes : nullptr;
    auto outcome = routing::route(left, previous, options);
    if (!outcome) {
        out.no_engine = outcome.error().message;
        return out;
    }
    out.outcome = std::move(*outcome);
    count_writes(snapshot, left, out.outcome.routes, out);
    compare_loads(snapshot, left, out.outcome.routes, options.threads, question.hot_most, out);
    return out;
}

}  // namespace ibf::api
