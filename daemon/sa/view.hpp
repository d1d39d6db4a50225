// DOC: a snapshot, made ready for queries.
//
// Built once for each snapshot whose fabric or tables are new, then shared by all queries on it. It finds
// ports by LID and GUID, and follows the tables in force hop by hop: a path's MTU and rate are those of the
// links that the packets take, not of a computed ideal. Immutable.
//
// On a large fabric a walk is a chain of cache misses, one for each switch, and nothing else counts. Two
// things make most of them needless without making an answer a guess:
// - The tables in force are the very ones that were proved, and every link they were proved for is up: then a
//   path between two hosts arrives, whichever it is.
// - Where no link between switches is narrower than what two hosts' own links allow, these decide, whichever
//   way the packets take.
// Where one of the two does not hold (tables half written, a link down since, a slow link inside) the tables
// are walked.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include <boost/unordered/unordered_flat_map.hpp>

#include "daemon/fabric/snapshot.hpp"
#include "mad/sa_rates.hpp"

namespace ibf::sa {

inline constexpr std::uint32_t kNoEnd = 0xFFFFFFFFU;

/// What a link or a path allows.
struct PathLimits {
    std::uint8_t mtu = 0;   ///< code
    std::uint8_t rate = 0;  ///< rank
    auto operator<=>(const PathLimits&) const = default;
};

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
    bool delivered = false;      ///< its switch's table leads all its LIDs to it
    PathLimits delivery;         ///< of that last link, as its switch has it
    std::uint32_t pkey_set = 0;  ///< index into View::pkey_sets
};

using mad::rank_of_code;
using mad::rate_code;
using mad::rate_rank;
[[nodiscard]] std::string rate_text(std::uint8_t code);  ///< "100 Gb/s"

struct WalkedPath {
    PathLimits limits;
    std::uint8_t links = 0;
};
/// Whether a path has to lead back as well.
enum class Ways : std::uint8_t { there, there_and_back };

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
    [[nodiscard]] const routing::LftRow* row(std::uint32_t switch_index) const {
        return tables_[switch_index].row;
    }

    /// Follows the tables from a port to a LID. Empty: it does not arrive.
    [[nodiscard]] std::optional<WalkedPath> walk(const End& from, mad::Lid to) const;
    /// What a path from `a` to `b` allows, as walk() would find it, mostly without a walk. `a` owns `a_lid`,
    /// `b` owns `b_lid`. Empty: it does not arrive.
    [[nodiscard]] std::optional<PathLimits> limits(const End& a, mad::Lid a_lid, const End& b, mad::Lid b_lid,
                                                   Ways ways) const;
    /// The SL that the routes give the paths from a port to a LID: 0..15.
    [[nodiscard]] std::uint8_t sl(const End& from, mad::Lid to) const;
    /// No switch on the way maps the SL to a lane that its exit port does not run, or to VL 15, as far as its
    /// mappings are known: there packets are dropped (IBA 7.6.6). REQUIRES: the path arrives.
    [[nodiscard]] bool carries(const End& from, mad::Lid to, std::uint8_t sl) const;

    /// The tables in force are the proved ones, on the links they were proved for.
    [[nodiscard]] bool proved() const { return proved_; }
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
        PathLimits limits;
    };
    static constexpr std::uint32_t kEndBit = 0x80000000U;
    /// A switch: its table in force and its links, by exit port.
    struct Table {
        const routing::LftRow* row = nullptr;
        const std::uint8_t* exits = nullptr;  ///< the row's bytes
        std::uint32_t size = 0;
        std::uint32_t first_hop = 0;
        std::uint32_t hops = 0;
        std::uint32_t component = 0;  ///< of switches that the proof saw linked
    };

    void add_ends();
    void add_end(fabric::PortRef at);
    void add_hops();
    void add_deliveries();
    void add_components();
    void add_floor();
    void add_service_levels();
    void add_barred();
    void add_barred_of(std::uint32_t switch_index, const fabric::LaneTables& tables);
    [[nodiscard]] bool in_force_as_proved() const;
    [[nodiscard]] bool arrives_unwalked(const End& from, const End& to) const;
    /// The link that the switch's table names for a LID; null: none that leads anywhere.
    [[nodiscard]] const Hop* hop(std::uint32_t switch_index, mad::Lid to) const;
    /// The switch's table says that the LID is its own.
    [[nodiscard]] bool keeps(std::uint32_t switch_index, mad::Lid to) const;
    [[nodiscard]] std::uint32_t intern(std::vector<mad::PKey> keys);

    std::shared_ptr<const fabric::Snapshot> snapshot_;
    std::shared_ptr<const fabric::Fabric> fabric_;  ///< never null
    std::vector<End> ends_;
    std::vector<std::uint32_t> end_by_lid_;
    boost::unordered_flat_map<std::uint64_t, std::uint32_t> end_by_guid_;
    std::unordered_multimap<std::uint64_t, std::uint32_t> end_by_node_;
    std::unordered_map<std::uint32_t, std::uint32_t> switch_of_node_;
    std::vector<Table> tables_;
    std::vector<Hop> hops_;
    PathLimits floor_{0xFF, 0xFF};  ///< no link between switches allows less
    bool proved_ = false;
    std::vector<const routing::SlRow*> service_levels_;  ///< by switch; empty: SL 0 everywhere
    std::uint16_t services_ = 1;                         ///< bit s: some path has SL s
    /// By (switch, input, exit): bit s: packets of SL s are dropped there. Mostly empty.
    boost::unordered_flat_map<std::uint64_t, std::uint16_t> barred_;
    std::vector<std::vector<mad::PKey>> pkey_sets_;
};

}  // namespace ibf::sa
