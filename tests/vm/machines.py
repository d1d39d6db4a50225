"""What all tests in the two machines begin from: a cable without faults, and nothing left running."""

import unittest

pair = None   # of guest.Pair, by vm.py

LINGERERS = "ibfabric-probe ibfabricd ibv_rc_pingpong umad_gsi"


class TwoMachines(unittest.TestCase):
    def setUp(self):
        self.one, self.two = pair.guests
        self.addCleanup(self.clean)

    def clean(self):
        for guest in pair.guests:
            guest.run(f"killall -KILL {LINGERERS} 2>/dev/null; /tools/tc qdisc del dev eth0 root 2>/dev/null; true")

    def cable(self, *faults):
        """Faults of both directions, in tc netem's words: cable("loss", "5%")."""
        for guest in pair.guests:
            guest.must("/tools/tc qdisc replace dev eth0 root netem limit 10000 " + " ".join(faults))

    def heal(self):
        for guest in pair.guests:
            guest.run("/tools/tc qdisc del dev eth0 root 2>/dev/null")

    def counting(self, *guests):
        """A function that tells how far hw_counters rose since now, over the guests together."""
        guests = guests or pair.guests
        before = [guest.counters() for guest in guests]

        def risen():
            after = [guest.counters() for guest in guests]
            return {name: sum(new[name] - old[name] for new, old in zip(after, before)) for name in after[0]}

        return risen
