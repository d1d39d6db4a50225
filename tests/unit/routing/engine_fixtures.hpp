// DOC: small fabrics and a slow, obvious judge for the routing tests.
//
// FabricMaker builds a Topology from a list of switch pairs; the judge walks every pair hop by hop with
// trace-like code of its own and looks for dependency cycles by depth-first search. It is kept simple enough
// to be believed by reading.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/prng.hpp"
#include "routing/routes.hpp"

namespace ibf::routing::test {

using Edge = std::pair<unsigned, unsigned>;

/// Long series are the dear part of a sanitizer's run, and what it looks for shows in every fifth case.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr unsigned kSeriesStep = 5;
#else
inline constexpr unsigned kSeriesStep = 1;
#endif

struct FabricMaker {
    unsigned switches = 0;
    std::vector<Edge> links = {};
    std::vector<unsigned> hosts = {};  ///< per switch; empty: one each
    std::uint8_t lmc = 0;
    std::vector<std::uint32_t> lft_caps = {};  ///< per switch; empty: no limit
    std::uint8_t lanes = 8;                    ///< data lanes of every link
    std::uint64_t shuffle_seed = 0;            ///< 0: calls in order; else calls to the builder are shuffled

    [[nodiscard]] Topology make() const;
};

/// A lane of the link out of a switch port.
struct SlowChannel {
    std::uint32_t at = 0;
    unsigned port = 0;
    unsigned lane = 0;
    auto operator<=>(const SlowChannel&) const = default;
};

/// What the slow judge found by walking every pair.
struct SlowVerdict {
    std::uint64_t pairs = 0;
    std::uint64_t unreachable = 0;
    std::set<SlowChannel> lane_faults;  ///< walked, but the link has no such data lane
    bool cyclic = false;
    /// Channels that some walk takes right after another one.
    std::map<SlowChannel, std::set<SlowChannel>> waits;

    [[nodiscard]] bool harmless() const { return unreachable == 0 && lane_faults.empty() && !cyclic; }
};
[[nodiscard]] SlowVerdict judge_slowly(const Topology& topology, const Routes& routes);

/// Switch hops between any two switches by plain breadth-first search; -1 where there is no path.
[[nodiscard]] std::vector<std::vector<int>> plain_distances(const Topology& topology);

/// Switches passed from `from` to the LID, `from` included; empty if it does not arrive.
[[nodiscard]] std::vector<std::uint32_t> walk(const Topology& topology, const Routes& routes,
                                              std::uint32_t from, std::uint32_t lid);

/// The fabric with so many cables between switches gone.
[[nodiscard]] Topology without_links(Topology topology, std::uint64_t count, base::Prng& prng);

[[nodiscard]] Topology generated(const std::string& spec);
[[nodiscard]] Routes routes_of(const std::string& engine, const Topology& topology);

/// All labelled graphs of n switches, one bit per possible link.
[[nodiscard]] std::vector<Edge> links_from_bits(unsigned switches, std::uint32_t bits);

/// A random connected graph: a random tree plus extra links (parallel ones may occur).
[[nodiscard]] std::vector<Edge> random_links(unsigned switches, unsigned extra, std::uint64_t seed);

/// A random connected fabric of 6 switches and more: 0 to 3 hosts each, an LMC of 0 to 2.
[[nodiscard]] FabricMaker random_fabric(std::uint64_t seed, unsigned more_switches, unsigned more_links);

/// Where the two ports of a host are.
enum class Rails : std::uint8_t { on_one_leaf, on_two_leaves };
/// A full two-level tree of four leaves (switches 0 to 3) and four spines, whose hosts have two ports each.
/// Switch ports 1 .. ports_per_leaf of a leaf lead to hosts, the next four to the spines.
[[nodiscard]] Topology two_rails(Rails rails, std::uint64_t ports_per_leaf);

/// Connected graphs of so many switches, one of each kind that is left when switches are renamed.
[[nodiscard]] std::vector<std::vector<Edge>> connected_graphs(unsigned switches);

/// Every switch reaches every end port by as few hops as there can be.
void expect_shortest(const Topology& topology, const Routes& routes);

/// Both judges agree: all is reached, no lane can deadlock, no lane is used that is not there.
void expect_safe(const Topology& topology, const Routes& routes);

/// Takes away a cable between two switches, by one of its ends; port numbers stay.
void cut_link(Topology& topology, std::uint32_t at, std::size_t port);
/// Takes away all cables of a switch to others.
void cut_switch(Topology& topology, std::uint32_t at);

/// Path of a file of the shared fabrics; empty (with a printed reason) where they are absent.
[[nodiscard]] std::string shared_file(const std::string& name);

}  // namespace ibf::routing::test
