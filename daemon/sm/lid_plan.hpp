// DOC: which LID each port gets. Pure.
//
// Kept from the database, else from the fabric, else new (the lowest free, laid out by attachment: the hosts
// of one switch get consecutive LIDs, so that a leaf's hosts share LFT blocks). Two claims on one LID: the
// port that is in the database or was here in the last sweep keeps it, else the lower GUID; the newcomer
// moves. LIDs of ports that are away stay reserved until the space runs out. Base is a multiple of 2^lmc
// (IBA 7.11.1).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "daemon/fabric/fabric.hpp"

namespace ibf::sm {

struct LidPlan {
    fabric::LidMap lids;                    ///< every linked end port and every switch that could be served
    fabric::LidMap remembered;              ///< lids plus those of absent owners: goes to the database
    std::vector<fabric::PortRef> unserved;  ///< LID space exhausted
    std::vector<std::string>
        moves;  ///< one sentence per port whose LID in the fabric is not the planned one,
                ///< where it had a valid one (clash, other LMC, database says otherwise)
};

struct LidPolicy {
    std::uint8_t lmc = 0;
    bool lmc_on_enhanced_port0 = false;
};

/// What another master gave out goes before what we remember: `remembered`, with the LIDs that ports have now
/// in place of theirs, and without those of absent owners that stand in the way.
[[nodiscard]] fabric::LidMap adopt_lids(const fabric::Fabric& fabric, fabric::LidMap remembered);

/// `remembered`: owners in the database or the last plan.
[[nodiscard]] LidPlan plan_lids(const fabric::Fabric& fabric, const fabric::LidMap& remembered,
                                const LidPolicy& policy);

}  // namespace ibf::sm
