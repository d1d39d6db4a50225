#!/usr/bin/env python3
"""ibfabricd and its clients as they are on real hosts: doubles of the Linux kernel (kernel_double.py) on ibfabric-sim.

    hosts.py --build BUILD_DIR --spec SPEC [--hosts N] [--sources N] [--only CHECKS]

They come up at once, join, resolve each other and subscribe; then the fabric and the SM have accidents: hosts unplugged, a
subscriber that dies, a cable pulled, the SM killed, hung, stopped, moved to another node, killed with its database behind,
robbed of its state; at last lost packets. --sources: the paths of N ports besides, a table each. Every path is walked on the
switches' own tables, every tree too. Exit code 77: skipped, with the reason printed.
"""

import argparse
import contextlib
import ipaddress
import json
import os
import select
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

import judges
import sa as sa_checks
import sim_process as strangers
from fabric_sim import FabricSim
from ibsim import missing_programs, stop
from sim_process import report

SKIPPED = 77
JOIN_SECONDS = 15
ANSWER_SECONDS = 60
REPORT_SECONDS = 15
QUIET_SECONDS = 1.5    # longer than a report waits before it is sent again
FIRST_QP = 77
PREFIX, FOREIGN_PREFIX, LINK_LOCAL = 0xFEC0_0000_0000_0001, 0xFEC0_0000_0000_0002, 0xFE80_0000_0000_0000
OTHER_PARTITION = 0x8005
ACM_GROUP = "ff15:4001:ffff::1"
SERVICE = 0x1000_0000_0000_0CC1
GONE_AFTER = 3         # reports of one subscription in a row without an answer
LOSS = "0.02"
HALF_WORLDS = 5


class Host:
    """One double and where it is."""

    def __init__(self, sim, end, description, folder, index):
        self.end, self.description, self.driver = end, description, ("mlx5", "qib")[index % 2]
        self.node = f"{end[0]}/{end[1]}"
        program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "kernel_double.py")
        self.errors = os.path.join(folder, f"host-{index}.err")
        with open(self.errors, "wb") as errors:
            self.process = subprocess.Popen([sys.executable, "-B", program, "--driver", self.driver], stdin=subprocess.PIPE,
                                            stdout=subprocess.PIPE, stderr=errors, cwd=folder, env=sim.environment(self.node))
        self.gid = None

    def send(self, do, **more):
        self.process.stdin.write((json.dumps({"do": do, **more}) + "\n").encode())
        self.process.stdin.flush()

    def take(self):
        ready, _, _ = select.select([self.process.stdout], [], [], ANSWER_SECONDS)
        line = self.process.stdout.readline() if ready else b""
        if not line:
            with open(self.errors, encoding="utf-8", errors="replace") as file:
                raise RuntimeError(f"the double on {self.description} {'ended' if ready else 'is stuck'}: {file.read()[-1500:]}")
        return json.loads(line)

    def has_answered(self):
        return bool(select.select([self.process.stdout], [], [], 0)[0])

    def ask(self, do, **more):
        self.send(do, **more)
        return self.take()


def ask_all(hosts, do, **more):
    """All at the same time."""
    for host in hosts:
        host.send(do, **more)
    return [host.take() for host in hosts]


class Manager:
    """ibfabricd on a node, with a state folder that may outlive it."""

    def __init__(self, sim, build, node, folder):
        self.sim, self.build, self.node = sim, build, node
        self.state, self.socket = os.path.join(folder, "state"), os.path.join(folder, "ibfabricd.socket")
        self.log, self.config = os.path.join(folder, "ibfabricd.log"), os.path.join(folder, "ibfabricd.toml")
        with open(self.config, "w", encoding="ascii") as file:
            file.write(f'[sm]\nsubnet_prefix = "0x{PREFIX:016x}"\n')
        self.process = None

    def start(self):
        self.process = self.sim.spawn(self.node, [os.path.join(self.build, "bin", "ibfabricd"), "--config", self.config,
                                                  "--state-dir", self.state, "--socket", self.socket], self.log)

    def ask(self, *words):
        result = subprocess.run([os.path.join(self.build, "bin", "ibfabric"), *words, "--socket", self.socket],
                                capture_output=True, text=True, check=False, timeout=150)
        if result.returncode != 0:
            with open(self.log, encoding="utf-8", errors="replace") as file:
                raise RuntimeError(f"ibfabric {' '.join(words)}: {result.stderr}{file.read()[-1000:]}")
        return result.stdout

    def wait_up(self):
        self.ask("status", "--wait-up", "120")

    def kill(self):
        self.process.kill()
        self.process.wait()

    def stop(self):
        if self.process.poll() is None and stop(self.process) != 0:
            raise judges.Disagreement("ibfabricd's end was not clean")


def wait_for(what, seconds, found):
    """FOUND() gives None, or what is still wrong."""
    deadline = time.monotonic() + seconds
    while (wrong := found()) is not None:
        if time.monotonic() > deadline:
            raise judges.Disagreement(f"{what}: not within {seconds} s: {wrong}")
        time.sleep(0.1)


def members_of(hosts, states):
    """MGID -> (MLID, receivers, senders), by the doubles' own word."""
    groups = {}
    for host, state in zip(hosts, states):
        for mgid, group in state["groups"].items():
            mlid, receivers, senders = groups.setdefault(mgid, (group["record"]["MLID"], set(), set()))
            judges.require_equal(f"MLIDs of {mgid}", {group["record"]["MLID"]}, {mlid})
            (receivers if group["state"] & 1 else senders).add(host.end)
    return groups


class Scene:
    """The fabric, its hosts, and what they have been through."""

    def __init__(self, options, sim, folder):
        self.options, self.sim, self.folder = options, sim, folder
        fabric = sa_checks.Fabric(sim)
        ends = sorted(self._adapter_ends(fabric))
        ordered = [end for first in range(5) for end in ends[first::5]]  # spread over the leaves
        self.manager_ends, self.guests = ordered[:2], ordered[2:2 + options.hosts]
        self.bystanders = ordered[2 + options.hosts:]
        self.manager = Manager(sim, options.build, self._place(self.manager_ends[0]), folder)
        self.hosts = [Host(sim, end, description, folder, index) for index, (end, description) in enumerate(self.guests)]
        self.subscribers = list(self.hosts)

    @staticmethod
    def _adapter_ends(fabric):
        for owner, port in fabric.truth.end_ports():
            if owner["type"] != "Switch":
                yield (owner["guid"], port["port"]), owner["description"]

    @staticmethod
    def _place(item):
        return f"{item[0][0]}/{item[0][1]}"

    def states(self):
        return ask_all(self.hosts, "state")

    def joins(self):
        """Per host: of each group how often a join was begun, how often srp_daemon subscribed, what the port told."""
        return [({mgid: group["joins"] for mgid, group in state["groups"].items()}, state["srp"].get("subscribed", {}),
                 state["srp"].get("sends"), state["events"]) for state in self.states()]

    def require_trees(self):
        """Each group's tree in the switches reaches exactly its members."""
        states = self.states()
        groups = members_of(self.hosts, states)

        def flaw():  # switches are written after the answer
            fabric = sa_checks.Fabric(self.sim)
            for mgid, (mlid, receivers, senders) in groups.items():
                if wrong := sa_checks.tree_flaw(fabric, mlid, receivers, senders - receivers):
                    return f"{mgid}: {wrong}"
            return None
        wait_for("trees", sa_checks.SETTLED_SECONDS, flaw)
        return f"the trees of {len(groups)} groups"

    def resolve(self, hosts=None, tries=1, kinds=("ipoib", "cm4", "cm6")):
        """Everybody asks for everybody; every answer is walked. The number of paths."""
        hosts, walked = hosts or self.hosts, 0
        for by in kinds:
            for host in hosts:
                host.send("resolve", gids=[other.gid for other in hosts if other is not host], by=by, tries=tries)
            answers = [host.take()["paths"] for host in hosts]
            fabric = sa_checks.Fabric(self.sim)
            lid = {end: number for number, end in fabric.adapters.items()}
            for host, paths in zip(hosts, answers):
                for other in hosts:
                    if other is host:
                        continue
                    mtu, rate = fabric.path(lid[host.end], lid[other.end])
                    sa_checks.require(f"path by {by} from {host.description} to {other.description}: "
                                      "SLID, DLID, SL, MTU, rate", paths[other.gid],
                                      [lid[host.end], lid[other.end], 0, mtu, rate])
                    walked += 1
        return walked

    @staticmethod
    def begin_resolving(hosts, **how):
        """Everybody asks for everybody, and nobody waits for the answers yet. The number of queries."""
        for host in hosts:
            host.send("resolve", gids=[other.gid for other in hosts if other is not host], by="cm4", **how)
        return len(hosts) * (len(hosts) - 1)

    @staticmethod
    def require_resolved(hosts):
        failed = [paths for host in hosts for paths in host.take()["paths"].values() if isinstance(paths, str)]
        if failed:
            raise judges.Disagreement(f"{len(failed)} queries failed: {sorted(set(failed))}")


# ---- they come up -----------------------------------------------------------------------------------------------

def all_joined(scene):
    late = [host.description for host, state in zip(scene.hosts, scene.states()) if not state["joined"]]
    return f"{late} have not joined" if late else None


def check_start(scene):
    """C93, C90: N hosts at once, before the SM has brought the fabric up. Each joins each group once, with values of the
    broadcast group, and no request fails."""
    ask_all(scene.hosts, "start", qp=FIRST_QP)
    began = time.monotonic()
    scene.manager.start()
    wait_for("all hosts join", JOIN_SECONDS, lambda: all_joined(scene))
    took = time.monotonic() - began
    solicited = []
    for host, state in zip(scene.hosts, scene.states()):
        host.gid = state["gid"]
        broadcast = state["groups"][sa_checks.IPOIB_BROADCAST]["record"]
        sa_checks.require("the broadcast group's Q_Key and SL", (broadcast["Q_Key"], broadcast["SL"]), (0x0B1B, 0))
        for mgid, group in state["groups"].items():
            sa_checks.require(f"{host.description}: joins and failures of {mgid}", (group["joins"], group["failures"]), (1, []))
            alike = ("Q_Key", "Mtu", "Rate", "SL")
            sa_checks.require(f"{mgid} is as the broadcast group", [group["record"][name] for name in alike],
                              [broadcast[name] for name in alike])
            if mgid.startswith("ff12:601b:ffff::1:ff"):
                solicited.append(mgid)
    for host, mgid in zip(scene.hosts, solicited[1:] + solicited[:1]):  # neighbour discovery: send-only joins
        host.ask("send-to", mgid=mgid)
    wait_for("send-only joins", JOIN_SECONDS, lambda: all_joined(scene))
    wait_for("subscriptions", JOIN_SECONDS, lambda: unsubscribed(scene))
    return f"{len(scene.hosts)} hosts, {took:.1f} s after the SM's start all had joined; {scene.require_trees()}"


def unsubscribed(scene):
    for host, state in zip(scene.subscribers, ask_all(scene.subscribers, "state")):
        if state["srp"]["failures"] or set(state["srp"]["subscribed"].values()) != {1}:
            return f"{host.description}: {state['srp']}"
    return None


def check_resolve(scene):
    return f"{scene.resolve()} paths of IPoIB and rdma_cm, each walked to its end"


def check_start_up_of_mpi(scene):
    """ibacm's group, the paths to everybody, services."""
    lids = {lid: 1 for lid in sa_checks.Fabric(scene.sim).gid}
    for answer in ask_all(scene.hosts, "half-world"):
        sa_checks.require("half world: error", answer["error"], None)
        judges.require_equal("half world: records by LID", {int(lid): n for lid, n in answer["dlids"].items()}, lids)
    joined = ask_all(scene.hosts, "acm", mgid=ACM_GROUP)
    sa_checks.require("ibacm's joins: errors and MLIDs", {(row["error"], row["mlid"]) for row in joined},
                      {(None, joined[0]["mlid"])})
    sa_checks.settled_tree(scene.sim, joined[0]["mlid"], {host.end for host in scene.hosts}, set())
    registered = ask_all(scene.hosts[:3], "service", method="set", service=SERVICE)
    sa_checks.require("services registered", [row["error"] for row in registered], [None] * 3)
    require_services(scene)
    return f"{len(lids)} destinations for each host, a group of MLID 0x{joined[0]['mlid']:04x}, 3 services"


def require_services(scene):
    for answer in ask_all(scene.hosts, "service", method="get-table", service=SERVICE):
        sa_checks.require("services found", (answer["error"], answer["found"]), (None, 3))


def check_srp_search(scene):
    """C108: nobody is a device manager, which is an empty table and no error; somebody is the SM."""
    sa_checks.require("IsDM ports", ask_all(scene.hosts, "ports", capability="IsDM"), [{"ports": {}}] * len(scene.hosts))
    fabric = sa_checks.Fabric(scene.sim)
    end = scene.manager_ends[0][0]
    port = fabric.port(*end)
    sa_checks.require("IsSM ports", scene.hosts[0].ask("ports", capability="IsSM"),
                      {"ports": {str(port["lid"]): port["guid"]}})
    return "IsDM: none; IsSM: the SM's port"


def check_other_askers(scene):
    """How the rest ask for a path: ib_srp by service; srp_daemon by LIDs and each of its P_Keys, and by its own GID for its
    LID; Open MPI by LIDs alone."""
    asker, other = scene.hosts[:2]
    slid, dlid = (host.ask("state")["lid"] for host in (asker, other))
    gids = {"DGID": other.gid, "SGID": asker.gid}
    cases = {
        "ib_srp": ({**gids, "ServiceID": 0x1000_0001, "NumbPath": 1, "P_Key": 0xFFFF}, None, dlid),
        "srp_daemon, shared P_Key": ({"SLID": slid, "DLID": dlid, "P_Key": 0xFFFF}, None, dlid),
        "srp_daemon, P_Key not shared": ({"SLID": slid, "DLID": dlid, "P_Key": OTHER_PARTITION}, "EINVAL", None),
        "srp_daemon, itself": ({"DGID": asker.gid, "SGID": asker.gid, "RawTraffic": 1, "HopLimit": 0, "NumbPath": 1}, None, slid),
        "Open MPI": ({"SLID": slid, "DLID": dlid}, None, dlid)}
    for name, (fields, error, end) in cases.items():
        answer = asker.ask("raw", method="get", attribute="PathRecord", **fields)
        sa_checks.require(f"{name}: error and DLID", (answer["error"], answer["dlid"]), (error, end))
    return ", ".join(cases)


def with_prefix(prefix, gid):
    return sa_checks.compressed(prefix << 64 | int(ipaddress.IPv6Address(gid)) & (1 << 64) - 1)


def check_refusals(scene):
    """C100: the link-local prefix means this fabric, a foreign one is refused. C93: a partition without IPoIB is too, and is
    named. Refused is at once: the kernel takes any status for the end."""
    asker, other = scene.hosts[:2]
    partition = sa_checks.IPOIB_BROADCAST.replace("ffff", f"{OTHER_PARTITION:x}", 1)
    for prefix, error in ((PREFIX, None), (LINK_LOCAL, None), (FOREIGN_PREFIX, "EINVAL")):
        own, far = with_prefix(prefix, asker.gid), with_prefix(prefix, other.gid)
        sa_checks.require(f"path with prefix 0x{prefix:x}", asker.ask(
            "raw", method="get", attribute="PathRecord", DGID=far, SGID=own, NumbPath=1, P_Key=0xFFFF)["error"], error)
        sa_checks.require(f"join with prefix 0x{prefix:x}", asker.ask(
            "raw", method="set", attribute="MCMemberRecord", MGID=sa_checks.IPOIB_BROADCAST, PortGID=own, P_Key=0xFFFF,
            JoinState=1)["error"], error)
    sa_checks.require("join of another partition", asker.ask(
        "raw", method="set", attribute="MCMemberRecord", MGID=partition, PortGID=asker.gid, P_Key=OTHER_PARTITION,
        JoinState=1)["error"], "EINVAL")
    told = [event["text"] for event in json.loads(scene.manager.ask("events", "--json"))["events"]
            if event["kind"] == "join-refused"]
    if len(told) != 1 or f"partition 0x{OTHER_PARTITION:x} has no IPoIB group" not in told[0]:
        raise judges.Disagreement(f"events join-refused: {told}")
    return "two prefixes are this fabric's, a third is not; " + told[0].partition(": ")[2]


# ---- accidents --------------------------------------------------------------------------------------------------

def gid_of(scene, end):
    port = sa_checks.Fabric(scene.sim).port(*end)
    return sa_checks.compressed((int(port["gid_prefix"], 16) << 64) | int(port["guid"], 16))


def reports_of(hosts, traps=(64, 65)):
    return [[(trap, about) for trap, about in state["srp"]["reports"] if trap in traps] for state in ask_all(hosts, "state")]


def come_and_go(scene, end):
    """A host's cable is pulled and plugged again: each subscriber hears of each once, in this order."""
    gid, place = gid_of(scene, end), f"{end[0]}/{end[1]}"
    hosts = [host for host in scene.subscribers if host.end != end]
    before = [len(reports) for reports in reports_of(hosts)]
    wanted = []
    for command, trap in (("link-down", 65), ("link-up", 64)):
        scene.sim.control(command, place)
        wanted.append((trap, gid))
        require_reports(hosts, before, wanted)
    return hosts, before, wanted


def require_reports(hosts, before, wanted):
    def missing():
        wrong = [f"{host.description} has heard {all_[old:]}" for host, old, all_ in zip(hosts, before, reports_of(hosts))
                 if all_[old:] != wanted]
        return "; ".join(wrong[:3]) if wrong else None
    wait_for(f"reports {wanted}", REPORT_SECONDS, missing)


def require_silence(hosts, before, wanted):
    """A report that somebody did not take as answered would come again."""
    time.sleep(QUIET_SECONDS)
    require_reports(hosts, before, wanted)


def check_unplugged(scene):
    """C103: a host that goes and comes back."""
    require_silence(*come_and_go(scene, scene.bystanders[0][0]))
    return f"65 and 64 once each to {len(scene.subscribers)} subscribers"


def check_host_back(scene):
    """A host with clients goes and comes back: it joins and subscribes anew, once, and nobody else does."""
    traveller, before = scene.hosts[-1], scene.joins()
    heard = come_and_go(scene, traveller.end)
    wait_for("the host joins again", JOIN_SECONDS, lambda: all_joined(scene))
    require_silence(*heard)
    after = scene.joins()
    sa_checks.require("joins and subscriptions of the others", after[:-1], before[:-1])
    sa_checks.require("the host's own: joins", after[-1][0], once_more(before[-1][0]))
    sa_checks.require("the host's own: subscriptions", after[-1][1], once_more(before[-1][1]))
    scene.resolve(kinds=("ipoib",))
    return f"it alone joined and subscribed once more; {scene.require_trees()}"


def once_more(counts):
    return {what: count + 1 for what, count in counts.items()}


def check_capability_trap(scene):
    """Trap 144 of an adapter is forwarded to who asked for it."""
    end, _ = scene.bystanders[1]
    before = [len(reports) for reports in reports_of(scene.subscribers, (144,))]
    wanted = [(144, sa_checks.Fabric(scene.sim).port(*end)["lid"])]
    scene.sim.control("trap", f"{end[0]}/{end[1]}", "number=144", "count=1")

    def missing():
        news = [all_[old:] for old, all_ in zip(before, reports_of(scene.subscribers, (144,)))]
        return None if news == [wanted] * len(news) else str(news[:3])
    wait_for("trap 144 at every subscriber", REPORT_SECONDS, missing)
    return "forwarded once to each"


def check_dead_subscriber(scene):
    """C104: who answers no more is given up after some reports; the others go on, and the host's groups too."""
    victim = scene.hosts[1]
    lid = victim.ask("state")["lid"]
    victim.ask("kill-srp")
    scene.subscribers.remove(victim)
    for index in range(GONE_AFTER):
        come_and_go(scene, scene.bystanders[index][0])

    def alive():
        events = json.loads(scene.manager.ask("events", "--json"))["events"]
        gone = [event["text"] for event in events if event["kind"] == "subscriber-gone"]
        mine = [text for text in gone if f"LID {lid}, QP {FIRST_QP}" in text]
        return None if len(mine) == len(gone) == 2 else f"subscriber-gone: {gone}"
    wait_for("its subscriptions to 64 and 65 end, and nobody else's", REPORT_SECONDS, alive)
    return f"the one on {victim.description}, QP {FIRST_QP}"


def check_cable(scene):
    """A cable between switches is pulled: nobody registers anew, every path is asked for again and walks."""
    fabric = sa_checks.Fabric(scene.sim)
    inner = [(a, b) for a, b in sorted(fabric.truth.links) if a[0] in fabric.switches and b[0] in fabric.switches]
    (guid, port), _ = inner[0]
    before = scene.joins()
    scene.sim.control("link-down", f"{guid}/{port}")

    def unused():
        fabric = sa_checks.Fabric(scene.sim)
        used = [lid for lid, exit_port in fabric.tables[guid].items() if exit_port == port]
        return f"{len(used)} LIDs still go there" if used else None
    wait_for("traffic leaves the cable", REPORT_SECONDS, unused)
    walked = scene.resolve()
    trees = scene.require_trees()
    scene.sim.control("link-up", f"{guid}/{port}")
    scene.manager.wait_up()
    sa_checks.require("joins and subscriptions", scene.joins(), before)
    return f"{walked} paths walked around it, {trees}"


def check_killed(scene):
    """The SM is killed and comes back: nobody notices. Groups, services and subscriptions are there."""
    before = scene.joins()
    time.sleep(0.5)  # what was registered is written within 200 ms
    scene.manager.kill()
    scene.manager.start()
    scene.manager.wait_up()
    require_services(scene)
    walked = scene.resolve()
    trees = scene.require_trees()
    unplugged = check_unplugged(scene)
    sa_checks.require("joins and subscriptions", scene.joins(), before)
    return f"nobody registered anew; {trees}; {walked} paths; {unplugged}"


def check_silent(scene):
    """The SM's program hangs for a while: the kernel's retries go on, and all is answered, once."""
    scene.manager.process.send_signal(signal.SIGSTOP)
    try:
        count = scene.begin_resolving(scene.hosts, milliseconds=20000)
        time.sleep(2.5)  # the retry after 2 s meets it as well
    finally:
        scene.manager.process.send_signal(signal.SIGCONT)
    scene.require_resolved(scene.hosts)
    return f"{count} queries outlived it"


def check_stopped(scene):
    """C89: hosts ask while there is no SM. The kernel of its node says so at once, as Linux's does; whoever needs a path or
    a group tries again, and all is answered once it is back. A host that came meanwhile gets in."""
    before = scene.joins()
    scene.manager.stop()
    end, description = scene.bystanders[-1]
    newcomer = Host(scene.sim, end, description, scene.folder, len(scene.guests))
    newcomer.ask("start")
    count = scene.begin_resolving(scene.hosts, tries=20)
    time.sleep(1)
    scene.manager.start()
    scene.manager.wait_up()
    scene.require_resolved(scene.hosts)
    scene.hosts.append(newcomer)
    wait_for("a host that came meanwhile joins", JOIN_SECONDS, lambda: all_joined(scene))
    newcomer.gid = newcomer.ask("state")["gid"]
    sa_checks.require("joins and subscriptions of the others", scene.joins()[:-1], before)
    return f"{count} queries outlived it, and a newcomer's joins"


def check_moved(scene):
    """C105: the SM goes on from another node, with its state. Who relied on its LID hears nothing until asked to register
    anew; then all do, each once, whatever else the driver tells."""
    before, lids = scene.joins(), sorted(sa_checks.Fabric(scene.sim).gid.items())
    scene.manager.stop()
    scene.manager.node = scene._place(scene.manager_ends[1])
    scene.manager.start()
    scene.manager.wait_up()
    wait_for("everybody joins", JOIN_SECONDS, lambda: all_joined(scene))
    require_registered_once_more(scene, before)
    sa_checks.require("LIDs", sorted(sa_checks.Fabric(scene.sim).gid.items()), lids)
    scene.resolve(kinds=("ipoib",))
    return f"all joined and subscribed once more; LIDs as before; {scene.require_trees()}"


def check_behind(scene):
    """C52: a host registers while the database is locked, then the SM is killed. What is stored is whole, and old: all hosts
    are asked to register anew."""
    with contextlib.closing(sqlite3.connect(os.path.join(scene.manager.state, "ibfabric.db"))) as database:
        database.execute("BEGIN IMMEDIATE")
        for do in ("stop", "start"):
            scene.hosts[0].ask(do)
        wait_for("the host joins", JOIN_SECONDS, lambda: all_joined(scene))
        before = scene.joins()
        scene.manager.kill()
    scene.manager.start()
    scene.manager.wait_up()
    wait_for("everybody joins", JOIN_SECONDS, lambda: all_joined(scene))
    require_registered_once_more(scene, before)
    return f"all joined and subscribed once more; {scene.require_trees()}"


def check_robbed(scene):
    """C52: the SM has lost what clients left with it, at the same LID: they are asked to register anew, and all is there."""
    before = scene.joins()
    scene.manager.stop()
    shutil.rmtree(scene.manager.state)
    scene.manager.start()
    scene.manager.wait_up()
    wait_for("everybody joins", JOIN_SECONDS, lambda: all_joined(scene))
    require_registered_once_more(scene, before)
    return f"all joined and subscribed once more; {scene.require_trees()}; {check_unplugged(scene)}"


def check_down_and_up(scene):
    """All interfaces go down: each leaves what it joined, and the switches forget. And up again."""
    groups = members_of(scene.hosts, scene.states())
    sa_checks.require("leaves that failed", [row for answer in ask_all(scene.hosts, "stop") for row in answer["failures"]], [])

    def left_over():
        fabric = sa_checks.Fabric(scene.sim)
        return next((flaw for mlid, _, _ in groups.values() if (flaw := sa_checks.tree_flaw(fabric, mlid, set(), set()))), None)
    wait_for("empty trees", sa_checks.SETTLED_SECONDS, left_over)
    ask_all(scene.hosts, "start")
    wait_for("all hosts join", JOIN_SECONDS, lambda: all_joined(scene))
    return f"{len(groups)} groups left, then {scene.require_trees()}"


def require_registered_once_more(scene, before):
    def not_yet():
        for host, old, new in zip(scene.hosts, before, scene.joins()):
            if new[1] != once_more(old[1]):
                return f"{host.description} ({host.driver}): subscriptions {old[1]}, now {new[1]}"
        return None
    wait_for("everybody subscribes", JOIN_SECONDS, not_yet)
    time.sleep(QUIET_SECONDS)
    for host, old, new in zip(scene.hosts, before, scene.joins()):
        who = f"{host.description} ({host.driver})"
        sa_checks.require(f"joins of {who} after {new[3]}", new[0], once_more(old[0]))
        sa_checks.require(f"subscriptions of {who}", new[1], once_more(old[1]))
        sa_checks.require(f"new events of {who}", new[3][len(old[3]):].count("client-reregister"), 1)


def check_sources(scene):
    fabric = sa_checks.Fabric(scene.sim)
    return sa_checks.check_paths(scene.sim, scene.hosts[0].node, fabric, scene.options.sources)


def check_loss(scene):
    """C92, the last: faults stand. The half world comes whole, each destination once, and others are served meanwhile."""
    lids = {lid: 1 for lid in sa_checks.Fabric(scene.sim).gid}
    lost = scene.sim.counters()["lost"]
    scene.sim.control("drop", "*", f"probability={LOSS}")
    asker, others = scene.hosts[0], scene.hosts[1:]
    seconds, served = [], 0
    for _ in range(HALF_WORLDS):
        asker.send("half-world", tries=5)
        while True:
            served += scene.begin_resolving(others, tries=5)
            scene.require_resolved(others)
            if asker.has_answered():
                break
        answer = asker.take()
        sa_checks.require("half world: error", answer["error"], None)
        judges.require_equal("half world: records by LID", {int(lid): n for lid, n in answer["dlids"].items()}, lids)
        seconds.append(answer["seconds"])
    scene.resolve(others, tries=5, kinds=("cm4",))
    lost = scene.sim.counters()["lost"] - lost
    if lost == 0:
        raise judges.Disagreement("the simulator lost nothing")
    return (f"{HALF_WORLDS} times {len(lids)} records after {min(seconds):.2f} to {max(seconds):.2f} s, {served} queries of others "
            f"meanwhile, {lost} packets lost")


CHECKS = (("start", check_start), ("resolve", check_resolve), ("MPI", check_start_up_of_mpi), ("srp", check_srp_search),
          ("other askers", check_other_askers), ("refusals", check_refusals), ("unplugged", check_unplugged), ("host back", check_host_back),
          ("trap 144", check_capability_trap), ("dead subscriber", check_dead_subscriber), ("cable", check_cable),
          ("killed", check_killed), ("silent", check_silent), ("stopped", check_stopped), ("moved", check_moved),
          ("behind", check_behind), ("robbed", check_robbed), ("down and up", check_down_and_up), ("sources", check_sources), ("loss", check_loss))


def judge(options, sim, folder):
    scene = Scene(options, sim, folder)
    try:
        for name, check in CHECKS:
            wanted = not options.only or name in options.only.split(",")
            if name == "start" or (wanted and (name != "sources" or options.sources)):
                began = time.monotonic()
                report(name, lambda check=check: check(scene))
                if options.times:
                    print(f"    {time.monotonic() - began:.1f} s", flush=True)
            if name == "start" and strangers.findings:
                return
        for host in scene.hosts:
            host.process.stdin.close()
        report("ends", lambda: "all clean" if all(host.process.wait(10) == 0 for host in scene.hosts) else "not all clean")
        report("SM's end", lambda: scene.manager.stop() or "clean")
    finally:
        for host in scene.hosts:
            host.process.kill()
        if scene.manager.process:
            scene.manager.kill()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True, type=os.path.abspath)
    parser.add_argument("--spec", required=True)
    parser.add_argument("--hosts", type=int, default=18)
    parser.add_argument("--sources", type=int)
    parser.add_argument("--only", help="names of checks, as printed, with commas between")
    parser.add_argument("--times", action="store_true")
    options = parser.parse_args()
    if absent := missing_programs(("ibstat",)):
        print(f"skipped: not here: {' '.join(absent)} (./dev setup test)")
        return SKIPPED
    if absent := sa_checks.absent_file(options.spec):
        print(absent)
        return SKIPPED
    with tempfile.TemporaryDirectory(prefix="ibf-") as folder, FabricSim(options.build, options.spec, folder) as sim:
        judge(options, sim, folder)
    findings = strangers.findings
    print(f"  {len(findings)} findings" + (": " + ", ".join(findings) if findings else ""))
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
