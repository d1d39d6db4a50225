// Host lists: what a line stands for, and what is said of a line that stands for nothing.
#include <gtest/gtest.h>

#include "engine_fixtures.hpp"
#include "routing/host_list.hpp"
#include "routing/patterns.hpp"

namespace ibf::routing::test {
namespace {

/// Two leaves; "node-1" has two adapters, "node-2" one of two ports, "17" is a host's name, the last has no
/// blanks.
Topology rails() {
    TopologyBuilder builder;
    for (unsigned at = 0; at < 2; ++at) {
        TopologySwitch item;
        item.guid = mad::Guid{0x5000 + at};
        item.lids = {mad::Lid{static_cast<std::uint16_t>(30 + at)}, 0};
        item.num_ports = 8;
        builder.add_switch(item);
    }
    builder.add_link(mad::Guid{0x5000}, mad::PortNum{8}, mad::Guid{0x5001}, mad::PortNum{8}, {1});
    struct End {
        const char* name;
        std::uint64_t node;
        std::uint8_t port;
        unsigned leaf;
    };
    const End ends[] = {{"node-1 mlx5_0", 0xa000000000000010, 1, 0},
                        {"node-1 mlx5_1", 0xa000000000000020, 1, 1},
                        {"node-2 HCA-1", 0xa000000000000030, 1, 0},
                        {"node-2 HCA-1", 0xa000000000000030, 2, 1},
                        {"17", 0xa000000000000040, 1, 0},
                        {"login", 0xa000000000000050, 1, 1}};
    std::uint16_t lid = 4;
    std::uint8_t socket[2] = {1, 1};
    for (const End& end : ends) {
        TopologyEndPort item;
        item.node_guid = mad::Guid{end.node};
        item.port_guid = mad::Guid{end.node + end.port};
        item.port = mad::PortNum{end.port};
        item.lids = {mad::Lid{lid}, 1};
        item.name = end.name;
        lid = static_cast<std::uint16_t>(lid + 2);
        builder.add_end_port(item);
        builder.add_link(item.node_guid, item.port, mad::Guid{0x5000 + end.leaf},
                         mad::PortNum{socket[end.leaf]++}, {1});
    }
    return builder.build();
}

struct HostList : testing::Test {
    Topology topology = rails();
    std::vector<EndPortIndex> all = usual_order(topology, 1);

    /// "node-1 mlx5_0/1 login/1": what the text stands for.
    [[nodiscard]] std::string read(std::string_view text) const {
        const auto hosts = parse_host_list(text, "job.txt", topology, all);
        if (!hosts) {
            return hosts.error().message;
        }
        std::string out;
        for (const EndPortIndex host : *hosts) {
            const TopologyEndPort& end = topology.end_ports[host.value()];
            out += (out.empty() ? "" : ", ") + end.name + "/" + std::to_string(end.port.value());
        }
        return out;
    }
};

TEST_F(HostList, ALineIsADescriptionOrItsFirstWord) {
    EXPECT_EQ(read("node-1 mlx5_1\n"), "node-1 mlx5_1/1");
    EXPECT_EQ(read("node-1\n"), "node-1 mlx5_0/1, node-1 mlx5_1/1") << "all rails of a host";
    EXPECT_EQ(read("node-2"), "node-2 HCA-1/1, node-2 HCA-1/2");
}

TEST_F(HostList, ALineIsAGuidOrALid) {
    EXPECT_EQ(read("0xa000000000000030"), "node-2 HCA-1/1, node-2 HCA-1/2") << "a node's";
    EXPECT_EQ(read("a000000000000032"), "node-2 HCA-1/2") << "a port's";
    EXPECT_EQ(read("lid:6"), "node-1 mlx5_1/1");
    EXPECT_EQ(read("7"), "node-1 mlx5_1/1") << "the second LID of a port";
    EXPECT_EQ(read("0xe"), "login/1");
    EXPECT_EQ(read("17"), "17/1") << "a name goes before a number";
}

TEST_F(HostList, OrderIsTheTreesAndRepeatsAreOne) {
    EXPECT_EQ(read("\xEF\xBB\xBF# job 4711\r\n\r\n  login  \r\nnode-1 mlx5_0\r\nlogin\r\n"),
              "node-1 mlx5_0/1, login/1");
    EXPECT_EQ(read(""), "");
}

TEST_F(HostList, AnUnknownHostIsNamedWithItsLine) {
    EXPECT_EQ(read("login\n\nlogn\n"),
              "job.txt:3: no host here is called 'logn' (did you mean 'login'?); a line is a description or "
              "its first "
              "word, a GUID, or a LID like lid:12");
    EXPECT_NE(read("lid:30").find("job.txt:1: no host here is called 'lid:30'"), std::string::npos)
        << "a switch sends nothing";
    EXPECT_NE(read("node\n").find("job.txt:1:"), std::string::npos) << "a part of a word is no word";
    EXPECT_LT(read(std::string(100'000, 'x')).size(), 400U);
    EXPECT_EQ(parse_host_list("logn", "job.txt", topology, all).error().kind, base::ErrorKind::not_found);
    const auto nobody = parse_host_list("login", "job.txt", topology, {});
    EXPECT_EQ(nobody.error().message.find("did you mean"), std::string::npos);
}

TEST_F(HostList, AMissingFileIsAnIoError) {
    const auto hosts = load_host_list("./no-such-list", topology, all);
    ASSERT_FALSE(hosts);
    EXPECT_EQ(hosts.error().kind, base::ErrorKind::io);
}

}  // namespace
}  // namespace ibf::routing::test
