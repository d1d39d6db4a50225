// DOC: the flags of a test, and what they mean.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <CLI/App.hpp>

#include "base/result.hpp"
#include "net/address.hpp"
#include "probe/spec.hpp"
#include "probe/tool/common.hpp"

namespace ibf::probe::tool {

struct TestFlags {
    std::string host;
    std::string size;
    std::string sweep;
    std::optional<std::uint64_t> count;
    std::optional<double> seconds;
    std::string rate;
    std::string device;
    std::string peer_device;
    std::optional<unsigned> gid_index;
    std::optional<unsigned> peer_gid_index;
    std::optional<unsigned> dlid;
    bool no_check = false;
    bool no_huge_pages = false;
    TestSpec spec{};  ///< what needs no reading
    Way way{};
    Access access;
};

void add_test_options(CLI::App& app, Test test, TestFlags& flags);

/// What the flags come to.
struct TestPlan {
    net::HostPort where;
    TestSpec spec{};  ///< but for the size
    std::vector<std::uint64_t> sizes;
    Way from{};
    Way to{};
};
/// Errors: usage.
[[nodiscard]] base::Result<TestPlan> plan_of(const TestFlags& flags);

/// "mlx5_0", "mlx5_0/1". Errors: usage.
[[nodiscard]] base::Result<void> read_device(const std::string& text, Way& way);
/// "1:64K": each power of two times the first, and the last. Errors: usage.
[[nodiscard]] base::Result<std::vector<std::uint64_t>> parse_sweep(const std::string& text);

}  // namespace ibf::probe::tool
