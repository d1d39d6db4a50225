#include "probe/flow.hpp"

#include <gtest/gtest.h>

#include "probe_fixtures.hpp"

namespace ibf::probe::test {
namespace {

// The channels are those of the walk, hop by hop; none between two ports of one switch.
TEST(Flow, CrossesWhatTheTablesSay) {
    const Topology topology = routing::test::generated("fat-tree:radix=4,levels=3");
    const Routes routes = routing::test::routes_of("minhop", topology);
    const routing::TableView view(topology, routes);
    for (const EndPortIndex from : all_hosts(topology)) {
        for (const EndPortIndex to : all_hosts(topology)) {
            if (from == to) {
                continue;
            }
            const mad::Lid lid = topology.end_ports[to.value()].lids.base;
            const auto channels = channels_of(topology, view, {from, to, lid});
            Links links;
            for (const std::uint32_t channel : channels) {
                links.insert({view.channel_switch(channel), view.channel_port(channel)});
            }
            EXPECT_EQ(links, links_of(topology, routes, from, to, lid));
            EXPECT_EQ(links.size(), channels.size());
        }
    }
}

}  // namespace
}  // namespace ibf::probe::test
