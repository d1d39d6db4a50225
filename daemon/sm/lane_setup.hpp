// DOC: the lanes of a multi-lane engine, before its tables.
//
// Routes that need several lanes are only as safe as the SL to VL mappings in the switches: they are written
// before the first table that counts on them. What a device is to hold follows from the routes alone
// (Routes::lane at its switch; an adapter spreads SLs over the lanes that it has). A port without a link gets
// nothing until it has one. Single-lane routes want nothing: what would lose SL 0 is mended by the survey
// (lane_survey). A switch that has no mappings is named; an adapter without them has one lane, which will do.
//
// A job is one device's Sets, the shortest way first: one for the whole switch, one for an exit port, one for
// a pair of ports (IBA 14.2.5.8). They go out one at a time a device: an agent may take long to fill its
// mappings. What an exit port was given and acknowledged is remembered by a fingerprint, so that a sweep over
// an unchanged fabric, a link that comes back, or a restart that trusts its stored tables writes nothing.
//
// A mapping can only name lanes that the exit port runs, so devices of which a link is still to be set up get
// theirs after OperationalVLs were written, before the links carry traffic; all others before any table.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "daemon/fabric/fabric.hpp"
#include "daemon/sm/config.hpp"
#include "daemon/sm/lane_plan.hpp"
#include "routing/routes.hpp"

namespace ibf::sm {

/// What exit ports acknowledged, by a fingerprint of all that is in force there; an adapter's exit is 0.
using LanePrints = std::map<std::uint8_t, std::uint64_t>;
/// By lid_owner.
using LanesAcknowledged = std::map<mad::Guid, LanePrints>;

/// What one device is to hold, and how it gets there.
struct LaneJob {
    fabric::PortRef at;  ///< switch port 0, or a port of an adapter or router
    mad::Guid owner{};   ///< lid_owner
    std::vector<LaneWrite> writes;
    LanePrints prints;       ///< of all exits, as they are once the writes were taken
    bool lanes_due = false;  ///< some port's OperationalVLs are still to be set
    std::string lacking;     ///< what it cannot hold; empty: nothing
};

struct LaneSetupInput {
    const fabric::Fabric& fabric;
    const fabric::TopologyView& view;
    const routing::Routes& routes;
    const SmConfig& config;
    const LanesAcknowledged& acknowledged;
    const std::set<mad::Guid>& row_by_row;  ///< owners that refuse optimised Sets
};
/// The jobs of all devices with an exit that did not acknowledge what it shall hold. None for single-lane
/// routes.
[[nodiscard]] std::vector<LaneJob> plan_lane_setup(const LaneSetupInput& input);

/// Hands the writes of many devices out, one at a time for each.
class LaneSetup {
public:
    LaneSetup() = default;
    explicit LaneSetup(std::vector<LaneJob> jobs);

    /// Job number and write; empty: nothing left, or every device with something left has a Set open.
    [[nodiscard]] std::optional<std::pair<std::uint32_t, LaneWrite>> next();
    void took(std::uint32_t job);
    /// Refused or not answered: nothing more is asked of it.
    void failed(std::uint32_t job);
    /// Jobs whose ports have their lanes by now may begin too.
    void begin_rest();

    [[nodiscard]] const LaneJob& job(std::uint32_t index) const { return jobs_[index]; }
    [[nodiscard]] const std::vector<LaneJob>& jobs() const { return jobs_; }
    /// Takes over what was acknowledged; what is in doubt is forgotten.
    void keep(LanesAcknowledged& out) const;
    [[nodiscard]] std::uint64_t sets() const { return sets_; }

private:
    std::vector<LaneJob> jobs_;
    std::vector<std::size_t> taken_;  ///< by job: writes acknowledged
    std::deque<std::uint32_t> ready_;
    std::uint64_t sets_ = 0;
};

}  // namespace ibf::sm
