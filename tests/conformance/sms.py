#!/usr/bin/env python3
"""Two subnet managers on ibfabric-sim: ibfabricd beside OpenSM, and beside another ibfabricd.

    sms.py --build BUILD_DIR --spec GENERATOR

Each scene ends with exactly one that configures, in the words of both and by every port's MasterSMLID, and no LID has
moved. How soon is for the tests in virtual time; what it took here is
printed. OpenSM polls every second, not every ten, so that scenes do not take minutes. Exit code 77: skipped.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

import judges
from fabric_sim import FabricSim, OpenSm, find_opensm
from ibsim import missing_programs, stop

SKIPPED = 77
PATIENCE = 60  # seconds
FAST_POLLS = "sminfo_polling_timeout 1000\npolling_retry_number 3\nsweep_interval 5\n"


class Ours:
    """An ibfabricd on HOST, which is a host's name in the simulation."""

    def __init__(self, sim, build, folder, host, **config):
        self.sim, self.build, self.host = sim, build, host
        self.folder = os.path.join(folder, f"ours-{host}")
        os.makedirs(self.folder, exist_ok=True)
        self.socket, self.log = os.path.join(self.folder, "socket"), os.path.join(self.folder, "log")
        self.config = os.path.join(self.folder, "toml")
        with open(self.config, "w", encoding="ascii") as file:
            file.write("[sm]\n" + "".join(f"{key} = {json.dumps(value)}\n" for key, value in config.items()))
        self.start()

    def start(self):
        self.process = self.sim.spawn(self.host, [os.path.join(self.build, "bin", "ibfabricd"), "--config", self.config,
                                                  "--state-dir", os.path.join(self.folder, "state"), "--socket",
                                                  self.socket], self.log)

    def ask(self, *command):
        done = subprocess.run([os.path.join(self.build, "bin", "ibfabric"), *command, "--json", "--socket", self.socket],
                              capture_output=True, text=True, check=False, timeout=30)
        return json.loads(done.stdout) if done.returncode == 0 else {}

    def is_master(self):
        return self.ask("sms").get("role") == "master" and self.ask("status").get("mode") == "up"

    def is_standby(self):
        return self.ask("sms").get("role") == "standby"

    def words(self):
        with open(self.log, encoding="utf-8", errors="replace") as file:
            return file.read()

    def kill(self):
        self.process.kill()
        self.process.wait()

    def stop(self):
        if self.process.poll() is None and stop(self.process) != 0:
            raise judges.Disagreement("ibfabricd's end:\n" + self.words()[-1500:])


class Theirs:
    """An OpenSM on HOST."""

    count = 0

    def __init__(self, sim, opensm, folder, host, priority):
        Theirs.count += 1
        self.host = host
        self.manager = OpenSm(lambda *args, **more: sim.spawn(host, *args, **more), opensm,
                              os.path.join(folder, f"opensm-{Theirs.count}"), "-p", str(priority), config=FAST_POLLS)

    def state(self):
        entered = [line.split("Entering ")[1].split()[0] for line in self.words().splitlines() if "Entering " in line]
        return entered[-1] if entered else ""

    def is_master(self):
        return self.state() == "MASTER" and "SUBNET UP" in self.words().rsplit("Entering MASTER", 1)[-1]

    def is_standby(self):
        return self.state() == "STANDBY"

    def words(self):
        if not os.path.exists(self.manager.log):
            return ""
        with open(self.manager.log, encoding="utf-8", errors="replace") as file:
            return file.read()

    def kill(self):
        self.manager.process.kill()
        self.manager.process.wait()

    def stop(self):
        self.manager.stop()


class Scene:
    def __init__(self, sim):
        self.sim = sim
        self.lids = None

    def truth(self):
        return {(node["guid"], port["port"]): port for node in self.sim.truth()["nodes"] for port in node["ports"]
                if "guid" in port}

    def wait(self, what, condition):
        began = time.monotonic()
        while not condition():
            if time.monotonic() > began + PATIENCE:
                raise judges.Disagreement(f"{what}: not within {PATIENCE} s")
            time.sleep(0.1)
        return time.monotonic() - began

    def settled(self, what, master, others):
        """MASTER is, OTHERS are not, every port says so, and LIDs are what they were."""
        took = self.wait(f"{what}: {master.host} becomes master", master.is_master)
        for other in others:
            self.wait(f"{what}: {other.host} stands by", other.is_standby)
        nodes = {node["guid"]: node for node in self.sim.truth()["nodes"]}
        own = next(port["lid"] for node in nodes.values() if node["description"] == master.host
                   for port in node["ports"] if port["lid"])
        self.wait(f"{what}: every port names LID {own}",
                  lambda: {port["sm_lid"] for port in self.truth().values() if port["lid"]} == {own})
        lids = {place: port["lid"] for place, port in self.truth().items()}
        if self.lids is not None:
            judges.require_equal(f"LIDs after {what}", lids, self.lids)
        self.lids = lids
        print(f"  {what}: {master.host} after {took:.1f} s", flush=True)

    def quiet(self, what, seconds=3):
        """Whoever stands by sends no Set; the master, on a fabric at rest, neither."""
        sets = lambda: {name: count for name, count in self.sim.counters().items()  # noqa: E731
                        if name.startswith("Set ") and "SMInfo" not in name}
        before = sets()
        time.sleep(seconds)
        judges.require_equal(f"Sets while {what}", sets(), before)


def beside_opensm(scene, build, opensm, folder, hosts):
    sim = scene.sim
    theirs = Theirs(sim, opensm, folder, hosts[0], 3)
    managers = [theirs]
    try:
        scene.settled("OpenSM alone", theirs, [])
        theirs.manager.wait_settled()
        ours = Ours(sim, build, folder, hosts[1], priority=1, hand_over_hold="0s")
        managers.append(ours)
        scene.wait("a plain start stands by", ours.is_standby)
        scene.quiet("ibfabricd stands by")
        theirs.kill()
        scene.settled("OpenSM killed", ours, [])
        again = Theirs(sim, opensm, folder, hosts[0], 3)
        managers.append(again)
        scene.settled("OpenSM back, of higher priority", again, [ours])
        ours.stop()
        higher = Ours(sim, build, folder, hosts[2], priority=9)
        managers.append(higher)
        scene.settled("ibfabricd of higher priority", higher, [again])
        higher.kill()
        scene.settled("ibfabricd killed", again, [])
        higher.start()
        scene.settled("ibfabricd back", higher, [again])
        again.stop()
        scene.settled("OpenSM ended", higher, [])
    finally:
        for manager in managers:
            manager.kill()


def beside_ours(scene, build, folder, hosts):
    sim = scene.sim
    first = Ours(sim, build, folder, hosts[0], priority=2)
    second = Ours(sim, build, folder, hosts[1], priority=1, hand_over_hold="0s")  # it is the master that holds
    try:
        scene.settled("two ibfabricds", first, [second])
        scene.wait("at rest", lambda: first.ask("sms").get("role") == "master")
        time.sleep(3)
        tables = lambda: sim.counters().get("Set LinearForwardingTable", 0)  # noqa: E731
        before = tables()
        first.kill()
        scene.settled("the master killed", second, [])
        first.start()
        scene.settled("the master back", first, [second])
        judges.require_equal("forwarding table blocks written", tables(), before)
    finally:
        first.kill()
        second.kill()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True, type=os.path.abspath)
    parser.add_argument("--spec", required=True)
    options = parser.parse_args()
    absent, opensm = missing_programs(("sminfo",)), find_opensm(options.build)
    if absent or not opensm:
        print(f"skipped: not here: {' '.join(absent) or 'an unpacked opensm'} (./dev setup test)")
        return SKIPPED
    findings = 0
    for play in (lambda *args: beside_ours(args[0], options.build, args[1], args[2]),
                 lambda *args: beside_opensm(args[0], options.build, opensm, args[1], args[2])):
        with tempfile.TemporaryDirectory(prefix="ibf-") as folder, FabricSim(options.build, options.spec, folder) as sim:
            hosts = [node["description"] for node in sim.truth()["nodes"] if node["type"] == "CA"]
            try:
                play(Scene(sim), folder, hosts)
                broken = {name: count for name, count in sim.counters().items() if name.startswith("rule ")}
                judges.require_equal("wire rules broken", broken, {})
            except (judges.Disagreement, RuntimeError, subprocess.TimeoutExpired) as error:
                findings += 1
                print(f"  WRONG: {error}", flush=True)
    print(f"  {findings} findings")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
