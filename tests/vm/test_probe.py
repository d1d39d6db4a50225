"""ibfabric-probe on a sound cable: every test, every size, both ways of connecting, and limits of the agent."""

import json
import os
import sys
import tempfile

from machines import PATIENT, Probe

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "conformance"))
from certificates import Authority  # noqa: E402

SIZES = [1 << power for power in range(17)]   # 1 B to 64 KiB


class Traffic(Probe):
    def sweep(self, test, *flags, count=5, sizes=None):
        self.start_agent()
        sizes = sizes or SIZES
        report, _ = self.probe(test, f"--sweep {sizes[0]}:{sizes[-1]} --count {count}", *flags, seconds=240)
        self.assertEqual(report["test"], test)
        self.assert_whole(report, count, sizes)
        return report

    def test_ping_of_all_sizes(self):
        self.sweep("ping", PATIENT)

    def test_send_of_all_sizes(self):
        self.sweep("send", PATIENT)

    def test_write_of_all_sizes(self):
        self.sweep("write", PATIENT)

    def test_read_of_all_sizes(self):
        self.sweep("read", PATIENT)

    def test_ud_of_all_sizes(self):
        self.sweep("ud", sizes=SIZES[:11])   # to 1 KiB, which is the MTU here

    def test_every_test_that_connects_does_so_by_rdma_cm(self):
        self.start_agent()
        for test in ("ping", "send", "write", "read"):
            with self.subTest(test):
                report, _ = self.probe(test, "--size 1000 --count 10", PATIENT, "--cm")
                self.assertTrue(report["spec"]["use_cm"])
                self.assert_whole(report, 10, [1000])
        _, err = self.probe("ud", "--count 10 --cm", code=2)
        self.assertIn("not expected: --cm", err)

    def test_huge_pages_when_there_are_some(self):
        """Of the size that is taken; and they are given back."""
        self.start_agent()
        free = "cat /sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages"
        for count, used in ((0, False), (16, True)):
            with self.subTest(count):
                for guest in (self.one, self.two):
                    guest.must(f"echo {count} > /sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages")
                    self.assertEqual(int(guest.must(free)), count)
                report, _ = self.probe("write", "--size 1M --count 3 --depth 2", PATIENT)
                self.assert_whole(report, 3, [1 << 20])
                one = report["sizes"][0]
                self.assertEqual([one[side]["used_huge_pages"] for side in ("initiator", "target")], [used, used])
                for guest in (self.one, self.two):
                    self.assertEqual(int(guest.must(free)), count)
                    guest.must("echo 0 > /sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages")

    def test_ping_of_all_sizes_by_rdma_cm(self):
        self.sweep("ping", PATIENT, "--cm", count=3)

    def test_one_mebibyte(self):
        self.start_agent()
        for test, flags in (("ping", ""), ("write", "--cm"), ("read", ""), ("send", "--cm")):
            with self.subTest(test):
                report, _ = self.probe(test, "--size 1M --count 3 --depth 2" if test != "ping" else "--size 1M --count 3", PATIENT, flags)
                self.assert_whole(report, 3, [1 << 20])

    def test_several_queue_pairs(self):
        self.start_agent()
        report, _ = self.probe("write", "--size 4K --count 20 --qps 4 --depth 4", PATIENT)
        self.assert_whole(report, 20, [4096], queue_pairs=4)

    def test_what_the_device_counted_is_what_was_sent(self):
        self.start_agent()
        risen = self.counting(self.one)
        report, _ = self.probe("send", "--size 1K --count 50 --depth 8", PATIENT)
        self.assert_whole(report, 50, [1024])
        self.assertEqual(risen()["rdma_sends"], report["sizes"][0]["initiator"]["counters"]["rdma_sends"])
        self.assertEqual(risen()["rdma_sends"], 50)

    def test_devices_here_and_there(self):
        self.start_agent()
        for host in ("", f"{self.two.address} --key /tmp/probe.key"):
            out = self.one.must(f"ibfabric-probe devices {host}")
            self.assertRegex(out, r"rxe0/1 +Ethernet +active")
            self.assertIn("RoCE v2", out)

    def test_an_mtu_below_the_links_is_wrong(self):
        """ECN and PFC of a virtio interface cannot be seen, and that is no verdict."""
        code, out, err = self.one.run("ibfabric-probe check --json")
        self.assertEqual((code, {one["what"]: one["state"] for one in json.loads(out)}), (1, {"mtu": "wrong", "ecn": "unseen", "pfc": "unseen"}), err)
        self.assertIn("The MTU of eth0 is 1500", out)
        self.one.must("/tools/ip link set eth0 mtu 4400")
        self.addCleanup(self.one.must, "/tools/ip link set eth0 mtu 1500")
        code, out, err = self.one.run("ibfabric-probe check --json")
        self.assertEqual((code, json.loads(out)[0]["state"]), (0, "right"), out + err)


class Limits(Probe):
    def test_certificates(self):
        with tempfile.TemporaryDirectory() as folder:
            ours, theirs = Authority(os.path.join(folder, "a"), "ours"), Authority(os.path.join(folder, "b"), "theirs")
            for guest, name in ((self.one, "one"), (self.two, "two")):
                for authority, prefix in ((ours, "our"), (theirs, "their")):
                    certificate, key = authority.certify(name)
                    for path, kind, mode in ((certificate, "crt", "644"), (key, "key", "600"), (authority.certificate, "ca", "644")):
                        with open(path, encoding="ascii") as file:
                            guest.put(f"/tmp/{prefix}.{kind}", file.read(), mode)
        flags = "--ca /tmp/{0}.ca --cert /tmp/{0}.crt --cert-key /tmp/{0}.key"
        self.start_agent(flags.format("our"))
        report, _ = self.probe("ping", "--count 5", PATIENT, host="two", key=flags.format("our"))
        self.assert_whole(report, 5, [64])
        _, err = self.probe("ping", "--count 5", key=flags.format("our"), code=4)
        self.assertIn(f"[two], and none of that is in the name asked for, {self.two.address}", err)
        self.probe("ping", "--count 5", host="two", key=flags.format("their"), code=4)
        self.probe("ping", "--count 5", code=4)   # a key, where certificates are asked for

    def test_another_key_is_refused(self):
        self.start_agent()
        self.one.put("/tmp/other.key", "another key, as long as the right one", "600")
        _, err = self.probe("ping", key="--key /tmp/other.key", code=4)
        self.assertIn("key", err)

    def test_the_rate_is_the_agents(self):
        most = 8_000_000
        self.start_agent(configuration=f"[limits]\nbits_per_second = {most}\n")
        report, _ = self.probe("write", "--size 8K --seconds 3 --depth 4", PATIENT)
        self.assertGreater(report["sizes"][0]["bits_per_second"], 0)
        self.assertLess(report["sizes"][0]["bits_per_second"], 1.1 * most)
        report, _ = self.probe("write", "--size 64K --rate 1M --count 3", PATIENT)
        self.assertLess(report["sizes"][0]["bits_per_second"], 1_000_000)   # the last one's time is part of it
        _, err = self.probe("write", "--rate 1G", code=4)
        self.assertIn("limits.bits_per_second", err)

    def test_the_seconds_are_the_agents(self):
        self.start_agent(configuration="[limits]\nseconds = 2\n")
        _, err = self.probe("write", "--seconds 30", code=4)
        self.assertIn("limits.seconds", err)
        report, _ = self.probe("write", "--size 4K --count 1000000000", PATIENT, code=4)
        self.assertIn("limits.seconds", report["sizes"][0]["target"]["failure_text"])
        self.assert_free()

    def test_sizes_queue_pairs_and_devices_are_the_agents(self):
        self.start_agent(configuration='[limits]\nmessage_bytes = 4096\nqueue_pairs = 2\ndevices = ["rxe0"]\n')
        for flags, word in (("--size 8K", "limits.message_bytes"), ("--size 1K --qps 3", "limits.queue_pairs"),
                            ("--size 1K --peer-device mlx5_0", "limits.devices")):
            _, err = self.probe("write", flags, code=4)
            self.assertIn(word, err)
        self.assert_free()

    def test_strangers_networks_are_not_let_in(self):
        self.start_agent(configuration='networks = ["10.0.0.0/8"]\n')
        self.probe("ping", code=4)
