// DOC: a subnet manager and a simulated fabric in one virtual time.
//
// A Lab has a Simulator and, between start() and stop() or kill(), a SubnetManager joined to it. Labs that
// are made beside another share its fabric and its time: whichever is told to go on, all of them do. Effects
// are executed where they arise: MADs go to the simulator, routes are computed at once by one thread, records
// go to a db::Stored in memory, as far as the disk lets them (Disk), so that the next start() finds what a
// restarted daemon would find: also that an SA had clients, which here it has none. Nothing waits for real
// time. As ib_umad does, a Lab puts its client's number into the upper half of each request's TID: that tells
// an observer whose it is (sender_of).
//
// With IBF_LAB_TRACE in the environment every event and sweep is printed with its virtual time.
//
// The checks at the end read the simulator alone (its tables, its ports), never the SM under test.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "daemon/sm/subnet_manager.hpp"
#include "sim/simulator.hpp"

namespace ibf::test {

struct LabOptions {
    sim::SimOptions sim;
    sm::SmConfig config;
    std::string at;         ///< node the SM joins at; empty: the first adapter with a cable
    std::uint8_t port = 0;  ///< 0: its first cabled one
};

/// The SM at this node, all else as usual.
[[nodiscard]] LabOptions at(const std::string& node);

/// The client that sent a request.
[[nodiscard]] inline sim::Simulator::ClientId sender_of(const mad::Smp& request) {
    return static_cast<sim::Simulator::ClientId>(request.header.tid >> 32U);
}

/// What becomes of the records that an SM has kept. As with db::Writer, what waits is lost with the process.
enum class Disk : std::uint8_t {
    good,
    slow,     ///< written ten seconds late
    refuses,  ///< full, read-only, locked: tried again until it is good; an SM started meanwhile knows
              ///< nothing
};

/// Whoever else acts on a fabric in its labs' time.
class Actor {
public:
    Actor() = default;
    virtual ~Actor() = default;
    Actor(const Actor&) = delete;
    Actor& operator=(const Actor&) = delete;
    [[nodiscard]] virtual std::optional<base::Instant> next_deadline() const = 0;
    /// Its deadline has come.
    virtual void on_time() = 0;
};

class Lab {
public:
    Lab(routing::Netlist netlist, LabOptions options);
    explicit Lab(routing::Netlist netlist);
    /// One more SM on the same fabric.
    Lab(Lab& beside, LabOptions options);
    ~Lab();
    Lab(const Lab&) = delete;
    Lab& operator=(const Lab&) = delete;

    // --- the SM's life ---
    void start();
    void stop();  ///< clean, as on SIGTERM
    void kill();  ///< as on SIGKILL: nothing is said to anybody
    /// The process stands still, as under SIGSTOP; what arrives waits for it.
    void freeze();
    void thaw();
    void set_disk(Disk disk);
    void lose_disk();  ///< the next start() finds nothing
    void replace_config(const sm::SmConfig& config);
    [[nodiscard]] const sm::SmConfig& config() const { return options_.config; }
    void request_sweep(sm::SweepScope scope);
    void set_groups(const sm::MulticastGroups& groups);
    void drain(const fabric::Drain& element);
    void undrain(const fabric::Drain& element);
    /// Anything else that it can be told.
    /// What was asked while `routes_wait` was set, and from here on at once.
    void answer_routes();
    void tell(const std::function<void(sm::SubnetManager&, base::Instant, sm::Effects&)>& what);

    void add_actor(Actor& actor);
    void remove_actor(Actor& actor);

    // --- time ---
    void advance(base::Duration duration);
    /// Until the condition holds (true) or the time is over (false); checked after each instant.
    [[nodiscard]] bool run_until(const std::function<bool()>& condition, base::Duration limit);
    /// Until the SM is up, idle and has nothing pending. False: not within the limit.
    [[nodiscard]] bool run_until_up(base::Duration limit);

    // --- faults ---
    /// A fault script, from now on; it must be right.
    void inject(const std::string& script);

    // --- what was seen ---
    [[nodiscard]] std::uint64_t sets(mad::Attribute attribute) const;
    [[nodiscard]] std::uint64_t gets(mad::Attribute attribute) const;
    [[nodiscard]] std::uint64_t all_sets() const;
    /// Sets that this SM sent, SMInfo's left out: those address no device. Of the fabric: sets().
    [[nodiscard]] std::uint64_t own_sets() const { return own_sets_; }
    [[nodiscard]] std::uint64_t sweeps(const std::string& scope) const;  ///< finished since forget_counts()
    /// Those that were more than a light one: of all of the fabric, or of what was touched.
    [[nodiscard]] std::uint64_t heavy_sweeps() const { return sweeps("full") + sweeps("touched"); }
    void forget_counts();
    [[nodiscard]] std::size_t events(const std::string& kind) const;
    [[nodiscard]] const fabric::EventRecord* find_event(const std::string& kind) const;
    [[nodiscard]] fabric::Snapshot snapshot() const;
    [[nodiscard]] bool has_isolation(fabric::IsolationReason reason) const;
    [[nodiscard]] std::uint32_t node(const std::string& description) const;
    [[nodiscard]] mad::Lid lid(std::uint32_t node, std::uint8_t port) const;
    /// Every switch's entries for every LID up to its top, and every LID in use: equal text, same state.
    [[nodiscard]] std::string tables_text() const;
    [[nodiscard]] std::map<mad::Guid, mad::Lid> lids() const;

    /// After each forwarding table Set that a switch took, no packet to any LID of that block may loop.
    void watch_loops() { watch_loops_ = true; }
    [[nodiscard]] const std::vector<std::string>& loops() const { return loops_; }
    /// Called for each Announce and finished sweep, for transcripts.
    std::function<void(const std::string&)> on_line;
    /// Called for each finished sweep.
    std::function<void(const fabric::SweepReport&)> on_sweep;
    /// Called for each MAD that an agent handled.
    sim::Simulator::Observer on_mad;
    /// Sees, and may spoil, each MAD on its way to the SM; false: it is lost.
    std::function<bool(mad::WireMad&)> on_deliver;
    bool routes_wait = false;  ///< routes are answered by answer_routes() only

private:
    /// What labs on one fabric share.
    struct Shared {
        Shared(routing::Netlist netlist, const sim::SimOptions& options) : sim(std::move(netlist), options) {}
        sim::Simulator sim;
        base::Instant now{};
        std::vector<Lab*> labs;
        std::vector<Actor*> actors;
    };
    std::shared_ptr<Shared> shared_;
    std::vector<sm::ComputeRoutes> waiting_routes_;

public:
    sim::Simulator& sim;
    base::Instant& now;
    sim::Simulator::ClientId client = 0;
    db::Stored stored;
    bool clients_known =
        false;  ///< the next start() finds what clients left with the SA; so it does once an SM was up
    std::string hold_because;  ///< not empty: the next start() is in hold mode
    std::unique_ptr<sm::SubnetManager> sm;
    std::vector<fabric::EventRecord> announced;
    std::vector<mad::WireMad>
        sent_unasked;              ///< what the SM sent and no agent answers: TrapRepress, SMInfo answers
    std::uint32_t persisted = 0;   ///< batches
    std::uint32_t routings = 0;    ///< how often routes were computed
    std::set<std::uint32_t> dead;  ///< nodes whose agents were killed by inject()

private:
    Lab(std::shared_ptr<Shared> shared, LabOptions options);
    void execute(sm::Effects& effects);
    void take_inbox();
    void persist(const db::Batch& batch);
    void write(const db::Batch& batch);
    void write_due(base::Instant until);
    void observe(base::Instant at, std::uint32_t node, const mad::Smp& request, mad::MadStatus status);
    void check_block(std::uint32_t node, std::uint32_t block);
    bool step(base::Instant until);
    void note_sweeps();
    void say(const std::string& line);

    LabOptions options_;
    struct Waiting {
        base::Instant due;
        db::Batch batch;
    };
    Disk disk_ = Disk::good;
    std::deque<Waiting> waiting_;  ///< not written yet
    bool blind_ = false;           ///< the SM was started without its database
    bool frozen_ = false;
    std::deque<mad::WireMad> inbox_;
    std::map<mad::Attribute, std::uint64_t> sets_;
    std::map<mad::Attribute, std::uint64_t> gets_;
    std::map<std::string, std::uint64_t> sweeps_;
    std::uint64_t sweeps_seen_ = 0;
    std::uint64_t version_seen_ = 0;  ///< of the SM, when its sweeps were last looked at
    std::uint64_t own_sets_ = 0;
    bool watch_loops_ = false;
    bool trace_ = false;
    std::vector<std::string> loops_;
};

/// Another subnet manager, as far as one is seen from outside: IsSM at a port of its own, and an answer to
/// each SMInfo Get that names its state.
class Rival {
public:
    Rival(Lab& lab, const std::string& node, mad::SmState state);
    std::uint32_t asked = 0;

private:
    void answer(const mad::WireMad& wire);

    Lab& lab_;
    mad::SmState state_;
    sim::Simulator::ClientId client_ = 0;
};

/// What an outside look finds wrong with a fabric at rest; empty is good. Looked at: nodes connected to the
/// SM's over links that are up and agents that live. `left_out`: nodes that the test knows to be isolated.
struct CheckOptions {
    std::set<std::uint32_t> left_out;
    /// Wire rules broken so often while links went down under the Sets: of those that tell of a port in
    /// another state than the SM had read, so many are no fault.
    std::vector<std::pair<std::string, std::uint64_t>> raced;
    std::uint32_t pairs_max = 4000;  ///< above this many, a seeded sample
};
[[nodiscard]] std::vector<std::string> problems(const Lab& lab, const CheckOptions& options);
[[nodiscard]] std::string join_lines(const std::vector<std::string>& lines);
/// The same in one text; empty: all is well.
[[nodiscard]] std::string wrong(const Lab& lab, std::set<std::uint32_t> left_out);
[[nodiscard]] std::string wrong(const Lab& lab);

/// Generator or file; fails the test when it cannot be loaded.
[[nodiscard]] routing::Netlist netlist(const std::string& spec);

/// The small fabrics that the cases name: T1 (one switch "sw", adapters "h1".."h4"), T2 (leaves "leaf1"
/// "leaf2", spines "spine1" "spine2", four adapters a leaf "h1".."h8"; EDR). Leaf ports 1..4 hosts, 5 and 6
/// the spines.
[[nodiscard]] routing::Netlist t1();
[[nodiscard]] routing::Netlist t2();
/// T2 with parameters: switch ports 1..hosts for hosts, then one per spine.
[[nodiscard]] routing::Netlist leaf_spine(std::uint32_t leaves, std::uint32_t spines, std::uint32_t hosts,
                                          mad::LinkSpeed speed);

}  // namespace ibf::test
