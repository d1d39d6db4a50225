#include "routing/file_tables.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "routing/engine_tables.hpp"
#include "routing/lft_dump.hpp"

namespace ibf::routing {

namespace {

/// Who has which LIDs now.
class LidsNow {
public:
    explicit LidsNow(const Topology& topology) : in_use_(topology.max_lid + std::size_t{1}, 0) {
        for (const TopologySwitch& item : topology.switches) {
            add(item.guid, item.lids);
        }
        for (const TopologyEndPort& end : topology.end_ports) {
            add(end.port_guid, end.lids);
        }
    }

    /// The LID that an entry is for; kLidNone if nobody has it. An owner's LIDs (LMC) keep their order.
    [[nodiscard]] std::uint16_t find(mad::Guid owner, std::uint16_t lid) const {
        if (owner.value() == 0) {
            return lid < in_use_.size() && in_use_[lid] != 0 ? lid : std::uint16_t{0};
        }
        const auto found = by_owner_.find(owner);
        return found == by_owner_.end()
                   ? std::uint16_t{0}
                   : static_cast<std::uint16_t>(found->second.base.value() + lid % found->second.count());
    }

private:
    void add(mad::Guid owner, const mad::LidRange& lids) {
        for (std::uint32_t lid = lids.base.value(); lid < lids.end(); ++lid) {
            in_use_[lid] = 1;
        }
        if (lids.count() != 0) {
            by_owner_.emplace(owner, lids);
        }
    }

    std::vector<char> in_use_;
    std::map<mad::Guid, mad::LidRange> by_owner_;
};

/// One switch's row; `unknown` counts entries for LIDs that nobody has, or that its table cannot hold.
base::Result<LftRow> row_from(const LftDump::Table& table, const std::vector<mad::Guid>& owners,
                              const TopologySwitch& at, const LidsNow& lids, LftRow row,
                              std::uint64_t& unknown) {
    for (const LftDump::Entry& entry : table.entries) {
        const std::uint16_t lid = lids.find(owners[entry.owner], entry.lid);
        if (lid == 0 || lid >= at.lft_cap) {
            ++unknown;
            continue;
        }
        if (entry.port != mad::kLftDrop && entry.port > at.num_ports) {
            return base::fail(
                base::ErrorKind::unsupported,
                fmt::format("the file sends LID 0x{:04x} out of port {} of {} ({}), which has {} "
                            "ports: it is not of this fabric",
                            entry.lid, entry.port, at.name, at.guid, at.num_ports));
        }
        row[lid] = entry.port;
    }
    for (std::uint32_t own = at.lids.base.value(); own < std::min<std::uint32_t>(at.lids.end(), at.lft_cap);
         ++own) {
        row[own] = 0;
    }
    return row;
}

}  // namespace

base::Result<Routes> route_file(const Topology& topology, const Routes* /*previous*/,
                                const RouteOptions& options) {
    if (options.lfts == nullptr) {
        return base::fail(
            base::ErrorKind::unsupported,
            "no tables were given: name a dump of forwarding tables (lfts_file in the configuration, "
            "--lfts of ibfabric plan)");
    }
    std::map<mad::Guid, const LftDump::Table*> tables;
    for (const LftDump::Table& table : options.lfts->tables) {
        tables.emplace(table.switch_guid, &table);
    }
    const LidsNow lids(topology);
    const LftRow empty(lft_row_size(topology.max_lid), mad::kLftDrop);
    std::uint64_t unknown = 0;
    Routes routes;
    routes.engine = "file";
    for (const TopologySwitch& at : topology.switches) {
        const auto table = tables.find(at.guid);
        if (table == tables.end()) {
            return base::fail(
                base::ErrorKind::unsupported,
                fmt::format("the file has no table for switch {} ({}); it has {} tables, the fabric "
                            "{} switches",
                            at.name, at.guid, tables.size(), topology.switches.size()));
        }
        base::Result<LftRow> row = row_from(*table->second, options.lfts->owners, at, lids, empty, unknown);
        if (!row) {
            return tl::unexpected<base::Error>(row.error());
        }
        routes.switch_guids.push_back(at.guid);
        routes.rows.push_back(std::make_shared<const LftRow>(std::move(*row)));
    }
    if (unknown != 0) {
        routes.remark = fmt::format("{} entries of the file are for LIDs that nobody has", unknown);
    }
    return routes;
}

}  // namespace ibf::routing
