#!/usr/bin/env python3
"""ibfabricd's subnet administration on ibfabric-sim, asked by strangers: saquery's tables are the simulator's truth; what
OpenSM answers we answer; osmtest's flows that pass for OpenSM pass for us; multicast trees in the switches join exactly
the members.

    sa.py --build BUILD_DIR --spec SPEC [--sources N|all] [--long] [--without-opensm] [--only CHECKS]

SPEC is a generator or a topology file. --sources asks for the paths of N sources, a table each, in place of all in one;
--long adds osmtest's flow "a" and its four stress modes. Exit code 77: skipped, with the reason printed.
"""

import argparse
import collections
import concurrent.futures
import functools
import ipaddress
import os
import random
import re
import struct
import subprocess
import sys
import tempfile
import time

import judges
import path_asker
import sim_process as strangers
from fabric_sim import FabricSim, OpenSm, find_opensm, osmtest_complaints
from ibsim import missing_programs, stop
from sim_process import Truth, records, report

SKIPPED = 77
PROGRAMS = ("saquery", "ibqueryerrors")
FLOWS = ("c", "v", "s", "e", "m", "q")
LONG_FLOWS = ("a", "f -s1", "f -s2", "f -s3", "f -s4")
FLOW_SECONDS = 60
STRESS_SECONDS = 300  # 40 to 60 on a machine with other work
GROUP = "ff12:601b:ffff::1:ff00:7"
IPOIB_BROADCAST = "ff12:401b:ffff::ffff:ffff"
SETTLED_SECONDS = 10
LANES_SECONDS = 60
NO_ARBITRATION = "00" * 64  # of a block that the port cannot hold: every entry says "skip"
WALKED_WHOLE = 100    # every so many records of a table, not just from where others have walked
TRIES_UNDER_LOSS = 8  # saquery sends its request once
LOSS = "0.02"

# IBA 15.2.5.16: Gb/s -> code of a rate; a lane's Gb/s as they are multiplied there.
RATE_CODES = {2.5: 2, 10: 3, 30: 4, 5: 5, 20: 6, 40: 7, 60: 8, 80: 9, 120: 10, 14: 11, 56: 12, 112: 13, 168: 14, 25: 15,
              100: 16, 200: 17, 300: 18, 28: 19, 50: 20, 400: 21, 600: 22, 800: 23, 1200: 24}
RANKED = [RATE_CODES[rate] for rate in sorted(RATE_CODES)]  # codes, the slowest first
LANE = {"SDR": 2.5, "DDR": 5, "QDR": 10, "FDR10": 10, "FDR": 14, "EDR": 25, "HDR": 50, "NDR": 100}

# What an SA is asked for beside the tables held against the truth: for each, as many records as OpenSM has.
COMPARED = (("NodeRecord",), ("PortInfoRecord",), ("LinkRecord",), ("SwitchInfoRecord",), ("LFTRecord",), ("SMInfoRecord",),
            ("GUIDInfoRecord",), ("PKeyTableRecord",), ("SL2VLTableRecord",), ("VLArbitrationTableRecord",),
            ("InformInfoRecord",), ("ServiceRecord",), ("-g",), ("-m",), ("-s",), ("-D",))


def absent_file(spec):
    """Why a SPEC that is a file is skipped, or None."""
    return f"skipped: {spec} is not here" if "/" in spec and not os.path.exists(spec) else None


class Fabric:
    """The truth with the switches' tables: where a packet goes, and what it meets."""

    def __init__(self, sim):
        self.truth = Truth(sim.truth("tables"))
        self.peer = {}
        for a, b in self.truth.links:
            self.peer[a], self.peer[b] = b, a
        self.switches = {guid for guid, node in self.truth.nodes.items() if node["type"] == "Switch"}
        self.adapters = {port["lid"]: (owner["guid"], port["port"]) for owner, port in self.truth.end_ports()
                         if owner["type"] != "Switch"}
        self._mtus = {}  # of ways: target -> switch -> least MTU from there on
        self.gid = {}
        for _, port in self.truth.end_ports():
            bits = (int(port["gid_prefix"], 16) << 64) | int(port["guid"], 16)
            self.gid[port["lid"]] = compressed(bits)

    @functools.cached_property
    def tables(self):
        return strangers.tables_of(self.truth)

    def port(self, guid, number):
        return next(port for port in self.truth.nodes[guid]["ports"] if port["port"] == number)

    def rate(self, guid, number):
        port = self.port(guid, number)
        return LANE[port["speed"]] * int(port["width"].rstrip("x"))

    def path(self, source, target):
        """(MTU code, rate code) of the way from one adapter's LID to another's: the least of its cables."""
        at, ends = self.adapters[source], []
        while True:
            ends += [at, self.peer[at]] if self.adapters[target] != at else [at]
            if ends[-1] == self.adapters[target]:
                break
            at = (ends[-1][0], self.tables[ends[-1][0]][target])
            if len(ends) > 128:
                raise judges.Disagreement(f"no way from LID {source} to LID {target}")
        rate = min(self.rate(*end) for end in ends)
        return min(self.port(*end)["mtu"] for end in ends), RATE_CODES[rate]

    def path_of_table(self, source, target):
        """The same as path(), for a judge of millions: a way from a switch on is walked once, whoever comes along it."""
        home = self.adapters[source]
        if self.adapters[target] == home:
            return self.mtu[home], self.rate_codes[source]
        first = self.peer[home]
        mtu = min(self.mtu[home], self.mtu[first])
        if first != self.adapters[target]:
            mtu = min(mtu, self._mtu_on(first[0], target))
        return mtu, min(self.rate_codes[source], self.rate_codes[target], key=RANKED.index)

    def _mtu_on(self, switch, target):
        known, way, at = self._mtus.setdefault(target, {}), [], switch
        while at not in known:
            exit_end = (at, self.tables[at].get(target))
            entry = self.peer.get(exit_end)
            if entry is None or len(way) > len(self.switches):
                raise judges.Disagreement(f"no way from {switch} to LID {target}: it ends at {exit_end}")
            way.append((at, min(self.mtu[exit_end], self.mtu[entry])))
            if entry == self.adapters[target]:
                break
            at = entry[0]
        least = known.get(at, 255)
        for at, mtu in reversed(way):
            known[at] = least = min(least, mtu)
        return least

    @functools.cached_property
    def mtu(self):
        return {(guid, port["port"]): port["mtu"] for guid, node in self.truth.nodes.items() for port in node["ports"]}

    @functools.cached_property
    def rate_codes(self):
        return {lid: RATE_CODES[self.rate(*end)] for lid, end in self.adapters.items()}

    @functools.cached_property
    def raw_gid(self):
        return {lid: ipaddress.IPv6Address(gid).packed for lid, gid in self.gid.items()}

    def groups(self):
        """MLID -> {switch: set of ports}, as the switches hold it."""
        held = collections.defaultdict(dict)
        for guid, node in self.truth.nodes.items():
            for mlid, ports in node.get("mft", {}).items():
                held[int(mlid, 16)][guid] = set(ports)
        return held


def compressed(bits):
    return str(ipaddress.IPv6Address(bits))


def require(what, theirs, ours):
    """Where the two are single values; judges.require_equal is for sets and tables."""
    if theirs != ours:
        raise judges.Disagreement(f"{what}: {theirs}, should be {ours}")


def dumps(text):
    """saquery's group and member dumps, which are headed unlike its records."""
    return records(re.sub(r"(?m)^MCMemberRecord \w+ dump:$", "MCMemberRecord dump:", text).replace("dump:", "Record dump:"))


def query(sim, node, *words):
    return records(sim.run(node, "saquery", *words))


def check_switches(sim, node, fabric):
    rows = query(sim, node, "SwitchInfoRecord")
    theirs = {int(row["LID"]): int(row["LinearFDBTop"], 16) for row in rows}
    ours = {fabric.truth.lid_of[guid, 0]: fabric.truth.nodes[guid]["linear_top"] for guid in fabric.switches}
    judges.require_equal("SwitchInfoRecords", theirs, ours)
    judges.require_equal("SwitchInfoRecords, number", {"records": len(rows)}, {"records": len(ours)})
    return f"{len(rows)} SwitchInfoRecords"


def check_forwarding(sim, node, fabric):
    theirs, block, lid = collections.defaultdict(dict), 0, 0
    for line in sim.run(node, "saquery", "LFTRecord").split("\n"):
        if match := re.match(r"\s+LID\.+(\d+)$", line):
            lid = int(match.group(1))
        elif match := re.match(r"\s+Block\.+(\d+)$", line):
            block = int(match.group(1))
        elif (match := re.match(r"\s+(\d+)\s+(\d+)\s*$", line)) and int(match.group(2)) != 255:
            target = int(match.group(1))
            theirs[lid][target if target >= 64 * block else target + 64 * block] = int(match.group(2))
    ours = {fabric.truth.lid_of[guid, 0]: table for guid, table in fabric.tables.items()}
    judges.require_equal("switches with LFTRecords", set(theirs), set(ours))
    for lid, table in ours.items():
        judges.require_equal(f"LFTRecords of LID {lid}", theirs[lid], table)
    return f"{len(ours)} tables, {sum(map(len, ours.values()))} entries"


def lane_truth(sim):
    """(LID, input port, exit port) -> mapping and (LID, port, block) -> arbitration entries, in hex digits as on the wire."""
    truth, maps, blocks = Truth(sim.truth("lanes")), {}, {}
    for guid, node in truth.nodes.items():
        for number, row in node["sl2vl"].items():
            lid = truth.lid_of[guid, int(number)]
            for entry, mapping in enumerate(row):
                maps[lid, entry, int(number)] = mapping
            for block in range(1, 5):
                blocks[lid, int(number), block] = node["vl_arbitration"][number].get(str(block), NO_ARBITRATION)
    return maps, blocks


def lane_records(text, names):
    """saquery's dumps of these records: ({name: value of NAMES}, numbers of its rows under VL and Weight) each."""
    found = []
    for line in text.split("\n"):
        if line.endswith("Record dump:"):
            found.append(({}, []))
        elif found and (match := re.match(r"\s+(\w+)\.{2,}(\d+)$", line)) and match.group(1) in names:
            found[-1][0][match.group(1)] = int(match.group(2))
        elif found and (match := re.match(r"\s+(?:VL\s*|Weight):([\d| ]+)$", line)):
            found[-1][1].append([int(number) for number in match.group(1).strip("|").split("|")])
    return found


def check_lanes(sim, node):
    maps, blocks = lane_truth(sim)
    theirs = collections.defaultdict(list)
    for key, rows in lane_records(sim.run(node, "saquery", "SL2VLTableRecord"), ("LID", "InPort", "OutPort")):
        theirs[tuple(key.values())].append("".join(f"{vl:x}" for vl in rows[0]))
    judges.require_equal("SL2VL records", dict(theirs), {key: [mapping] for key, mapping in maps.items()})
    theirs = collections.defaultdict(list)
    for key, rows in lane_records(sim.run(node, "saquery", "VLArbitrationTableRecord"), ("LID", "Port", "Block")):
        lanes, weights = rows[0] + rows[2], rows[1] + rows[3]
        theirs[tuple(key.values())].append("".join(f"{vl:02x}{weight:02x}" for vl, weight in zip(lanes, weights)))
    judges.require_equal("VL arbitration records", dict(theirs), {key: [entries] for key, entries in blocks.items()})
    sets = [name for name in sim.sets() if "SLtoVL" in name or "VLArb" in name]
    require("Sets of lane tables that lose nothing", sets, [])
    return f"{len(maps)} mappings, {len(blocks)} arbitration blocks"


def judge_paths(fabric, rows, sources):
    lids = list(fabric.gid)
    got = collections.Counter((int(row["slid"]), int(row["dlid"])) for row in rows)
    judges.require_equal("PathRecords", dict(got), {(a, b): 1 for a in sources for b in lids})
    for row in rows:
        source, target = int(row["slid"]), int(row["dlid"])
        require(f"GIDs of {source} to {target}", (row["sgid"], row["dgid"]), (fabric.gid[source], fabric.gid[target]))
        if source in fabric.adapters and target in fabric.adapters:
            require(f"MTU and rate of {source} to {target}",
                    (int(row["mtu"], 16) & 63, int(row["rate"], 16) & 63), fabric.path(source, target))


def check_paths(sim, node, fabric, count):
    lids = sorted(fabric.gid)
    if count is None:
        rows = query(sim, node, "PathRecord")
        judge_paths(fabric, rows, lids)
        return f"{len(rows)} PathRecords, MTU of the way to walk, rate of its ends"
    sources, found = random.Random(5).sample(lids, min(count, len(lids))), 0
    began = time.monotonic()
    for source, table in path_tables(sim, node, sources):
        found += judge_table(fabric, source, table)
    each = (time.monotonic() - began) / len(sources)
    return f"{found} PathRecords of {len(sources)} sources, each walked; {1000 * each:.0f} ms a source"


def path_tables(sim, node, sources):
    """(source, records as bytes) of each, in any order."""
    program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "path_asker.py")
    with tempfile.TemporaryFile() as wanted:
        wanted.write("\n".join(map(str, sources)).encode())
        wanted.seek(0)
        with subprocess.Popen([sys.executable, "-B", program], stdin=wanted, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              cwd=sim.folder, env=sim.environment(node)) as asker:
            for _ in sources:
                head = asker.stdout.read(path_asker.HEAD.size)
                if not head:
                    raise judges.Disagreement(asker.stderr.read().decode(errors="replace")[-500:])
                source, size = path_asker.HEAD.unpack(head)
                yield source, asker.stdout.read(size)


PATH_RECORD = struct.Struct(">8x16s16sHH10xBB8x")  # DGID, SGID, DLID, SLID, MTU, rate


def judge_table(fabric, source, table):
    """judge_paths for one source, from bytes: five thousand records in some milliseconds."""
    seen = set()
    for dgid, sgid, dlid, slid, mtu, rate in PATH_RECORD.iter_unpack(table):
        if slid != source or dlid in seen or (sgid, dgid) != (fabric.raw_gid[source], fabric.raw_gid.get(dlid)):
            raise judges.Disagreement(f"LID {source}: a record of {slid} to {dlid}, {sgid.hex()} to {dgid.hex()}")
        seen.add(dlid)
        if source in fabric.adapters and dlid in fabric.adapters:
            require(f"MTU and rate of {source} to {dlid}", (mtu & 63, rate & 63), fabric.path_of_table(source, dlid))
            if len(seen) % WALKED_WHOLE == 0:
                require(f"the way from {source} to {dlid}, walked whole", (mtu & 63, rate & 63), fabric.path(source, dlid))
    missing = set(fabric.gid) - seen
    if missing:
        raise judges.Disagreement(f"LID {source}: no path to {len(missing)} LIDs, such as {min(missing)}")
    return len(seen)


def check_class_port_info(sim, node):
    text = sim.run(node, "saquery", "ClassPortInfo")
    mask = int(re.search(r"Capability mask\.+0x([0-9a-fA-F]+)", text).group(1), 16)
    for bit, what in ((9, "UD multicast"), (13, "PortInfo capability match")):
        if not mask >> bit & 1:
            raise judges.Disagreement(f"capability mask 0x{mask:x} without {what}")
    if not re.search(r"Base version\.+1\n\s+Class version\.+2\n", text):
        raise judges.Disagreement(text)
    if mask >> 8 & 1:  # IsSubnetOptionalRecordsSupported: then they are
        for name in ("SL2VLTableRecord", "VLArbitrationTableRecord", "GUIDInfoRecord", "MFTRecord"):
            sim.run(node, "saquery", name)
    return f"capability mask 0x{mask:x}"


def check_broadcast(sim, node, fabric):
    rows = [row for row in dumps(sim.run(node, "saquery", "-g")) if row["MGID"] == IPOIB_BROADCAST]
    if len(rows) != 1:
        raise judges.Disagreement(f"{len(rows)} broadcast groups")
    ends = list(fabric.adapters.values())
    slowest = (min(fabric.port(*end)["mtu"] for end in ends), RATE_CODES[min(fabric.rate(*end) for end in ends)])
    require("broadcast group: P_Key", rows[0]["pkey"], "0xFFFF")
    mtu, rate = int(rows[0]["Mtu"], 16) & 63, int(rows[0]["Rate"], 16) & 63
    require("broadcast group: MTU and rate", (mtu, rate), slowest)
    return f"MTU code {mtu}, rate code {rate}: the slowest adapter's"


# ---- multicast ---------------------------------------------------------------------------------------------------

def member_request(sim, client, verb, host):
    text = sim.run(host, client, verb, GROUP, codes=(0, 1)).strip()
    match = re.match(r"status 0x([0-9a-f]{4}) mlid 0x([0-9a-f]{4}) state 0x([0-9a-f])", text)
    if not match:
        raise judges.Disagreement(f"{verb} by {host}: {text}")
    return tuple(int(group, 16) for group in match.groups())


def tree_flaw(fabric, mlid, members, senders):
    """What is wrong with a group's tree in the switches, None if it joins exactly MEMBERS (node GUID, port): each reached,
    nobody else, no loop, no half-open cable. SENDERS' switches know the group, and deliver nothing to them."""
    tree = fabric.groups().get(mlid, {})
    if not members:
        return f"switches still hold it: {tree}" if tree else None
    delivered, cables = set(), set()
    for guid, ports in tree.items():
        for number in ports:
            peer = fabric.peer.get((guid, number))
            if peer is None:
                return f"{guid}/{number} leads nowhere"
            if peer[0] not in fabric.switches:
                delivered.add(peer)
            elif peer[1] not in tree.get(peer[0], ()):
                # One way only: towards the members, from where a sender sits and no member.
                if not any(fabric.peer[sender][0] == guid for sender in senders):
                    return f"{guid}/{number} is open on one side only"
                cables.add(tuple(sorted(((guid, number), peer))))
            else:
                cables.add(tuple(sorted(((guid, number), peer))))
    if not tree and len(members) == 1 and not senders:
        return None  # nobody sends to it
    if delivered != members:
        return f"delivered to {sorted(delivered)}, members {sorted(members)}"
    if len(cables) != len(tree) - 1:
        return f"{len(tree)} switches, {len(cables)} cables between them: no tree"
    homes = {fabric.peer[end][0] for end in members | senders}
    reached, waiting = set(), [next(iter(homes))]
    while waiting:
        at = waiting.pop()
        if at not in reached:
            reached.add(at)
            waiting += [end[0] for cable in cables for here, end in (cable, cable[::-1]) if here[0] == at]
    return None if homes <= reached and set(tree) == reached else f"in pieces: {homes | set(tree)} and {reached}"


def settled_tree(sim, mlid, members, senders, without=None):
    """Waits for it, as switches are written after the answer. The number of switches in it."""
    deadline, flaw = time.monotonic() + SETTLED_SECONDS, "never looked"
    while time.monotonic() < deadline:
        fabric = Fabric(sim)
        flaw = tree_flaw(fabric, mlid, members, senders)
        if flaw is None and not (without and without[1] in fabric.groups()[mlid].get(without[0], ())):
            return len(fabric.groups().get(mlid, {}))
        time.sleep(0.1)
    raise judges.Disagreement(f"MLID 0x{mlid:04x} with {len(members)} members: {flaw}")


def check_multicast(sim, client, fabric):
    at = lambda end: f"{end[0]}/{end[1]}"  # noqa: E731  (descriptions may be shared)
    ends = random.Random(7).sample(sorted(fabric.adapters.values()), min(8, len(fabric.adapters)))
    sender, hosts, members, sizes = ends[0], ends[1:], set(), []
    require("join of a group that is not", member_request(sim, client, "join", at(hosts[0]))[0], 0x0600)
    require("leave of it", member_request(sim, client, "leave", at(hosts[0]))[0], 0x0200)
    mlid = None
    for index, end in enumerate(hosts):
        status, mlid, _ = member_request(sim, client, "create" if index == 0 else "join", at(end))
        require(f"status of join {index}", status, 0)
        members.add(end)
        sizes.append(settled_tree(sim, mlid, members, set()))
    require("a send-only join", member_request(sim, client, "send-only", at(sender)), (0, mlid, 4))
    settled_tree(sim, mlid, members, {sender})
    unlike = mft_records_flaw(sim, at(hosts[0]), fabric)
    moved = check_reroute(sim, mlid, members, sender)
    for end in hosts:
        status, _, _ = member_request(sim, client, "leave", at(end))
        require("status of leave", status, 0)
        members.remove(end)
        if members:
            sizes.append(settled_tree(sim, mlid, members, {sender}))
    settled_tree(sim, mlid, set(), set())
    if unlike:
        raise judges.Disagreement(f"trees are right, but {unlike}")
    return f"MLID 0x{mlid:04x}: switches in the tree, join by join and leave by leave: {sizes}; {moved}"


def check_reroute(sim, mlid, members, sender):
    fabric = Fabric(sim)
    inner = sorted(end for guid, ports in fabric.groups()[mlid].items() for end in ((guid, number) for number in ports)
                   if fabric.peer[end][0] in fabric.switches)
    if not inner:
        return "no cable between switches in it"
    sim.control("link-down", f"{inner[0][0]}/{inner[0][1]}")
    try:
        settled_tree(sim, mlid, members, {sender}, without=inner[0])
    finally:
        sim.control("link-up", f"{inner[0][0]}/{inner[0][1]}")
    settled_tree(sim, mlid, members, {sender})
    return "one of its cables pulled: rebuilt"


def mft_records_flaw(sim, node, fabric):
    """MFTRecords against the switches', masks put together."""
    theirs, lid, position = collections.defaultdict(set), 0, 0
    for line in sim.run(node, "saquery", "MFTRecord").split("\n"):
        if match := re.match(r"\s+(LID|Position)\.+(\d+)$", line):
            lid, position = (int(match.group(2)), position) if match.group(1) == "LID" else (lid, int(match.group(2)))
        elif match := re.match(r"\s+0x([0-9a-f]+)\s+0x([0-9a-f]{4})\s*$", line):
            mask = int(match.group(2), 16)
            theirs[lid, int(match.group(1), 16)] |= {16 * position + bit for bit in range(16) if mask >> bit & 1}
    ours = {(fabric.truth.lid_of[guid, 0], mlid): ports
            for mlid, tree in Fabric(sim).groups().items() for guid, ports in tree.items()}
    theirs = {key: ports for key, ports in theirs.items() if ports}
    return None if theirs == ours else f"MFTRecords have {len(theirs)} entries, the switches {len(ours)}"


# ---- beside OpenSM -----------------------------------------------------------------------------------------------

def count_records(sim, node, words):
    """How many, or how it was refused."""
    result = subprocess.run(["saquery", *words], env=sim.environment(node), capture_output=True, text=True, check=False,
                            errors="replace", stdin=subprocess.DEVNULL, timeout=120)
    refused = re.search(r"Query result returned (\S+?),", result.stdout + result.stderr)
    heads = re.findall(r"(?m)^\S.*dump:$", result.stdout)
    return refused.group(1) if refused else str(len(heads) or result.stdout.count("\n"))


def check_as_opensm(ours, theirs, node):
    worse, table = [], []
    for words in COMPARED:
        here, there = (count_records(sim, node, words) for sim in (ours, theirs))
        table.append(f"{' '.join(words)} {here}/{there}")
        if here != there and not there.startswith("0x"):
            worse.append(table[-1])
    if worse:
        raise judges.Disagreement("records ours/OpenSM's: " + ", ".join(worse) + " (all: " + ", ".join(table) + ")")
    return "records ours/OpenSM's: " + ", ".join(table)


def run_flows(sim, node, opensm, folder, flows):
    """flow -> (passed, seconds, last words). Each SM's fabric has a folder of its own."""
    programs, libraries = opensm
    os.makedirs(folder)
    results = {}
    for flow in flows:
        output, began = os.path.join(folder, "osmtest.out"), time.monotonic()
        inventory, log = (os.path.join(folder, name) for name in ("inventory", "osmtest.log"))
        process = sim.spawn(node, [os.path.join(programs, "osmtest"), "-f", *flow.split(), "-i", inventory, "-l", log], output,
                            LD_LIBRARY_PATH=libraries)
        try:
            process.wait(STRESS_SECONDS if "-s" in flow else FLOW_SECONDS)
        except subprocess.TimeoutExpired:
            stop(process)
        with open(output, encoding="utf-8", errors="replace") as file:
            text = file.read()
        results[flow] = (process.returncode == 0 and " PASS" in text, time.monotonic() - began, text[-700:] + osmtest_complaints(log))
    return results


def check_flows(ours, theirs, node, opensm, folder, flows):
    with concurrent.futures.ThreadPoolExecutor() as pool:  # one does not see the other; the slow one sets the time
        runs = [pool.submit(run_flows, sim, node, opensm, os.path.join(folder, name), flows)
                for name, sim in (("osmtest-ours", ours), ("osmtest-opensm", theirs))]
        here, there = (run.result() for run in runs)
    word = {True: "pass", False: "FAIL"}
    table = "".join(f"\n    osmtest -f {flow:6} ibfabricd {word[here[flow][0]]} {here[flow][1]:5.1f} s   "
                    f"OpenSM {word[there[flow][0]]} {there[flow][1]:5.1f} s" for flow in flows)
    worse = [flow for flow in flows if there[flow][0] and not here[flow][0]]
    if worse:
        raise judges.Disagreement(f"flows {worse} pass for OpenSM only:{table}\n" + here[worse[0]][2])
    return "what passes for OpenSM passes" + table


# ---- loss --------------------------------------------------------------------------------------------------------

def check_loss(sim, node, fabric, source):
    """The last check: faults stand. Tables of many segments come whole or not at all."""
    before = sim.counters()["lost"]
    sim.control("drop", "*", f"probability={LOSS}")
    words = ("PathRecord",) if source is None else ("PathRecord", "--slid", str(source))
    for attempt in range(TRIES_UNDER_LOSS):
        text = sim.run(node, "saquery", *words, codes=range(256))
        if rows := records(text):
            judge_paths(fabric, rows, sorted(fabric.gid) if source is None else [source])
            break
    else:
        raise judges.Disagreement(f"no answer in {TRIES_UNDER_LOSS} tries: {text[-300:]}")
    if source is None:  # on a large fabric it waits minutes for lost counters, which are not the SA's
        if "Summary" not in (summary := sim.run(node, "ibqueryerrors", codes=range(256), timeout=300)):
            raise judges.Disagreement(f"ibqueryerrors: {summary[-500:]}")
    lost = sim.counters()["lost"] - before
    if lost == 0:
        raise judges.Disagreement("the simulator lost nothing")
    return (f"{len(rows)} PathRecords at try {attempt + 1} with {float(LOSS):.0%} of MADs lost ({lost}), "
            "each once and right")


def check_query_errors(sim, node):
    """It asks for the paths from here to everybody in one table."""
    text = sim.run(node, "ibqueryerrors", codes=(0, 1), timeout=300)
    if not (match := re.search(r"Summary: (\d+) nodes checked, (\d+) bad", text)):
        raise judges.Disagreement(f"ibqueryerrors: {text[-500:]}")
    return match.group(0)


class Ours:
    """ibfabricd on a fabric, up."""

    def __init__(self, sim, build, host, folder, *options):
        self.log = os.path.join(folder, "ibfabricd.log")
        self.socket = os.path.join(folder, "ours.socket")
        self.process = sim.spawn(host, [os.path.join(build, "bin", "ibfabricd"), "--state-dir", os.path.join(folder, "state"),
                                        "--socket", self.socket, *options], self.log)
        self.status = [os.path.join(build, "bin", "ibfabric"), "status", "--socket", self.socket]
        self.waiting = [*self.status, "--wait-up", "120"]

    def wait_up(self):
        if subprocess.run(self.waiting, capture_output=True, check=False, timeout=150).returncode != 0:
            with open(self.log, encoding="utf-8", errors="replace") as file:
                raise RuntimeError(file.read()[-1000:])

    def wait_lanes(self):
        """Until the lane tables have been read, as 'ibfabric status' tells."""
        deadline, text = time.monotonic() + LANES_SECONDS, ""
        while time.monotonic() < deadline:
            text = subprocess.run(self.status, capture_output=True, text=True, check=False, timeout=30).stdout
            if (match := re.search(r"(?m)^lanes\s+read (\d+) of (\d+) devices", text)) and match.group(1) == match.group(2):
                return
            time.sleep(0.1)
        raise RuntimeError(f"lane tables not read: {text}")

    def stop(self):
        if stop(self.process) != 0:
            strangers.findings.append("ibfabricd's end")


def judge(options, sim, reference, opensm, folder):
    client = os.path.join(options.build, "bin", "sa_client")
    fabric = Fabric(sim)
    hosts = [fabric.truth.nodes[guid]["description"] for guid, _ in sorted(fabric.adapters.values())]
    asker = hosts[-1]

    def check(name, judged):
        if not options.only or name in options.only.split(","):
            report(name, judged)

    check("ClassPortInfo", lambda: check_class_port_info(sim, asker))
    check("nodes", lambda: strangers.check_node_records(sim, asker, fabric.truth))
    check("ports", lambda: strangers.check_port_info_records(sim, asker, fabric.truth))
    check("links", lambda: strangers.check_link_records(sim, asker, fabric.truth))
    check("switches", lambda: check_switches(sim, asker, fabric))
    check("tables", lambda: check_forwarding(sim, asker, fabric))
    check("lanes", lambda: check_lanes(sim, asker))
    check("paths", lambda: check_paths(sim, asker, fabric, options.sources))
    check("broadcast group", lambda: check_broadcast(sim, asker, fabric))
    check("ibqueryerrors", lambda: check_query_errors(sim, asker))
    check("multicast", lambda: check_multicast(sim, client, fabric))
    if reference:
        check("records", lambda: check_as_opensm(sim, reference, asker))
        flows = FLOWS + LONG_FLOWS if options.long else FLOWS
        check("osmtest", lambda: check_flows(sim, reference, asker, opensm, folder, flows))
    fabric = Fabric(sim)
    check("loss", lambda: check_loss(sim, asker, fabric, None if options.sources is None else min(fabric.adapters)))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True, type=os.path.abspath)
    parser.add_argument("--spec", required=True)
    parser.add_argument("--sources", type=lambda text: sys.maxsize if text == "all" else int(text))
    parser.add_argument("--long", action="store_true")
    parser.add_argument("--without-opensm", action="store_true")
    parser.add_argument("--only", help="names of checks, as printed, with commas between")
    options = parser.parse_args()
    if absent := absent_file(options.spec):
        print(absent)
        return SKIPPED
    opensm = None if options.without_opensm else find_opensm(options.build)
    if absent := missing_programs(PROGRAMS):
        print(f"skipped: not here: {' '.join(absent)} (./dev setup test)")
        return SKIPPED
    if not opensm:
        print("  without OpenSM" + ("" if options.without_opensm else ", which is not here (./dev setup test)"))
    with tempfile.TemporaryDirectory(prefix="ibf-") as folder:
        here, there = os.path.join(folder, "a"), os.path.join(folder, "b")
        os.makedirs(here)
        os.makedirs(there)
        with FabricSim(options.build, options.spec, here) as sim, FabricSim(options.build, options.spec, there) as other:
            truth = Fabric(sim)
            end = min((owner["guid"], owner["description"]) for owner, _ in truth.truth.end_ports() if owner["type"] != "Switch")
            manager = Ours(sim, options.build, end[1], here)
            reference = None
            try:
                if opensm:
                    reference = OpenSm(lambda *args, **more: other.spawn(end[1], *args, **more), opensm,
                                       os.path.join(there, "opensm"))
                    reference.wait_up(120)
                    reference.wait_settled()
                manager.wait_up()
                if not options.only or {"lanes", "records", "osmtest"} & set(options.only.split(",")):
                    manager.wait_lanes()
                judge(options, sim, other if opensm else None, opensm, folder)
            finally:
                manager.stop()
                if reference:
                    reference.stop()
    findings = strangers.findings
    print(f"  {len(findings)} findings" + (": " + ", ".join(findings) if findings else ""))
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
