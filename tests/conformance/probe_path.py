#!/usr/bin/env python3
"""'ibfabric-probe path' asks the SA of its port for one path, as a test of the probe does before it connects. What it tells is
what the SA has: of ibfabricd's and of OpenSM's, on fabrics of ibfabric-sim, also where a routing needs several SLs.

    probe_path.py --build BUILD_DIR [--spec SPEC] [--engine NAME]

With --engine, ibfabricd routes by it, and some path must have an SL other than 0. Exit code 77: skipped, with the reason printed.
"""

import argparse
import ipaddress
import json
import os
import signal
import subprocess
import sys
import tempfile
import time

import judges
import sim_process as strangers
from fabric_sim import FabricSim, OpenSm, find_opensm
from query import Client as Query, as_number
from sa import Ours, Truth, require
from sim_process import report

OK, FINDING, USAGE, NO_ANSWER = 0, 1, 2, 3
PATIENCE_SECONDS = 3  # of the program, beside what it takes to start
SLACK_SECONDS = 5
SOURCES = 6


class Prober:
    """'ibfabric-probe path' at a node."""

    def __init__(self, sim, build, node):
        self.sim, self.node, self.program = sim, node, os.path.join(build, "bin", "ibfabric-probe")

    def ask(self, *words):
        """(exit code, standard output, standard error)."""
        done = subprocess.run([self.program, "path", *map(str, words)], env=self.sim.environment(self.node), capture_output=True,
                              text=True, check=False, timeout=60, stdin=subprocess.DEVNULL)
        return done.returncode, done.stdout, done.stderr

    def path(self, *words):
        code, out, err = self.ask(*words, "--json")
        if code != OK:
            raise judges.Disagreement(f"path {words} at {self.node}: code {code}: {err}")
        return json.loads(out)

    def refusal(self, code, *words):
        found, out, err = self.ask(*words)
        if found != code:
            raise judges.Disagreement(f"path {words}: code {found}, not {code}: {out}{err}")
        return err


def gid_of(port):
    return str(ipaddress.IPv6Address(int(port["gid_prefix"], 16) << 64 | int(port["guid"], 16)))


def adapter_ports(sim):
    return [(owner["description"], port) for owner, port in Truth(sim.truth()).end_ports() if owner["type"] == "CA"]


def check_paths(sim, build, needs_lanes):
    """Each of some sources to each adapter: what 'ibfabric query' reads in the SA's table for the same reversible path."""
    ends, seen = adapter_ports(sim), set()
    for node, source in ends[:SOURCES]:
        prober = Prober(sim, build, node)
        rows = Query(sim, build, node).records("path", str(source["lid"]), "Reversible=1", "NumbPath=127")
        table = {row["DLID"]: row for row in rows if row["SLID"] == source["lid"]}
        for _, port in ends:
            if port["lid"] == source["lid"]:  # no lane is of consequence there
                continue
            path, row = prober.path(port["lid"]), table[port["lid"]]
            require(f"ends of {path}", (path["slid"], path["dlid"]), (source["lid"], port["lid"]))
            require(f"GIDs of {path}", tuple(map(as_number, (path["sgid"], path["dgid"]))),
                    tuple(map(as_number, (row["SGID"], row["DGID"]))))
            require(f"SL, P_Key of {path}", (path["sl"], path["pkey"]), (row["SL"], row["P_Key"]))
            require(f"MTU of {path}", path["mtu_bytes"], 128 << row["Mtu"])
            require(f"life of {path}", path["packet_lifetime_ns"], 4096 << row["PacketLifeTime"])
            if not path["is_reversible"] or path["bits_per_second"] == 0:
                raise judges.Disagreement(f"{path}")
            seen.add(path["sl"])
        far = ends[-1][1]
        by_gid = prober.path(gid_of(far), "--port", f"sim0/{source['port']}", "--pkey-index", 0)
        require("a path by GID", by_gid, prober.path(far["lid"]))
    if needs_lanes and seen == {0}:
        raise judges.Disagreement("every path has SL 0: nothing was tested")
    return f"{SOURCES * (len(ends) - 1)} paths, SLs {sorted(seen)}"


def check_words(sim, build):
    prober = Prober(sim, build, adapter_ports(sim)[-1][0])
    code, text, _ = prober.ask(adapter_ports(sim)[0][1]["lid"])
    require("code", code, OK)
    for name in ("from", "to", "SL", "MTU", "rate", "P_Key", "packet lifetime", "reversible"):
        if not any(line.startswith(name + " ") for line in text.splitlines()):
            raise judges.Disagreement(f"no {name} in {text}")
    prober.refusal(FINDING, 48000)
    prober.refusal(FINDING, "fe80::dead:beef")
    for words in (("0",), ("49152",), ("host-1",), ("fe80::x",), ("1", "--port", "sim9/1"), ("1", "--pkey-index", 99)):
        prober.refusal(USAGE, *words)
    return "none 1, words 2"


def check_files(sim, build):
    """Whoever asks the SA again and again, as an agent does, holds no more descriptors than after the first time."""
    said = sim.run(adapter_ports(sim)[0][0], os.path.join(build, "bin", "sa_opener"), "50")
    first, last = map(int, said.split())
    require("descriptors after 50 questions", last, first)
    return f"{last} descriptors"


def check_silence(sim, build, manager):
    """The SM is there no more: it is said within the program's patience, and a Ctrl-C is heard before."""
    prober = Prober(sim, build, adapter_ports(sim)[-1][0])
    os.kill(manager.process.pid, signal.SIGSTOP)
    try:
        began = time.monotonic()
        said = prober.refusal(NO_ANSWER, 1)
        took = time.monotonic() - began
        if "no answer from the subnet administrator" not in said or took > PATIENCE_SECONDS + SLACK_SECONDS:
            raise judges.Disagreement(f"after {took:.1f} s: {said}")
        process = sim.spawn(prober.node, [prober.program, "path", "1"], os.path.join(sim.folder, "interrupted"))
        time.sleep(0.5)
        began = time.monotonic()
        process.send_signal(signal.SIGINT)
        process.wait(timeout=30)
        if (heard := time.monotonic() - began) > 1.5:
            raise judges.Disagreement(f"Ctrl-C was heard after {heard:.1f} s")
    finally:
        os.kill(manager.process.pid, signal.SIGCONT)
    return f"{took:.1f} s, Ctrl-C {heard:.2f} s"


def on_fabric(options, folder, name, manage, needs_lanes):
    os.makedirs(folder)
    with FabricSim(options.build, options.spec, folder) as sim:
        hosts = [node["description"] for node in sim.truth()["nodes"] if node["type"] == "CA"]
        unmanaged = Prober(sim, options.build, hosts[-1]).refusal(NO_ANSWER, 1)
        if "no subnet manager has configured this port" not in unmanaged:
            raise judges.Disagreement(unmanaged)
        manager = manage(sim, hosts[0], folder)
        try:
            report(f"{name}: paths", lambda: check_paths(sim, options.build, needs_lanes))
            report(f"{name}: words", lambda: check_words(sim, options.build))
            report(f"{name}: descriptors", lambda: check_files(sim, options.build))
            report(f"{name}: silence", lambda: check_silence(sim, options.build, manager))
        finally:
            manager.stop()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True, type=os.path.abspath)
    parser.add_argument("--spec", required=True)
    parser.add_argument("--engine", help="of several lanes")
    options = parser.parse_args()

    def ours(sim, node, folder):
        config = os.path.join(folder, "ibfabricd.toml")
        with open(config, "w", encoding="ascii") as file:
            file.write(f'[routing]\nengines = ["{options.engine}"]\n' if options.engine else "")
        manager = Ours(sim, options.build, node, folder, "--config", config)
        manager.wait_up()
        manager.wait_lanes()
        return manager

    def opensm(sim, node, folder):
        words = ["-R", options.engine, "-Q"] if options.engine else []
        manager = OpenSm(lambda *args, **more: sim.spawn(node, *args, **more), find_opensm(options.build),
                         os.path.join(folder, "opensm"), *words)
        manager.wait_up(120)
        manager.wait_settled()
        return manager

    with tempfile.TemporaryDirectory(prefix="ibf-") as folder:
        on_fabric(options, os.path.join(folder, "a"), "ibfabricd", ours, options.engine is not None)
        if options.engine == "dfsssp":
            print("  without OpenSM, whose dfsssp draws lots among the lanes of a path with each question")
        elif find_opensm(options.build):
            on_fabric(options, os.path.join(folder, "b"), "OpenSM", opensm, False)
        else:
            print("  without OpenSM, which is not here (./dev setup test)")
    findings = strangers.findings
    print(f"  {len(findings)} findings" + (": " + ", ".join(findings) if findings else ""))
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
