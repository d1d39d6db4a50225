// DOC: fabrics in disguise and in pieces, for engines that must recognise a shape.
//
// scrambled() gives the same fabric other GUIDs and other port numbers; the without_ functions take one cable
// or one switch out of a Topology, which keeps indices and port numbers as they are.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine_fixtures.hpp"

namespace ibf::routing::test {

[[nodiscard]] Topology scrambled(const std::string& spec, std::uint64_t seed);

struct SwitchCable {
    std::uint32_t at = 0;
    std::uint8_t port = 0;
};
/// Cables between switches, each once.
[[nodiscard]] std::vector<SwitchCable> switch_cables(const Topology& topology);

/// A copy without the cable.
[[nodiscard]] Topology without_cable(Topology topology, const SwitchCable& cable);

/// A copy without the switch, its hosts and their LIDs; the switches behind it move up by one.
[[nodiscard]] Topology without_switch(const Topology& topology, std::uint32_t gone);

/// The index of a switch by its name.
[[nodiscard]] std::uint32_t switch_named(const Topology& topology, const std::string& name);

/// The engine's routes if both judges pass them; nullopt if the engine refused, or the proof did. Anything
/// else is a test failure: the judges disagree, or no reason is given.
[[nodiscard]] std::optional<Routes> served(const std::string& engine, const Topology& topology,
                                           const RouteOptions& options);
[[nodiscard]] std::optional<Routes> served(const std::string& engine, const Topology& topology);

/// Why an engine refuses; empty if it does not.
[[nodiscard]] std::string refusal_of(const std::string& engine, const Topology& topology);

}  // namespace ibf::routing::test
