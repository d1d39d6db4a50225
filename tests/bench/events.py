#!/usr/bin/env python3
"""What a lost cable or switch costs: OpenSM and ibfabricd in turn on the same ibsim fabric, and ours on our simulator.

    events.py --build BUILD_DIR --peers OPENSM_ROOT [--fabric SPEC] [--large SPEC] [--engine updn]
              [--only opensm|ibfabricd|large] [--check]

Under ibsim, of a fabric that is up and at rest: a leaf's cable to a switch above is lost and restored, then one above,
then a switch of the top level is lost. Measured from outside: from the command to ibsim's console to the last Set, and to
the last MAD (but questions about lanes, which ours asks in the background); processor time of all threads of the process
from the command to the last Set (`own`: the rest of that time belongs to ibsim or to waiting) and to rest; SMPs, LFT Sets.
Of ours: safety writes (entries through drop first); and the tables before and after go to the
judge (forced_blocks.cpp), which counts the blocks that anybody had to write, that hold another entry of a LID that is
there, and that only hold one of a LID that is gone. On our own simulator (--large, a fabric that fills the LID space) a fault script takes a cable away
and the daemon's own sweep report tells the time from the first look to the last write. --check ends with 1 where a bar
below is missed.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "conformance"))
from ibsim import HEADER, Ibsim, SmpCounts, find_umad2sim, missing_programs, stop  # noqa: E402
from opensm_vs_ibfabricd import ibfabricd_command, opensm_command, opensm_environment, wait_for_up  # noqa: E402

LINK_SECONDS, LINK_OWN_SECONDS, SWITCH_SECONDS = 0.5, 0.1, 2.0
BLOCKS_TO_FORCED = 1.2
LARGE_SECONDS = 0.3


class Tree:
    """Places in a netlist: who is a leaf, who is above, who is at the top."""

    def __init__(self, netlist):
        self.kind, self.peers = {}, {}
        current = None
        with open(netlist, encoding="ascii", errors="replace") as file:
            for line in file:
                if header := HEADER.match(line.encode()):
                    current = header.group(3).decode()
                    self.kind[current] = header.group(1).decode()
                    self.peers[current] = {}
                elif current and line.startswith("["):
                    port, peer = line.split("]", 1)
                    self.peers[current][int(port[1:])] = peer.strip().split('"')[1]
        switches = [node for node, kind in self.kind.items() if kind == "Switch"]
        leaves = [s for s in switches if any(self.kind[p] != "Switch" for p in self.peers[s].values())]
        middle = [s for s in switches if s not in set(leaves) and set(self.peers[s].values()) & set(leaves)]
        self.leaf, self.middle = leaves[-1], middle[-1]
        self.top = [s for s in switches if s not in set(leaves) | set(middle)][-1]

    def uplink(self, switch, above_of):
        """A port of the switch that leads to none of those below."""
        return max(port for port, peer in self.peers[switch].items()
                   if self.kind[peer] == "Switch" and peer != above_of)


@dataclass
class Cost:
    write_seconds: float
    quiet_seconds: float
    own_seconds: float
    cpu_seconds: float
    smps: int
    lft_sets: int


def cpu_seconds(pid):
    """Of all threads of a process; clock_getcpuclockid(3)."""
    return time.clock_gettime((~pid << 3) | 2)


def wait_for_rest(counts_file, patience):
    """Until nothing was sent for two seconds: a survey of lanes has ended, too, which takes eight minutes at 13,284 nodes.
    False: it never rested."""
    deadline = time.monotonic() + patience
    while time.monotonic() < deadline:
        if time.monotonic_ns() - SmpCounts(counts_file).last_send_ns > 2e9:
            return True
        time.sleep(0.2)
    return False


def wait_for_log(log, position, word, patience):
    deadline = time.monotonic() + patience
    while time.monotonic() < deadline:
        with open(log, "rb") as file:
            file.seek(position)
            if word in file.read():
                return
        time.sleep(0.05)
    raise RuntimeError(f"no {word.decode()} after the event")


def measure(ibsim, process, counts_file, command, done):
    """One event. DONE returns when the SM has reacted; then it is waited for until it rests."""
    before, cpu = SmpCounts(counts_file), cpu_seconds(process.pid)
    began = time.monotonic_ns()
    ibsim.say(command)
    done(before)
    while True:
        counts, spent = SmpCounts(counts_file), cpu_seconds(process.pid)
        if time.monotonic_ns() - counts.last_work_ns > 7e8:
            break
        time.sleep(0.02)
    return Cost((counts.last_set_ns - began) / 1e9, (counts.last_work_ns - began) / 1e9,
                counts.last_set_cpu_ns / 1e9 - cpu, spent - cpu,
                counts.requests() - before.requests(),
                counts.of(SmpCounts.SET, SmpCounts.LFT) - before.of(SmpCounts.SET, SmpCounts.LFT))


class Judge:
    """Forced blocks, from what the daemon exports before and after an event."""

    def __init__(self, options, folder):
        self.options, self.folder, self.number = options, folder, 0
        self.tables = self._dump()
        self.sweeps_seen = self._sweeps()[0]["id"]

    def _cli(self, *arguments):
        return subprocess.run([os.path.join(self.options.build, "bin", "ibfabric"), "--socket", "s", *arguments],
                              check=True, cwd=self.folder, stdout=subprocess.PIPE).stdout

    def _sweeps(self):
        return json.loads(self._cli("sweeps", "--json"))["sweeps"]

    def _dump(self):
        self.number += 1
        target = os.path.join(self.folder, f"dump-{self.number}")
        self._cli("export", "--format", "opensm-dumps", "-o", target)
        return os.path.join(target, "opensm-lfts.dump")

    def judge(self):
        before, self.tables = self.tables, self._dump()
        fabric = os.path.join(self.folder, "now.topo")
        self._cli("export", "--format", "ibnetdiscover", "-o", fabric)
        answer = subprocess.run([os.path.join(self.options.build, "bin", "forced_blocks"), fabric, before, self.tables],
                                check=True, stdout=subprocess.PIPE).stdout
        sweeps = [sweep for sweep in self._sweeps() if sweep["id"] > self.sweeps_seen]
        self.sweeps_seen = max([sweep["id"] for sweep in sweeps], default=self.sweeps_seen)
        return {**json.loads(answer), "safety": sum(sweep["lft_blocks_dropped"] for sweep in sweeps)}


def print_cost(who, event, cost, blocks):
    judged = f"{blocks['safety']:6} {blocks['forced']:7} {blocks['moved']:6} {blocks['dropped']:5}" if blocks else ""
    print(f"{who:10} {event:24} {cost.write_seconds:8.3f} {cost.quiet_seconds:8.3f} {cost.own_seconds:6.3f} "
          f"{cost.cpu_seconds:7.3f} "
          f"{cost.smps:8} {cost.lft_sets:8} {judged}", flush=True)


def events_of(tree):
    lower = f'"{tree.leaf}"[{tree.uplink(tree.leaf, None)}]'
    upper = f'"{tree.middle}"[{tree.uplink(tree.middle, tree.leaf)}]'
    return [("leaf's link lost", "Unlink " + lower), ("leaf's link restored", "ReLink " + lower),
            ("upper link lost", "Unlink " + upper), ("upper link restored", "ReLink " + upper),
            ("top switch lost", f'Unlink "{tree.top}"')]


def missed_bars(event, cost, blocks):
    missed = []
    most = SWITCH_SECONDS if "switch" in event else LINK_SECONDS
    if cost.write_seconds > most:
        missed.append(f"{event}: {cost.write_seconds:.3f} s to the last write, at most {most}")
    if "link" in event and cost.own_seconds > LINK_OWN_SECONDS:
        missed.append(f"{event}: {cost.own_seconds:.3f} s of our own until the last write, at most {LINK_OWN_SECONDS}")
    written = cost.lft_sets - blocks["safety"] - blocks["dropped"]
    if "lost" in event and blocks["forced"] == 0:
        missed.append(f"{event}: no block had to be written: it did not happen")
    if "lost" in event and written > BLOCKS_TO_FORCED * blocks["forced"]:
        missed.append(f"{event}: {written} blocks written for LIDs that are there, {blocks['forced']} forced")
    return missed


def run_under_ibsim(options, netlist, who):
    missed = []
    with tempfile.TemporaryDirectory(prefix="ibf-") as folder, Ibsim(netlist, folder) as ibsim:
        counts_file, output = os.path.join(folder, "counts"), os.path.join(folder, "output")
        os.makedirs(os.path.join(folder, "state"))
        if who == "opensm":
            command, log = opensm_command(options.peers, options.engine, folder), os.path.join(folder, "sm.log")
            ibsim.environment.update(opensm_environment(options.peers, folder))
        else:
            command, log = ibfabricd_command(options.build, options.engine, folder), output
        process = ibsim.spawn(command, output, counts=counts_file,
                              shim=os.path.join(options.build, "lib", "libibf_count_smps.so"))
        try:
            wait_for_up(process, log, 600)
            if who == "opensm":
                wait_for_rest(counts_file, 3)
            elif not wait_for_rest(counts_file, options.patience):
                raise RuntimeError(f"ibfabricd did not come to rest within {options.patience} s: its background work would count")
            judge = Judge(options, folder) if who == "ibfabricd" else None
            for event, line in events_of(Tree(netlist)):
                position = os.path.getsize(log)

                def reacted(before, at=position):
                    if who == "opensm":
                        return wait_for_log(log, at, b"SUBNET UP", 300)
                    deadline = time.monotonic() + 30
                    while SmpCounts(counts_file).last_set_ns == before.last_set_ns:
                        if time.monotonic() > deadline:
                            raise RuntimeError("no Set within 30 s of the event")
                        time.sleep(0.01)

                cost = measure(ibsim, process, counts_file, line, reacted)
                blocks = judge.judge() if judge else None
                print_cost(who, event, cost, blocks)
                if who == "ibfabricd":
                    missed += missed_bars(event, cost, blocks)
                    time.sleep(options.pause)  # a second event of one cable is held down
        finally:
            stop(process)
    return missed


def run_large(options):
    """A cable of a leaf is lost on the simulator inside the daemon."""
    with tempfile.TemporaryDirectory(prefix="ibf-") as folder:
        netlist = os.path.join(folder, "netlist")
        cli = os.path.join(options.build, "bin", "ibfabric")
        subprocess.run([cli, "generate", options.large, "-o", netlist], check=True, stdout=subprocess.DEVNULL)
        tree = Tree(netlist)
        with open(os.path.join(folder, "faults"), "w", encoding="ascii") as file:
            for second, node in ((90, tree.leaf), (120, tree.middle)):
                below = tree.leaf if node == tree.middle else None
                file.write(f'at {second}s link-down "{node}/{tree.uplink(node, below)}"\n')
        command = ibfabricd_command(options.build, "ftree", folder) + ["--sim", netlist, "--sim-faults", "faults"]
        with open(os.path.join(folder, "output"), "wb") as output:
            process = subprocess.Popen(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=output,
                                       stderr=subprocess.STDOUT)
        try:
            wait_for_up(process, os.path.join(folder, "output"), 300)
            time.sleep(130)
            answer = subprocess.run([cli, "--socket", "s", "sweeps", "--json"], check=True, cwd=folder,
                                    stdout=subprocess.PIPE).stdout
        finally:
            stop(process)
        missed, judged = [], 0
        for sweep in json.loads(answer)["sweeps"]:
            if sweep["scope"] != "touched" or sweep["lft_blocks_written"] == 0:
                continue
            judged += 1
            phases = ", ".join(f"{phase['name']} {phase['seconds']:.3f}" for phase in sweep["phases"])
            print(f"ibfabricd  {options.large}: {sweep['seconds']:.3f} s, {sweep['mads']} MADs, "
                  f"{sweep['lft_blocks_written']} blocks ({phases})", flush=True)
            if sweep["seconds"] > LARGE_SECONDS:
                missed.append(f"{options.large}: {sweep['seconds']:.3f} s, at most {LARGE_SECONDS}")
        if judged != 2:
            missed.append(f"{options.large}: {judged} looks at what was touched wrote tables, not 2")
        return missed


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True, type=os.path.abspath)
    parser.add_argument("--peers", required=True, type=os.path.abspath)
    parser.add_argument("--fabric", default="fat-tree:radix=36,levels=3")
    parser.add_argument("--large", default="fat-tree:radix=64,levels=3,pods=44")
    parser.add_argument("--engine", default="updn")
    parser.add_argument("--only", choices=("opensm", "ibfabricd", "large"))
    parser.add_argument("--patience", type=float, default=900, help="for ours to end its background work")
    parser.add_argument("--pause", type=float, default=8, help="between events")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    missed = []
    if options.only != "large":
        if missing_programs(["ibsim"]) or not find_umad2sim():
            sys.exit("ibsim-utils is not installed: ./dev setup bench")
        print(f"{'who':10} {'event':24} {'write s':>8} {'quiet s':>8} {'own s':>6} {'cpu s':>7} {'SMPs':>8} {'LFT Sets':>8} "
              f"{'safety':>6} {'forced':>7} {'moved':>6} {'gone':>5}")
        with tempfile.TemporaryDirectory(prefix="ibf-") as folder:
            netlist = os.path.join(folder, "netlist")
            subprocess.run([os.path.join(options.build, "bin", "ibfabric"), "generate", options.fabric, "-o", netlist],
                           check=True, stdout=subprocess.DEVNULL)
            for who in ("opensm", "ibfabricd"):
                if options.only in (None, who):
                    missed += run_under_ibsim(options, netlist, who)
    if options.only in (None, "large"):
        missed += run_large(options)
    for line in missed:
        print("MISSED: " + line)
    print("every bar is met" if not missed else f"{len(missed)} bars missed")
    return 1 if missed and options.check else 0


if __name__ == "__main__":
    sys.exit(main())
