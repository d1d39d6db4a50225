"""Forwarding tables walked from outside, packet by packet: does it arrive, on which lanes, and can channels wait for each
other in a ring? Plain and slow on purpose; it knows nothing of how the tables came about.

A channel is a lane of the cable out of a switch port toward another switch, written (switch, port out, lane). Cables of end
ports are in no ring.
"""

import collections
import re
from dataclasses import dataclass, field


class Lost(Exception):
    """A packet that does not arrive; says where it ended, and the way to there. It holds buffers as any other."""

    def __init__(self, words, way):
        super().__init__(words)
        self.way = way


@dataclass
class Fabric:
    """Devices by GUID, LIDs as numbers."""
    peers: dict = field(default_factory=dict)     # (GUID, port) -> (GUID, port) at the other end of the cable
    switches: dict = field(default_factory=dict)  # GUID -> LID
    hosts: dict = field(default_factory=dict)     # LID -> (GUID, port) of an end port
    tables: dict = field(default_factory=dict)    # GUID of a switch -> {LID: port}

    def home(self, lid):
        """(switch, port) that a LID is delivered by; port 0: the switch itself."""
        return self.homes[lid]

    def settle(self):
        """To be called when all is filled in."""
        self.homes = {lid: (guid, 0) for guid, lid in self.switches.items()}
        self.homes |= {lid: self.peers[end] for lid, end in self.hosts.items() if end in self.peers}
        return self

    def walk(self, source, target):
        """[(switch, port in, port out), ...] of the way from one LID to another."""
        at, entry = self.homes[source]
        way, passed = [], set()
        while True:
            exit_ = self.tables[at].get(target)
            if exit_ is None:
                raise Lost(f"LID {source} to LID {target}: {at} has no entry", way)
            way.append((at, entry, exit_))
            if (at, exit_) == self.homes[target]:
                return way
            if at in passed:
                raise Lost(f"LID {source} to LID {target} comes to {at} again", way)
            passed.add(at)
            there = self.next_switch(at, exit_)
            if there is None:
                raise Lost(f"LID {source} to LID {target}: {at} port {exit_} leads elsewhere", way)
            at, entry = there

    def next_switch(self, at, exit_):
        """(switch, port) at the other end of the cable out of a port; None: no cable, or not to a switch."""
        there = self.peers.get((at, exit_))
        return there if there and there[0] in self.switches else None

    def components(self):
        """GUID of a switch -> a number for what is cabled together."""
        neighbours = collections.defaultdict(set)
        for (here, _), (there, _) in self.peers.items():
            if here in self.switches and there in self.switches:
                neighbours[here].add(there)
        found = {}
        for number, start in enumerate(sorted(self.switches)):
            open_ = [start]
            while open_:
                at = open_.pop()
                if at not in found:
                    found[at] = number
                    open_ += neighbours[at]
        return found


def all_lanes_one(_switch, _entry, _exit, _sl):
    return 0


class Channels:
    """Which channel packets wait for while they hold which."""

    def __init__(self, fabric, lane=all_lanes_one):
        self.fabric, self.lane = fabric, lane
        self.waits = collections.defaultdict(set)

    def add(self, way, sl=0):
        """The channels of a way wait for each other in turn."""
        taken = [(at, exit_, self.lane(at, entry, exit_, sl)) for at, entry, exit_ in way if self.fabric.next_switch(at, exit_)]
        for held, wanted in zip(taken, taken[1:]):
            self.waits[held].add(wanted)

    def ring(self):
        """One closed chain of channels, or None."""
        entered = collections.Counter(next_ for following in self.waits.values() for next_ in following)
        free = [channel for channel in self.waits if not entered[channel]]
        while free:
            for next_ in self.waits.get(free.pop(), ()):
                entered[next_] -= 1
                if not entered[next_]:
                    free.append(next_)
        left = sorted(channel for channel, count in entered.items() if count)
        if not left:
            return None
        # Whoever is left is waited for by one that is left: back along those until one comes again.
        before = {next_: channel for channel in left for next_ in self.waits.get(channel, ()) if entered[next_]}
        chain, at = [], left[0]
        while at not in chain:
            chain.append(at)
            at = before[at]
        return chain[chain.index(at):][::-1]


_SIDE = re.compile(r"\{ (\w+)\S* Ports:\w+ SystemGUID:\w+ NodeGUID:(\w+) PortGUID:\w+ VenID:\w+ DevID:\w+ Rev:\w+ "
                   r"\{.*?\} LID:(\w+) PN:(\w+) \}")


def fabric_of_dump(lst, tables):
    """From the text of an opensm-subnet.lst and tables as judges.parse_tables has them."""
    fabric = Fabric(tables=tables)
    for line in lst.split("\n"):
        sides = [(kind, "0x" + guid, int(lid, 16), int(port, 16)) for kind, guid, lid, port in _SIDE.findall(line)]
        if len(sides) != 2:
            continue
        (kind, guid, lid, port), (_, peer, _, peer_port) = sides
        fabric.peers[guid, port] = (peer, peer_port)
        if kind == "SW":
            fabric.switches[guid] = lid
        else:
            fabric.hosts[lid] = (guid, port)
    return fabric.settle()
