// DOC: a snapshot, made ready for queries.
//
// Built once for each snapshot whose fabric or tables are new, then shared by all queries on it. It finds
// ports by LID and GUID, and follows the tables in force hop by hop: a path's MTU and rate are those of the
// links that the packets take, not of a computed ideal. Immutable.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "daemon/fabric/snapshot.hpp"
#include "mad/sa_rates.hpp"

namespace ibf::sa {

inline constexpr std::uint32_t kNoEnd = 0xFFFFFFFFU;

/// A port with a LID: a CA or router port, or a switch's port 0.
struct End {
    fabric::PortRef at;
    mad::Guid guid{};  ///< lid_owner: port GUID, of a switch the node GUID
    mad::Guid node_guid{};
    mad::LidRange lids;
    std::uint32_t switch_index =
        routing::kNoIndex;       ///< attached switch, or the switch itself; kNoIndex: back to back
    mad::PortNum switch_port{};  ///< its port there; 0 for the switch itself
    std::uint8_t mtu = 0;        ///< code, of the link by which it is attached
    std::uint8_t rate = 0;       ///< rank (mad/sa_rates), likewise
    bool is_switch = false;
    std::uint32_t pkey_set = 0;  ///< index into View::pkey_sets
};

using mad::rank_of_code;
using mad::rate_code;
using mad::rate_rank;
[[nodiscard]] std::string rate_text(std::uint8_t code);  ///< "100 Gb/s"

struct PathLimits {
    std::uint8_t mtu = 0;   ///< code
    std::uint8_t rate = 0;  ///< rank
    std::uint8_t links = 0;
};

/// Whether ports with these P_Keys may speak with each other: the same 15 bits, one of the two a full member
/// (IBA 10.9.3).
[[nodiscard]] bool share_partition(std::span<const mad::PKey> ours, std::span<const mad::PKey> theirs);

class View {
public:
    explicit View(std::shared_ptr<const fabric::Snapshot> snapshot);

    [[nodiscard]] const fabric::Snapshot& snapshot() const { return *snapshot_; }
    [[nodiscard]] const fabric::Fabric& fabric() const { return *fabric_; }
    [[nodiscard]] const std::vector<End>& ends() const { return ends_; }
    [[nodiscard]] std::uint32_t by_lid(mad::Lid lid) const;     ///< kNoEnd if nobody has it
    [[nodiscard]] std::uint32_t by_guid(mad::Guid guid) const;  ///< port GUID, of a switch its node GUID
    [[nodiscard]] std::vector<std::uint32_t> by_node_guid(mad::Guid guid) const;
    /// The switch's row in force; null: none known.
    [[nodiscard]] const routing::LftRow* row(std::uint32_t switch_index) const { return rows_[switch_index]; }

    /// Follows the tables from a port to a LID. Empty: it does not arrive.
    [[nodiscard]] std::optional<PathLimits> walk(const End& from, mad::Lid to) const;
    /// The links from a port to a LID as (node, exit port), the source first. Empty: it does not arrive.
    [[nodiscard]] std::vector<fabric::PortRef> trace(const End& from, mad::Lid to) const;

    /// A P_Key that both may use together: the same 15 bits, one of the two a full member (IBA 10.9.3); the
    /// default partition before others. With `asked`, only that partition. 0: none.
    [[nodiscard]] mad::PKey shared_pkey(const End& a, const End& b, std::optional<mad::PKey> asked) const;
    [[nodiscard]] const std::vector<mad::PKey>& pkeys(const End& end) const {
        return pkey_sets_[end.pkey_set];
    }

private:
    struct Hop {
        std::uint32_t next = routing::kNoIndex;  ///< SwitchIndex, or end with kEndBit
        std::uint8_t mtu = 0;
        std::uint8_t rate = 0;
    };
    static constexpr std::uint32_t kEndBit = 0x80000000U;

    void add_ends();
    void add_end(fabric::PortRef at);
    void add_hops();
    [[nodiscard]] std::uint32_t intern(std::vector<mad::PKey> keys);

    std::shared_ptr<const fabric::Snapshot> snapshot_;
    std::shared_ptr<const fabric::Fabric> fabric_;  ///< never null
    std::vector<End> ends_;
    std::vector<std::uint32_t> end_by_lid_;
    std::unordered_map<std::uint64_t, std::uint32_t> end_by_guid_;
    std::unordered_multimap<std::uint64_t, std::uint32_t> end_by_node_;
    std::unordered_map<std::uint32_t, std::uint32_t> switch_of_node_;
    std::vector<const routing::LftRow*> rows_;
    std::vector<std::uint32_t> hop_base_;
    std::vector<Hop> hops_;
    std::vector<std::vector<mad::PKey>> pkey_sets_;
};

}  // namespace ibf::sa
