// DOC: the fabric's values as JSON.
//
// One function per kind of row; lists, paths and exports are made of them, so a port looks the same
// everywhere. GUIDs are text ("0x..."), LIDs and ports numbers, rates Gb/s, MTUs bytes, times seconds or UTC
// text.
#pragma once

#include <nlohmann/json.hpp>

#include "daemon/api/api.hpp"
#include "daemon/fabric/snapshot.hpp"

namespace ibf::api {

[[nodiscard]] double seconds(base::Duration time);

using Json = nlohmann::ordered_json;

[[nodiscard]] std::string guid_text(mad::Guid guid);
[[nodiscard]] Json node_row(const fabric::Fabric& fabric, std::uint32_t node);
[[nodiscard]] Json switch_row(const fabric::Fabric& fabric, std::uint32_t node);
/// One row per adapter or router port: the host's view of the fabric.
[[nodiscard]] Json host_row(const fabric::Fabric& fabric, fabric::PortRef ref);
[[nodiscard]] Json port_row(const fabric::Fabric& fabric, fabric::PortRef ref);
/// The cable at `a`, seen from there.
[[nodiscard]] Json link_row(const fabric::Fabric& fabric, fabric::PortRef a);
[[nodiscard]] Json isolation_row(const fabric::Fabric& fabric, const fabric::Isolation& isolation);
[[nodiscard]] Json event_row(const fabric::EventRecord& event);
[[nodiscard]] Json sweep_row(const fabric::SweepReport& sweep);
[[nodiscard]] Json verdict_json(const routing::Verdict& verdict);
[[nodiscard]] Json attempts_json(const std::vector<routing::EngineAttempt>& attempts);
[[nodiscard]] Json quality_json(const routing::Quality& quality);

/// Width, speed, rate and MTU of a linked port, appended to `row`.
void add_rate(Json& row, const fabric::Node& node, mad::PortNum port);

/// Text of a JSON value; bytes that are no UTF-8 (a device may say anything) become replacement characters.
[[nodiscard]] std::string text_of(const Json& value);

/// True if the port has a cable with a known device at the other end.
[[nodiscard]] bool has_peer(const fabric::Port& port);
/// Description without the blanks that many devices pad it with.
[[nodiscard]] std::string name_of(const fabric::Node& node);

}  // namespace ibf::api
