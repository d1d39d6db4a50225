#include "cli/remote_agents.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <thread>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "probe/agent/agent.hpp"
#include "routing/netlist.hpp"

namespace ibf::cli {
namespace {

using probe::Description;
using probe::Outcome;

/// What agents of a test saw.
struct Stage {
    std::mutex mutex;
    std::map<std::string, int> busy;  ///< tests under way, by host
    int most_at_a_time = 0;
    int under_way = 0;
    bool two_on_one = false;
    std::map<std::string, int> connects;
    std::vector<std::pair<std::string, probe::Way>> ways;
    std::set<std::string> dead;
    std::set<std::string> wrong_lid;
    std::map<std::string, std::uint16_t> lids;
    std::map<std::string, std::uint64_t> limits;                  ///< bits per second
    std::vector<std::pair<std::string, std::uint64_t>> prepared;  ///< bits per second, by host
    std::atomic<bool> long_runs{false};
};

class FakeEndpoint final : public probe::RemoteEndpoint {
public:
    FakeEndpoint(Stage& stage, std::string host) : stage_(stage), host_(std::move(host)) {
        const std::lock_guard lock(stage_.mutex);
        stage_.two_on_one = stage_.two_on_one || ++stage_.busy[host_] > 1;
        stage_.most_at_a_time = std::max(stage_.most_at_a_time, ++stage_.under_way);
    }
    ~FakeEndpoint() override {
        const std::lock_guard lock(stage_.mutex);
        --stage_.busy[host_];
        --stage_.under_way;
    }
    const probe::Hello& agent() const override { return hello_; }
    base::Result<Description> describe() override {
        Description description;
        const auto limit = stage_.limits.find(host_);
        description.limits.bits_per_second = limit == stage_.limits.end() ? 0 : limit->second;
        probe::PortDescription other;
        other.device = "eth0";
        other.layer = probe::LinkLayer::ethernet;
        other.lid = mad::Lid{stage_.lids.at(host_)};
        probe::PortDescription port;
        port.device = "mlx5_1";
        port.port = 2;
        port.lmc = 1;
        const bool is_wrong = stage_.wrong_lid.contains(host_);
        port.lid = mad::Lid{static_cast<std::uint16_t>(is_wrong ? 0xB000 : stage_.lids.at(host_))};
        description.ports = {other, port};
        return description;
    }
    std::string name() const override { return host_; }
    base::Result<probe::EndpointAddress> prepare(const probe::TestSpec& spec, probe::Side side,
                                                 const probe::Way& way) override {
        const std::lock_guard lock(stage_.mutex);
        side_ = side;
        stage_.ways.emplace_back(host_, way);
        stage_.prepared.emplace_back(host_, spec.bits_per_second);
        return probe::EndpointAddress{};
    }
    base::Result<probe::PathTaken> connect(const probe::EndpointAddress&, std::stop_token) override {
        return {};
    }
    base::Result<Outcome> run(const std::function<void(const probe::Progress&)>&,
                              std::stop_token stop) override {
        Outcome outcome;
        outcome.messages = side_ == probe::Side::initiator ? 7 : 0;
        if (side_ == probe::Side::target || stage_.long_runs) {
            while (!stop.stop_requested()) {
                std::this_thread::sleep_for(std::chrono::milliseconds{1});
            }
            outcome.was_stopped = true;
        } else {
            std::this_thread::sleep_for(std::chrono::milliseconds{5});
        }
        return outcome;
    }
    void release() override {}

private:
    Stage& stage_;
    std::string host_;
    probe::Side side_ = probe::Side::target;
    probe::Hello hello_;
};

class RemoteAgentsTest : public ::testing::Test {
protected:
    void SetUp() override {
        const auto netlist = routing::netlist_from_spec("fat-tree:radix=4,levels=2");
        topology_ = routing::topology_of(*netlist, 0).value();
        routes_ = routing::route(topology_, nullptr, {})->routes;
        for (const routing::TopologyEndPort& end : topology_.end_ports) {
            stage_.lids[end.name] = end.lids.base.value();
        }
    }
    std::vector<probe::FlowResult> run(const std::vector<std::pair<std::uint32_t, std::uint32_t>>& pairs,
                                       unsigned parallel, std::stop_token stop = {},
                                       const probe::TestSpec& spec = {}) {
        RemoteAgents agents(
            topology_, routes_, book_,
            [this](const net::HostPort& where) -> base::Result<std::unique_ptr<probe::RemoteEndpoint>> {
                {
                    const std::lock_guard lock(stage_.mutex);
                    ++stage_.connects[where.host];
                }
                if (stage_.dead.contains(where.host)) {
                    return base::fail(base::ErrorKind::unavailable, where.host + " does not answer");
                }
                return std::make_unique<FakeEndpoint>(stage_, where.host);
            },
            parallel);
        std::vector<probe::FlowOrder> orders;
        for (const auto& [from, to] : pairs) {
            orders.push_back(
                {{routing::EndPortIndex{from}, routing::EndPortIndex{to}, topology_.end_ports[to].lids.base},
                 mad::Sl{3}});
        }
        return agents.run(
            orders, spec, [this](std::size_t done) { told_.push_back(done); }, stop);
    }

    routing::Topology topology_;
    routing::Routes routes_;
    AgentBook book_{18585};
    Stage stage_;
    std::vector<std::size_t> told_;
};

TEST_F(RemoteAgentsTest, EachFlowRunsOnThePortsThatHaveItsLids) {
    const auto results = run({{0, 1}}, 4);
    ASSERT_TRUE(results[0].ran) << results[0].text;
    EXPECT_EQ(results[0].initiator.messages, 7U);
    ASSERT_EQ(stage_.ways.size(), 2U);
    std::sort(stage_.ways.begin(), stage_.ways.end(),
              [](const auto& a, const auto& b) { return a.first < b.first; });
    for (int side = 0; side < 2; ++side) {
        const probe::Way& way = stage_.ways[static_cast<std::size_t>(side)].second;
        EXPECT_EQ(way.device, "mlx5_1") << "not the Ethernet port";
        EXPECT_EQ(way.port, 2);
        EXPECT_EQ(way.dlid, topology_.end_ports[side == 0 ? 1 : 0].lids.base);
    }
    EXPECT_EQ(stage_.ways[0].second.sl, mad::Sl{3});
    EXPECT_EQ(told_, std::vector<std::size_t>{1});
}

TEST_F(RemoteAgentsTest, AFlowIsHeldToTheLeastRateThatItsAgentsAllow) {
    constexpr std::uint64_t kMega = 1'000'000;
    const auto rate = [&](std::uint64_t from, std::uint64_t to, std::uint64_t asked) {
        stage_.limits = {{topology_.end_ports[0].name, from}, {topology_.end_ports[1].name, to}};
        stage_.prepared.clear();
        probe::TestSpec spec;
        spec.bits_per_second = asked;
        const auto results = run({{0, 1}}, 1, {}, spec);
        EXPECT_TRUE(results[0].ran) << results[0].text;
        EXPECT_EQ(stage_.prepared.size(), 2U);
        EXPECT_EQ(stage_.prepared[0].second, stage_.prepared[1].second) << "both ends hear the same";
        const std::uint64_t used = stage_.prepared[0].second;
        EXPECT_EQ(results[0].bits_per_second, used == asked ? 0 : used) << "what the judge is told";
        return used;
    };
    EXPECT_EQ(rate(0, 0, 0), 0U);
    EXPECT_EQ(rate(0, 0, 7 * kMega), 7 * kMega);
    EXPECT_EQ(rate(9 * kMega, 0, 0), 9 * kMega);
    EXPECT_EQ(rate(0, 8 * kMega, 0), 8 * kMega);
    EXPECT_EQ(rate(9 * kMega, 8 * kMega, 0), 8 * kMega);
    EXPECT_EQ(rate(5 * kMega, 8 * kMega, 7 * kMega), 5 * kMega);
    EXPECT_EQ(rate(9 * kMega, 8 * kMega, 7 * kMega), 7 * kMega);
}

TEST_F(RemoteAgentsTest, AnAgentDoesOneAtATimeAndOthersGoMeanwhile) {
    std::vector<std::pair<std::uint32_t, std::uint32_t>> pairs;
    const auto count = static_cast<std::uint32_t>(topology_.end_ports.size());
    for (std::uint32_t i = 0; i < count; ++i) {
        pairs.emplace_back(i, (i + 1) % count);  // each sends and receives
    }
    const auto results = run(pairs, 3);
    EXPECT_TRUE(std::all_of(results.begin(), results.end(), [](const auto& result) { return result.ran; }));
    EXPECT_FALSE(stage_.two_on_one);
    EXPECT_GT(stage_.most_at_a_time, 2) << "more than one flow";
    EXPECT_LE(stage_.most_at_a_time, 6) << "three flows";
    EXPECT_EQ(told_.back(), pairs.size());
}

TEST_F(RemoteAgentsTest, ASilentAgentIsAnOutcomeAndAskedOnce) {
    stage_.dead.insert(topology_.end_ports[1].name);
    const auto results = run({{0, 1}, {1, 2}, {3, 2}}, 1);
    EXPECT_FALSE(results[0].ran);
    EXPECT_EQ(results[0].silent_agent, routing::EndPortIndex{1});
    EXPECT_EQ(results[1].silent_agent, routing::EndPortIndex{1});
    EXPECT_NE(results[1].text.find("does not answer"), std::string::npos);
    EXPECT_EQ(stage_.connects[topology_.end_ports[1].name], 1);
    EXPECT_TRUE(results[2].ran);
}

TEST_F(RemoteAgentsTest, TheAgentOfAnotherHostIsFoundOut) {
    stage_.wrong_lid.insert(topology_.end_ports[1].name);
    const auto results = run({{0, 1}}, 1);
    EXPECT_FALSE(results[0].ran);
    EXPECT_FALSE(results[0].silent_agent) << "it does answer";
    EXPECT_NE(results[0].text.find("no InfiniBand port with LID"), std::string::npos) << results[0].text;
}

TEST_F(RemoteAgentsTest, AStopEndsWhatRunsAndBeginsNothing) {
    stage_.long_runs = true;
    std::stop_source stop;
    std::thread watcher([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds{50});
        stop.request_stop();
    });
    const auto results = run({{0, 1}, {0, 2}}, 4, stop.get_token());
    watcher.join();
    EXPECT_TRUE(results[0].ran);
    EXPECT_TRUE(results[0].initiator.was_stopped) << "and says what it measured";
    EXPECT_FALSE(results[1].ran);
    EXPECT_FALSE(results[1].text.empty());
}

/// A real agent with a played device, on the loopback.
class LoopbackAgent {
public:
    LoopbackAgent(Stage& stage, const std::string& host, const std::shared_ptr<const net::Tls>& tls) {
        probe::AgentTerms terms;
        terms.listen = {"127.0.0.1", 0};
        auto agent = probe::Agent::start(
            terms, tls,
            {.name = host,
             .program = "1",
             .make_endpoint = [&stage, host] { return std::make_unique<FakeEndpoint>(stage, host); },
             .describe =
                 [&stage, host] {
                     return FakeEndpoint(stage, host).describe().map([](const Description& it) {
                         return it.ports;
                     });
                 }});
        EXPECT_TRUE(agent) << agent.error().message;
        agent_ = std::move(*agent);
        serving_ = std::thread([this] { agent_->serve(); });
    }
    ~LoopbackAgent() {
        agent_->stop();
        serving_.join();
    }
    LoopbackAgent(const LoopbackAgent&) = delete;
    LoopbackAgent& operator=(const LoopbackAgent&) = delete;
    [[nodiscard]] std::uint16_t port() const { return agent_->port(); }

private:
    std::unique_ptr<probe::Agent> agent_;
    std::thread serving_;
};

TEST_F(RemoteAgentsTest, OverTlsWithRealAgentsOneOfWhichIsGone) {
    const auto folder =
        std::filesystem::path(testing::TempDir()) / fmt::format("ibf-remote-agents-{}", ::getpid());
    std::filesystem::remove_all(folder);
    std::filesystem::create_directories(folder);
    ASSERT_TRUE(net::make_shared_key((folder / "key").string()));
    const auto tls = net::Tls::by_shared_key((folder / "key").string()).value();
    std::vector<std::unique_ptr<LoopbackAgent>> hosts;
    std::vector<probe::FlowOrder> orders;
    const auto count = static_cast<std::uint32_t>(topology_.end_ports.size());
    for (std::uint32_t i = 0; i < count; ++i) {
        const routing::TopologyEndPort& end = topology_.end_ports[i];
        hosts.push_back(std::make_unique<LoopbackAgent>(stage_, end.name, tls));
        ASSERT_TRUE(book_.add(fmt::format("{} 127.0.0.1:{}\n", end.name, hosts.back()->port()), "here"));
        const std::uint32_t to = (i + 1) % count;
        orders.push_back(
            {{routing::EndPortIndex{i}, routing::EndPortIndex{to}, topology_.end_ports[to].lids.base}, {}});
    }
    hosts[3].reset();
    RemoteAgents agents(
        topology_, routes_, book_,
        [&](const net::HostPort& where) { return probe::connect_agent(where, tls, "a test"); }, 4);
    for (int round = 0; round < 2; ++round) {  // an agent is free again after a run
        const auto results = agents.run(orders, probe::TestSpec{}, [](std::size_t) {}, {});
        for (std::uint32_t i = 0; i < count; ++i) {
            const bool is_gone = i == 2 || i == 3;  // to it, and from it
            EXPECT_EQ(results[i].ran, !is_gone) << i << ": " << results[i].text;
            EXPECT_EQ(results[i].silent_agent.has_value(), is_gone) << i;
            EXPECT_EQ(results[i].initiator.messages, is_gone ? 0U : 7U) << i;
        }
        EXPECT_EQ(results[2].silent_agent, routing::EndPortIndex{3});
    }
    std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace ibf::cli
