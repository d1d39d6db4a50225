#!/usr/bin/env python3
"""ibdmchk and our proof judge the same tables, on seeded fabrics that lost cables and switches.

    damaged.py --build BUILD_DIR --cases N [--first SEED] [--show]

A case is a family, a size of up to 100 switches, damage, and a one-lane engine, all drawn by its seed; engines that refuse a
fabric are told, and another case is drawn. `ibfabric plan --dump` writes fabric and tables, --allow-credit-loops also those
that could lock up. Into every fourth dump errors are planted. Both judges must find the same pairs lost and the same answer
to whether channels can wait in a ring. Where they may differ, and why, is in docs/routing/quality.md; each such case is
proved to be one by walks.py, which walks every pair. Exit code 77: skipped, with the reason printed.
"""

import argparse
import collections
import json
import os
import random
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import judges
import walks
from ibsim import missing_programs

SKIPPED = 77
ANYWHERE = ("minhop", "minhop", "minhop", "updn", "dnup", "nue")  # the one that leaves rings more often
RING_FREE = ("updn", "dnup", "ftree", "nue")  # whatever the fabric
PLANTED_EVERY = 4


@dataclass
class Case:
    seed: int
    spec: str
    engine: str
    plants: bool

    def __str__(self):
        return f"seed {self.seed}: {self.engine} on {self.spec}" + (", with planted errors" if self.plants else "")


def draw_fabric(draw):
    """A family with a size of its own, up to 100 switches, and the engines that may serve it."""
    trees = ("fat-tree:radix=8,levels=3", "fat-tree:radix=6,levels=3", "fat-tree:radix=4,levels=4", "fat-tree:radix=12,levels=2",
             "fat-tree:radix=8,levels=3,parallel=2,hosts=2")
    grids = ("torus:4x4x4", "torus:8x8", "torus:5x5", "torus:10x10", "torus:3x3x3,hosts=2", "mesh:6x6", "ring:40")
    hyperx = ("hyperx:4x4,hosts=2", "hyperx:4x4x4", "hyperx:3x3,parallel=2", "hyperx:8x8")
    dragonflies = ("dragonfly:a=4,p=2,h=2", "dragonfly:a=4,p=1,h=1", "dragonfly:a=6,p=1,h=2",
                   "dragonfly+:groups=5,leaves=4,spines=4,hosts=2,global=4")
    random_ = (f"random:switches={2 * draw.randrange(5, 51)},degree={draw.randrange(3, 7)},hosts={draw.randrange(1, 3)}",)
    specs, more = draw.choice(((trees, ("ftree",)), (grids, ("dor",)), (hyperx, ("dor",)), (dragonflies, ()), (random_, ())))
    return draw.choice(specs), ANYWHERE + more


def draw_case(seed):
    draw = random.Random(seed)
    spec, engines = draw_fabric(draw)
    spec += f",missing-links={draw.uniform(0.005, 0.05):.4f}"
    if draw.random() < 0.4:
        spec += f",missing-switches={draw.uniform(0.01, 0.04):.4f}"
    return Case(seed, f"{spec},seed={seed}", draw.choice(engines), seed % PLANTED_EVERY == 0)


def run(*command):
    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", check=False,
                          timeout=300)


def plan_of(cli, *words):
    result = run(cli, "plan", *words, "--json")
    if result.returncode not in (0, 1):
        raise judges.Disagreement(f"plan {' '.join(words)}: exit code {result.returncode}\n{result.stderr[-500:]}")
    return json.loads(result.stdout)


def read(folder, name):
    with open(os.path.join(folder, name), encoding="utf-8", errors="replace") as file:
        return file.read()


def write(folder, name, text):
    with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
        file.write(text)


def ibdmchk(folder, *options):
    """Its exit code says nothing: some versions fall over their own cleaning up, when all is said."""
    output = run("ibdmchk", "-s", os.path.join(folder, "opensm-subnet.lst"), "-f", os.path.join(folder, "opensm.fdbs"), "-m",
                 os.path.join(folder, "opensm.mcfdbs"), *options).stdout
    checked = judges.parse_ibdmchk(output)
    if not checked.complete:
        raise judges.Disagreement(f"ibdmchk came to no end: {output[-500:]}")
    return checked


# ---- planted errors -------------------------------------------------------------------------------------------

_SWITCH = re.compile(r"\bguid (0x[0-9a-f]{16})|Switch (0x[0-9a-f]{16})$")


def changed_entry(text, guid, pattern, replacement):
    """The dump with one line of one switch's table replaced."""
    out, here, count = [], False, 0
    for line in text.split("\n"):
        if match := _SWITCH.search(line):
            here = guid in match.groups()
        if here and re.match(pattern, line):
            line, count = re.sub(pattern, replacement, line, count=1), count + 1
        out.append(line)
    if count != 1:
        raise judges.Disagreement(f"{count} lines of {guid} match {pattern}")
    return "\n".join(out)


def plant(folder, fabric, draw):
    """Some entries that packets use lead nowhere, or out of another cable: in both dumps, and in FABRIC."""
    lids = sorted(lid for lid, end in fabric.hosts.items() if end in fabric.peers)
    all_lids = lids + sorted(fabric.switches.values())
    component = fabric.components()
    for _ in range(draw.randrange(2, 6)):
        source, target = draw.choice(lids), draw.choice(all_lids)
        if component[fabric.home(source)[0]] != component[fabric.home(target)[0]]:
            continue
        try:
            at, _, right = draw.choice(fabric.walk(source, target))
        except walks.Lost:
            continue  # an error that is planted already
        if right == 0:
            continue  # a switch's own LID is always delivered
        fdbs, lfts = read(folder, "opensm.fdbs"), read(folder, "opensm-lfts.dump")
        fdb, lft = rf"0x{target:04X} : \d+  : .*", rf"0x{target:04x} \d+ "
        others = sorted(port for guid, port in fabric.peers if guid == at and port != right)
        if others and draw.random() < 0.6:
            port = draw.choice(others)
            fdbs = changed_entry(fdbs, at, fdb, f"0x{target:04X} : {port:03}  : 01   : yes")
            lfts = changed_entry(lfts, at, lft, f"0x{target:04x} {port:03} ")
            fabric.tables[at][target] = port
        else:
            fdbs = changed_entry(fdbs, at, fdb, f"0x{target:04X} : UNREACHABLE")
            lfts = changed_entry(lfts, at, lft + ".*", "")
            del fabric.tables[at][target]
        write(folder, "opensm.fdbs", fdbs)
        write(folder, "opensm-lfts.dump", lfts)


# ---- judging --------------------------------------------------------------------------------------------------

class Walked:
    """Every pair, on foot: what walks.py says."""

    def __init__(self, fabric):
        component = fabric.components()
        hosts = [lid for lid, end in fabric.hosts.items() if end in fabric.peers]
        switches = list(fabric.switches.values())
        self.pieces, self.lost = len(set(component.values())), collections.Counter()
        among_hosts, everything = walks.Channels(fabric), walks.Channels(fabric)
        kinds = (("host to host", hosts, hosts), ("host to switch", hosts, switches), ("switch to host", switches, hosts))
        for kind, sources, targets in kinds:
            for source, target in ((a, b) for a in sources for b in targets if a != b):
                if component[fabric.home(source)[0]] != component[fabric.home(target)[0]]:
                    continue
                try:
                    way = fabric.walk(source, target)
                except walks.Lost as lost:
                    self.lost[kind] += 1
                    way = lost.way
                everything.add(way)
                if kind == "host to host":
                    among_hosts.add(way)
        self.ring, self.ring_among_hosts = everything.ring() is not None, among_hosts.ring() is not None


def compare(theirs, with_all_pairs, ours, walked):
    """Returns what the judges agree on. THEIRS is of paths among hosts, WITH_ALL_PAIRS (a function) also of those from, to and
    between switches, of which we leave out the last."""
    judges.require_equal("pairs lost (walked, ours)", {"lost": sum(walked.lost.values())}, {"lost": ours["unreachable_pairs"]})
    judges.require_equal("a ring (walked, ours)", {"ring": walked.ring}, {"ring": ours["credit_loops"] != 0})
    judges.require_equal("in pieces (ibdmchk, walked)", {"pieces": theirs.in_pieces}, {"pieces": walked.pieces > 1})
    if theirs.in_pieces:
        return "in pieces"  # which is all that ibdmchk says
    judges.require_equal("pairs of hosts lost (ibdmchk, walked)", {"lost": theirs.lost}, {"lost": walked.lost["host to host"]})
    if theirs.lost:
        return "pairs lost"  # where ibdmchk stops
    judges.require_equal("a ring of paths among hosts (ibdmchk, walked)", {"ring": theirs.credit_loops},
                         {"ring": walked.ring_among_hosts})
    if theirs.credit_loops == walked.ring:
        return "ring" if walked.ring else "no ring"
    if walked.lost:
        return "a ring that takes paths of switches, of which some are lost"  # where ibdmchk -a stops
    everything = with_all_pairs()
    if everything.lost or not everything.credit_loops:
        raise judges.Disagreement("a ring that ibdmchk -a does not find")
    return "a ring that takes paths of switches"


class Refused(Exception):
    pass


def judge(cli, case, folder):
    """What is to be told of a case on which the judges agree. Raises Refused, or Disagreement."""
    plan = plan_of(cli, case.spec, "--engine", case.engine, "--vls", "1", "--allow-credit-loops", "--dump", folder)
    if plan["engine"] != case.engine:
        raise Refused(plan["attempts"][0]["refused_because"])
    if plan["vls"] != 1 or plan["unreachable_pairs"] or plan["loops"]:
        raise judges.Disagreement(f"an engine's tables passed with {plan}")
    fabric = walks.fabric_of_dump(read(folder, "opensm-subnet.lst"), judges.parse_tables(read(folder, "opensm-lfts.dump")))
    if case.plants:
        plant(folder, fabric, random.Random(-case.seed))
        plan, = plan_of(cli, case.spec, "--compare", "--engine", "file", "--lfts", os.path.join(folder, "opensm-lfts.dump"),
                        "--matchings", "1")
    elif case.engine in RING_FREE and plan["credit_loops"]:
        raise judges.Disagreement(f"{case.engine} leaves a ring")
    return compare(ibdmchk(folder), lambda: ibdmchk(folder, "-a"), plan, Walked(fabric))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True, type=os.path.abspath)
    parser.add_argument("--cases", type=int, required=True)
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--show", action="store_true", help="a line for each case")
    options = parser.parse_args()
    if absent := missing_programs(("ibdmchk",)):
        print(f"skipped: not installed: {' '.join(absent)} (./dev setup test)")
        return SKIPPED
    cli = os.path.join(options.build, "bin", "ibfabric")
    told, refused, findings = collections.Counter(), collections.Counter(), 0

    def attempt(case):
        with tempfile.TemporaryDirectory(prefix="ibf-") as folder:
            try:
                return judge(cli, case, os.path.join(folder, "dump")), None
            except (Refused, judges.Disagreement) as error:
                return None, error

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        seed = options.first
        while told.total() + findings < options.cases:
            batch = [draw_case(seed + i) for i in range(options.cases - told.total() - findings)]
            seed += len(batch)
            for case, (answer, error) in zip(batch, pool.map(attempt, batch)):
                if isinstance(error, Refused):
                    refused[case.engine] += 1
                elif error:
                    findings += 1
                    print(f"  WRONG: {case}: {error}", flush=True)
                else:
                    told[answer] += 1
                if options.show:
                    print(f"  {case}: {answer or error}", flush=True)
    print(f"  agreed: {'; '.join(f'{count} {answer}' for answer, count in sorted(told.items()))}")
    print(f"  refused: {', '.join(f'{count} {engine}' for engine, count in sorted(refused.items())) or 'none'}")
    if missing := {"ring", "no ring", "a ring that takes paths of switches", "pairs lost"} - set(told):
        findings += 1
        print(f"  WRONG: what never was the answer was not tested: {', '.join(missing)}")
    print(f"  {findings} findings")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
