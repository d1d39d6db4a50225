#!/usr/bin/env python3
"""A Linux host, as far as a subnet manager sees one: the SA clients of the kernel and of its usual daemons, with their
component masks, time-outs and retries. Runs on one node of ibfabric-sim, like any program with libibumad.

    kernel_double.py [--driver mlx5|qib]

Commands come as JSON, a line each, and are answered by a line each: see Host. What is modelled, by its place in Linux 6.x
and rdma-core 44:

  core/sa_query.c          the SM's address is read at port events alone; ten retries within the caller's time; any status
                           but 0 is -EINVAL, at once
  core/multicast.c         after an event all memberships are void, and none is left
  ulp/ipoib                broadcast group first, then the others with its values; back-off 2 to 16 s; joins anew after an
                           event; send-only joins as send-only full members where ClassPortInfo knows them
  core/cma.c               rdma_resolve_route()
  srp_daemon               subscriptions from a queue pair of its own, IsDM ports, ReportResp
  ibacm, ibqueryerrors     a group of its own; the paths to all destinations in one table

Drivers differ: mlx5's do not tell of a new SM LID, qib's do.
"""

import argparse
import heapq
import itertools
import json
import selectors
import signal
import sys
import time

import sa_wire as sa
from umad import TIMED_OUT, OwnQp, PortEvents, Umad

EINVAL, ETIMEDOUT = "EINVAL", "ETIMEDOUT"
EVENTS_SECONDS = 0.05
FULL_MEMBER, SEND_ONLY_FULL_MEMBER = 1, 8
SEND_ONLY_BIT = 1 << 12  # ClassPortInfo.CapabilityMask2
IS_DM, IS_SM = 1 << 19, 1 << 1
DRIVERS = {"mlx5": {"port-active", "port-error", "lid-change", "client-reregister", "pkey-change"}}
DRIVERS["qib"] = DRIVERS["mlx5"] | {"sm-change"}


class Loop:
    """Descriptors and timers of one thread."""

    def __init__(self):
        self.selector = selectors.DefaultSelector()
        self.timers, self.order, self.over = [], itertools.count(), False

    def watch(self, what, handler):
        self.selector.register(what, selectors.EVENT_READ, handler)

    def forget(self, what):
        self.selector.unregister(what)

    def after(self, seconds, action):
        heapq.heappush(self.timers, (time.monotonic() + seconds, next(self.order), action))

    def run(self):
        while not self.over:
            wait = max(0, self.timers[0][0] - time.monotonic()) if self.timers else None
            for key, _ in self.selector.select(wait):
                key.data()
            while self.timers and self.timers[0][0] <= time.monotonic():
                heapq.heappop(self.timers)[2]()


class KernelSa:
    """core/sa_query.c: one client of the SA for all the kernel."""

    RETRIES = 10

    def __init__(self, loop):
        self.umad, self.tid, self.open = Umad(), 0, {}
        self.port = self.umad.port()
        loop.watch(self.umad, self._receive)

    def update_address(self):
        """At port events, and never else: between them a new SM LID in PortInfo goes unnoticed."""
        self.port = self.umad.port()

    def query(self, method, attribute, milliseconds, done, modifier=0, **fields):
        """DONE(error, answer): error None, EINVAL or ETIMEDOUT."""
        self.tid += 1
        self.open[self.tid] = done
        mad = sa.request(method, attribute, self.tid, modifier, **fields)
        self.umad.send(mad, self.port.sm_lid, self.port.sm_sl, milliseconds // self.RETRIES, self.RETRIES)

    def _receive(self):
        while received := self.umad.receive():
            status, mad, _ = received
            answer = sa.answer(mad.ljust(sa.DATA_AT, b"\0"))
            done = self.open.pop(answer.tid)
            if status:
                done(ETIMEDOUT if status == TIMED_OUT else EINVAL, None)
            else:
                done(EINVAL if answer.status else None, answer)


class Group:
    """struct ipoib_mcast."""

    def __init__(self, mgid, join_state):
        self.mgid, self.join_state = mgid, join_state
        self.record, self.busy, self.backoff, self.not_before = None, False, 1, 0.0
        self.joins = 0  # requests begun
        self.failures = []


class Ipoib:
    """One interface. Groups: broadcast, all hosts, its own solicited-node group, and those that commands add."""

    JOIN_MS, PATH_MS, CLASS_PORT_INFO_MS = 3000, 1000, 3000
    MAX_BACKOFF = 16

    def __init__(self, loop, kernel):
        self.loop, self.kernel = loop, kernel
        self.groups, self.send_only_known, self.up = {}, None, False
        self.pkey = kernel.port.pkey
        own = kernel.port.gid & 0xFFFFFF
        partition = self.pkey << 80
        base = 0xFF12_401B << 96 | partition
        base6 = 0xFF12_601B << 96 | partition
        self.broadcast = self._add(base | 0xFFFFFFFF, FULL_MEMBER)
        self._add(base | 1, FULL_MEMBER)                                # 224.0.0.1
        self._add(base6 | 1, FULL_MEMBER)                               # ff02::1
        self._add(base6 | 1 << 32 | 0xFF000000 | own, FULL_MEMBER)      # solicited-node

    def _add(self, mgid, join_state):
        return self.groups.setdefault(mgid, Group(mgid, join_state))

    def joined(self):
        return self.up and all(group.record for group in self.groups.values())

    def send_to(self, mgid):
        """Traffic to a group that nobody here receives."""
        self._add(mgid, SEND_ONLY_FULL_MEMBER)
        self._join_task()

    def on_events(self, is_up):
        """ib_sa's memberships are void (MCAST_GROUP_ERROR), so nothing is left; all is joined anew."""
        for group in self.groups.values():
            group.record, group.backoff, group.not_before = None, 1, 0.0
        self.up = is_up
        self._join_task()

    def _join_task(self):
        if not self.up:
            return
        if not self.broadcast.record:
            self._start(self.broadcast)
            return
        if self.send_only_known is None:
            return
        for group in self.groups.values():
            self._start(group)

    def _start(self, group):
        if group.busy or group.record or time.monotonic() < group.not_before:
            return
        fields = {"MGID": group.mgid, "PortGID": self.kernel.port.gid, "P_Key": self.pkey, "JoinState": group.join_state}
        if group.join_state == SEND_ONLY_FULL_MEMBER and not self.send_only_known:
            fields["JoinState"] = FULL_MEMBER
        if group is not self.broadcast:
            model = self.broadcast.record
            fields |= {name: model[name] for name in ("Q_Key", "Mtu", "TClass", "Rate", "SL", "FlowLabel", "HopLimit")}
            fields |= {"MtuSelector": sa.EXACTLY, "RateSelector": sa.EXACTLY}
        group.busy = True
        group.joins += 1
        self.kernel.query(sa.SET, sa.MC_MEMBER_RECORD, self.JOIN_MS,
                          lambda error, answer: self._joined(group, error, answer), **fields)

    def _joined(self, group, error, answer):
        group.busy = False
        if error:
            group.failures.append(error)
            group.backoff = min(2 * group.backoff, self.MAX_BACKOFF)
            group.not_before = time.monotonic() + group.backoff
            self.loop.after(group.backoff + 0.001, self._join_task)
            return
        group.record, group.backoff = answer.record(), 1
        if group is self.broadcast and self.send_only_known is None:
            self.kernel.query(sa.GET, sa.CLASS_PORT_INFO, self.CLASS_PORT_INFO_MS, self._class_port_info)
        else:
            self._join_task()

    def _class_port_info(self, error, answer):
        self.send_only_known = not error and bool(answer.record()["CapabilityMask2"] & SEND_ONLY_BIT)
        self._join_task()

    def leave_all(self, done):
        """ip link set down. DONE(errors)"""
        groups, failures = [group for group in self.groups.values() if group.record], []
        self.up, waiting = False, len(groups)

        def left(error, _answer):
            nonlocal waiting
            waiting -= 1
            failures.extend([error] if error else [])
            if waiting == 0:
                done(failures)
        for group in groups:
            state, group.record = group.record["JoinState"], None
            self.kernel.query(sa.DELETE, sa.MC_MEMBER_RECORD, self.JOIN_MS, left, MGID=group.mgid,
                              PortGID=self.kernel.port.gid, JoinState=state)

    def resolve(self, dgid, done):
        """path_rec_start()."""
        self.kernel.query(sa.GET, sa.PATH_RECORD, self.PATH_MS, done, DGID=dgid, SGID=self.kernel.port.gid, NumbPath=1,
                          TClass=self.broadcast.record["TClass"] if self.broadcast.record else 0, P_Key=self.pkey)


class RdmaCm:
    """rdma_resolve_route(), for an IPv4 (type of service) or IPv6 (traffic class) address."""

    PORT_SPACE_TCP = 0x0106 << 16
    LISTENER = 3260  # iSER

    def __init__(self, kernel, pkey):
        self.kernel, self.pkey = kernel, pkey

    def resolve(self, dgid, family, milliseconds, done):
        quality = {"QosClass": 0} if family == 4 else {"TClass": 0}
        self.kernel.query(sa.GET, sa.PATH_RECORD, milliseconds, done, DGID=dgid, SGID=self.kernel.port.gid, P_Key=self.pkey,
                          NumbPath=1, Reversible=1, ServiceID=self.PORT_SPACE_TCP | self.LISTENER, **quality)


class SrpDaemon:
    """Subscribes from a queue pair of its own, sends each request at most three times, a second apart, and begins anew
    at each port event."""

    SENDS, ANSWER_SECONDS = 3, 1.0
    SUBSCRIPTIONS = ((64, 3, 4), (65, 3, 4), (144, 4, 1))  # trap, notice type, producer
    PORTS_MS = 5000

    def __init__(self, loop, kernel, number):
        self.loop, self.kernel = loop, kernel
        self.qp = OwnQp(number)
        self.tid, self.waiting, self.sends = 0xFFFF, {}, 0
        self.subscribed = dict.fromkeys((trap for trap, _, _ in self.SUBSCRIPTIONS), 0)  # how often
        self.failures, self.reports = [], []
        self.sm_lid = None
        loop.watch(self.qp, self._receive)

    def begin(self, is_up):
        """srp_daemon's main loop: address handle, then subscriptions."""
        if not is_up:
            return
        self.sm_lid = self.kernel.port.sm_lid
        self.waiting.clear()
        for subscription in self.SUBSCRIPTIONS:
            self._subscribe(subscription, 1)

    def close(self):
        self.waiting.clear()
        self.loop.forget(self.qp)
        self.qp.connection.close()

    def _subscribe(self, subscription, attempt):
        trap, kind, producer = subscription
        self.tid += 1
        tid = self.tid
        self.waiting[tid] = trap
        self.sends += 1
        self.qp.send(sa.request(sa.SET, sa.INFORM_INFO, tid, LIDRangeBegin=0xFFFF, IsGeneric=1, Subscribe=1, Type=kind,
                                TrapNumber=trap, ProducerType=producer), self.sm_lid, 0)

        def check():
            if self.waiting.pop(tid, None) is None:
                return
            if attempt < self.SENDS:
                self._subscribe(subscription, attempt + 1)
            else:
                self.failures.append(trap)
        self.loop.after(self.ANSWER_SECONDS, check)

    def _receive(self):
        mad, lid = self.qp.receive()
        answer = sa.answer(mad)
        if answer.method == sa.REPORT:
            self.qp.send(sa.report_response(mad), lid, 0)
            notice = answer.record()
            trap = notice["TrapNumber"]
            self.reports.append((trap, notice["LID"] if trap == 144 else sa.gid_text(notice["GID"])))
        elif (trap := self.waiting.pop(answer.tid, None)) is not None:
            if answer.status:
                self.failures.append(trap)
            else:
                self.subscribed[trap] += 1

    def ports(self, capability, done):
        """GetTable of the ports that have a capability; an empty table is an answer."""
        self.kernel.query(sa.GET_TABLE, sa.PORT_INFO_RECORD, self.PORTS_MS, done, modifier=sa.BITS_AS_MASK,
                          CapabilityMask=capability)

    def node(self, lid, done):
        self.kernel.query(sa.GET, sa.NODE_RECORD, self.PORTS_MS, done, LID=lid)


class Host:
    """The kernel, the daemons, and the commands that move them: {"do": NAME, ...} is answered by one line of JSON."""

    def __init__(self, driver):
        self.loop = Loop()
        self.events, self.heard = PortEvents(), DRIVERS[driver]  # before the port is read: what comes between is heard
        self.kernel = KernelSa(self.loop)
        self.history = []  # events, in order
        self.up = self.kernel.port.active
        self.ipoib = self.cm = self.srp = None
        self.loop.watch(sys.stdin.buffer, self._read)
        self.buffer = b""
        self._poll_events()

    def _poll_events(self):
        happened = self.events.take() & self.heard
        if happened:
            self.history += sorted(happened)
            self.kernel.update_address()
            # Up is what the event said: a port may well be Active before its driver tells.
            self.up = self.kernel.port.active and (self.up or "port-active" in happened)
            # A P_Key that stays at index 0 changes nothing (IPOIB_FLUSH_HEAVY).
            if happened != {"pkey-change"}:
                for client in (self.ipoib and self.ipoib.on_events, self.srp and self.srp.begin):
                    if client:
                        client(self.up)
        self.loop.after(EVENTS_SECONDS, self._poll_events)

    def _read(self):
        data = sys.stdin.buffer.read1(1 << 16)
        if not data:
            self.loop.over = True
            return
        *lines, self.buffer = (self.buffer + data).split(b"\n")
        for line in lines:
            command = json.loads(line)
            getattr(self, "do_" + command.pop("do").replace("-", "_"))(**command)

    @staticmethod
    def say(**what):
        print(json.dumps(what), flush=True)

    def do_start(self, qp=None):
        """ip link set up, and srp_daemon on queue pair QP."""
        self.ipoib = Ipoib(self.loop, self.kernel)
        self.cm = RdmaCm(self.kernel, self.ipoib.pkey)
        if qp:
            self.srp = SrpDaemon(self.loop, self.kernel, qp)
        self.ipoib.on_events(self.up)
        if qp:
            self.srp.begin(self.up)
        self.say(started=True)

    def do_stop(self):
        self.ipoib.leave_all(lambda failures: self.say(failures=failures))

    def do_kill_srp(self):
        """srp_daemon dies, and its queue pair with it; the kernel lives."""
        self.srp.close()
        self.srp = None
        self.say(killed=True)

    def do_send_to(self, mgid):
        self.ipoib.send_to(sa.gid_bits(mgid))
        self.say(sending=mgid)

    def do_state(self):
        groups = {}
        for group in self.ipoib.groups.values():
            fields = ("MLID", "Q_Key", "Mtu", "Rate", "SL", "JoinState")
            groups[sa.gid_text(group.mgid)] = {
                "joins": group.joins, "failures": group.failures, "state": group.join_state,
                "record": {name: group.record[name] for name in fields} if group.record else None}
        srp = self.srp and {"subscribed": self.srp.subscribed, "sends": self.srp.sends, "failures": self.srp.failures,
                            "reports": self.srp.reports}
        self.say(gid=sa.gid_text(self.kernel.port.gid), joined=self.ipoib.joined(), groups=groups, srp=srp or {}, lid=self.kernel.port.lid,
                 sm_lid=self.kernel.port.sm_lid, active=self.kernel.port.active, events=self.history)

    def do_resolve(self, gids, by="ipoib", milliseconds=2000, tries=1):
        """Paths to hosts; a failed one again after a second, up to TRIES times, as traffic or its user would. Answers when
        all are done: {gid: [SLID, DLID, SL, MTU code, rate code] or an error}"""
        found = {}

        def ask(gid, left):
            def done(error, answer):
                if error and left > 1:
                    self.loop.after(1, lambda: ask(gid, left - 1))
                    return
                record = None if error else answer.record()
                found[gid] = error or [record[name] for name in ("SLID", "DLID", "SL", "Mtu", "Rate")]
                if len(found) == len(gids):
                    self.say(paths=found)
            if by == "ipoib":
                self.ipoib.resolve(sa.gid_bits(gid), done)
            else:
                self.cm.resolve(sa.gid_bits(gid), 4 if by == "cm4" else 6, milliseconds, done)
        for gid in gids:
            ask(gid, tries)

    def do_ports(self, capability):
        """srp_daemon's search, and a NodeRecord Get for each port that it found."""
        def done(error, answer):
            if error:
                self.say(error=error)
                return
            lids, nodes = [record["EndportLID"] for record in answer.records()], {}

            def got(lid):
                def note(error, answer):
                    nodes[lid] = error or f"0x{answer.record()['PortGUID']:016x}"
                    if len(nodes) == len(lids):
                        self.say(ports=nodes)
                return note
            for lid in lids:
                self.srp.node(lid, got(lid))
            if not lids:
                self.say(ports={})
        self.srp.ports({"IsDM": IS_DM, "IsSM": IS_SM}[capability], done)

    def do_raw(self, method, attribute, **fields):
        """One request of these very fields: the error, if any, and a path's end."""
        def done(error, answer):
            self.say(error=error, dlid=answer.record()["DLID"] if not error and attribute == "PathRecord" else None)
        methods = {"get": sa.GET, "set": sa.SET}
        attributes = {"PathRecord": sa.PATH_RECORD, "MCMemberRecord": sa.MC_MEMBER_RECORD}
        self.kernel.query(methods[method], attributes[attribute], 3000, done,
                          **{name: sa.gid_bits(value) if isinstance(value, str) else value for name, value in fields.items()})

    def do_half_world(self, milliseconds=10000, tries=1):
        """MPI's start and ibqueryerrors: the paths from here to everybody. {DLID: number of records}"""
        began = time.monotonic()

        def ask(left):
            self.kernel.query(sa.GET_TABLE, sa.PATH_RECORD, milliseconds, lambda *result: done(left, *result),
                              SGID=self.kernel.port.gid, NumbPath=1, Reversible=1)

        def done(left, error, answer):
            if error and left > 1:
                ask(left - 1)
                return
            counts = {}
            for record in answer.records() if answer else []:
                counts[record["DLID"]] = counts.get(record["DLID"], 0) + 1
            self.say(error=error, dlids=counts, tries=tries - left + 1, seconds=time.monotonic() - began)
        ask(tries)

    def do_acm(self, mgid):
        """ibacm's own group, made of its port's values; then what it asks for first."""
        port = self.kernel.port

        def joined(error, answer):
            self.say(error=error, mlid=answer.record()["MLID"] if answer else None)
        model = self.ipoib.broadcast.record
        self.kernel.query(sa.SET, sa.MC_MEMBER_RECORD, 2000, joined, MGID=sa.gid_bits(mgid), PortGID=port.gid, Q_Key=0x01234567,
                          MtuSelector=sa.EXACTLY, Mtu=model["Mtu"], TClass=0, P_Key=self.ipoib.pkey, RateSelector=sa.EXACTLY,
                          Rate=model["Rate"], SL=0, FlowLabel=0, Scope=5, JoinState=FULL_MEMBER)

    def do_service(self, method, service):
        """A service of this port: registered (set) or looked for (get-table), as rdma_resolve_addrinfo() does."""
        def done(error, answer):
            self.say(error=error, found=len(answer.records()) if answer and method == "get-table" else None)
        own = {} if method == "get-table" else {"ServiceGID": self.kernel.port.gid, "ServiceP_Key": self.ipoib.pkey,
                                                "ServiceLease": 0xFFFFFFFF}
        self.kernel.query({"set": sa.SET, "get-table": sa.GET_TABLE}[method], sa.SERVICE_RECORD, 2000, done,
                          ServiceID=service, **own)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--driver", choices=sorted(DRIVERS), default="mlx5")
    options = parser.parse_args()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    Host(options.driver).loop.run()


if __name__ == "__main__":
    main()
