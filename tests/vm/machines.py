"""What all tests in the two machines begin from: a cable without faults, and nothing left running."""

import json
import unittest

PATIENT = "--timeout 17"   # half a second: a busy machine is no lossy cable

pair = None   # of guest.Pair, by vm.py

LINGERERS = "ibfabric-probe ibfabricd ibv_rc_pingpong umad_gsi openssl nc"
KEY = "a key that both machines hold, of 45 octets..."
ROCE_PORT = 4791


class TwoMachines(unittest.TestCase):
    def setUp(self):
        self.one, self.two = pair.guests
        self.addCleanup(self.clean)

    def clean(self):
        for guest in pair.guests:
            guest.run(f"killall -KILL {LINGERERS} 2>/dev/null; /tools/tc qdisc del dev eth0 root 2>/dev/null; true")

    @staticmethod
    def whole_cable(*faults):
        """Faults for all that goes over the cable, either way, in the words of tc netem: whole_cable("loss", "100%")."""
        for guest in pair.guests:
            guest.must("/tools/tc qdisc replace dev eth0 root netem limit 10000 " + " ".join(faults))

    @staticmethod
    def roce(*faults):
        """Faults for RoCE alone. Control connections have a network of their own in most fabrics, and here are spared."""
        for guest in pair.guests:
            guest.must(f"""set -e
                /tools/tc qdisc replace dev eth0 root handle 1: prio bands 2 priomap 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0
                /tools/tc qdisc replace dev eth0 parent 1:2 handle 20: netem limit 10000 {" ".join(faults)}
                /tools/tc filter replace dev eth0 parent 1: protocol ip prio 1 u32 match ip protocol 17 0xff \
                    match ip dport {ROCE_PORT} 0xffff flowid 1:2""")

    @staticmethod
    def heal():
        for guest in pair.guests:
            guest.must("/tools/tc qdisc del dev eth0 root")

    @staticmethod
    def counting(*guests):
        """A function that tells how far hw_counters rose since now, over the guests together."""
        guests = guests or pair.guests
        before = [guest.counters() for guest in guests]

        def risen():
            after = [guest.counters() for guest in guests]
            return {name: sum(new[name] - old[name] for new, old in zip(after, before)) for name in after[0]}

        return risen


def brief(told):
    """JSON for people: without the buckets of histograms."""
    if isinstance(told, dict):
        return {name: brief(value) for name, value in told.items() if name != "buckets"}
    return [brief(value) for value in told] if isinstance(told, list) else told


class Probe(TwoMachines):
    """An agent on machine two, and tests from machine one."""

    agent = None

    def setUp(self):
        super().setUp()
        for guest in pair.guests:
            guest.put("/tmp/probe.key", KEY, "600")

    def start_agent(self, flags="--key /tmp/probe.key", configuration=""):
        self.two.put("/tmp/probe.toml", configuration)
        self.agent = self.two.background(f"exec ibfabric-probe agent --config /tmp/probe.toml {flags}")
        self.agent.wait_for("listening at")
        return self.agent

    def command(self, test, *flags, host=None, key="--key /tmp/probe.key"):
        return " ".join(["ibfabric-probe", test, host or self.two.address, key, "--json", *map(str, flags)])

    def probe(self, test, *flags, code=0, seconds=120, **kwargs):
        """(report, errors) of a test that must end with CODE; the report is None if there is none."""
        command = self.command(test, *flags, **kwargs)
        ended, out, err = self.one.run(command, seconds)
        if ended != code:
            agent = self.agent.said() if self.agent else ""
            self.fail(f"{command}: exit code {ended}, not {code}\n{out[-3000:]}{err}\nThe agent said:\n{agent[-2000:]}")
        return (json.loads(out) if out.strip() else None), err

    def assert_free(self):
        """The agent serves the next one."""
        report, _ = self.probe("ping", "--count 3", PATIENT)
        self.assert_whole(report, 3, [64])

    def wait_until_free(self):
        for _ in range(50):
            if self.one.run(self.command("ping", "--count 1", PATIENT))[0] == 0:
                return
            self.one.run("usleep 200000")
        self.fail("the agent is not free again; it said:\n" + self.agent.said())

    def assert_whole(self, report, count, sizes, queue_pairs=1):
        """Every message there, every octet as it was sent."""
        self.assertEqual([one["message_bytes"] for one in report["sizes"]], sizes)
        for one in report["sizes"]:
            size, initiator, target = one["message_bytes"], one["initiator"], one["target"]
            told = json.dumps(brief(one))
            self.assertEqual((initiator["failure"], target["failure"]), ("", ""), told)
            self.assertEqual(initiator["messages"], count * queue_pairs, told)
            self.assertEqual(initiator["bytes"], count * queue_pairs * size, told)
            self.assertGreater(initiator["checked"] + target["checked"], 0, told)
            self.assertEqual(initiator["corrupt"] + target["corrupt"], 0, told)
            self.assertEqual(initiator["lost"], 0, told)
            if report["test"] in ("ping", "ud"):
                self.assertEqual(one["latency"]["count"], count, told)
            if report["test"] in ("ping", "send"):
                self.assertEqual((target["messages"], target["checked"]), (count * queue_pairs, count * queue_pairs), told)
                self.assertEqual(target["bytes"], count * queue_pairs * size, told)   # as its completions say
            if report["test"] == "write":   # it looks at what lies there in the end: 16 patterns of each queue pair
                self.assertEqual(target["checked"], min(count, 16) * queue_pairs, told)
            if report["test"] in ("ping", "read", "ud"):
                self.assertEqual(initiator["checked"], count * queue_pairs, told)
