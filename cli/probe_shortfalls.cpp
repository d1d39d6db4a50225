#include "cli/probe_shortfalls.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "cli/table.hpp"

namespace ibf::cli {
namespace {

bool went_another_way(const probe::FlowReport& flow) {
    return flow.has_run && (flow.seen == probe::Seen::not_seen || flow.seen == probe::Seen::elsewhere);
}

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

}  // namespace ibf::cli
