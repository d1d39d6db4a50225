// DOC: what is remembered.
//
// Plain values that cross from the core to the database and, at start, back. No SQL here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/time.hpp"
#include "mad/ids.hpp"

namespace ibf::db {

struct NodeRow {
    mad::Guid guid{};
    mad::NodeType type = mad::NodeType::ca;
    std::string description;
    std::uint8_t num_ports = 0;
    std::uint32_t vendor_id = 0;
    std::uint16_t device_id = 0;
};
struct PortRow {
    mad::Guid node_guid{};
    mad::PortNum port{};
    mad::Guid port_guid{};
    std::uint8_t state = 0;
    std::uint8_t phys_state = 0;
    std::uint32_t width_lanes = 0;
    std::string speed;
    std::uint32_t mtu_bytes = 0;
};
struct LinkRow {
    mad::Guid a_guid{};
    mad::PortNum a_port{};
    mad::Guid b_guid{};
    mad::PortNum b_port{};
};
/// The whole fabric as seen by one sweep; replaces the previous nodes, ports and links in one transaction. Or
/// a part of it: what is known of some nodes, their cables included; replaces that.
struct FabricRecord {
    std::optional<std::vector<mad::Guid>> of;  ///< a part, of these nodes: one without a row is gone
    std::vector<NodeRow> nodes;
    std::vector<PortRow> ports;
    std::vector<LinkRow> links;
};
/// LIDs by owner GUID; replaces all.
struct LidsRecord {
    std::map<mad::Guid, mad::LidRange> lids;
};
/// The table in force in one switch, as acknowledged.
struct TableRecord {
    mad::Guid switch_guid{};
    std::uint16_t linear_fdb_top = 0;
    std::shared_ptr<const std::vector<std::uint8_t>> lft;
    std::string engine;  ///< the routing engine it came from
};
/// What an exit port acknowledged of lane tables, as a fingerprint; an adapter's exit is 0.
struct LaneRow {
    mad::Guid owner{};  ///< lid_owner
    mad::PortNum exit{};
    std::uint64_t print = 0;
};
/// Lane tables in force; replaces all.
struct LanesRecord {
    std::vector<LaneRow> rows;
};
/// A switch (port 0), or the cable at a port of one, that an operator has drained.
struct DrainRow {
    mad::Guid node{};
    mad::PortNum port{};
    std::string name;
    std::int64_t since_ms = 0;
    std::uint8_t forced = 0;
};
/// Where a port of a drained switch was last seen cabled to.
struct DrainCableRow {
    mad::Guid node{};
    mad::PortNum port{};
    mad::Guid peer{};
    mad::PortNum peer_port{};
};
/// How many elements can be drained at a time.
inline constexpr std::size_t kDrainsMost = 1024;
/// What is drained; replaces all.
struct DrainsRecord {
    std::vector<DrainRow> drains;
    std::vector<DrainCableRow> cables;
};
/// The switch's stored table can no longer be trusted (it is about to be written, or was reset).
struct TableForgetRecord {
    mad::Guid switch_guid{};
};
struct SweepRecord {
    std::uint64_t id = 0;
    std::string scope;
    std::string reasons;  ///< joined by "; "
    base::WallTime started{};
    base::Duration time{};
    std::string phases_json;  ///< [{"name","seconds","mads","sets"}]
    std::uint64_t mads = 0;
    std::string outcome;
};
struct EventRow {
    std::uint64_t id = 0;
    base::WallTime time{};
    std::uint8_t severity = 0;
    std::string kind;
    std::string text;
    mad::Guid guid{};
    mad::PortNum port{};
};
/// What clients left with the SA (groups, services, subscriptions), as text of the SA's.
struct SaStateRecord {
    std::string text;
};
/// Written last on a clean stop, removed first at start. Only with it are stored tables believed.
struct CleanStopRecord {
    bool clean = false;
    mad::Lid sm_lid{};
};

using Record = std::variant<FabricRecord, LidsRecord, TableRecord, TableForgetRecord, SweepRecord, EventRow,
                            SaStateRecord, LanesRecord, DrainsRecord, CleanStopRecord>;
/// One transaction.
using Batch = std::vector<Record>;

/// All that a start reads back.
struct Stored {
    std::map<mad::Guid, mad::LidRange> lids;
    std::map<mad::Guid, TableRecord> tables;
    std::vector<LaneRow> lanes;
    DrainsRecord drains;
    std::string sa_state;
    std::optional<std::uint64_t>
        sa_edition;           ///< of the state with what clients were told last; from the EditionMark
    bool clean_stop = false;  ///< marker as it was before this start removed it
    mad::Lid sm_lid{};
    std::uint64_t last_sweep_id = 0;
    std::uint64_t last_event_id = 0;
    std::vector<EventRow> events;  ///< newest first, at most 200
};

}  // namespace ibf::db
