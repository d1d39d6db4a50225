// DOC: from plan to acknowledged.
//
// Walks the ordered stages of one programming run, hands out Set requests (next) and takes their completions
// (on). A stage begins when every request of the one before has ended. What a device acknowledged is noted in
// the Fabric and in the rows in force; what it refused or did not answer marks that device and the run goes
// on.
//
// Stages: switch set-up (SwitchInfo, port 0) - P_Keys - lane tables that the routes need - LFT entries
// through drop - LFT blocks - MFT blocks that somebody left behind, emptied - MFT entries of groups whose
// tree moves through empty - MFT blocks - configure and arm - lane tables of devices whose links had no
// OperationalVLs before - activate - recheck (ports of switches whose change bit could only be cleared after
// their ports had been read). Runs between sweeps take some of them alone: multicast groups, tables, or the
// last stage, that asks hosts to register with the SA anew.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "daemon/fabric/fabric.hpp"
#include "daemon/sm/config.hpp"
#include "daemon/sm/lane_setup.hpp"
#include "daemon/sm/lft_plan.hpp"
#include "daemon/sm/mft_plan.hpp"
#include "daemon/sm/port_plan.hpp"
#include "daemon/sm/tag.hpp"
#include "mad/transactions.hpp"

namespace ibf::sm {

/// Fingerprints of port set-ups that a device acknowledged, by port GUID or (switch GUID, port): some devices
/// answer with other values than were set, and asking again each sweep would never end.
using AcknowledgedPorts = std::unordered_map<std::uint64_t, std::uint64_t>;

/// Which stages a run has.
enum class RunScope : std::uint8_t {
    whole,       ///< all but `reregister`
    groups,      ///< members came or went: multicast tables alone are written, and their top
    reregister,  ///< hosts are asked to register anew, nothing else
    tables,      ///< re-balanced tables on a fabric that is set up: what LFTs need, nothing else
};

struct ProgramInput {
    std::shared_ptr<fabric::Fabric> fabric;
    std::shared_ptr<const fabric::TopologyView> view;
    std::shared_ptr<const routing::Routes> routes;  ///< null: no switch to program
    RowsInForce in_force;                           ///< by SwitchIndex
    /// Switches that forward by tables which could not be read, by SwitchIndex: emptied before anything else
    /// is written.
    std::set<std::uint32_t> unreadable;
    std::set<mad::Guid> clear_change;  ///< switches whose change bit is still set
    std::set<mad::Guid> strange_mft;   ///< switches that may hold multicast entries which are not ours
    fabric::LidMap lids;
    mad::Lid sm_lid{};
    std::uint16_t max_lid = 0;  ///< the highest that is forwarded; a host that is away may have it
    std::shared_ptr<const SmConfig> config;
    MftRows groups_in_force;                 ///< by SwitchIndex, as acknowledged
    MftRows groups;                          ///< as wanted
    std::set<std::uint32_t> groups_unknown;  ///< switches whose multicast table holds nobody knows what
    std::vector<LaneJob> lanes;              ///< lane tables that the routes need
    /// Nodes whose ports are looked at; nullopt: all. Those of the others are as they shall be.
    std::optional<std::vector<std::uint32_t>> nodes;
    RunScope scope = RunScope::whole;
    /// Adapters' ports whose clients must register anew. In a whole run they are left as they are: a run of
    /// that scope tells them this SM's LID and asks them in one Set. Ascending.
    std::vector<fabric::PortRef> reregister;
    AcknowledgedPorts* acknowledged = nullptr;
    std::uint16_t epoch = 0;
};

struct ProgramFailure {
    fabric::PortRef at;
    std::string text;
};

class Programmer {
public:
    enum class Stage : std::uint8_t {
        switches,
        pkeys,
        lanes,
        lft_drop,
        lft,
        mft,
        group_drop,
        groups,
        arm,
        lanes_of_new_links,
        activate,
        recheck,
        reregister,
        done
    };

    explicit Programmer(ProgramInput input);

    [[nodiscard]] std::optional<mad::Request> next();
    void on(const mad::Completion& completion);
    /// Moves to the next stage when this one has ended. True while there is work.
    [[nodiscard]] bool advance();
    [[nodiscard]] Stage stage() const { return stage_; }
    [[nodiscard]] static std::string_view name(Stage stage);

    /// Rows that every block was acknowledged for; null where one was not.
    [[nodiscard]] RowsInForce rows_in_force() const;
    [[nodiscard]] const std::vector<ProgramFailure>& failures() const { return failures_; }
    /// Of the switches with strange multicast entries those that hold none any more.
    [[nodiscard]] std::set<mad::Guid> mft_emptied() const;
    /// Policy that a port cannot follow.
    [[nodiscard]] const std::vector<ProgramFailure>& refusals() const { return refusals_; }
    [[nodiscard]] const std::vector<ProgramFailure>& surprises() const { return surprises_; }
    [[nodiscard]] std::uint64_t lft_blocks() const { return lft_blocks_; }
    [[nodiscard]] std::uint64_t lft_blocks_planned() const { return plan_.writes.size(); }
    /// Blocks written once more before that, with entries that lead through drop.
    [[nodiscard]] std::uint64_t lft_drops() const { return lft_drops_; }
    [[nodiscard]] std::uint64_t port_sets() const { return port_sets_; }
    [[nodiscard]] std::uint64_t pkey_sets() const { return pkey_sets_; }
    [[nodiscard]] std::uint64_t bounces() const { return bounces_; }
    [[nodiscard]] const LaneSetup& lanes() const { return lanes_; }
    /// Owners that refused an optimised SL2VL Set.
    [[nodiscard]] const std::set<mad::Guid>& row_by_row() const { return row_by_row_; }
    [[nodiscard]] RunScope scope() const { return input_.scope; }
    /// Ports that did not answer when they were asked to register anew.
    [[nodiscard]] const std::vector<fabric::PortRef>& not_reregistered() const { return not_reregistered_; }
    /// Multicast tables by SwitchIndex; empty where a block was not acknowledged.
    [[nodiscard]] std::vector<std::optional<MftRow>> groups_in_force() const;
    [[nodiscard]] std::uint64_t mft_blocks() const { return mft_blocks_; }

private:
    /// Position of a walk over the ports of nodes_, port-major so that many devices work at once.
    struct PortWalk {
        std::size_t place = 0;
        std::uint32_t port = 0;
    };

    [[nodiscard]] static Stage first_stage(RunScope scope);
    void begin(Stage stage);
    void empty_unreadable();
    std::optional<mad::Request> next_switch();
    std::optional<mad::Request> next_pkey();
    std::optional<mad::Request> next_lane();
    void on_lane(const Tag& tag, const mad::Completion& completion);
    std::optional<mad::Request> next_lft();
    std::optional<mad::Request> next_mft();
    void on_mft(fabric::PortRef ref, const mad::Completion& completion);
    [[nodiscard]] bool stops_multicast(const fabric::Node& node) const;
    [[nodiscard]] bool beyond_table(const MftWrite& write) const;
    std::optional<mad::Request> next_group_block();
    void on_group_block(const Tag& tag, const mad::Completion& completion);
    [[nodiscard]] bool left_out(Stage stage) const;
    std::optional<mad::Request> next_reregister();
    void on_reregister(fabric::PortRef ref, const mad::Completion& completion);
    std::optional<mad::Request> next_port();
    std::optional<mad::Request> port_request(fabric::PortRef ref);
    std::optional<mad::Request> arm_request(fabric::PortRef ref);
    std::optional<mad::Request> activate_request(fabric::PortRef ref);
    std::optional<mad::Request> recheck_request(fabric::PortRef ref);
    std::optional<mad::Request> switch_info_request(std::uint32_t node);
    std::optional<mad::Request> port0_request(std::uint32_t node);
    [[nodiscard]] mad::Request make(Ask what, fabric::PortRef ref, mad::Attribute attribute,
                                    std::uint32_t modifier, const mad::AttributeData& data) const;
    [[nodiscard]] mad::Request port_set(Ask what, fabric::PortRef ref, mad::PortInfo set) const;
    [[nodiscard]] std::optional<mad::Request> next_of_stage();
    [[nodiscard]] std::pair<std::uint32_t, std::uint8_t> agent_of(const mad::Request& request) const;
    void skip(const mad::Request& request);
    void on_active_check(fabric::PortRef ref, const mad::Completion& completion);
    void on_bounce(fabric::PortRef ref, const mad::Completion& completion);
    [[nodiscard]] bool both_ends(fabric::PortRef ref) const;
    [[nodiscard]] PortTarget target_of(fabric::PortRef ref) const;
    [[nodiscard]] bool set_later(fabric::PortRef ref, const PortTarget& target) const;
    [[nodiscard]] bool acknowledged(fabric::PortRef ref, const PortTarget& target) const;
    [[nodiscard]] std::uint64_t memory_key(fabric::PortRef ref) const;
    [[nodiscard]] std::uint16_t top_for(const fabric::Node& node) const;
    void on_port_set(const Tag& tag, fabric::PortRef ref, const mad::Completion& completion);
    void on_recheck(fabric::PortRef ref, const mad::Completion& completion);
    [[nodiscard]] std::vector<std::uint16_t> held_in(std::uint16_t block) const;
    void on_lft_drop(std::uint32_t position, const mad::Completion& completion);
    void on_lft(std::uint32_t write, const mad::Completion& completion);
    void fail(fabric::PortRef at, std::string text);
    [[nodiscard]] static std::string describe(const mad::Completion& completion);
    [[nodiscard]] std::string place(fabric::PortRef ref) const;

    ProgramInput input_;
    LftPlan plan_;
    LaneSetup lanes_;
    std::set<mad::Guid> row_by_row_;
    std::set<std::uint16_t> held_blocks_;  ///< blocks of which some switch did not take its drop
    Stage stage_ = Stage::switches;
    std::size_t cursor_ = 0;
    PortWalk walk_;
    std::vector<std::uint32_t> nodes_;  ///< whose ports are looked at
    std::uint32_t widest_ = 0;          ///< most ports of any node
    std::vector<mad::Request> spill_;   ///< further requests of the item at the cursor, last first
    std::size_t open_ = 0;
    std::vector<std::uint32_t> blocks_missing_;  ///< by SwitchIndex: planned and not acknowledged
    std::set<fabric::PortRef> set_this_run_;     ///< only filled for nodes that will be rechecked
    std::uint32_t mft_block_ = 0;  ///< next one to read of the switch at the cursor, over all positions
    MftPlan groups_plan_;
    std::uint16_t multicast_top_ = mad::kMulticastTopNone;  ///< the highest MLID that any switch forwards
    std::set<std::uint32_t> groups_doubtful_;               ///< switches that did not take a block
    std::uint64_t mft_blocks_ = 0;
    std::set<mad::Guid> mft_doubtful_;  ///< a block could not be read or emptied
    /// Agents (agent_of) that did not answer: nothing more is asked of them.
    std::set<std::pair<std::uint32_t, std::uint8_t>> gone_;
    std::map<fabric::PortRef, std::string> active_refused_;  ///< why, until the port has said what it is
    std::vector<fabric::PortRef> not_reregistered_;
    std::vector<ProgramFailure> failures_;
    std::vector<ProgramFailure> refusals_;
    std::vector<ProgramFailure> surprises_;  ///< states that are not what discovery saw: sweep again
    std::uint64_t lft_blocks_ = 0;
    std::uint64_t lft_drops_ = 0;
    std::uint64_t port_sets_ = 0;
    std::uint64_t pkey_sets_ = 0;
    std::uint64_t bounces_ = 0;
};

}  // namespace ibf::sm
