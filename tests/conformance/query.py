#!/usr/bin/env python3
"""'ibfabric query' asks an SA in band what saquery asks it, and says the same: of ibfabricd's and of OpenSM's, each on a
fabric of ibfabric-sim, type by type; and its exit codes, its names for ports, and tables of many packets under loss.

    query.py --build BUILD_DIR --spec SPEC

Exit code 77: skipped, with the reason printed.
"""

import argparse
import collections
import ipaddress
import json
import os
import re
import subprocess
import sys
import tempfile
import time

import judges
import sim_process as strangers
from fabric_sim import FabricSim, OpenSm, find_opensm
from ibsim import missing_programs
from sa import GROUP, LOSS, SETTLED_SECONDS, Ours, Truth, dumps, lane_records, member_request, require
from sim_process import records, report

SKIPPED = 77
KEY = "1"
OK, FINDING, USAGE, NO_ANSWER = 0, 1, 2, 3
number = lambda text: int(text, 0)  # noqa: E731
gid = lambda text: int(ipaddress.IPv6Address(text))  # noqa: E731
high = lambda bits: lambda text: int(text, 0) >> bits  # noqa: E731
low = lambda bits: lambda text: int(text, 0) & (1 << bits) - 1  # noqa: E731
NODE_TYPES = {"Channel Adapter": "CA", "Switch": "Switch", "Router": "Router"}
STATES = {"Down": "Down", "Initialize": "Init", "Armed": "Armed", "Active": "Active"}

# type -> saquery's words, and our field, its field, how it writes it. What it does not print (keys) is not compared.
TABLES = {
    "node": (("NodeRecord",), (
        ("LID", "lid", number), ("NodeType", "node_type", NODE_TYPES.get), ("NumPorts", "num_ports", number),
        ("SystemImageGUID", "sys_guid", number), ("NodeGUID", "node_guid", number), ("PortGUID", "port_guid", number),
        ("PartitionCap", "partition_cap", number), ("DeviceID", "device_id", number), ("Revision", "revision", number),
        ("LocalPortNum", "port_num", number), ("VendorID", "vendor_id", number), ("NodeDescription", "NodeDescription", str))),
    "port": (("PortInfoRecord",), (
        ("EndportLID", "EndPortLid", number), ("PortNum", "PortNum", number), ("GidPrefix", "GidPrefix", number),
        ("LID", "Lid", number), ("MasterSMLID", "SMLid", number), ("CapabilityMask", "CapMask", number),
        ("LocalPortNum", "LocalPort", number), ("PortState", "LinkState", STATES.get), ("LMC", "LMC", number),
        ("PortPhysicalState", "PhysLinkState", str), ("VLStallCount", "VLStallCount", number), ("HOQLife", "HoqLife", number),
        ("GUIDCap", "GuidCap", number))),
    "switch": (("SwitchInfoRecord",), (
        ("LID", "LID", number), ("LinearFDBCap", "LinearFDBCap", number), ("MulticastFDBCap", "MulticastFDBCap", number),
        ("LinearFDBTop", "LinearFDBTop", number), ("PartitionEnforcementCap", "PartitionEnforcementCap", number),
        ("MulticastFDBTop", "MulticastFDBTop", number))),
    "link": (("LinkRecord",), tuple((name, name, number) for name in ("FromLID", "FromPort", "ToPort", "ToLID"))),
    "sm": (("SMInfoRecord",), (("LID", "LID", number), ("GUID", "GUID", number), ("Priority", "Priority", number))),
    "path": (("PathRecord",), (
        ("DGID", "dgid", gid), ("SGID", "sgid", gid), ("DLID", "dlid", number), ("SLID", "slid", number),
        ("P_Key", "pkey", number), ("SL", "sl", number), ("MtuSelector", "mtu", high(6)), ("Mtu", "mtu", low(6)),
        ("RateSelector", "rate", high(6)), ("Rate", "rate", low(6)), ("PacketLifeTime", "pkt_life", low(6)),
        ("Reversible", "num_path_revers", high(7)), ("HopLimit", "hop_flow_raw", low(8)))),
    "group": (("-g",), (
        ("MGID", "MGID", gid), ("MLID", "Mlid", number), ("Mtu", "Mtu", low(6)), ("P_Key", "pkey", number),
        ("Rate", "Rate", low(6)), ("SL", "SL", number))),
    "sl2vl": (("SL2VLTableRecord",), (
        ("LID", "LID", int), ("InputPortNum", "InPort", int), ("OutputPortNum", "OutPort", int),
        *((f"SL{sl}toVL", sl, int) for sl in range(16)))),
    "vlarb": (("VLArbitrationTableRecord",), (
        ("LID", "LID", int), ("OutputPortNum", "Port", int), ("BlockNum", "Block", int), ("VLArbitrationTable", "entries", tuple))),
    "guid": (("GUIDInfoRecord",), (("LID", "LID", number), ("BlockNum", "Block", number))),
    "inform": (("InformInfoRecord",), ()),
    "service": (("ServiceRecord",), ()),
}


class Client:
    """'ibfabric query' at a node."""

    def __init__(self, sim, build, node):
        self.sim, self.node, self.program = sim, node, os.path.join(build, "bin", "ibfabric")

    def text(self, *words, codes=(OK,)):
        return self.sim.run(self.node, self.program, "query", *words, codes=codes)

    def records(self, *words, codes=(OK, FINDING)):
        return json.loads(self.text(*words, "--json", codes=codes))["records"]

    def refusal(self, code, *words):
        """What it says where it ends with CODE."""
        result = subprocess.run([self.program, "query", *words], env=self.sim.environment(self.node), capture_output=True,
                                text=True, check=False, timeout=60, stdin=subprocess.DEVNULL)
        if result.returncode != code:
            raise judges.Disagreement(f"query {words}: code {result.returncode}, not {code}: {result.stdout}{result.stderr}")
        return result.stderr


def as_number(value):
    """Our JSON has hex numbers and GIDs as text; words and descriptions stay."""
    if isinstance(value, str) and re.fullmatch(r"0x[0-9a-f]+", value):
        return int(value, 16)
    if isinstance(value, str) and value.count(":") == 7:
        return gid(value)
    return tuple(value) if isinstance(value, list) else value


def lanes(text):
    """saquery's dumps of lane tables: beside its names the lanes by SL, or the octets of an arbitration block."""
    found = []
    for row, lines in lane_records(text, ("LID", "InPort", "OutPort", "Port", "Block")):
        octets = [octet for vls, weights in zip(lines[::2], lines[1::2]) for entry in zip(vls, weights) for octet in entry]
        found.append({**row, **dict(enumerate(lines[0])), "entries": octets})
    return found


READERS = {"group": dumps, "sl2vl": lanes, "vlarb": lanes}


def compare(what, theirs, ours):
    judges.require_equal(what, dict(theirs), dict(ours))
    return sum(ours.values())


def check_table(client, kind):
    """OpenSM still learns for a moment after it has said SUBNET UP: who asks first may be told otherwise."""
    deadline = time.monotonic() + SETTLED_SECONDS
    while True:
        try:
            return compare_table(client, kind)
        except judges.Disagreement:
            if time.monotonic() > deadline:
                raise
        time.sleep(0.5)


def compare_table(client, kind):
    words, fields = TABLES[kind]
    said = client.sim.run(client.node, "saquery", *words)
    rows = READERS.get(kind, records)(said)
    theirs = collections.Counter(tuple(read(row[name]) for _, name, read in fields) for row in rows)
    ours = collections.Counter(tuple(as_number(row[name]) for name, _, _ in fields) for row in client.records(kind))
    return f"{compare(kind, theirs, ours)} records"


def check_forwarding(client):
    theirs, lid = collections.Counter(), 0
    for line in client.sim.run(client.node, "saquery", "LFTRecord").split("\n"):
        if match := re.match(r"\s+LID\.+(\d+)$", line):
            lid = int(match.group(1))
        elif match := re.match(r"\s+(\d+)\s+(\d+)\s*$", line):
            theirs[lid, int(match.group(1)), int(match.group(2))] += 1
    ours = collections.Counter((row["LID"], 64 * row["BlockNum"] + index, port) for row in client.records("lft")
                               for index, port in enumerate(row["LinearForwardingTable"]))
    return f"{compare('LFT entries', theirs, ours)} entries"


def check_partitions(client):
    """BlockNum is big-endian (IBA 15.2.5.11), but saquery reads it in the machine's order, as OpenSM sends it."""
    theirs, place = collections.defaultdict(list), []
    for line in client.sim.run(client.node, "saquery", "--smkey", KEY, "PKeyTableRecord").split("\n"):
        if match := re.match(r"\s+(LID|Port|Block)\.+(\d+)$", line):
            place = ([] if match.group(1) == "LID" else place) + [int(match.group(2))]
        elif re.match(r"\s+0x", line):
            theirs[tuple(place)] += [int(word, 16) for word in line.split()]
    ours = {(row["LID"], row["PortNum"], int.from_bytes(row["BlockNum"].to_bytes(2, "big"), sys.byteorder)): row["P_KeyTable"]
            for row in client.records("pkey", "--sa-key", KEY)}
    judges.require_equal("P_Key tables", dict(theirs), ours)
    return f"{len(ours)} blocks"


def check_multicast(client, joiner, hosts):
    """Three ports join a group; then members with the key, and the switches' multicast tables."""
    for verb, host in zip(("create", "join", "join"), hosts):
        status, mlid, _ = member_request(client.sim, joiner, verb, host)
        if status != 0:
            raise judges.Disagreement(f"{verb} by {host}: status 0x{status:04x}")
    rows = client.records("group", f"MGID={GROUP}", "--sa-key", KEY)
    known = {port["guid"]: port for _, port in Truth(client.sim.truth()).end_ports()}
    members = {gid(row["PortGID"]) & (1 << 64) - 1 for row in rows}
    require("members", len(members), 3)
    if not members <= {int(guid, 16) for guid in known} or {row["MLID"] for row in rows} != {f"0x{mlid:04x}"}:
        raise judges.Disagreement(f"members {rows}")
    theirs, place = collections.Counter(), {}
    for line in client.sim.run(client.node, "saquery", "MFTRecord").split("\n"):
        if match := re.match(r"\s+(LID|Position)\.+(\d+)$", line):
            place[match.group(1)] = int(match.group(2))
        elif (match := re.match(r"\s+(0x[0-9a-f]+)\s+(0x[0-9a-f]{4})\s*$", line)) and int(match.group(2), 16):
            theirs[place["LID"], place["Position"], int(match.group(1), 16), int(match.group(2), 16)] += 1
    ours = collections.Counter(
        (row["LID"], row["Position"], 0xC000 + 32 * row["BlockNum"] + index, mask)
        for row in client.records("mft") for index, mask in enumerate(row["MulticastForwardingTable"]) if mask)
    return f"3 members, {compare('MFT entries', theirs, ours)} MFT entries"


def check_class_port_info(client):
    said = client.sim.run(client.node, "saquery", "ClassPortInfo")
    row, = client.records("classportinfo", codes=(OK,))
    for field, name in (("CapabilityMask", "Capability mask"), ("CapabilityMask2", "Capability mask 2")):
        require(name, int(re.search(name + r"\.+(0x[0-9a-fA-F]+)", said).group(1), 16), int(row[field], 16))
    return row["CapabilityMask"]


def check_names(client, truth):
    """One path, its ends named in every way."""
    (a, a_port), (b, b_port) = [end for end in truth.end_ports() if end[0]["type"] == "CA"][:2]
    ways = [((str(a_port["lid"]), str(b_port["lid"]))), (a["description"], b["description"]), (a_port["guid"], b["guid"]),
            (f"{a['description']}/{a_port['port']}", f"lid:{b_port['lid']}"),
            tuple(str(ipaddress.IPv6Address(int(port["gid_prefix"], 16) << 64 | int(port["guid"], 16)))
                  for port in (a_port, b_port))]
    found = [client.records("path", *way, codes=(OK,)) for way in ways]
    for way, rows in zip(ways, found):
        ends = [(row["SLID"], row["DLID"]) for row in rows]
        require(f"path {way}", ends, [(a_port["lid"], b_port["lid"])])
    everywhere = client.records("path", a["description"], codes=(OK,))
    require("paths to everywhere", len({row["DLID"] for row in everywhere}), len(list(truth.end_ports())))
    only = client.records("node", "NodeType=Switch", f"NodeGUID={next(g for g, n in truth.nodes.items() if n['type'] == 'Switch')}")
    require("switches by two fields", len(only), 1)
    return f"{len(ways)} ways to name a path, {len(everywhere)} paths from one end"


def check_exit_codes(client, own_sa):
    require("a LID that nobody has", client.text("node", "LID=48000", codes=(FINDING,)), "none\n")
    for words in (("path", "nobody", "1"), ("node", "NodeType=hub"), ("link", "--port", "sim9/1")):
        client.refusal(USAGE, *words)
    if own_sa:
        if "0x0200" not in (said := client.refusal(FINDING, "pkey")) or "--sa-key" not in said:
            raise judges.Disagreement(f"P_Keys without the key: {said}")
        # A key that is not the SA's is met with silence.
        client.refusal(NO_ANSWER, "node", "--sa-key", "77", "--timeout", "100", "--retries", "1")
    return "none 1, words 2, silence 3"


def check_activity(client, manager):
    """What the daemon says of this client; it may be a quarter of a second behind."""
    deadline = time.monotonic() + SETTLED_SECONDS
    for kind, asked in (("NodeRecord", ("node",)), ("PathRecord", ("path",))):
        client.records(*asked)
        while True:
            said = json.loads(subprocess.run([client.program, "sa", "--json", "--socket", manager.socket], check=True,
                                             capture_output=True, timeout=60).stdout)
            rows = {(row["method"], row["attribute"]): row for row in said["by_kind"]}
            row = rows.get(("GetTable", kind), {"requests": 0})
            mine = [row for row in said["clients"] if row.get("node") == client.node]
            if row["requests"] and row["latency"]["count"] and mine and mine[0]["requests"] >= row["requests"]:
                break
            if time.monotonic() > deadline:
                raise judges.Disagreement(f"{kind}: {said}")
            time.sleep(0.1)
        latency = row["latency"]
        if not 0 < latency["median_seconds"] <= latency["p99_seconds"] <= latency["max_seconds"] < SETTLED_SECONDS:
            raise judges.Disagreement(f"{kind}: {latency}")
    return f"{said['requests']} requests of {said['client_count']} clients"


def check_loss(client, truth):
    client.sim.control("drop", "*", f"probability={LOSS}")
    lids = [port["lid"] for _, port in truth.end_ports()]
    got = collections.Counter((row["SLID"], row["DLID"]) for row in client.records("path", "--retries", "8", codes=(OK,)))
    judges.require_equal("paths under loss", dict(got), {(a, b): 1 for a in lids for b in lids})
    return f"{len(got)} paths with {float(LOSS):.0%} of MADs lost"


def judge(name, client, build, manager):
    own_sa = isinstance(manager, Ours)
    truth = Truth(client.sim.truth())
    hosts = [owner["description"] for owner, _ in truth.end_ports() if owner["type"] == "CA"][:3]
    for kind in TABLES:
        report(f"{name}: {kind}", lambda kind=kind: check_table(client, kind))
    report(f"{name}: lft", lambda: check_forwarding(client))
    report(f"{name}: pkey", lambda: check_partitions(client))
    report(f"{name}: classportinfo", lambda: check_class_port_info(client))
    report(f"{name}: group members, mft", lambda: check_multicast(client, os.path.join(build, "bin", "sa_client"), hosts))
    report(f"{name}: names", lambda: check_names(client, truth))
    report(f"{name}: beside the SM", lambda: check_table(Client(client.sim, build, hosts[0]), "node"))  # on its port
    report(f"{name}: exit codes", lambda: check_exit_codes(client, own_sa))
    if own_sa:
        report(f"{name}: activity", lambda: check_activity(client, manager))
    report(f"{name}: loss", lambda: check_loss(client, truth))  # the last: the fault stands


def on_fabric(options, folder, name, manage):
    """A fabric with the SM that MANAGE(sim, node, folder) makes, judged from its last adapter."""
    os.makedirs(folder)
    with FabricSim(options.build, options.spec, folder) as sim:
        hosts = [node["description"] for node in sim.truth()["nodes"] if node["type"] == "CA"]
        client = Client(sim, options.build, hosts[-1])
        client.refusal(NO_ANSWER, "node")  # nobody has configured the port
        manager = manage(sim, hosts[0], folder)
        try:
            judge(name, client, options.build, manager)
        finally:
            manager.stop()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True, type=os.path.abspath)
    parser.add_argument("--spec", required=True)
    options = parser.parse_args()
    if absent := missing_programs(("saquery",)):
        print(f"skipped: not here: {' '.join(absent)} (./dev setup test)")
        return SKIPPED

    def ours(sim, node, folder):
        manager = Ours(sim, options.build, node, folder)
        manager.wait_up()
        manager.wait_lanes()
        return manager

    def opensm(sim, node, folder):
        manager = OpenSm(lambda *args, **more: sim.spawn(node, *args, **more), find_opensm(options.build),
                         os.path.join(folder, "opensm"))
        manager.wait_up(120)
        return manager

    with tempfile.TemporaryDirectory(prefix="ibf-") as folder:
        on_fabric(options, os.path.join(folder, "a"), "ibfabricd", ours)
        if find_opensm(options.build):
            on_fabric(options, os.path.join(folder, "b"), "OpenSM", opensm)
        else:
            print("  without OpenSM, which is not here (./dev setup test)")
    findings = strangers.findings
    print(f"  {len(findings)} findings" + (": " + ", ".join(findings) if findings else ""))
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
