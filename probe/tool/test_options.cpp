#include "probe/tool/test_options.hpp"

#include <charconv>
#include <cmath>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "base/words.hpp"
#include "probe/messages.hpp"

namespace ibf::probe::tool {
namespace {

using base::ErrorKind;
using base::Result;

bool is_latency(Test test) {
    return test == Test::ping || test == Test::ud;
}

/// An option whose value has few bits: CLI11 would take 8 of them for a character.
template <class Small>
void add_small(CLI::App& app, const std::string& name, Small& value, const std::string& help, unsigned most) {
    app.add_option_function<unsigned>(
           name, [&value](unsigned given) { value = static_cast<Small>(given); }, help)
        ->check(CLI::Range(0U, most))
        ->type_name("N")
        ->default_str(fmt::format("{}", static_cast<unsigned>(value)));
}
void add_small(CLI::App& app, const std::string& name, std::optional<unsigned>& value,
               const std::string& help, unsigned least, unsigned most) {
    app.add_option(name, value, help)->check(CLI::Range(least, most))->type_name("N");
}

void add_amount_options(CLI::App& app, Test test, TestFlags& flags) {
    flags.spec.test = test;
    flags.size = is_latency(test) ? "64" : "64K";
    app.add_option("--size", flags.size, "Bytes of a message: 1 to 1G; of ud at most the MTU")
        ->type_name("SIZE")
        ->capture_default_str();
    app.add_option("--sweep", flags.sweep, "All sizes from one to another, each twice the one before: 1:64K")
        ->type_name("FROM:TO");
    app.add_option(
           "--count", flags.count,
           is_latency(test) ? "Messages, there and back (default 1000)" : "Messages of each queue pair")
        ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 48U))
        ->type_name("N");
    app.add_option("--seconds", flags.seconds, is_latency(test) ? "For so long" : "For so long (default 2)")
        ->check(CLI::Range(0.001, 86400.0))
        ->type_name("S");
    if (!is_latency(test)) {
        app.add_option("--qps", flags.spec.queue_pairs, "Queue pairs")
            ->check(CLI::Range(1U, kQueuePairsMax))
            ->type_name("N")
            ->capture_default_str();
        app.add_option("--depth", flags.spec.depth, "Messages in flight on each")
            ->check(CLI::Range(1U, kDepthMax))
            ->type_name("N")
            ->capture_default_str();
    }
    app.add_option("--rate", flags.rate, "Bits a second at most, headers counted: 500M, 10G")
        ->type_name("RATE");
    app.add_flag("--no-check", flags.no_check,
                 "Do not compare what arrives (of write: what lies there in the end) with what was sent");
    app.add_flag("--no-huge-pages", flags.no_huge_pages, "Memory of ordinary pages");
}

void add_way_options(CLI::App& app, TestFlags& flags) {
    app.add_option("--device", flags.device, "This host's device (default: the first with an active port)")
        ->type_name("DEV[/PORT]");
    app.add_option("--peer-device", flags.peer_device, "The other host's")->type_name("DEV[/PORT]");
    add_small(app, "--gid-index", flags.gid_index,
              "Entry of this port's GID table (0 to 255); on RoCE chosen by itself", 0, 255);
    add_small(app, "--peer-gid-index", flags.peer_gid_index, "Entry of the other port's", 0, 255);
    add_small(app, "--dlid", flags.dlid, "Send to this LID instead of the one the other port tells", 1,
              mad::kLidUnicastMax);
    // Not in place: a strong type has no address to write to.
    app.add_option_function<unsigned>(
           "--sl", [&flags](unsigned given) { flags.way.sl = mad::Sl{static_cast<std::uint8_t>(given)}; },
           "Service level, of both sides: 0 to 15 (default: that of the SA's path record)")
        ->check(CLI::Range(0U, 15U))
        ->type_name("N");
    add_small(app, "--pkey-index", flags.way.pkey_index, "Entry of the P_Key table, of both sides", 0xFFFF);
    add_small(app, "--path-bits", flags.way.path_bits, "Which of this port's LIDs is the source: below 2^LMC",
              127);
    app.add_option("--mtu", flags.spec.mtu_bytes,
                   "Path MTU: 256 to 4096 (default: the smallest of both ports' and the path's)")
        ->check(CLI::IsMember({256, 512, 1024, 2048, 4096}))
        ->type_name("BYTES");
}

void add_reliability_options(CLI::App& app, TestFlags& flags) {
    add_small(app, "--timeout", flags.spec.ack_timeout,
              "Wait 4.096 us * 2^N for an acknowledgement, 0 to 31; 0: for ever", 31);
    add_small(app, "--retries", flags.spec.retries, "Then send again so often: 0 to 7", 7);
    add_small(app, "--rnr-retries", flags.spec.rnr_retries, "And if the other side has no room; 7: for ever",
              7);
    app.add_flag("--cm", flags.spec.use_cm,
                 "Connect the queue pairs by librdmacm, which asks for the path itself");
}

}  // namespace

void add_test_options(CLI::App& app, Test test, TestFlags& flags) {
    app.add_option("HOST", flags.host,
                   fmt::format("Where an agent runs: HOST[:PORT] (default port {})", kAgentPort))
        ->required();
    add_amount_options(app, test, flags);
    add_way_options(app, flags);
    if (test != Test::ud) {
        add_reliability_options(app, flags);
    }
    add_access_options(app, flags.access);
}

Result<void> read_device(const std::string& text, Way& way) {
    const std::size_t slash = text.find('/');
    way.device = text.substr(0, slash);
    way.port = 0;
    if (slash == text.npos) {
        return {};
    }
    const char* const begin = text.data() + slash + 1;
    const char* const end = text.data() + text.size();
    const auto [last, error] = std::from_chars(begin, end, way.port);
    if (way.device.empty() || error != std::errc{} || last != end || way.port == 0) {
        return base::fail(
            ErrorKind::usage,
            fmt::format("{}: DEVICE or DEVICE/PORT is expected, such as mlx5_0/1", base::quote(text)));
    }
    return {};
}

Result<std::vector<std::uint64_t>> parse_sweep(const std::string& text) {
    const std::size_t colon = text.find(':');
    const auto first = parse_size(text.substr(0, colon));
    const auto last = colon == text.npos ? first : parse_size(text.substr(colon + 1));
    if (!first || !last || colon == text.npos || *first < 1 || *last < *first || *last > kMessageBytesMax) {
        return base::fail(
            ErrorKind::usage,
            fmt::format("--sweep {}: two sizes from 1 to 1G are expected, such as 1:64K", base::quote(text)));
    }
    std::vector<std::uint64_t> sizes;
    for (std::uint64_t size = *first; size < *last; size *= 2) {
        sizes.push_back(size);
    }
    sizes.push_back(*last);
    return sizes;
}

Result<TestPlan> plan_of(const TestFlags& flags) {
    TestPlan plan;
    plan.spec = flags.spec;
    const auto where = net::parse_host_port(flags.host, kAgentPort);
    if (!where) {
        return tl::unexpected(where.error());
    }
    plan.where = *where;
    const auto sizes =
        flags.sweep.empty()
            ? parse_size(flags.size).map([](std::uint64_t size) { return std::vector<std::uint64_t>{size}; })
            : parse_sweep(flags.sweep);
    if (!sizes) {
        return tl::unexpected(sizes.error());
    }
    plan.sizes = *sizes;
    if (plan.sizes.front() < 1 || plan.sizes.back() > kMessageBytesMax) {
        return base::fail(ErrorKind::usage, fmt::format("--size {}: 1 to 1G", flags.size));
    }
    if (!flags.rate.empty()) {
        const auto rate = parse_rate(flags.rate);
        if (!rate || *rate == 0) {
            return rate ? base::fail(ErrorKind::usage, "--rate 0: nothing would be sent")
                        : tl::unexpected(rate.error());
        }
        plan.spec.bits_per_second = *rate;
    }
    constexpr std::uint64_t kLatencyMessages = 1000;
    constexpr double kBandwidthSeconds = 2;
    const bool by_default = !flags.count && !flags.seconds;
    plan.spec.messages =
        flags.count.value_or(by_default && is_latency(plan.spec.test) ? kLatencyMessages : 0);
    const double seconds =
        flags.seconds.value_or(by_default && !is_latency(plan.spec.test) ? kBandwidthSeconds : 0);
    if (!std::isfinite(seconds)) {
        return base::fail(ErrorKind::usage, "--seconds: a finite number is wanted");
    }
    plan.spec.duration = base::Duration{static_cast<base::Duration::rep>(seconds * 1e9)};
    plan.spec.check_payload = !flags.no_check;
    plan.spec.huge_pages = !flags.no_huge_pages;
    plan.from = flags.way;
    plan.to.sl = plan.from.sl;
    plan.to.pkey_index = plan.from.pkey_index;
    if (flags.gid_index) {
        plan.from.gid_index = static_cast<std::uint8_t>(*flags.gid_index);
    }
    if (flags.peer_gid_index) {
        plan.to.gid_index = static_cast<std::uint8_t>(*flags.peer_gid_index);
    }
    if (flags.dlid) {
        plan.from.dlid = mad::Lid{static_cast<std::uint16_t>(*flags.dlid)};
    }
    return read_device(flags.device, plan.from)
        .and_then([&] { return read_device(flags.peer_device, plan.to); })
        .map([&] { return plan; });
}

}  // namespace ibf::probe::tool
