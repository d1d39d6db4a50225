// DOC: the core.
//
// Composes the parts that do not know each other (SM now; SA and election later) behind one function:
// handle(event, now, effects). Pure: no descriptor, clock, thread, log or database inside. The shell executes
// effects in order and feeds what comes of them back as events.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <variant>

#include "base/time.hpp"
#include "daemon/api/api.hpp"
#include "daemon/core/flight_recorder.hpp"
#include "daemon/core/standby_copy.hpp"
#include "daemon/fabric/snapshot.hpp"
#include "daemon/sa/registry.hpp"
#include "daemon/sa/registry_state.hpp"
#include "daemon/sa/view.hpp"
#include "daemon/sm/config.hpp"
#include "daemon/sm/effects.hpp"
#include "daemon/sm/subnet_manager.hpp"

namespace ibf::core {

struct MadReceived {
    mad::WireMad mad;
};
struct SendFailed {
    mad::WireMad mad;
};
struct Deadline {};
struct RoutesReady {
    std::uint16_t epoch = 0;
    sm::RoutesResult result;
};
struct RebalanceReady {
    std::uint32_t question = 0;
    sm::RebalanceResult result;
};
struct AdminRequested {
    api::AdminCommand command;
};
/// A new configuration, checked and whole, or why there is none (then the old one stays).
struct ConfigReplaced {
    std::shared_ptr<const sm::SmConfig> config;
    std::string error;
};
struct DatabaseState {
    std::string text;
};
/// An SA request that changes something, and what its sender's place was judged by.
struct SaRequested {
    mad::WireMad mad;
    std::shared_ptr<const sa::View> view;
};

using Event = std::variant<MadReceived, SendFailed, Deadline, RoutesReady, RebalanceReady, AdminRequested,
                           ConfigReplaced, DatabaseState, SaRequested, CopyReceived, CopyTold, CopyEnded,
                           PeerCompared, CopyTrouble>;
[[nodiscard]] std::string to_line(const Event& event);

using sm::Effect;
using sm::Effects;

struct CoreStart {
    sm::SmStart sm;
    std::string transport;  ///< for people: "sim fat-tree:radix=8", "umad mlx5_0/1"
    std::string config_path;
    std::string state_dir;
    bool copies = false;  ///< copies of other masters' memories may come
};

/// Of clients that were told something by nobody knows whom.
inline constexpr std::uint64_t kEditionUnknown = ~std::uint64_t{0};

[[nodiscard]] sa::SaConfig sa_config(const sm::SmConfig& config);

class Core {
public:
    explicit Core(CoreStart start);

    void begin(base::Instant now, Effects& out);
    void handle(Event event, base::Instant now, Effects& out);
    void stop(base::Instant now, Effects& out);

    [[nodiscard]] std::optional<base::Instant> next_deadline() const;
    /// The newest snapshot; the same pointer until something changed. `now` stamps a new one.
    [[nodiscard]] std::shared_ptr<const fabric::Snapshot> snapshot(base::Instant now);
    /// Another one is master, or may be: what it remembers is taken over.
    [[nodiscard]] bool takes_copies() const { return sm_.takes_copies(); }
    [[nodiscard]] bool at_rest() const { return sm_.at_rest(); }
    [[nodiscard]] bool only_retries_left() const { return sm_.only_retries_left(); }
    [[nodiscard]] const FlightRecorder& recorder() const { return recorder_; }

private:
    Core(const CoreStart& start, sa::StoredState&& state);
    void command(api::AdminCommand& command, base::Instant now, Effects& out);
    /// `client`: the port that asked; 0: nobody did.
    void settle(sa::RegistryOutputs&& from, mad::Guid client, base::Instant now, Effects& out);
    void follow_fabric(base::Instant now, Effects& out);
    void forward_trap(const mad::WireMad& wire, base::Instant now, Effects& out);
    void hand_groups(base::Instant now, Effects& out);
    /// Something is to be told to clients, and to be stored.
    void registry_changed(mad::Guid client, base::Instant now, Effects& out);
    void note_clients_heard(base::Instant now, Effects& out);
    void persist_registry(base::Instant now, Effects& out);
    void note_refusals(std::vector<fabric::JoinRefusal>&& refusals, base::Instant now);

    // core_copy.cpp
    void tell(fabric::EventRecord::Severity severity, std::string kind, std::string text, mad::Guid guid,
              base::Instant now, Effects& out);
    void take_registry(const std::string& text, base::Instant now, Effects& out);
    /// What other ibfabricds tell.
    void on_peer(CopyReceived&& news, base::Instant now, Effects& out);
    void on_peer(const CopyTold& news, base::Instant now, Effects& out);
    void on_peer(const CopyEnded& news, base::Instant now, Effects& out);
    void note_copy(base::Instant now, Effects& out);
    void pass_on_clients();
    void on_peer(PeerCompared&& news, base::Instant now, Effects& out);
    void on_peer(const CopyTrouble& news, base::Instant now, Effects& out);
    void show_copy(fabric::Snapshot& snapshot) const;

    [[nodiscard]] base::WallTime wall(base::Instant now) const;

    static constexpr std::size_t kPeersMost = 64;

    sm::SubnetManager sm_;
    sa::SaConfig sa_config_;
    sa::Registry registry_;
    std::optional<base::Instant> groups_due_;    ///< when the SM is told who is in which group
    std::optional<base::Instant> registry_due_;  ///< when what changed in it goes to the database
    bool clients_heard_;     ///< sm_.clients_heard() when last asked: before, what is stored lacks something
    std::uint64_t edition_;  ///< of the registry: what was told since the last write is in it
    std::set<mad::Guid> told_;  ///< ports whose clients were told something of that edition
    std::optional<base::Instant>
        refusals_due_;                   ///< when readers are shown refusals that nothing else has shown
    std::uint64_t registry_sweeps_ = 0;  ///< settled_sweeps() when the registry was last shown the fabric
    std::vector<fabric::JoinRefusal> refusals_;  ///< newest first
    base::Instant begun_;
    base::WallTime begun_wall_;
    std::shared_ptr<const fabric::Snapshot> snapshot_;
    std::uint64_t shown_ = 0;
    std::uint64_t own_version_ = 1;
    std::uint64_t own_shown_ = 0;
    std::string database_text_ = "ok";
    std::string config_error_;
    const bool copies_;
    bool took_copies_ = true;  ///< sm_.takes_copies() when last asked
    HeldCopy copy_;
    bool clients_passed_on_ = true;              ///< the SM knows what copy_ says of clients
    std::optional<base::Instant> behind_since_;  ///< more was told than came
    bool behind_told_ = false;
    std::vector<fabric::PeerManager> peers_;  ///< by GUID
    FlightRecorder recorder_;
};

}  // namespace ibf::core
