#!/usr/bin/env python3
"""The PathRecords of many sources, a table each, as fast as they come.

    path_asker.py < SOURCE_LIDS > TABLES

A table: the source's LID and the size of its records, 4 bytes each in the machine's order, then the records.
"""

import selectors
import struct
import sys

import sa_wire as sa
from umad import Umad

WINDOW, MILLISECONDS, RETRIES = 4, 1000, 10
HEAD = struct.Struct("=II")


def main():
    umad = Umad()
    port, open_, waiting = umad.port(), {}, [int(line) for line in sys.stdin][::-1]
    selector, tid = selectors.DefaultSelector(), 0
    selector.register(umad, selectors.EVENT_READ)
    while open_ or waiting:
        while waiting and len(open_) < WINDOW:
            tid, lid = tid + 1, waiting.pop()
            open_[tid] = lid
            umad.send(sa.request(sa.GET_TABLE, sa.PATH_RECORD, tid, SLID=lid), port.sm_lid, port.sm_sl, MILLISECONDS, RETRIES)
        selector.select()
        while received := umad.receive():
            status, mad, _ = received
            answer = sa.answer(mad.ljust(sa.DATA_AT, b"\0"))
            lid = open_.pop(answer.tid)
            if status or answer.status:
                raise SystemExit(f"LID {lid}: {status or hex(answer.status)}")
            sys.stdout.buffer.write(HEAD.pack(lid, len(answer.data)) + answer.data)
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
