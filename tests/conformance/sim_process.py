#!/usr/bin/env python3
"""Strangers on ibfabric-sim: what they say about the fabric is what the simulator knows about it.

    sim_process.py --build BUILD_DIR --spec GENERATOR     OpenSM brings it up; saquery's complete tables, ibnetdiscover,
                                                          dump_fts, ibtracert, smpquery, perfquery, osmtest, ibdiagnet;
                                                          then ibfabricd
    sim_process.py --build BUILD_DIR --against-ibsim NETLIST
                                                          OpenSM on ibsim and on ibfabric-sim: the same LIDs and tables

OpenSM is never installed (its package starts a subnet manager): $IBF_OPENSM_ROOT or BUILD_DIR/../peers/opensm is where it
is unpacked. Exit code 77: skipped, with the reason printed.
"""

import argparse
import collections
import os
import random
import re
import subprocess
import sys
import tempfile
import time

import judges
from fabric_sim import FabricSim, OpenSm, find_opensm, osmtest_complaints
from ibsim import Ibsim, find_umad2sim, join_point, missing_programs, stop, unpacked

SKIPPED = 77
PROGRAMS = ("ibnetdiscover", "dump_fts", "ibtracert", "saquery", "smpquery", "perfquery", "ibqueryerrors", "sminfo")
TRACED_PAIRS = 10
STATES = {"Down": "Down", "Init": "Initialize", "Armed": "Armed", "Active": "Active"}


def records(text):
    """saquery's records: one dict of field -> value each; of fields that come twice, the first."""
    found = []
    for line in text.split("\n"):
        if line.endswith("Record dump:"):
            found.append({})
        elif found and (match := re.match(r"\s+(\w+):?\.{2,}(.*)$", line)):
            found[-1].setdefault(match.group(1), match.group(2))
    return found


class Truth:
    """The simulator's own word, by GUID and LID."""

    def __init__(self, json):
        self.nodes = {node["guid"]: node for node in json["nodes"] if node["present"]}
        self.links = {tuple(sorted(((link["a"], link["a_port"]), (link["b"], link["b_port"])))) for link in json["links"]}
        self.lid_of = {}
        for guid, node in self.nodes.items():
            for port in node["ports"]:
                owner = node["ports"][0] if node["type"] == "Switch" else port
                self.lid_of[guid, port["port"]] = owner["lid"]

    def end_ports(self):
        """(node GUID, port) of every port that has an address and is reached."""
        linked = {end for link in self.links for end in link}
        for guid, node in self.nodes.items():
            for port in node["ports"]:
                if "guid" in port and (node["type"] == "Switch" or (guid, port["port"]) in linked):
                    yield node, port


def check_node_records(sim, node, truth):
    theirs = {(int(row["lid"]), row["node_guid"], row["port_guid"], int(row["port_num"]) if row["node_type"] != "Switch" else 0,
               int(row["num_ports"]), row["NodeDescription"]) for row in records(sim.run(node, "saquery", "NodeRecord"))}
    ours = {(port["lid"], owner["guid"], port["guid"], port["port"], owner["num_ports"], owner["description"])
            for owner, port in truth.end_ports()}
    judges.require_equal("NodeRecords", theirs, ours)
    return f"{len(theirs)} NodeRecords"


def check_port_info_records(sim, node, truth):
    rows = records(sim.run(node, "saquery", "PortInfoRecord"))
    theirs = {(int(row["EndPortLid"]), int(row["PortNum"])): (int(row["Lid"]), int(row["SMLid"]), row["LinkState"]) for row in rows}
    reached = {owner["guid"] for owner, _ in truth.end_ports()}
    ours = {}
    for guid in reached:
        for port in truth.nodes[guid]["ports"]:
            if truth.lid_of[guid, port["port"]] != 0:
                ours[truth.lid_of[guid, port["port"]], port["port"]] = (port["lid"], port["sm_lid"], STATES[port["state"]])
    judges.require_equal("PortInfoRecords", theirs, ours)
    judges.require_equal("PortInfoRecords, number", {"records": len(rows)}, {"records": len(ours)})
    return f"{len(rows)} PortInfoRecords"


def check_link_records(sim, node, truth):
    theirs = collections.Counter((int(row["FromLID"]), int(row["FromPort"]), int(row["ToLID"]), int(row["ToPort"]))
                                 for row in records(sim.run(node, "saquery", "LinkRecord")))
    ours = collections.Counter()
    for a, b in truth.links:
        ours[truth.lid_of[a], a[1], truth.lid_of[b], b[1]] += 1
        ours[truth.lid_of[b], b[1], truth.lid_of[a], a[1]] += 1
    judges.require_equal("LinkRecords", dict(theirs), dict(ours))
    return f"{sum(theirs.values())} LinkRecords"


def check_path_records(sim, node, truth):
    theirs = collections.Counter((int(row["slid"]), int(row["dlid"])) for row in records(sim.run(node, "saquery", "PathRecord")))
    lids = [port["lid"] for _, port in truth.end_ports()]
    judges.require_equal("PathRecords", dict(theirs), {(source, target): 1 for source in lids for target in lids})
    return f"{sum(theirs.values())} PathRecords"


def check_network(sim, node, truth):
    stranger = judges.parse_ibnetdiscover(sim.run(node, "ibnetdiscover"))
    bare = lambda guid: guid.removeprefix("0x")  # noqa: E731
    judges.require_equal("links (ibnetdiscover)", stranger.links,
                         {tuple(sorted(((bare(a), p), (bare(b), q)))) for (a, p), (b, q) in truth.links})
    ours = {(bare(owner["guid"]), port["port"]): port["lid"] for owner, port in truth.end_ports()}
    judges.require_equal("LIDs (ibnetdiscover)", stranger.lids, ours)
    return f"ibnetdiscover: {len(stranger.nodes)} nodes, {len(stranger.links)} links"


def tables_of(truth):
    """GUID -> {LID: port} of what each switch forwards."""
    tables = {}
    for guid, node in truth.nodes.items():
        if node["type"] == "Switch":
            entries = bytes.fromhex(node["lft"])
            tables[guid] = {lid: port for lid, port in enumerate(entries) if port != 255}
    return tables


def check_tables(sim, node):
    truth = Truth(sim.truth("tables"))
    stranger = judges.parse_tables(sim.run(node, "dump_fts"))
    known = {port["lid"] for _, port in truth.end_ports()}
    for guid, table in tables_of(truth).items():
        ours = {lid: port for lid, port in table.items() if lid in known}
        theirs = {lid: port for lid, port in stranger[guid].items() if lid in known}
        judges.require_equal(f"table of {guid} (dump_fts)", theirs, ours)
    return f"dump_fts: {len(stranger)} tables"


def check_paths(sim, node, truth):
    lids = sorted(port["lid"] for owner, port in truth.end_ports() if owner["type"] != "Switch")
    pairs = random.Random(3).sample([(a, b) for a in lids for b in lids if a != b], TRACED_PAIRS)
    for a, b in pairs:
        steps, _ = judges.parse_ibtracert(sim.run(node, "ibtracert", str(a), str(b)))
        if len(steps) < 2:
            raise judges.Disagreement(f"ibtracert {a} {b}: {steps}")
    return f"ibtracert: {len(pairs)} paths"


def check_queries(sim, node, truth):
    owner, port = next((owner, port) for owner, port in truth.end_ports() if owner["type"] != "Switch")
    text = sim.run(node, "smpquery", "nodeinfo", str(port["lid"]))
    if port["guid"] not in text:
        raise judges.Disagreement(f"smpquery nodeinfo {port['lid']}: {text}")
    for options in ((), ("-x",)):
        if "PortXmitPkts" not in (text := sim.run(node, "perfquery", *options, str(port["lid"]), "1")):
            raise judges.Disagreement(f"perfquery {options}: {text}")
    if "Summary" not in (text := sim.run(node, "ibqueryerrors", codes=(0, 1))):
        raise judges.Disagreement(f"ibqueryerrors: {text}")
    if "SMINFO_MASTER" not in (text := sim.run(node, "sminfo")):
        raise judges.Disagreement(f"sminfo: {text}")
    return f"smpquery, perfquery, ibqueryerrors, sminfo ({owner['description']})"


def check_osmtest(sim, node, opensm, folder):
    """OpenSM's own test of an SA, flow by flow."""
    programs, libraries = opensm
    passed = []
    for flow in ("c", "v", "s", "e", "m", "q"):  # "a" is these once more
        output = os.path.join(folder, "osmtest.out")
        process = sim.spawn(node, [os.path.join(programs, "osmtest"), "-f", flow, "-i", os.path.join(folder, "inventory"),
                                   "-l", os.path.join(folder, "osmtest.log")], output, LD_LIBRARY_PATH=libraries)
        process.wait(60)
        with open(output, encoding="utf-8", errors="replace") as file:
            text = file.read()
        if process.returncode != 0 or " PASS" not in text:
            raise judges.Disagreement(f"flow {flow}: code {process.returncode}\n{text[-1000:]}{osmtest_complaints(os.path.join(folder, 'osmtest.log'))}")
        passed.append(flow)
    return "flows " + " ".join(passed)


def check_ibdiagnet(sim, node):
    """Started by 'ibfabric-sim run', as people will."""
    if missing_programs(("ibdiagnet",)):
        return "ibdiagnet is not here"
    result = subprocess.run([sim.program, "run", sim.socket, node, "ibdiagnet", "-o", sim.folder], capture_output=True,
                            text=True, errors="replace", check=False, cwd=sim.folder, timeout=120, stdin=subprocess.DEVNULL)
    if result.returncode != 0 or "Bad GUIDs/LIDs Check                     0      0" not in result.stdout:
        raise judges.Disagreement(f"ibdiagnet: code {result.returncode}\n{result.stdout[-1500:]}{result.stderr[-500:]}")
    return "ibdiagnet: no bad GUID or LID"


findings = []


def report(name, check):
    try:
        print(f"  {name}: {check()}", flush=True)
    except (judges.Disagreement, RuntimeError, subprocess.TimeoutExpired) as error:
        findings.append(name)
        print(f"  {name}: WRONG: {error}", flush=True)


def adapters(sim):
    return [node["description"] for node in sim.truth()["nodes"] if node["type"] == "CA"]


def judge_opensm(sim, opensm, folder):
    hosts = adapters(sim)
    asker = hosts[-1]
    manager = OpenSm(lambda *args, **more: sim.spawn(hosts[0], *args, **more), opensm, os.path.join(folder, "opensm"))
    try:
        manager.wait_up(60)
        truth = Truth(sim.truth())
        report("nodes", lambda: check_node_records(sim, asker, truth))
        report("ports", lambda: check_port_info_records(sim, asker, truth))
        report("links", lambda: check_link_records(sim, asker, truth))
        report("paths", lambda: check_path_records(sim, asker, truth))
        report("network", lambda: check_network(sim, asker, truth))
        report("tables", lambda: check_tables(sim, asker))
        report("ways", lambda: check_paths(sim, asker, truth))
        report("queries", lambda: check_queries(sim, asker, truth))
        manager.wait_settled()
        report("osmtest", lambda: check_osmtest(sim, asker, opensm, folder))
        report("ibdiagnet", lambda: check_ibdiagnet(sim, asker))
        report("a cable", lambda: check_cable(sim, manager))
        report("second SM", lambda: check_second_manager(sim, opensm, folder, hosts[1]))
    finally:
        manager.stop()


def check_cable(sim, manager):
    """A cable pulled at run time: the trap reaches OpenSM, which says so."""
    (guid, port), _ = sorted(Truth(sim.truth()).links)[-1]
    before = manager.words().count("SUBNET UP")
    sim.control("link-down", f"{guid}/{port}")
    deadline = time.monotonic() + 15
    while manager.words().count("SUBNET UP") == before and time.monotonic() < deadline:
        time.sleep(0.1)
    if manager.words().count("SUBNET UP") == before:
        raise judges.Disagreement(f"OpenSM did not see that {guid}/{port} lost its cable")
    sim.control("link-up", f"{guid}/{port}")
    return f"{guid}/{port} pulled, OpenSM swept"


def check_second_manager(sim, opensm, folder, host):
    """A second OpenSM elsewhere finds the master by SMInfo and stands by; one more on the same port is refused."""
    second = OpenSm(lambda *args, **more: sim.spawn(host, *args, **more), opensm, os.path.join(folder, "second"))
    third = None
    try:
        deadline = time.monotonic() + 20
        while "STANDBY" not in second.words() and time.monotonic() < deadline:
            time.sleep(0.1)
        if "STANDBY" not in second.words():
            raise judges.Disagreement("the second OpenSM did not stand by:\n" + second.words()[-1500:])
        third = OpenSm(lambda *args, **more: sim.spawn(host, *args, **more), opensm, os.path.join(folder, "third"))
        third.process.wait(20)
        if "another instance of OpenSM" not in third.words():
            raise judges.Disagreement("two OpenSMs run on one port:\n" + third.words()[-1500:])
    finally:
        second.stop()
        if third:
            third.stop()
    return "stands by; one more on its port is refused"


def judge_ours(sim, build, folder):
    """ibfabricd through the stand-in."""
    host, socket = adapters(sim)[0], os.path.join(folder, "ours.socket")
    output = os.path.join(folder, "ibfabricd.log")
    daemon = sim.spawn(host, [os.path.join(build, "bin", "ibfabricd"), "--state-dir", os.path.join(folder, "state"),
                              "--socket", socket], output)

    def up():
        waiting = subprocess.run([os.path.join(build, "bin", "ibfabric"), "status", "--wait-up", "60", "--socket", socket],
                                 capture_output=True, text=True, check=False, timeout=90)
        if waiting.returncode != 0:
            with open(output, encoding="utf-8", errors="replace") as file:
                raise judges.Disagreement(waiting.stderr + file.read()[-1000:])
        truth = Truth(sim.truth())
        states = {port["state"] for node in truth.nodes.values() for port in node["ports"]}
        judges.require_equal("port states", states, {"Active"})
        broken = {name: count for name, count in sim.counters().items() if name.startswith("rule ")}
        judges.require_equal("wire rules broken", broken, {})
        return f"subnet up, {len(truth.links)} links Active, no wire rule broken; " + check_network(sim, adapters(sim)[-1], truth)

    try:
        report("ibfabricd", up)
    finally:
        if stop(daemon) != 0:
            findings.append("ibfabricd's end")


def opensm_result(start, opensm, folder, dump, seconds):
    """OpenSM brings a fabric up; what DUMP makes of it, and the time it took."""
    began = time.monotonic()
    manager = OpenSm(start, opensm, folder)
    try:
        manager.wait_up(seconds)
        took = time.monotonic() - began
        return dump(), took
    finally:
        manager.stop()


def as_ibsim_reads(netlist):
    """ibsim starts its ports with the LIDs of the file, where a fabric after power-on has none, and gives port N of an
    adapter the Nth GUID after its node's, whatever the file says. The netlist rewritten so that both read the same."""
    owner, lines = 0, []
    with open(netlist, "rb") as file:
        for line in file:
            line = re.sub(rb"\blid \d+\b", b"lid 0", line)
            if match := re.match(rb'^\s*(?:Hca|Ca)\s+\d+\s+"\w-([0-9a-fA-F]+)"', line):
                owner = int(match.group(1), 16)
            elif match := re.match(rb"^\s*\[(\d+)\]\([0-9a-fA-F]+\)", line):
                port = int(match.group(1))
                line = b"[%d](%x)" % (port, owner + port) + line[match.end():]
            lines.append(line)
    with open(netlist, "wb") as file:
        file.writelines(lines)
    return netlist


def lids_given(folder):
    """Port GUID -> LIDs, as OpenSM wrote them down."""
    with open(os.path.join(folder, "guid2lid"), encoding="ascii") as file:
        return {line.split()[0]: line.split()[1:] for line in file if line.strip()}


def judge_against_ibsim(options, opensm, folder):
    netlist = as_ibsim_reads(unpacked(options.against_ibsim, folder))
    host, _ = join_point(netlist)
    with Ibsim(netlist, folder) as ibsim:
        def start(command, output, **more):
            with open(output, "wb") as file:
                return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT,
                                        cwd=folder, env={**ibsim.client_environment(), **more})
        theirs, their_time = opensm_result(start, opensm, os.path.join(folder, "under-ibsim"),
                                           lambda: judges.parse_tables(ibsim.run("dump_fts", timeout=600)), 300)
    with FabricSim(options.build, netlist, folder) as sim:
        truth, our_time = opensm_result(lambda *args, **more: sim.spawn(host, *args, **more), opensm,
                                        os.path.join(folder, "under-ours"), lambda: Truth(sim.truth("tables")), 300)
    print(f"  up after {their_time:.1f} s on ibsim, {our_time:.1f} s on ibfabric-sim", flush=True)
    known = {port["lid"] for _, port in truth.end_ports()}

    def compare_lids():
        theirs_given, ours_given = (lids_given(os.path.join(folder, name)) for name in ("under-ibsim", "under-ours"))
        judges.require_equal("LIDs (guid2lid)", theirs_given, ours_given)
        in_place = {port["guid"]: [f"0x{lid:04x}" for lid in (port["lid"], port["lid"] + (1 << port["lmc"]) - 1)]
                    for _, port in truth.end_ports()}
        judges.require_equal("LIDs (in the ports)", ours_given, in_place)
        return f"{len(ours_given)} ports"

    def compare():
        ours = tables_of(truth)
        judges.require_equal("switches", set(theirs), set(ours))
        for guid in sorted(ours):
            judges.require_equal(f"table of {guid}", {lid: port for lid, port in theirs[guid].items() if lid in known},
                                 {lid: port for lid, port in ours[guid].items() if lid in known})
        return f"{len(ours)} tables, {sum(map(len, ours.values()))} entries alike"

    report("LIDs as under ibsim", compare_lids)
    report("tables as under ibsim", compare)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True, type=os.path.abspath)
    parser.add_argument("--spec")
    parser.add_argument("--against-ibsim")
    options = parser.parse_args()
    needed = PROGRAMS + (("ibsim",) if options.against_ibsim else ())
    absent, opensm = missing_programs(needed), find_opensm(options.build)
    if absent or not opensm or (options.against_ibsim and not find_umad2sim()):
        print(f"skipped: not here: {' '.join(absent) or 'an unpacked opensm or libumad2sim'} (./dev setup test)")
        return SKIPPED
    with tempfile.TemporaryDirectory(prefix="ibf-") as folder:
        if options.against_ibsim:
            judge_against_ibsim(options, opensm, folder)
        else:
            with FabricSim(options.build, options.spec, folder) as sim:
                judge_opensm(sim, opensm, folder)
            with FabricSim(options.build, options.spec, folder) as sim:
                judge_ours(sim, options.build, folder)
    print(f"  {len(findings)} findings" + (": " + ", ".join(findings) if findings else ""))
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
