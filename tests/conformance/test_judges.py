#!/usr/bin/env python3
"""The judges' ears: that what strangers print is read right, and that a difference is noticed."""

import unittest

import judges
import walks

IBNETDISCOVER = '''
vendid=0x2c9
switchguid=0x200000f(200000f)
Switch\t8 "S-000000000200000f"\t\t# "Switch15 " base port 0 lid 24 lmc 0
[1]\t"S-000000000200001c"[8]\t\t# "Switch28" lid 43 4xEDR
[5]\t"H-0000000001000078"[1](1000079) \t\t# "Hca60" lid 141 4xEDR

Ca\t1 "H-0000000001000078"\t\t# "Hca60"
[1](1000079) \t"S-000000000200000f"[5]\t\t# lid 141 lmc 0 "Switch15" lid 24 4xEDR
'''


class Judges(unittest.TestCase):
    def test_ibnetdiscover(self):
        network = judges.parse_ibnetdiscover(IBNETDISCOVER)
        self.assertEqual(network.nodes["000000000200000f"], ("Switch", 8, "Switch15"))
        self.assertEqual(network.lids, {("000000000200000f", 0): 24, ("0000000001000078", 1): 141})
        self.assertEqual(len(network.links), 2)
        self.assertIn((("0000000001000078", 1), ("000000000200000f", 5)), network.links)

    def test_a_difference_is_noticed(self):
        network = judges.parse_ibnetdiscover(IBNETDISCOVER)
        judges.compare_networks(network, network)
        for old, new in (("lid 24", "lid 25"), ("[8]", "[7]"), ('"Hca60"\n', '"Hca61"\n'), ("Ca\t1", "Ca\t2")):
            other = judges.parse_ibnetdiscover(IBNETDISCOVER.replace(old, new))
            with self.assertRaises(judges.Disagreement):
                judges.compare_networks(network, other)

    def test_iblinkinfo(self):
        text = ('0x000000000100007f "                         Hca63"    144    1[  ] ==( 4X      25.78125 Gbps Active/  '
                'LinkUp)==>  0x000000000200000f     24    8[  ] "Switch15" (Could be 12X)\n'
                '0x0000000000200001 "                       Switch2"      3    3[  ] ==( 4X           2.5 Gbps   Init/  '
                'LinkUp)==>  0x0000000000200000      2    3[  ] "Switch1" ( )\n'
                '0x0000000000200001 "                       Switch2"      3    4[  ] ==(                Down/ Polling)==>'
                '             [  ] "" ( )\n')
        self.assertEqual(judges.parse_iblinkinfo(text),
                         {("0x000000000100007f", 1): "Active", ("0x0000000000200001", 3): "Init"})

    def test_tables_in_both_dialects(self):
        dump_fts = ("Unicast lids [0x0-0xd0] of switch DR path slid 0; dlid 0; 0,1,1 guid 0x000000000200000f (Switch15):\n"
                    "  Lid  Out   Destination\n       Port     Info \n"
                    "0x0001 001 : (Channel Adapter portguid 0x0000000001000001: 'Hca0')\n0x0002 255 : (...)\n")
        opensm = ("Unicast lids [0-208] of switch Lid 2 guid 0x000000000200000f ('Switch15'):\n"
                  "0x0001 001 # Channel Adapter portguid 0x0000000001000001: 'Hca0'\n")
        self.assertEqual(judges.parse_tables(dump_fts), {"0x000000000200000f": {1: 1}})
        self.assertEqual(judges.parse_tables(opensm), judges.parse_tables(dump_fts))

    def test_ibtracert(self):
        text = ('From switch {0x0000000002000001} portnum 0 lid 3-3 "Switch1"\n'
                '[3] -> switch port {0x0000000002000012}[6] lid 28-28 "Switch18"\n'
                '[1] -> ca port {0x0000000001000022}[1] lid 52-52 "Hca"\nTo ca {0x0000000001000022} portnum 1 lid 52-52 "Hca"\n')
        self.assertEqual(judges.parse_ibtracert(text),
                         ([("0x0000000002000001", 3), ("0x0000000002000012", 1)], ("0x0000000001000022", 1)))

    def test_ibdmchk(self):
        good = judges.parse_ibdmchk("-I- Scanned:16256 CA to CA paths \n-I- no credit loops found\n")
        self.assertEqual((good.paths, good.errors, good.credit_loops), (16256, [], False))
        bad = judges.parse_ibdmchk("-E- Fail to find a path from:a to:b\n")
        self.assertEqual((bad.paths, len(bad.errors), bad.credit_loops), (0, 1, True))
        self.assertEqual((good.complete, bad.complete), (True, False))
        lost = judges.parse_ibdmchk("-E- Found 1 missing paths out of:72 paths\n-E- Some Point to Point Traversals Failed.\n")
        self.assertEqual((lost.lost, lost.paths, lost.complete), (1, 72, True))
        looping = judges.parse_ibdmchk("-I- Scanned:20 CA to CA paths \n-E- credit loops in routing\n")
        self.assertEqual((looping.paths, looping.credit_loops, looping.complete), (20, True, True))
        apart = judges.parse_ibdmchk("-W- Found - un-reachable lids.\n-E- Fail to update Min Hops Tables.\n")
        self.assertEqual((apart.in_pieces, apart.complete, good.in_pieces), (True, True, False))


def triangle():
    """Switches a, b, c in a ring (port 2 onward, port 3 back), a host of LID 1, 2, 3 on port 1 of each."""
    fabric = walks.Fabric(switches={"a": 11, "b": 12, "c": 13}, hosts={1: ("h1", 1), 2: ("h2", 1), 3: ("h3", 1)})
    for host, at, onward in ((1, "a", "b"), (2, "b", "c"), (3, "c", "a")):
        cables = {("h%d" % host, 1): (at, 1), (at, 2): (onward, 3)}
        fabric.peers |= cables | {there: here for here, there in cables.items()}
    # All the way round to the host behind, one hop to the next.
    fabric.tables = {"a": {1: 1, 2: 2, 3: 2}, "b": {1: 2, 2: 1, 3: 2}, "c": {1: 2, 2: 2, 3: 1}}
    return fabric.settle()


class Walks(unittest.TestCase):
    def channels(self, lane):
        fabric = triangle()
        channels = walks.Channels(fabric, lane)
        for source in (1, 2, 3):
            for target in {1, 2, 3} - {source}:
                channels.add(fabric.walk(source, target))
        return channels

    def test_a_way(self):
        self.assertEqual(triangle().walk(1, 3), [("a", 1, 2), ("b", 3, 2), ("c", 3, 1)])

    def test_what_does_not_arrive(self):
        for table, entry, why in (("b", {}, "no entry"), ("b", {3: 3}, "again"), ("b", {3: 1}, "elsewhere"),
                                  ("b", {3: 9}, "elsewhere")):
            fabric = triangle()
            fabric.tables[table] = entry
            with self.assertRaisesRegex(walks.Lost, why):
                fabric.walk(1, 3)

    def test_a_ring_and_what_breaks_it(self):
        self.assertEqual({at for at, _, _ in self.channels(walks.all_lanes_one).ring()}, {"a", "b", "c"})
        # What comes through a takes another lane from there: nothing goes round.
        self.assertIsNone(self.channels(lambda at, entry, _exit, _sl: int(at == "a" and entry == 3)).ring())

    def test_a_packet_that_goes_round_is_a_ring(self):
        fabric = triangle()
        fabric.tables["c"][3] = 2
        channels = walks.Channels(fabric)
        with self.assertRaises(walks.Lost) as lost:
            fabric.walk(1, 3)
        channels.add(lost.exception.way)
        self.assertEqual(len(channels.ring()), 3)

    def test_pieces(self):
        fabric = triangle()
        self.assertEqual(len(set(fabric.components().values())), 1)
        for end in (("b", 2), ("c", 3), ("c", 2), ("a", 3)):
            del fabric.peers[end]
        pieces = fabric.components()
        self.assertEqual(pieces["a"], pieces["b"])
        self.assertNotEqual(pieces["a"], pieces["c"])


if __name__ == "__main__":
    unittest.main()
