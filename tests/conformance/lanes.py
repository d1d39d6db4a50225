#!/usr/bin/env python3
"""Lanes, judged from outside: what the switches hold and the SA says, walked for all pairs.

    lanes.py --build BUILD_DIR --on ibsim|ibfabric-sim --spec GENERATOR --engine NAME [--vls N] [--scramble]

ibfabricd brings the fabric up with one engine. Cables are ibnetdiscover's; forwarding tables, SL2VL tables of every pair of
ports, VL arbitration and OperationalVLs are read with SMPs, the SL of every path is the SA's; dump_fts, smpquery and saquery
are asked for some of it and must say the same. Then every path is walked: each hop takes the lane that the switch's own
SL2VL table gives, the link must run that lane and the port give it a weight, the packet must arrive, and no ring of channels
may be left. Where the engine took several lanes, one lane must not have been enough: else nothing would have been tested.
ibdmchk, given the same paths, SLs and SL2VL tables in its own formats, must find no credit loop with them, and one without.
Exit code 77: skipped, with the reason printed.
"""

import argparse
import collections
import functools
import json
import os
import random
import re
import subprocess
import sys
import tempfile

import judges
import walks
from fabric_sim import FabricSim
from ibsim import Ibsim, find_umad2sim, missing_programs
from sa import Ours
from sa_wire import PATH_RECORD, Record
from sim_process import findings, records, report

SKIPPED = 77
PROGRAMS = ("ibnetdiscover", "dump_fts", "smpquery", "ibdmchk")
SWITCH_INFO, PORT_INFO, SL2VL, VL_ARBITRATION, LFT = 0x12, 0x15, 0x17, 0x18, 0x19
BLOCK = 64
ARBITRATION_BLOCKS = (1, 2, 3, 4)
LANES_OF_CODE = {1: 1, 2: 2, 3: 4, 4: 8, 5: 15}  # OperationalVLs
SPOT_CHECKS = 8


class OnIbsim:
    """ibsim, with the face of FabricSim: all programs are on one node."""

    def __init__(self, build, spec, folder):
        netlist = os.path.join(folder, "netlist")
        subprocess.run([os.path.join(build, "bin", "ibfabric"), "generate", spec, "-o", netlist], check=True)
        self.ibsim, self.folder = Ibsim(netlist, folder), folder

    def node(self):
        return self.ibsim.host

    def environment(self, _node):
        return self.ibsim.client_environment()

    def run(self, _node, *command):
        return self.ibsim.run(*command)

    def spawn(self, _node, command, output):
        return self.ibsim.spawn(command, output)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.ibsim.close()


class OnOurs(FabricSim):
    @functools.cached_property
    def _first_host(self):
        return min(node["description"] for node in self.truth()["nodes"] if node["type"] == "CA")

    def node(self):
        return self._first_host


class Asker:
    """Answers of mad_asker.py to questions collected before."""

    PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "mad_asker.py")

    def __init__(self, sim):
        self.sim, self.questions = sim, {}

    def want(self, key, *question):
        self.questions[key] = " ".join(map(str, question))

    def answers(self):
        """key -> bytes, or None."""
        result = subprocess.run([sys.executable, "-B", self.PROGRAM], input="\n".join(self.questions.values()), text=True,
                                capture_output=True, check=False, env=self.sim.environment(self.sim.node()),
                                cwd=self.sim.folder, timeout=300)
        lines = result.stdout.split()
        if result.returncode != 0 or len(lines) != len(self.questions):
            raise judges.Disagreement(f"mad_asker: code {result.returncode}, {len(lines)} answers of {len(self.questions)}: "
                                      f"{result.stderr[-500:]}")
        return {key: None if line == "-" else bytes.fromhex(line) for key, line in zip(self.questions, lines)}


def require(what, answer):
    if answer is None:
        raise judges.Disagreement(f"{what}: no answer")
    return answer


def read_fabric(sim):
    """Cables and LIDs, by ibnetdiscover."""
    network = judges.parse_ibnetdiscover(sim.run(sim.node(), "ibnetdiscover"))
    fabric = walks.Fabric()
    for a, b in network.links:
        fabric.peers[a], fabric.peers[b] = b, a
    for (guid, port), lid in network.lids.items():
        if network.nodes[guid][0] == "Switch":
            fabric.switches[guid] = lid
        else:
            fabric.hosts[lid] = (guid, port)
    return fabric.settle()


def linked_ports(fabric):
    """(LID, GUID, port, its number in lane attributes, inputs whose packets leave by it) of switches and hosts."""
    for guid, lid in fabric.switches.items():
        linked = sorted(port for at, port in fabric.peers if at == guid)
        for port in linked:
            yield lid, guid, port, port, (0, *linked)
    for lid, (guid, port) in fabric.hosts.items():
        yield lid, guid, port, 0, (0,)


def scramble(sim, fabric):
    """What others may leave behind: all SLs are dropped, but one lane of each port serves. So whatever is not written shows."""
    asker = Asker(sim)
    for lid, guid, port, number, inputs in linked_ports(fabric):
        for entry in inputs:
            asker.want((guid, entry, port), "smp", lid, SL2VL, entry << 8 | number, "ff" * 8)
        for block in (1, 3):
            asker.want((guid, port, block, "weights"), "smp", lid, VL_ARBITRATION, block << 16 | number, "0001" + "0000" * 31)
    for key, answer in asker.answers().items():
        if key[-1] != "weights":
            require(f"Set of the mapping {key}", answer)


class Lanes:
    """What is in the switches' and adapters' own tables, and what the SA says."""

    def __init__(self, sim, fabric):
        self.fabric = fabric
        top = Asker(sim)
        for guid, lid in fabric.switches.items():
            top.want(guid, "smp", lid, SWITCH_INFO, 0)
        tops = {guid: int.from_bytes(require(f"SwitchInfo of {guid}", data)[6:8], "big") for guid, data in top.answers().items()}
        asker = Asker(sim)
        for guid, lid in fabric.switches.items():
            for block in range(tops[guid] // BLOCK + 1):
                asker.want(("table", guid, block), "smp", lid, LFT, block)
        for lid, guid, port, number, inputs in linked_ports(fabric):
            asker.want(("port", guid, port), "smp", lid, PORT_INFO, port)
            for entry in inputs:
                asker.want(("lanes", guid, entry, port), "smp", lid, SL2VL, entry << 8 | number)
            for block in ARBITRATION_BLOCKS:
                asker.want(("weights", guid, port, block), "smp", lid, VL_ARBITRATION, block << 16 | number)
        for source, target in self.pairs():
            asker.want(("path", source, target), "path", source, target)
        self.fill(asker.answers(), tops)

    def pairs(self):
        hosts, switches = sorted(self.fabric.hosts), sorted(self.fabric.switches.values())
        yield from ((a, b) for a in hosts for b in hosts + switches if a != b)
        yield from ((a, b) for a in switches for b in hosts)

    def fill(self, answers, tops):
        self.operational, self.maps, self.sls = {}, {}, {}
        self.served = collections.defaultdict(set)  # (GUID, port) -> lanes with a weight
        self.fabric.tables = collections.defaultdict(dict)
        for (kind, *key), data in answers.items():
            if kind == "weights":  # a port refuses the blocks that it has no room for
                entries = zip(data[::2], data[1::2]) if data else ()
                self.served[tuple(key[:2])] |= {vl & 15 for vl, weight in entries if weight}
                continue
            data = require(f"{kind} of {key}", data)
            if kind == "table":
                guid, block = key
                entries = ((block * BLOCK + i, port) for i, port in enumerate(data))
                self.fabric.tables[guid] |= {lid: port for lid, port in entries if port != 255 and lid <= tops[guid]}
            elif kind == "port":
                self.operational[tuple(key)] = LANES_OF_CODE[data[43] >> 4]
            elif kind == "lanes":
                self.maps[tuple(key)] = [vl for byte in data[:8] for vl in (byte >> 4, byte & 15)]
            else:
                record = Record(PATH_RECORD, data)
                if (record["SLID"], record["DLID"]) != tuple(key):
                    raise judges.Disagreement(f"path {key}: the SA answers {record['SLID']} to {record['DLID']}")
                self.sls[tuple(key)] = record["SL"]

    def lane(self, at, entry, exit_, sl):
        return self.maps[at, entry, exit_][sl]

    def require_lane(self, at, entry, exit_, sl):
        """The cable out of a port must run the lane that a packet would take, on both ends, and the port serve it."""
        lane, there = self.lane(at, entry, exit_, sl), self.fabric.peers[at, exit_]
        lanes = min(self.operational[at, exit_], self.operational[there])
        if lane >= lanes:
            raise judges.Disagreement(f"{at} port {exit_}: SL {sl} from port {entry} goes to VL {lane}, "
                                      f"the link runs {lanes} lanes")
        if lanes > 1 and lane not in self.served[at, exit_]:
            raise judges.Disagreement(f"{at} port {exit_}: VL {lane} has no weight, of {lanes} lanes")
        return lane


def walk_all(lanes):
    """Every pair; what channels wait for which, on the lanes and if there were but one; the lanes used."""
    fabric, used = lanes.fabric, set()
    channels, on_one_lane = walks.Channels(fabric, lanes.lane), walks.Channels(fabric)
    for source, target in lanes.pairs():
        sl = lanes.sls[source, target]
        try:
            way = fabric.walk(source, target)
        except walks.Lost as lost:
            raise judges.Disagreement(str(lost)) from lost
        if source in fabric.hosts:
            guid, port = fabric.hosts[source]
            lanes.require_lane(guid, 0, port, sl)
        else:
            way[0] = (way[0][0], 0, way[0][2])
        used |= {lanes.require_lane(*hop, sl) for hop in way if hop[2] != 0}
        channels.add(way, sl)
        on_one_lane.add(way)
    return channels, on_one_lane, used


def check_walks(lanes, expected):
    channels, on_one_lane, used = walk_all(lanes)
    if ring := channels.ring():
        raise judges.Disagreement("channels wait in a ring: " + ", ".join(f"{at} port {port} VL {vl}" for at, port, vl in ring))
    if len(used) != expected:
        raise judges.Disagreement(f"lanes {sorted(used)} are used, the engine says {expected}")
    if expected > 1 and not on_one_lane.ring():
        raise judges.Disagreement("one lane would have done: this fabric tests nothing")
    return (f"{len(lanes.sls)} paths, {len(channels.waits)} channels that packets hold and wait, lanes "
            f"{', '.join(map(str, sorted(used)))}, no ring" + (" (on one lane there is one)" if expected > 1 else ""))


# ---- strangers on the same ------------------------------------------------------------------------------------

def check_tables(sim, lanes):
    stranger = judges.parse_tables(sim.run(sim.node(), "dump_fts"))
    last = max(map(max, lanes.fabric.tables.values()))
    for guid, table in lanes.fabric.tables.items():  # dump_fts ends before a top LID that begins a block
        theirs = {lid: port for lid, port in stranger["0x" + guid].items() if lid < last}
        judges.require_equal(f"table of {guid} (dump_fts)", theirs, {lid: port for lid, port in table.items() if lid < last})
    return f"{len(lanes.fabric.tables)} tables"


def check_maps(sim, lanes, draw):
    """smpquery sl2vl: all inputs of one exit at a time."""
    exits = sorted({(guid, exit_) for guid, _, exit_ in lanes.maps if guid in lanes.fabric.switches})
    checked = 0
    for guid, exit_ in draw.sample(exits, SPOT_CHECKS):
        text = sim.run(sim.node(), "smpquery", "sl2vl", str(lanes.fabric.switches[guid]), str(exit_))
        for entry, row in re.findall(r"ports: in\s+(\d+), out\s+\d+: \|([ \d|]+)\|", text):
            if (guid, int(entry), exit_) in lanes.maps:
                judges.require_equal(f"SL2VL of {guid} {entry} to {exit_} (smpquery)", dict(enumerate(map(int, row.split("|")))),
                                     dict(enumerate(lanes.maps[guid, int(entry), exit_])))
                checked += 1
    if checked < SPOT_CHECKS:
        raise judges.Disagreement(f"smpquery sl2vl gave {checked} rows")
    return f"{checked} mappings"


def check_paths(sim, lanes, draw):
    """saquery, one path at a time."""
    pairs = draw.sample(sorted(lanes.sls), SPOT_CHECKS)
    for source, target in pairs:
        rows = records(sim.run(sim.node(), "saquery", "PathRecord", "--slid", str(source), "--dlid", str(target)))
        sls = [int(row["sl"], 16) for row in rows]
        judges.require_equal(f"SL of {source} to {target} (saquery)", {"SL": sls}, {"SL": [lanes.sls[source, target]]})
    return f"{len(pairs)} paths"


def check_ibdmchk(manager, lanes, expected, folder):
    dumps = os.path.join(folder, "dumps")
    subprocess.run([manager.status[0], "export", "--format", "opensm-dumps", "-o", dumps, "--socket", manager.socket], check=True,
                   stdout=subprocess.DEVNULL)
    with open(os.path.join(dumps, "paths"), "w", encoding="ascii") as file:
        for (source, target), sl in lanes.sls.items():
            if source in lanes.fabric.hosts:
                file.write(f"0x{lanes.fabric.hosts[source][0]} {target} {sl}\n")
    with open(os.path.join(dumps, "lanes"), "w", encoding="ascii") as file:
        for (guid, entry, exit_), row in lanes.maps.items():
            if guid in lanes.fabric.switches:
                pairs = " ".join(f"0x{a:x}{b:x}" for a, b in zip(row[::2], row[1::2]))
                file.write(f"0x{guid} {entry} {exit_} {pairs}\n")
    base = ["ibdmchk", "-s", f"{dumps}/opensm-subnet.lst", "-f", f"{dumps}/opensm.fdbs", "-m", f"{dumps}/opensm.mcfdbs"]

    def checked(*options):
        result = subprocess.run([*base, *options], stdin=subprocess.DEVNULL, cwd=folder, capture_output=True, text=True,
                                errors="replace", check=False, timeout=300)
        return judges.parse_ibdmchk(result.stdout), result.stdout

    with_lanes, said = checked("-c", f"{dumps}/paths", "-d", f"{dumps}/lanes")
    if with_lanes.errors or with_lanes.credit_loops:
        raise judges.Disagreement("ibdmchk with lanes: " + said[-1500:])
    without, said = checked()
    if without.credit_loops != (expected > 1):
        raise judges.Disagreement("ibdmchk without lanes: " + said[-1500:])
    return f"{with_lanes.paths} paths: no credit loop" + (", one without lanes" if expected > 1 else "")


def started(options, sim, folder, engine):
    """ibfabricd, up."""
    os.makedirs(folder)
    config = os.path.join(folder, "config.toml")
    with open(config, "w", encoding="ascii") as file:
        file.write(f'[routing]\nengines = ["{engine}"]\nvls_max = {options.vls}\n')
    manager = Ours(sim, options.build, sim.node(), folder, "--config", config)
    try:
        manager.wait_up()
    except RuntimeError:
        manager.stop()
        raise
    return manager


def prepare(options, sim, folder):
    """A fabric with LIDs, which another subnet manager has left with lane tables of no use."""
    manager = started(options, sim, folder, "updn")
    manager.stop()
    scramble(sim, read_fabric(sim))


def judge(options, sim, folder):
    if options.scramble:
        prepare(options, sim, os.path.join(folder, "before"))
    manager = started(options, sim, os.path.join(folder, "judged"), options.engine)
    try:
        routing = json.loads(subprocess.run([*manager.status, "--json"], capture_output=True, check=True).stdout)["routing"]
        if routing["engine"] != options.engine:
            raise judges.Disagreement(f"{routing['engine']} serves, not {options.engine}: {routing}")
        fabric, draw = read_fabric(sim), random.Random(9)
        lanes = Lanes(sim, fabric)
        report("walks", lambda: check_walks(lanes, routing["vls"]))
        report("dump_fts", lambda: check_tables(sim, lanes))
        report("smpquery", lambda: check_maps(sim, lanes, draw))
        if options.on != "ibsim":  # which hands saquery the packet in place of the table, and it falls
            report("saquery", lambda: check_paths(sim, lanes, draw))
        report("ibdmchk", lambda: check_ibdmchk(manager, lanes, routing["vls"], folder))
        return f"{len(fabric.switches)} switches, {len(fabric.hosts)} hosts, {len(lanes.maps)} mappings read"
    finally:
        manager.stop()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True, type=os.path.abspath)
    parser.add_argument("--on", required=True, choices=("ibsim", "ibfabric-sim"))
    parser.add_argument("--spec", required=True)
    parser.add_argument("--engine", required=True)
    parser.add_argument("--vls", type=int, default=8)
    parser.add_argument("--scramble", action="store_true", help="lane tables are of no use before; for engines of several lanes")
    options = parser.parse_args()
    absent = missing_programs(PROGRAMS + (("ibsim",) if options.on == "ibsim" else ("saquery",)))
    if absent or (options.on == "ibsim" and not find_umad2sim()):
        print(f"skipped: not here: {' '.join(absent) or 'libumad2sim'} (./dev setup test)")
        return SKIPPED
    with tempfile.TemporaryDirectory(prefix="ibf-") as folder:
        print(f"{options.engine} on {options.spec}, {options.on}", flush=True)
        with (OnIbsim if options.on == "ibsim" else OnOurs)(options.build, options.spec, folder) as sim:
            report("fabric", lambda: judge(options, sim, folder))
    print(f"  {len(findings)} findings" + (": " + ", ".join(findings) if findings else ""))
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
