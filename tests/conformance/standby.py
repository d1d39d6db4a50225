#!/usr/bin/env python3
"""Standbys with a copy of the master's memory, on ibfabric-sim, with doubles of Linux hosts as its clients.

    standby.py --build BUILD_DIR --spec GENERATOR

The master is killed while its clients stand still, so that nothing but the copy can tell what they had left: groups, MLIDs,
services and subscriptions must be there, no LID moved, no table written, nobody asked to register anew. Then strangers at the
door, configurations that differ, and files that are wrong. Exit code 77: skipped, with the reason printed.
"""

import argparse
import contextlib
import json
import os
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import time

import hosts
import judges
from certificates import Authority
from sms import Ours, OnOurs, Scene

SKIPPED = 77
CLIENTS = 3
STRANGERS = 50
SERVICE = 0x1000_0000_0000_0CC1
RESIDENT_MORE = 64  # MB that strangers at the door may cost, all together


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


class Manager(Ours):
    """An ibfabricd that gives and takes copies."""

    def __init__(self, sim, build, folder, host, port, peers, certified, ca, extra="", **config):
        self.port, self.certified, self.ca = port, certified, ca
        self.replica = (f'[replica]\nlisten = "127.0.0.1:{port}"\n'
                        f'peers = {json.dumps([f"127.0.0.1:{peer}" for peer in peers])}\n'
                        f'certificate = "{certified[0]}"\nkey = "{certified[1]}"\nca = "{ca}"\n{extra}')
        super().__init__(sim, build, folder, host, **config)

    def _configure(self, config):
        super()._configure(config)
        with open(self.config, "a", encoding="ascii") as file:
            file.write(self.replica)

    def copy(self):
        return self.ask("sms").get("copy", {}).get("state")

    def has_copy_of(self, other):
        copy = self.ask("sms").get("copy", {})
        return copy.get("state") == "current" and copy.get("of") == other.ask("sms")["sms"][0]["guid"]

    def events(self, kind):
        return [event["text"] for event in self.ask("events").get("events", []) if event["kind"] == kind]

    def memory(self):
        """What clients left, as readers see it."""
        groups = {}
        for group in self.ask("groups")["groups"]:
            members = sorted((member["gid"], tuple(member["join_states"])) for member in group["members"])
            groups[group["mgid"]] = (group["mlid"], members)
        services = sorted((row["id"], row["gid"]) for row in self.ask("services")["services"])
        subscriptions = sorted((row["subscriber"], row["qpn"], row["number"]) for row in self.ask("sa")["subscriptions"])
        return {"groups": groups, "services": services, "subscriptions": subscriptions}

    def resident(self):
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as file:
            return next(int(line.split()[1]) // 1024 for line in file if line.startswith("VmRSS"))


class Play:
    def __init__(self, options, folder, sim):
        self.options, self.folder, self.sim, self.scene = options, folder, sim, Scene(sim, options.build, None, folder)
        self.places = sim.hosts()
        self.authority = Authority(os.path.join(folder, "ca"), "the fabric's")
        self.managers, self.clients = self.scene.managers, []

    def manager(self, place, port, peers, certified=None, **more):
        host = self.places[place]
        made = Manager(self.sim, self.options.build, self.folder, host, port, peers,
                       certified or self.authority.certify(f"sm{place}"), self.authority.certificate, **more)
        self.managers.append(made)
        return made

    def pair(self, **second):
        ports = [free_port(), free_port()]
        return [self.manager(0, ports[0], ports, reregister="lost"), self.manager(1, ports[1], ports, **{"reregister": "lost", **second})]

    def start_clients(self):
        ends = [(node["guid"], port["port"]) for node in self.sim.truth()["nodes"] if node["type"] == "CA"
                for port in node["ports"] if "guid" in port]
        for index in range(CLIENTS):
            self.clients.append(hosts.Host(self.sim, ends[2 + index], self.places[2 + index], self.folder, 1))  # hears of a new SM
        hosts.ask_all(self.clients, "start", qp=hosts.FIRST_QP)
        self.scene.wait("clients join", lambda: all(state["joined"] for state in hosts.ask_all(self.clients, "state")))
        self.scene.wait("clients subscribe", lambda: all(set(state["srp"]["subscribed"].values()) == {1}
                                                         for state in hosts.ask_all(self.clients, "state")))
        for answer in hosts.ask_all(self.clients[:2], "service", method="set", service=SERVICE):
            judges.require_equal("service registered", {answer["error"]}, {None})

    def signal_clients(self, number):
        for client in self.clients:
            client.process.send_signal(number)

    def multicast(self):
        """Every switch's multicast entries."""
        return {node["guid"]: node.get("mft") for node in self.sim.truth("tables")["nodes"] if node["type"] == "Switch"}

    def writes(self):
        sets = self.sim.sets()
        return {name: sets[name] for name in ("LinearForwardingTable", "MulticastForwardingTable")}

    def close(self):
        for client in self.clients:
            client.process.kill()
        for manager in self.managers:
            manager.kill()


def take_over(play, master, heir, what):
    """The master is killed while its clients stand still."""
    play.scene.wait(f"{what}: a copy of {master.host}", lambda: heir.has_copy_of(master))
    memory, writes, tables = master.memory(), play.writes(), play.multicast()
    judges.require_equal(f"{what}: the copy as readers see it", heir.memory(), memory)
    if len(memory["subscriptions"]) < CLIENTS or not memory["services"] or len(memory["groups"]) < 2:
        raise judges.Disagreement(f"{what}: too little to lose: {memory}")
    asked = len(heir.events("reregister"))
    play.signal_clients(signal.SIGSTOP)
    try:
        master.kill()
        play.scene.settled(what, heir, [])
        time.sleep(1)  # whoever would be asked to register anew would have been by now
        judges.require_equal(f"{what}: what clients left", heir.memory(), memory)
        judges.require_equal(f"{what}: tables written", play.writes(), writes)
        judges.require_equal(f"{what}: trees", play.multicast(), tables)
        judges.require_equal(f"{what}: runs that ask to register anew", {len(heir.events("reregister"))}, {asked})
    finally:
        play.signal_clients(signal.SIGCONT)


def heard(play, trap):
    return [[about for number, about in state["srp"]["reports"] if number == trap] for state in hosts.ask_all(play.clients, "state")]


def keeps_a_copy(play):
    first, second = play.pair()
    play.scene.settled("two ibfabricds", first, [second])
    play.start_clients()
    take_over(play, first, second, "the master killed")
    before = [len(reports) for reports in heard(play, 65)]
    bystander = f"{play.places[2 + CLIENTS]}/1"
    play.sim.control("link-down", bystander)
    play.scene.wait("the new master reports", lambda: all(len(reports) > old for reports, old in zip(heard(play, 65), before)))
    if not any(text.startswith("[") for text in second.events("subnet-up")):
        raise judges.Disagreement(f"the first master's history is not in the second's: {second.events('subnet-up')}")
    play.sim.control("link-up", bystander)
    first.start()
    play.scene.settled("the first one back", second, [first])
    take_over(play, second, first, "the second one killed")


def differs(play):
    """C56: different groups: an alarm on both sides, and no copy where that is refused."""
    ports = [free_port(), free_port()]
    first = play.manager(0, ports[0], ports, priority=3)
    play.scene.settled("one ibfabricd", first, [])
    second = play.manager(1, ports[1], ports, extra='on_difference = "refuse"\n[[multicast.groups]]\nmgid = "ff15:a01c::77"\n')
    for manager in (first, second):
        play.scene.wait(f"{manager.host} says that they differ", lambda m=manager: m.events("config-differs"))
        text = manager.events("config-differs")[0]
        if "(partitions and groups)" not in text:
            raise judges.Disagreement(f"{manager.host}: {text}")
    play.scene.wait("stands by", second.is_standby)
    time.sleep(2)
    judges.require_equal("a copy that is refused", {second.copy()}, {"none"})
    second.replica = second.replica.partition("[[multicast")[0]
    second.reload()
    for manager in (first, second):
        play.scene.wait(f"{manager.host} says that they agree", lambda m=manager: m.events("config-agrees"))
    play.scene.wait("the copy after all", lambda: second.has_copy_of(first))


def call(port, certified=None, ca=None):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    if certified:
        context.load_cert_chain(*certified)
    raw = socket.create_connection(("127.0.0.1", port), timeout=10)
    return context.wrap_socket(raw)


def until_closed(connection):
    with contextlib.suppress(OSError):
        while connection.recv(65536):
            pass
    connection.close()


def strangers(play):
    """No certificate, another CA's, garbage, a frame too large, many who say nothing: named, bounded, and nothing lost."""
    first, second = play.pair()
    play.scene.settled("two ibfabricds", first, [second])
    play.scene.wait("a copy", lambda: second.has_copy_of(first))
    before = first.resident()
    rogue = Authority(os.path.join(play.folder, "rogue"), "somebody else's").certify("sm0")
    mine = play.authority.certify("sm7")
    silent = [socket.create_connection(("127.0.0.1", first.port)) for _ in range(STRANGERS)]
    for certified, words in ((None, ("peer did not return a certificate", "certificate required")),
                             (rogue, ("certificate verify failed",))):
        with contextlib.suppress(OSError):
            until_closed(call(first.port, certified))
        play.scene.wait(f"the log names one with {certified}", lambda w=words: any(word in first.words() for word in w))
    with socket.create_connection(("127.0.0.1", first.port)) as garbage:
        garbage.sendall(b"GET / HTTP/1.0\r\n\r\n" + bytes(range(256)) * 64)
        with contextlib.suppress(OSError):
            garbage.recv(100)
    play.scene.wait("the log names garbage", lambda: "no TLS connection" in first.words())
    for octets, words in ((b"\xff\xff\xff\xff\x05", "no ibfabricd of version"), (b"\x00\x00\x00\x08\x03" + bytes(16), "is not what it should be")):
        connection = call(first.port, mine)
        connection.sendall(octets)
        until_closed(connection)
        play.scene.wait(f"the log names {octets}", lambda w=words: w in first.words())
    for connection in silent:
        until_closed(connection)  # each is dropped after a few seconds
    if first.resident() > before + RESIDENT_MORE:
        raise judges.Disagreement(f"resident: {before} MB, then {first.resident()} MB")
    play.scene.wait("the copy goes on", lambda: second.has_copy_of(first))
    judges.require_equal("copies that ended meanwhile", {len(second.events("copy-ended"))}, {0})


def wrong_files(play):
    """The fabric is served, and the log names the file and the remedy."""
    authority, other = play.authority, Authority(os.path.join(play.folder, "other"), "another CA")
    good, expired = authority.certify("good"), authority.certify("old", days=-1)
    readable = authority.certify("readable")
    os.chmod(readable[1], 0o644)
    cases = {"missing": ((good[0] + ".gone", good[1]), authority.certificate, "No such file"),
             "readable": (readable, authority.certificate, "chmod 600"),
             "expired": (expired, authority.certificate, "expired on 2020-02-01"),
             "another CA's": (good, other.certificate, "is not certified by replica.ca"),
             "another key's": ((good[0], authority.certify("else")[1]), authority.certificate, "do not belong together")}
    for name, (certified, ca, words) in cases.items():
        manager = Manager(play.sim, play.options.build, os.path.join(play.folder, name.replace(" ", "-")), play.places[0],
                          free_port(), [], certified, ca)
        play.managers.append(manager)
        play.scene.wait(f"{name}: the fabric is up", manager.is_master)
        texts = manager.events("replica-off")
        if len(texts) != 1 or words not in texts[0] or not any(path in texts[0] for path in (*certified, ca)):
            raise judges.Disagreement(f"{name}: {texts}")
        with contextlib.suppress(ConnectionRefusedError), socket.create_connection(("127.0.0.1", manager.port)):
            raise judges.Disagreement(f"{name}: it listens")
        manager.stop()
    # Mended, a reload is enough.
    manager = Manager(play.sim, play.options.build, os.path.join(play.folder, "mended"), play.places[0], free_port(), [], readable,
                      authority.certificate)
    play.managers.append(manager)
    play.scene.wait("its key can be read", lambda: manager.events("replica-off"))
    os.chmod(readable[1], 0o600)
    manager.process.send_signal(signal.SIGHUP)
    play.scene.wait("mended", lambda: manager.events("replica"))
    call(manager.port, good).close()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True, type=os.path.abspath)
    parser.add_argument("--spec", required=True)
    parser.add_argument("--only", default="keeps_a_copy,differs,strangers,wrong_files")
    options = parser.parse_args()
    if not shutil.which("openssl"):
        print("skipped: not here: openssl (it makes the certificates)")
        return SKIPPED
    findings = 0
    for name in options.only.split(","):
        print(f"{name}:", flush=True)
        with tempfile.TemporaryDirectory(prefix="ibf-") as folder, OnOurs(options.build, options.spec, folder) as sim:
            play = Play(options, folder, sim)
            try:
                globals()[name](play)
                judges.require_equal("wire rules broken", sim.broken_rules(), {})
            except (judges.Disagreement, RuntimeError, OSError, subprocess.TimeoutExpired) as error:
                findings += 1
                print(f"  WRONG: {error}", flush=True)
                for manager in play.managers:
                    print(f"  -- {manager.host}:\n{manager.words()[-3000:]}", flush=True)
            finally:
                play.close()
    print(f"  {findings} findings")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
