// probe run: does traffic take the computed paths?
#include <pwd.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <stop_token>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "base/time.hpp"
#include "cli/commands.hpp"
#include "cli/finite.hpp"
#include "cli/probe_held.hpp"
#include "cli/probe_rehearsal.hpp"
#include "cli/probe_rows.hpp"
#include "cli/probe_shortfalls.hpp"
#include "cli/remote_agents.hpp"
#include "cli/table.hpp"
#include "net/tls.hpp"
#include "probe/amounts.hpp"
#include "probe/conduct/conduct.hpp"
#include "probe/messages.hpp"
#include "probe/proof/transport_asker.hpp"
#include "routing/text_file.hpp"

namespace ibf::cli {
namespace {

constexpr std::size_t kAgentsFileBytesMax = 16 * 1024 * 1024;
constexpr std::chrono::milliseconds kInterruptPoll{50};

struct RunOptions : SubjectOptions {
    std::string agents;
    std::uint16_t agent_port = probe::kAgentPort;
    std::string key;
    std::string ca;
    std::string certificate;
    std::string certificate_key;
    std::string port;
    std::string test = "write";
    std::uint64_t size = 0;  ///< 0: as of the test
    double seconds = 1;
    std::uint64_t rate = 0;
    unsigned parallel = 64;
    std::uint32_t rounds = 0;
    bool together = false;
    bool no_traffic = false;
    bool no_audit = false;
    bool no_store = false;
    bool sim = false;
    std::string faults;
    std::size_t list = 20;
};

/// What a test is good for: a bulk of octets, latency, or what a datagram of any path can hold.
std::uint64_t size_of(const RunOptions& options) {
    constexpr std::uint64_t kBulk = 64 * 1024;
    return options.size != 0        ? options.size
           : options.test == "ping" ? 64
           : options.test == "ud"   ? 1024
                                    : kBulk;
}

probe::TestSpec spec_of(const RunOptions& options) {
    probe::TestSpec spec;
    spec.test = options.test == "send"   ? probe::Test::send
                : options.test == "ping" ? probe::Test::ping
                : options.test == "ud"   ? probe::Test::ud
                                         : probe::Test::write;
    spec.message_bytes = size_of(options);
    spec.messages = 0;
    spec.duration =
        std::chrono::duration_cast<base::Duration>(std::chrono::duration<double>(options.seconds));
    spec.bits_per_second = options.rate;
    return spec;
}

base::Result<std::shared_ptr<const net::Tls>> tls_of(const RunOptions& options) {
    if (!options.key.empty()) {
        return net::Tls::by_shared_key(options.key);
    }
    if (options.ca.empty() && options.certificate.empty() && options.certificate_key.empty()) {
        return base::fail(
            base::ErrorKind::usage,
            "probe run: the agents want a key (--key FILE, as 'ibfabric-probe key FILE' makes one) or a "
            "certificate (--ca, --cert, --cert-key); --no-traffic does without agents");
    }
    return net::Tls::by_certificates(
        {{options.certificate, "--cert"}, {options.certificate_key, "--cert-key"}, {options.ca, "--ca"}});
}

base::Result<AgentBook> book_of(const RunOptions& options) {
    AgentBook book(options.agent_port);
    if (!options.agents.empty()) {
        const auto text = routing::read_text_file(options.agents, kAgentsFileBytesMax);
        const auto added = text ? book.add(*text, options.agents) : tl::unexpected(text.error());
        if (!added) {
            return base::fail(base::ErrorKind::usage, added.error().message);
        }
    }
    return book;
}

base::Result<std::unique_ptr<probe::TransportAsker>> asker_of(const RunOptions& options) {
    auto port = mad::parse_umad_port(options.port);
    if (!port) {
        return tl::unexpected(port.error());
    }
    port->use = mad::UmadUse::prober;
    return mad::open_umad(*port).map([](std::unique_ptr<mad::Transport> transport) {
        return std::make_unique<probe::TransportAsker>(std::move(transport), probe::AskLimits{});
    });
}

std::string user_name() {
    const passwd* entry = ::getpwuid(::getuid());
    return entry != nullptr ? entry->pw_name : fmt::format("uid {}", ::getuid());
}

/// For people who read it in a week.
std::string command_text(const RunOptions& options) {
    std::string out = options.spec.empty() ? "the daemon's tables" : options.spec;
    out += options.sim ? " simulated" : "";
    if (options.no_traffic) {
        out += ", no traffic";
    } else {
        out += fmt::format(", {} of {} bytes, {:g} s{}", options.test, size_of(options), options.seconds,
                           options.together ? ", together" : "");
    }
    out += options.rounds > 0 ? fmt::format(", {} rounds", options.rounds) : "";
    out += options.hosts.empty() ? "" : fmt::format(", hosts of {}", options.hosts);
    return out;
}

std::int64_t wall_ms() {
    return std::chrono::duration_cast<std::chrono::milliseconds>(base::wall_now().time_since_epoch()).count();
}

/// Requests a stop once somebody wants the program to end, and ends with its owner.
std::jthread watch_interrupts(std::stop_source& stop) {
    return std::jthread([&stop](const std::stop_token& over) {
        while (!over.stop_requested() && !interrupted()) {
            std::this_thread::sleep_for(kInterruptPoll);
        }
        if (interrupted()) {
            stop.request_stop();
        }
    });
}

/// Whom to ask, and who sends. What they need is kept here, in the order of need.
struct Ends {
    base::Result<AgentBook> book = AgentBook(0);
    std::unique_ptr<RemoteAgents> remote;
    std::unique_ptr<probe::TransportAsker> transport;
    std::unique_ptr<ProbeRehearsal> rehearsal;

    [[nodiscard]] probe::MadAsker& asker() const { return rehearsal ? rehearsal->asker() : *transport; }
    /// Null: nothing is sent.
    [[nodiscard]] probe::Agents* agents(const RunOptions& options) const {
        return options.no_traffic ? nullptr : rehearsal ? &rehearsal->agents() : remote.get();
    }
};

base::Result<void> open_ends(const RunOptions& options, const Held& held, Ends& ends) {
    if (options.sim) {
        return ProbeRehearsal::begin(held.subject, held.routes, options.faults, options.seed)
            .map([&](std::unique_ptr<ProbeRehearsal> made) { ends.rehearsal = std::move(made); });
    }
    if (!options.no_traffic) {
        ends.book = book_of(options);
        const auto tls = ends.book ? tls_of(options) : tl::unexpected(ends.book.error());
        if (!tls) {
            return tl::unexpected(tls.error());
        }
        const std::string who = fmt::format("probe run of {}", user_name());
        ends.remote = std::make_unique<RemoteAgents>(
            held.subject.topology, held.routes, *ends.book,
            [tls = *tls, who](const net::HostPort& where) { return probe::connect_agent(where, tls, who); },
            options.parallel);
    }
    return asker_of(options).map(
        [&](std::unique_ptr<probe::TransportAsker> made) { ends.transport = std::move(made); });
}

base::Result<probe::Report> measure(const RunOptions& options, const Held& held) {
    Ends ends;
    if (const auto opened = open_ends(options, held, ends); !opened) {
        return tl::unexpected(opened.error());
    }
    probe::RunPlan plan;
    if (!options.no_traffic) {
        progress("choosing pairs ...");
        plan = probe::plan_run(held.subject.topology, held.routes, held.subject.hosts, options.together,
                               options.threads);
    }
    catch_interrupts();
    std::stop_source stop;
    const std::jthread watch = watch_interrupts(stop);
    probe::ConductOptions how;
    how.spec = spec_of(options);
    how.audit = !options.no_audit;
    how.rounds_most = options.rounds;
    const auto tell = [](const probe::ConductProgress& now) {
        progress(fmt::format("{}: {} of {}", now.step, grouped(now.done), grouped(now.of)));
    };
    return probe::conduct(held.subject.topology, held.routes, plan, how, ends.asker(), ends.agents(options),
                          tell, stop.get_token());
}

std::string audit_text(const Json& read) {
    const auto count = [&](const char* key) { return grouped(read[key].get<std::uint64_t>()); };
    std::string out;
    add_line(out, "read",
             fmt::format("{} of {} switches, {} of {} table entries, {} cable ends, {} of {} ports; {} "
                         "questions, {} unanswered, {} refused",
                         count("switches"), count("switches_of"), count("table_entries"),
                         count("table_entries_of"), count("cables"), count("ports"), count("ports_of"),
                         count("questions"), count("unanswered"), count("refused")));
    return out;
}

/// What is wrong beside the findings, at the end, where it is looked for.
std::string shortfalls_text(const std::vector<std::string>& shortfalls) {
    std::string out;
    for (const std::string& text : shortfalls) {
        add_line(out, "but", printable(text));
    }
    return out;
}

std::string notes_text(const std::vector<std::string>& notes) {
    std::string out;
    for (const std::string& text : notes) {
        add_line(out, "note", printable(text));
    }
    return out;
}

/// Of the daemon's tables nothing is to be computed.
base::Result<void> check_subject(const RunOptions& options) {
    const bool is_about_files = !options.engines.empty() || !options.lfts.empty() || !options.fail.empty() ||
                                !options.roots.empty() || options.lmc != 0;
    if (options.spec.empty() && is_about_files) {
        return base::fail(base::ErrorKind::usage,
                          "probe run: --engine, --lfts, --fail, --root and --lmc go with a "
                          "SPEC; without one, fabric and tables are the daemon's");
    }
    return {};
}

Exit run_probe_run(const RunOptions& options, const Session& session) {
    if (const auto fine = check_subject(options); !fine) {
        return failure(fine.error());
    }
    const Client client(session.socket);
    ProbeRunHead head;
    head.begun_ms = wall_ms();
    const auto held = options.spec.empty() ? held_by_daemon(options, client) : held_by_files(options);
    if (!held) {
        return failure(held.error());
    }
    auto report = measure(options, *held);
    const bool may_change = report && held->mark && !options.sim;
    const std::string change = may_change ? settle_tables(*held->mark, *report, client) : "";
    progress("");
    if (!report) {
        return failure(report.error());
    }
    head.ended_ms = wall_ms();
    head.asked_by = user_name();
    head.command = command_text(options);
    head.tables = fmt::format("{} 0x{:016x}{}", held->routes.engine, held->routes.hash(),
                              change.empty() ? "" : ", not the same throughout");
    std::vector<std::string> shortfalls = probe_shortfalls(*report);
    if (!options.no_traffic && report->flows.empty() && !report->interrupted) {
        shortfalls.push_back("nothing was sent: no way between these hosts crosses a link between switches");
    }
    if (!change.empty()) {
        shortfalls.insert(shortfalls.begin(), change);
    }
    Json told = Json::parse(probe::to_json(held->subject.topology, *report)
                                .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
    Json run = probe_run_json(head, told);
    told["tables"] = head.tables;
    told["shortfalls"] = shortfalls;
    const std::vector<std::string> notes = probe_notes(held->subject.topology, *report);
    told["notes"] = notes;
    if (!options.no_store) {
        const auto stored = store_probe_run(client, head, run);
        if (stored) {
            run["run"] = *stored;
            told["run"] = *stored;
        } else {
            complain(fmt::format("the run is not stored: {}", stored.error().message));
        }
    }
    const bool is_fine = report->findings.empty() && shortfalls.empty();
    return show(session, told,
                probe_run_text(run, options.list, options.list) + audit_text(told["read"]) +
                    notes_text(notes) + shortfalls_text(shortfalls),
                is_fine ? Exit::ok : Exit::finding);
}

/// As people write it, "64K", to what is parsed: CLI11 takes what the text says of it.
CLI::Validator as_number(base::Result<std::uint64_t> (*parse)(std::string_view)) {
    return {[parse](std::string& text) -> std::string {
                const auto number = parse(text);
                text = number ? std::to_string(*number) : text;
                return number ? std::string{} : number.error().message;
            },
            "", "number"};
}

void add_traffic_options(CLI::App& run, RunOptions& options) {
    run.add_option("--test", options.test, "What is sent")
        ->check(CLI::IsMember({"write", "send", "ping", "ud"}))
        ->capture_default_str();
    run.add_option("--size", options.size,
                   "Bytes of a message, also as 64K or 1M; default 64K, of ping 64, of ud 1024")
        ->transform(as_number(&probe::parse_size))
        ->check(CLI::Range(std::uint64_t{1}, probe::kMessageBytesMax));
    run.add_option("--seconds", options.seconds, "How long each flow sends")
        ->check(finite_range(0.01, 3600.0))
        ->capture_default_str();
    run.add_option("--rate", options.rate,
                   "Bits per second at most, of each flow, also as 10G; 0: as fast as it goes. Not simulated")
        ->transform(as_number(&probe::parse_rate));
    run.add_flag("--together", options.together, "All flows in one round, although they share links");
    run.add_option("--rounds", options.rounds, "Only the first so many rounds; 0: all");
    run.add_option("--parallel", options.parallel, "Flows under way at a time")
        ->check(CLI::Range(1, 1024))
        ->capture_default_str();
    run.add_flag("--no-traffic", options.no_traffic, "Only read cables, tables and ports; takes no agents");
    run.add_flag("--no-audit", options.no_audit, "Read only what is on the paths of the flows");
}

void add_agent_options(CLI::App& run, RunOptions& options) {
    run.add_option("--agents", options.agents,
                   "Where agents are: NAME-or-GUID HOST[:PORT] a line; else a host is called by the first "
                   "word of its "
                   "description")
        ->type_name("FILE");
    run.add_option("--agent-port", options.agent_port, "TCP port of agents where nothing else is said")
        ->capture_default_str();
    run.add_option("--key", options.key, "The key that the agents have")->type_name("FILE");
    run.add_option("--ca", options.ca, "Instead: the authority of the agents' certificates")
        ->type_name("FILE");
    run.add_option("--cert", options.certificate, "and our certificate")->type_name("FILE");
    run.add_option("--cert-key", options.certificate_key, "and its key")->type_name("FILE");
    run.add_option("--port", options.port, "The local port that the fabric is asked by: DEVICE[/PORT]");
}

}  // namespace

void add_probe_run_command(CLI::App& probe, Action& chosen) {
    const auto options = std::make_shared<RunOptions>();
    CLI::App* run = probe.add_subcommand(
        "run", "Send traffic over every link, and see whether it takes the computed paths");
    add_subject(*run, *options,
                "a chain, the first that passes the proof serves (default with --lfts: file)");
    run->get_option("SPEC")->required(false)->description(
        "Generator or topology file; none: the running daemon's fabric, and its tables in force");
    add_traffic_options(*run, *options);
    add_agent_options(*run, *options);
    add_subject_options(*run, *options);
    run->add_flag("--sim", options->sim, "Rehearse it on a simulated fabric: no agents, no port");
    run->add_option("--faults", options->faults, "What is wrong with the simulated fabric (ibfabric-sim(1))")
        ->type_name("FILE")
        ->needs("--sim");
    run->add_flag("--no-store", options->no_store, "Do not tell the daemon");
    run->add_option("--list", options->list, "How many findings and flows are listed; --json has all")
        ->capture_default_str();
    run->footer(
        "Only Gets are sent to the fabric. Ctrl-C: what was measured. Exit code 1: findings; flows that "
        "could not be run, or went another way; tables that could not be read, or changed meanwhile.\n\n"
        "Examples:\n  ibfabric probe run --key probe.key\n"
        "  ibfabric probe run --no-traffic\n"
        "  ibfabric probe run --hosts job.txt --key probe.key --size 1048576 --seconds 5 --rounds 3\n"
        "  ibfabric probe run dumps/opensm-subnet.lst --lfts dumps/opensm-lfts.dump --agents agents.txt "
        "--key "
        "probe.key --no-store\n"
        "  ibfabric probe run fat-tree:radix=8,levels=2 --sim --faults faults.txt --no-store");
    run->callback([options, &chosen] {
        chosen = [options](const Session& session) { return run_probe_run(*options, session); };
    });
}

}  // namespace ibf::cli
