#include "daemon/shell/start_mark.hpp"

#include <unistd.h>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace ibf::shell {
namespace {

using base::Instant;
using std::chrono::minutes;
using std::chrono::seconds;
using Ending = StartMark::Ending;

constexpr const char* kBoot = "0b4e1b7c-1d0c-4a52-9f3e-0d8d7f0f1a11";
constexpr const char* kOtherBoot = "ffffffff-1d0c-4a52-9f3e-0d8d7f0f1a11";

class StartMarkTest : public ::testing::Test {
protected:
    void SetUp() override {
        folder_ = std::filesystem::temp_directory_path() /
                  fmt::format("ibf-starts-{}-{}", ::getpid(),
                              ::testing::UnitTest::GetInstance()->current_test_info()->name());
        std::filesystem::create_directories(folder_);
        path_ = (folder_ / "starts").string();
    }
    void TearDown() override { std::filesystem::remove_all(folder_); }

    std::unique_ptr<StartMark> start(Instant now, const char* boot) const {
        auto mark = StartMark::open(path_, boot, now);
        EXPECT_TRUE(mark) << mark.error().message;
        return std::move(*mark);
    }
    /// A run that begins and is killed; how many aborts it found.
    std::size_t killed(Instant now) const { return start(now, kBoot)->aborts_within(minutes{10}); }

    std::filesystem::path folder_;
    std::string path_;
};

TEST_F(StartMarkTest, RunsThatWereKilledAreCounted) {
    EXPECT_EQ(killed(Instant{seconds{100}}), 0U);
    EXPECT_EQ(killed(Instant{seconds{101}}), 1U);
    EXPECT_EQ(killed(Instant{seconds{150}}), 2U);
    EXPECT_EQ(killed(Instant{seconds{300}}), 3U);
    EXPECT_EQ(killed(Instant{seconds{300} + minutes{9}}), 2U) << "those of ten minutes";
    EXPECT_EQ(killed(Instant{seconds{300} + minutes{60}}), 1U) << "it ran long, and then it was killed";
}

TEST_F(StartMarkTest, AStopEndsTheRowAndLeavingDoesNot) {
    static_cast<void>(killed(Instant{seconds{100}}));
    static_cast<void>(killed(Instant{seconds{101}}));
    ASSERT_TRUE(start(Instant{seconds{102}}, kBoot)->end(Ending::left));
    EXPECT_EQ(start(Instant{seconds{103}}, kBoot)->aborts_within(minutes{10}), 2U);
    ASSERT_TRUE(start(Instant{seconds{104}}, kBoot)->end(Ending::stopped));
    EXPECT_EQ(start(Instant{seconds{105}}, kBoot)->aborts_within(minutes{10}), 0U);
}

TEST_F(StartMarkTest, AnOperatorsWordEndsIt) {
    static_cast<void>(killed(Instant{seconds{100}}));
    static_cast<void>(killed(Instant{seconds{101}}));
    ASSERT_TRUE(start(Instant{seconds{102}}, kBoot)->forget());
    EXPECT_EQ(killed(Instant{seconds{103}}), 1U) << "and begins a new one";
}

TEST_F(StartMarkTest, APowerLossIsNoAbort) {
    for (int i = 0; i < 5; ++i) {
        const std::string boot = fmt::format("boot-{}", i);
        EXPECT_EQ(start(Instant{seconds{30}}, boot.c_str())->aborts_within(minutes{10}), 0U);
    }
    static_cast<void>(killed(Instant{seconds{100}}));
    static_cast<void>(killed(Instant{seconds{101}}));
    EXPECT_EQ(start(Instant{seconds{102}}, kOtherBoot)->aborts_within(minutes{10}), 0U);
}

TEST_F(StartMarkTest, OnlyTheLastSoManyAreKept) {
    for (int i = 0; i < 40; ++i) {
        EXPECT_EQ(killed(Instant{seconds{100 + i}}), std::min<std::size_t>(static_cast<std::size_t>(i), 16));
    }
    EXPECT_LE(std::filesystem::file_size(path_), 512U);
}

TEST_F(StartMarkTest, WhatIsTornOrNotOursIsNothing) {
    static_cast<void>(killed(Instant{seconds{100}}));
    static_cast<void>(killed(Instant{seconds{101}}));
    std::string whole;
    {
        std::ifstream file(path_, std::ios::binary);
        whole.assign(std::istreambuf_iterator<char>(file), {});
    }
    const auto write = [&](const std::string& text) {
        std::ofstream(path_, std::ios::binary | std::ios::trunc) << text;
    };
    for (std::size_t cut = 0; cut < whole.size(); cut += 7) {
        write(whole.substr(0, cut));
        EXPECT_EQ(killed(Instant{seconds{110}}), 0U) << cut << " octets of it";
        std::string wrong = whole;
        wrong[cut] = static_cast<char>(wrong[cut] ^ 0x01);
        write(wrong);
        EXPECT_LE(killed(Instant{seconds{110}}), cut + 1 == whole.size() ? 2U : 0U) << "octet " << cut;
    }
    write(std::string(100'000, 'x'));
    EXPECT_EQ(killed(Instant{seconds{110}}), 0U);
    EXPECT_EQ(killed(Instant{seconds{111}}), 1U) << "and is one of ours again";
    write(whole);
    EXPECT_EQ(killed(Instant{seconds{112}}), 2U);
}

TEST_F(StartMarkTest, AFullDiskOrAFolderThatIsNotThereIsSaid) {
    EXPECT_FALSE(StartMark::open((folder_ / "nowhere" / "starts").string(), kBoot, Instant{}));
    if (std::filesystem::exists("/dev/full")) {
        EXPECT_FALSE(StartMark::open("/dev/full", kBoot, Instant{}));
    }
}

}  // namespace
}  // namespace ibf::shell
