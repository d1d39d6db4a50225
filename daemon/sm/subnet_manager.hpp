// DOC: the subnet manager.
//
// A pure machine: MADs, answers, route results, commands and the time come in; Effects go out. A sweep is
// reconciliation (observe - plan - write what differs) in phases that are values; aborting one destroys it.
// Requests for sweeps merge by scope, each with its own time; one that arrives in mid-sweep waits. A look at
// everything that was asked for answers all of them.
//
// Guard: nothing is written until every port with IsSM has been asked and the election (election.hpp) has
// made this SM the master, nor while another one is, or may be. The mode says so.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>
#include <vector>

#include "base/time.hpp"
#include "daemon/fabric/snapshot.hpp"
#include "daemon/sm/config.hpp"
#include "daemon/sm/discovery.hpp"
#include "daemon/sm/drains.hpp"
#include "daemon/sm/effects.hpp"
#include "daemon/sm/election.hpp"
#include "daemon/sm/event_log.hpp"
#include "daemon/sm/health.hpp"
#include "daemon/sm/hold_down.hpp"
#include "daemon/sm/lane_survey.hpp"
#include "daemon/sm/lid_plan.hpp"
#include "daemon/sm/light_sweep.hpp"
#include "daemon/sm/link_memory.hpp"
#include "daemon/sm/programmer.hpp"
#include "daemon/sm/rebalance.hpp"
#include "daemon/sm/table_audit.hpp"
#include "daemon/sm/table_reader.hpp"
#include "db/records.hpp"
#include "mad/transactions.hpp"
#include "mad/trap.hpp"

namespace ibf::sm {

enum class SweepScope : std::uint8_t { light, full };
/// Of what comes from another master: all that it has, or what changed since.
enum class CopyExtent : std::uint8_t { whole, changes };

/// What is held of what clients left with another SM's SA.
struct ClientsCopy {
    mad::Guid of{};               ///< the SM; 0: nothing is held
    bool last = false;            ///< it is the last that clients were told there, but for those at
    std::set<mad::Guid> lacking;  ///< these ports
    base::Instant until{};        ///< as of then: what they were told later, we would not know of
};

/// The result of a ComputeRoutes effect.
using RoutesResult = base::Result<routing::RouteOutcome>;

struct SmStart {
    std::shared_ptr<const SmConfig> config;
    db::Stored stored;
    bool clients_known = false;  ///< the SA has all that clients left with it
    std::string hold_because;    ///< not empty: hold mode, and why
    mad::LocalPort local;
    base::Instant now;
    base::WallTime wall;  ///< real time at `now`
};

class SubnetManager {
public:
    explicit SubnetManager(SmStart start);

    void begin(base::Instant now, Effects& out);
    void on_mad(const mad::WireMad& mad, base::Instant now, Effects& out);
    void on_send_error(const mad::WireMad& mad, base::Instant now, Effects& out);
    void on_time(base::Instant now, Effects& out);
    void on_routes(std::uint16_t epoch, RoutesResult result, base::Instant now, Effects& out);
    void on_rebalance(std::uint32_t question, RebalanceResult result, base::Instant now, Effects& out);
    void request_sweep(SweepScope scope, std::string reason, base::Instant now, Effects& out);
    /// Who is in which multicast group; tables follow in the next programming run, soon.
    void set_groups(MulticastGroups groups, base::Instant now, Effects& out);
    /// Puts another part's event into the list and the log.
    void add_event(const fabric::EventRecord& event, base::Instant now, Effects& out);
    /// Another one is master, or may be, and what it remembers is to be remembered here.
    [[nodiscard]] bool takes_copies() const;
    /// Its records. `from`: its name. REQUIRES: takes_copies().
    void take_copy(db::Batch&& batch, CopyExtent extent, std::string_view from, Effects& out);
    void note_clients(ClientsCopy copy) { clients_copy_ = std::move(copy); }
    void replace_config(std::shared_ptr<const SmConfig> config, base::Instant now, Effects& out);
    /// Traffic is to leave the element and stay off it until undrained. `since` is set here.
    void drain(fabric::Drain item, base::Instant now, Effects& out);
    void undrain(mad::Guid node, mad::PortNum port, base::Instant now, Effects& out);
    /// Ends hold mode.
    void resume(base::Instant now, Effects& out);
    [[nodiscard]] bool holding() const { return !hold_because_.empty(); }
    /// An operator says that a port is ill, or that nothing is to be held against it any more.
    void set_health(fabric::PortId port, base::Instant now, Effects& out);
    void clear_health(fabric::PortId port, base::Instant now, Effects& out);
    /// Last call: marks the stop as clean if what is in force is known.
    void stop(base::Instant now, Effects& out);

    [[nodiscard]] std::optional<base::Instant> next_deadline() const;
    /// Everything of the snapshot that the SM knows.
    void fill(fabric::Snapshot& snapshot) const;
    /// Grows when fill() would show something else.
    [[nodiscard]] std::uint64_t version() const { return version_; }
    /// No sweep is under way or due now.
    [[nodiscard]] bool at_rest() const;
    /// The same, but for one that tries again what failed, and may fail again and again.
    [[nodiscard]] bool only_retries_left() const;
    [[nodiscard]] fabric::SmMode mode() const { return mode_; }
    [[nodiscard]] Role role() const { return election_.role(); }
    /// How often a sweep has set the fabric up whole. Joins and leaves between sweeps do not count.
    [[nodiscard]] std::uint64_t settled_sweeps() const { return settled_sweeps_; }
    /// The SA has what clients left with it, or they have been asked to register anew. Once true, it stays so
    /// as long as no other one is master.
    [[nodiscard]] bool clients_heard() const { return clients_heard_; }

private:
    struct Idle {};
    struct Routing {
        std::shared_ptr<const fabric::TopologyView> on;
        std::shared_ptr<const routing::RouteOptions> by;
    };
    using Phase = std::variant<Idle, LightSweep, Discovery, TableReader, Routing, Programmer>;

    /// Requests of one scope.
    struct PendingSweep {
        std::vector<std::string> reasons;
        base::Instant not_before{};
        bool retry = false;    ///< only because something failed: it may fail again and again
        bool by_news = false;  ///< a trap asked for it
    };
    /// What a switch is known to hold.
    struct Programmed {
        std::shared_ptr<const routing::LftRow> row;
        std::uint16_t top = 0;
    };

    // The pump.
    void run(base::Instant now, Effects& out);
    [[nodiscard]] bool feed();
    [[nodiscard]] std::optional<mad::Request> next_request();
    void flush_sends(base::Instant now, Effects& out);
    void dispatch(const mad::Completion& completion, base::Instant now);
    void dispatch_stale(const mad::Completion& completion, base::Instant now);
    [[nodiscard]] bool step(base::Instant now, Effects& out);
    [[nodiscard]] bool may_audit() const;
    void ask_audit(base::Instant now);
    void on_audit(const mad::Completion& completion, base::Instant now);
    void tell_audit(base::Instant now, Effects& out);
    [[nodiscard]] bool may_survey() const;
    [[nodiscard]] std::optional<base::Instant> survey_due() const;
    void ask_lanes(base::Instant now);
    void on_lanes(const mad::Completion& completion);
    void tell_lanes(base::Instant now, Effects& out);
    void believe_stored_lanes();
    void keep_lanes(const Programmer& done, base::Instant now, Effects& out);

    // Sweeps.
    PendingSweep& want_sweep(SweepScope scope, std::string reason, base::Instant not_before);
    [[nodiscard]] std::optional<base::Instant> sweep_due() const;
    [[nodiscard]] PendingSweep take_pending(SweepScope scope);
    [[nodiscard]] bool may_look_lightly() const;
    void start_sweep(base::Instant now, Effects& out);
    void start_discovery(std::optional<TouchedPlaces> touched, base::Instant now);
    void begin_next_look(std::optional<TouchedPlaces> touched, base::Instant now);
    static void add_reasons(std::vector<std::string>& to, std::vector<std::string> reasons);
    void end_light(base::Instant now, Effects& out);
    void end_discovery(base::Instant now, Effects& out);
    void assign(base::Instant now, Effects& out);
    void renew_view();
    void assign_lids(base::Instant now, Effects& out);
    void forget_untaken_lids(Effects& out);
    [[nodiscard]] std::vector<std::uint32_t> unknown_tables();
    [[nodiscard]] bool trusts_stored(const fabric::Node& node) const;
    void doubt_other_devices();
    void end_reading(base::Instant now, Effects& out);
    void start_routing(base::Instant now, Effects& out);
    [[nodiscard]] ProgramInput program_input();
    void add_tables(ProgramInput& input) const;
    void start_programming(base::Instant now, Effects& out);
    void add_groups(ProgramInput& input) const;
    void start_groups(base::Instant now);
    void end_groups(const Programmer& done, base::Instant now, Effects& out);
    void keep_groups(const Programmer& done);
    /// No sweep is under way, and what the last one set up whole is what there is.
    [[nodiscard]] bool may_touch_settled() const;
    /// A programming run that is no sweep: of what, but for the scope's own part.
    [[nodiscard]] ProgramInput begin_short_run(RunScope scope, base::Instant now);
    /// What it wrote is part of the settled fabric.
    void end_short_run();
    void tell_failures(const Programmer& done, base::Instant now, Effects& out);
    void await_quiet(base::Instant now, Effects& out);
    [[nodiscard]] std::optional<base::Instant> rebalance_due() const;
    [[nodiscard]] bool go_on_balancing(base::Instant now, Effects& out);
    void ask_rebalance(Effects& out);
    void end_balancing(fabric::EventRecord::Severity severity, const std::string& why, base::Instant now,
                       Effects& out);
    [[nodiscard]] static std::string drift_text(const routing::Drift& drift);
    void tell_drift(const routing::RebalanceStep& step);
    void report_drift(fabric::DriftReport report);
    void start_rebalance(base::Instant now, Effects& out);
    void end_rebalance(const Programmer& done, base::Instant now, Effects& out);
    void note_lost_clients();
    void plan_reregister(base::Instant now);
    [[nodiscard]] std::vector<fabric::PortRef> ports_of_lost_clients() const;
    void start_reregister(base::Instant now);
    void end_reregister(const Programmer& done, base::Instant now, Effects& out);
    void end_programming(base::Instant now, Effects& out);
    void settle(const Programmer& done, base::Instant now, Effects& out);
    void keep_tables(const RowsInForce& rows, Effects& out);
    void finish_sweep(std::string outcome, base::Instant now, Effects& out);
    void retry_later(std::string reason, base::Instant now);
    [[nodiscard]] bool waits_for_silent_sm(base::Instant now, Effects& out);
    [[nodiscard]] bool looks_for_who_asked(base::Instant now, Effects& out);
    [[nodiscard]] bool looks_past_silence(base::Instant now, Effects& out);
    [[nodiscard]] bool looks_past_hand_over(base::Instant now, Effects& out);
    void look_again_first(const std::string& text, base::Instant now, Effects& out);
    [[nodiscard]] bool local_port_ready(base::Instant now, Effects& out);
    void set_mode(fabric::SmMode mode, std::string text);

    // Drains.
    void follow_drains(std::string_view what, const fabric::Drain& item, base::Instant now, Effects& out);
    void look_at_drains(base::Instant now, Effects& out);
    void renew_route_options();
    void show_drains();

    // Mastership.
    [[nodiscard]] const fabric::Fabric* latest_fabric() const;
    [[nodiscard]] mad::SmInfo own_sm_info() const;
    [[nodiscard]] std::string sm_name(mad::Guid guid) const;
    void on_sm_info(const mad::WireMad& wire, const mad::Smp& smp, base::Instant now, Effects& out);
    [[nodiscard]] bool meets_master(mad::Guid guid);
    void tell_untrusted(mad::Guid guid, std::string_view what, base::Instant now, Effects& out);
    [[nodiscard]] bool ask_sm(mad::Guid guid, Ask what, std::uint32_t modifier, const mad::SmInfo& shown);
    void poll_sms(base::Instant now, Effects& out);
    void hear_sms(base::Instant now, Effects& out);
    void send_priority_trap(Effects& out);
    void want_priority_trap(Effects& out);
    [[nodiscard]] bool settle_mastership(const std::vector<fabric::OtherSm>& others, base::Instant now,
                                         Effects& out);
    [[nodiscard]] bool settle_light(const std::vector<fabric::OtherSm>& others, base::Instant now,
                                    Effects& out);
    void show_sms(const std::vector<fabric::OtherSm>& others);
    void act_on(const Election::Step& step, base::Instant now, Effects& out);
    void abandon_look(const std::string& why, base::Instant now, Effects& out);
    void look_anew(const Election::Step& step, base::Instant now, Effects& out);
    void forget_mastership();
    void forget_acknowledged();
    [[nodiscard]] fabric::Mastership mastership() const;
    void tell_stuck(base::Instant now, Effects& out);
    void tell_role(const Election::Step& step, base::Instant now, Effects& out);
    /// The fabric is as another master left it: its LIDs and tables are the ones that clients use.
    [[nodiscard]] bool inherits() const;
    [[nodiscard]] std::shared_ptr<const routing::Routes> tables_in_force() const;
    [[nodiscard]] std::shared_ptr<const routing::Routes> tables_held(const routing::Routes* said) const;

    // Copies.
    void forget_stored_tables(db::Batch& whole);
    void follow(mad::Guid master);
    void note_followed(mad::Guid guid, base::Instant now);
    void settle_clients_known();
    [[nodiscard]] bool clients_are_ours(mad::Lid sm_lid) const;

    // Phase accounting.
    void begin_phase(std::string name, base::Instant now);
    void end_phase(base::Instant now, Effects& out);
    void progress(base::Instant now, Effects& out);
    void tell_phases(Effects& out) const;
    [[nodiscard]] std::string progress_text() const;

    // MADs that are not answers.
    void on_request(const mad::WireMad& mad, base::Instant now, Effects& out);
    void on_trap(const mad::WireMad& wire, const mad::Smp& smp, base::Instant now, Effects& out);
    [[nodiscard]] fabric::PortRef port_of(mad::Lid lid);
    void on_link_state(const mad::LinkStateTrap& trap, base::Instant now);
    void on_local_change(const mad::Notice& notice, mad::Lid lid, base::Instant now);
    void on_port_error(const mad::Notice& notice, const mad::PortErrorTrap& trap, base::Instant now,
                       Effects& out);
    void on_mkey_violation(const mad::Notice& notice, const mad::MKeyTrap& trap, base::Instant now,
                           Effects& out);
    void on_key_violation(const mad::Notice& notice, const mad::KeyTrap& trap, base::Instant now,
                          Effects& out);
    void on_unknown_trap(const mad::Notice& notice, base::Instant now, Effects& out);
    void on_news(fabric::PortRef at, mad::Lid lid, SweepScope scope, std::string reason, base::Instant now);
    [[nodiscard]] HoldDown::Subject teller_of(fabric::PortRef at, mad::Lid lid, std::uint32_t what) const;
    [[nodiscard]] std::string lid_text(mad::Lid lid);
    void tell_trap(const mad::Notice& notice, mad::Lid about, fabric::PortRef at, std::string text,
                   base::Instant now, Effects& out);

    // Hold mode.
    void begin_hold(base::Instant now, Effects& out);
    void end_hold_look(base::Instant now, Effects& out);
    [[nodiscard]] bool holds_as_stored(const fabric::Node& node);
    void end_hold_reading(base::Instant now, Effects& out);
    void find_held_sls();

    // Links that are held down.
    void note_changes(const Discovery::NodesByGuid& earlier, base::Instant now);
    [[nodiscard]] bool note_changes_of(std::uint32_t index, std::uint32_t before, base::Instant now);
    void note_change(fabric::PortId port, fabric::PortId link, base::Instant now);
    void note_untold(mad::Guid guid, std::uint32_t traps, base::Instant now);
    void hold_against(fabric::PortId port, std::uint32_t times, base::Instant now);
    [[nodiscard]] HeldPorts held_ports(base::Instant now) const;
    void note_held(LightSweep::Result& result, base::Instant now);
    void plan_next_look(const Programmer& done, base::Instant now);
    [[nodiscard]] std::optional<base::Instant> held_until(const std::vector<ProgramFailure>& troubles,
                                                          base::Instant now) const;
    [[nodiscard]] std::string place_text(fabric::PortRef at) const;

    // Port health.
    enum class PortOrder : std::uint8_t { disable, enable };
    void judge_sweep(const Programmer& done, base::Instant now);
    void enable_the_well();
    void tell_health(base::Instant now, Effects& out);
    void leave_out_ill(base::Instant now, Effects& out);
    [[nodiscard]] bool may_order() const;
    void ask_ports(base::Instant now, Effects& out);
    void order_port(fabric::PortRef at, PortOrder order);
    void tell_orders(base::Instant now, Effects& out);
    void show_health();
    [[nodiscard]] std::string health_place(fabric::PortId port) const;

    // Reports.
    void announce(fabric::EventRecord::Severity severity, std::string kind, std::string text, mad::Guid guid,
                  mad::PortNum port, base::Instant now, Effects& out);
    void announce_changes(const fabric::Fabric* before, base::Instant now, Effects& out);
    void announce_isolations(base::Instant now, Effects& out);
    void announce_slow_links(base::Instant now, Effects& out);
    void announce_routes(base::Instant now, Effects& out);
    void announce_ring(const routing::Verdict& verdict, base::Instant now, Effects& out);
    /// "DESCRIPTION (GUID)", as far as the fabric knows it.
    [[nodiscard]] std::string name_of(mad::Guid node) const;
    [[nodiscard]] base::WallTime wall(base::Instant now) const;
    [[nodiscard]] db::FabricRecord fabric_record() const;
    [[nodiscard]] db::SweepRecord sweep_record() const;

    std::shared_ptr<const SmConfig> config_;
    mad::LocalPort local_;
    base::Instant begun_;
    base::WallTime begun_wall_;
    mad::Transactions mads_;
    std::vector<mad::Completion> completions_;
    std::vector<mad::WireMad> wire_;

    Phase phase_;
    std::uint16_t epoch_ = 0;
    std::map<SweepScope, PendingSweep> pending_;
    base::Instant next_light_{};
    std::uint32_t light_count_ = 0;
    std::uint32_t full_count_ = 0;  ///< since the last light sweep
    std::uint32_t failed_in_a_row_ = 0;
    bool surprised_ = false;  ///< ports were not what the last sweep had asked them to be

    std::shared_ptr<const fabric::Fabric> fabric_;  ///< last complete
    std::shared_ptr<fabric::Fabric> working_;       ///< of the sweep under way
    std::vector<std::uint32_t> change_unread_;
    std::optional<Discovery::Extent> extent_;  ///< what of working_ was looked at; nullopt: everything
    bool discovery_incomplete_ = false;
    /// Ports outside extent_ are as they shall be, and are stored so.
    bool ports_kept_ = false;
    std::shared_ptr<const SmConfig> ports_by_;  ///< the policy by which all ports were set up; null: some not
    std::shared_ptr<const SmConfig> lids_by_;   ///< the policy of lids_; null: some port has none
    SilentPlaces silent_;
    bool ask_silent_ = false;  ///< the next look at the fabric passes over nobody
    bool in_doubt_ = false;    ///< another one may be master: the next look at the fabric only reads
    std::set<mad::Guid> renamed_;
    fabric::LidMap lids_;
    fabric::LidMap remembered_;
    std::vector<mad::Guid> fresh_lids_;  ///< owners whose LID was not remembered before this sweep; sorted
    std::shared_ptr<const fabric::TopologyView> view_;
    std::shared_ptr<const fabric::Fabric> view_fabric_;  ///< what view_ was made from
    bool view_by_plan_ = false;                          ///< and with lids_
    std::shared_ptr<const fabric::MulticastTables> multicast_;
    std::shared_ptr<const routing::RouteOutcome> routes_;
    std::shared_ptr<const fabric::TopologyView> routes_for_;  ///< the view that they serve
    std::shared_ptr<const fabric::TopologyView> routed_;      ///< what they were computed on (sm/routed)
    std::shared_ptr<const routing::RouteOptions> routed_by_;  ///< and with what options
    std::map<mad::Guid, db::TableRecord> stored_tables_;
    bool stored_clean_ = false;
    mad::Lid stored_sm_lid_{};
    std::map<mad::Guid, Programmed> programmed_;
    std::set<mad::Guid> written_;  ///< switches to which tables were sent
    TableAudit audit_;
    std::vector<mad::Guid> audit_findings_;  ///< to be told
    LanesAcknowledged lanes_acknowledged_;   ///< lane tables that routes needed
    LanesAcknowledged stored_lanes_;         ///< until the first sweep has asked whom to believe
    LaneSurvey survey_;
    base::Instant survey_from_{};        ///< it looks at a fabric that was set up not before
    std::uint64_t surveyed_sweeps_ = 0;  ///< settled_sweeps() when the survey was last shown the fabric
    std::shared_ptr<const fabric::Lanes> lanes_;
    std::set<mad::Guid> unreadable_;   ///< switches whose table this sweep could not read
    std::set<mad::Guid> strange_mft_;  ///< switches that were somebody else's when first seen, until emptied
    DrainBook drains_;
    std::shared_ptr<const routing::RouteOptions> route_options_;  ///< of the next routes
    routing::Elements drained_in_force_;                          ///< what the tables in force heed
    std::shared_ptr<const fabric::Drains> drains_shown_;          ///< both
    MulticastGroups groups_;
    std::map<mad::Guid, MftRow> groups_programmed_;  ///< multicast tables that are known, by switch
    std::optional<base::Instant> groups_due_;
    bool clients_known_;  ///< from the start, or from the take-over on, the SA had what clients had left
    bool clients_heard_;  ///< or those that were there have been asked to register anew
    std::optional<mad::Lid> known_under_;  ///< the SM's LID where they had left it, if that was another
    mad::Guid followed_{};                 ///< the other master, until its place is taken
    std::optional<base::Instant> followed_heard_;  ///< its last answer
    ClientsCopy clients_copy_;
    std::set<mad::Guid> lacking_;       ///< ports whose clients left something that a copy lacked, until seen
    std::set<mad::Guid> met_;           ///< ports seen since the start, where clients were not known
    std::set<mad::Guid> lost_clients_;  ///< ports whose clients must register anew, and do not know it
    std::set<mad::Guid> reregister_refused_;  ///< ports that are not asked again
    std::optional<base::Instant> reregister_due_;
    std::shared_ptr<const fabric::Fabric> settled_;  ///< last set up whole
    std::uint64_t settled_sweeps_ = 0;
    RebalanceState rebalance_;
    AcknowledgedPorts acknowledged_;
    std::set<std::pair<mad::Guid, mad::PortNum>> refusals_told_;  ///< since the configuration was read
    std::map<std::pair<mad::Guid, mad::PortNum>, std::uint32_t> slow_links_told_;  ///< and their Mb/s
    mad::Lid sm_lid_{};
    Election election_;
    std::uint32_t guard_waits_ = 0;
    bool shared_mastership_ = false;  ///< another master was at work beside this one, and is no more
    bool silence_met_ = false;        ///< the look before was ended by it
    bool orphans_met_ = false;        ///< standbys, and no master
    std::set<mad::Guid> heard_;       ///< SMs that asked for our SMInfo while we were discovering; 0: no name
    std::set<mad::Guid> looked_for_;  ///< SMs that made themselves heard, and for whom we have looked since
    std::vector<mad::Completion> sm_answers_;  ///< to be looked at
    mad::Guid poll_asked_{};                   ///< whom the poll under way asked
    std::uint64_t sm_answers_sent_ = 0;        ///< to questions for our SMInfo
    std::uint32_t trap_sends_left_ = 0;
    std::uint32_t trap_tid_ = 0x53000000;
    std::set<mad::Guid> untrusted_told_;
    bool stuck_told_ = false;
    std::string role_text_ = "not known yet";
    fabric::OtherSm role_whom_;  ///< whom the text names
    base::WallTime role_since_{};
    bool in_force_known_ = false;  ///< the last programming run ended without a table left in doubt

    // Storms. A switch that keeps telling is looked at every four seconds still: another port of it may have
    // news.
    HoldDown news_holds_{std::chrono::seconds{4}};   ///< who sends traps that ask for a look
    HoldDown told_holds_{std::chrono::minutes{10}};  ///< of whom traps are told, by trap number
    HoldDown link_holds_{std::chrono::seconds{30}};  ///< ports whose link changes
    std::optional<base::Instant> last_news_look_;
    std::map<mad::Guid, std::uint32_t> link_traps_;  ///< traps 128 of switches since they were last looked at
    std::optional<base::Instant>
        not_set_up_until_;  ///< the set-up of held links failed: when it is tried again
    LinkMemory link_memory_;
    std::vector<fabric::PortRef> ports_by_lid_;
    std::shared_ptr<const fabric::Fabric> ports_by_lid_of_;

    PortHealth health_;
    std::optional<base::Instant> health_due_;
    std::set<fabric::PortId> left_out_;           ///< policy wants their links out of routing
    std::set<fabric::PortId> left_out_in_force_;  ///< those that the last look at everything left out
    std::map<fabric::PortId, fabric::PortId> left_out_peers_;  ///< the other ends, as they were last seen
    std::map<fabric::PortId, std::string> stays_because_;      ///< those that cannot be spared, and why
    std::set<fabric::PortId> stays_told_;
    std::shared_ptr<const fabric::Fabric> disabled_in_;  ///< in which the last port was disabled
    std::map<fabric::PortId, PortOrder> port_orders_;    ///< to be given
    std::map<std::uint32_t, std::pair<fabric::PortId, PortOrder>> ordered_;  ///< given, not answered
    std::uint32_t orders_sent_ = 0;
    std::vector<mad::Completion> order_answers_;  ///< to be looked at
    /// Who is or was ill, and the port that is disabled for it, until that one is enabled.
    std::map<fabric::PortId, fabric::PortId> disabled_;
    std::shared_ptr<const std::vector<fabric::HealthRow>> health_rows_;
    EventLog events_;
    std::uint64_t traps_received_ = 0;

    std::string hold_because_;                     ///< empty: no hold mode
    std::shared_ptr<const routing::Routes> held_;  ///< in it: the SLs that were stored with tables in force
    std::size_t sls_unknown_ = 0;  ///< in it: switches whose paths have lanes, nobody knows which
    fabric::SmMode mode_ = fabric::SmMode::waiting;
    std::string mode_text_;
    std::uint64_t version_ = 0;
    fabric::SweepReport report_;
    bool sweeping_ = false;
    base::Instant sweep_begun_{};
    base::Instant phase_begun_{};
    std::uint64_t phase_mads_ = 0;
    std::uint64_t phase_sets_ = 0;
    std::uint64_t sweep_mads_ = 0;
    std::uint64_t sweep_timeouts_ = 0;
    std::uint64_t sets_sent_ = 0;
    base::Instant next_progress_{};
    std::vector<fabric::SweepReport> sweeps_;
    std::uint64_t last_sweep_id_ = 0;
};

}  // namespace ibf::sm
