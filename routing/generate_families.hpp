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

// generate_grids.cpp
[[nodiscard]] Family torus_family();
[[nodiscard]] Family mesh_family();
[[nodiscard]] Family hypercube_family();
[[nodiscard]] Family hyperx_family();

// generate_dragonfly.cpp
[[nodiscard]] Family dragonfly_family();
[[nodiscard]] Family dragonfly_plus_family();

// generate_random.cpp
[[nodiscard]] Family random_family();

// generate_small.cpp
[[nodiscard]] Family back_to_back_family();
[[nodiscard]] Family single_family();
[[nodiscard]] Family star_family();
[[nodiscard]] Family ring_family();

}  // namespace ibf::routing
