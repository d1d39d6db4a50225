#include "probe/conduct/conduct.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "mad/link_rate.hpp"
#include "probe/cover.hpp"
#include "probe/proof/judge.hpp"
#include "probe/rounds.hpp"

namespace ibf::probe {
namespace {

using routing::Routes;
using routing::TableView;
using routing::Topology;

constexpr std::size_t kBlocksAtATime = 16384;

/// Way there, and way back of the acknowledgements; those of them that there are.
std::vector<Hop> both_ways(const Topology& topology, const TableView& view, const Flow& flow) {
    std::vector<Hop> hops = hops_of(topology, view, flow.from, flow.lid).value_or(std::vector<Hop>{});
    const mad::Lid own = topology.end_ports[flow.from.value()].lids.base;
    const std::vector<Hop> back = hops_of(topology, view, flow.to, own).value_or(std::vector<Hop>{});
    hops.insert(hops.end(), back.begin(), back.end());
    return hops;
}

std::vector<Place> cabled_ports(const Topology& topology, std::uint32_t at) {
    std::vector<Place> places;
    for (std::size_t port = 1; port < topology.switches[at].peers.size(); ++port) {
        const Place place{.index = at, .port = mad::PortNum{static_cast<std::uint8_t>(port)}};
        if (peer_of(topology, place)) {
            places.push_back(place);
        }
    }
    return places;
}

/// What a run looks at before it sends anything.
struct Scope {
    std::set<std::uint32_t> switches;
    std::set<Place> ports;                                    ///< both ends of each link
    std::map<std::uint32_t, std::set<std::uint16_t>> blocks;  ///< of tables, by switch
};

Scope scope_of(const Topology& topology, const TableView& view, const RunPlan& plan) {
    Scope scope;
    for (const Flow& flow : plan.flows) {
        const mad::Lid own = topology.end_ports[flow.from.value()].lids.base;
        for (const Hop& hop : both_ways(topology, view, flow)) {
            for (const Place& place : {hop.out, hop.in}) {
                scope.ports.insert(place);
                if (place.is_switch) {
                    scope.switches.insert(place.index);
                }
            }
        }
        for (const auto& [from, lid] : {std::pair{flow.from, flow.lid}, std::pair{flow.to, own}}) {
            for (const Hop& hop : hops_of(topology, view, from, lid).value_or(std::vector<Hop>{})) {
                if (hop.in.is_switch) {
                    const auto block = static_cast<std::uint16_t>(lid.value() / mad::kLftBlockEntries);
                    scope.blocks[hop.in.index].insert(block);
                }
            }
        }
    }
    return scope;
}

Scope whole_scope(const Topology& topology) {
    Scope scope;
    const unsigned blocks = topology.max_lid / mad::kLftBlockEntries + 1U;
    for (std::uint32_t at = 0; at < topology.switches.size(); ++at) {
        scope.switches.insert(at);
        for (const Place& place : cabled_ports(topology, at)) {
            scope.ports.insert(place);
            scope.ports.insert(*peer_of(topology, place));
        }
        for (unsigned block = 0; block < blocks; ++block) {
            scope.blocks[at].insert(static_cast<std::uint16_t>(block));
        }
    }
    return scope;
}

class Conductor {
public:
    Conductor(const Topology& topology, const Routes& routes, const RunPlan& plan,
              const ConductOptions& options, FabricReader& reader, Agents* agents,
              const std::function<void(const ConductProgress&)>& progress, std::stop_token stop)
        : topology_(topology),
          routes_(routes),
          view_(topology, routes),
          plan_(plan),
          options_(options),
          reader_(reader),
          agents_(agents),
          progress_(progress),
          stop_(std::move(stop)) {}

    Report run() {
        report_.coverage = plan_.coverage;
        for (std::size_t i = 0; i < plan_.flows.size(); ++i) {
            report_.flows.push_back({.flow = plan_.flows[i], .round = plan_.round_of[i]});
        }
        look(options_.audit ? whole_scope(topology_) : scope_of(topology_, view_, plan_));
        const std::uint32_t rounds = options_.rounds_most > 0
                                         ? std::min(options_.rounds_most, plan_.coverage.rounds)
                                         : plan_.coverage.rounds;
        for (std::uint32_t round = 0; agents_ != nullptr && round < rounds && !stop_.stop_requested();
             ++round) {
            tell("round", round, rounds);
            run_round(round);
            ++report_.coverage.rounds_run;
        }
        report_.interrupted = stop_.stop_requested();
        report_.read.switches = reader_.reached();
        report_.read.switches_of = topology_.switches.size();
        report_.read.questions = reader_.questions();
        report_.read.unanswered = reader_.unanswered();
        report_.read.refused = reader_.refused();
        return std::move(report_);
    }

private:
    void tell(std::string_view step, std::uint64_t done, std::uint64_t of) const {
        if (progress_) {
            progress_({.step = step, .done = done, .of = of});
        }
    }
    void add(std::vector<Finding> findings) {
        for (Finding& finding : findings) {
            add_finding(report_.findings, std::move(finding));
        }
    }
    void look(const Scope& scope);
    void look_at_tables(const Scope& scope);
    void look_at_ports(const Scope& scope, std::span<const CableReading> cables);
    void run_round(std::uint32_t round);
    [[nodiscard]] std::vector<Place> beside(std::span<FlowReport* const> flows) const;

    const Topology& topology_;
    const Routes& routes_;
    const TableView view_;
    const RunPlan& plan_;
    const ConductOptions& options_;
    FabricReader& reader_;
    Agents* agents_;
    const std::function<void(const ConductProgress&)>& progress_;
    std::stop_token stop_;
    std::map<Place, std::uint32_t> running_;     ///< what links run at, in Mb/s
    std::map<std::uint32_t, ReadShare> shares_;  ///< by SwitchIndex
    Report report_;
};

/// Some switches at a time: all tables of a large fabric are half a gigabyte.
void Conductor::look_at_tables(const Scope& scope) {
    std::vector<TableBlock> blocks;
    std::uint64_t done = 0;
    const auto look_at_these = [&] {
        tell("tables", done, scope.blocks.size());
        const std::vector<TableReading> tables = reader_.tables(blocks);
        report_.read.table_entries += tables.size() * std::uint64_t{mad::kLftBlockEntries};
        for (const TableReading& table : tables) {
            ++shares_[table.at.switch_index].blocks_read;
        }
        add(judge_tables(topology_, view_, tables));
        blocks.clear();
    };
    for (const auto& [at, wanted] : scope.blocks) {
        shares_[at].blocks = wanted.size();
        report_.read.table_entries_of += wanted.size() * std::uint64_t{mad::kLftBlockEntries};
        for (const std::uint16_t block : wanted) {
            blocks.push_back({.switch_index = at, .block = block});
        }
        ++done;
        if (blocks.size() >= kBlocksAtATime) {
            look_at_these();
        }
    }
    look_at_these();
}

void Conductor::look(const Scope& scope) {
    tell("cables", 0, scope.ports.size());
    std::vector<CableReading> cables =
        reader_.cables(std::vector<Place>(scope.ports.begin(), scope.ports.end()));
    if (stop_.stop_requested()) {
        return;  // what was not asked any more is not silent
    }
    report_.read.cables = cables.size();
    const auto& odd = reader_.odd_cables();
    cables.insert(cables.end(), odd.begin(), odd.end());
    add(judge_cables(topology_, cables));

    for (const std::uint32_t at : scope.switches) {
        shares_[at].is_reached = reader_.reaches(at);
    }
    look_at_tables(scope);
    look_at_ports(scope, cables);
    report_.adaptive =
        reader_.adaptive(std::vector<std::uint32_t>(scope.switches.begin(), scope.switches.end()));
    if (!stop_.stop_requested()) {
        judge_unread(topology_, shares_, report_.findings);
    }
}

void Conductor::look_at_ports(const Scope& scope, std::span<const CableReading> cables) {
    // What is asked through a cable that leads elsewhere is told by somebody else.
    std::set<Place> ports = scope.ports;
    for (const CableReading& cable : cables) {
        if (cable.state != CableReading::State::as_expected) {
            ports.erase(cable.to);
        }
    }
    tell("ports", 0, ports.size());
    const auto infos = reader_.ports(std::vector<Place>(ports.begin(), ports.end()));
    report_.read.ports = infos.size();
    report_.read.ports_of = ports.size();
    for (const Place& place : ports) {
        if (place.is_switch) {
            ReadShare& share = shares_[place.index];
            ++share.ports;
            share.ports_read += infos.contains(place) ? 1U : 0U;
        }
    }
    for (const auto& [place, info] : infos) {
        running_[place] = mad::running_rate(info).mbps();
    }
    add(judge_links(topology_, infos));
}

/// All ports with a cable of the switches that flows and their acknowledgements pass, and both hosts.
std::vector<Place> Conductor::beside(std::span<FlowReport* const> flows) const {
    std::set<std::uint32_t> switches;
    std::vector<Place> places;
    for (const FlowReport* flow : flows) {
        for (const Hop& hop : both_ways(topology_, view_, flow->flow)) {
            if (hop.in.is_switch) {
                switches.insert(hop.in.index);
            }
        }
        places.push_back(place_of(topology_, flow->flow.from));
        places.push_back(place_of(topology_, flow->flow.to));
    }
    for (const std::uint32_t at : switches) {
        const std::vector<Place> ports = cabled_ports(topology_, at);
        places.insert(places.end(), ports.begin(), ports.end());
    }
    std::sort(places.begin(), places.end());
    places.erase(std::unique(places.begin(), places.end()), places.end());
    return places;
}

void Conductor::run_round(std::uint32_t round) {
    std::vector<FlowReport*> flows;
    std::vector<FlowOrder> orders;
    for (FlowReport& flow : report_.flows) {
        if (flow.round == round) {
            const std::uint32_t leaf = topology_.end_ports[flow.flow.from.value()].switch_index;
            flows.push_back(&flow);
            orders.push_back(
                {.flow = flow.flow, .sl = mad::Sl{routes_.sl(routing::SwitchIndex{leaf}, flow.flow.lid)}});
        }
    }
    const std::vector<Place> places = beside(flows);
    const CounterReadings before = reader_.counters(places);
    const std::vector<FlowResult> results = agents_->run(
        orders, options_.spec, [&](std::size_t done) { tell("flows", done, orders.size()); }, stop_);
    const CounterReadings after = reader_.counters(places);
    for (std::size_t i = 0; i < flows.size(); ++i) {
        flows[i]->result = results[i];
        flows[i]->has_run = results[i].ran;
    }
    judge_round(topology_, view_, options_.spec,
                {.before = before, .after = after, .adaptive = report_.adaptive, .running = running_}, flows,
                report_.findings);
}

RunPlan in_plan(const Topology& topology, const Routes& routes, std::vector<Flow> flows, bool together) {
    RunPlan plan;
    plan.coverage.pairs = flows.size();
    if (together) {
        plan.round_of.assign(flows.size(), 0);
        plan.coverage.rounds = flows.empty() ? 0 : 1;
    } else {
        Rounds rounds = in_rounds(topology, routes, flows);
        plan.round_of = std::move(rounds.of_flow);
        plan.coverage.rounds = rounds.count;
    }
    plan.flows = std::move(flows);
    return plan;
}

}  // namespace

RunPlan plan_run(const Topology& topology, const Routes& routes, std::span<const routing::EndPortIndex> hosts,
                 bool together, unsigned threads) {
    Cover cover = cover_links(topology, routes, hosts, threads);
    RunPlan plan = in_plan(topology, routes, std::move(cover.flows), together);
    plan.coverage.links = cover.links;
    plan.coverage.crossed = cover.crossed;
    plan.coverage.lower_bound = cover.lower_bound;
    return plan;
}

RunPlan plan_flows(const Topology& topology, const Routes& routes, std::vector<Flow> flows, bool together) {
    const TableView view(topology, routes);
    std::set<std::uint32_t> crossed;
    for (const Flow& flow : flows) {
        const std::vector<std::uint32_t> channels = channels_of(topology, view, flow);
        crossed.insert(channels.begin(), channels.end());
    }
    RunPlan plan = in_plan(topology, routes, std::move(flows), together);
    plan.coverage.links = view.channel_count();
    plan.coverage.crossed = crossed.size();
    return plan;
}

base::Result<Report> conduct(const Topology& topology, const Routes& routes, const RunPlan& plan,
                             const ConductOptions& options, MadAsker& asker, Agents* agents,
                             const std::function<void(const ConductProgress&)>& progress,
                             std::stop_token stop) {
    if (agents != nullptr && options.spec.test == Test::read) {
        return base::fail(
            base::ErrorKind::usage,
            "the data of an RDMA read comes the other way, not by the path that is to be proved: "
            "take write");
    }
    base::Result<FabricReader> reader = FabricReader::open(topology, asker, stop);
    if (!reader) {
        return tl::unexpected<base::Error>(reader.error());
    }
    return Conductor(topology, routes, plan, options, *reader, agents, progress, std::move(stop)).run();
}

}  // namespace ibf::probe
