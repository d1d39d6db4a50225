#!/usr/bin/env python3
"""Routing engines beside OpenSM's on the same fabrics: time to compute, lanes, and how the tables spread traffic.

    routing_vs_opensm.py --build BUILD_DIR --peers OPENSM_ROOT [--quick] [--fabrics NAME,...] [--engines NAME,...]
                         [--matchings N]

OpenSM runs on ibsim. Its time is the longest silence on the wire before the first LFT Set (count_smps.cpp): an SM that
computes sends nothing. Its tables are read back by dump_fts, the fabric by ibnetdiscover, and judged by the same
`ibfabric plan` that judges ours (engine "file"). Ours is the least of five; compute alone, and the proof beside it.
Which engine OpenSM really served by is what its log says: it falls back silently. --quick leaves out OpenSM's slowest
engines on fabrics of more than 1,500 nodes. dump_fts leaves out a top LID that begins a block of its own (1,344 LIDs do):
all pairs of that LID then count as lost. torus-2QoS gets no seed file. Not all of OpenSM's tables are free of credit loops: "loops" says so.
"""

import argparse
import glob
import json
import os
import re
import subprocess
import sys
import tempfile

import opensm_vs_ibfabricd as bench
from ibsim import Ibsim, SmpCounts, find_umad2sim, missing_programs, stop

FABRICS = {
    "tree-702": "fat-tree:radix=36,levels=2",
    "tree-1344": "fat-tree:radix=16,levels=3",
    "tree-1344-2%": "fat-tree:radix=16,levels=3,missing-links=0.02,seed=1",
    "tree-4176": "fat-tree:radix=24,levels=3",
    "tree-13284": "fat-tree:radix=36,levels=3",
    "torus-4": "torus:4x4x4,hosts=4",
    "torus-6": "torus:6x6x6,hosts=4",
    "torus-8": "torus:8x8x8,hosts=4",
    "torus-10": "torus:10x10x10,hosts=4",
}
ENGINES = ("minhop", "updn", "dnup", "ftree", "sssp", "dfsssp", "nue", "lash", "dor", "torus-2qos")
THEIR_NAMES = {"torus-2qos": "torus-2QoS"}
SLOW = {"lash", "sssp", "dfsssp", "nue"}
SLOW_NODES = 1500
PATIENCE = 900
COLUMNS = (("fabric", 14), ("engine", 11), ("who", 9), ("served", 11), ("compute s", 10), ("proof s", 8), ("lanes", 5), ("loops", 5),
           ("lost", 6), ("all/mean", 8), ("shift", 7), ("perm", 7), ("bisect", 7), ("hops", 6))


def fabrics_of(options):
    shared = os.environ.get("IBF_SHARED") or os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "shared")
    real = {os.path.basename(path).split(".")[0]: path for path in sorted(glob.glob(os.path.join(shared, "fabrics", "real", "*.topo*")))}
    everything = {**FABRICS, **real}
    if not options.fabrics:
        return everything
    unknown = set(options.fabrics.split(",")) - set(everything)
    if unknown:
        sys.exit(f"no such fabric: {', '.join(sorted(unknown))}; there are {', '.join(everything)}")
    return {name: everything[name] for name in options.fabrics.split(",")}


def plan(options, spec, engine, *more):
    """What `ibfabric plan` says of one engine, refused or not; None if it cannot compute."""
    command = [os.path.join(options.build, "bin", "ibfabric"), "plan", spec, "--engine", engine, "--compare", "--json", *more]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode not in (0, 1):
        return {"refused_because": done.stderr.strip().splitlines()[-1] if done.stderr.strip() else "failed"}
    return json.loads(done.stdout)[0]


def quality_options(options):
    return ("--pattern", "all", "--matchings", str(options.matchings), "--seed", "1")


def opensm_result(options, netlist, engine, folder, *more):
    """(seconds, engine that served, plan of its tables), or the reason why there is none."""
    with Ibsim(netlist, folder) as ibsim:
        ibsim.environment.update(bench.opensm_environment(options.peers, folder))
        counts, log = os.path.join(folder, "counts"), os.path.join(folder, "sm.log")
        process = ibsim.spawn(bench.opensm_command(options.peers, THEIR_NAMES.get(engine, engine), folder) + list(more),
                              os.path.join(folder, "output"), counts=counts,
                              shim=os.path.join(options.build, "lib", "libibf_count_smps.so"))
        try:
            bench.wait_for_up(process, log, PATIENCE)
            seconds = SmpCounts(counts).silence_seconds
            with open(log, encoding="utf-8", errors="replace") as file:
                served = re.findall(r"(\S+) tables configured on all switches", file.read())
            topology, tables = os.path.join(folder, "seen.topo"), os.path.join(folder, "seen.lfts")
            for path, program in ((topology, "ibnetdiscover"), (tables, "dump_fts")):
                with open(path, "w", encoding="utf-8") as file:
                    file.write(ibsim.run(program, timeout=PATIENCE))
        finally:
            stop(process)
    return seconds, served[-1] if served else "?", plan(options, topology, "file", "--lfts", tables, *quality_options(options))


def number(value, form):
    return form.format(value) if isinstance(value, (int, float)) else "-"


def print_row(fabric, engine, who, served, compute, proof, result):
    patterns = result.get("patterns", {})
    mean = result.get("mean_link_load") or 0
    cells = (fabric, engine, who, served, number(compute, "{:.3f}"), number(proof, "{:.3f}"), number(result.get("vls"), "{}"),
             number(result.get("credit_loops"), "{}"), number(result.get("unreachable_pairs"), "{}"),
             number(result["max_link_load"] / mean, "{:.2f}") if mean else "-",
             number(patterns.get("shift", {}).get("mean_max"), "{:.2f}"),
             number(patterns.get("permutation", {}).get("mean_max"), "{:.2f}"),
             number(patterns.get("bisection", {}).get("bandwidth"), "{:.3f}"), number(result.get("mean_hops"), "{:.2f}"))
    print(" ".join(f"{cell:{width}}" for cell, (_, width) in zip(cells, COLUMNS)), flush=True)


def ours(options, netlist, engine):
    runs = [plan(options, netlist, engine) for _ in range(4)]
    last = plan(options, netlist, engine, *quality_options(options))
    runs.append(last)
    times = [[run[key] for run in runs if isinstance(run.get(key), (int, float))] for key in ("compute_seconds", "verify_seconds")]
    return [min(values) if values else None for values in times], last


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--build", required=True, type=os.path.abspath)
    parser.add_argument("--peers", required=True, type=os.path.abspath)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--fabrics")
    parser.add_argument("--engines", default=",".join(ENGINES))
    parser.add_argument("--matchings", type=int, default=200)
    options = parser.parse_args()
    if missing_programs(["ibsim", "ibnetdiscover", "dump_fts"]) or not find_umad2sim():
        sys.exit("ibsim-utils or infiniband-diags is not installed: ./dev setup bench")
    print(" ".join(f"{name:{width}}" for name, width in COLUMNS))
    for fabric, spec in fabrics_of(options).items():
        with tempfile.TemporaryDirectory(prefix="ibf-") as folder:
            netlist = os.path.join(folder, "netlist")
            subprocess.run([os.path.join(options.build, "bin", "ibfabric"), "generate", spec, "-o", netlist], check=True)
            with open(netlist, encoding="utf-8", errors="replace") as file:
                nodes = len(re.findall(r"^(?:Switch|Hca|Ca|Rt)\b", file.read(), re.MULTILINE))
            deaf = False
            for engine in options.engines.split(","):
                if not deaf and not (options.quick and engine in SLOW and nodes > SLOW_NODES):
                    with tempfile.TemporaryDirectory(prefix="ibf-") as own:
                        try:
                            seconds, served, result = opensm_result(options, netlist, engine, own)
                            print_row(fabric, engine, "OpenSM", served, seconds, None, result)
                        except (RuntimeError, subprocess.TimeoutExpired) as error:
                            print(f"{fabric:14} {engine:11} OpenSM    failed: {str(error).splitlines()[0][:120]}", flush=True)
                            deaf = nodes == 1  # no engine of its brings an adapter up that has no cable
                (compute, proof), result = ours(options, netlist, engine)
                reason = result.get("refused_because")
                print_row(fabric, engine, "ibfabric", "refused" if reason else engine, compute, proof, result)
                if reason:
                    print(f"{'':26} {reason[:180]}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
