// Standing faults: whom they strike, how often, by what chance.
#include "sim/fault_table.hpp"

#include <gtest/gtest.h>

#include "sim_bench.hpp"

namespace ibf::sim {
namespace {

using mad::Attribute;
using mad::Method;

mad::MadHeader header_of(Method method, Attribute attribute) {
    mad::MadHeader header;
    header.method = static_cast<std::uint8_t>(method);
    header.attribute = attribute;
    return header;
}

TEST(FaultTable, CountsRunDown) {
    FaultTable table;
    base::Prng prng(1);
    Fault fault;
    fault.kind = Fault::Kind::duplicate;
    fault.count = 2;
    table.add(fault, 3);
    const mad::MadHeader get = header_of(Method::get, Attribute::node_info);
    EXPECT_FALSE(table.judge(2, get, prng).duplicate);
    EXPECT_TRUE(table.judge(3, get, prng).duplicate);
    EXPECT_TRUE(table.judge(3, get, prng).duplicate);
    EXPECT_FALSE(table.judge(3, get, prng).duplicate);
}

TEST(FaultTable, FiltersAndChance) {
    FaultTable table;
    base::Prng prng(1);
    Fault slow;
    slow.kind = Fault::Kind::slow_set;
    slow.delay = std::chrono::milliseconds{5};
    table.add(slow, std::nullopt);
    Fault drop;
    drop.attribute = Attribute::port_info;
    drop.method = Method::get;
    drop.probability = 0.25;
    table.add(drop, std::nullopt);
    EXPECT_EQ(table.judge(0, header_of(Method::get, Attribute::node_info), prng).slow, base::Duration{});
    EXPECT_EQ(table.judge(0, header_of(Method::set, Attribute::port_info), prng).slow, slow.delay);
    int dropped = 0;
    constexpr int kRounds = 4000;
    for (int i = 0; i < kRounds; ++i) {
        const Verdict verdict = table.judge(0, header_of(Method::get, Attribute::port_info), prng);
        dropped += verdict.drop_request || verdict.drop_answer ? 1 : 0;
        EXPECT_FALSE(verdict.drop_request && verdict.drop_answer);
    }
    EXPECT_NEAR(dropped, kRounds / 4, kRounds / 20);
}

}  // namespace
}  // namespace ibf::sim
