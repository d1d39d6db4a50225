// DOC: lengths of paths where links count as more than one hop.
//
// As hop_distances() of graph.hpp, for graphs whose groups have weights. A weight is of one direction only:
// row s holds what it takes from s, and a matrix of them is not symmetric.
#pragma once

#include "base/result.hpp"
#include "routing/graph.hpp"

namespace ibf::routing {

/// [s][d]: the least sum of weights from s to d, kUnreached: none. Errors: unsupported where a sum is above
/// kDistanceMax.
[[nodiscard]] base::Result<ByteMatrix> weighted_hops(const Graph& graph, unsigned threads);

}  // namespace ibf::routing
