// ping, send, write, read, ud: one test between this host and an agent.
#include <memory>
#include <utility>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "probe/agent/remote_endpoint.hpp"
#include "probe/sa_asker.hpp"
#include "probe/tool/commands.hpp"
#include "probe/tool/ports.hpp"
#include "probe/tool/test_options.hpp"
#include "probe/tool/test_report.hpp"
#include "probe/verbs/endpoint.hpp"

namespace ibf::probe::tool {
namespace {

using base::Result;

/// The rate of a port as an agent described it: the one that is named, else the first that is active.
std::uint64_t rate_of(const Description& description, const Way& way) {
    for (const PortDescription& port : description.ports) {
        const bool is_meant = way.device.empty() ? port.problem.empty() : port.device == way.device;
        if (is_meant && (way.port == 0 || way.port == port.port)) {
            return port.bits_per_second;
        }
    }
    return 0;
}

std::uint64_t slower(std::uint64_t one, std::uint64_t other) {
    return one == 0 || other == 0 ? std::max(one, other) : std::min(one, other);
}

/// What does not depend on the agent is found out before anybody is called.
Result<verbs::Chosen> own_port(const Way& way) {
    return verbs::describe().and_then(
        [&](const std::vector<verbs::PortDescription>& ports) { return verbs::choose(ports, way); });
}

Result<TestResult> measure(const TestPlan& plan, const std::shared_ptr<const net::Tls>& tls,
                           std::stop_token stop) {
    const auto chosen = own_port(plan.from);
    if (!chosen) {
        return tl::unexpected(chosen.error());
    }
    progress(fmt::format("calling {} ...", plan.where.text()));
    const auto remote = connect_agent(plan.where, tls, fmt::format("{} test", to_string(plan.spec.test)));
    if (!remote) {
        return tl::unexpected(remote.error());
    }
    const auto description = (*remote)->describe();
    if (!description) {
        return tl::unexpected(description.error());
    }
    TestResult result;
    result.host = (*remote)->name();
    result.device = fmt::format("{}/{}", chosen->port.device, chosen->port.port);
    result.link_bits_per_second = slower(chosen->port.bits_per_second, rate_of(*description, plan.to));
    const auto local = make_verbs_endpoint("this host", asking_by(std::make_shared<SaAsker>()));
    for (const std::uint64_t size : plan.sizes) {
        TestSpec spec = plan.spec;
        spec.message_bytes = size;
        if (spec.bits_per_second == 0) {
            spec.bits_per_second =
                description->limits.bits_per_second;  // whoever gives no rate takes what is allowed
        }
        auto pair = run_pair(
            *local, **remote, spec, plan.from, plan.to,
            [&spec](const Progress& now) { progress(progress_text(spec, now)); }, stop);
        if (!pair && result.sizes.empty()) {
            return tl::unexpected(pair.error());
        }
        if (!pair) {
            result.was_interrupted = stop.stop_requested();
            if (!result.was_interrupted) {
                result.trouble = pair.error();
            }
            break;
        }
        result.sizes.push_back({spec, std::move(*pair)});
        result.was_interrupted = stop.stop_requested();
        const PairOutcome& last = result.sizes.back().pair;
        if (result.was_interrupted || !last.initiator.failure.empty() || !last.target.failure.empty()) {
            break;
        }
    }
    return result;
}

Exit run_test(const TestFlags& flags, bool json) {
    const auto plan = plan_of(flags);
    if (!plan) {
        return failure(plan.error());
    }
    const auto tls = open_access(flags.access);
    if (!tls) {
        return failure(tls.error());
    }
    const Interrupts interrupts;
    const auto result = measure(*plan, *tls, interrupts.token());
    if (!result) {
        return failure(result.error());
    }
    const Exit exit = print(json ? test_json(*result).dump(2) + "\n" : test_text(*result), verdict(*result));
    if (!result->trouble) {
        return exit;
    }
    const Exit told = failure(*result->trouble);
    return exit == Exit::finding ? exit : told;
}

struct TestWords {
    Test test;
    const char* help;
    const char* examples;
};

constexpr TestWords kTestWords[] = {
    {Test::ping, "Latency: send and receive, one message at a time, there and back",
     "  ibfabric-probe ping host-17\n  ibfabric-probe ping host-17 --sweep 1:64K --count 10000 --json\n"
     "  ibfabric-probe ping 10.0.0.17:18585 --device mlx5_0/1 --key probe.key --cm"},
    {Test::send, "Bandwidth of send and receive",
     "  ibfabric-probe send host-17 --size 1M --qps 4\n  ibfabric-probe send host-17 --rate 10G --seconds "
     "30"},
    {Test::write, "Bandwidth of RDMA writes into the other host's memory",
     "  ibfabric-probe write host-17 --sweep 1:1M\n  ibfabric-probe write host-17 --dlid 42 --sl 2 --timeout "
     "12 --retries 3"},
    {Test::read, "Bandwidth of RDMA reads from the other host's memory",
     "  ibfabric-probe read host-17 --size 1M --depth 16 --count 5000"},
    {Test::ud, "Reach: unconnected datagrams, there and back; counts those that are lost",
     "  ibfabric-probe ud host-17 --count 100\n  ibfabric-probe ud host-17 --size 2048 --gid-index 3"},
};

}  // namespace

void add_test_commands(CLI::App& app, const bool& json, Action& chosen) {
    for (const TestWords& words : kTestWords) {
        CLI::App* command = app.add_subcommand(std::string(to_string(words.test)), words.help);
        const auto flags = std::make_shared<TestFlags>();
        add_test_options(*command, words.test, *flags);
        command->footer(fmt::format(
            "An agent has to run on HOST ('ibfabric-probe agent --help'). Ctrl-C ends a test early and "
            "tells what\nwas measured.\n\nExamples:\n{}",
            words.examples));
        command->callback(
            [flags, &json, &chosen] { chosen = [flags, &json] { return run_test(*flags, json); }; });
    }
}

}  // namespace ibf::probe::tool
