#include "cli/probe_shortfalls.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "cli/table.hpp"

namespace ibf::cli {
namespace {

bool went_another_way(const probe::FlowReport& flow) {
    return flow.has_run && (flow.seen == probe::Seen::not_seen || flow.seen == probe::Seen::elsewhere);
}

constexpr std::size_t kDoubtsTold = 5;

}  // namespace

std::vector<std::string> probe_shortfalls(const probe::Report& report) {
    std::vector<std::string> out;
    const auto count = [&](auto&& is) {
        return static_cast<std::uint64_t>(std::count_if(report.flows.begin(), report.flows.end(), is));
    };
    if (const std::uint64_t flows = count(went_another_way); flows > 0) {
        out.push_back(fmt::format("{} not seen on all of the way that the tables say",
                                  counted(flows, "flow was", "flows were")));
    }
    if (report.interrupted) {
        return out;
    }
    const std::uint64_t unrun = count([&](const probe::FlowReport& flow) {
        return !flow.has_run && flow.round < report.coverage.rounds_run;
    });
    if (unrun > 0) {
        out.push_back(fmt::format("{} not be run", counted(unrun, "flow could", "flows could")));
    }
    const probe::ReadFigures& read = report.read;
    if (read.table_entries < read.table_entries_of) {
        out.push_back(fmt::format("only {} of {} table entries were read", grouped(read.table_entries),
                                  grouped(read.table_entries_of)));
    }
    return out;
}

std::vector<std::string> probe_notes(const routing::Topology& topology, const probe::Report& report) {
    std::vector<std::string> out;
    std::uint64_t hops = 0;
    std::set<std::string> doubts;
    const auto doubt = [&](routing::EndPortIndex end, const probe::Outcome& outcome) {
        for (const std::string& text : outcome.doubts) {
            doubts.insert(fmt::format("{}: {}", topology.end_ports[end.value()].name, text));
        }
    };
    for (const probe::FlowReport& flow : report.flows) {
        hops += flow.by_one_end;
        doubt(flow.flow.from, flow.result.initiator);
        doubt(flow.flow.to, flow.result.target);
    }
    if (hops > 0) {
        out.push_back(fmt::format("{} proved by one end alone: the counters of the other could not be read",
                                  counted(hops, "hop is", "hops are")));
    }
    for (const std::string& text : doubts) {
        if (out.size() < kDoubtsTold + (hops > 0 ? 1U : 0U)) {
            out.push_back(text);
        }
    }
    if (doubts.size() > kDoubtsTold) {
        out.push_back(fmt::format("and {} of which --json tells",
                                  counted(doubts.size() - kDoubtsTold, "more doubt", "more doubts")));
    }
    return out;
}

}  // namespace ibf::cli
