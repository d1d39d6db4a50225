#!/usr/bin/env python3
"""OpenSM's `file` routing engine takes a dump folder of ours and programs exactly those tables and LIDs.

    opensm_reads_our_dumps.py --build BUILD_DIR --spec GENERATOR

ibfabricd brings the fabric up under ibsim and exports opensm-dumps. A fresh ibsim of the same fabric is then brought up
by OpenSM 3.3.23 with our guid2lid and opensm-lfts.dump; dump_fts must read back the tables that we exported. OpenSM is
never installed (its package starts a subnet manager): $IBF_OPENSM_ROOT or BUILD_DIR/../peers/opensm is where it is unpacked.
Exit code 77: skipped, with the reason printed.
"""

import argparse
import glob
import os
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "conformance"))
import judges  # noqa: E402
from ibsim import Ibsim, find_umad2sim, missing_programs, stop  # noqa: E402

SKIPPED = 77


def find_opensm(build):
    """(program, its library folder) of an unpacked opensm package, or None."""
    for root in (os.environ.get("IBF_OPENSM_ROOT"), os.path.join(build, "..", "peers", "opensm")):
        program = root and os.path.join(root, "usr", "sbin", "opensm")
        libraries = root and glob.glob(os.path.join(root, "usr", "lib", "*", "libopensm.so.*"))
        if program and os.access(program, os.X_OK) and libraries:
            return program, os.path.dirname(libraries[0])
    return None


def read(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


def export_ours(ibsim, build, folder):
    """Our tables and guid2lid, and the LIDs by owner."""
    socket = os.path.join(folder, "s")
    cli = [os.path.join(build, "bin", "ibfabric")]
    log = os.path.join(folder, "ibfabricd.log")
    daemon = ibsim.spawn([os.path.join(build, "bin", "ibfabricd"), "--state-dir", os.path.join(folder, "state"),
                          "--socket", socket], log)
    try:
        dumps = os.path.join(folder, "dumps")
        for words in (["status", "--wait-up", "60"], ["export", "--format", "opensm-dumps", "-o", dumps]):
            subprocess.run(cli + words + ["--socket", socket], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=True)
    finally:
        stop(daemon)
    return dumps


def bring_up_by_opensm(ibsim, opensm, dumps, folder):
    """Runs OpenSM once on the fabric with our files; its log."""
    program, libraries = opensm
    cache = os.path.join(folder, "cache")
    os.makedirs(cache)
    shutil.copy(os.path.join(dumps, "guid2lid"), cache)
    environment = ibsim.client_environment()
    environment.update(OSM_CACHE_DIR=cache, OSM_TMP_DIR=folder, LD_LIBRARY_PATH=libraries)
    log, config = os.path.join(folder, "opensm.log"), os.path.join(folder, "opensm.conf")
    with open(config, "w", encoding="ascii") as file:
        file.write("force_log_flush TRUE\nsweep_interval 0\nhonor_guid2lid_file TRUE\n")  # unflushed, SUBNET UP stays unsaid
    with open(os.path.join(folder, "opensm.out"), "wb") as output:
        process = subprocess.Popen(
            [program, "-F", config, "-R", "file", "-U", os.path.join(dumps, "opensm-lfts.dump"), "-f", log],
            stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, cwd=folder,
            env=environment)
    deadline = time.monotonic() + 60
    try:
        while time.monotonic() < deadline and process.poll() is None:
            if os.path.exists(log) and "SUBNET UP" in read(log):
                break
            time.sleep(0.1)
        text = read(log) if os.path.exists(log) else ""
        if "SUBNET UP" not in text:
            raise judges.Disagreement("OpenSM did not bring the fabric up:\n" + text[-1500:] + read(output.name)[-500:])
        tables = judges.parse_tables(ibsim.run("dump_fts"))
    finally:
        stop(process)
    return text, tables


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True, type=os.path.abspath)
    parser.add_argument("--spec", required=True)
    options = parser.parse_args()
    absent = missing_programs(("ibsim", "dump_fts"))
    opensm = find_opensm(options.build)
    if absent or not find_umad2sim() or not opensm:
        print(f"skipped: not here: {' '.join(absent) or ('an unpacked opensm' if not opensm else 'libumad2sim')}")
        return SKIPPED
    with tempfile.TemporaryDirectory(prefix="ibf-") as folder:
        netlist = os.path.join(folder, "netlist")
        subprocess.run([os.path.join(options.build, "bin", "ibfabric"), "generate", options.spec, "-o", netlist], check=True)
        with Ibsim(netlist, folder) as ibsim:
            dumps = export_ours(ibsim, options.build, folder)
        ours = judges.parse_tables(read(os.path.join(dumps, "opensm-lfts.dump")))
        with Ibsim(netlist, folder) as ibsim:
            log, theirs = bring_up_by_opensm(ibsim, opensm, dumps, folder)
    try:
        judges.require_equal("switches", set(theirs), set(ours))
        for guid in sorted(ours):
            judges.require_equal(f"table of {guid}", theirs[guid], ours[guid])
    except judges.Disagreement as error:
        print(error)
        return 1
    complaints = [line for line in log.split("\n") if " ERR " in line and ("guid2lid" in line.lower() or "file" in line.lower())]
    print(f"{len(ours)} tables, {sum(map(len, ours.values()))} entries: OpenSM wrote them as we did")
    for line in complaints:
        print(line)
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
