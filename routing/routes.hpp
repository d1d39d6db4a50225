// DOC: the output of routing.
//
// Routes are forwarding tables (one row per switch, shared copy-on-write), the virtual lanes that make them
// deadlock-free, and how they came about. An immutable value: the SM writes it, the verifier proves it, the
// API reads it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "routing/drained.hpp"
#include "routing/lanes.hpp"
#include "routing/preferences.hpp"
#include "routing/topology.hpp"

namespace ibf::routing {

/// One switch's LFT: entry [lid] is the exit port, mad::kLftDrop where there is none, 0 for the switch
/// itself. Size is max_lid + 1 rounded up to whole 64-entry blocks.
using LftRow = std::vector<std::uint8_t>;

/// How an engine came to its tables; lets it work out what changed instead of all. (engine_tables.hpp)
struct EngineMemo;
/// What the proof of tables leaves for the next one. (proof.hpp)
struct Proof;
struct LftDump;

struct Routes {
    std::string engine;  ///< "minhop", "updn", ...; as previous tables: empty if nobody knows whose they are
    std::vector<mad::Guid> switch_guids;              ///< row i belongs to this switch (sorted)
    std::vector<std::shared_ptr<const LftRow>> rows;  ///< by SwitchIndex
    std::uint8_t vls = 1;                             ///< data lanes that the engine needs, 1..15
    /// By SwitchIndex of the switch where a path begins; null, or all empty: SL 0.
    std::vector<std::shared_ptr<const SlRow>> sls;
    /// By SwitchIndex; null, or all empty: lane = SL.
    std::vector<std::shared_ptr<const LaneMap>> lane_maps;
    std::vector<mad::Guid> roots;            ///< up/down: the roots used
    std::string remark;                      ///< what the engine left out, for the operator; empty: nothing
    std::uint64_t preferred = 0;             ///< fingerprint() of the preferences that they were made by
    std::shared_ptr<const EngineMemo> memo;  ///< may be null; saves time, decides nothing
    std::shared_ptr<const Proof> proof;      ///< likewise, set by route()

    /// Exit port for a LID at a switch; kLftDrop if out of range.
    [[nodiscard]] std::uint8_t port(SwitchIndex at, mad::Lid lid) const;
    /// SL of the paths from a switch, or from an end port on it, to a LID: 0..15.
    [[nodiscard]] std::uint8_t sl(SwitchIndex from, mad::Lid to) const;
    /// Lane on which a packet with this SL leaves a switch by `exit`, having come in by `input`.
    [[nodiscard]] std::uint8_t lane(SwitchIndex at, mad::PortNum input, mad::PortNum exit,
                                    std::uint8_t sl) const;
    /// FNV-1a over GUIDs, rows and lanes; equal for any thread count.
    [[nodiscard]] std::uint64_t hash() const;
};

/// The same routes with rows, SLs and lane maps in the order of a topology's switches, matched by GUID. Null
/// where they have nothing for a switch; SLs or maps that they do not have at all stay empty. Shares what it
/// points to.
[[nodiscard]] Routes in_order_of(const Topology& topology, const Routes& routes);

struct RouteOptions {
    std::vector<std::string> engines{"minhop", "updn"};  ///< the chain, first that passes the proof serves
    std::vector<mad::Guid> root_guids;    ///< up/down roots; empty: found from the hosts upward
    bool connect_roots = false;           ///< also route root-to-root switch pairs (min-hop)
    bool allow_credit_loops = false;      ///< accept routes whose channel dependencies cycle
    std::uint8_t vls_max = 8;             ///< data lanes that an engine may use at most, 1..15
    std::shared_ptr<const LftDump> lfts;  ///< engine "file": the tables to take; null: none given
    Preferences preferences;              ///< engines heed them as far as they can, and say what they leave
    Drained drained;                      ///< what no path shall cross; no engine sees more of it than it may
    unsigned threads = 0;                 ///< 0: all cores; results do not depend on it

    friend bool operator==(const RouteOptions&, const RouteOptions&) = default;
};

/// One engine: Topology in, Routes out. `previous` may be null; entries of it that are still legal stay, if
/// they were made by the same preferences.
/// Errors: unsupported with the plain reason why this engine cannot serve this fabric.
[[nodiscard]] base::Result<Routes> run_engine(std::string_view engine, const Topology& topology,
                                              const Routes* previous, const RouteOptions& options);
[[nodiscard]] std::vector<std::string> engine_names();
/// What RouteOptions::engines may hold: the names, and "auto" for the engine of the fabric's family.
[[nodiscard]] std::vector<std::string> chain_words();

/// A channel: one lane of the directed link out of a switch port.
struct ChannelStep {
    std::string node;     ///< name and GUID of the node the channel leaves
    mad::PortNum port{};  ///< exit port
    std::string peer;     ///< node it enters
    mad::PortNum peer_port{};
    std::uint8_t vl = 0;
};

/// What the independent verifier found. Pairs are counted within connected components: every end port to
/// every LID, every switch port 0 to every end port; switch-to-switch is counted apart.
struct Verdict {
    std::uint64_t pairs_checked = 0;
    std::uint64_t unreachable_pairs = 0;  ///< end port -> LID and switch -> end port that do not arrive
    std::uint64_t switch_pairs_unreachable = 0;
    std::uint64_t loops = 0;               ///< (switch, LID) walks that revisit a switch
    std::uint64_t lane_faults = 0;         ///< (inter-switch link, lane) that paths use and the link lacks
    std::string first_lane_fault;          ///< one of them; empty if none
    bool credit_loop_free = true;          ///< channel dependency graph acyclic on every VL
    std::vector<ChannelStep> credit_loop;  ///< one cycle, link by link; empty if none
    std::string first_failure;             ///< one unreachable or looping pair, hop by hop; empty if none
    /// A ring of channels that packets which meet old tables at one switch and new ones at another may wait
    /// in, until the new ones are written; empty if none. Said by route() alone.
    std::vector<ChannelStep> transit_loop;
    double seconds = 0;

    [[nodiscard]] bool reachable() const { return unreachable_pairs == 0 && loops == 0; }
};

/// A multicast tree as the tables have it: at each switch its ports; what comes in by one goes out by all
/// others (IBA 7.7, 18.2.4.3).
struct MulticastTree {
    std::uint8_t sl = 0;
    std::map<std::uint32_t, std::vector<mad::PortNum>> ports;  ///< by SwitchIndex value
};

/// Judges any tables (ours, a switch's own, another SM's) without trusting the engine. Parallel;
/// deterministic.
[[nodiscard]] Verdict verify(const Topology& topology, const Routes& routes, unsigned threads);

/// The same, where packets of multicast groups hold and want buffers too. Only credit loops look at trees.
[[nodiscard]] Verdict verify(const Topology& topology, const Routes& routes,
                             const std::vector<MulticastTree>& trees, unsigned threads);

/// Paths per directed switch-switch link for the all-to-all of end-port LIDs.
struct LevelLoad {
    std::string level;  ///< "0->1 up", "1->0 down", "same" (levels counted from the hosts upward)
    std::uint64_t links = 0;
    std::uint64_t max = 0;
    double mean = 0;
    double sigma = 0;
};
struct Quality {
    std::uint64_t max_link_load = 0;
    double mean_link_load = 0;
    double sigma_link_load = 0;
    std::vector<LevelLoad> levels;
    std::uint32_t max_hops = 0;  ///< switches crossed
    double mean_hops = 0;
    double max_dilation = 1;  ///< worst path length / shortest
    double mean_dilation = 1;
    std::uint64_t unused_links = 0;  ///< directed switch-switch links no end-port pair uses
};
[[nodiscard]] Quality measure_quality(const Topology& topology, const Routes& routes, unsigned threads);
/// The same for the all-to-all of some end ports only: what a job on them meets.
[[nodiscard]] Quality measure_quality(const Topology& topology, const Routes& routes,
                                      std::span<const EndPortIndex> among, unsigned threads);

/// Flows of the all-to-all of some end ports over one directed switch-switch link.
struct LinkLoad {
    SwitchIndex from{};
    mad::PortNum port{};
    std::uint64_t flows = 0;
};
/// Of every link, in the order of switch and port.
[[nodiscard]] std::vector<LinkLoad> link_loads(const Topology& topology, const Routes& routes,
                                               std::span<const EndPortIndex> among, unsigned threads);

/// How the chain came to its answer, for the operator.
struct EngineAttempt {
    std::string engine;
    std::string refused_because;  ///< empty: it serves
    double compute_seconds = 0;
    double verify_seconds = 0;
};

/// One engine by itself: computed, proved and judged, whatever comes of it.
struct EngineTrial {
    EngineAttempt attempt;
    bool computed = false;      ///< there are tables: `routes` and `verdict` say something
    bool mixture_seen = false;  ///< with `previous`: Verdict::transit_loop says whether there may be a ring
    Routes routes;
    Verdict verdict;
};
[[nodiscard]] EngineTrial try_engine(const std::string& engine, const Topology& topology,
                                     const Routes* previous, const RouteOptions& options);

struct RouteOutcome {
    Routes routes;
    Verdict verdict;
    std::vector<EngineAttempt> attempts;  ///< in chain order, the last one serves
};

/// The one routing function: walks the chain, proves each result, returns the first that passes. If none of
/// the chain passes, up/down is tried last, so a connected fabric is never left without routes. Errors:
/// unsupported with every attempt's reason. `in_force`: what switches hold, with its lanes; the verdict says
/// what it and the new tables come to together (Verdict::transit_loop). Null: nothing is known of it.
[[nodiscard]] base::Result<RouteOutcome> route(const Topology& topology, const Routes* previous,
                                               const RouteOptions& options, const Routes* in_force = nullptr);

/// The same of one engine's tables alone: a ring that they and those in force make. Empty: none.
[[nodiscard]] std::vector<ChannelStep> ring_in_transit(const Topology& topology, const EngineTrial& tried,
                                                       const Routes* previous, const Routes& in_force,
                                                       unsigned threads);

/// One path, hop by hop: the switches passed with their exit ports. Errors: not_found with where it broke.
struct PathHop {
    SwitchIndex at{};
    mad::PortNum in{};
    mad::PortNum out{};
};
[[nodiscard]] base::Result<std::vector<PathHop>> trace_path(const Topology& topology, const Routes& routes,
                                                            EndPortIndex source, mad::Lid destination);

}  // namespace ibf::routing
