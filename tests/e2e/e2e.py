#!/usr/bin/env python3
"""The real daemon on simulated fabrics, used through the real command line, as an operator would.

    e2e.py --build BUILD_DIR [Class[.test]]...

Every test has a folder of its own for state, socket and files. What needs a mount (a full or read-only file system) is
skipped, with the reason printed, where mounting is not allowed.
"""

import argparse
import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import unittest

OK, FINDING, USAGE, NO_DAEMON, FAILED = range(5)
TREE = "fat-tree:radix=4,levels=2"   # 6 switches, 8 hosts
BUILD = None


def program(name):
    return os.path.join(BUILD, "bin", name)


class Mount:
    """A small tmpfs at PATH; skips the test where that is not allowed."""

    def __init__(self, test, path, options):
        os.makedirs(path, exist_ok=True)
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", path], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            test.skipTest("cannot mount a tmpfs here: " + done.stderr.strip())
        test.addCleanup(subprocess.run, ["umount", path], check=False)
        test.addCleanup(test.kill)  # first: a daemon keeps files open


class Fabric(unittest.TestCase):
    """A daemon and its command line, in a temporary folder."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="ibf-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.socket = self.path("s")
        self.state = self.path("state")
        self.daemon = None
        self.addCleanup(self.kill)

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)
        return self.path(name)

    def log(self):
        with open(self.path("daemon.log"), encoding="utf-8", errors="replace") as file:
            return file.read()

    def start(self, spec=TREE, *flags):
        """Starts the daemon, without waiting."""
        with open(self.path("daemon.log"), "ab") as log:
            self.daemon = subprocess.Popen(
                [program("ibfabricd"), "--sim", spec, "--state-dir", self.state, "--socket", self.socket, *flags],
                stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT)

    def up(self, spec=TREE, *flags):
        """Starts the daemon and waits for SUBNET UP; its status."""
        self.start(spec, *flags)
        return self.ask("status", "--wait-up", "60")

    def stop(self):
        """A clean stop; the exit code."""
        self.daemon.send_signal(signal.SIGTERM)
        code = self.daemon.wait(30)
        self.daemon = None
        return code

    def kill(self):
        if self.daemon is not None:
            self.daemon.kill()
            self.daemon.wait()
            self.daemon = None

    def run_cli(self, *words, code=OK, **kwargs):
        """An ibfabric command that must end with CODE; what it said."""
        done = subprocess.run([program("ibfabric"), *words, "--socket", self.socket], stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, errors="replace", timeout=120, check=False, **kwargs)
        self.assertEqual(done.returncode, code, f"ibfabric {' '.join(words)}:\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")
        return done

    def ask(self, *words, code=OK):
        return json.loads(self.run_cli(*words, "--json", code=code).stdout)

    def wait_for(self, what, probe, seconds=20):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if value := probe():
                return value
            time.sleep(0.05)
        self.fail(f"{what}: not within {seconds} s; the daemon said:\n{self.log()[-2000:]}")

    def lids(self):
        return {row["owner"]: row["lid"] for row in self.ask("lids")["lids"]}


class Commands(Fabric):
    def test_status(self):
        status = self.up()
        for key in ("mode", "mode_text", "transport", "sm", "fabric", "routing", "last_sweep", "last_full_sweep", "mads",
                    "isolated", "other_sms", "database", "state_dir", "config_path", "config_error"):
            self.assertIn(key, status)
        self.assertEqual(status["mode"], "up")
        self.assertEqual((status["fabric"]["switches"], status["fabric"]["hosts"], status["fabric"]["links"]), (6, 8, 16))
        self.assertEqual(status["routing"]["engine"], "minhop")
        self.assertEqual(status["routing"]["tables_in_force"], 6)
        self.assertEqual(status["database"], "ok")
        self.assertGreater(sum(phase["mads"] for phase in status["last_full_sweep"]["phases"]), 0)
        text = self.run_cli("status").stdout
        for word in ("minhop serves", "full sweep", "discover", "program", "database", "all reach each other"):
            self.assertIn(word, text)

    def test_health(self):
        self.up()
        self.assertEqual(self.run_cli("health").stdout, "all ports are well\n")
        self.run_cli("health", "--set", "leaf-001/4")
        row = self.wait_for("the port to be left out", lambda: next(
            (row for row in self.ask("health", code=FINDING)["health"] if self.ask("isolated")["isolated"]), None))
        self.assertEqual((row["node"], row["port"], row["rule"], row["done"]), ("leaf-001", 4, "manual", "isolate"))
        self.assertEqual(self.ask("isolated")["isolated"][0]["reason"], "quarantined")
        self.assertIn("1 port is ill, 1 left out", self.run_cli("status").stdout)
        self.assertIn("leaf-001/4", self.run_cli("health", code=FINDING).stdout)
        self.run_cli("health", "--clear", "leaf-001/4")
        self.wait_for("the port to be back", lambda: not self.ask("isolated")["isolated"])
        self.assertEqual(self.ask("health")["health"], [])
        self.assertIn("which port", self.run_cli("health", "--set", "leaf-001", code=USAGE).stderr)
        self.run_cli("health", "--set", "nobody-here/1", code=USAGE)
        self.run_cli("health", "--set", "leaf-001/4", "--clear", "leaf-001/4", code=USAGE)
        self.assertIn("not in hold mode", self.run_cli("resume", code=USAGE).stderr)

    def test_sms(self):
        self.up()
        answer = self.ask("sms")
        self.assertEqual((answer["role"], len(answer["sms"])), ("master", 1))
        self.assertEqual((answer["sms"][0]["this"], answer["sms"][0]["state"]), (True, "master"))
        text = self.run_cli("sms").stdout
        for word in ("PRIORITY", "master since", "nobody else is master"):
            self.assertIn(word, text)
        self.assertIn("priority 0, master", self.run_cli("status").stdout)

    def test_lists(self):
        self.up()
        for name, count in (("nodes", 14), ("switches", 6), ("hosts", 8), ("links", 16), ("lids", 14), ("isolated", 0)):
            self.assertEqual(len(self.ask(name)[name]), count, name)
            lines = self.run_cli(name).stdout.splitlines()
            self.assertEqual(len(lines), count + 1 if count else 1, name)
        self.assertEqual({row["state"] for row in self.ask("ports", "--show", "linked")["ports"]}, {"Active"})
        self.assertEqual({row["speed"] for row in self.ask("links")["links"]}, {"HDR"})
        self.assertEqual(len(self.ask("ports", "--node", "leaf-001")["ports"]), 5)  # port 0 too
        self.assertEqual(self.ask("events", "--kind", "subnet-up")["events"][0]["kind"], "subnet-up")
        self.assertEqual(self.ask("sweeps", "--limit", "1")["sweeps"][0]["scope"], "full")

    def test_subnet_administration(self):
        self.up()
        groups = self.ask("groups")["groups"]
        broadcast = next(row for row in groups if row["mgid"] == "ff12:401b:ffff:0:0:0:ffff:ffff")
        self.assertTrue(broadcast["well_known"])
        self.assertEqual(broadcast["members"], [])
        self.assertEqual(len(self.run_cli("groups").stdout.splitlines()), len(groups) + 1)
        text = self.run_cli("groups", "ff12:401b:ffff::ffff:ffff").stdout
        self.assertIn(broadcast["mlid"], text)
        self.assertIn("no multicast group", self.run_cli("groups", "ff12::1", code=USAGE).stderr)
        self.assertEqual(self.ask("services"), {"services": []})
        activity = self.ask("sa")
        self.assertEqual((activity["requests"], activity["groups"]), (0, len(groups)))
        self.assertEqual(activity["subscriptions"], [])
        self.assertIn("0 services, 0 subscriptions", self.run_cli("sa").stdout)

    def test_path_by_name_guid_and_lid(self):
        self.up()
        first, last = (host for host in self.ask("hosts")["hosts"] if host["name"] in ("host-0001", "host-0008"))
        ways = [self.ask("path", source, target)["hops"] for source, target in (
            (first["name"], last["name"]), (first["guid"], last["port_guid"]), (f"lid:{first['lid']}", str(last["lid"])))]
        self.assertEqual(ways[0], ways[1])
        self.assertEqual(ways[0], ways[2])
        self.assertEqual([hop["type"] for hop in ways[0]], ["CA", "Switch", "Switch", "Switch", "CA"])
        self.assertEqual({hop.get("rate_gbps") for hop in ways[0][:-1]}, {200.0})
        entry, = self.ask("route", ways[0][1]["guid"], "--lid", str(last["lid"]))["entries"]
        self.assertEqual(entry["port"], ways[0][1]["out_port"])

    def test_fdr10_is_told_from_qdr(self):
        """Only the vendor's attribute tells it; the question for extended speeds must not lose the answer."""
        cables = [(1, "4xFDR"), (2, "4xFDR10"), (3, "4xQDR")]
        switch = "".join(f'[{port}] "H-{port:016x}"[1]({port + 16:x}) # "h{port}" lid 0 {speed}\n' for port, speed in cables)
        hosts = "".join(f'\nvendid=0x2c9\ndevid=0x1003\nHca 1 "H-{port:016x}" # "h{port}"\n'
                        f'[1]({port + 16:x}) "S-0000000000000100"[{port}] # lid 0 lmc 0 "s" lid 0 {speed}\n'
                        for port, speed in cables)
        self.up(self.write("fdr10.net", 'vendid=0x2c9\ndevid=0xc738\nSwitch 8 "S-0000000000000100" # "s" base port 0 lid 0 lmc 0\n'
                                        + switch + hosts))
        speeds = {row["port"]: row["speed"] for row in self.ask("ports", "--node", "s", "--show", "linked")["ports"] if row["port"]}
        self.assertEqual(speeds, {1: "FDR", 2: "FDR10", 3: "QDR"})

    def test_words_that_mean_nothing_or_too_much(self):
        self.up()
        self.assertIn("fits 8 nodes", self.run_cli("path", "host", "leaf-001", code=USAGE).stderr)
        self.assertIn("nobody-here", self.run_cli("path", "nobody-here", "leaf-001", code=USAGE).stderr)
        self.assertIn("no switch", self.run_cli("route", "host-0001", code=USAGE).stderr)
        for words in ((), ("bogus",), ("nodes", "--bogus"), ("path", "host-0001"), ("events", "--limit", "0"),
                      ("export", "--format", "pdf"), ("export",), ("export", "--format", "opensm-dumps")):
            self.run_cli(*words, code=USAGE)

    def test_check_and_quality(self):
        self.up()
        check = self.ask("check")
        self.assertEqual((check["ok"], check["findings"], check["proof"]["unreachable_pairs"]), (True, [], 0))
        self.assertGreater(self.ask("quality")["max_link_load"], 0)

    def test_sweep_waits_for_its_own(self):
        before = self.up()["last_full_sweep"]["id"]
        sweep = self.ask("sweep", "--full", "--wait")
        self.assertGreater(sweep["id"], before)
        self.assertEqual((sweep["scope"], sweep["lft_blocks_written"], sweep["port_sets"]), ("full", 0, 0))
        self.assertEqual(self.ask("sweep", "--wait")["scope"], "light")

    def test_whatif_touches_nothing(self):
        self.up()
        before = self.ask("status")
        answer = self.ask("whatif", "down", "spine-001")
        self.assertEqual((answer["lost"]["hosts"], answer["lost"]["pairs"], answer["harmless"]), (0, 0, True))
        self.assertEqual(answer["load"]["after"]["worst"], 12)
        self.assertGreater(answer["writes"]["blocks"], 0)
        text = self.run_cli("whatif", "down", "leaf-002", "leaf-001/3", code=FINDING).stdout
        for word in ("2 hosts are cut off, 13 pairs of hosts", "host-0003, host-0004", "serves", "table block"):
            self.assertIn(word, text)
        self.assertIn("there is no engine", self.run_cli("whatif", "down", "spine-001", "--engine", "x", code=USAGE).stderr)
        self.run_cli("whatif", "up", "spine-001", code=USAGE)
        self.assertEqual(self.ask("status")["routing"]["hash"], before["routing"]["hash"])

    def test_one_whatif_at_a_time(self):
        self.up("fat-tree:radix=16,levels=3")
        command = [program("ibfabric"), "whatif", "down", "spine-001", "--socket", self.socket]

        def crowd():
            """Several at once: one at least is served, and who is not is told why. How many were not."""
            asking = [subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                       text=True) for _ in range(3)]
            said = [(*process.communicate(timeout=60), process.returncode) for process in asking]
            self.assertTrue(any(code == OK for _, _, code in said), said)
            for out, err, code in said:
                self.assertIn(code, (OK, FAILED), err)
                self.assertIn("lost" if code == OK else "ask again", out + err)
            return sum(code == FAILED for _, _, code in said)

        # On a busy machine they may come one after the other: again, until two have met.
        self.wait_for("one that is told to ask again", crowd, seconds=60)

    def test_drain_and_undrain(self):
        self.up()
        lids = self.lids()
        self.assertIn("nothing is drained", self.run_cli("drain").stdout)
        self.assertIn("no way between hosts leads over it", self.run_cli("drain", "spine-001", "--wait").stdout)
        self.assertEqual(self.lids(), lids)
        self.assertTrue(self.ask("check")["ok"])
        self.assertEqual(self.ask("whatif", "down", "spine-001")["writes"]["blocks"], 0)
        self.assertIn("drained", self.run_cli("status").stdout)
        self.assertEqual(len(self.ask("links", "--show", "drained")["links"]), 4)
        for source in range(1, 9):
            for destination in range(1, 9):
                hops = self.ask("path", f"host-000{source}", f"host-000{destination}")["hops"]
                self.assertNotIn("spine-001", [hop["node"] for hop in hops])
        refused = self.run_cli("drain", "spine-002", code=FINDING).stderr
        self.assertIn("6 hosts", refused)
        self.assertIn("--force", refused)

        self.kill()  # not a clean stop
        self.up()
        self.assertEqual([row["state"] for row in self.ask("drain")["drained"]], ["drained"])
        self.assertTrue(self.ask("check")["ok"])
        self.run_cli("undrain", "spine-001", "--wait")
        self.assertEqual(self.ask("drain")["drained"], [])
        self.run_cli("undrain", "spine-001", code=USAGE)
        self.run_cli("check")

    def test_drain_by_force_says_what_is_left(self):
        self.up()
        said = self.run_cli("drain", "leaf-002", "--force", "--wait", code=FINDING).stdout
        self.assertIn("2 hosts have no other way", said)
        self.assertIn("drained-in-use", self.run_cli("check", code=FINDING).stdout)

    def test_exports(self):
        self.up()
        for kind in ("ibnetdiscover", "ibsim"):
            self.run_cli("export", "--format", kind, "-o", self.path(kind))
            plan = self.ask("plan", self.path(kind))
            self.assertEqual((plan["switches"], plan["end_ports"], plan["links"]), (6, 8, 16), kind)
        self.assertEqual(len(json.loads(self.run_cli("export", "--format", "json").stdout)["nodes"]), 14)
        report = self.ask("export", "--format", "opensm-dumps", "-o", self.path("dumps"))
        self.assertEqual(sorted(os.listdir(self.path("dumps"))), ["guid2lid", "opensm-lfts.dump", "opensm-subnet.lst",
                                                                  "opensm.fdbs", "opensm.mcfdbs"])
        self.assertEqual({file["bytes"] for file in report["files"]},
                         {os.path.getsize(file["path"]) for file in report["files"]})

    def test_a_reader_that_leaves(self):
        self.up("fat-tree:radix=8,levels=3")
        with subprocess.Popen([program("ibfabric"), "export", "--format", "json", "--socket", self.socket],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE) as reader:
            reader.stdout.read(10)
            reader.stdout.close()
            self.assertEqual(reader.stderr.read(), b"")
        self.run_cli("status")

    def test_full_disks_leave_no_half_files(self):
        self.up()
        self.assertIn("No space left", self.run_cli("export", "--format", "json", "-o", "/dev/full", code=FAILED).stderr)
        Mount(self, self.path("small"), "size=8k")
        for words in (("json", self.path("small", "x")), ("opensm-dumps", self.path("small", "d"))):
            self.run_cli("export", "--format", words[0], "-o", words[1], code=FAILED)
        self.assertEqual(os.listdir(self.path("small")), [])

    def test_without_a_daemon(self):
        self.assertIn("no ibfabricd answers", self.run_cli("status", code=NO_DAEMON).stderr)
        self.run_cli("export", "--format", "json", "-o", self.path("x"), code=NO_DAEMON)
        self.assertFalse(os.path.exists(self.path("x")))
        text = self.run_cli("generate", "ring:4,hosts=2").stdout
        self.write("ring.net", text)
        plan = self.ask("plan", self.path("ring.net"), "--engine", "updn")
        for key in ("engine switches end_ports links lids compute_seconds verify_seconds vls unreachable_pairs loops "
                    "credit_loops max_link_load mean_link_load max_dilation peak_rss_bytes").split():
            self.assertIn(key, plan)
        self.assertEqual((plan["engine"], plan["switches"], plan["end_ports"], plan["credit_loops"]), ("updn", 4, 8, 0))
        self.assertEqual(self.ask("plan", self.path("ring.net"), "--engine", "minhop", code=FINDING)["engine"], "updn")
        self.run_cli("plan", "ring:4", "--engine", "magic", code=USAGE)
        self.run_cli("generate", "nosuch:4", code=USAGE)

    def test_port_without_a_cable(self):
        self.write("lone.net", 'Ca\t1 "H-0000000000000010"\t# "lone"\n')
        self.start(self.path("lone.net"))
        status = self.wait_for("port down", lambda: self.mode_is("port-down"))
        self.assertIn("waiting for a cable", status["mode_text"])
        self.run_cli("status", "--wait-up", "0.2", code=FINDING)
        self.run_cli("check", code=FAILED)

    def mode_is(self, mode):
        done = subprocess.run([program("ibfabric"), "status", "--json", "--socket", self.socket], capture_output=True, check=False)
        return done.returncode == OK and (status := json.loads(done.stdout))["mode"] == mode and status


class ProbeRuns(Fabric):
    """Rehearsed on a simulated fabric with the daemon's own tables, and kept by the daemon."""

    def probe(self, *words, code=OK):
        return self.ask("probe", "run", "--sim", *words, code=code)

    def test_kept_listed_shown_and_compared(self):
        self.up()
        self.assertIn("none", self.run_cli("probe", "list").stdout)
        self.run_cli("probe", "show", code=USAGE)
        first = self.probe()
        self.assertEqual(first["run"], 1)
        leaf = self.ask("hosts")["hosts"][0]["peer"]
        faults = self.write("faults", f"at 0s lossy {leaf}/1 probability=0.05\n")
        second = self.probe("--faults", faults, code=FINDING)
        self.assertEqual(second["run"], 2)
        self.assertIn(("port-errors", leaf, 1), {(row["kind"], row["name"], row["port"]) for row in second["findings"]})

        runs = self.ask("probe", "list")["runs"]
        self.assertEqual([row["run"] for row in runs], [2, 1])
        self.assertEqual(runs[1]["flows"], len(first["flows"]))
        self.assertEqual(runs[1]["proved"], runs[1]["planned"])
        self.assertEqual((runs[1]["findings"], runs[1]["interrupted"]), (0, False))
        self.assertEqual(runs[1]["uid"], os.geteuid())
        self.assertIsNotNone(runs[1]["ended"])
        self.assertEqual(runs[0]["findings"], len(second["findings"]))
        self.assertEqual(self.ask("probe", "list", "--limit", "1")["runs"], runs[:1])

        shown = self.ask("probe", "show", "1", "--flows")
        self.assertEqual(len(shown["flow_rows"]), len(first["flows"]))
        self.assertEqual({row["bytes"] for row in shown["flow_rows"]}, {flow["bytes"] for flow in first["flows"]})
        self.assertIn("port-errors", self.run_cli("probe", "show", code=FINDING).stdout)
        self.assertIn(f"{leaf}/1", self.run_cli("probe", "show", "2", "--findings", code=FINDING).stdout)
        self.run_cli("probe", "show", "3", code=USAGE)

        compared = self.ask("probe", "compare", "--last", code=FINDING)
        self.assertEqual((compared["before"]["run"], compared["after"]["run"]), (1, 2))
        self.assertTrue(compared["same_tables"])
        self.assertEqual(compared["compared"], len(first["flows"]))
        self.assertEqual(len(compared["new_findings"]), runs[0]["findings"])
        better = self.ask("probe", "compare", "2", "1")
        self.assertEqual(len(better["gone_findings"]), runs[0]["findings"])
        self.assertIn("nothing got worse", self.run_cli("probe", "compare", "2", "1").stdout)
        self.assertIn("both are run 1", self.run_cli("probe", "compare", "1", "1", code=2).stderr)

        self.kill()  # kept, however it ends
        self.up()
        self.assertEqual(self.ask("probe", "list")["runs"], runs)
        self.assertEqual(self.probe("--no-traffic", "--no-store").get("run"), None)
        self.assertEqual(self.probe()["run"], 3)

    def test_old_ones_go(self):
        config = self.write("conf", "[database]\nprobe_runs_kept = 2\n")
        self.up(TREE, "--config", config)
        for _ in range(3):
            self.probe("--rounds", "1")
        self.assertEqual([row["run"] for row in self.ask("probe", "list")["runs"]], [3, 2])

    def test_paths_on_several_lanes(self):
        config = self.write("conf", '[routing]\nengines = ["dfsssp"]\n')
        self.up("torus:4x4,hosts=1", "--config", config)
        first = self.probe()
        self.assertGreater(len(first["flows"]), 0)
        self.assertEqual({flow["verdict"] for flow in first["flows"]}, {"proved"})

    def test_a_full_disk(self):
        Mount(self, self.state, "size=8m")
        self.up()
        with open(self.path("state", "filler"), "wb", buffering=0) as filler:
            try:
                while True:
                    filler.write(b"x" * 4096)
            except OSError:
                pass
        done = self.run_cli("probe", "run", "--sim")
        self.assertIn("not stored", done.stderr)
        self.assertIn("proved", done.stdout)
        os.unlink(self.path("state", "filler"))
        self.assertGreater(self.probe()["run"], 0)


class LifeAndDeath(Fabric):
    def test_once(self):
        self.start(TREE, "--once")
        self.assertEqual(self.daemon.wait(60), 0)
        self.daemon = None
        self.assertIn("SUBNET UP", self.log())

    def test_clean_stop_removes_the_socket(self):
        self.up()
        self.assertEqual(self.stop(), 0)
        self.assertFalse(os.path.exists(self.socket))

    def test_lids_outlive_kill_9_and_a_new_host(self):
        """LIDs come from the database: a host that arrives between others takes none of theirs."""
        whole = self.run_cli("generate", TREE).stdout
        name = re.search(r'^Hca\s+1 "(H-\w+)"\s+# "host-0003"', whole, re.MULTILINE).group(1)
        records = [record for record in whole.split("\n\n") if not re.search(rf'^Hca.*"{name}"', record, re.MULTILINE)]
        lines = [line for line in "\n\n".join(records).split("\n") if f'"{name}"' not in line]
        self.up(self.write("less.net", "\n".join(lines) + "\n"))
        before = self.lids()
        self.assertEqual(len(before), 13)
        self.kill()
        self.run_cli("status", code=NO_DAEMON)
        self.up(self.write("whole.net", whole))
        after = self.lids()
        self.assertEqual(len(after), 14)
        self.assertEqual({owner: after[owner] for owner in before}, before)

    def test_two_daemons(self):
        self.up()
        other = [program("ibfabricd"), "--sim", "ring:3"]
        same_socket = subprocess.run([*other, "--state-dir", self.path("b"), "--socket", self.socket], capture_output=True,
                                     text=True, timeout=30, check=False)
        self.assertEqual(same_socket.returncode, 2)
        self.assertIn("another ibfabricd answers", same_socket.stdout + same_socket.stderr)
        same_state = subprocess.run([*other, "--state-dir", self.state, "--socket", self.path("t")], capture_output=True,
                                    text=True, timeout=30, check=False)
        self.assertEqual(same_state.returncode, 2)
        self.assertIn("in use by another ibfabricd", same_state.stdout + same_state.stderr)
        self.assertEqual(self.ask("status")["mode"], "up")

    def test_a_cable_fails_and_comes_back(self):
        """Min-hop would deadlock on a tree that lost a cable: up/down takes over, and status says why."""
        faults = self.write("faults", "at 1s link-down leaf-001/4\nat 2500ms link-up leaf-001/4\n")
        self.up(TREE, "--sim-faults", faults)
        self.wait_for("the loss to be seen", lambda: self.ask("events", "--kind", "link-down")["events"])
        self.wait_for("up/down to serve", lambda: self.ask("status")["routing"]["engine"] == "updn")
        self.assertIn("minhop refused", self.run_cli("status").stdout)
        self.wait_for("the cable to be back", lambda: self.ask("events", "--kind", "link-up")["events"])
        self.wait_for("16 links", lambda: self.ask("status")["fabric"]["links"] == 16)
        self.run_cli("check")

    def test_cannot_start(self):
        script = self.write("faults", "at 1s link-down leaf-001/99\n")
        for flags, word in ((["--sim", "nosuch:3"], "no fabric family"), (["--bogus"], "--bogus"),
                            (["--sim", "ring:3", "--config", "/nonexistent"], "cannot be opened"),
                            (["--sim", TREE, "--sim-faults", script], "leaf-001/99"),
                            (["--port", "mlx5_0/300"], "mlx5_0/300"),
                            (["--port", "a", "--port-guid", "0x1"], "give one of them")):
            done = subprocess.run([program("ibfabricd"), *flags, "--state-dir", self.state, "--socket", self.socket],
                                  capture_output=True, text=True, timeout=30, check=False)
            self.assertEqual(done.returncode, 2, flags)
            self.assertIn(word, done.stdout + done.stderr)


class HoldMode(Fabric):
    """On a fabric that outlives the daemon: ibfabric-sim as a process, the daemon at host-0001."""

    def setUp(self):
        super().setUp()
        self.fabric = self.path("fabric")
        self.sim = subprocess.Popen([program("ibfabric-sim"), TREE, "--socket", self.fabric], stdin=subprocess.DEVNULL,
                                    stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(self.sim.wait)
        self.addCleanup(self.sim.kill)
        self.wait_for("the simulated fabric", lambda: os.path.exists(self.fabric))

    def start(self, spec=TREE, *flags):
        with open(self.path("daemon.log"), "ab") as log:
            self.daemon = subprocess.Popen(
                [program("ibfabric-sim"), "run", self.fabric, "host-0001", program("ibfabricd"), "--state-dir", self.state,
                 "--socket", self.socket, *flags], stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT)

    def die(self, number):
        self.daemon.send_signal(number)
        self.daemon.wait(30)
        self.daemon = None

    def control(self, *words):
        done = subprocess.run([program("ibfabric-sim"), "ctl", self.fabric, *words], capture_output=True, text=True, timeout=60,
                              check=True)
        return done.stdout

    def sets(self):
        return int(dict(line.rsplit(" ", 1) for line in self.control("counters").splitlines())["sets"])

    def holds(self):
        """Starts the daemon; its status once it is in hold mode and has looked."""
        self.start()
        return self.wait_for("hold mode", lambda: self.mode_is("hold", "are looked at"))

    def mode_is(self, mode, text):
        done = subprocess.run([program("ibfabric"), "status", "--json", "--socket", self.socket], capture_output=True, check=False)
        status = json.loads(done.stdout) if done.returncode in (OK, FINDING) else {"mode": "", "mode_text": ""}
        return status["mode"] == mode and text in status["mode_text"] and status

    def path_in_band(self):
        done = subprocess.run([program("ibfabric-sim"), "run", self.fabric, "host-0008", program("ibfabric"), "query", "path",
                               "host-0001", "host-0008", "--json"], capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, OK, done.stderr)
        return json.loads(done.stdout)

    def test_three_aborts_then_nothing_is_written(self):
        for number in (signal.SIGABRT, signal.SIGKILL, signal.SIGABRT):
            self.assertEqual(self.up()["mode"], "up")
            lids, path = self.lids(), self.path_in_band()
            self.die(number)
        before = self.sets()
        self.control("reboot", "leaf-003")  # there is something to be done, and to be left undone
        self.control("link-down", "leaf-002/1")
        status = self.holds()
        self.assertIn("3 runs in a row were killed or failed", status["mode_text"])
        self.assertEqual(status["sm"]["role"], "hold")
        text = self.run_cli("status", code=FINDING).stdout
        self.assertIn("'ibfabric resume' ends it", text)
        event, = self.ask("events", "--kind", "hold")["events"]
        self.assertEqual(event["severity"], "error")
        self.assertIn("hold mode", self.log())
        self.assertEqual(self.ask("sweep", "--full", "--wait")["outcome"], "hold: nothing was written")
        self.assertLessEqual(self.lids().items(), lids.items())
        self.assertEqual(self.path_in_band(), path)
        self.assertEqual(self.sets(), before, "not even a PortStateChange was cleared")
        self.run_cli("resume")
        self.assertEqual(self.ask("status", "--wait-up", "60")["mode"], "up")
        self.assertGreater(self.sets(), before)
        self.assertLessEqual(self.lids().items(), lids.items())
        self.assertIn("not in hold mode", self.run_cli("resume", code=USAGE).stderr)
        self.die(signal.SIGKILL)
        self.assertEqual(self.up()["mode"], "up", "the operator's word ended the row")

    def test_orderly_stops_are_no_aborts(self):
        for _ in range(2):
            self.up()
            self.die(signal.SIGABRT)
        self.up()
        self.assertEqual(self.stop(), 0)
        for _ in range(2):
            self.up()
            self.die(signal.SIGABRT)
        self.assertEqual(self.up()["mode"], "up")

    def test_what_is_configured_and_a_torn_mark(self):
        config = self.write("c.toml", "[daemon]\nhold_after_aborts = 1\n")
        self.up(TREE, "--config", config)
        self.die(signal.SIGABRT)
        with open(os.path.join(self.state, "ibfabric.starts"), "r+", encoding="ascii") as file:
            file.seek(60)
            file.write("?")
        self.assertEqual(self.up(TREE, "--config", config)["mode"], "up")
        self.die(signal.SIGABRT)
        self.start(TREE, "--config", config)
        self.wait_for("hold mode", lambda: self.mode_is("hold", "are looked at"))
        self.assertEqual(self.stop(), 0)
        self.assertEqual(self.up(TREE, "--config", config)["mode"], "up", "somebody has stopped it")

    def test_a_full_disk(self):
        os.makedirs(self.state)
        Mount(self, self.state, "size=128k")
        for _ in range(3):
            self.up()
            with open(os.path.join(self.state, "ballast"), "ab", buffering=0) as ballast:
                try:
                    while True:
                        ballast.write(b"x" * 4096)
                except OSError:
                    pass
            self.die(signal.SIGABRT)
        self.holds()


class Configuration(Fabric):
    def config_error(self):
        return self.ask("status")["config_error"]

    def test_a_broken_file_changes_nothing(self):
        """C75 and C115: line and column, one error, the running configuration stays."""
        good = "[sm]\nsweep_interval = \"1 h\"\n"
        config = self.write("c.toml", good)
        lids = None
        self.up(TREE, "--config", config)
        lids = self.lids()
        for text, place in (("[sm]\nsweep_interval = \"soon\"\n", ":2:"), ("[sm]\nlcm = 1\n", ":2:"), ("[sm\n", ":1:"),
                            ("[ports]\nmtu = 4097\n", ":2:"), ("\x00\x01\xff", ":1:")):
            self.write("c.toml", text)
            self.daemon.send_signal(signal.SIGHUP)
            error = self.wait_for(f"an error for {text!r}", self.config_error)
            self.assertIn("c.toml" + place, error)
            self.assertIn("last reload refused", self.run_cli("status").stdout)
            self.assertEqual(self.ask("status")["mode"], "up")
            self.write("c.toml", good)
            self.run_cli("reload")
            self.wait_for("the error to go", lambda: not self.config_error())
        self.assertEqual(self.lids(), lids)
        self.assertEqual(self.log().count("reload refused"), 5)

    def test_a_broken_file_at_start_is_refused(self):
        config = self.write("c.toml", "[routing]\nengines = [\"minhopp\"]\n")
        self.start(TREE, "--config", config)
        self.assertEqual(self.daemon.wait(30), 2)
        self.daemon = None
        self.assertIn("c.toml:2:", self.log())

    def test_reload_without_a_file(self):
        self.up()
        self.assertIn("without a configuration file", self.run_cli("reload", code=USAGE).stderr)


class Database(Fabric):
    """Nothing that happens to the disk keeps the fabric down."""

    def expect_up_without_history(self):
        status = self.up()
        self.assertEqual(status["mode"], "up")
        self.assertNotEqual(status["database"], "ok")
        self.assertEqual(self.ask("check")["ok"], True)
        return status["database"]

    def test_holds_what_it_should(self):
        self.up()
        self.assertEqual(self.stop(), 0)
        with sqlite3.connect(os.path.join(self.state, "ibfabric.db")) as database:
            tables = {name for name, in database.execute("select name from sqlite_master where type in ('table', 'view')")}
            self.assertLessEqual({"nodes", "ports", "links", "lids", "lft", "sweeps", "events"}, tables)
            self.assertEqual(database.execute("select count(*) from lids").fetchone()[0], 14)
            self.assertEqual(database.execute("pragma integrity_check").fetchone()[0], "ok")

    def test_state_dir_that_cannot_be(self):
        self.state = os.path.join(self.write("file", "no folder"), "state")
        self.expect_up_without_history()

    def test_state_dir_read_only(self):
        os.makedirs(self.state)
        Mount(self, self.state, "ro,size=1m")
        self.expect_up_without_history()

    def test_torn_file_is_set_aside(self):
        for text in ("this is no database, whatever its name says\n" * 100, "SQLite format 3\x00" + "\xff" * 5000, ""):
            os.makedirs(self.state, exist_ok=True)
            with open(os.path.join(self.state, "ibfabric.db"), "w", encoding="latin-1") as file:
                file.write(text)
            self.assertEqual(self.up()["mode"], "up")
            self.assertEqual(self.stop(), 0)
            with sqlite3.connect(os.path.join(self.state, "ibfabric.db")) as database:
                self.assertEqual(database.execute("select count(*) from lids").fetchone()[0], 14)

    def test_full_disk(self):
        os.makedirs(self.state)
        Mount(self, self.state, "size=32k")
        self.start("fat-tree:radix=8,levels=3")
        status = self.ask("status", "--wait-up", "60")
        self.assertEqual(status["fabric"]["hosts"], 128)
        self.wait_for("status says that history is not kept", lambda: self.ask("status")["database"] != "ok")
        self.run_cli("check")
        self.assertEqual(self.ask("sweep", "--full", "--wait")["lft_blocks_written"], 0)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True, type=os.path.abspath)
    options, rest = parser.parse_known_args()
    BUILD = options.build
    unittest.main(argv=[sys.argv[0], *rest], verbosity=2)
