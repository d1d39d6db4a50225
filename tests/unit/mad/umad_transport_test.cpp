#include "mad/umad_transport.hpp"

#include <filesystem>

#include <gtest/gtest.h>

#include "mad/transactions.hpp"

namespace ibf::mad {
namespace {

using std::chrono::milliseconds;

TEST(UmadTransport, TheKernelClosesARequestBeforeItsSenderRetries) {
    EXPECT_EQ(kernel_timeout(base::Duration::zero()), milliseconds{0}) << "no response awaited";
    EXPECT_EQ(kernel_timeout(base::Duration{-1}), milliseconds{0});
    EXPECT_EQ(kernel_timeout(base::Duration{1}), milliseconds{1}) << "a response is awaited: never 0";
    EXPECT_EQ(kernel_timeout(milliseconds{20}), milliseconds{10});
    EXPECT_EQ(kernel_timeout(milliseconds{200}), milliseconds{170});
    EXPECT_EQ(kernel_timeout(std::chrono::hours{24 * 365}), milliseconds{2147483617});
    for (int waited = 60; waited < 3000; ++waited) {
        const milliseconds open = kernel_timeout(milliseconds{waited});
        EXPECT_GE(milliseconds{waited} - open, milliseconds{30});
        EXPECT_GE(open, milliseconds{waited} / 2);
    }
}

TEST(UmadTransport, EverySendOfTheTableSaysHowLongItWaits) {
    Transactions table({.retries = 1, .timeout = milliseconds{100}}, Tid{1});
    ASSERT_TRUE(table.submit({}));
    std::vector<WireMad> out;
    std::vector<Completion> done;
    base::Instant now{};
    table.poll_send(now, out);
    table.on_time(now += milliseconds{100}, done);
    table.poll_send(now, out);
    ASSERT_EQ(out.size(), 2U);
    EXPECT_EQ(out[0].response_timeout, milliseconds{100});
    EXPECT_EQ(out[1].response_timeout, milliseconds{200});
}

// C21: what is missing is named, as an error that waiting can cure.
TEST(UmadTransport, WithoutADeviceTheMissingPartIsNamed) {
    if (std::filesystem::exists("/sys/class/infiniband")) {
        GTEST_SKIP() << "this machine has RDMA devices: opening one is no unit test";
    }
    for (const UmadOptions& options : {UmadOptions{}, UmadOptions{.device = "mlx5_0", .port = 1}}) {
        const auto transport = open_umad(options);
        ASSERT_FALSE(transport.has_value());
        EXPECT_EQ(transport.error().kind, base::ErrorKind::unavailable);
        EXPECT_NE(transport.error().message.find("no RDMA device in /sys/class/infiniband"),
                  std::string::npos);
    }
}

}  // namespace
}  // namespace ibf::mad
