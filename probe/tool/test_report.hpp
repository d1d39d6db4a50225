// DOC: what a test came to, as JSON and as a table. Pure.
//
// A row for each size. What went wrong follows in sentences: why it did not go on, completions by their
// status, and counters that rose, each with what it means, and those that cannot be trusted. Of the paths,
// which are those of the first size: the SLs and by whose word, and why the subnet administration did not
// say.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "probe/messages.hpp"
#include "probe/spec.hpp"
#include "probe/tool/common.hpp"

namespace ibf::probe::tool {

struct SizeResult {
    TestSpec spec;
    PairOutcome pair;
};

struct TestResult {
    std::string host;                        ///< the other side
    std::string device;                      ///< ours: "mlx5_0/1"
    std::uint64_t link_bits_per_second = 0;  ///< of the slower port; 0: not known
    std::vector<SizeResult> sizes;
    bool was_interrupted = false;
    std::optional<base::Error> trouble{};  ///< what kept the next size from being measured
};

/// Bits of payload a second.
[[nodiscard]] double bits_per_second(const Outcome& outcome);
[[nodiscard]] bool has_failed(const SizeResult& result);
[[nodiscard]] Exit verdict(const TestResult& result);
[[nodiscard]] Rows test_json(const TestResult& result);
[[nodiscard]] std::string test_text(const TestResult& result);
/// "7,301 messages, 12.4 Gb/s": while it runs.
[[nodiscard]] std::string progress_text(const TestSpec& spec, const Progress& progress);

}  // namespace ibf::probe::tool
