#!/usr/bin/env python3
"""ibfabric-probe and its agent where there is no RDMA device: how misuse ends, and what strangers get.

    probe.py --build BUILD_DIR [TEST...]

The client here is Python's own TLS, so nothing of ours judges itself. Traffic is the matter of tests/vm.
"""

import argparse
import contextlib
import json
import os
import signal
import socket
import ssl
import struct
import subprocess
import sys
import tempfile
import threading
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "conformance"))
from certificates import Authority  # noqa: E402

PROGRAM = ""
HAS_DEVICES = os.path.isdir("/sys/class/infiniband") and bool(os.listdir("/sys/class/infiniband"))
HAS_KEY = os.path.exists("/etc/ibfabric/probe.key")


def run(*words, **options):
    environment = {name: value for name, value in os.environ.items() if name != "IBFABRIC_PROBE_KEY"}
    done = subprocess.run([PROGRAM, *words], capture_output="stdout" not in options, stderr=None if "stdout" not in options
                          else subprocess.PIPE, text=True, timeout=60, check=False, env=environment, **options)
    return done.returncode, done.stdout, done.stderr


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Case(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def path(self, name, content=None, mode=0o600):
        path = os.path.join(self.folder.name, name)
        if content is not None:
            with open(path, "w", encoding="utf-8") as file:
                file.write(content)
            os.chmod(path, mode)
        return path

    def key(self, name="key"):
        self.assertEqual(run("key", self.path(name)), (0, "", ""))
        return self.path(name)

    @contextlib.contextmanager
    def agent(self, *words):
        """(process, port, what it logs): until the end of the block."""
        port, log = free_port(), self.path("agent.log")
        with open(log, "w", encoding="utf-8") as file, subprocess.Popen(
                [PROGRAM, "agent", "--listen", f"127.0.0.1:{port}", *words], stderr=file) as process:
            try:
                self.await_log(log, "listening", process)
                yield process, port, log
            finally:
                process.terminate()
                process.wait(timeout=20)

    def await_log(self, path, text, process=None):
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            with open(path, encoding="utf-8") as file:
                content = file.read()
            if text in content:
                return content
            if process is not None and process.poll() is not None:
                break
            time.sleep(0.02)
        self.fail(f"'{text}' is not in: {content}")

    def expect(self, code, words, *command):
        got, _, complaint = run(*command)
        self.assertEqual(got, code, complaint)
        self.assertIn(words, complaint)


class Misuse(Case):
    def test_no_device_says_what_to_load(self):
        if HAS_DEVICES:
            self.skipTest("there are RDMA devices here")
        for command in ("ping", "send", "write", "read", "ud"):
            self.expect(3, "rdma link add rxe0", command, "127.0.0.1", "--key", self.key(f"key-{command}"))
        self.expect(3, "no RDMA device", "devices")
        self.expect(3, "no RDMA device", "check")

    def test_without_a_key_nothing_goes(self):
        if HAS_KEY:
            self.skipTest("there is a key in /etc")
        self.expect(2, "ibfabric-probe key FILE", "ping", "127.0.0.1")
        self.expect(2, "ibfabric-probe key FILE", "agent")

    def test_a_key_that_is_none_is_refused(self):
        self.expect(4, "chmod 600", "ping", "h", "--key", self.path("open", "0123456789abcdef", 0o644))
        self.expect(4, "holds 5 octets", "ping", "h", "--key", self.path("short", "short"))
        self.expect(4, "No such file", "agent", "--key", self.path("none"))
        self.expect(2, "not replaced", "key", self.key())

    def test_certificates_go_together(self):
        self.expect(2, "--cert-key names no file", "devices", "h", "--ca", self.path("ca", "x"), "--cert", self.path("c", "x"))

    def test_nobody_there_is_told_with_the_remedy(self):
        self.expect(3, "is the agent running", "devices", f"127.0.0.1:{free_port()}", "--key", self.key())

    def test_wrong_words(self):
        key = self.key()
        for words in (["ping"], ["ping", "h", "--size", "x"], ["flood", "h"], [], ["ping", "h:0"], ["agent", "--listen", "a:b"]):
            self.assertEqual(run(*words, *(["--key", key] if words[1:] else []))[0], 2, words)

    def test_a_wrong_configuration_is_told_with_its_place(self):
        path = self.path("probe.toml", "[limits]\nsecond = 3\n")
        self.expect(2, f"{path}:2:1: unknown key 'second' in [limits]; did you mean seconds?", "agent", "--config", path)

    def test_explanations(self):
        code, text, _ = run("explain", "out_of_sequence", "--json")
        self.assertEqual((code, list(json.loads(text))), (0, ["out_of_sequence"]))
        self.assertGreater(len(json.loads(run("--json", "explain")[1])), 20)
        self.expect(2, "did you mean out_of_sequence", "explain", "out_of_sequense")

    def test_a_full_disk_is_no_success(self):
        with open("/dev/full", "w", encoding="utf-8") as full:
            code, _, complaint = run("explain", stdout=full)
        self.assertEqual(code, 4)
        self.assertIn("standard output is full", complaint)


class Agents(Case):
    def test_sigterm_ends_it_well_and_systemd_is_told(self):
        where = self.path("notify")
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notified:
            notified.bind(where)
            notified.settimeout(20)
            os.environ["NOTIFY_SOCKET"] = where
            try:
                with self.agent("--key", self.key()) as (process, _, log):
                    self.assertEqual(notified.recv(100), b"READY=1")
                    process.send_signal(signal.SIGTERM)
                    self.assertEqual(process.wait(timeout=20), 0)
                    self.await_log(log, "ended")
            finally:
                del os.environ["NOTIFY_SOCKET"]

    def test_the_port_is_taken_once(self):
        key = self.key()
        with self.agent("--key", key) as (_, port, _log):
            self.expect(3, "another agent runs", "agent", "--key", key, "--listen", f"127.0.0.1:{port}")

    def test_a_wrong_key_is_told_as_such(self):
        with self.agent("--key", self.key()) as (_, port, log):
            self.expect(4, "do not hold the same key", "devices", f"127.0.0.1:{port}", "--key", self.key("other"))
            self.await_log(log, "do not hold the same key")

    def test_a_client_from_elsewhere_is_turned_away(self):
        key = self.key()
        with self.agent("--config", self.path("probe.toml", f'key = "{key}"\nnetworks = ["10.9.8.0/24"]\n')) as (_, port, log):
            self.assertEqual(run("devices", f"127.0.0.1:{port}", "--key", key)[0], 4)
            self.await_log(log, "127.0.0.1 is turned away")

    def test_strangers_that_speak_no_tls_are_dropped(self):
        key = self.key()
        with self.agent("--key", key) as (process, port, log):
            for noise in (b"GET / HTTP/1.0\r\n\r\n", b"\x16\x03\x01\xff\xff" + b"x" * 1000, b"\0" * 100):
                with socket.create_connection(("127.0.0.1", port), timeout=20) as stranger:
                    with contextlib.suppress(ConnectionError):
                        stranger.sendall(noise)
                        while stranger.recv(1000):
                            pass
            with socket.create_connection(("127.0.0.1", port), timeout=20) as silent:
                begun = time.monotonic()
                self.assertEqual(silent.recv(1), b"")
                self.assertLess(time.monotonic() - begun, 15)
            self.await_log(log, "took too long")
            self.assertIsNone(process.poll())
            self.assertIn(run("devices", f"127.0.0.1:{port}", "--key", key)[0], (0, 3))


class Strangers(Case):
    """Clients with a good certificate and bad manners."""

    def setUp(self):
        super().setUp()
        self.authority = Authority(self.path("ca"), "the CA")
        self.client = self.authority.certify("client-1")
        certificate, key = self.authority.certify("127.0.0.1")
        serving = self.agent("--ca", self.authority.certificate, "--cert", certificate, "--cert-key", key)
        self.process, self.port, self.log = serving.__enter__()
        self.addCleanup(serving.__exit__, None, None, None)

    def connect(self):
        context = ssl.create_default_context(cafile=self.authority.certificate)
        context.check_hostname = False
        context.load_cert_chain(*self.client)
        return context.wrap_socket(socket.create_connection(("127.0.0.1", self.port), timeout=30))

    @staticmethod
    def say(stream, message):
        body = json.dumps(message).encode()
        stream.sendall(struct.pack(">I", len(body)) + body)

    @staticmethod
    def hear(stream):
        """The next message; None if the connection is over."""
        def take(count):
            octets = b""
            while len(octets) < count:
                try:
                    more = stream.recv(count - len(octets))
                except (ConnectionError, ssl.SSLError):
                    more = b""
                if not more:
                    return None
                octets += more
            return octets
        header = take(4)
        return header and json.loads(take(struct.unpack(">I", header)[0]))

    def greeted(self):
        stream = self.connect()
        self.say(stream, {"type": "hello", "protocol": 1, "program": "python", "host": "client-1"})
        self.assertEqual(self.hear(stream)["type"], "hello")
        return stream

    def test_another_version_is_told_both(self):
        with self.connect() as stream:
            self.say(stream, {"type": "hello", "protocol": 7, "program": "9.9", "host": "client-1", "more": {"new": [1]}})
            self.assertEqual(self.hear(stream)["protocol"], 1)
            refused = self.hear(stream)
            self.assertEqual(refused["code"], "version")
            self.assertIn("speaks protocol 1", refused["text"])
            self.assertIn("you 7 (ibfabric 9.9)", refused["text"])
            self.assertIsNone(self.hear(stream))

    def test_what_is_no_message_ends_the_connection(self):
        spec = {"test": "ping"}
        for frame in (b"\xff\xff\xff\xff", b"\0\0\0\0", b"\0\x10\0\x01", b"\0\0\0\x02{]", b"\0\0\0\x02[]"):
            with self.greeted() as stream:
                stream.sendall(frame)
                self.assertIsNone(self.hear(stream), frame)
        for message in ({"type": "shutdown"}, {"type": "prepare"}, {"type": "prepare", "spec": {**spec, "depth": 10 ** 9}},
                        {"type": "prepare", "spec": spec, "side": "both", "way": {}}, {"type": "connect", "peer": []},
                        {"type": "prepare", "spec": {**spec, "message_bytes": -1}, "side": "target", "way": {}},
                        {"type": "prepare", "spec": spec, "side": "initiator", "way": {"dlid": 0xC000}},
                        *({"type": "connect", "peer": {"layer": "InfiniBand", **peer}} for peer in (
                            {"lid": 0xC001}, {"gid": "ff12:401b:ffff::1"}, {"gid": "::ffff:239.0.0.1"}, {"q_key": 0x80010000},
                            {"queue_pairs": [{"number": 1}]}, {"queue_pairs": [{"number": 0xFFFFFF}]}))):
            with self.greeted() as stream:
                self.say(stream, message)
                self.assertIsNone(self.hear(stream), message)
        with self.greeted() as stream:
            self.say(stream, {"type": "describe"})
            self.assertEqual(self.hear(stream)["type"], "description", "it lives")

    def test_a_frame_that_dribbles_in_ends_the_connection(self):
        with self.greeted() as stream:
            begun = time.monotonic()
            stream.settimeout(1)
            stream.sendall(b"\0\0\x10\0{")
            gone = False
            while not gone and time.monotonic() - begun < 40:
                try:
                    stream.sendall(b" ")
                    gone = stream.recv(1) == b""
                except TimeoutError:
                    pass
                except (ConnectionError, ssl.SSLError):
                    gone = True
            self.assertTrue(gone)
            self.assertGreater(time.monotonic() - begun, 5, "patience there is")
        self.await_log(self.log, "a frame has begun and does not end")

    def test_a_client_that_never_stops_talking_does_not_keep_it_from_its_end(self):
        def flood(stream, many):
            with contextlib.suppress(OSError):
                while time.monotonic() < begun + 15:
                    stream.sendall(many)
        with self.greeted() as stream:
            body, begun = b'{"type":"stop"}', time.monotonic()
            flooding = threading.Thread(target=flood, args=(stream, (struct.pack(">I", len(body)) + body) * 500))
            flooding.start()
            time.sleep(0.5)
            self.process.terminate()
            self.assertEqual(self.process.wait(timeout=10), 0)
            flooding.join()

    def test_what_is_not_due_is_refused(self):
        for message in ({"type": "run"}, {"type": "connect", "peer": {"layer": "Ethernet"}}):
            with self.greeted() as stream:
                self.say(stream, message)
                self.assertEqual(self.hear(stream)["code"], "order")
                self.assertIsNone(self.hear(stream))

    def test_no_device_is_an_answer_and_leaves_the_agent_free(self):
        if HAS_DEVICES:
            self.skipTest("there are RDMA devices here")
        with self.greeted() as stream:
            for _ in range(3):
                self.say(stream, {"type": "prepare", "spec": {"test": "ping"}, "side": "target", "way": {}})
                refused = self.hear(stream)
                self.assertEqual(refused["code"], "unavailable")
                self.assertIn("no RDMA device", refused["text"])

    def test_a_run_above_the_limit_is_refused(self):
        with self.greeted() as stream:
            self.say(stream, {"type": "prepare", "spec": {"test": "ping", "duration_ns": 61 * 10 ** 9}, "side": "target", "way": {}})
            refused = self.hear(stream)
            self.assertEqual(refused["code"], "limit")
            self.assertIn("at most 60 s", refused["text"])

    def test_another_authority_is_refused(self):
        certificate, key = Authority(self.path("other"), "another CA").certify("client-1")
        self.client = (certificate, key)
        with self.assertRaises((ssl.SSLError, ConnectionError)):
            with self.connect() as stream:
                self.say(stream, {"type": "hello", "protocol": 1})
                stream.recv(1)
        self.await_log(self.log, "no TLS connection")
        with self.assertRaises((ssl.SSLError, ConnectionError)):
            bare = ssl.create_default_context(cafile=self.authority.certificate)
            bare.check_hostname = False
            with bare.wrap_socket(socket.create_connection(("127.0.0.1", self.port), timeout=30)) as stream:
                if stream.recv(1) == b"":
                    raise ConnectionError


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", required=True)
    parser.add_argument("tests", nargs="*")
    arguments = parser.parse_args()
    PROGRAM = os.path.join(os.path.abspath(arguments.build), "bin", "ibfabric-probe")
    unittest.main(argv=[sys.argv[0], *arguments.tests])
