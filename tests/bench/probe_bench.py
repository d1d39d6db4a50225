#!/usr/bin/env python3
"""ibfabric-probe beside ibv_rc_pingpong and perftest, in turn, between the same two virtual machines.

    probe_bench.py --build BUILD_DIR [--rounds N] [--check]

The machines are those of tests/vm: rdma_rxe, without KVM, so the figures say nothing of adapters; who drives the verbs with
less waste shows all the same. Each round measures all in turn, theirs and ours side by side, and who goes first changes from
round to round. A latency is half of there and back. The ratio is the median of the rounds' ratios, so that what else the
machine does strikes both alike: above 1, ours is better. Ours compares every payload with what was sent, as it does by
default; theirs compare nothing. --check ends with 1 where a ratio is below 0.9.
"""

import argparse
import json
import os
import re
import statistics
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "vm"))
from guest import Pair  # noqa: E402
from image import CannotBuild  # noqa: E402

BAR = 0.9
KEY = "a key that both machines hold, of 45 octets..."
PINGS, PING_BYTES = 3000, 64
MEBI = 1.048576   # perftest's MB are of 2^20 bytes
FLOOD, FLOOD_BYTES, DEPTH = 300, 65536, 64
TRIES = 5   # perftest misjudges the clock of a virtual processor now and then, and says "inf"
LISTENING = "for i in $(seq 600); do netstat -ltn | grep -q ':185[1][0-9] ' && exit 0; usleep 50000; done; exit 1"


class Bench:
    def __init__(self, pair):
        self.one, self.two = pair.guests
        for guest in pair.guests:
            guest.put("/tmp/key", KEY, "600")
        self.agent = self.two.background("exec ibfabric-probe agent --key /tmp/key")
        self.agent.wait_for("listening at")

    def theirs(self, command, pattern):
        """The figure that PATTERN finds in what a client of rdma-core or perftest says."""
        for _ in range(TRIES):
            server = self.two.background(command)
            self.two.must(LISTENING)
            out = self.one.must(f"{command} {self.two.address}", 300)
            server.wait(60)
            found = re.search(pattern, out, re.MULTILINE)
            if found:
                return float(found.group(1))
        raise RuntimeError(f"{command}: no figure in\n{out}")

    def ours(self, test, flags):
        out = self.one.must(f"ibfabric-probe {test} {self.two.address} --key /tmp/key --json {flags}", 300)
        return json.loads(out)["sizes"][0]

    # Each gives (theirs, ours) in one unit; latencies in microseconds, bandwidths in MB/s.

    def our_ping(self, figure):
        return self.ours("ping", f"--size {PING_BYTES} --count {PINGS}")["latency"][figure] / 1e3

    def our_flood(self, test):
        count = FLOOD if test != "send" else FLOOD // 2
        return self.ours(test, f"--size {FLOOD_BYTES} --count {count} --depth {DEPTH}")["bits_per_second"] / 8e6

    def cases(self):
        row = rf"^ *{FLOOD_BYTES} +\d+ +[\d.]+ +([\d.]+)"   # the average
        flood = f"-d rxe0 -x 1 -F -s {FLOOD_BYTES} -t {DEPTH}"
        return {
            "latency, mean: ibv_rc_pingpong": (
                lambda: self.theirs(f"ibv_rc_pingpong -d rxe0 -g 1 -s {PING_BYTES} -n {PINGS}", r"= ([\d.]+) usec/iter") / 2,
                lambda: self.our_ping("mean_ns"), "us"),
            "latency, median: ib_send_lat": (
                lambda: self.theirs(f"ib_send_lat -d rxe0 -x 1 -F -s {PING_BYTES} -n {PINGS}",
                                    rf"^ *{PING_BYTES} +\d+ +[\d.]+ +[\d.]+ +([\d.]+)"),
                lambda: self.our_ping("p50_ns"), "us"),
            "bandwidth: ib_write_bw": (lambda: self.theirs(f"ib_write_bw {flood} -n {FLOOD}", row) * MEBI, lambda: self.our_flood("write"), "MB/s"),
            "bandwidth: ib_read_bw": (lambda: self.theirs(f"ib_read_bw {flood} -n {FLOOD}", row) * MEBI, lambda: self.our_flood("read"), "MB/s"),
            "bandwidth: ib_send_bw": (lambda: self.theirs(f"ib_send_bw {flood} -n {FLOOD // 2}", row) * MEBI, lambda: self.our_flood("send"), "MB/s"),
        }


def measure(bench, rounds):
    """{case: [(theirs, ours), ...]}"""
    cases = bench.cases()
    figures = {name: [] for name in cases}
    for number in range(rounds + 1):
        for name, (theirs, ours, _) in cases.items():
            if number % 2:
                their, our = theirs(), ours()
            else:
                our, their = ours(), theirs()
            if number > 0:   # the first warms up
                figures[name].append((their, our))
                print(f"round {number}: {name}: {their:.2f} {our:.2f}", file=sys.stderr, flush=True)
    return cases, figures


def report(cases, figures):
    """Prints the table; the names of those below the bar."""
    missed = []
    print(f"{'':<34}{'theirs':>10}{'ours':>10}   {'ratio':>6}  (of each round)")
    for name, rows in figures.items():
        unit = cases[name][2]
        ratios = sorted(their / our if unit == "us" else our / their for their, our in rows)
        ratio = statistics.median(ratios)
        their, our = (statistics.median(column) for column in zip(*rows))
        print(f"{name:<34}{their:>10.2f}{our:>10.2f} {unit:<4}{ratio:>5.2f}  ({ratios[0]:.2f} to {ratios[-1]:.2f})")
        if ratio < BAR:
            missed.append(name)
    return missed


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True, type=os.path.abspath)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    try:
        pair = Pair(options.build, [os.path.join(options.build, "bin", "ibfabric-probe")], apart=True)
    except CannotBuild as error:
        print(f"probe_bench: {error}", file=sys.stderr)
        return 1
    try:
        missed = report(*measure(Bench(pair), options.rounds))
    finally:
        pair.stop()
    for name in missed:
        print(f"below {BAR}: {name}")
    return 1 if missed and options.check else 0


if __name__ == "__main__":
    sys.exit(main())
