"""What strangers say about a fabric, read into values that can be compared with what ibfabricd says."""

import re
from dataclasses import dataclass, field


class Disagreement(Exception):
    pass


def require_equal(what, stranger, ours):
    """STRANGER and OURS are sets or dicts; the message names the first few differences."""
    if stranger == ours:
        return
    if isinstance(stranger, dict):
        keys = [key for key in sorted(set(stranger) | set(ours), key=str) if stranger.get(key) != ours.get(key)]
        rows = [f"{key}: {stranger.get(key)} / {ours.get(key)}" for key in keys]
    else:
        rows = [f"{row} / nothing" for row in sorted(stranger - ours, key=str)]
        rows += [f"nothing / {row}" for row in sorted(ours - stranger, key=str)]
    raise Disagreement(f"{what}: {len(rows)} differences (the stranger's word / ours):\n  " + "\n  ".join(rows[:8]))


# ---- ibnetdiscover --------------------------------------------------------------------------------------------

@dataclass
class Network:
    nodes: dict = field(default_factory=dict)   # GUID -> (type, ports, description)
    links: set = field(default_factory=set)     # ((GUID, port), (GUID, port)), each once
    lids: dict = field(default_factory=dict)    # (GUID, port; 0 for switches) -> LID


_NODE = re.compile(r'^(Switch|Ca|Rt)\s+(\d+)\s+"[SHR]-([0-9a-f]{16})"\s*#\s*"(.*)"(.*)$')
_LINE = re.compile(r'^\[(\d+)\](?:\([0-9a-f]+\))?\s+"[SHR]-([0-9a-f]{16})"\[(\d+)\]')
_BASE_LID = re.compile(r"port 0 lid (\d+)")
_CA_LID = re.compile(r"#\s*lid (\d+)")


def parse_ibnetdiscover(text):
    network = Network()
    guid = is_switch = None
    for line in text.split("\n"):
        if match := _NODE.match(line):
            kind, ports, guid, description, rest = match.groups()
            is_switch = kind == "Switch"
            network.nodes[guid] = (kind, int(ports), description.rstrip())
            if lid := _BASE_LID.search(rest):
                network.lids[guid, 0] = int(lid.group(1))
        elif match := _LINE.match(line):
            here, there = (guid, int(match.group(1))), (match.group(2), int(match.group(3)))
            network.links.add((min(here, there), max(here, there)))
            if not is_switch and (lid := _CA_LID.search(line)):
                network.lids[here] = int(lid.group(1))
    return network


def compare_networks(stranger, ours):
    require_equal("nodes (ibnetdiscover)", stranger.nodes, ours.nodes)
    require_equal("links (ibnetdiscover)", stranger.links, ours.links)
    require_equal("LIDs (ibnetdiscover)", stranger.lids, ours.lids)


# ---- iblinkinfo -----------------------------------------------------------------------------------------------

_LINK_ROW = re.compile(r'^(0x[0-9a-f]{16})\s+".*?"\s+(\d+)\s+(\d+)\[.*?\]\s+==\(\s*(.*?)\)==>\s*(0x[0-9a-f]{16})?')


def parse_iblinkinfo(text):
    """(port GUID or switch GUID, port) -> state word, for every linked port in `iblinkinfo --line`."""
    states = {}
    for line in text.split("\n"):
        match = _LINK_ROW.match(line)
        if match and match.group(5):
            states[match.group(1), int(match.group(3))] = match.group(4).split("/")[0].split()[-1]
    return states


# ---- forwarding tables ----------------------------------------------------------------------------------------

_TABLE = re.compile(r"^Unicast lids \[.*\bguid (0x[0-9a-f]{16})")
_ENTRY = re.compile(r"^(0x[0-9a-f]{4}) (\d{3})\b")


def parse_tables(text):
    """GUID -> {LID: port}, from dump_fts or from an opensm-lfts.dump; LIDs without a route are in neither."""
    tables, table = {}, None
    for line in text.split("\n"):
        if match := _TABLE.match(line):
            table = tables.setdefault(match.group(1), {})
        elif table is not None and (match := _ENTRY.match(line)) and int(match.group(2)) != 255:
            table[int(match.group(1), 16)] = int(match.group(2))
    return tables


# ---- ibtracert ------------------------------------------------------------------------------------------------

_FROM = re.compile(r"^From (\w+) \{(0x[0-9a-f]{16})\} portnum (\d+)")
_HOP = re.compile(r"^\[(\d+)\] -> (\w+) port \{(0x[0-9a-f]{16})\}\[(\d+)\]")


def parse_ibtracert(text):
    """[(GUID, out port), ...] of each device that forwards, the source first, and (GUID, in port) of the last."""
    steps, arrival = [], None
    at = None
    for line in text.split("\n"):
        if match := _FROM.match(line):
            at = match.group(2)
        elif match := _HOP.match(line):
            steps.append((at, int(match.group(1))))
            at = match.group(3)
            arrival = (at, int(match.group(4)))
    return steps, arrival


# ---- ibdmchk --------------------------------------------------------------------------------------------------

@dataclass
class Checked:
    paths: int = 0
    lost: int = 0                  # of the paths; where there are any it does not look for credit loops
    errors: list = field(default_factory=list)
    credit_loops: bool = True      # until it says otherwise
    in_pieces: bool = False        # the fabric, and that was all it looked at
    complete: bool = False         # it came to one of its ends


def parse_ibdmchk(text):
    checked = Checked()
    for line in text.split("\n"):
        if match := re.match(r"-I- Scanned:(\d+) CA to CA paths", line):
            checked.paths = int(match.group(1))
        elif match := re.match(r"-E- Found (\d+) missing paths out of:(\d+) paths", line):
            checked.lost, checked.paths = int(match.group(1)), int(match.group(2))
        if line.startswith("-E-"):
            checked.errors.append(line)
        elif "no credit loops found" in line:
            checked.credit_loops = False
        if "un-reachable lids" in line:
            checked.in_pieces = checked.complete = True
        if re.search("no credit loops found|^-E- credit loops in routing|^-E- Some Point to Point Traversals Failed", line):
            checked.complete = True
    return checked
