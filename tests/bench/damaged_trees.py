#!/usr/bin/env python3
"""A fat tree with lost cables: our ftree, which finds the roots itself, beside OpenSM's, which is told them.

    damaged_trees.py --build BUILD_DIR --peers OPENSM_ROOT [--seeds N] [--share 0.02] [--matchings N] [--check]

1,024 hosts on 320 16-port switches in three levels; for each seed another two percent of the cables between switches are
missing. OpenSM runs on ibsim; its tables are read back by dump_fts, and both are judged by `ibfabric plan`: mean and worst
link of all shifts, effective bisection over the matchings. dump_fts leaves out a top LID that begins a block of its own, as 1,344 does:
OpenSM's pairs to it carry no load, which flatters it. --check ends with 1 where ours is worse on any instance, or misses a bar.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile

import routing_vs_opensm as bench
from ibsim import HEADER, find_umad2sim, missing_programs

SHIFT_MOST, BISECTION_LEAST = 3.15, 0.505
INTACT_BISECTION_LEAST = 0.525
SPEC = "fat-tree:radix=16,levels=3"


def root_guids(netlist):
    """Those of the top level, by the names that the generator gives."""
    with open(netlist, "rb") as file:
        for line in file:
            header = HEADER.match(line)
            if header and b"core-" in line:
                yield "0x" + re.sub(rb"^[A-Za-z]*-", b"", header.group(3)).decode()


class Figures:
    def __init__(self, plan):
        self.shift = plan["patterns"]["shift"]["mean_max"]
        self.bisection = plan["patterns"]["bisection"]["bandwidth"]
        self.lost = plan["unreachable_pairs"]
        self.loops = plan["credit_loops"]


def one(options, spec, seed):
    """(ours, OpenSM's) of one instance."""
    with tempfile.TemporaryDirectory(prefix="ibf-") as folder:
        netlist = os.path.join(folder, "netlist")
        subprocess.run([os.path.join(options.build, "bin", "ibfabric"), "generate", spec, "-o", netlist], check=True)
        ours = Figures(bench.plan(options, netlist, "ftree", *bench.quality_options(options)))
        roots = os.path.join(folder, "roots")
        with open(roots, "w", encoding="ascii") as file:
            file.writelines(guid + "\n" for guid in root_guids(netlist))
        _, served, plan = bench.opensm_result(options, netlist, "ftree", folder, "-a", roots)
        theirs = Figures(plan)
        print(f"{seed:>6} {ours.shift:9.3f} {ours.bisection:9.4f} {ours.lost:6} {served:>9} {theirs.shift:9.3f} "
              f"{theirs.bisection:9.4f} {theirs.loops:6}", flush=True)
        return ours, theirs, served


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--build", required=True, type=os.path.abspath)
    parser.add_argument("--peers", required=True, type=os.path.abspath)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--share", default="0.02")
    parser.add_argument("--matchings", type=int, default=2000)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    if missing_programs(["ibsim", "ibnetdiscover", "dump_fts"]) or not find_umad2sim():
        sys.exit("ibsim-utils or infiniband-diags is not installed: ./dev setup bench")
    print(f"{'seed':>6} {'shift':>9} {'bisection':>9} {'lost':>6} {'OpenSM':>9} {'shift':>9} {'bisection':>9} {'loops':>6}")
    missed = []
    intact, _, _ = one(options, SPEC, "intact")
    if intact.shift > 1.0 or intact.bisection < INTACT_BISECTION_LEAST:
        missed.append("the intact tree")
    results = []
    for seed in range(1, options.seeds + 1):
        ours, theirs, served = one(options, f"{SPEC},missing-links={options.share},seed={seed}", seed)
        results.append(ours)
        if ours.lost or ours.loops:
            missed.append(f"seed {seed}: {ours.lost} dead pairs, {ours.loops} credit loops")
        if served == "ftree" and (ours.shift > theirs.shift or ours.bisection < theirs.bisection):
            missed.append(f"seed {seed}: OpenSM's is better")
    shift = sum(item.shift for item in results) / len(results)
    bisection = sum(item.bisection for item in results) / len(results)
    print(f"{'mean':>6} {shift:9.3f} {bisection:9.4f}")
    if shift > SHIFT_MOST or bisection < BISECTION_LEAST:
        missed.append("the mean")
    for line in missed:
        print("MISSED: " + line)
    return 1 if missed and options.check else 0


if __name__ == "__main__":
    sys.exit(main())
