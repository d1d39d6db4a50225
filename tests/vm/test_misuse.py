"""ibfabric-probe where something is missing, wrong, or gone in the middle: it ends, and says what and how to mend it."""

import hashlib
import json
import struct

from machines import KEY, PATIENT, Probe

SECRET = hashlib.sha256(b"ibfabric shared key 1\n" + KEY.encode()).hexdigest()
PORT = 18585


def frame(body):
    data = body.encode() if isinstance(body, str) else json.dumps(body).encode()
    return struct.pack(">I", len(data)) + data


class Misuse(Probe):
    def refused(self, *flags, code, words, test="ping", **kwargs):
        _, err = self.probe(test, *flags, code=code, **kwargs)
        for word in words:
            self.assertIn(word, err)

    def test_no_device(self):
        self.start_agent()
        self.one.must("/tools/rdma link del rxe0")
        self.addCleanup(self.one.must, "/tools/rdma link add rxe0 type rxe netdev eth0; chmod 666 /dev/infiniband/uverbs*")
        self.refused(code=3, words=["no RDMA device", "rdma link add"])

    def test_no_device_at_the_agent(self):
        self.start_agent()
        self.two.must("/tools/rdma link del rxe0")
        self.addCleanup(self.two.must, "/tools/rdma link add rxe0 type rxe netdev eth0; chmod 666 /dev/infiniband/uverbs*")
        self.refused(code=3, words=[self.two.address, "no RDMA device"])

    def test_a_device_that_is_not_there(self):
        self.start_agent()
        self.refused("--device mlx5_0", code=2, words=["mlx5_0", "rxe0/1"])
        self.refused("--peer-device mlx5_0", code=2, words=["mlx5_0", "rxe0/1"])

    def test_a_port_that_is_not_there(self):
        self.refused("--device rxe0/2", code=2, words=["rxe0/2", "rxe0/1"])

    def test_port_down(self):
        """Whose port it is: this host's, which is found out before anybody is called."""
        self.one.must("/tools/ip link set eth0 down")
        try:
            self.refused(code=3, words=["rxe0/1 cannot be used", "ip link set DEV up"])
        finally:
            self.one.must("/tools/ip link set eth0 up; for i in $(seq 100); do grep -q ACTIVE /sys/class/infiniband/rxe0/ports/1/state && "
                          "exit 0; usleep 100000; done; exit 1")

    def test_ways_that_ethernet_does_not_have(self):
        self.start_agent()
        self.refused("--dlid 5", code=2, words=["Ethernet port", "leave out the LID"])
        self.refused("--path-bits 3", code=2, words=["Ethernet port", "the path bits"])
        self.refused("--pkey-index 9999", code=2, words=["P_Key index 9999", "a table of"])
        self.refused("--seconds nan", code=2, words=["finite"])
        self.assert_free()

    def test_names_without_certificates(self):
        self.two.put("/tmp/probe.toml", 'names = ["x"]\n')
        code, out, err = self.two.run("ibfabric-probe agent --config /tmp/probe.toml --key /tmp/probe.key")
        self.assertEqual(code, 2, out + err)
        self.assertIn("names are those of certificates", err)

    def test_wrong_gid_index(self):
        self.start_agent()
        self.refused("--gid-index 200", code=2, words=["GID index 200", "rxe0/1", "RoCE v2"])
        self.refused("--gid-index 0", code=3, words=["GID", "both must be of one kind"])   # IPv6, to an IPv4 one
        self.refused("--peer-gid-index 200", code=2, words=["GID index 200", "rxe0/1", self.two.address])
        self.assert_free()

    def test_a_host_that_is_not_there(self):
        self.refused(code=3, words=["192.168.77.99"], host="192.168.77.99")

    def test_a_host_without_an_agent(self):
        self.refused(code=3, words=[self.two.address, "is the agent running"])

    def test_memory_lock_limit(self):
        self.start_agent()
        self.one.must("cp /tmp/probe.key /tmp/nobody.key; chmod 600 /tmp/nobody.key; chown nobody /tmp/nobody.key")
        command = self.command("write", "--size 1M --depth 4", key="--key /tmp/nobody.key")
        code, out, err = self.one.run(f"su -s /bin/sh nobody -c 'ulimit -l 64; {command}'")
        self.assertEqual(code, 4, out + err)
        for words in ("RLIMIT_MEMLOCK", "64 KiB", "ulimit -l unlimited", "LimitMEMLOCK=infinity"):
            self.assertIn(words, err)
        self.assert_free()

    def test_memory_lock_limit_of_the_agent(self):
        self.two.must("cp /tmp/probe.key /tmp/nobody.key; chmod 600 /tmp/nobody.key; chown nobody /tmp/nobody.key")
        agent = self.two.background("exec su -s /bin/sh nobody -c 'ulimit -l 64; exec ibfabric-probe agent --key /tmp/nobody.key'")
        agent.wait_for("listening at")
        self.refused("--size 1M --depth 4", test="write", code=4, words=[self.two.address, "RLIMIT_MEMLOCK", "64 KiB"])

    def start_long_run(self, guest=None):
        """A run of a minute, under way."""
        job = self.one.background("exec " + self.command("write", "--size 4K --seconds 50", PATIENT))
        self.agent.wait_for("write of 4096 bytes")
        return job

    def test_agent_killed(self):
        self.start_agent()
        job = self.start_long_run()
        self.agent.kill()
        code, out, err = job.wait(60)
        self.assertEqual(code, 4, out + err)
        one = json.loads(out)["sizes"][0]
        self.assertEqual(one["target"]["failure"], "peer-gone")
        self.assertIn(self.two.address, one["target"]["failure_text"])
        self.start_agent()
        self.assert_free()

    def test_initiator_killed(self):
        self.start_agent()
        job = self.start_long_run()
        job.kill()
        job.wait(30)
        self.wait_until_free()
        self.assert_free()

    def test_interrupted(self):
        """Ctrl-C gives what was measured."""
        self.start_agent()
        job = self.start_long_run()
        self.one.run("sleep 1")
        job.kill("INT")
        code, out, err = job.wait(60)
        report = json.loads(out)
        self.assertEqual((code, report["was_interrupted"]), (0, True), out + err)
        self.assertGreater(report["sizes"][0]["initiator"]["messages"], 0)
        self.assert_free()

    def test_two_at_once(self):
        self.start_agent()
        job = self.start_long_run()
        self.refused(code=4, words=[self.two.address, "one"])
        job.kill("INT")
        self.assertEqual(job.wait(60)[0], 0)
        self.assert_free()

    # ---- clients that are none of ours

    def say(self, data, seconds=20):
        """What the agent answers to DATA, by TLS and with the right key."""
        self.one.put("/tmp/words", data)
        # With -quiet it stays after the end of its input, until the agent closes.
        return self.one.run(f"timeout {seconds} openssl s_client -quiet -tls1_2 -connect {self.two.address}:{PORT} -psk_identity ibfabric "
                            f"-psk {SECRET} -cipher ECDHE-PSK-CHACHA20-POLY1305 </tmp/words 2>/dev/null", seconds + 10)[1]

    HELLO = {"type": "hello", "protocol": 1, "program": "0.0.0", "host": "stranger"}

    def test_version_mismatch(self):
        self.start_agent()
        said = self.say(frame({**self.HELLO, "protocol": 99, "program": "9.9.9"}))
        self.assertIn('"version"', said)
        self.assertIn("9.9.9", said)
        self.assertIn("update the older", said)
        self.assert_free()

    def test_hostile_words(self):
        self.start_agent()
        hello = frame(self.HELLO)
        self.assertIn('"hello"', self.say(hello, 5))
        hostile = {
            "no frame": b"GET / HTTP/1.0\r\n\r\n",
            "a frame of four gigabytes": b"\xff\xff\xff\xff" + b"x" * 1000,
            "an empty frame": b"\0\0\0\0",
            "no JSON": hello + frame("{" * 5000),
            "deep JSON": hello + frame("[" * 100000),
            "no hello": frame({"type": "describe"}),
            "run before prepare": hello + frame({"type": "run"}),
            "a spec out of range": hello + frame({"type": "prepare", "run": "", "side": "target", "way": {}, "spec": {
                "test": "write", "message_bytes": 1 << 60, "queue_pairs": 1 << 31}}),
            "numbers that are texts": hello + frame({"type": "prepare", "spec": "all", "side": 7}),
        }
        for name, data in hostile.items():
            with self.subTest(name):
                self.say(data)
                self.assertIsNone(self.agent.code(), self.agent.err)
        self.assert_free()

    def test_clients_without_tls(self):
        self.start_agent()
        self.one.run(f"dd if=/dev/urandom bs=1000 count=100 2>/dev/null | timeout 10 nc {self.two.address} {PORT}", 30)
        for _ in range(30):   # more than it takes, and each silent
            self.one.background(f"exec sleep 100 | nc {self.two.address} {PORT}")
        self.one.run("sleep 1")
        self.assertIsNone(self.agent.code(), self.agent.err)
        self.one.run("killall -KILL nc")
        self.wait_until_free()

    def test_terminated(self):
        self.start_agent()
        self.agent.kill("TERM")
        self.assertEqual(self.agent.wait(30)[0], 0)
