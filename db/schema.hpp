// DOC: the schema of the database, step by step.
//
// What SQLite is given to bring a file from one user_version to the next; database.cpp runs it.
#pragma once

#include <array>

#include "db/database.hpp"

namespace ibf::db {

// Step n takes a file of user_version n to n + 1. Steps that were released never change; add one and raise
// kSchemaVersion. Tables are for the daemon, views for people: GUIDs in hex, times in UTC.
inline constexpr std::array<const char*, kSchemaVersion> kMigrations{
    R"(
CREATE TABLE node (guid INTEGER PRIMARY KEY, type INTEGER NOT NULL, description TEXT NOT NULL,
    num_ports INTEGER NOT NULL, vendor_id INTEGER NOT NULL, device_id INTEGER NOT NULL) STRICT;
CREATE TABLE port (node_guid INTEGER NOT NULL, port INTEGER NOT NULL, port_guid INTEGER NOT NULL,
    state INTEGER NOT NULL, phys_state INTEGER NOT NULL, width_lanes INTEGER NOT NULL, speed TEXT NOT NULL,
    mtu_bytes INTEGER NOT NULL, PRIMARY KEY (node_guid, port)) STRICT, WITHOUT ROWID;
CREATE TABLE link (a_guid INTEGER NOT NULL, a_port INTEGER NOT NULL, b_guid INTEGER NOT NULL,
    b_port INTEGER NOT NULL, PRIMARY KEY (a_guid, a_port)) STRICT, WITHOUT ROWID;
CREATE TABLE lid (guid INTEGER PRIMARY KEY, base INTEGER NOT NULL, lmc INTEGER NOT NULL) STRICT;
CREATE TABLE lft (switch_guid INTEGER PRIMARY KEY, linear_fdb_top INTEGER NOT NULL,
    entries BLOB NOT NULL, engine TEXT NOT NULL) STRICT;
CREATE TABLE sweep (id INTEGER PRIMARY KEY, scope TEXT NOT NULL, reasons TEXT NOT NULL,
    started_ms INTEGER NOT NULL,
    time_ns INTEGER NOT NULL, phases TEXT NOT NULL, mads INTEGER NOT NULL, outcome TEXT NOT NULL) STRICT;
CREATE TABLE event (id INTEGER PRIMARY KEY, time_ms INTEGER NOT NULL, severity INTEGER NOT NULL,
    kind TEXT NOT NULL,
    text TEXT NOT NULL, guid INTEGER NOT NULL, port INTEGER NOT NULL) STRICT;
CREATE TABLE daemon (only_row INTEGER PRIMARY KEY CHECK (only_row = 1), clean_stop INTEGER NOT NULL,
    sm_lid INTEGER NOT NULL) STRICT;
INSERT INTO daemon VALUES (1, 0, 0);

CREATE VIEW nodes AS SELECT printf('0x%016x', guid) AS guid,
    CASE type WHEN 1 THEN 'CA' WHEN 2 THEN 'Switch' WHEN 3 THEN 'Router' END AS type, description, num_ports,
    printf('0x%06x', vendor_id) AS vendor_id, device_id FROM node;
CREATE VIEW ports AS SELECT printf('0x%016x', node_guid) AS node_guid, port,
    printf('0x%016x', port_guid) AS port_guid,
    state, phys_state, width_lanes, speed, mtu_bytes FROM port;
CREATE VIEW links AS SELECT printf('0x%016x', a_guid) AS a_guid, a_port,
    printf('0x%016x', b_guid) AS b_guid, b_port
    FROM link;
CREATE VIEW lids AS SELECT printf('0x%016x', guid) AS guid, base, lmc FROM lid;
CREATE VIEW sweeps AS SELECT id, scope, reasons, strftime('%Y-%m-%dT%H:%M:%fZ', started_ms / 1000.0,
    'unixepoch')
    AS started, time_ns / 1e9 AS seconds, mads, outcome, phases FROM sweep;
CREATE VIEW events AS SELECT id, strftime('%Y-%m-%dT%H:%M:%fZ', time_ms / 1000.0, 'unixepoch') AS time,
    severity, kind,
    text, printf('0x%016x', guid) AS guid, port FROM event;
)",
    R"(
CREATE TABLE sa (only_row INTEGER PRIMARY KEY CHECK (only_row = 1), state TEXT NOT NULL) STRICT;
INSERT INTO sa VALUES (1, '');
)",
    R"(
CREATE TABLE lane (owner INTEGER NOT NULL, exit INTEGER NOT NULL, print INTEGER NOT NULL,
    PRIMARY KEY (owner, exit)) STRICT, WITHOUT ROWID;
)",
    R"(
CREATE TABLE drain (node INTEGER NOT NULL, port INTEGER NOT NULL, name TEXT NOT NULL, since_ms INTEGER NOT NULL,
    forced INTEGER NOT NULL, PRIMARY KEY (node, port)) STRICT, WITHOUT ROWID;
CREATE TABLE drain_cable (node INTEGER NOT NULL, port INTEGER NOT NULL, peer INTEGER NOT NULL,
    peer_port INTEGER NOT NULL, PRIMARY KEY (node, port)) STRICT, WITHOUT ROWID;
CREATE VIEW drains AS SELECT printf('0x%016x', node) AS switch_guid, port, name,
    strftime('%Y-%m-%dT%H:%M:%fZ', since_ms / 1000.0, 'unixepoch') AS since, forced FROM drain;
)",
    R"(
ALTER TABLE lft ADD COLUMN sls BLOB NOT NULL DEFAULT x'';
)",
    R"(
CREATE TABLE probe_run (id INTEGER PRIMARY KEY, uid INTEGER NOT NULL, asked_by TEXT NOT NULL,
    command TEXT NOT NULL, tables TEXT NOT NULL, begun_ms INTEGER NOT NULL, ended_ms INTEGER NOT NULL,
    interrupted INTEGER NOT NULL, link_directions INTEGER NOT NULL, crossed INTEGER NOT NULL,
    planned INTEGER NOT NULL, proved INTEGER NOT NULL, flows INTEGER NOT NULL, findings INTEGER NOT NULL) STRICT;
CREATE TABLE probe_flow (run INTEGER NOT NULL, number INTEGER NOT NULL, round INTEGER NOT NULL,
    from_guid INTEGER NOT NULL, from_port INTEGER NOT NULL, from_name TEXT NOT NULL,
    to_guid INTEGER NOT NULL, to_port INTEGER NOT NULL, to_name TEXT NOT NULL, lid INTEGER NOT NULL,
    verdict TEXT NOT NULL, p50_ns INTEGER NOT NULL, p99_ns INTEGER NOT NULL, max_ns INTEGER NOT NULL,
    bits_per_second INTEGER NOT NULL, bytes INTEGER NOT NULL, errors INTEGER NOT NULL, text TEXT NOT NULL,
    PRIMARY KEY (run, number)) STRICT, WITHOUT ROWID;
CREATE TABLE probe_finding (run INTEGER NOT NULL, number INTEGER NOT NULL, kind TEXT NOT NULL,
    guid INTEGER NOT NULL, port INTEGER NOT NULL, name TEXT NOT NULL, lid INTEGER NOT NULL, text TEXT NOT NULL,
    PRIMARY KEY (run, number)) STRICT, WITHOUT ROWID;
CREATE VIEW probe_runs AS SELECT id, strftime('%Y-%m-%dT%H:%M:%fZ', begun_ms / 1000.0, 'unixepoch') AS begun,
    CASE ended_ms WHEN 0 THEN NULL ELSE strftime('%Y-%m-%dT%H:%M:%fZ', ended_ms / 1000.0, 'unixepoch') END AS ended,
    asked_by, uid, command, tables, interrupted, link_directions, crossed, planned, flows, proved, findings
    FROM probe_run;
CREATE VIEW probe_flows AS SELECT run, number, round, printf('0x%016x', from_guid) AS from_guid, from_port, from_name,
    printf('0x%016x', to_guid) AS to_guid, to_port, to_name, lid, verdict, p50_ns, p99_ns, max_ns, bits_per_second,
    bytes, errors, text FROM probe_flow;
CREATE VIEW probe_findings AS SELECT run, number, kind, printf('0x%016x', guid) AS guid, port, name, lid, text
    FROM probe_finding;
)",
};

}  // namespace ibf::db
