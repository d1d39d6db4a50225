#include "probe/verbs/device.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <string>

namespace ibf::probe::verbs::test {
namespace {

GidEntry gid_of(std::uint8_t index, const char* address, const char* type) {
    GidEntry gid{.index = index, .gid = {}, .type = type, .netdev = "eth4"};
    EXPECT_EQ(::inet_pton(AF_INET6, address, gid.gid.data()), 1) << address;
    return gid;
}

PortDescription port_of(const char* device, std::uint8_t number, LinkLayer layer) {
    PortDescription port{.device = device, .port = number, .layer = layer, .state = "active"};
    port.is_active = true;
    port.lid = mad::Lid{static_cast<std::uint16_t>(layer == LinkLayer::infiniband ? number : 0)};
    return port;
}

PortDescription roce_port() {
    PortDescription port = port_of("mlx5_1", 1, LinkLayer::ethernet);
    port.gids = {gid_of(0, "fe80::1", "RoCE v1"), gid_of(1, "fe80::1", "RoCE v2"),
                 gid_of(2, "::ffff:10.0.0.1", "RoCE v1"), gid_of(3, "::ffff:10.0.0.1", "RoCE v2"),
                 gid_of(4, "fd00::1", "RoCE v2")};
    return port;
}

std::vector<PortDescription> host() {
    PortDescription down = port_of("mlx5_0", 1, LinkLayer::infiniband);
    down.is_active = false;
    down.problem = "it is down: the cable must be in";
    PortDescription up = port_of("mlx5_0", 2, LinkLayer::infiniband);
    up.gids = {gid_of(0, "fe80::5", "IB")};
    return {down, up, roce_port()};
}

TEST(Device, GidsAreWrittenAsPeopleWriteThem) {
    EXPECT_EQ(to_text(gid_of(0, "fe80::a:0:b", "IB").gid), "fe80::a:0:b");
    EXPECT_EQ(to_text(gid_of(0, "::ffff:10.0.0.1", "RoCE v2").gid), "::ffff:10.0.0.1");
}

TEST(Device, WithoutAWordTheFirstPortThatIsActive) {
    const auto chosen = choose(host(), {});
    ASSERT_TRUE(chosen);
    EXPECT_EQ(chosen->port.device, "mlx5_0");
    EXPECT_EQ(chosen->port.port, 2);
    EXPECT_FALSE(chosen->with_grh) << "InfiniBand needs none within a subnet";
    EXPECT_EQ(to_text(chosen->gid.gid), "fe80::5") << "told all the same, the peer may want a GRH";
}

TEST(Device, OnInfiniBandAGidIndexAsksForAGrh) {
    const auto chosen = choose(host(), {.device = "mlx5_0", .gid_index = std::uint8_t{0}});
    ASSERT_TRUE(chosen);
    EXPECT_TRUE(chosen->with_grh);
}

TEST(Device, OnEthernetRoceV2WithIpv4IsPreferred) {
    std::vector<PortDescription> ports = {roce_port()};
    auto& gids = ports[0].gids;
    for (const int best : {3, 4, 1, 2, 0}) {
        const auto chosen = choose(ports, {});
        ASSERT_TRUE(chosen);
        EXPECT_EQ(chosen->gid.index, best);
        EXPECT_TRUE(chosen->with_grh);
        std::erase_if(gids, [&](const GidEntry& gid) { return gid.index == best; });
    }
    const auto none = choose(ports, {});
    ASSERT_FALSE(none);
    EXPECT_EQ(none.error().kind, base::ErrorKind::unavailable);
    EXPECT_NE(none.error().message.find("IP address"), std::string::npos);
}

TEST(Device, AGidIndexThatIsEmptyNamesThoseThatAreSet) {
    EXPECT_EQ(choose(host(), {.device = "mlx5_1", .gid_index = std::uint8_t{1}})->gid.index, 1);
    const auto chosen = choose(host(), {.device = "mlx5_1", .gid_index = std::uint8_t{9}});
    ASSERT_FALSE(chosen);
    EXPECT_EQ(chosen.error().kind, base::ErrorKind::not_found);
    EXPECT_NE(chosen.error().message.find("3 (::ffff:10.0.0.1, RoCE v2)"), std::string::npos)
        << chosen.error().message;
}

TEST(Device, APortThatIsDownSaysWhy) {
    const auto chosen = choose(host(), {.device = "mlx5_0", .port = 1});
    ASSERT_FALSE(chosen);
    EXPECT_EQ(chosen.error().kind, base::ErrorKind::unavailable);
    EXPECT_EQ(chosen.error().message, "mlx5_0/1 cannot be used: it is down: the cable must be in");
}

TEST(Device, AnUnknownOneNamesThoseThereAre) {
    const auto device = choose(host(), {.device = "mlx5_7"});
    ASSERT_FALSE(device);
    EXPECT_EQ(device.error().kind, base::ErrorKind::not_found);
    EXPECT_EQ(device.error().message, "there is no port mlx5_7; there are: mlx5_0/1, mlx5_0/2, mlx5_1/1");
    EXPECT_FALSE(choose(host(), {.device = "mlx5_1", .port = 2}));
}

// A device that may not be opened shows one entry, without a port.
TEST(Device, ADeviceThatCannotBeOpenedSaysWhyForAnyPort) {
    const std::vector<PortDescription> ports = {{.device = "mlx5_0", .problem = "it may not be opened"}};
    const auto chosen = choose(ports, {.device = "mlx5_0", .port = 1});
    ASSERT_FALSE(chosen);
    EXPECT_EQ(chosen.error().kind, base::ErrorKind::unavailable);
    EXPECT_EQ(chosen.error().message, "mlx5_0 cannot be used: it may not be opened");
}

// libibverbs and librdmacm say ENOENT of a file that they may not open.
TEST(Device, AFileThatMayNotBeOpenedIsToldFromOneThatIsNotThere) {
    EXPECT_EQ(why_not_opened("/no/such/file", ENOENT), ENOENT);
    EXPECT_EQ(why_not_opened("/dev/null", ENOENT), ENOENT) << "it may be opened: the reason is another one";
    const std::string file = testing::TempDir() + "/ibf-unreadable-" + std::to_string(::getpid());
    const int made = ::open(file.c_str(), O_CREAT | O_RDWR, 0);
    ASSERT_GE(made, 0);
    ::close(made);
    EXPECT_EQ(why_not_opened(file, ENOENT), ::geteuid() == 0 ? ENOENT : EACCES);
    ::unlink(file.c_str());
}

TEST(Device, NoneAtAllSaysWhatToLoad) {
    const auto chosen = choose({}, {});
    ASSERT_FALSE(chosen);
    EXPECT_EQ(chosen.error().kind, base::ErrorKind::unavailable);
    EXPECT_NE(chosen.error().message.find("rdma link add rxe0"), std::string::npos);
    const auto opened = Device::open("no-such-device", false);
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().kind, base::ErrorKind::not_found);
}

TEST(Device, PathBitsAreWithinTheLmcOfThePort) {
    std::vector<PortDescription> ports = {port_of("mlx5_0", 1, LinkLayer::infiniband)};
    for (const std::uint8_t lmc : std::initializer_list<std::uint8_t>{0, 2, 7}) {
        ports[0].lmc = lmc;
        EXPECT_TRUE(choose(ports, {.path_bits = static_cast<std::uint8_t>((1U << lmc) - 1)}));
        const auto above = choose(ports, {.path_bits = static_cast<std::uint8_t>(1U << lmc)});
        ASSERT_FALSE(above) << "that LID is another port's";
        EXPECT_EQ(above.error().kind, base::ErrorKind::usage);
    }
    for (const Way& way : {Way{.dlid = mad::Lid{5}}, Way{.path_bits = 1}}) {
        const auto refused = choose({roce_port()}, way);
        ASSERT_FALSE(refused) << "what means nothing there would be taken for another path";
        EXPECT_EQ(refused.error().kind, base::ErrorKind::usage);
    }
}

}  // namespace
}  // namespace ibf::probe::verbs::test
