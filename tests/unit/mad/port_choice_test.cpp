// choose_port over a made-up sysfs tree.

#include <unistd.h>

#include <filesystem>
#include <fstream>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "mad/transport.hpp"

namespace ibf::mad {
namespace {

namespace fs = std::filesystem;

struct FakePort {
    std::string device;
    unsigned port = 1;
    std::string link_layer = "InfiniBand";
    std::string state = "4: ACTIVE";
    std::string cap_mask = "0x2651e848";
    std::string guid = "0002:c903:00a1:b2c3";
    bool umad = true;
};

class PortChoiceTest : public testing::Test {
protected:
    PortChoiceTest() : base_(fs::temp_directory_path() / fmt::format("ibf_sysfs_{}_{}", ::getpid(), name())) {
        fs::remove_all(base_);
        fs::create_directories(base_);
    }
    ~PortChoiceTest() override { fs::remove_all(base_); }

    static std::string name() { return testing::UnitTest::GetInstance()->current_test_info()->name(); }
    [[nodiscard]] std::string root() const { return (base_ / "infiniband").string(); }

    static void write(const fs::path& file, const std::string& text) {
        fs::create_directories(file.parent_path());
        std::ofstream(file) << text << '\n';
    }

    void add(const FakePort& port) {
        const fs::path folder = base_ / "infiniband" / port.device / "ports" / std::to_string(port.port);
        if (!port.link_layer.empty()) {
            write(folder / "link_layer", port.link_layer);
        }
        write(folder / "state", port.state);
        write(folder / "cap_mask", port.cap_mask);
        write(folder / "gids" / "0", "fe80:0000:0000:0000:" + port.guid);
        if (port.umad) {
            for (const char* kind : {"umad", "issm"}) {
                const fs::path device = base_ / "infiniband_mad" / fmt::format("{}{}", kind, umads_);
                write(device / "ibdev", port.device);
                write(device / "port", std::to_string(port.port));
            }
            ++umads_;
        }
    }

    [[nodiscard]] base::Result<PortChoice> choose(const UmadOptions& options = {}) const {
        return choose_port(root(), options);
    }

private:
    fs::path base_;
    int umads_ = 0;
};

// C20: the RoCE port comes first and is Active.
TEST_F(PortChoiceTest, AnInitialisingInfiniBandPortBeatsAnActiveEthernetPort) {
    add({.device = "mlx5_0", .link_layer = "Ethernet"});
    add({.device = "mlx5_1", .state = "2: INIT"});
    const auto choice = choose();
    ASSERT_TRUE(choice.has_value()) << choice.error().message;
    EXPECT_EQ(choice->device, "mlx5_1");
    EXPECT_EQ(choice->port, 1);
    ASSERT_EQ(choice->passed_over.size(), 1U);
    EXPECT_EQ(choice->passed_over[0], "mlx5_0/1: its link layer is Ethernet, which has no subnet manager");
}

TEST_F(PortChoiceTest, PortsThatForbidAnSmOrHaveNoUmadArePassedOver) {
    add({.device = "mlx5_0", .cap_mask = "0x00000400"});
    add({.device = "mlx5_1", .umad = false});
    add({.device = "mlx5_2", .port = 2});
    const auto choice = choose();
    ASSERT_TRUE(choice.has_value()) << choice.error().message;
    EXPECT_EQ(choice->device, "mlx5_2");
    EXPECT_EQ(choice->port, 2);
    ASSERT_EQ(choice->passed_over.size(), 2U);
    EXPECT_NE(choice->passed_over[0].find("IsSMdisabled"), std::string::npos);
    EXPECT_NE(choice->passed_over[1].find("modprobe ib_umad"), std::string::npos);
}

TEST_F(PortChoiceTest, AClientMayAskWhereNoSmMayBe) {
    add({.device = "mlx5_0", .cap_mask = "0x00000400"});
    EXPECT_FALSE(choose());
    EXPECT_EQ(choose({.use = UmadUse::client}).value().device, "mlx5_0");
}

TEST(UmadPort, IsADeviceAndAPort) {
    EXPECT_EQ(parse_umad_port("").value().device, "");
    EXPECT_EQ(parse_umad_port("mlx5_0").value().port, 0);
    EXPECT_EQ(parse_umad_port("mlx5_0/2").value().device, "mlx5_0");
    EXPECT_EQ(parse_umad_port("mlx5_0/2").value().port, 2);
    for (const char* wrong : {"/", "/1", "mlx5_0/", "mlx5_0/0", "mlx5_0/256", "mlx5_0/1x", "mlx5_0/-1"}) {
        EXPECT_EQ(parse_umad_port(wrong).error().kind, base::ErrorKind::usage) << wrong;
    }
}

TEST_F(PortChoiceTest, ALinkedPortIsPreferredThenTheFirstInVersionOrder) {
    add({.device = "mlx5_10"});
    add({.device = "mlx5_2", .state = "1: DOWN"});
    add({.device = "mlx5_3", .state = "2: INIT"});
    const auto choice = choose();
    ASSERT_TRUE(choice.has_value());
    EXPECT_EQ(choice->device, "mlx5_3");
    ASSERT_EQ(choice->passed_over.size(), 2U);
    EXPECT_EQ(choice->passed_over[0], "mlx5_2/1: usable (1: DOWN), but mlx5_3/1 (2: INIT) is preferred");
    EXPECT_EQ(choice->passed_over[1], "mlx5_10/1: usable (4: ACTIVE), but mlx5_3/1 (2: INIT) is preferred");
}

TEST_F(PortChoiceTest, ADownPortIsBetterThanNone) {
    add({.device = "mlx5_0", .state = "1: DOWN"});
    const auto choice = choose();
    ASSERT_TRUE(choice.has_value());
    EXPECT_EQ(choice->device, "mlx5_0");
    EXPECT_TRUE(choice->passed_over.empty());
}

TEST_F(PortChoiceTest, NoLinkLayerFileMeansInfiniBand) {
    add({.device = "ibsim0", .link_layer = ""});
    EXPECT_TRUE(choose().has_value());
}

TEST_F(PortChoiceTest, NamedPortsAndGuids) {
    add({.device = "mlx5_0", .guid = "0002:c903:0000:0001"});
    add({.device = "mlx5_0", .port = 2, .state = "1: DOWN", .guid = "0002:c903:0000:0002"});
    add({.device = "mlx5_1", .guid = "0002:c903:0000:0003"});
    EXPECT_EQ(choose({.device = "mlx5_1"})->device, "mlx5_1");
    EXPECT_EQ(choose({.device = "mlx5_0", .port = 2})->port, 2) << "named: taken though it is down";
    EXPECT_EQ(choose({.port_guid = Guid{0x0002c90300000003}})->device, "mlx5_1");
    EXPECT_EQ(choose({.port_guid = Guid{0x0002c90300000002}})->port, 2);
    EXPECT_TRUE(choose({.device = "mlx5_1"})->passed_over.empty()) << "nobody asked for the others";

    for (const UmadOptions& options :
         {UmadOptions{.device = "mlx5_7"}, UmadOptions{.device = "mlx5_1", .port = 2},
          UmadOptions{.port_guid = Guid{9}}}) {
        const auto choice = choose(options);
        ASSERT_FALSE(choice.has_value());
        EXPECT_EQ(choice.error().kind, base::ErrorKind::usage);
        EXPECT_NE(choice.error().message.find("there is mlx5_0/1, mlx5_0/2, mlx5_1/1"), std::string::npos);
    }
}

// C21: the error names the missing part, and is one that waiting can cure.
TEST_F(PortChoiceTest, ErrorsNameTheMissingPart) {
    const auto nothing = choose();
    ASSERT_FALSE(nothing.has_value());
    EXPECT_EQ(nothing.error().kind, base::ErrorKind::unavailable);
    EXPECT_NE(nothing.error().message.find("no RDMA device in " + root()), std::string::npos);
    EXPECT_EQ(choose({.device = "mlx5_0"}).error().kind, base::ErrorKind::unavailable)
        << "its driver may still load";

    add({.device = "mlx5_0", .umad = false});
    const auto no_umad = choose();
    ASSERT_FALSE(no_umad.has_value());
    EXPECT_EQ(no_umad.error().kind, base::ErrorKind::unavailable);
    EXPECT_NE(no_umad.error().message.find(
                  "mlx5_0/1: it has no umad device: load the kernel module (modprobe ib_umad)"),
              std::string::npos);
}

TEST_F(PortChoiceTest, OnlyEthernetPorts) {
    add({.device = "mlx5_0", .link_layer = "Ethernet"});
    const auto choice = choose({.device = "mlx5_0"});
    ASSERT_FALSE(choice.has_value());
    EXPECT_NE(choice.error().message.find("Ethernet"), std::string::npos);
}

TEST_F(PortChoiceTest, GarbageInSysfsIsNoCrash) {
    add({.device = "mlx5_0",
         .port = 1,
         .link_layer = "InfiniBand  ",
         .state = "banana",
         .cap_mask = "zz",
         .guid = "not a guid at all, but rather long text"});
    const auto choice = choose();
    ASSERT_TRUE(choice.has_value()) << choice.error().message;
    EXPECT_EQ(choice->device, "mlx5_0");
}

}  // namespace
}  // namespace ibf::mad
