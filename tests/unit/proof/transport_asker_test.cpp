// Over a simulated port in real time.
#include "probe/proof/transport_asker.hpp"

#include <gtest/gtest.h>

#include "mad/codec.hpp"
#include "tests/unit/conduct/stage.hpp"

namespace ibf::probe::test {
namespace {

class TransportAskerTest : public ::testing::Test {
protected:
    void SetUp() override {
        stage = Stage::make("fat-tree:radix=4,levels=2", "minhop");
        auto simulator = std::make_unique<sim::Simulator>(stage->simulator->netlist(), sim::SimOptions{});
        program(*simulator, stage->topology, stage->routes);
        auto transport = sim::make_sim_transport(std::move(simulator), "", 0);
        ASSERT_TRUE(transport);
        AskLimits limits;
        limits.smp.timeout = limits.perf.timeout = std::chrono::milliseconds{200};
        limits.smp.retries = limits.perf.retries = 1;
        asker = std::make_unique<TransportAsker>(std::move(*transport), limits);
    }
    std::unique_ptr<Stage> stage;
    std::unique_ptr<TransportAsker> asker;
};

TEST_F(TransportAskerTest, BothKindsAreAnswered) {
    Question who{.attribute = mad::Attribute::node_info};
    Question counters{.device = 1,
                      .is_perf = true,
                      .perf = mad::PerfAttribute::port_counters,
                      .port = mad::PortNum{1},
                      .lid = stage->topology.switches[0].lids.base};
    const auto answers = asker->ask(std::vector<Question>{who, counters}, {});
    ASSERT_EQ(answers.size(), 2U);
    ASSERT_TRUE(answers[0].ok());
    EXPECT_EQ(mad::decode_node_info(mad::front_of(answers[0].data)).node_guid, asker->local_port().node_guid);
    EXPECT_TRUE(answers[1].ok());
}

TEST_F(TransportAskerTest, AStopEndsIt) {
    std::stop_source source;
    source.request_stop();
    Question lost{.attribute = mad::Attribute::node_info, .path = mad::DrPath{}.then(mad::PortNum{200})};
    const base::Instant before = base::monotonic_now();
    EXPECT_EQ(asker->ask(std::vector<Question>{lost}, source.get_token())[0].kind, Answer::Kind::silent);
    EXPECT_LT(base::monotonic_now() - before, std::chrono::milliseconds{190}) << "before its time was over";
    EXPECT_EQ(asker->ask(std::vector<Question>{lost}, {})[0].kind, Answer::Kind::silent);
}

}  // namespace
}  // namespace ibf::probe::test
