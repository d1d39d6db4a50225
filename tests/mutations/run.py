#!/usr/bin/env python3
"""Planted faults, and which test catches each.

    run.py --check                        each still applies to the source, exactly once (a test of every run)
    run.py --build DIR [--only NAME...]   plants them one by one and runs the unit tests named and the first seeds of the
                                          campaign; a table on stdout. DIR: preset test or dev, built

Nothing is built again: the mutated file is compiled by itself and linked in front of the libraries, whose definitions of
the same names then lose. That needs calls that were not inlined across files, which -O1 promises.
"""

import argparse
import concurrent.futures
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile

from mutations import MUTATIONS, Binary

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CAMPAIGN = Binary("ibf_test_campaign", "Campaigns/Seeds.Pass/0:Campaigns/Seeds.Pass/1")
# What each folder is compiled into.
LIBRARIES = (("routing/", "/ibf_routing.dir"), ("daemon/sm/", "/ibf_sm.dir"), ("net/", "/ibf_net.dir"),
             ("probe/agent/", "/ibf_probe_agent.dir"), ("probe/verbs/", "/ibf_probe_verbs.dir"),
             ("probe/", "/ibf_probe.dir"))
PATIENCE = 60  # seconds; a busy machine may be all there is to it
TIMED_OUT = "timed out"  # nothing was found: not caught


def text_of(file):
    with open(os.path.join(ROOT, file), encoding="utf-8") as opened:
        return opened.read()


def check():
    wrong = 0
    for mutation in MUTATIONS:
        found = text_of(mutation.file).count(mutation.old)
        if found != 1 or mutation.old == mutation.new:
            wrong += 1
            print(f"{mutation.name}: its text is in {mutation.file} {found} times")
    names = [mutation.name for mutation in MUTATIONS]
    for name in sorted({name for name in names if names.count(name) > 1}):
        wrong += 1
        print(f"{name}: two have this name")
    print(f"{len(MUTATIONS)} mutations, {wrong} do not apply")
    return 1 if wrong else 0


def run(command, folder):
    return subprocess.run(command, cwd=folder, shell=isinstance(command, str), capture_output=True, text=True, check=False)


class Bench:
    """A build folder, and the commands it was built by."""

    def __init__(self, build):
        self.build = os.path.abspath(build)
        with open(os.path.join(self.build, "compile_commands.json"), encoding="utf-8") as file:
            self.commands = json.load(file)
        self.failing = []  # tests that fail without a planted fault

    def compile(self, source, shadow, target):
        """SOURCE, or what SHADOW has in its place and of headers, to TARGET. What the compiler says; empty: done."""
        library = next(library for folder, library in LIBRARIES if source.startswith(folder))
        entry = next(entry for entry in self.commands if library in entry["command"])
        words = shlex.split(re.sub(r" -o \S+| -c \S+| -Werror", "", entry["command"]))
        place = os.path.join(shadow if os.path.exists(os.path.join(shadow, source)) else ROOT, source)
        compiler = next(i for i, word in enumerate(words) if word.endswith("c++"))
        words.insert(compiler + 1, f"-I{shadow}")
        done = run([*words, "-w", "-c", place, "-o", target], entry["directory"])
        return "" if done.returncode == 0 else done.stderr[-2000:]

    def link(self, target, objects, program):
        command = run(["ninja", "-t", "commands", target], self.build).stdout.splitlines()[-1]
        command = re.sub(r"(\S*/c\+\+) ", rf"\1 -Wl,--allow-multiple-definition {' '.join(objects)} ", command, count=1)
        done = run(re.sub(r" -o \S+", f" -o {program}", command), self.build)
        return "" if done.returncode == 0 else done.stderr[-2000:]


def without(binary, tests):
    """The same, but for some tests."""
    return Binary(binary.target, binary.filter + ("" if "-" in binary.filter else "-") + "".join(f":{test}" for test in tests))


def caught_by(program, binary):
    """The first test that fails; empty: none does; TIMED_OUT: none has yet."""
    command = [program, f"--gtest_filter={binary.filter}", "--gtest_fail_fast"]
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, errors="replace", check=False,
                              timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        return TIMED_OUT
    told = lambda word: [line.split("] ")[1].split()[0].rstrip(",")  # noqa: E731
                         for line in done.stdout.splitlines() if line.startswith(word)]
    if failed := told("[  FAILED  ] "):
        return failed[0]
    return f"{(told('[ RUN      ] ') or [binary.target])[-1]} (ends)" if done.returncode != 0 else ""


def judges_of(mutation):
    """The campaign knows the subnet manager, and nothing of the probe."""
    return (mutation.unit, CAMPAIGN) if mutation.file.startswith(("routing/", "daemon/")) else (mutation.unit,)


def plant(bench, mutation):
    """One row of the table, and whether anything has caught it."""
    with tempfile.TemporaryDirectory(prefix="ibf-mutation-") as shadow:
        place = os.path.join(shadow, mutation.file)
        os.makedirs(os.path.dirname(place))
        with open(place, "w", encoding="utf-8") as file:
            file.write(text_of(mutation.file).replace(mutation.old, mutation.new))
        objects, seen = [], []
        for source in mutation.sources or (mutation.file,):
            objects.append(os.path.join(shadow, os.path.basename(source) + ".o"))
            if refused := bench.compile(source, shadow, objects[-1]):
                return f"| {mutation.name} | {mutation.what} | does not compile: {refused} | |", False
        for binary in judges_of(mutation):
            program = os.path.join(shadow, binary.target)
            if refused := bench.link(binary.target, objects, program):
                return f"| {mutation.name} | {mutation.what} | does not link: {refused} | |", False
            seen.append(caught_by(program, without(binary, bench.failing)))
    columns = " | ".join(name if name == TIMED_OUT else f"`{name}`" if name else "-" for name in seen)
    columns += " | not run" * (2 - len(seen))
    return f"| {mutation.name} | {mutation.what} | {columns} |", any(name not in ("", TIMED_OUT) for name in seen)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--build")
    parser.add_argument("--only", nargs="*", default=[])
    options = parser.parse_args()
    if options.check or not options.build:
        return check()
    bench = Bench(options.build)
    chosen = [mutation for mutation in MUTATIONS if not options.only or mutation.name in options.only]
    for binary in sorted({binary for mutation in chosen for binary in judges_of(mutation)}, key=str):
        while failed := caught_by(os.path.join(bench.build, "bin", binary.target), without(binary, bench.failing)):
            if failed in bench.failing or failed == TIMED_OUT:
                print(f"{binary.target} does not run, or not within {PATIENCE} s")
                return 2
            print(f"{failed} fails without a planted fault: it is left out")
            bench.failing.append(failed)
    print("| mutation | what is wrong | unit test | campaign |\n|---|---|---|---|", flush=True)
    missed = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for row, caught in pool.map(lambda mutation: plant(bench, mutation), chosen):
            missed += not caught
            print(row, flush=True)
    print(f"\n{len(chosen)} planted, {missed} not caught")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
