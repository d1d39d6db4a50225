// DOC: the daemon's shell: threads, descriptors, files and the order of start and stop.
//
// Owns the loop, the transport, the core (which only the loop's thread touches), the routing and database
// threads and the API server. It executes effects in order and turns what comes of them into events. No
// subnet logic here.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/mailbox.hpp"
#include "daemon/core/core.hpp"
#include "daemon/shell/api_server.hpp"
#include "daemon/shell/command_intake.hpp"
#include "daemon/shell/config_file.hpp"
#include "daemon/shell/event_loop.hpp"
#include "daemon/shell/probe_history.hpp"
#include "daemon/shell/replica.hpp"
#include "daemon/shell/route_worker.hpp"
#include "daemon/shell/sa_worker.hpp"
#include "daemon/shell/start_mark.hpp"
#include "db/database.hpp"
#include "db/edition_mark.hpp"
#include "mad/transport.hpp"

namespace ibf::shell {

struct DaemonOptions {
    DaemonConfig config;
    std::string config_path;  ///< empty: built-in defaults
    std::string sim_spec;     ///< empty: real ports
    std::string sim_node;     ///< where the SM joins; empty: the first adapter with a link
    std::string sim_faults;   ///< fault script file
    bool once = false;        ///< leave after the first sweep
};

class Daemon {
public:
    explicit Daemon(DaemonOptions options);
    ~Daemon();
    Daemon(const Daemon&) = delete;
    Daemon& operator=(const Daemon&) = delete;

    /// Runs until a signal (or, with `once`, the first sweep) ends it. 0: clean; 1: `once` found no subnet
    /// up; 2: cannot start.
    [[nodiscard]] int run();

private:
    [[nodiscard]] base::Result<void> prepare();
    [[nodiscard]] std::string database_path() const;
    [[nodiscard]] base::Result<void> open_database();
    void open_mark();
    void open_starts();
    void end_start(StartMark::Ending ending);
    void resume();
    void mark_port();
    void set_mark(std::uint64_t edition);
    [[nodiscard]] base::Result<std::unique_ptr<mad::Transport>> open_transport() const;
    void try_transport();
    void begin();
    void on_mads();
    void on_events();
    void on_requests();
    void on_signal(int number);
    void on_deadline();
    void on_copies();
    void start_replica(const db::Stored& stored);
    void stand_for_peers(const fabric::Snapshot& snapshot);
    void on_transport_lost();
    void database_state(std::string text);
    void reload();
    void handle(core::Event event);
    void execute();
    void send(mad::WireMad mad);
    void after();
    void show(std::shared_ptr<const fabric::Snapshot> snapshot);
    [[nodiscard]] std::shared_ptr<const fabric::Snapshot> shown() const;
    [[nodiscard]] std::shared_ptr<const fabric::Snapshot> shown_with_activity();
    void show_waiting(const std::string& text);
    void arm();
    void stop();
    [[nodiscard]] std::string transport_name() const;

    DaemonOptions options_;
    std::unique_ptr<EventLoop> loop_;
    base::Mailbox<mad::WireMad> received_{1U << 16U};
    base::Mailbox<core::Event> events_{4096};
    base::Mailbox<core::SaRequested> requests_{1U << 16U};
    base::Mailbox<core::Event> copies_{1U << 16U};  ///< what peers tell
    base::Mailbox<std::string> lost_{1};            ///< why the transport will never work again
    CommandIntake commands_{events_};
    std::unique_ptr<db::Writer> writer_;
    std::unique_ptr<ProbeHistory> probes_;
    std::unique_ptr<db::EditionMark> mark_;  ///< null: it cannot be written
    std::unique_ptr<StartMark> starts_;      ///< null: it cannot be written
    std::string hold_because_;               ///< not empty: hold mode
    db::Stored stored_;
    std::string database_text_ = "ok";
    std::unique_ptr<RouteWorker> router_;
    std::unique_ptr<RebalanceWorker> balancer_;
    std::unique_ptr<ApiServer> api_;
    std::unique_ptr<mad::Transport> transport_;
    std::unique_ptr<SaWorker> sa_;
    std::unique_ptr<Replica> replica_;  ///< null: not configured
    ReplicaStanding standing_;          ///< as it was told last
    std::unique_ptr<core::Core> core_;
    core::Effects effects_;
    std::vector<core::Event> failed_sends_;
    std::vector<mad::WireMad> sa_sends_;  ///< leave when readers know what they answer
    std::vector<mad::WireMad> mad_batch_;
    std::vector<core::Event> event_batch_;
    std::vector<core::Event> copy_batch_;
    std::vector<core::SaRequested> request_batch_;
    /// The newest copy of a snapshot that has the SA's counters, for the API.
    struct WithActivity {
        std::shared_ptr<const fabric::Snapshot> of;
        std::shared_ptr<const fabric::Snapshot> snapshot;
    };
    mutable std::mutex shown_mutex_;  ///< of the next three
    std::shared_ptr<const fabric::Snapshot> shown_;
    WithActivity with_activity_;
    const SaWorker* shown_sa_ = nullptr;  ///< sa_, once there is one; the API ends before it
    std::string last_status_;
    std::string last_wait_;
    bool stopping_ = false;
    bool signalled_ = false;  ///< somebody wants it to stop
    int exit_code_ = 0;
};

}  // namespace ibf::shell
