// DOC: what is drained, as the SM keeps it.
//
// The list (daemon/fabric/drain.hpp) with what comes of it for routing and for the database. Pure. It holds
// until undrained: neither a restart, nor the element's going and coming back, nor anything else ends it. A
// sweep tells it what is where now; it answers who was found in the place of a drained element, each once.
#pragma once

#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "daemon/fabric/drain.hpp"
#include "db/records.hpp"
#include "routing/drained.hpp"

namespace ibf::sm {

class DrainBook {
public:
    /// What was stored; what cannot be is left out.
    explicit DrainBook(const db::DrainsRecord& stored);

    /// False: it is there already, or there are kDrainsMax.
    [[nodiscard]] bool add(fabric::Drain drain);
    /// False: it is not there.
    [[nodiscard]] bool remove(mad::Guid node, mad::PortNum port);
    [[nodiscard]] const fabric::DrainList& list() const { return list_; }
    [[nodiscard]] const fabric::Drain* find(mad::Guid node, mad::PortNum port) const;
    [[nodiscard]] db::DrainsRecord record() const;

    /// What routing is to heed. `remembered`: the LIDs that switches had.
    [[nodiscard]] routing::Drained for_routing(const routing::Topology& topology,
                                               const fabric::LidMap& remembered) const;

    struct Sight {
        bool changed = false;  ///< what is remembered of a place
        std::vector<std::pair<fabric::Drain, fabric::Substitute>> substitutes;  ///< not told before
    };
    [[nodiscard]] Sight look(const fabric::Fabric& fabric);

private:
    fabric::DrainList list_;
    std::map<std::pair<mad::Guid, mad::PortNum>, mad::Guid> told_;  ///< the substitute, by element
};

}  // namespace ibf::sm
