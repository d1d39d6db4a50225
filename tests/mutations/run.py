#!/usr/bin/env python3
"""Planted faults, and which test catches each.

    run.py --check                         each still applies to the source, exactly once (a test of every run)
    run.py --scratch DIR [--only NAME...]  plants them one by one in a copy of the tree in DIR, builds what changed, runs
                                           the unit tests named and the first seeds of the campaign; a table on stdout
"""

import argparse
import os
import shutil
import subprocess
import sys

from mutations import MUTATIONS, Binary

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CAMPAIGN = Binary("ibf_test_campaign", "Campaigns/Seeds.Pass/0:Campaigns/Seeds.Pass/1")
PATIENCE = 300  # seconds: a test that hangs has caught it


def text_of(folder, file):
    with open(os.path.join(folder, file), encoding="utf-8") as opened:
        return opened.read()


def put(folder, file, text):
    with open(os.path.join(folder, file), "w", encoding="utf-8") as opened:
        opened.write(text)


def check():
    wrong = 0
    for mutation in MUTATIONS:
        found = text_of(ROOT, mutation.file).count(mutation.old)
        if found != 1 or mutation.old == mutation.new:
            wrong += 1
            print(f"{mutation.name}: its text is in {mutation.file} {found} times")
    names = [mutation.name for mutation in MUTATIONS]
    for name in sorted({name for name in names if names.count(name) > 1}):
        wrong += 1
        print(f"{name}: two have this name")
    print(f"{len(MUTATIONS)} mutations, {wrong} do not apply")
    return 1 if wrong else 0


class Scratch:
    """A copy of the tree in which mutated files are compiled by themselves, so that little is built again."""

    def __init__(self, folder):
        self.folder = os.path.abspath(folder)
        listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
        for file in listed.rstrip("\0").split("\0"):
            os.makedirs(os.path.join(self.folder, os.path.dirname(file)), exist_ok=True)
            shutil.copy2(os.path.join(ROOT, file), os.path.join(self.folder, file))
        sources = {mutation.file for mutation in MUTATIONS if mutation.file.endswith(".cpp")}
        for part in ("daemon", "routing"):
            own = sorted(source.removeprefix(part + "/") for source in sources if source.startswith(part + "/"))
            lists = f"{part}/CMakeLists.txt"
            put(self.folder, lists, text_of(self.folder, lists) + "set_source_files_properties(" + " ".join(own)
                + " PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)\n")
        subprocess.run(["cmake", "--preset", "test"], cwd=self.folder, check=True, stdout=subprocess.DEVNULL)

    def build(self, *targets):
        """What the compiler says; empty: built."""
        done = subprocess.run(["ninja", "-C", "build/test", *targets], cwd=self.folder, capture_output=True, text=True,
                              check=False, env={**os.environ, "CCACHE_BASEDIR": self.folder, "CCACHE_NOHASHDIR": "1"})
        return "" if done.returncode == 0 else done.stdout[-2000:]

    def caught_by(self, binary):
        """The first test that fails; empty: none does."""
        command = [os.path.join("build/test/bin", binary.target), f"--gtest_filter={binary.filter}", "--gtest_fail_fast"]
        try:
            done = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, check=False, timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            return "(hangs)"
        failed = [line.split()[3].rstrip(",") for line in done.stdout.splitlines() if line.startswith("[  FAILED  ] ")]
        begun = [line.split()[3] for line in done.stdout.splitlines() if line.startswith("[ RUN      ] ")]
        if failed:
            return failed[0]
        return f"{begun[-1] if begun else binary.target} (ends)" if done.returncode != 0 else ""


def plant(scratch, mutation):
    """One row of the table, and whether anything has caught it."""
    original = text_of(scratch.folder, mutation.file)
    put(scratch.folder, mutation.file, original.replace(mutation.old, mutation.new))
    try:
        refused = scratch.build(mutation.unit.target, CAMPAIGN.target)
        seen = [f"does not compile: {refused}"] if refused else [scratch.caught_by(mutation.unit), scratch.caught_by(CAMPAIGN)]
    finally:
        put(scratch.folder, mutation.file, original)
    columns = " | ".join(f"`{name}`" if name else "-" for name in seen)
    return f"| {mutation.name} | {mutation.what} | {columns} |", not refused and any(seen)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--scratch")
    parser.add_argument("--only", nargs="*", default=[])
    options = parser.parse_args()
    if options.check or not options.scratch:
        return check()
    scratch = Scratch(options.scratch)
    if refused := scratch.build(*{mutation.unit.target for mutation in MUTATIONS}, CAMPAIGN.target):
        print(refused)
        return 2
    print("| mutation | what is wrong | unit test | campaign |\n|---|---|---|---|", flush=True)
    missed = 0
    for mutation in MUTATIONS:
        if not options.only or mutation.name in options.only:
            row, caught = plant(scratch, mutation)
            missed += not caught
            print(row, flush=True)
    print(f"\n{missed} not caught")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
