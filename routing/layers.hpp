// DOC: paths into layers, one virtual lane each, none of which can deadlock.
//
// A layer is a set of turns that closes no cycle; a path may travel in it if all its turns are in the set.
// The layering looks for few such sets that serve all paths (the least number is NP-hard to find: Domke,
// Hoefler and Nagel 2011). As there, the turns that fewest paths need are given up first: each layer takes
// the turns in the order of how many of the paths still homeless make them, leaving out what would close a
// cycle, and keeps the paths that got all of theirs. At the end every path chooses among the layers that hold
// its turns.
//
// Paths are counted per switch where they begin, with its sources as multiplicity, and per LID.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "routing/live_turns.hpp"

namespace ibf::routing {

/// How many lanes there are, and where that limit sits.
struct LaneLimit {
    std::uint8_t lanes = kDataLanesMax;
    std::string sits_at;  ///< "link a (guid) port 3 - b (guid) port 4", or "the configuration (vls_max)"
};
[[nodiscard]] LaneLimit lane_limit(const Topology& topology, std::uint8_t vls_max);

/// How an engine says that it cannot do.
[[nodiscard]] base::Error lanes_missing(std::string_view engine, unsigned needed, const LaneLimit& limit);

inline constexpr std::uint8_t kNoLayer = 0xFF;

struct Layers {
    unsigned count = 1;     ///< kDataLanesMax + 1: more than there can be, and `of` is not usable
    std::vector<SlRow> of;  ///< by switch where a path begins, by LID; empty: all in layer 0
};

/// The layers that paths had in earlier routes, switches matched by GUID.
class OldLayers {
public:
    OldLayers(const Topology& topology, const Routes* previous);
    /// kNoLayer where there were no routes.
    [[nodiscard]] std::uint8_t find(std::uint32_t at, std::uint16_t lid) const;

private:
    bool any_;
    std::vector<std::shared_ptr<const SlRow>> rows_;  ///< by switch; null: all 0
};

using LayerSet = std::uint16_t;  ///< bit l: layer l

/// Deals paths out over the layers that may carry them.
class LayerLoads {
public:
    /// The one that the path had before, else the one with the fewest paths. REQUIRES: `may` is not empty.
    [[nodiscard]] std::uint8_t pick(LayerSet may, std::uint8_t before) const;
    void add(std::uint8_t layer, std::uint32_t paths) { load_[layer] += paths; }

private:
    std::array<std::uint64_t, kDataLanesMax + 1> load_{};
};

/// Paths that had a layer before stay in it where they may.
[[nodiscard]] Layers layer_paths(const Paths& paths, const LiveTurns& live, const OldLayers& before);

/// SL = lane = layer. Equal rows are shared, rows of zeros are left out.
void use_layers(Layers layers, Routes& routes);

}  // namespace ibf::routing
