// DOC: tables whose rows are replaced as a whole: their statements, and their columns as fields of a row.
//
// For database.cpp alone, which runs them.
#pragma once

#include <cstddef>
#include <tuple>

#include "db/records.hpp"

namespace ibf::db {

struct LidRow {
    mad::Guid guid{};
    mad::Lid base{};
    std::uint8_t lmc = 0;
};

/// Columns in the order of the table; the first `kKey` are its primary key.
template <class Row>
struct TableOf;

template <>
struct TableOf<NodeRow> {
    static constexpr std::size_t kKey = 1;
    static constexpr const char* kSelect = "SELECT * FROM node ORDER BY guid";
    static constexpr const char* kPut = "REPLACE INTO node VALUES (?, ?, ?, ?, ?, ?)";
    static constexpr const char* kErase = "DELETE FROM node WHERE guid = ?";
    static auto columns(auto& row) {
        return std::tie(row.guid, row.type, row.description, row.num_ports, row.vendor_id, row.device_id);
    }
};
template <>
struct TableOf<PortRow> {
    static constexpr std::size_t kKey = 2;
    static constexpr const char* kSelect = "SELECT * FROM port ORDER BY node_guid, port";
    static constexpr const char* kPut = "REPLACE INTO port VALUES (?, ?, ?, ?, ?, ?, ?, ?)";
    static constexpr const char* kErase = "DELETE FROM port WHERE node_guid = ? AND port = ?";
    static auto columns(auto& row) {
        return std::tie(row.node_guid, row.port, row.port_guid, row.state, row.phys_state, row.width_lanes,
                        row.speed, row.mtu_bytes);
    }
};
template <>
struct TableOf<LinkRow> {
    static constexpr std::size_t kKey = 2;
    static constexpr const char* kSelect = "SELECT * FROM link ORDER BY a_guid, a_port";
    static constexpr const char* kPut = "REPLACE INTO link VALUES (?, ?, ?, ?)";
    static constexpr const char* kErase = "DELETE FROM link WHERE a_guid = ? AND a_port = ?";
    static auto columns(auto& row) { return std::tie(row.a_guid, row.a_port, row.b_guid, row.b_port); }
};
template <>
struct TableOf<LidRow> {
    static constexpr std::size_t kKey = 1;
    static constexpr const char* kSelect = "SELECT * FROM lid ORDER BY guid";
    static constexpr const char* kPut = "REPLACE INTO lid VALUES (?, ?, ?)";
    static constexpr const char* kErase = "DELETE FROM lid WHERE guid = ?";
    static auto columns(auto& row) { return std::tie(row.guid, row.base, row.lmc); }
};

template <>
struct TableOf<LaneRow> {
    static constexpr std::size_t kKey = 2;
    static constexpr const char* kSelect = "SELECT * FROM lane ORDER BY owner, exit";
    static constexpr const char* kPut = "REPLACE INTO lane VALUES (?, ?, ?)";
    static constexpr const char* kErase = "DELETE FROM lane WHERE owner = ? AND exit = ?";
    static auto columns(auto& row) { return std::tie(row.owner, row.exit, row.print); }
};

template <>
struct TableOf<DrainRow> {
    static constexpr std::size_t kKey = 2;
    static constexpr const char* kSelect = "SELECT * FROM drain ORDER BY node, port";
    static constexpr const char* kPut = "REPLACE INTO drain VALUES (?, ?, ?, ?, ?)";
    static constexpr const char* kErase = "DELETE FROM drain WHERE node = ? AND port = ?";
    static auto columns(auto& row) {
        return std::tie(row.node, row.port, row.name, row.since_ms, row.forced);
    }
};
template <>
struct TableOf<DrainCableRow> {
    static constexpr std::size_t kKey = 2;
    static constexpr const char* kSelect = "SELECT * FROM drain_cable ORDER BY node, port";
    static constexpr const char* kPut = "REPLACE INTO drain_cable VALUES (?, ?, ?, ?)";
    static constexpr const char* kErase = "DELETE FROM drain_cable WHERE node = ? AND port = ?";
    static auto columns(auto& row) { return std::tie(row.node, row.port, row.peer, row.peer_port); }
};

}  // namespace ibf::db
