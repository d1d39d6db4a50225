// DOC: a piece of a probe run, from the JSON that a client sent.
//
// Judged value by value, since it comes from a stranger: types, ranges, lengths, counts. Text is cut to what
// is stored of it. The other way round stands beside it, so that what is read is what can be sent.
#pragma once

#include <string>

#include "base/result.hpp"
#include "daemon/api/json_rows.hpp"
#include "db/probe_records.hpp"

namespace ibf::api {

/// Bytes of one piece; some 3,000 flows.
inline constexpr std::size_t kProbePieceBytesMax = 1U << 20U;

/// {"head": {...}, "flows": [...], "findings": [...]}, each of them optional. Errors: parse, naming the
/// value.
[[nodiscard]] base::Result<db::ProbePut> parse_probe_put(const std::string& body);

[[nodiscard]] Json probe_run_row(const db::ProbeRun& run);
[[nodiscard]] Json probe_flow_row(const db::ProbeFlow& flow);
[[nodiscard]] Json probe_finding_row(const db::ProbeFinding& finding);

}  // namespace ibf::api
