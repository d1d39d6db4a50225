#include "db/probe_store.hpp"

#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "db/database.hpp"
#include "db/sql.hpp"

namespace ibf::db {
namespace {

using base::ErrorKind;
using base::Result;

auto head_columns(auto& head) {
    return std::tie(head.asked_by, head.command, head.tables, head.begun_ms, head.ended_ms, head.interrupted,
                    head.link_directions, head.crossed, head.planned, head.proved);
}
auto run_columns(auto& run) {
    return std::tuple_cat(std::tie(run.id, run.uid), head_columns(run.head),
                          std::tie(run.flows, run.findings));
}
auto flow_columns(auto& flow) {
    return std::tie(flow.number, flow.round, flow.from.guid, flow.from.port, flow.from.name, flow.to.guid,
                    flow.to.port, flow.to.name, flow.lid, flow.verdict, flow.p50_ns, flow.p99_ns, flow.max_ns,
                    flow.bits_per_second, flow.bytes, flow.errors, flow.text);
}
auto finding_columns(auto& finding) {
    return std::tie(finding.number, finding.kind, finding.at.guid, finding.at.port, finding.at.name,
                    finding.lid, finding.text);
}

template <class Columns>
void read_columns(Statement& select, Columns columns) {
    int index = 0;
    std::apply([&](auto&... column) { (select.read(index++, column), ...); }, columns);
}

/// How much of a run is stored.
struct Held {
    std::uint64_t flows = 0;
    std::uint64_t findings = 0;
};

void write_head(Sql& sql, std::uint64_t run, const ProbeHead& head) {
    Statement update(
        sql,
        "UPDATE probe_run SET asked_by = ?, command = ?, tables = ?, begun_ms = ?, ended_ms = ?, "
        "interrupted = ?, link_directions = ?, crossed = ?, planned = ?, proved = ? WHERE id = ?");
    std::apply([&](const auto&... column) { update.run(column..., run); }, head_columns(head));
}

void write_rows(Sql& sql, std::uint64_t run, const ProbePut& put, Held held) {
    Statement flow(sql,
                   "INSERT INTO probe_flow VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
    for (ProbeFlow row : put.flows) {
        row.number = ++held.flows;
        std::apply([&](const auto&... column) { flow.run(run, column...); },
                   flow_columns(std::as_const(row)));
    }
    Statement finding(sql, "INSERT INTO probe_finding VALUES (?, ?, ?, ?, ?, ?, ?, ?)");
    for (ProbeFinding row : put.findings) {
        row.number = ++held.findings;
        std::apply([&](const auto&... column) { finding.run(run, column...); },
                   finding_columns(std::as_const(row)));
    }
    Statement count(sql, "UPDATE probe_run SET flows = ?, findings = ? WHERE id = ?");
    count.run(held.flows, held.findings, run);
}

/// The newest run stays whatever it holds.
void prune_probes(Sql& sql, const HistoryLimits& limits) {
    std::uint64_t runs = 0;
    std::uint64_t flows = 0;
    std::uint64_t newest_to_go = 0;
    for (Statement select(sql, "SELECT id, flows FROM probe_run ORDER BY id DESC"); select.row();) {
        flows += static_cast<std::uint64_t>(select.integer(1));
        if (++runs > 1 && (runs > limits.probe_runs || flows > limits.probe_flows)) {
            newest_to_go = static_cast<std::uint64_t>(select.integer(0));
            break;
        }
    }
    if (newest_to_go != 0) {
        for (const char* text :
             {"DELETE FROM probe_run WHERE id <= ?", "DELETE FROM probe_flow WHERE run <= ?",
              "DELETE FROM probe_finding WHERE run <= ?"}) {
            Statement(sql, text).run(newest_to_go);
        }
    }
}

tl::unexpected<base::Error> no_such_run(std::uint64_t id) {
    return base::fail(
        ErrorKind::not_found,
        fmt::format("there is no probe run {}: 'ibfabric probe list' shows those that are kept", id));
}

/// Of a new run, makes its row.
Result<Held> held_by(Sql& sql, const ProbePut& put, std::uint64_t run) {
    Held held;
    if (!put.run) {
        Statement(sql, "INSERT INTO probe_run VALUES (?, ?, '', '', '', 0, 0, 0, 0, 0, 0, 0, 0, 0)")
            .run(run, put.uid);
        return held;
    }
    Statement select(sql, "SELECT flows, findings FROM probe_run WHERE id = ?");
    select.bind(0, run);
    if (!select.row()) {
        if (!sql.ok()) {
            return held;  // commit() says why
        }
        return no_such_run(run);
    }
    select.read(0, held.flows);
    select.read(1, held.findings);
    if (held.flows + put.flows.size() > kProbeFlowsMost ||
        held.findings + put.findings.size() > kProbeFindingsMost) {
        return base::fail(ErrorKind::refused,
                          fmt::format("probe run {} is full: one may hold {} flows and {} findings", run,
                                      kProbeFlowsMost, kProbeFindingsMost));
    }
    return held;
}

/// A connection that only reads, and rows read by it.
template <class Row, class Columns>
Result<std::vector<Row>> read_rows(const std::string& path, const char* query, const Columns& columns,
                                   auto... bound) {
    Sql sql(path, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX);
    std::vector<Row> rows;
    {
        Statement select(sql, query);
        int index = 0;
        (select.bind(index++, bound), ...);
        while (select.row()) {
            read_columns(select, columns(rows.emplace_back()));
        }
    }
    if (!sql.ok()) {
        return tl::unexpected(sql.take_error());
    }
    return rows;
}

}  // namespace

Result<std::uint64_t> put_probe(Sql& sql, const ProbePut& put, const HistoryLimits& limits) {
    sql.run("BEGIN IMMEDIATE");
    const std::uint64_t run =
        put.run ? *put.run
                : static_cast<std::uint64_t>(read_integer(sql, "SELECT max(id) FROM probe_run")) + 1;
    const auto held = held_by(sql, put, run);
    if (!held) {
        sql.run("ROLLBACK");
        return tl::unexpected(held.error());
    }
    if (put.head) {
        write_head(sql, run, *put.head);
    }
    write_rows(sql, run, put, *held);
    prune_probes(sql, limits);
    return sql.commit().map([&] { return run; });
}

Result<std::vector<ProbeRun>> ProbeReader::runs(std::uint64_t limit) const {
    return read_rows<ProbeRun>(
        path_, "SELECT * FROM probe_run ORDER BY id DESC LIMIT ?",
        [](ProbeRun& run) { return run_columns(run); }, limit);
}

Result<ProbeRun> ProbeReader::run(std::uint64_t id) const {
    const auto found = read_rows<ProbeRun>(
        path_, "SELECT * FROM probe_run WHERE id = ?", [](ProbeRun& run) { return run_columns(run); }, id);
    if (!found) {
        return tl::unexpected(found.error());
    }
    if (found->empty()) {
        return no_such_run(id);
    }
    return found->front();
}

Result<std::vector<ProbeFlow>> ProbeReader::flows(std::uint64_t run, std::uint64_t after,
                                                  std::uint64_t limit) const {
    return read_rows<ProbeFlow>(
        path_,
        "SELECT number, round, from_guid, from_port, from_name, to_guid, to_port, to_name, lid, verdict, "
        "p50_ns, "
        "p99_ns, max_ns, bits_per_second, bytes, errors, text FROM probe_flow WHERE run = ? AND number > ? "
        "ORDER BY number LIMIT ?",
        [](ProbeFlow& flow) { return flow_columns(flow); }, run, after, limit);
}

Result<std::vector<ProbeFinding>> ProbeReader::findings(std::uint64_t run, std::uint64_t after,
                                                        std::uint64_t limit) const {
    return read_rows<ProbeFinding>(
        path_,
        "SELECT number, kind, guid, port, name, lid, text FROM probe_finding WHERE run = ? AND number > ? "
        "ORDER BY number LIMIT ?",
        [](ProbeFinding& finding) { return finding_columns(finding); }, run, after, limit);
}

}  // namespace ibf::db
