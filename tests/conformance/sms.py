#!/usr/bin/env python3
"""Two and three subnet managers on one fabric: ibfabricd beside OpenSM, and beside another ibfabricd.

    sms.py --build BUILD_DIR --spec GENERATOR --on ibsim|ibfabric-sim --scene NAME...

Each act of a scene ends with exactly one that configures, in the words of all and by every port's MasterSMLID, and no LID
has moved. How soon is for the tests in virtual time; what it took here is printed. OpenSM polls every second, not every
ten, so that scenes do not take minutes. Exit code 77: skipped.
"""

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

import judges
from fabric_sim import FabricSim, OpenSm, find_opensm
from ibsim import Ibsim, find_umad2sim, missing_programs, stop

SKIPPED = 77
PATIENCE = 60  # seconds
FAST_POLLS = "sminfo_polling_timeout 1000\npolling_retry_number 3\nsweep_interval 5\n"


class OnOurs(FabricSim):
    """ibfabric-sim. Nodes go by their ids, such as H-5c25730300000010."""

    def hosts(self):
        return [f"H-{node['guid'][2:]}" for node in self.truth()["nodes"] if node["type"] == "CA"]

    def ports(self):
        """(node, port) -> (LID, MasterSMLID), of ports that have addresses of their own."""
        return {(node["guid"][2:], port["port"]): (port["lid"], port["sm_lid"]) for node in self.truth()["nodes"]
                for port in node["ports"] if "guid" in port}

    def cables_between_switches(self, host):
        """Those that tie the switch of HOST to others, as (switch, port)."""
        truth = self.truth()
        ends = [((link["a"], link["a_port"]), (link["b"], link["b_port"])) for link in truth["links"]]
        ends += [(b, a) for a, b in ends]
        leaf = next(there for (here, _), (there, _) in ends if f"H-{here[2:]}" == host)
        switches = {node["guid"] for node in truth["nodes"] if node["type"] == "Switch"}
        return [(f"S-{here[2:]}", port) for (here, port), (there, _) in ends if here == leaf and there in switches]

    def unplug(self, cable):
        self.control("link-down", f"{cable[0]}/{cable[1]}")

    def plug(self, cable):
        self.control("link-up", f"{cable[0]}/{cable[1]}")

    def broken_rules(self):
        return {name: count for name, count in self.counters().items() if name.startswith("rule ")}


class OnIbsim:
    """ibsim, with the same face. It counts no Sets and keeps no rules; what it knows it prints when it is told to."""

    NODE = re.compile(r'^(\w+) \d+ "(\S+)"\tnodeguid (\w+)')
    PORT = re.compile(r'^\w+\t\[(\d+)\](?:\t"([^"]+)"\[\d+\])?.*?(?: lid (\d+) lmc \d+ smlid (\d+))? +\dx')

    def __init__(self, build, spec, folder):
        netlist = os.path.join(folder, "netlist")
        subprocess.run([os.path.join(build, "bin", "ibfabric"), "generate", spec, "-o", netlist], check=True)
        self.ibsim, self.folder = Ibsim(netlist, folder), folder

    def spawn(self, host, command, output, **more):
        folder = tempfile.mkdtemp(dir=self.folder)  # umad2sim leaves folders where a killed client ran
        with open(output, "wb") as file:
            return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT, cwd=folder,
                                    env={**self.ibsim.client_environment(), "SIM_HOST": host, **more})

    def _tell(self, line):
        self.ibsim.process.stdin.write(line.encode() + b"\n")
        self.ibsim.process.stdin.flush()

    def _dump(self):
        """The newest dump, line by line; its end is known by what the console says to a word it does not know."""
        with open(self.ibsim.log, encoding="utf-8", errors="replace") as log:
            log.seek(0, os.SEEK_END)
            self._tell("dump")
            self._tell("Help")
            text, deadline = "", time.monotonic() + 10
            while "Help" not in text.partition("# Net status")[2]:
                if time.monotonic() > deadline:
                    raise RuntimeError("ibsim does not dump: " + text[-500:])
                time.sleep(0.02)
                text += log.read()
        return text.partition("# Net status")[2].splitlines()

    def _rows(self):
        """(type, node, its id, port, peer's id, LID, MasterSMLID)"""
        kind = name = guid = None
        for line in self._dump():
            if match := self.NODE.match(line):
                kind, name, guid = match.groups()
            elif match := self.PORT.match(line):
                port, peer, lid, sm_lid = match.groups()
                yield kind, guid, name, int(port), peer, lid and int(lid), sm_lid and int(sm_lid)

    def hosts(self):
        return [name for kind, _, name, *_ in self._rows() if kind == "Ca"]

    def ports(self):
        return {(guid, port): (lid, sm_lid) for _, guid, _, port, _, lid, sm_lid in self._rows() if lid is not None}

    def cables_between_switches(self, host):
        rows = list(self._rows())
        leaf = next(peer for _, _, name, _, peer, *_ in rows if name == host and peer)
        return [(name, port) for _, _, name, port, peer, *_ in rows if name == leaf and peer and peer.startswith("S-")]

    def unplug(self, cable):
        self._tell(f'Unlink "{cable[0]}"[{cable[1]}]')

    def plug(self, cable):
        self._tell(f'ReLink "{cable[0]}"[{cable[1]}]')

    def sets(self):
        return {}

    def broken_rules(self):
        return {}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.ibsim.close()


class Ours:
    """An ibfabricd on HOST, which is a host's name in the simulation."""

    def __init__(self, sim, build, folder, host, **config):
        self.sim, self.build, self.host = sim, build, host
        self.folder = os.path.join(folder, f"ours-{host}")
        os.makedirs(self.folder, exist_ok=True)
        self.socket, self.log = os.path.join(self.folder, "socket"), os.path.join(self.folder, "log")
        self.config = os.path.join(self.folder, "toml")
        self._configure(config)
        self.start()

    def _configure(self, config):
        with open(self.config, "w", encoding="ascii") as file:
            file.write("[sm]\n" + "".join(f"{key} = {json.dumps(value)}\n" for key, value in config.items()))

    def reload(self, **config):
        self._configure(config)
        self.process.send_signal(signal.SIGHUP)

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
    """A fabric, and whoever manages it. Use as a context manager: nobody is left behind."""

    def __init__(self, sim, build, opensm, folder):
        self.sim, self.build, self.opensm, self.folder = sim, build, opensm, folder
        self.hosts = sim.hosts()
        self.managers = []
        self.lids = None

    def ours(self, host, **config):
        self.managers.append(Ours(self.sim, self.build, self.folder, self.hosts[host], **config))
        return self.managers[-1]

    def theirs(self, host, priority):
        self.managers.append(Theirs(self.sim, self.opensm, self.folder, self.hosts[host], priority))
        return self.managers[-1]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for manager in self.managers:
            manager.kill()

    def wait(self, what, condition):
        began = time.monotonic()
        while not condition():
            if time.monotonic() > began + PATIENCE:
                raise judges.Disagreement(f"{what}: not within {PATIENCE} s")
            time.sleep(0.1)
        return time.monotonic() - began

    def settled(self, what, master, others, but=frozenset()):
        """MASTER is, OTHERS are not, every port (BUT some nodes) says so, and LIDs are what they were."""
        took = self.wait(f"{what}: {master.host} becomes master", master.is_master)
        for other in others:
            self.wait(f"{what}: {other.host} stands by", other.is_standby)
        own = self.sim.ports()[master.host[2:], 1][0]
        self.wait(f"{what}: every port names LID {own}",
                  lambda: {sm_lid for (node, _), (lid, sm_lid) in self.sim.ports().items() if lid and node not in but} == {own})
        lids = {place: lid for place, (lid, _) in self.sim.ports().items()}
        if self.lids is not None:
            judges.require_equal(f"LIDs after {what}", lids, self.lids)
        self.lids = lids
        print(f"  {what}: {master.host} after {took:.1f} s", flush=True)

    def quiet(self, what, seconds=3):
        """Whoever stands by sends no Set; the master, on a fabric at rest, neither."""
        before = self.sim.sets()
        time.sleep(seconds)
        judges.require_equal(f"Sets while {what}", self.sim.sets(), before)


def beside_opensm(scene):
    """By kill, by return, by priority, in both directions."""
    theirs = scene.theirs(0, 3)
    scene.settled("OpenSM alone", theirs, [])
    theirs.manager.wait_settled()
    ours = scene.ours(1, priority=1, hand_over_hold="0s")
    scene.wait("a plain start stands by", ours.is_standby)
    scene.quiet("ibfabricd stands by")
    theirs.kill()
    scene.settled("OpenSM killed", ours, [])
    again = scene.theirs(0, 3)
    scene.settled("OpenSM back, of higher priority", again, [ours])
    ours.stop()
    higher = scene.ours(2, priority=9)
    scene.settled("ibfabricd of higher priority", higher, [again])
    higher.kill()
    scene.settled("ibfabricd killed", again, [])
    higher.start()
    scene.settled("ibfabricd back", higher, [again])
    again.stop()
    scene.settled("OpenSM ended", higher, [])


def reloaded(scene):
    """The same, but without an OpenSM that comes to a master of lower priority: it tells of itself by trap 144 and waits
    for the TrapRepress before it sweeps again, and ibsim drops that. What is lowered is ibfabricd's priority."""
    theirs = scene.theirs(0, 3)
    scene.settled("OpenSM alone", theirs, [])
    theirs.manager.wait_settled()
    ours = scene.ours(1, priority=5, hand_over_hold="0s")
    scene.settled("ibfabricd of higher priority", ours, [theirs])
    ours.kill()
    scene.settled("ibfabricd killed", theirs, [])
    ours.start()
    scene.settled("ibfabricd back", ours, [theirs])
    ours.reload(priority=1, hand_over_hold="0s")
    scene.settled("ibfabricd of lower priority from now on", theirs, [ours])
    theirs.kill()
    scene.settled("OpenSM killed", ours, [])
    again = scene.theirs(0, 0)
    scene.settled("OpenSM back, of lower priority", ours, [again])
    ours.stop()
    scene.settled("ibfabricd ended", again, [])


def beside_ours(scene):
    first = scene.ours(0, priority=2)
    second = scene.ours(1, priority=1, hand_over_hold="0s")  # it is the master that holds
    scene.settled("two ibfabricds", first, [second])
    scene.wait("at rest", lambda: first.ask("sms").get("role") == "master")
    time.sleep(3)
    tables = lambda: scene.sim.sets()["LinearForwardingTable"]  # noqa: E731
    before = tables()
    first.kill()
    scene.settled("the master killed", second, [])
    first.start()
    scene.settled("the master back", first, [second])
    judges.require_equal("forwarding table blocks written", tables(), before)


def joined(scene, ours_priority):
    """Two masters, each of its part, until a cable joins them. OpenSM's priority is 3."""
    cables = scene.sim.cables_between_switches(scene.hosts[-1])
    ours = scene.ours(0, priority=ours_priority, hand_over_hold="0s")
    scene.settled("ibfabricd of the whole", ours, [])
    for cable in cables:
        scene.sim.unplug(cable)
    theirs = scene.theirs(-1, 3)
    scene.wait("OpenSM is master of what was cut off", theirs.is_master)
    time.sleep(3)
    if not ours.is_master() or not theirs.is_master():
        raise judges.Disagreement("each was to be master of its part")
    master, other = (ours, theirs) if ours_priority > 3 else (theirs, ours)
    scene.sim.plug(cables[0])
    scene.settled("joined by one cable", master, [other])
    for cable in cables[1:]:
        scene.sim.plug(cable)
    scene.settled("joined by all", master, [other])
    master.kill()
    scene.settled("the higher one killed", other, [])


def three_with_one_opensm(scene):
    theirs = scene.theirs(2, 4)
    scene.settled("OpenSM alone", theirs, [])
    theirs.manager.wait_settled()
    low = scene.ours(0, priority=3, hand_over_hold="0s")
    scene.wait("a lower ibfabricd stands by", low.is_standby)
    high = scene.ours(1, priority=5, hand_over_hold="0s")
    scene.settled("a higher ibfabricd", high, [theirs, low])
    high.kill()
    scene.settled("it is killed", theirs, [low])
    theirs.kill()
    scene.settled("OpenSM is killed", low, [])
    high.start()
    scene.settled("the higher ibfabricd is back", high, [low])


def three_with_two_opensms(scene):
    ours = scene.ours(0, priority=2, hand_over_hold="0s")
    scene.settled("ibfabricd alone", ours, [])
    first = scene.theirs(1, 4)
    scene.settled("an OpenSM of higher priority", first, [ours])
    second = scene.theirs(2, 3)
    scene.wait("one between them stands by", second.is_standby)
    scene.settled("three", first, [second, ours])
    first.kill()
    scene.settled("the highest is killed", second, [ours])
    second.kill()
    scene.settled("both are killed", ours, [])


SCENES = {
    "beside-ours": beside_ours,
    "beside-opensm": beside_opensm,
    "reloaded": reloaded,
    "joined-ours-higher": lambda scene: joined(scene, 5),
    "joined-opensm-higher": lambda scene: joined(scene, 1),
    "three-with-one-opensm": three_with_one_opensm,
    "three-with-two-opensms": three_with_two_opensms,
}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True, type=os.path.abspath)
    parser.add_argument("--spec", required=True)
    parser.add_argument("--on", required=True, choices=("ibsim", "ibfabric-sim"))
    parser.add_argument("--scene", required=True, nargs="+", choices=SCENES)
    options = parser.parse_args()
    needed = ("sminfo",) + (("ibsim",) if options.on == "ibsim" else ())
    absent, opensm = missing_programs(needed), find_opensm(options.build)
    if absent or not opensm or (options.on == "ibsim" and not find_umad2sim()):
        print(f"skipped: not here: {' '.join(absent) or 'an unpacked opensm or libumad2sim'} (./dev setup test)")
        return SKIPPED
    findings = 0
    for name in options.scene:
        print(f"  {name} on {options.on}", flush=True)
        with tempfile.TemporaryDirectory(prefix="ibf-") as folder, \
                (OnIbsim if options.on == "ibsim" else OnOurs)(options.build, options.spec, folder) as sim, \
                Scene(sim, options.build, opensm, folder) as scene:
            try:
                SCENES[name](scene)
                judges.require_equal("wire rules broken", sim.broken_rules(), {})
            except (judges.Disagreement, RuntimeError, subprocess.TimeoutExpired) as error:
                findings += 1
                print(f"  WRONG: {error}", flush=True)
                for manager in scene.managers:
                    print(f"  {manager.host}, the end of what it said:\n{manager.words()[-1500:]}", flush=True)
    print(f"  {findings} findings")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
