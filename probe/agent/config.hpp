// DOC: the agent's configuration file.
//
// TOML, every key of which has a default: see ibfabric-probe(1), and docs/probe.toml for an example. What is
// wrong with it is told with line and column, and nothing is taken half.
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"
#include "probe/agent/agent.hpp"

namespace ibf::probe {

inline constexpr const char* kAgentConfigFile = "/etc/ibfabric/probe.toml";

struct AgentConfig {
    AgentTerms terms{};
    std::string key;
    std::string ca;
    std::string certificate;
    std::string certificate_key;
};

/// Errors: parse: "ORIGIN:LINE:COLUMN: what".
[[nodiscard]] base::Result<AgentConfig> parse_agent_config(std::string_view text, const std::string& origin);
/// Errors: io, parse.
[[nodiscard]] base::Result<AgentConfig> read_agent_config(const std::string& path);

}  // namespace ibf::probe
