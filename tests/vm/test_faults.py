"""ibfabric-probe on a cable with faults: what arrives is whole, and counters tell which mechanism made it so."""

import json
import re
import time

from machines import Probe, brief

QUICK = "--timeout 13"   # 34 ms, longer than a round trip between the machines


BOTH = ("write", "send")   # each message of a send is compared, of a write what lies there in the end


class Faults(Probe):
    def flood(self, test="write", count=60, flags=QUICK):
        """Enough in flight for faults to strike; the counters of both machines that rose, by name.

        With losses, rxe of Linux 6.1 now and then has a pair of queue pairs that send again and again and receive nothing:
        rdma-core's ping-pong hangs then, in one run of ten at 10 % loss. The probe says "timeout", and may try again twice.
        """
        if self.agent is None:
            self.start_agent()
        for more_tries in (2, 1, 0):
            risen = self.counting()
            code, out, err = self.one.run(self.command(test, f"--size 8K --count {count} --depth 8", flags), 240)
            self.assertTrue(out.strip(), f"exit code {code}: {err}{self.agent.said()}")
            report = json.loads(out)
            if not more_tries or report["sizes"][0]["initiator"]["failure"] != "timeout":
                break
            print(f"rxe hangs; once more: {brief(report)}")
        self.assertEqual(code, 0, brief(report))
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
        for test in BOTH:
            with self.subTest(test):
                one, counted = self.flood(test)
                self.assertGreater(one["target"]["counters"]["out_of_seq_request"], 0, brief(one))
                self.assertGreater(one["initiator"]["counters"]["completer_retry_err"], 0, brief(one))
                self.assertEqual(counted["retry_exceeded_err"], 0)

    def test_lost_answers_are_asked_for_again(self):
        """Of reads, where the loss is of what comes back."""
        self.roce("loss", "3%")
        one, _ = self.flood("read")
        self.assertGreater(one["initiator"]["counters"]["completer_retry_err"], 0, brief(one))

    def test_another_order_is_taken_for_a_loss(self):
        self.roce("delay", "5ms", "reorder", "80%", "50%")
        for test in BOTH:
            with self.subTest(test):
                one, _ = self.flood(test)
                self.assertGreater(one["target"]["counters"]["out_of_seq_request"], 0, brief(one))
                self.assertGreater(one["initiator"]["counters"]["rcvd_seq_err"], 0, brief(one))

    def test_damage_never_gets_through(self):
        """Packets with a wrong ICRC are dropped by the device: damage is a loss to those above, and is repaired as one.

        rxe counts neither wrong ICRCs nor timeouts by themselves. What IP drops for a wrong header it does not even see.
        """
        self.roce("corrupt", "3%")
        for test in BOTH:
            with self.subTest(test):
                one, _ = self.flood(test)
                self.assertGreater(one["initiator"]["counters"]["completer_retry_err"] + one["target"]["counters"]["out_of_seq_request"], 0, brief(one))

    def test_delay_beyond_the_timeout_makes_duplicates(self):
        """Acknowledgements that come too late: what was sent again is known as a duplicate, and is not executed twice."""
        self.roce("delay", "40ms")
        for test in BOTH:
            with self.subTest(test):
                one, _ = self.flood(test, count=20, flags="--timeout 11")   # 8 ms
                self.assertGreater(one["initiator"]["counters"]["completer_retry_err"], 0, brief(one))
                self.assertGreater(one["target"]["counters"]["duplicate_request"], 0, brief(one))

    def test_lost_datagrams_are_counted(self):
        self.roce("loss", "20%")
        self.start_agent()
        report, _ = self.probe("ud", "--count 60", code=1, seconds=240)
        initiator = report["sizes"][0]["initiator"]
        self.assertGreater(initiator["lost"], 0)
        self.assertGreater(initiator["messages"], 0)
        self.assertEqual(initiator["messages"] + initiator["lost"], 60)
        self.assertEqual(initiator["corrupt"], 0)

    def test_ctrl_c_is_heard_while_rdma_cm_connects(self):
        """A connection that cannot be made is tried for 15 s."""
        self.start_agent()
        self.roce("loss", "100%")
        job = self.one.background("exec " + self.command("ping", "--cm"))
        self.agent.wait_for("ping of 64 bytes")
        self.one.run("sleep 1")
        began = time.monotonic()
        job.kill("INT")
        code, out, err = job.wait(60)
        self.assertLess(time.monotonic() - began, 8, out + err)
        self.assertEqual(code, 3, out + err)
        self.assertIn("interrupted", err)
        self.roce("loss", "0%")
        self.assert_free()

    def cut_while_running(self, cut, test, *flags):
        """(exit code, report) of a run of a minute whose cable CUT breaks, and the seconds that it still took."""
        before = self.two.counters()["rcvd_pkts"]
        job = self.one.background(self.command(test, "--seconds 50", *flags))
        self.two.must("for i in $(seq 600); do [ $(cat /sys/class/infiniband/rxe0/ports/1/hw_counters/rcvd_pkts) -gt "
                      f"{before + 20} ] && exit 0; usleep 100000; done; exit 1", 120)
        cut("loss", "100%")
        began = time.monotonic()
        code, out, err = job.wait(120)
        took = time.monotonic() - began
        self.heal()
        self.assertTrue(out.strip(), f"exit code {code}: {err}")
        return code, json.loads(out), took

    def assert_retry_exceeded(self, report):
        initiator = report["sizes"][0]["initiator"]
        self.assertEqual(initiator["failure"], "retry-exceeded", brief(report))
        self.assertIn("transport retry counter exceeded", initiator["errors"])
        self.assertIn(f"{self.two.address} (rxe0/1) acknowledged nothing", initiator["failure_text"])
        self.assertGreater(initiator["counters"]["retry_exceeded_err"], 0)

    def quiet_seconds(self, report):
        """For how long nothing was acknowledged, by the guest's clock."""
        text = report["sizes"][0]["initiator"]["failure_text"]
        number, unit = re.search(r"acknowledged nothing for ([\d.]+) ?(ms|s)\b", text).groups()
        return float(number) / (1000 if unit == "ms" else 1)

    def test_everything_lost_ends_in_the_configured_time(self):
        """7 tries of 4.096 us * 2^14 are 0.47 s, an adapter may take four times as long, and the machine is slow."""
        self.start_agent()
        for test, size in (("ping", 64), ("write", 8192), ("read", 8192)):
            with self.subTest(test):
                code, report, took = self.cut_while_running(self.roce, test, f"--size {size} --timeout 14 --retries 6")
                self.assertEqual(code, 1)
                self.assert_retry_exceeded(report)
                quiet = self.quiet_seconds(report)
                self.assertGreaterEqual(quiet, 6 / 7 * 0.47)   # rxe's first wait may have begun before the last answer
                self.assertLess(quiet, 4 * 0.47 + 3)
                self.assertLess(took, 20)   # with what the command does before and after
        self.assert_free()

    def test_retries_without_end_end_as_well(self):
        """rxe takes 7 retries for no limit, so that it never gives up: the probe does."""
        self.start_agent()
        code, report, took = self.cut_while_running(self.roce, "write", "--size 8K --timeout 10 --retries 7")
        initiator = report["sizes"][0]["initiator"]
        self.assertEqual((code, initiator["failure"]), (1, "timeout"), brief(report))
        self.assertIn(f"nothing from or to {self.two.address} (rxe0/1) completed for", initiator["failure_text"])
        self.assertLess(took, 40)
        self.assert_free()

    def test_the_whole_cable_cut(self):
        """The control connection is gone as well, so that nobody can tell the agent: it all ends, and the agent is free again."""
        self.start_agent()
        code, report, _ = self.cut_while_running(self.whole_cable, "write", "--size 4K --timeout 14 --retries 3")
        self.assertIn(code, (1, 4))
        self.assert_retry_exceeded(report)
        self.wait_until_free()
