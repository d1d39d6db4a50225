#include "daemon/shell/daemon.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/check.hpp"
#include "base/log.hpp"
#include "sim/simulator.hpp"

namespace ibf::shell {
namespace {

using base::log;
using base::LogLevel;
using fabric::SmMode;

constexpr base::Duration kWaitForPort = std::chrono::seconds{1};
constexpr base::Duration kFlushAtStop = std::chrono::seconds{10};
constexpr base::Duration kFlushToPeers = std::chrono::seconds{1};
constexpr base::Duration kAbortsTogether = std::chrono::minutes{10};  ///< those that make a crash loop

LogLevel level_of(fabric::EventRecord::Severity severity) {
    switch (severity) {
        case fabric::EventRecord::Severity::info: return LogLevel::info;
        case fabric::EventRecord::Severity::warning: return LogLevel::warning;
        case fabric::EventRecord::Severity::error: return LogLevel::error;
    }
    return LogLevel::info;
}

bool is_sa(const mad::WireMad& mad) {
    return mad.bytes[1] == static_cast<std::uint8_t>(mad::MgmtClass::subn_adm);
}

base::Result<std::vector<sim::Fault>> load_faults(const std::string& path) {
    std::ifstream file(path);
    if (!file) {
        return base::fail(base::ErrorKind::io,
                          fmt::format("cannot read fault script {}: {}", path, std::strerror(errno)));
    }
    std::stringstream text;
    text << file.rdbuf();
    return sim::parse_faults(text.str(), path);
}

}  // namespace

Daemon::Daemon(DaemonOptions options) : options_(std::move(options)) {}

Daemon::~Daemon() {
    // Producers first, then what they post into.
    replica_.reset();
    api_.reset();
    if (sa_) {
        sa_->stop();  // it sends by the transport, whose thread posts to it until the transport is gone
    }
    transport_.reset();
    sa_.reset();
    router_.reset();
    balancer_.reset();
    writer_.reset();
}

// --- start
// ------------------------------------------------------------------------------------------------------

base::Result<void> Daemon::prepare() {
    auto loop = EventLoop::create();
    if (!loop) {
        return tl::unexpected(loop.error());
    }
    loop_ = std::move(*loop);
    // Signals are blocked before any thread starts, so that only the loop sees them.
    loop_->on_signals({SIGINT, SIGTERM, SIGHUP}, [this](int number) { on_signal(number); });
    std::signal(SIGPIPE, SIG_IGN);
    loop_->watch(received_.wake_fd(), [this] { on_mads(); });
    loop_->watch(events_.wake_fd(), [this] { on_events(); });
    loop_->watch(requests_.wake_fd(), [this] { on_requests(); });
    loop_->watch(copies_.wake_fd(), [this] { on_copies(); });
    loop_->watch(lost_.wake_fd(), [this] { on_transport_lost(); });
    if (auto opened = open_database(); !opened) {
        return opened;
    }
    probes_ = std::make_unique<ProbeHistory>(*writer_, database_path());
    open_mark();
    open_starts();
    router_ = std::make_unique<RouteWorker>([this](core::RoutesReady ready) {
        IBF_CHECK(events_.push(core::Event{std::move(ready)}), "the event mailbox is full");
    });
    balancer_ = std::make_unique<RebalanceWorker>([this](core::RebalanceReady ready) {
        IBF_CHECK(events_.push(core::Event{std::move(ready)}), "the event mailbox is full");
    });
    show_waiting("starting");
    const std::string& socket = options_.config.socket;
    if (const auto folder = std::filesystem::path(socket).parent_path(); !folder.empty()) {
        std::error_code ignored;
        std::filesystem::create_directories(folder, ignored);
    }
    auto api = ApiServer::start(
        socket, [this] { return shown_with_activity(); },
        [this](api::AdminCommand command) { return commands_.take(std::move(command)); }, *probes_);
    if (!api) {
        return tl::unexpected(api.error());
    }
    api_ = std::move(*api);
    return {};
}

void Daemon::database_state(std::string text) {
    if (!events_.push(core::Event{core::DatabaseState{std::move(text)}})) {
        log(LogLevel::warning, "the state of the database was not passed on: too many events wait");
    }
}

std::string Daemon::database_path() const {
    return (std::filesystem::path(options_.config.state_dir) / "ibfabric.db").string();
}

base::Result<void> Daemon::open_database() {
    const std::filesystem::path folder = options_.config.state_dir;
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    const std::string path = database_path();
    auto opened = db::Database::open(path, options_.config.history,
                                     [](std::string text) { log(LogLevel::warning, "database: {}", text); });
    if (opened) {
        if (auto stored = (*opened)->load()) {
            stored_ = std::move(*stored);
            writer_ =
                std::make_unique<db::Writer>(std::move(*opened), options_.config.database_queue_max,
                                             [this](std::string text) { database_state(std::move(text)); });
            return {};
        } else {
            database_text_ = stored.error().message;
        }
    } else if (opened.error().kind == base::ErrorKind::refused) {
        return tl::unexpected(opened.error());
    } else {
        database_text_ = opened.error().message;
    }
    log(LogLevel::warning, "LIDs are taken from the fabric, and history waits for the database: {}",
        database_text_);
    writer_ = std::make_unique<db::Writer>(
        [path, history = options_.config.history] {
            return db::Database::open(path, history,
                                      [](std::string text) { log(LogLevel::warning, "database: {}", text); });
        },
        options_.config.database_queue_max, database_text_,
        [this](std::string text) { database_state(std::move(text)); });
    return {};
}

/// Without it nothing tells whether the stored state is the last: hosts are asked to register anew.
void Daemon::open_mark() {
    const std::filesystem::path path =
        std::filesystem::path(options_.config.state_dir) / "ibfabric.db.sa-edition";
    if (auto opened = db::EditionMark::open(path.string(), db::boot_id())) {
        mark_ = std::move(*opened);
        stored_.sa_edition = mark_->found();
    } else {
        log(LogLevel::warning, "hosts are asked to register anew, now and at the next start: {}",
            opened.error().message);
    }
}

/// Too many runs in a row that ended in the midst of things: this one is not to do the same to the fabric
/// again.
void Daemon::open_starts() {
    const std::filesystem::path path = std::filesystem::path(options_.config.state_dir) / "ibfabric.starts";
    auto opened = StartMark::open(path.string(), db::boot_id(), base::monotonic_now());
    if (!opened) {
        return log(LogLevel::warning, "a crash loop would not be noticed: {}", opened.error().message);
    }
    starts_ = std::move(*opened);
    const std::size_t aborts = starts_->aborts_within(kAbortsTogether);
    if (aborts > 0) {
        log(LogLevel::warning, "the last run did not end in order; {} of that kind within ten minutes",
            aborts);
    }
    if (options_.config.hold_after_aborts > 0 && aborts >= options_.config.hold_after_aborts) {
        hold_because_ = fmt::format("{} runs in a row were killed or failed within ten minutes", aborts);
    }
}

void Daemon::end_start(StartMark::Ending ending) {
    if (const auto ended = starts_ ? starts_->end(ending) : base::Result<void>{}; !ended) {
        log(LogLevel::warning, "the next start will take this one for an abort: {}", ended.error().message);
    }
}

/// The operator has seen to it: what was does not count against the starts to come.
void Daemon::resume() {
    hold_because_.clear();
    if (const auto done = starts_ ? starts_->forget() : base::Result<void>{}; !done) {
        log(LogLevel::warning, "the next start may be in hold mode again: {}", done.error().message);
    }
    if (transport_) {
        mark_port();
    }
}

/// Other SMs see by it that there is one to be asked.
void Daemon::mark_port() {
    if (const auto on = transport_->set_is_sm(true); !on) {
        log(LogLevel::warning, "the port is not marked as a subnet manager's: {}", on.error().message);
    }
}

void Daemon::set_mark(std::uint64_t edition) {
    if (const auto set = mark_ ? mark_->set(edition) : base::Result<void>{}; !set) {
        log(LogLevel::warning, "what hosts registered may be missed at the next start: {}",
            set.error().message);
        mark_.reset();  // said once
    }
}

std::string Daemon::transport_name() const {
    const mad::LocalPort local = transport_->local_port();
    return options_.sim_spec.empty() ? fmt::format("umad {}/{}", local.device, local.port)
                                     : fmt::format("sim {}", options_.sim_spec);
}

base::Result<std::unique_ptr<mad::Transport>> Daemon::open_transport() const {
    if (options_.sim_spec.empty()) {
        auto umad = mad::parse_umad_port(options_.config.port);
        if (!umad) {
            return tl::unexpected(umad.error());
        }
        if (options_.config.port_guid != mad::Guid{}) {
            umad->port_guid = options_.config.port_guid;
        }
        return mad::open_umad(*umad);
    }
    auto netlist = routing::netlist_from_spec(options_.sim_spec);
    if (!netlist) {
        return tl::unexpected(netlist.error());
    }
    auto simulator = std::make_unique<sim::Simulator>(std::move(*netlist), sim::SimOptions{});
    if (!options_.sim_faults.empty()) {
        auto faults = load_faults(options_.sim_faults);
        if (!faults) {
            return tl::unexpected(faults.error());
        }
        for (const sim::Fault& fault : *faults) {
            if (auto known = simulator->check_target(fault); !known) {
                return base::fail(
                    base::ErrorKind::usage,
                    fmt::format("fault script {}: {}", options_.sim_faults, known.error().message));
            }
        }
        simulator->schedule(*faults);
    }
    return sim::make_sim_transport(std::move(simulator), options_.sim_node, 0);
}

/// Takes the port, or says what is missing and tries again: a daemon that starts before its adapter waits for
/// it.
void Daemon::try_transport() {
    auto transport = open_transport();
    if (!transport && !options_.sim_spec.empty()) {
        log(LogLevel::error, "{}", transport.error().message);
        exit_code_ = 2;
        return loop_->quit(exit_code_);
    }
    if (!transport && transport.error().kind == base::ErrorKind::usage) {
        log(LogLevel::error, "{}", transport.error().message);
        exit_code_ = 2;
        return loop_->quit(exit_code_);
    }
    if (!transport) {
        show_waiting(transport.error().message);
        if (options_.once) {
            exit_code_ = 1;
            return loop_->quit(exit_code_);
        }
        return loop_->set_timer(base::monotonic_now() + kWaitForPort, [this] { try_transport(); });
    }
    transport_ = std::move(*transport);
    begin();
}

void Daemon::begin() {
    const mad::LocalPort local = transport_->local_port();
    core::CoreStart start;
    start_replica(stored_);
    start.copies = replica_ != nullptr;
    start.sm.config = std::make_shared<const sm::SmConfig>(options_.config.sm);
    start.sm.stored = std::move(stored_);
    start.sm.local = local;
    start.sm.hold_because = hold_because_;
    start.sm.now = base::monotonic_now();
    start.sm.wall = base::wall_now();
    start.transport = transport_name();
    start.config_path = options_.config_path;
    start.state_dir = options_.config.state_dir;
    core_ = std::make_unique<core::Core>(std::move(start));
    base::set_check_dump([this] { return core_->recorder().format(); });
    log(LogLevel::info, "subnet manager on {} (port GUID {})", transport_name(), local.port_guid);
    sa_ = std::make_unique<SaWorker>(
        core::sa_config(options_.config.sm),
        [this](const mad::WireMad& mad) {
            if (const auto sent = transport_->send(mad); !sent) {
                log(LogLevel::debug, "SA: send: {}", sent.error().message);  // its asker asks again
            }
        },
        [this](mad::WireMad&& mad, std::shared_ptr<const sa::View> view) {
            static_cast<void>(requests_.push(core::SaRequested{std::move(mad), std::move(view)}));
        });
    {
        const std::lock_guard lock(shown_mutex_);
        shown_sa_ = sa_.get();
    }
    transport_->when_lost([this](std::string why) { static_cast<void>(lost_.push(std::move(why))); });
    transport_->start([this](mad::WireMad&& mad) {
        // Full: lost, as on the wire; retried by its sender.
        if (is_sa(mad)) {
            sa_->post(std::move(mad));
        } else {
            static_cast<void>(received_.push(std::move(mad)));
        }
    });
    if (hold_because_.empty()) {
        mark_port();
    }
    core_->begin(base::monotonic_now(), effects_);
    execute();
    if (database_text_ != "ok") {
        handle(core::DatabaseState{database_text_});
    }
    after();
}

int Daemon::run() {
    if (const auto ready = prepare(); !ready) {
        log(LogLevel::error, "{}", ready.error().message);
        end_start(StartMark::Ending::left);
        return 2;
    }
    EventLoop::notify("READY=1");
    loop_->set_timer(base::monotonic_now(), [this] { try_transport(); });
    const int code = loop_->run();
    end_start(signalled_ ? StartMark::Ending::stopped : StartMark::Ending::left);
    if (code < 0) {
        log(LogLevel::error, "event loop: {}", std::strerror(-code));
        return 2;
    }
    return exit_code_;
}

// --- the loop
// ---------------------------------------------------------------------------------------------------

void Daemon::on_mads() {
    received_.drain(mad_batch_);
    for (mad::WireMad& mad : mad_batch_) {
        handle(core::MadReceived{std::move(mad)});
    }
    after();
}

void Daemon::on_requests() {
    requests_.drain(request_batch_);
    for (core::SaRequested& request : request_batch_) {
        handle(std::move(request));
    }
    after();
}

void Daemon::on_events() {
    events_.drain(event_batch_);
    for (core::Event& event : event_batch_) {
        const auto* admin = std::get_if<core::AdminRequested>(&event);
        if (admin != nullptr) {
            commands_.done(admin->command);
        }
        if (admin != nullptr && admin->command.kind == api::AdminCommand::Kind::resume) {
            resume();
        }
        if (admin != nullptr && admin->command.kind == api::AdminCommand::Kind::reload) {
            reload();
        } else if (core_) {
            handle(std::move(event));
        } else if (auto* state = std::get_if<core::DatabaseState>(&event)) {
            database_text_ = state->text;
        }
    }
    after();
}

void Daemon::on_copies() {
    copies_.drain(copy_batch_);
    for (core::Event& event : copy_batch_) {
        handle(std::move(event));
    }
    after();
}

void Daemon::start_replica(const db::Stored& stored) {
    if (!options_.config.replica.used()) {
        return;
    }
    std::array<char, 256> host{};
    if (::gethostname(host.data(), host.size() - 1) != 0 || host[0] == 0) {
        host = {'a', 'n', ' ', 'S', 'M'};
    }
    replica_ =
        std::make_unique<Replica>(options_.config.replica,
                                  ReplicaIdentity{{transport_->local_port().port_guid, host.data()},
                                                  core::config_digests(options_.config.sm)},
                                  held_by(stored), stored.sa_edition.value_or(core::kEditionUnknown),
                                  [this](core::Event&& event) { return copies_.push(std::move(event)); });
}

/// Whose copy is wanted stays the same while it is looked for who is master now.
void Daemon::stand_for_peers(const fabric::Snapshot& snapshot) {
    if (!replica_) {
        return;
    }
    ReplicaStanding standing = standing_;
    standing.is_master = snapshot.mastership.state == mad::SmState::master && !core_->takes_copies();
    if (standing.is_master) {
        standing.followed = {};
    } else if (snapshot.mastership.state == mad::SmState::standby) {
        standing.followed = snapshot.mastership.polled;
    }
    if (standing != standing_) {
        standing_ = standing;
        replica_->stand(standing);
    }
}

/// The adapter is gone, or its driver was loaded anew: what we hold will never work again. The service
/// manager starts us afresh, and a start waits for the port.
void Daemon::on_transport_lost() {
    std::vector<std::string> reasons;
    lost_.drain(reasons);
    if (stopping_ || reasons.empty()) {
        return;
    }
    log(LogLevel::error, "{}: leaving, so that a new start can take the port again", reasons.front());
    exit_code_ = 1;
    stop();
}

void Daemon::on_deadline() {
    handle(core::Deadline{});
    after();
}

void Daemon::handle(core::Event event) {
    core_->handle(std::move(event), base::monotonic_now(), effects_);
    execute();
}

void Daemon::execute() {
    for (core::Effect& effect : effects_) {
        if (auto* send = std::get_if<sm::SendMad>(&effect)) {
            if (is_sa(send->mad)) {
                sa_sends_.push_back(std::move(send->mad));
            } else {
                this->send(std::move(send->mad));
            }
        } else if (auto* job = std::get_if<sm::ComputeRoutes>(&effect)) {
            router_->post(std::move(*job));
        } else if (auto* balance = std::get_if<sm::Rebalance>(&effect)) {
            balancer_->post(std::move(*balance));
        } else if (auto* persist = std::get_if<sm::Persist>(&effect)) {
            if (replica_) {
                replica_->changed(persist->batch);
            }
            if (writer_) {
                writer_->post(std::move(persist->batch));
            }
        } else if (const auto* mark = std::get_if<sm::MarkEdition>(&effect)) {
            set_mark(mark->edition);
            // Who steps down has nothing more to say: its heir may have all that it told.
            if (replica_ && (mark->edition != core::kEditionUnknown || !core_->takes_copies())) {
                replica_->told(mark->edition, mark->client);
            }
        } else if (auto* announce = std::get_if<sm::Announce>(&effect)) {
            log(level_of(announce->event.severity), "{}: {}", announce->event.kind, announce->event.text);
        } else if (auto* progress = std::get_if<sm::Progress>(&effect)) {
            log(LogLevel::info, "{}", progress->text);
        }
    }
    effects_.clear();
}

void Daemon::send(mad::WireMad mad) {
    if (const auto sent = transport_->send(mad); !sent) {
        log(LogLevel::debug, "send: {}", sent.error().message);
        failed_sends_.emplace_back(core::SendFailed{std::move(mad)});
    }
}

/// After each turn of the loop: failed sends come back as events, readers get the new snapshot, the timer is
/// set. Only then leave the answers to joins and the like: who has one and asks next, asks readers that know.
void Daemon::after() {
    if (!core_ || stopping_) {
        return;
    }
    while (!failed_sends_.empty()) {
        std::vector<core::Event> failed = std::move(failed_sends_);
        failed_sends_.clear();
        for (core::Event& event : failed) {
            handle(std::move(event));
        }
    }
    show(core_->snapshot(base::monotonic_now()));
    const auto snapshot = shown();
    sa_->show(snapshot);
    stand_for_peers(*snapshot);
    for (mad::WireMad& mad : std::exchange(sa_sends_, {})) {
        send(std::move(mad));
    }
    if (const std::string status = fmt::format("STATUS={}", snapshot->mode_text); status != last_status_) {
        last_status_ = status;
        EventLoop::notify(status);
    }
    if (options_.once && !snapshot->sweeps.empty() &&
        (core_->only_retries_left() || snapshot->mode != SmMode::up)) {
        exit_code_ = snapshot->mode == SmMode::up ? 0 : 1;
        return stop();
    }
    arm();
}

void Daemon::arm() {
    if (const auto at = core_->next_deadline()) {
        loop_->set_timer(*at, [this] { on_deadline(); });
    }
}

void Daemon::show(std::shared_ptr<const fabric::Snapshot> snapshot) {
    const std::lock_guard lock(shown_mutex_);
    shown_ = std::move(snapshot);
    with_activity_ = {};
}

std::shared_ptr<const fabric::Snapshot> Daemon::shown() const {
    const std::lock_guard lock(shown_mutex_);
    return shown_;
}

/// What the API shows; called by its threads. A snapshot is copied (its large parts are shared) only where
/// the SA did something since it was last asked for.
std::shared_ptr<const fabric::Snapshot> Daemon::shown_with_activity() {
    std::shared_ptr<const fabric::Snapshot> now;
    WithActivity last;
    const SaWorker* sa = nullptr;
    {
        const std::lock_guard lock(shown_mutex_);
        now = shown_;
        last = with_activity_;
        sa = shown_sa_;
    }
    if (now == nullptr || sa == nullptr) {
        return now;
    }
    auto activity = sa->activity();
    if (last.of == now && last.snapshot->sa_activity == activity) {
        return last.snapshot;
    }
    auto copy = std::make_shared<fabric::Snapshot>(*now);
    copy->sa_activity = std::move(activity);
    const std::lock_guard lock(shown_mutex_);
    if (shown_ == now) {  // else it is stale already, and would keep an old fabric alive
        with_activity_ = {std::move(now), copy};
    }
    return copy;
}

void Daemon::show_waiting(const std::string& text) {
    auto snapshot = std::make_shared<fabric::Snapshot>();
    snapshot->mode = SmMode::waiting;
    snapshot->mode_text = text;
    snapshot->state_dir = options_.config.state_dir;
    snapshot->config_path = options_.config_path;
    snapshot->database_text = database_text_;
    snapshot->published = base::wall_now();
    show(std::move(snapshot));
    if (text != last_wait_ && text != "starting") {
        last_wait_ = text;
        log(LogLevel::warning, "waiting for umad: {}", text);
        EventLoop::notify(fmt::format("STATUS=waiting for umad: {}", text));
    }
}

// --- signals
// ----------------------------------------------------------------------------------------------------

void Daemon::on_signal(int number) {
    if (number == SIGHUP) {
        return reload();
    }
    if (stopping_) {
        return;
    }
    log(LogLevel::info, "{}: stopping; the forwarding tables stay in the switches",
        number == SIGINT ? "interrupted" : "terminated");
    signalled_ = true;
    stop();
}

void Daemon::reload() {
    if (options_.config_path.empty()) {
        log(LogLevel::warning, "reload: there is no configuration file (start with --config PATH)");
        return;
    }
    EventLoop::notify(fmt::format("RELOADING=1\nMONOTONIC_USEC={}",
                                  base::monotonic_now().time_since_epoch().count() / 1000));
    auto loaded = load_config(options_.config_path);
    if (!loaded) {
        log(LogLevel::error, "reload refused, the running configuration stays:\n{}", loaded.error().message);
        if (core_) {
            handle(core::ConfigReplaced{nullptr, loaded.error().message});
        }
    } else {
        for (const std::string& key : changed_at_start_only(options_.config, *loaded)) {
            log(LogLevel::warning, "reload: {} takes a restart to change", key);
        }
        options_.config.sm = loaded->sm;
        if (replica_) {
            replica_->reload(core::config_digests(loaded->sm));
        }
        if (sa_) {
            sa_->replace_config(core::sa_config(options_.config.sm));
        }
        log(LogLevel::info, "configuration read from {}", options_.config_path);
        if (core_) {
            handle(core::ConfigReplaced{std::make_shared<const sm::SmConfig>(loaded->sm), {}});
        }
    }
    EventLoop::notify("READY=1");
    after();
}

void Daemon::stop() {
    stopping_ = true;
    EventLoop::notify("STOPPING=1");
    if (core_) {
        core_->stop(base::monotonic_now(), effects_);
        execute();
        static_cast<void>(transport_->set_is_sm(false));
    }
    if (replica_ && !replica_->flush(kFlushToPeers)) {
        log(LogLevel::warning, "replica: a standby did not take everything in time");
    }
    if (writer_ && !writer_->flush(kFlushAtStop)) {
        log(LogLevel::warning,
            "the database did not take everything in time: the next start reads the tables from the "
            "switches");
    }
    if (const auto sealed = mark_ ? mark_->seal() : base::Result<void>{}; !sealed) {
        log(LogLevel::warning, "{}", sealed.error().message);
    }
    loop_->quit(exit_code_);
}

}  // namespace ibf::shell
