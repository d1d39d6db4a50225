#!/usr/bin/env python3
"""Brings one fabric up under ibsim with ibfabricd and holds its view against strangers'.

    run.py --build BUILD_DIR (--file NETLIST | --spec GENERATOR) [--full]

Judges: ibnetdiscover, iblinkinfo, dump_fts, ibtracert (seeded pairs), ibdmchk; then a restart, which must write no table
and move no LID, counted outside the daemon. On fabrics of more than 1,000 nodes ibdmchk (46 s and more) is left out
unless --full or IBF_CONFORMANCE_FULL is given. Exit code 77: skipped, with the reason printed.
"""

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time

import judges
from ibsim import Ibsim, SmpCounts, find_umad2sim, missing_programs, stop, unpacked

SKIPPED = 77
PROGRAMS = ("ibsim", "ibnetdiscover", "iblinkinfo", "dump_fts", "ibtracert", "ibdmchk")
TRACED_PAIRS = 50
LARGE_NODES = 1000


class Daemon:
    """ibfabricd under ibsim, and its command line."""

    def __init__(self, ibsim, build, name):
        self.ibsim = ibsim
        self.cli = os.path.join(build, "bin", "ibfabric")
        self.folder = ibsim.folder
        self.socket = os.path.join(self.folder, "s")
        self.output = os.path.join(self.folder, f"ibfabricd-{name}.log")
        self.counts_file = os.path.join(self.folder, f"counts-{name}")
        self.process = ibsim.spawn(
            [os.path.join(build, "bin", "ibfabricd"), "--state-dir", os.path.join(self.folder, "state"), "--socket", self.socket],
            self.output, counts=self.counts_file, shim=os.path.join(build, "lib", "libibf_count_smps.so"))

    def ask(self, *arguments, timeout=300, codes=(0,)):
        """Standard output of an ibfabric command."""
        result = subprocess.run([self.cli, *arguments, "--socket", self.socket], stdin=subprocess.DEVNULL,
                                capture_output=True, text=True, check=False, timeout=timeout)
        if result.returncode not in codes:
            raise judges.Disagreement(f"ibfabric {' '.join(arguments)}: exit code {result.returncode}\n{result.stdout[-500:]}"
                                      f"{result.stderr[-500:]}\nthe daemon's last words:\n{self.last_words()}")
        return result.stdout

    def ask_json(self, *arguments, **kwargs):
        return json.loads(self.ask(*arguments, "--json", **kwargs))

    def wait_up(self, seconds):
        """`ibfabric status --wait-up`, given up at once if the daemon dies."""
        waiting = subprocess.Popen([self.cli, "status", "--wait-up", str(seconds), "--socket", self.socket],
                                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        while waiting.poll() is None and self.process.poll() is None:
            time.sleep(0.02)
        if self.process.poll() is not None:
            waiting.kill()
        complaint = waiting.communicate()[1]
        if self.process.poll() is not None or waiting.returncode != 0:
            raise judges.Disagreement(f"the subnet did not come up in {seconds} s: {complaint}\n"
                                      f"the daemon's last words:\n{self.last_words()}")

    def export(self, kind):
        path = os.path.join(self.folder, "export-" + kind)
        self.ask("export", "--format", kind, "-o", path)
        return path

    def last_words(self):
        with open(self.output, encoding="utf-8", errors="replace") as file:
            return file.read()[-2000:]

    def stop(self):
        code = stop(self.process)
        if code != 0:
            raise judges.Disagreement(f"the daemon ended with code {code}:\n{self.last_words()}")
        return SmpCounts(self.counts_file)


def read(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


def check_network(ibsim, daemon):
    stranger = judges.parse_ibnetdiscover(ibsim.run("ibnetdiscover"))
    ours = judges.parse_ibnetdiscover(read(daemon.export("ibnetdiscover")))
    judges.compare_networks(stranger, ours)
    return f"{len(ours.nodes)} nodes, {len(ours.links)} links"


def check_link_states(ibsim, daemon):
    states = judges.parse_iblinkinfo(ibsim.run("iblinkinfo", "--line"))
    isolated = {(row["at_guid"], row["at_port"]) for row in daemon.ask_json("status")["isolated"] if "at_guid" in row}
    port_guids = {row["port_guid"]: row["guid"] for row in daemon.ask_json("hosts")["hosts"]}
    idle = {(port_guids.get(guid, guid), port): state for (guid, port), state in states.items() if state != "Active"}
    unexplained = {key: state for key, state in idle.items() if key not in isolated}
    judges.require_equal("link states (iblinkinfo)", unexplained, {})
    return f"{len(states) - len(idle)} ports Active, {len(idle)} isolated"


def check_tables(ibsim, daemon, dumps):
    stranger = judges.parse_tables(ibsim.run("dump_fts"))
    ours = judges.parse_tables(read(os.path.join(dumps, "opensm-lfts.dump")))
    top = max((lid for table in ours.values() for lid in table), default=0)
    if top % 64 == 0:   # dump_fts ends before a top LID that begins a block
        for table in ours.values():
            table.pop(top, None)
    judges.require_equal("switches with tables (dump_fts)", set(stranger), set(ours))
    for guid in sorted(stranger):
        judges.require_equal(f"table of {guid} (dump_fts)", stranger[guid], ours[guid])
    return f"{len(ours)} tables, {sum(map(len, ours.values()))} entries"


def our_path(daemon, source, destination):
    """The same shape as judges.parse_ibtracert: who forwards by which port, and where it ends."""
    hops = daemon.ask_json("path", str(source), str(destination))["hops"]
    steps = [(hop["guid"], hop["out_port"]) for hop in hops if hop.get("out_port") is not None]
    last = hops[-1]
    return steps, (last["guid"], last["in_port"])


def check_paths(ibsim, daemon):
    hosts = daemon.ask_json("hosts")["hosts"]
    by_port_guid = {row["port_guid"]: row["guid"] for row in hosts}
    lids = sorted(row["lid"] for row in hosts if row["lid"] and row.get("peer"))
    if len(lids) < 2:
        return "no two hosts to trace between"
    pairs = random.Random(20) .sample([(a, b) for a in lids[:400] for b in lids[-400:] if a != b],
                                      min(TRACED_PAIRS, len(lids) * (len(lids) - 1) // 2))
    for source, destination in pairs:
        steps, arrival = judges.parse_ibtracert(ibsim.run("ibtracert", str(source), str(destination)))
        # Its first line names the node, the lines of hops name the port entered. A GUID may well be one device's node
        # GUID and another's port GUID, so only the last, where a port GUID stands, is looked up.
        stranger = (steps, (by_port_guid.get(arrival[0], arrival[0]), arrival[1]))
        ours = our_path(daemon, source, destination)
        if stranger != ours:
            raise judges.Disagreement(f"path {source} -> {destination}:\n  ibtracert {stranger}\n  ours      {ours}")
    return f"{len(pairs)} paths"


def check_credit_loops(ibsim, daemon, dumps):
    status = daemon.ask_json("status")
    if status["fabric"]["switches"] == 0:
        return "no switch, no table to check"
    files = [os.path.join(dumps, name) for name in ("opensm-subnet.lst", "opensm.fdbs", "opensm.mcfdbs")]
    result = subprocess.run(["ibdmchk", "-s", files[0], "-f", files[1], "-m", files[2]], stdin=subprocess.DEVNULL,
                            cwd=ibsim.folder, capture_output=True, text=True, errors="replace", check=False, timeout=600)
    checked = judges.parse_ibdmchk(result.stdout)
    if checked.errors:
        raise judges.Disagreement("ibdmchk: " + "\n".join(checked.errors[:8]))
    if checked.paths == 0 and status["fabric"]["end_ports"] >= 2:
        raise judges.Disagreement("ibdmchk scanned no path:\n" + result.stdout[-1000:] + result.stderr[-500:])
    # No engine of ours may leave a credit loop unless the configuration allows it, and it does not.
    if checked.credit_loops:
        raise judges.Disagreement("ibdmchk reports credit loops:\n" + result.stdout[-2000:])
    return f"{checked.paths} paths, no credit loop, engine {status['routing']['engine']}"


def check_restart(ibsim, build, lids_before):
    daemon = Daemon(ibsim, build, "second")
    try:
        daemon.wait_up(300)
        lids_after = daemon.ask_json("lids")["lids"]
    finally:
        counts = daemon.stop()
    if lids_before != lids_after:
        raise judges.Disagreement("LIDs moved at a restart")
    attributes = {"LFT": SmpCounts.LFT, "P_Key": SmpCounts.PKEY, "SL2VL": SmpCounts.SL2VL, "VL arbitration":
                  SmpCounts.VL_ARB, "MFT": SmpCounts.MFT}
    written = {name: counts.of(SmpCounts.SET, attribute) for name, attribute in attributes.items()}
    judges.require_equal("Sets at a restart on an unchanged fabric", written, dict.fromkeys(attributes, 0))
    if counts.of(SmpCounts.GET, SmpCounts.NODE_INFO) == 0:
        raise judges.Disagreement("the counter saw no NodeInfo Get: it is not counting")
    return f"{counts.requests()} SMPs, {counts.of(SmpCounts.SET, SmpCounts.PORT_INFO)} PortInfo Sets, no table written"


def expect_port_down(daemon):
    """A lone adapter without a cable: the daemon waits and says so; that is its right answer."""
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        time.sleep(0.1)
        if os.path.exists(daemon.socket):
            status = daemon.ask_json("status")
            if "down" in status["mode"]:
                return status["mode_text"]
    raise judges.Disagreement("the port has no link, but status never said so:\n" + daemon.last_words())


def judge(ibsim, build, full):
    daemon = Daemon(ibsim, build, "first")
    try:
        if not ibsim.is_linked:
            report("port down", lambda: expect_port_down(daemon))
            return
        began = time.monotonic()
        daemon.wait_up(300)
        print(f"  SUBNET UP after {time.monotonic() - began:.2f} s", flush=True)
        nodes = daemon.ask_json("status")["fabric"]["nodes"]
        dumps = daemon.export("opensm-dumps")
        report("ibnetdiscover", lambda: check_network(ibsim, daemon))
        report("iblinkinfo", lambda: check_link_states(ibsim, daemon))
        report("dump_fts", lambda: check_tables(ibsim, daemon, dumps))
        report("ibtracert", lambda: check_paths(ibsim, daemon))
        if full or nodes <= LARGE_NODES:
            report("ibdmchk", lambda: check_credit_loops(ibsim, daemon, dumps))
        else:
            print(f"  ibdmchk: left out, {nodes} nodes (IBF_CONFORMANCE_FULL=1 brings it in)")
        lids = daemon.ask_json("lids")["lids"]
    finally:
        daemon.stop()
    report("restart", lambda: check_restart(ibsim, build, lids))


findings = []


def report(name, check):
    try:
        print(f"  {name}: {check()}", flush=True)
    except judges.Disagreement as error:
        findings.append(name)
        print(f"  {name}: WRONG: {error}", flush=True)


def generated(build, spec, folder):
    path = os.path.join(folder, "netlist")
    subprocess.run([os.path.join(build, "bin", "ibfabric"), "generate", spec, "-o", path], check=True)
    return path


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True, type=os.path.abspath)
    parser.add_argument("--file")
    parser.add_argument("--spec")
    parser.add_argument("--full", action="store_true", default=bool(os.environ.get("IBF_CONFORMANCE_FULL")))
    options = parser.parse_args()
    absent = missing_programs(PROGRAMS)
    if absent or not find_umad2sim():
        print(f"skipped: not installed: {' '.join(absent) or 'libumad2sim'} (./dev setup test)")
        return SKIPPED
    if options.file and not os.path.exists(options.file):
        print(f"skipped: {options.file} is not here")
        return SKIPPED
    with tempfile.TemporaryDirectory(prefix="ibf-") as folder:
        print(options.file or options.spec, flush=True)
        netlist = unpacked(options.file, folder) if options.file else generated(options.build, options.spec, folder)
        with Ibsim(netlist, folder) as ibsim:
            try:
                judge(ibsim, options.build, options.full)
            except judges.Disagreement as error:
                findings.append("run")
                print(f"  WRONG: {error}")
    print(f"  {len(findings)} findings" + (": " + ", ".join(findings) if findings else ""))
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
