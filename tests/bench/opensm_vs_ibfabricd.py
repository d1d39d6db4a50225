#!/usr/bin/env python3
"""OpenSM and ibfabricd in turn on the same ibsim netlists: bring-up time, SMPs, compute time, memory.

    opensm_vs_ibfabricd.py --build BUILD_DIR --peers OPENSM_ROOT [--nodes 702,1344,...] [--engines minhop,updn]
                           [--repeat N] [--only opensm|ibfabricd] [--check]

Both are measured from outside and by the same means: wall time from the start of the process to "SUBNET UP" in its log;
SMPs counted by count_smps.cpp; the longest silence on the wire before the first LFT Set (an SM that computes sends
nothing; ours proves its routes in it as well); memory as VmHWM. Each run has a fresh ibsim and an empty state folder.
With --repeat, the run with the shortest bring-up counts. Compute alone, topology in hand to tables in memory, is
judged by what `ibfabric plan` measures on the same netlist, the least of five. --check ends with 1 where a bar below
is missed.
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
from ibsim import Ibsim, SmpCounts, find_umad2sim, missing_programs, peak_rss_bytes, stop  # noqa: E402

FABRICS = {
    702: "fat-tree:radix=36,levels=2",
    1344: "fat-tree:radix=16,levels=3",
    4176: "fat-tree:radix=24,levels=3",
    13284: "fat-tree:radix=36,levels=3",
}

# Ratio to OpenSM in the same run, at most (the design's budgets).
BARS = {
    (13284, "seconds"): 0.25, (4176, "seconds"): 0.5,
    (13284, "smps"): 0.75, (4176, "smps"): 0.7,
    (13284, "other_smps"): 0.55,
    (13284, "peak_bytes"): 1.0, (4176, "peak_bytes"): 1.0,
}
COMPUTE_BAR_SECONDS = {13284: 0.3}


@dataclass
class Measured:
    seconds: float
    smps: int
    lft_sets: int
    pkey_gets: int
    silent_seconds: float
    peak_bytes: int

    @property
    def other_smps(self):
        return self.smps - self.lft_sets


def opensm_command(peers, engine, folder):
    with open(os.path.join(folder, "opensm.conf"), "w", encoding="ascii") as file:
        file.write("force_log_flush TRUE\n")   # else SUBNET UP stays in its buffer
    program = os.path.join(peers, "usr", "sbin", "opensm")
    return [program, "-F", "opensm.conf", "-R", engine, "-f", os.path.join(folder, "sm.log")]


def opensm_environment(peers, folder):
    """For a program of an unpacked OpenSM: its libraries, and where it may leave files."""
    tops = [os.path.join(peers, top) for top in ("usr/lib", "lib")]
    libraries = [os.path.join(top, leaf) for top in tops if os.path.isdir(top) for leaf in os.listdir(top)]
    return {"LD_LIBRARY_PATH": ":".join(libraries), "OSM_TMP_DIR": folder, "OSM_CACHE_DIR": folder}


def ibfabricd_command(build, engine, folder):
    with open(os.path.join(folder, "ibfabricd.toml"), "w", encoding="ascii") as file:
        file.write(f'[routing]\nengines = ["{engine}"]\nallow_credit_loops = true\n')
    return [os.path.join(build, "bin", "ibfabricd"), "--config", "ibfabricd.toml", "--state-dir", "state", "--socket", "s"]


def wait_for_up(process, log, patience):
    """Seconds until the log says SUBNET UP; the engine that really served is in the log as well."""
    began = time.monotonic()
    position, tail = 0, b""
    while time.monotonic() - began < patience:
        if os.path.exists(log):
            with open(log, "rb") as file:
                file.seek(position)
                new = file.read()
            position += len(new)
            tail = (tail + new)[-4000:]
            if b"SUBNET UP" in tail:
                return time.monotonic() - began
        if process.poll() is not None:
            break
        time.sleep(0.01)
    raise RuntimeError("no SUBNET UP: " + tail[-1500:].decode(errors="replace"))


def measure(options, netlist, who, engine):
    with tempfile.TemporaryDirectory(prefix="ibf-") as folder, Ibsim(netlist, folder) as ibsim:
        counts_file = os.path.join(folder, "counts")
        output = os.path.join(folder, "output")
        os.makedirs(os.path.join(folder, "state"))
        if who == "opensm":
            command, log = opensm_command(options.peers, engine, folder), os.path.join(folder, "sm.log")
            ibsim.environment.update(opensm_environment(options.peers, folder))
        else:
            command, log = ibfabricd_command(options.build, engine, folder), output
        process = ibsim.spawn(command, output, counts=counts_file,
                              shim=os.path.join(options.build, "lib", "libibf_count_smps.so"))
        try:
            seconds = wait_for_up(process, log, 600)
            counts = SmpCounts(counts_file)
            peak = peak_rss_bytes(process.pid)
        finally:
            stop(process)
        return Measured(seconds, counts.requests(), counts.of(SmpCounts.SET, SmpCounts.LFT),
                        counts.of(SmpCounts.GET, SmpCounts.PKEY), counts.silence_seconds, peak)


HEADINGS = f"{'nodes':>6} {'engine':7} {'who':10} {'bring-up s':>10} {'SMPs':>9} {'LFT Sets':>9} {'others':>9} " \
           f"{'P_Key Gets':>10} {'silent s':>9} {'peak MB':>8}"


def print_row(nodes, engine, who, m):
    print(f"{nodes:6} {engine:7} {who:10} {m.seconds:10.2f} {m.smps:9} {m.lft_sets:9} {m.other_smps:9} {m.pkey_gets:10} "
          f"{m.silent_seconds:9.3f} {m.peak_bytes / 1e6:8.0f}", flush=True)


def print_ratios(nodes, engine, theirs, ours):
    """Prints the ratio row; returns the bars that were missed."""
    missed = []
    ratios = {name: getattr(ours, name) / getattr(theirs, name) if getattr(theirs, name) else float("nan")
              for name in ("seconds", "smps", "lft_sets", "other_smps", "pkey_gets", "silent_seconds", "peak_bytes")}
    print(f"{nodes:6} {engine:7} {'ratio':10} {ratios['seconds']:10.3f} {ratios['smps']:9.3f} {ratios['lft_sets']:9.3f} "
          f"{ratios['other_smps']:9.3f} {ratios['pkey_gets']:10.3f} {ratios['silent_seconds']:9.3f} "
          f"{ratios['peak_bytes']:8.3f}", flush=True)
    for (at, name), bar in BARS.items():
        if at == nodes and not ratios[name] <= bar:
            missed.append(f"{nodes} nodes, {engine}: {name} ratio {ratios[name]:.3f}, at most {bar}")
    if ours.pkey_gets < theirs.pkey_gets * 0.5:
        print(f"       P_Key tables: ours reads {ours.pkey_gets}, OpenSM {theirs.pkey_gets} "
              "(OpenSM also reads those of external switch ports)")
    return missed


def judge_compute(options, netlist, nodes, engine):
    """Our compute and proof time on this netlist; returns the bar if it was missed."""
    command = [os.path.join(options.build, "bin", "ibfabric"), "plan", netlist, "--engine", engine, "--json"]
    plans = [json.loads(subprocess.run(command, check=False, stdout=subprocess.PIPE).stdout) for _ in range(5)]
    compute, proof = (min(plan[key] for plan in plans) for key in ("compute_seconds", "verify_seconds"))
    print(f"       plan: compute {compute:.3f} s, proof {proof:.3f} s", flush=True)
    bar = COMPUTE_BAR_SECONDS.get(nodes)
    return [f"{nodes} nodes, {engine}: compute {compute:.3f} s, at most {bar}"] if bar and compute > bar else []


def best_of(options, netlist, who, engine):
    return min((measure(options, netlist, who, engine) for _ in range(options.repeat)), key=lambda m: m.seconds)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True, type=os.path.abspath)
    parser.add_argument("--peers", required=True, type=os.path.abspath)
    parser.add_argument("--nodes", default=",".join(map(str, FABRICS)))
    parser.add_argument("--engines", default="minhop,updn")
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--only", choices=("opensm", "ibfabricd"))
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    if missing_programs(["ibsim"]) or not find_umad2sim():
        sys.exit("ibsim-utils is not installed: ./dev setup bench")
    missed = []
    print(HEADINGS)
    for nodes in map(int, options.nodes.split(",")):
        with tempfile.TemporaryDirectory(prefix="ibf-") as folder:
            netlist = os.path.join(folder, "netlist")
            subprocess.run([os.path.join(options.build, "bin", "ibfabric"), "generate", FABRICS[nodes], "-o", netlist],
                           check=True)
            for engine in options.engines.split(","):
                results = {}
                for who in ("opensm", "ibfabricd"):
                    if options.only in (None, who):
                        results[who] = best_of(options, netlist, who, engine)
                        print_row(nodes, engine, who, results[who])
                if len(results) == 2:
                    missed += print_ratios(nodes, engine, results["opensm"], results["ibfabricd"])
                if "ibfabricd" in results:
                    missed += judge_compute(options, netlist, nodes, engine)
    for line in missed:
        print("MISSED: " + line)
    judged = {at for at, _ in BARS} & set(map(int, options.nodes.split(",")))
    if options.only or not judged:
        print("no bar applies to these runs")
    else:
        print("every bar is met" if not missed else f"{len(missed)} bars missed")
    return 1 if missed and options.check else 0


if __name__ == "__main__":
    sys.exit(main())
