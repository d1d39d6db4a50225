// DOC: the families of generated fabrics.
//
// One function per family says its name, keys and how it is drawn; generate.cpp lists them. Each draws
// switches first, then hosts, in an order that follows from the spec alone.
#pragma once

#include "routing/generate_spec.hpp"

namespace ibf::routing {

/// True if `spec` starts with a known family name, alone or before ':'.
[[nodiscard]] bool names_a_family(std::string_view spec);

// generate_trees.cpp
[[nodiscard]] Family fat_tree_family();

// generate_small.cpp
[[nodiscard]] Family back_to_back_family();
[[nodiscard]] Family single_family();
[[nodiscard]] Family star_family();
[[nodiscard]] Family ring_family();

}  // namespace ibf::routing
