// status, sms, sweep, reload.
#include <chrono>
#include <memory>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "cli/client.hpp"
#include "cli/commands.hpp"
#include "cli/finite.hpp"
#include "cli/table.hpp"

namespace ibf::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kPoll{100};
constexpr std::chrono::minutes kSweepWait{10};
constexpr double kShownSeconds = 1e-6;  ///< a phase that took less and sent nothing had nothing to do

std::string number(const Json& row, const char* key) {
    return grouped(row.value(key, std::uint64_t{0}));
}

std::string sm_text(const Json& status) {
    const Json& sm = status["sm"];
    return fmt::format("{} LID {} priority {}, {}", field_text(sm, "guid"), field_text(sm, "lid"),
                       field_text(sm, "priority"), field_text(sm, "role"));
}

/// Of a standby: what it has of the master's memory. And who is configured otherwise.
std::string copy_text(const Json& answer) {
    std::string out;
    if (answer.contains("copy")) {
        const Json& copy = answer["copy"];
        out += fmt::format("copy: {}", field_text(copy, "state"));
        if (copy.contains("of")) {
            out += fmt::format(", {} old, of {} ({})", seconds_text(copy.value("age_seconds", 0.0)),
                               field_text(copy, "name"), field_text(copy, "of"));
        }
        const std::string why = copy.value("why", std::string{});
        out += why.empty() ? "\n" : fmt::format("; {}\n", printable(why));
    }
    for (const Json& peer : answer.value("peers", Json::array())) {
        std::string differences;
        for (const Json& topic : peer.value("differences", Json::array())) {
            differences += (differences.empty() ? "" : ", ") + printable(topic.get<std::string>());
        }
        if (!differences.empty()) {
            out += fmt::format("{} ({}) is configured otherwise: {}\n", field_text(peer, "name"),
                               field_text(peer, "guid"), differences);
        }
    }
    return out;
}

/// Every SM, and under them who is master and why.
std::string sms_text(const Json& answer) {
    const std::vector<Column> columns{
        {"", [](const Json& row) { return std::string(row.value("this", false) ? "*" : " "); }, Align::left},
        text_column("NODE", "node"),
        number_column("PORT", "port"),
        text_column("GUID", "guid"),
        number_column("LID", "lid"),
        number_column("PRIORITY", "priority"),
        text_column("STATE", "state"),
        text_column("SM_KEY", "sm_key")};
    std::string out = render_table(answer["sms"], columns);
    out += fmt::format("\n{} since {}\n{}\n", field_text(answer, "role"), field_text(answer, "since"),
                       printable(field_text(answer, "why")));
    const Json& poll = answer["poll"];
    for (const Json& row : answer["sms"]) {
        if (row.value("polled", false)) {
            out += fmt::format(
                "{} is polled every {}; {} of {} misses{}\n", printable(field_text(row, "node")),
                seconds_text(poll.value("interval_seconds", 0.0)), field_text(poll, "missed"),
                field_text(poll, "misses"), poll.value("stuck", false) ? "; its ActCount stands still" : "");
        }
    }
    return out + copy_text(answer);
}

Exit run_sms(const Session& session) {
    const Client client(session.socket);
    const auto answer = client.get_json("/v1/sms", {});
    if (!answer) {
        return failure(answer.error());
    }
    const auto done = print(session.json ? answer->dump(2, ' ', false, Json::error_handler_t::replace) + "\n"
                                         : sms_text(*answer));
    return done ? Exit::ok : failure(done.error());
}

void add_fabric(std::string& out, const Json& status) {
    if (!status.contains("fabric")) {
        return;
    }
    const Json& fabric = status["fabric"];
    add_line(out, "fabric",
             fmt::format("{} switches, {} hosts ({} linked ports), {} links, {} LIDs, {} isolated",
                         number(fabric, "switches"), number(fabric, "hosts"), number(fabric, "end_ports"),
                         number(fabric, "links"), number(fabric, "lids"), number(fabric, "isolated")));
}

void add_routing(std::string& out, const Json& status) {
    if (!status.contains("routing")) {
        return;
    }
    const Json& routing = status["routing"];
    add_line(out, "routing",
             fmt::format("{} serves on {}, {} tables in force", field_text(routing, "engine"),
                         counted(routing.value("vls", 0U), "data lane", "data lanes"),
                         number(routing, "tables_in_force")));
    for (const Json& attempt : routing["attempts"]) {
        const std::string why = attempt.value("serves", false)
                                    ? fmt::format("serves: computed in {}, proved in {}",
                                                  seconds_text(attempt.value("compute_seconds", 0.0)),
                                                  seconds_text(attempt.value("verify_seconds", 0.0)))
                                    : "refused: " + field_text(attempt, "refused_because");
        add_line(out, "", fmt::format("{} {}", field_text(attempt, "engine"), why));
    }
    if (routing.contains("drift")) {
        add_line(out, "drift", field_text(routing["drift"], "text"));
    }
    const Json& proof = routing["proof"];
    const bool clean = proof.value("unreachable_pairs", 1) == 0 && proof.value("loops", 1) == 0;
    add_line(out, "proof",
             fmt::format("{} pairs{}{}", number(proof, "pairs_checked"),
                         clean ? ", all reach each other" : ", NOT all reach each other",
                         proof.value("credit_loop_free", false) ? ", no credit loop" : ", CREDIT LOOPS"));
}

void add_sweep_line(std::string& out, std::string_view title, const Json& sweep) {
    add_line(out, title,
             fmt::format("#{} {} at {}: {} ({}, {} MADs, {} timeouts)", field_text(sweep, "id"),
                         field_text(sweep, "scope"), field_text(sweep, "started"),
                         field_text(sweep, "outcome"), seconds_text(sweep.value("seconds", 0.0)),
                         number(sweep, "mads"), number(sweep, "timeouts")));
}

/// The line, and the phases that did something.
void add_sweep_phases(std::string& out, std::string_view title, const Json& sweep) {
    add_sweep_line(out, title, sweep);
    for (const Json& phase : sweep.value("phases", Json::array())) {
        const double seconds = phase.value("seconds", 0.0);
        if (seconds >= kShownSeconds || phase.value("mads", std::uint64_t{0}) > 0) {
            add_line(out, "",
                     fmt::format("{:<9} {:>8} {:>10} MADs, {} of them Sets", field_text(phase, "name"),
                                 seconds_text(seconds), number(phase, "mads"), number(phase, "sets")));
        }
    }
}

void add_sweeps(std::string& out, const Json& status) {
    if (status.contains("last_full_sweep")) {
        add_sweep_phases(out, "full sweep", status["last_full_sweep"]);
    }
    if (status.contains("last_sweep") && status["last_sweep"] != status.value("last_full_sweep", Json())) {
        add_sweep_line(out, "last sweep", status["last_sweep"]);
    }
}

void add_neighbours(std::string& out, const Json& status) {
    constexpr std::size_t kShown = 5;
    std::size_t shown = 0;
    for (const Json& row : status.value("isolated", Json::array())) {
        if (shown++ == kShown) {
            add_line(out, "", "... 'ibfabric isolated' lists them all");
            break;
        }
        add_line(out, shown == 1 ? "isolated" : "",
                 fmt::format("{}: {}", field_text(row, "reason"), field_text(row, "text")));
    }
    for (const Json& sm : status.value("other_sms", Json::array())) {
        add_line(out, "other SM",
                 fmt::format("{} LID {} priority {} {}", field_text(sm, "guid"), field_text(sm, "lid"),
                             field_text(sm, "priority"), field_text(sm, "state")));
    }
}

void add_drains(std::string& out, const Json& status) {
    bool first = true;
    for (const Json& row : status.value("drained", Json::array())) {
        add_line(out, std::exchange(first, false) ? "drained" : "",
                 printable(fmt::format("{} since {}: {}", element_text(row), field_text(row, "since"),
                                       field_text(row, "state"))));
    }
}

void add_lanes(std::string& out, const Json& status) {
    if (!status.contains("lanes")) {
        return;
    }
    const Json& lanes = status["lanes"];
    const bool some_silent = lanes.value("left_out", 0U) > 0;
    add_line(out, "lanes",
             fmt::format("read {} of {} devices{}", number(lanes, "read"), number(lanes, "devices"),
                         some_silent ? fmt::format(", {} did not answer", number(lanes, "left_out")) : ""));
}

void add_health(std::string& out, const Json& status) {
    const Json health = status.value("health", Json::object());
    if (health.value("ill", 0U) > 0) {
        add_line(out, "health",
                 fmt::format("{} ill, {} left out, {} disabled: 'ibfabric health' says why",
                             counted(health.value("ill", 0U), "port is", "ports are"),
                             number(health, "isolated"), number(health, "disabled")));
    }
}

std::string status_text(const Json& status) {
    std::string out;
    const std::string text = field_text(status, "mode_text");
    add_line(
        out, "mode",
        text == "-" ? field_text(status, "mode") : fmt::format("{}: {}", field_text(status, "mode"), text));
    add_line(out, "transport", field_text(status, "transport"));
    add_line(out, "SM", sm_text(status));
    add_fabric(out, status);
    add_routing(out, status);
    add_drains(out, status);
    add_lanes(out, status);
    add_health(out, status);
    add_sweeps(out, status);
    add_neighbours(out, status);
    const Json& mads = status["mads"];
    add_line(
        out, "MADs",
        fmt::format("{} sent, {} retried, {} timed out, {} traps received", number(mads, "sent"),
                    number(mads, "retried"), number(mads, "timeouts"), number(status, "traps_received")));
    add_line(out, "database",
             fmt::format("{} ({})", field_text(status, "database"), field_text(status, "state_dir")));
    const std::string config = field_text(status, "config_path");
    add_line(out, "config", config == "-" ? "built-in defaults" : config);
    if (field_text(status, "config_error") != "-") {
        add_line(out, "", "last reload refused: " + field_text(status, "config_error"));
    }
    return out;
}

base::Result<Json> ask_status(const Session& session) {
    return Client(session.socket).get_json("/v1/status", {});
}

/// Asks until the subnet is up or the time is over; the daemon may still be starting, so silence is waited
/// out too.
base::Result<Json> wait_up(const Session& session, double seconds) {
    const auto end =
        Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
    for (;;) {
        auto status = ask_status(session);
        const bool up = status && status->value("mode", "") == "up";
        if (up || Clock::now() >= end || interrupted()) {
            progress("");
            return status;
        }
        progress(status ? fmt::format("{}: {}", field_text(*status, "mode"), field_text(*status, "mode_text"))
                        : "waiting for the daemon");
        std::this_thread::sleep_for(kPoll);
    }
}

Exit run_status(double wait_seconds, const Session& session) {
    const auto status = wait_seconds > 0 ? wait_up(session, wait_seconds) : ask_status(session);
    if (!status) {
        return failure(status.error());
    }
    const auto done = print(session.json ? status->dump(2, ' ', false, Json::error_handler_t::replace) + "\n"
                                         : status_text(*status));
    if (!done) {
        return failure(done.error());
    }
    const std::string mode = status->value("mode", "");
    const bool wrong = mode == "failed" || mode == "hold" || (wait_seconds > 0 && mode != "up");
    return wrong ? Exit::finding : Exit::ok;
}

/// The newest sweep that began after `last` and is as wide as asked; null while there is none.
base::Result<Json> finished_sweep(const Client& client, std::uint64_t last, bool full) {
    const auto answer = client.get_json("/v1/sweeps", {{"limit", "20"}});
    if (!answer) {
        return tl::unexpected(answer.error());
    }
    for (const Json& sweep : (*answer)["sweeps"]) {
        const bool wide = !full || sweep.value("scope", "") == "full";
        if (sweep.value("id", std::uint64_t{0}) > last && wide && !sweep.value("outcome", "").empty()) {
            return sweep;
        }
    }
    return Json(nullptr);
}

base::Result<Json> wait_sweep(const Client& client, std::uint64_t last, bool full) {
    const auto end = Clock::now() + kSweepWait;
    while (Clock::now() < end && !interrupted()) {
        auto sweep = finished_sweep(client, last, full);
        if (!sweep || !sweep->is_null()) {
            progress("");
            return sweep;
        }
        progress("sweeping ...");
        std::this_thread::sleep_for(kPoll);
    }
    return base::fail(
        base::ErrorKind::refused,
        fmt::format("no sweep finished within {} minutes: see 'ibfabric status'", kSweepWait.count()));
}

Exit run_sweep(bool full, bool wait, const Session& session) {
    const Client client(session.socket);
    auto answer = client.post_json("/v1/sweep", {{"scope", full ? "full" : "light"}});
    if (answer && wait) {
        answer = wait_sweep(client, answer->value("last_sweep", std::uint64_t{0}), full);
    }
    if (!answer) {
        return failure(answer.error());
    }
    std::string text = fmt::format("{} sweep asked for\n", full ? "full" : "light");
    if (wait) {
        text.clear();
        add_sweep_phases(text, "sweep", *answer);
    }
    const auto done = print(session.json ? answer->dump(2) + "\n" : text);
    return done ? Exit::ok : failure(done.error());
}

Exit run_reload(const Session& session) {
    const auto answer = Client(session.socket).post_json("/v1/reload", {});
    if (!answer) {
        return failure(answer.error());
    }
    const auto done =
        print(session.json ? answer->dump(2) + "\n"
                           : "reload asked for; 'ibfabric status' shows if the file was refused\n");
    return done ? Exit::ok : failure(done.error());
}

}  // namespace

void add_control_commands(CLI::App& app, Action& chosen) {
    struct Options {
        double wait_up = 0;
        bool full = false;
        bool wait = false;
    };
    const auto options = std::make_shared<Options>();

    CLI::App* status =
        app.add_subcommand("status", "Mode, fabric, routing, last sweep, database, at a glance");
    status->add_option("--wait-up", options->wait_up, "Wait until the subnet is up, at most so long")
        ->type_name("SECONDS")
        ->check(finite_range(0.0, 1e6));
    status->footer(
        "Exit code 1 if the SM has failed or is in hold mode, or is not up after --wait-up.\n\n"
        "Examples:\n  ibfabric status\n  ibfabric status --wait-up 60 && start-jobs");
    status->callback([options, &chosen] {
        chosen = [options](const Session& session) { return run_status(options->wait_up, session); };
    });

    CLI::App* sms = app.add_subcommand("sms", "Subnet managers: who is master, and why");
    sms->footer("Example:\n  ibfabric sms");
    sms->callback([&chosen] { chosen = &run_sms; });

    CLI::App* sweep = app.add_subcommand("sweep", "Look at the fabric now (light: only what changed)");
    sweep->add_flag("--full", options->full, "Everything anew");
    sweep->add_flag("--wait", options->wait, "Wait until it is done, and report it");
    sweep->footer("Example:\n  ibfabric sweep --full --wait");
    sweep->callback([options, &chosen] {
        chosen = [options](const Session& session) {
            return run_sweep(options->full, options->wait, session);
        };
    });

    CLI::App* reload = app.add_subcommand("reload", "Read the configuration file again");
    reload->footer("A file with an error changes nothing; 'ibfabric status' shows the error.");
    reload->callback([&chosen] { chosen = &run_reload; });
}

}  // namespace ibf::cli
