#!/usr/bin/env python3
"""Many questions at once, from a host's port: LID-routed SMPs, and PathRecords of the SA.

    mad_asker.py < QUESTIONS > ANSWERS

A question is a line: "smp LID ATTRIBUTE MODIFIER", with hex digits after it a Set, else a Get; or "path SLID DLID". Its
answer, in the same order: the SMP's 64 bytes, or the PathRecord, in hex digits; "-" where there is none or a bad status.
"""

import sys

import sa_wire as sa
from umad import SUBN_ADM, SUBN_LID, Umad

WINDOW, MILLISECONDS, RETRIES = 16, 1000, 5
SMP_DATA_AT, SMP_DATA_BYTES, PATH_RECORD_BYTES = 64, 64, 64


def smp(tid, attribute, modifier, data):
    head = sa.HEAD.pack(1, SUBN_LID, 1, sa.SET if data else sa.GET, 0, 0, tid, attribute, 0, modifier)
    return (head.ljust(SMP_DATA_AT, b"\0") + data).ljust(sa.MAD_BYTES, b"\0")


def data_of(kind, mad):
    at, size = (SMP_DATA_AT, SMP_DATA_BYTES) if kind == SUBN_LID else (sa.DATA_AT, PATH_RECORD_BYTES)
    return mad[at:at + size].hex()


def ask(kind, questions):
    """QUESTIONS: (place, MAD made by a TID, LID or None: the SA). Yields (place, answer)."""
    umad = Umad(kind)
    port, open_, waiting, tid = umad.port(), {}, questions[::-1], 0
    while open_ or waiting:
        while waiting and len(open_) < WINDOW:
            tid += 1
            place, make, lid = waiting.pop()
            open_[tid] = place
            umad.send(make(tid), lid or port.sm_lid, 0 if lid else port.sm_sl, MILLISECONDS, RETRIES)
        received = umad.receive(MILLISECONDS * (RETRIES + 2))
        if received is None:
            raise SystemExit(f"{len(open_)} questions got neither answer nor timeout")
        status, mad, _ = received
        _, _, _, _, mad_status, _, answered, _, _, _ = sa.HEAD.unpack_from(mad)
        place = open_.pop(answered & 0xFFFFFFFF, None)
        if place is not None:
            yield place, "-" if status or mad_status else data_of(kind, mad)


def main():
    questions = {SUBN_LID: [], SUBN_ADM: []}
    for place, line in enumerate(sys.stdin):
        word, *rest = line.split()
        if word == "smp":
            lid, attribute, modifier = map(int, rest[:3])
            data = bytes.fromhex("".join(rest[3:]))
            questions[SUBN_LID].append((place, lambda tid, a=attribute, m=modifier, d=data: smp(tid, a, m, d), lid))
        else:
            slid, dlid = map(int, rest)
            questions[SUBN_ADM].append(
                (place, lambda tid, s=slid, d=dlid: sa.request(sa.GET, sa.PATH_RECORD, tid, SLID=s, DLID=d), None))
    answers = {}
    for kind, asked in questions.items():
        if asked:
            answers |= ask(kind, asked)
    for place in sorted(answers):
        print(answers[place])


if __name__ == "__main__":
    main()
