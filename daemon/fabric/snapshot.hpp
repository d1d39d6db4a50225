// DOC: what readers see.
//
// A Snapshot is immutable and complete: API, exports and (later) SA reads work on one without locks while the
// SM goes on. The core publishes a new one at each phase end and on each event worth showing.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/time.hpp"
#include "daemon/fabric/drain.hpp"
#include "daemon/fabric/fabric.hpp"
#include "daemon/fabric/health.hpp"
#include "daemon/fabric/lane_tables.hpp"
#include "daemon/fabric/sa_activity.hpp"
#include "daemon/fabric/sa_tables.hpp"
#include "mad/transactions.hpp"
#include "routing/rebalance.hpp"
#include "routing/routes.hpp"

namespace ibf::fabric {

/// Something an operator should be able to read later. `kind` is a stable word ("subnet-up", "link-down",
/// "duplicate-guid", "engine-refused", ...); `text` is the sentence.
struct EventRecord {
    std::uint64_t id = 0;  ///< grows by one; across restarts
    base::WallTime time{};
    enum class Severity : std::uint8_t { info, warning, error } severity = Severity::info;
    std::string kind;
    std::string text;
    mad::Guid guid{};  ///< the node it is about, 0 if none
    mad::PortNum port{};
};
[[nodiscard]] std::string_view to_string(EventRecord::Severity severity);

struct PhaseReport {
    std::string name;  ///< "discover", "assign", "route", "plan", "program", "activate", "settle"
    base::Duration time{};
    std::uint64_t mads = 0;  ///< sent in this phase, retries included
    std::uint64_t sets = 0;
};

struct SweepReport {
    std::uint64_t id = 0;
    std::string scope;  ///< "full", "touched", "light"
    std::vector<std::string> reasons;
    base::WallTime started{};
    base::Duration time{};
    std::vector<PhaseReport> phases;
    std::uint64_t mads = 0;
    std::uint64_t lft_blocks_written = 0;
    std::uint64_t lft_blocks_dropped = 0;  ///< safety writes: entries through drop first, besides the former
    std::uint64_t port_sets = 0;
    std::uint64_t lane_sets = 0;  ///< SL to VL mappings and VL arbitration that the routes needed
    std::uint64_t pkey_sets = 0;
    std::uint64_t timeouts = 0;
    std::string outcome;  ///< "subnet up", "abandoned: ...", "no change", "standby: ..."
};

/// Who is master, as this SM sees it.
struct Mastership {
    mad::SmState state = mad::SmState::discovering;  ///< what our SMInfo says
    std::string role = "discovering";                ///< finer: "contested", "handing over"
    std::string why;                                 ///< one sentence
    base::WallTime since{};
    mad::Guid polled{};        ///< the SM that we poll; 0: none
    std::uint32_t missed = 0;  ///< polls in a row that it did not answer
    bool stuck = false;        ///< it answers, but its ActCount stands still
    base::Duration poll_interval{};
    std::uint32_t poll_misses = 0;
};

/// How far the tables in force have drifted from fresh ones.
struct DriftReport {
    std::optional<routing::Drift> drift;  ///< none: it could not be measured, the text says why
    double limit = 1;                     ///< of drift->worst
    std::string text;                     ///< one sentence: how far, and what is done about it
};

/// What a standby has of the master's memory.
struct StandbyCopy {
    enum class State : std::uint8_t {
        off,      ///< not configured
        none,     ///< nothing comes: the master is no ibfabricd that we are connected to
        reading,  ///< the first of it is under way
        current,  ///< all that clients were told
        behind,   ///< clients were told something that is still to come
        ended,    ///< the connection is gone
    } state = State::off;
    mad::Guid of{};  ///< the SM that it is of
    std::string name;
    base::Instant heard{};  ///< when something last came from it
    std::string why;        ///< it ended
};
[[nodiscard]] std::string_view to_string(StandbyCopy::State state);

/// Another ibfabricd with which a connection was made.
struct PeerManager {
    mad::Guid guid{};
    std::string name;
    std::vector<std::string> differences;  ///< of its configuration from ours; empty: none that matters
};

/// The state machine as the operator sees it.
enum class SmMode : std::uint8_t {
    waiting,    ///< no usable port yet; text says for what
    port_down,  ///< local port has no link; waiting
    sweeping,   ///< first bring-up not complete
    up,         ///< SUBNET UP: routes proved, tables written, links Active
    standby,    ///< another SM is master, or may be: nothing is written
    failed,     ///< cannot serve (text says why), still trying
    hold,       ///< started too often of late: looks and answers, writes nothing, until an operator resumes
};
[[nodiscard]] std::string_view to_string(SmMode mode);

struct Snapshot {
    std::uint64_t version = 0;
    base::WallTime published{};
    SmMode mode = SmMode::waiting;
    std::string mode_text;  ///< one line: why, or what is going on ("discover: 812 nodes")
    std::string transport;  ///< "umad mlx5_0/1", "sim fat-tree:..."
    mad::Guid sm_guid{};
    mad::Lid sm_lid{};
    std::uint8_t sm_priority = 0;
    Mastership mastership;
    StandbyCopy copy;                ///< of a standby
    std::vector<PeerManager> peers;  ///< by GUID
    base::WallTime started{};
    std::shared_ptr<const Fabric> fabric;                 ///< null before the first discovery ended
    std::shared_ptr<const TopologyView> view;             ///< null before the first assignment
    std::shared_ptr<const routing::RouteOutcome> routes;  ///< as computed and proved
    /// Hold mode: what was stored of the SLs of paths, where no routes were computed; else null.
    std::shared_ptr<const routing::Routes> held;
    std::shared_ptr<const TopologyView> routes_for;  ///< on this; not `view` where no engine served since
    /// As acknowledged by the switches, by SwitchIndex of `view`: what is in force. Null rows: never written.
    std::vector<std::shared_ptr<const routing::LftRow>> programmed;
    /// What the next routes will be asked with. Null: of no running SM.
    std::shared_ptr<const routing::RouteOptions> route_options;
    std::shared_ptr<const Drains> drains;                  ///< null: nothing is drained, nor was
    std::shared_ptr<const DriftReport> drift;              ///< null before it was first measured
    std::shared_ptr<const MulticastTables> multicast;      ///< null before the first was written
    std::shared_ptr<const Lanes> lanes;                    ///< null before the survey of them began
    std::shared_ptr<const std::vector<HealthRow>> health;  ///< by port, then rule; null: all ports are well
    std::shared_ptr<const SaTables> sa;                    ///< null before the SA began
    std::vector<JoinRefusal> join_refusals;                ///< newest first, bounded
    /// Up to when a reader asked, not to when the snapshot was published. Null: no SA, or no reader.
    std::shared_ptr<const SaActivity> sa_activity;
    std::vector<SweepReport> sweeps;  ///< newest first, bounded
    std::vector<EventRecord> events;  ///< newest first, bounded
    mad::TransactionCounters mads;
    std::uint64_t traps_received = 0;
    std::string database_text;  ///< "ok", or why history is not being kept
    std::string config_path;
    std::string state_dir;
    std::string last_config_error;  ///< empty: the last (re)load was fine
};

}  // namespace ibf::fabric
