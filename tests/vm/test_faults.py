"""ibfabric-probe on a cable with faults: what arrives is whole, and counters tell which mechanism made it so."""

import time

from machines import Probe

QUICK = "--timeout 13"   # 34 ms, longer than a round trip between the machines


class Faults(Probe):
    def flood(self, test="write", count=60, flags=QUICK):
        """Enough in flight for faults to strike; the counters of both machines that rose, by name."""
        self.start_agent()
        risen = self.counting()
        report, _ = self.probe(test, f"--size 8K --count {count} --depth 8", flags, seconds=240)
        self.assert_whole(report, count, [8192])
        one = report["sizes"][0]
        counted = risen()
        for name in ("out_of_seq_request", "duplicate_request", "completer_retry_err", "rcvd_seq_err"):
            told = one["initiator"]["counters"].get(name, 0) + one["target"]["counters"].get(name, 0)
            self.assertLessEqual(told, counted[name], (name, counted))
        return one, counted

    def test_losses_are_repaired(self):
        """A lost packet shows by the next one's number, or by a timeout if it was the last."""
        self.roce("loss", "3%")
        one, counted = self.flood()
        self.assertGreater(one["target"]["counters"]["out_of_seq_request"], 0, one)
        self.assertGreater(one["initiator"]["counters"]["completer_retry_err"], 0, one)
        self.assertEqual(counted["retry_exceeded_err"], 0)

    def test_lost_answers_are_asked_for_again(self):
        """Of reads, where the loss is of what comes back."""
        self.roce("loss", "3%")
        one, _ = self.flood("read")
        self.assertGreater(one["initiator"]["counters"]["completer_retry_err"], 0, one)

    def test_another_order_is_taken_for_a_loss(self):
        self.roce("delay", "5ms", "reorder", "80%", "50%")
        one, _ = self.flood()
        self.assertGreater(one["target"]["counters"]["out_of_seq_request"], 0, one)

    def test_damage_never_gets_through(self):
        """Packets with a wrong ICRC are dropped by the device: damage is a loss to those above, and is repaired as one."""
        self.roce("corrupt", "3%")
        one, _ = self.flood()
        self.assertGreater(one["initiator"]["counters"]["completer_retry_err"] + one["target"]["counters"]["out_of_seq_request"], 0, one)

    def test_delay_beyond_the_timeout_makes_duplicates(self):
        """Acknowledgements that come too late: what was sent again is known as a duplicate, and is not executed twice."""
        self.roce("delay", "40ms")
        one, _ = self.flood(count=20, flags="--timeout 11")   # 8 ms
        self.assertGreater(one["initiator"]["counters"]["completer_retry_err"], 0, one)
        self.assertGreater(one["target"]["counters"]["duplicate_request"], 0, one)

    def test_lost_datagrams_are_counted(self):
        self.roce("loss", "20%")
        self.start_agent()
        report, _ = self.probe("ud", "--count 60", code=1, seconds=240)
        initiator = report["sizes"][0]["initiator"]
        self.assertGreater(initiator["lost"], 0)
        self.assertGreater(initiator["messages"], 0)
        self.assertEqual(initiator["messages"] + initiator["lost"], 60)
        self.assertEqual(initiator["corrupt"], 0)

    def test_everything_lost_ends_in_the_configured_time(self):
        """Retry exceeded: 8 tries of 4.096 us * 2^14 are 0.54 s, and an adapter may take four times as long."""
        self.start_agent()
        for test, size in (("ping", 64), ("write", 8192), ("read", 8192)):
            with self.subTest(test):
                job = self.one.background(self.command(test, f"--size {size} --seconds 60 --timeout 14 --retries 7"))
                self.two.must("for i in $(seq 600); do [ $(cat /sys/class/infiniband/rxe0/ports/1/hw_counters/rcvd_pkts) -gt "
                              f"{self.two.counters()['rcvd_pkts'] + 20} ] && exit 0; usleep 100000; done; exit 1", 120)
                self.roce("loss", "100%")
                began = time.monotonic()
                code, out, err = job.wait(60)
                took = time.monotonic() - began
                self.heal()
                self.assertEqual(code, 1, out + err)
                self.assert_retry_exceeded(out)
                self.assertLess(took, 30)   # the machine is slow, not the probe

    def assert_retry_exceeded(self, out):
        import json
        initiator = json.loads(out)["sizes"][0]["initiator"]
        self.assertEqual(initiator["failure"], "retry-exceeded", out)
        self.assertIn("transport retry counter exceeded", initiator["errors"])
        self.assertIn("two", initiator["failure_text"])

    def test_the_whole_cable_cut(self):
        """The control connection is gone as well: nobody can tell the agent, and it all still ends."""
        self.start_agent()
        job = self.one.background(self.command("write", "--size 4K --seconds 60 --timeout 14 --retries 3"))
        self.two.must("for i in $(seq 600); do [ $(cat /sys/class/infiniband/rxe0/ports/1/hw_counters/rcvd_pkts) -gt "
                      f"{self.two.counters()['rcvd_pkts'] + 20} ] && exit 0; usleep 100000; done; exit 1", 120)
        self.whole_cable("loss", "100%")
        code, out, err = job.wait(90)
        self.heal()
        self.assertIn(code, (1, 4), out + err)
        self.assert_retry_exceeded(out)
