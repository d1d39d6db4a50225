#include "probe/port_counters.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "sysfs_tree.hpp"

namespace ibf::probe::test {
namespace {

TEST(PortCounters, ReadsBothFoldersAndLeavesOutWhatIsNoNumber) {
    const SysfsTree tree("port-counters");
    tree.put("mlx5_0/ports/1/counters/symbol_error", "3\n");
    tree.put("mlx5_0/ports/1/counters/port_xmit_data", "18446744073709551615\n");
    tree.put("mlx5_0/ports/1/counters/VL15_dropped", "N/A (no PMA)\n");
    tree.put("mlx5_0/ports/1/hw_counters/out_of_sequence", "42\n");
    tree.put("mlx5_0/ports/1/hw_counters/lifespan", "10\n");
    tree.put("mlx5_0/ports/2/counters/symbol_error", "9\n");
    const Counters counters = read_port_counters("mlx5_0", 1, {}, tree.root());
    EXPECT_EQ(counters, (Counters{{"out_of_sequence", 42},
                                  {"port_xmit_data", 18446744073709551615ULL},
                                  {"symbol_error", 3}}));
}

TEST(PortCounters, NothingThereIsNothingRead) {
    const SysfsTree tree("port-counters-none");
    EXPECT_TRUE(read_port_counters("mlx5_0", 1, {}, tree.root()).empty());
    EXPECT_TRUE(read_port_counters("mlx5_0", 1, "no-such-interface", tree.root()).empty());
}

TEST(PortCounters, OnlyWhatRoseIsTold) {
    const auto rise = difference({{"a", 5}, {"b", 7}, {"gone", 1}}, {{"a", 9}, {"b", 7}, {"new", 4}});
    EXPECT_EQ(rise.risen, (Counters{{"a", 4}}));
    EXPECT_TRUE(rise.doubts.empty());
}

TEST(PortCounters, ACounterThatWrappedRoseByTheShorterWay) {
    const auto rise = difference({{"hits", 0xFFFFFFF0}}, {{"hits", 0x10}});
    EXPECT_EQ(rise.risen, (Counters{{"hits", 0x20}}));
    ASSERT_EQ(rise.doubts.size(), 1U);
    EXPECT_NE(rise.doubts[0].find("wrapped"), std::string::npos);
}

TEST(PortCounters, ACounterThatFellFarWasCleared) {
    const auto rise = difference({{"hits", 1000}, {"large", 1ULL << 40U}}, {{"hits", 3}, {"large", 0}});
    EXPECT_EQ(rise.risen, (Counters{{"hits", 3}}));
    ASSERT_EQ(rise.doubts.size(), 2U);
    EXPECT_NE(rise.doubts[0].find("cleared"), std::string::npos);
}

TEST(PortCounters, ACounterAtItsMaximumCountsNoFurther) {
    const auto rise =
        difference({{"symbol_error", 65535}, {"link_downed", 254}, {"rcvd_pkts", 254}, {"wait", 4294967295}},
                   {{"symbol_error", 65535}, {"link_downed", 255}, {"rcvd_pkts", 255}, {"wait", 4294967295}});
    EXPECT_EQ(rise.risen, (Counters{{"link_downed", 1}, {"rcvd_pkts", 1}}));
    ASSERT_EQ(rise.doubts.size(), 3U);
    EXPECT_EQ(rise.doubts[0].rfind("link_downed stands at its maximum of 255", 0), 0U);
    EXPECT_EQ(rise.doubts[1].rfind("symbol_error", 0), 0U);
    EXPECT_EQ(rise.doubts[2].rfind("wait", 0), 0U);
}

TEST(PortCounters, EachMeaningIsASentenceOnce) {
    const auto all = counter_meanings();
    ASSERT_GT(all.size(), 80U);
    for (std::size_t i = 0; i < all.size(); ++i) {
        EXPECT_TRUE(i == 0 || all[i - 1].name < all[i].name) << all[i].name;
        EXPECT_EQ(all[i].sentence.back(), '.') << all[i].name;
        EXPECT_EQ(find_counter(all[i].name), &all[i]);
    }
}

TEST(PortCounters, KnowsTheCountersOfTheCommonDrivers) {
    for (const char* name : {"symbol_error",
                             "link_error_recovery",
                             "link_downed",
                             "port_rcv_errors",
                             "port_xmit_discards",
                             "port_xmit_wait",
                             "out_of_sequence",
                             "duplicate_request",
                             "local_ack_timeout_err",
                             "packet_seq_err",
                             "rnr_nak_retry_err",
                             "rx_icrc_encapsulated",
                             "implied_nak_seq_err",
                             "np_ecn_marked_roce_packets",
                             "np_cnp_sent",
                             "rp_cnp_handled",
                             "roce_adp_retrans",
                             "rcvd_pkts",
                             "sent_pkts",
                             "out_of_seq_request",
                             "rcvd_rnr_err",
                             "send_rnr_err",
                             "rcvd_seq_err",
                             "ack_deferred",
                             "retry_exceeded_err",
                             "retry_rnr_exceeded_err",
                             "completer_retry_err",
                             "send_err",
                             "rdma_sends",
                             "rdma_recvs"}) {
        EXPECT_TRUE(explain(name)) << name;
    }
    EXPECT_FALSE(explain("no_such_counter"));
    EXPECT_FALSE(explain(""));
}

TEST(PortCounters, APauseCounterIsExplainedForEachClass) {
    ASSERT_TRUE(explain("ethtool.rx_prio3_pause"));
    EXPECT_EQ(explain("ethtool.rx_prio3_pause"), explain("ethtool.rx_prio0_pause"));
    EXPECT_NE(explain("ethtool.rx_prio3_pause"), explain("ethtool.tx_prio3_pause"));
    EXPECT_FALSE(explain("ethtool.rx_prio9_pause"));
    EXPECT_FALSE(explain("ethtool.rx_prio"));
}

// What is read within that time is what was read before: a short run would have counted nothing.
TEST(PortCounters, TheKernelKeepsWhatItReadForALifespan) {
    const SysfsTree tree("port-counters-lifespan");
    tree.put("mlx5_0/ports/1/hw_counters/lifespan", "10\n");
    tree.put("mlx5_0/ports/2/hw_counters/lifespan", "4000000000\n");
    tree.put("mlx5_0/ports/3/counters/symbol_error", "3\n");
    tree.put("mlx5_0/ports/4/hw_counters/lifespan", "0\n");
    using std::chrono::milliseconds;
    EXPECT_EQ(counters_kept_for("mlx5_0", 1, tree.root()), milliseconds{20});
    EXPECT_EQ(counters_kept_for("mlx5_0", 2, tree.root()), milliseconds{500})
        << "an agent ends a second after its limit";
    EXPECT_EQ(counters_kept_for("mlx5_0", 3, tree.root()), milliseconds{0});
    EXPECT_EQ(counters_kept_for("mlx5_0", 4, tree.root()), milliseconds{0});
}

}  // namespace
}  // namespace ibf::probe::test
