#!/usr/bin/env python3
"""PathRecord Gets against OpenSM and ibfabricd in turn, on the same simulated fabric, by the same clients.

    sa_bench.py --build BUILD_DIR [--spec SPEC] [--seconds N] [--window N] [--only opensm|ibfabricd]
                [--check | --counted]

64 clients on 8 nodes (sa_load.cpp), each with one request under way (--window: 1 to 4), random targets. First on a quiet
fabric, then while the SM sweeps heavily without a pause: ibfabricd by 'ibfabric sweep --full', asked for again while one
is under way, so that they follow each other at once; OpenSM by SIGHUP, each time anew once the last sweep is done. Rate
and latency are what clients see end to end: the simulator and the clients share the processors with the SM. CPU time is the SM's own, from /proc, user and system, all threads; during sweeps it
holds the sweeps' as well. A query without an answer within a second is lost. --check ends with 1 where a bar is missed,
--counted where one is missed that does not depend on the machine's speed (field case C87 as a test).
"""

import argparse
import collections
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "conformance"))
from fabric_sim import FabricSim, OpenSm, find_opensm  # noqa: E402
from ibsim import stop  # noqa: E402

CLIENT_NODES, THREADS = 8, 8
SETTLE_SECONDS = 5  # OpenSM is busy for a while after its SUBNET UP
TICKS = os.sysconf("SC_CLK_TCK")

# The design's budgets.
RATE_BAR, CPU_BAR, P99_BAR_US, SWEEP_P99_BAR_US = 2.0, 0.25, 5_000, 50_000


@dataclass
class Measured:
    rate: float
    median_us: int
    p99_us: int
    worst_us: int
    cpu_us: float     # of the SM for one answer
    user_us: float    # the part of it that is not system calls
    answers: int
    lost: int
    wrong: int
    sweeps: int
    refused: dict     # status -> number


def cpu_seconds(pid):
    """(user, system)"""
    with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return int(fields[11]) / TICKS, int(fields[12]) / TICKS


class Sweeps:
    """Heavy sweeps, one after the other, until the end of the block; ASK for one, DONE says how many there were."""

    def __init__(self, ask, done):
        self.ask, self.done, self.count, self.over = ask, done, 0, threading.Event()
        self.thread = threading.Thread(target=self._run)

    def _run(self):
        while not self.over.is_set():
            self.ask(self.over)

    def __enter__(self):
        self.before = self.done()
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()
        self.count = self.done() - self.before


def load(sim, options, pid, hosts, lids, folder):
    """One run of all clients."""
    samples = [os.path.join(folder, f"samples-{index}") for index in range(CLIENT_NODES)]
    outputs = [os.path.join(folder, f"load-{index}") for index in range(CLIENT_NODES)]
    before = cpu_seconds(pid)
    clients = [sim.spawn(hosts[index], [os.path.join(options.build, "bin", "sa_load"), str(THREADS), str(options.window),
                                        str(options.seconds), lids, samples[index]], outputs[index])
               for index in range(CLIENT_NODES)]
    if any([client.wait(options.seconds + 60) for client in clients]):
        raise RuntimeError("".join(open(path, encoding="utf-8").read() for path in outputs))
    user, system = (after - at for after, at in zip(cpu_seconds(pid), before))
    words = [re.findall(r"(\w+) ([\d.]+)", open(path, encoding="ascii").readline()) for path in outputs]
    total = {name: sum(float(dict(row)[name]) for row in words) for name in ("rate", "lost", "wrong", "answers")}
    refused = collections.Counter()
    for path in outputs:
        for status, count in re.findall(r"refused (\S+) (\d+)", open(path, encoding="ascii").read()):
            refused[status] += int(count)
    took = sorted(int(line) for path in samples for line in open(path, encoding="ascii"))
    if not took:
        raise RuntimeError("no answer at all")
    return Measured(total["rate"], took[len(took) // 2], took[len(took) * 99 // 100], took[-1],
                    (user + system) * 1e6 / len(took), user * 1e6 / len(took), len(took), int(total["lost"]),
                    int(total["wrong"]), 0, dict(refused))


def measure(options, who, opensm, folder):
    """(quiet, during heavy sweeps)"""
    os.makedirs(folder)
    with FabricSim(options.build, options.spec, folder) as sim:
        hosts = [node["description"] for node in sim.truth()["nodes"] if node["type"] == "CA"]
        socket = os.path.join(folder, "socket")
        control = os.path.join(options.build, "bin", "ibfabric")
        if who == "opensm":
            manager = OpenSm(lambda *args, **more: sim.spawn(hosts[0], *args, **more), opensm, os.path.join(folder, "opensm"))
            process = manager.process
        else:
            process = sim.spawn(hosts[0], [os.path.join(options.build, "bin", "ibfabricd"), "--state-dir",
                                           os.path.join(folder, "state"), "--socket", socket], os.path.join(folder, "log"))

        def sweep(over):
            if who == "ibfabricd":
                subprocess.run([control, "--socket", socket, "sweep", "--full"], check=True, capture_output=True)
                return
            before = manager.words().count("SUBNET UP")
            process.send_signal(signal.SIGHUP)
            while manager.words().count("SUBNET UP") == before and not over.wait(0.02):
                pass

        def swept():
            if who == "opensm":
                return manager.words().count("SUBNET UP")
            command = [control, "--socket", socket, "--json", "sweeps"]
            answer = subprocess.run(command, check=True, capture_output=True)
            return max(row["id"] for row in json.loads(answer.stdout)["sweeps"])

        try:
            if who == "opensm":
                manager.wait_up(300)
            else:
                subprocess.run([control, "--socket", socket, "status", "--wait-up", "300"], check=True, capture_output=True)
            lids = os.path.join(folder, "lids")
            with open(lids, "w", encoding="ascii") as file:
                file.writelines(f"{port['lid']}\n" for node in sim.truth()["nodes"] for port in node["ports"] if port["lid"])
            time.sleep(SETTLE_SECONDS)
            quiet = load(sim, options, process.pid, hosts[1:], lids, folder)
            with Sweeps(sweep, swept) as sweeps:
                busy = load(sim, options, process.pid, hosts[1:], lids, folder)
            busy.sweeps = sweeps.count
            return quiet, busy
        finally:
            stop(process)


def print_row(who, when, m):
    print(f"{who:10} {when:15} {m.rate:9.0f} {m.median_us / 1000:8.2f} {m.p99_us / 1000:8.2f} {m.worst_us / 1000:8.1f} "
          f"{m.cpu_us:10.2f} {m.user_us:8.2f} {m.answers:9} {m.lost:6} {m.wrong:6} {m.sweeps:6}"
          + "".join(f"  {count} refused with {status}" for status, count in sorted(m.refused.items())), flush=True)


def missed_counts(results):
    return [f"{when}: {m.lost} lost, {m.wrong} wrong, refused: {m.refused}, of {m.answers}; {m.sweeps} sweeps"
            for when, m in zip(("quiet", "heavy sweeps"), results["ibfabricd"])
            if m.lost or m.wrong or m.refused or m.answers == 0 or (when != "quiet" and m.sweeps == 0)]


def missed_bars(results):
    quiet, busy = results["ibfabricd"]
    bars = [("p99", quiet.p99_us <= P99_BAR_US, f"{quiet.p99_us} us, at most {P99_BAR_US}"),
            ("p99 during sweeps", busy.p99_us <= SWEEP_P99_BAR_US, f"{busy.p99_us} us, at most {SWEEP_P99_BAR_US}"),
            ("lost during sweeps", busy.lost == 0, f"{busy.lost}, at most 0"),
            ("wrong answers", quiet.wrong + busy.wrong == 0, f"{quiet.wrong + busy.wrong}, at most 0")]
    if "opensm" in results:
        theirs = results["opensm"][0]
        rate, cpu = quiet.rate / theirs.rate, quiet.cpu_us / theirs.cpu_us
        bars += [("rate", rate >= RATE_BAR, f"{rate:.2f} of OpenSM's, at least {RATE_BAR}"),
                 ("CPU time", cpu <= CPU_BAR, f"{cpu:.2f} of OpenSM's, at most {CPU_BAR}")]
    return [f"{name}: {words}" for name, met, words in bars if not met]


def print_ratios(results):
    for at, when in enumerate(("quiet", "heavy sweeps")):
        ours, theirs = results["ibfabricd"][at], results["opensm"][at]
        print(f"{'ratio':10} {when:15} {ours.rate / theirs.rate:9.2f} {ours.median_us / max(theirs.median_us, 1):8.2f} "
              f"{ours.p99_us / max(theirs.p99_us, 1):8.2f} {ours.worst_us / max(theirs.worst_us, 1):8.2f} "
              f"{ours.cpu_us / theirs.cpu_us:10.2f} {ours.user_us / theirs.user_us:8.2f}", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True, type=os.path.abspath)
    parser.add_argument("--spec", default="fat-tree:radix=24,levels=3")
    parser.add_argument("--seconds", type=int, default=10)
    parser.add_argument("--window", type=int, choices=range(1, 5), default=1)
    parser.add_argument("--only", choices=("opensm", "ibfabricd"))
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--counted", action="store_true")
    options = parser.parse_args()
    opensm = find_opensm(options.build)
    if not opensm and options.only != "ibfabricd":
        sys.exit("opensm is not unpacked: ./dev setup bench")
    print(f"{options.spec}: {CLIENT_NODES * THREADS} clients, {options.window} under way each, {options.seconds} s")
    print(f"{'who':10} {'when':15} {'answers/s':>9} {'p50 ms':>8} {'p99 ms':>8} {'max ms':>8} {'CPU us/ans':>10} {'user us':>8} "
          f"{'answers':>9} {'lost':>6} {'wrong':>6} {'sweeps':>6}")
    results = {}
    with tempfile.TemporaryDirectory(prefix="ibf-") as folder:
        for who in ("opensm", "ibfabricd"):
            if options.only in (None, who):
                results[who] = measure(options, who, opensm, os.path.join(folder, who))
                for when, measured in zip(("quiet", "heavy sweeps"), results[who]):
                    print_row(who, when, measured)
    if len(results) == 2:
        print_ratios(results)
    missed = []
    if "ibfabricd" in results:
        missed = missed_counts(results) if options.counted else missed_bars(results)
    for line in missed:
        print("MISSED: " + line)
    return 1 if missed and (options.check or options.counted) else 0


if __name__ == "__main__":
    sys.exit(main())
