#!/usr/bin/env python3
"""'ibfabric probe run --no-traffic' through a port's umad, as a program on a host asks: of a fabric that ibfabricd brought up on
ibfabric-sim and that is healthy there is no finding; a table entry and a cable that are changed behind the subnet manager's back are
found and named, from another host and from the subnet manager's own port; what is written is nothing.

    probe.py --build BUILD_DIR --spec SPEC
"""

import argparse
import json
import os
import sys
import tempfile

from fabric_sim import FabricSim
from sa import Ours

OK, FINDING, USAGE, NO_ANSWER = 0, 1, 2, 3


def require(holds, complaint):
    if not holds:
        raise RuntimeError(complaint)


class Prober:
    """ibfabric probe run on a node, with the daemon's tables."""

    def __init__(self, sim, build, node, manager):
        self.sim, self.node = sim, node
        self.words = [os.path.join(build, "bin", "ibfabric"), "probe", "run", "--no-traffic", "--socket", manager.socket, "--json"]

    def report(self, code, *words):
        return json.loads(self.sim.run(self.node, *self.words, *words, codes=(code,)))


def switches(truth):
    return {node["description"]: node for node in truth["nodes"] if node["type"] == "Switch"}


def other_ends(truth):
    """(switch, port) -> (GUID, port) at the other end, of cables between switches."""
    name = {node["guid"]: node["description"] for node in truth["nodes"] if node["type"] == "Switch"}
    ends = {}
    for link in truth["links"]:
        if link["a"] in name and link["b"] in name:
            ends[name[link["a"]], link["a_port"]] = (name[link["b"]], link["b_port"])
            ends[name[link["b"]], link["b_port"]] = (name[link["a"]], link["a_port"])
    return ends


def healthy(sim, prober):
    before = sim.sets()
    report = prober.report(OK)
    require(not report["findings"], f"a healthy fabric: {report['findings']}")
    require(report["read"]["unanswered"] == 0, f"{report['read']['unanswered']} questions stay unanswered")
    known = len(switches(sim.truth()))
    require(report["read"]["switches"] == known, f"{report['read']['switches']} of {known} switches read")
    require(report["read"]["table_entries"] >= 64 * known, "not even a block of each table was read")
    require(sim.sets() == before, "a prober wrote")
    return f"{known} switches, {report['read']['table_entries']} entries, {report['read']['cables']} cable ends, no finding"


def wrong_entry(sim, prober):
    """An entry of a switch leads out of another port; then it is mended."""
    ends = other_ends(sim.truth())
    (name, port), _ = sorted(ends.items())[0]
    tables = {table["guid"]: table for table in sim.truth("tables")["nodes"] if "lft" in table}
    table = bytes.fromhex(next(table["lft"] for table in tables.values() if table["description"] == name))
    lid, right = next((lid, right) for lid, right in enumerate(table) if lid > 0 and right not in (0, 255, port))
    sim.control("lft-entry", name, f"lid={lid}", f"number={port}")
    report = prober.report(FINDING)
    seen = [(row["kind"], row["name"], row["lid"], row["has"], row["wants"]) for row in report["findings"]]
    require(seen == [("wrong-entry", name, lid, port, right)], f"an entry of {name}: {report['findings']}")
    sim.control("lft-entry", name, f"lid={lid}", f"number={right}")
    require(not prober.report(OK)["findings"], "an entry that was mended")
    return f"LID {lid} of {name} leads to port {port}, not {right}"


def swapped_cables(sim, prober):
    """Two cables of a switch to others change their far ends; nobody is told."""
    ends = other_ends(sim.truth())
    name = sorted(ends)[0][0]
    first = next(port for (at, port) in sorted(ends) if at == name)
    second = next(port for (at, port) in sorted(ends) if at == name and ends[at, port][0] != ends[name, first][0])
    swap = ("swap-cables", f"{name}/{first}", f"with={name}/{second}")
    sim.control(*swap)
    report = prober.report(FINDING)
    # A cable is told from one of its ends; the other stands beside.
    ours = {(name, first), (name, second), ends[name, first], ends[name, second]}
    told = set()
    for row in report["findings"]:
        require(row["kind"] == "miswired-cable", f"swapped cables: {row}")
        told |= {(row["name"], row["port"])} | ({(row["peer"]["name"], row["peer"]["port"])} if row.get("peer") else set())
    require(told == ours, f"swapped cables: {sorted(told)} told, not {sorted(ours)}")
    sim.control(*swap)
    require(not prober.report(OK)["findings"], "cables that were swapped back")
    return f"{name}/{first} and {name}/{second}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True, type=os.path.abspath)
    parser.add_argument("--spec", required=True)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="ibf-") as folder, FabricSim(options.build, options.spec, folder) as sim:
        hosts = sorted(node["description"] for node in sim.truth()["nodes"] if node["type"] != "Switch")
        # Light sweeps would find out by themselves, later; here nobody looks but the prober.
        config = os.path.join(folder, "conf")
        with open(config, "w", encoding="ascii") as file:
            file.write('[sm]\nsweep_interval = "0s"\n')
        manager = Ours(sim, options.build, hosts[0], folder, "--config", config)
        manager.wait_up()
        manager.wait_lanes()
        for node in (hosts[-1], hosts[0]):
            prober = Prober(sim, options.build, node, manager)
            for check in (healthy, wrong_entry, swapped_cables):
                print(f"  from {node}: {check.__name__.replace('_', ' ')}: {check(sim, prober)}")
        listed = json.loads(sim.run(hosts[0], os.path.join(options.build, "bin", "ibfabric"), "probe", "list", "--json", "--socket",
                                    manager.socket))["runs"]
        require(len(listed) == 10, f"{len(listed)} runs are kept, not 10")
        manager.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
