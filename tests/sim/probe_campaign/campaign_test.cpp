// The probe on the 666-switch fabric: seeded faults, each found and placed by somebody who has MADs and the
// agents' outcomes and nothing else; healthy runs, half of them beside other traffic, without a false alarm.
//
// Each seed probes a few flows of the cover. IBF_PROBE_SEEDS says how many seeds of each kind (soak).
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tests/unit/conduct/stage.hpp"

namespace ibf::probe::test {
namespace {

constexpr std::uint64_t kSeeds = 200;
constexpr std::size_t kFlows = 3;
constexpr std::uint32_t kOthers = 40;
constexpr std::uint64_t kKinds = 7;
constexpr std::uint64_t kSilentThrottle = 4;

std::uint64_t seeds() {
    const char* named = std::getenv("IBF_PROBE_SEEDS");
    return named != nullptr ? std::strtoull(named, nullptr, 10) : kSeeds;
}

std::string fabric_file() {
    const char* named = std::getenv("IBF_SHARED");
    const std::filesystem::path root = named != nullptr ? named : "../shared";
    const std::filesystem::path file = root / "fabrics" / "real" / "hdr-3tier-8rail-666sw.topo.gz";
    return std::filesystem::exists(file) ? file.string() : "";
}

std::string all_of(const std::vector<Finding>& findings) {
    std::string text;
    for (const Finding& finding : findings) {
        text += fmt::format("\n  [{}] {}", to_string(finding.kind), finding.text);
    }
    return text;
}

/// Every hop, by both of its ends.
void expect_proved(const Report& report) {
    EXPECT_EQ(report.read.refused, 0U);
    for (const FlowReport& flow : report.flows) {
        EXPECT_EQ(flow.proved, flow.hops) << to_string(flow.seen);
        EXPECT_EQ(flow.by_one_end, 0U);
    }
}

class ProbeCampaign : public ::testing::Test {
protected:
    static void SetUpTestSuite() {
        if (const std::string file = fabric_file(); !file.empty()) {
            stage_ = Stage::make(file, "updn");  // minhop's could deadlock there
            if (stage_) {
                stage_->cover =
                    plan_run(stage_->topology, stage_->routes, stage_->hosts(), false, /*threads=*/1);
            }
        }
    }
    static void TearDownTestSuite() { stage_.reset(); }
    void SetUp() override {
        if (fabric_file().empty()) {
            GTEST_SKIP() << "the 666-switch fabric is not here; set IBF_SHARED";
        }
        ASSERT_TRUE(stage_);
    }

    static std::unique_ptr<Stage> stage_;
};
std::unique_ptr<Stage> ProbeCampaign::stage_;

TEST_F(ProbeCampaign, TheCoverCrossesEveryLinkThatPairsCross) {
    const Coverage& cover = stage_->cover.coverage;
    const RunPlan again = plan_flows(stage_->topology, stage_->routes, stage_->cover.flows, true);
    EXPECT_EQ(again.coverage.crossed, cover.crossed) << "counted by the flows themselves";
    std::set<Place> uncrossed;
    for (std::uint32_t at = 0; at < stage_->topology.switches.size(); ++at) {
        for (std::size_t port = 1; port < stage_->topology.switches[at].peers.size(); ++port) {
            if (stage_->topology.switches[at].peers[port].kind == routing::PortPeer::Kind::switch_) {
                uncrossed.insert({.index = at, .port = mad::PortNum{static_cast<std::uint8_t>(port)}});
            }
        }
    }
    EXPECT_EQ(uncrossed.size(), cover.links);
    for (const Flow& flow : stage_->cover.flows) {
        for (const Hop& hop : stage_->hops(flow)) {
            uncrossed.erase(hop.out);
        }
    }
    EXPECT_EQ(uncrossed.size(), cover.links - cover.crossed);
    for (const Place& place : uncrossed) {
        for (const routing::TopologyEndPort& end : stage_->topology.end_ports) {
            EXPECT_NE(stage_->routes.port(routing::SwitchIndex{place.index}, end.lids.base),
                      place.port.value())
                << name_of(stage_->topology, place) << " could be crossed";
        }
    }
    fmt::print(
        "{} pairs (no cover has fewer than {}) cross {} of {} directed links between switches, in {} "
        "rounds\n",
        cover.pairs, cover.lower_bound, cover.crossed, cover.links, cover.rounds);
}

TEST_F(ProbeCampaign, TheWholeCoverAndTheAuditInOneRunBesideOthers) {
    SimAgents agents(*stage_->simulator, stage_->topology, Background{.flows = kOthers}, 1);
    const base::Instant before = stage_->asker().now();
    const Report report = stage_->conduct(stage_->cover, Stage::bulk(true), &agents);
    EXPECT_TRUE(report.findings.empty()) << all_of(report.findings);
    EXPECT_EQ(report.coverage.rounds_run, report.coverage.rounds);
    EXPECT_EQ(report.read.switches, stage_->topology.switches.size());
    EXPECT_EQ(report.read.unanswered, 0U);
    expect_proved(report);
    fmt::print(
        "{} table entries, {} directions of cables, {} ports; {} questions in {} of the fabric's time\n",
        report.read.table_entries, report.read.cables, report.read.ports, report.read.questions,
        base::format_duration(stage_->asker().now() - before));
}

/// One seed: what was done, who ought to be named.
struct Trial {
    std::string what;
    std::unique_ptr<Damage> damage{};
    Finding::Kind kind{};
    std::vector<Place> places{};  ///< findings are at one of these, the first of them for sure
    mad::Lid lid{};
    std::optional<std::uint8_t> has{};
    bool audit = false;
};

std::uint8_t other_port(const Stage& stage, std::uint32_t at, std::uint8_t right, base::Prng& prng) {
    for (;;) {
        const auto port = static_cast<std::uint8_t>(prng.below(stage.topology.switches[at].peers.size()));
        if (port != right) {
            return port == 0 ? mad::kLftDrop : port;
        }
    }
}

Trial wrong_entry(Stage& stage, std::uint32_t at, mad::Lid lid, base::Prng& prng) {
    const std::uint8_t right = stage.routes.port(routing::SwitchIndex{at}, lid);
    const std::uint8_t wrong = other_port(stage, at, right, prng);
    return {.what = fmt::format("{}: LID {} by port {} instead of {}", stage.topology.switches[at].name, lid,
                                wrong, right),
            .damage = change_entry(stage, at, lid, wrong),
            .kind = Finding::Kind::wrong_entry,
            .places = {{.index = at, .port = mad::PortNum{right}}},
            .lid = lid,
            .has = wrong};
}

Place any_switch_link(const Stage& stage, base::Prng& prng) {
    for (;;) {
        const auto at = static_cast<std::uint32_t>(prng.below(stage.topology.switches.size()));
        const auto& peers = stage.topology.switches[at].peers;
        const std::size_t port = 1 + prng.below(peers.size() - 1);
        if (peers[port].kind == routing::PortPeer::Kind::switch_) {
            return {.index = at, .port = mad::PortNum{static_cast<std::uint8_t>(port)}};
        }
    }
}

Trial swapped(Stage& stage, const Hop& hop, base::Prng& prng) {
    Place other = any_switch_link(stage, prng);
    while (other == hop.out || other == hop.in) {
        other = any_switch_link(stage, prng);
    }
    const Place far = peer_of(stage.topology, other).value();
    // What a cable leads to is asked of its switch.
    const auto& [near, end] = hop.out.is_switch ? std::pair(hop.out, hop.in) : std::pair(hop.in, hop.out);
    return {.what = fmt::format("cables of {} and {} swapped", name_of(stage.topology, hop.out),
                                name_of(stage.topology, other)),
            .damage = swap_cables(stage, hop.out, other),
            .kind = Finding::Kind::miswired_cable,
            .places = {near, end, other, far}};
}

Trial trial_of(Stage& stage, SimAgents& agents, const RunPlan& plan, std::uint64_t seed, base::Prng& prng) {
    const Flow& flow = plan.flows[prng.below(plan.flows.size())];
    const std::vector<Hop> hops = stage.hops(flow);
    const Hop any = hops[prng.below(hops.size())];
    switch (seed % kKinds) {
        case 0: return wrong_entry(stage, hops[prng.below(hops.size() - 1)].in.index, flow.lid, prng);
        case 1: {
            const auto at = static_cast<std::uint32_t>(prng.below(stage.topology.switches.size()));
            const auto end = prng.below(stage.topology.end_ports.size());
            Trial trial = wrong_entry(stage, at, stage.topology.end_ports[end].lids.base, prng);
            trial.audit = true;
            return trial;
        }
        case 2: return swapped(stage, any, prng);
        case 3:
            return {.what = fmt::format("{} damages what comes in", name_of(stage.topology, any.in)),
                    .damage = make_lossy(stage, any.in, 0.002 + 0.2 * prng.unit()),
                    .kind = Finding::Kind::port_errors,
                    .places = {any.in}};
        case kSilentThrottle:
            return {.what = fmt::format("{} gets few credits", name_of(stage.topology, any.out)),
                    .damage = throttle(stage, any.out, 0.1 + 0.5 * prng.unit()),
                    .kind = Finding::Kind::throttled_link,
                    .places = {any.out}};
        case 5: {
            const Place first = std::min(any.out, any.in);
            return {.what = fmt::format("{} has one lane", name_of(stage.topology, any.out)),
                    .damage = narrow(stage, any.out),
                    .kind = Finding::Kind::throttled_link,
                    .places = {first, any.out, any.in}};
        }
        default: {
            const routing::EndPortIndex host = prng.below(2) == 0 ? flow.from : flow.to;
            agents.kill(host);
            return {.what = fmt::format("no agent on {}",
                                        name_of(stage.topology, place_of(stage.topology, host))),
                    .damage = std::make_unique<Damage>([&agents, host] { agents.revive(host); }),
                    .kind = Finding::Kind::dead_agent,
                    .places = {place_of(stage.topology, host)}};
        }
    }
}

void expect_found(const Trial& trial, const Report& report) {
    const auto matches = [&](const Finding& finding, const Place& place) {
        return finding.kind == trial.kind && finding.at == place && finding.lid == trial.lid &&
               (!trial.has || finding.has == trial.has);
    };
    EXPECT_TRUE(std::any_of(report.findings.begin(), report.findings.end(),
                            [&](const Finding& finding) { return matches(finding, trial.places.front()); }))
        << trial.what << all_of(report.findings);
    for (const Finding& finding : report.findings) {
        EXPECT_TRUE(std::any_of(trial.places.begin(), trial.places.end(),
                                [&](const Place& place) { return matches(finding, place); }))
            << trial.what << "\n also said:\n  [" << to_string(finding.kind) << "] " << finding.text;
    }
}

TEST_F(ProbeCampaign, EachFaultIsFoundAndPlaced) {
    for (std::uint64_t seed = 1; seed <= seeds() && !HasFailure(); ++seed) {
        SCOPED_TRACE(fmt::format("seed {}", seed));
        base::Prng prng(seed);
        const RunPlan plan = stage_->some_flows(kFlows, prng);
        // Whoever sends as much as we do in the time of reading hides that a link waits for no reason.
        const Background others{
            .flows = seed / kKinds % 2 == 1 ? kOthers : 0,
            .bytes_most = seed % kKinds == kSilentThrottle ? kFlowBytes / 10 : 4 * kFlowBytes};
        SimAgents agents(*stage_->simulator, stage_->topology, others, seed);
        const Trial trial = trial_of(*stage_, agents, plan, seed, prng);
        expect_found(trial, stage_->conduct(plan, Stage::bulk(trial.audit), &agents));
    }
}

TEST_F(ProbeCampaign, HealthyRunsAreQuiet) {
    for (std::uint64_t seed = 1; seed <= seeds() && !HasFailure(); ++seed) {
        SCOPED_TRACE(fmt::format("seed {}", seed));
        base::Prng prng(1'000'000 + seed);
        const RunPlan plan = stage_->some_flows(kFlows, prng);
        const Background others{.flows = seed % 2 == 1 ? kOthers : 0};
        SimAgents agents(*stage_->simulator, stage_->topology, others, seed);
        constexpr std::uint64_t kAuditEvery = 25;  // odd: beside others too
        const Report report = stage_->conduct(plan, Stage::bulk(seed % kAuditEvery == 0), &agents);
        EXPECT_TRUE(report.findings.empty()) << all_of(report.findings);
        EXPECT_EQ(report.read.unanswered, 0U);
        expect_proved(report);
    }
}

}  // namespace
}  // namespace ibf::probe::test
