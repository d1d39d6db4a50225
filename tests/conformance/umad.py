"""What a program on a host has of its InfiniBand port: libibumad, by ctypes, and two things that libibumad has not and
verbs have: a UD queue pair of the program's own, and the port's asynchronous events. Those come from ibfabric-sim itself,
by its protocol (sim/process/protocol.hpp, commands.hpp)."""

import ctypes
import os
import socket
import struct
from dataclasses import dataclass

from sa_wire import MAD_BYTES

SMI_QP, GSI_QP, GSI_QKEY = 0, 1, 0x80010000
SUBN_LID, SUBN_ADM, SUBN_ADM_VERSION, KERNEL_RMPP = 1, 3, 2, 1
ACTIVE = 4
TIMED_OUT = 110
LONGEST_MESSAGE = 8 << 20


class _Port(ctypes.Structure):
    _fields_ = [("ca_name", ctypes.c_char * 20), ("portnum", ctypes.c_int), ("base_lid", ctypes.c_uint), ("lmc", ctypes.c_uint),
                ("sm_lid", ctypes.c_uint), ("sm_sl", ctypes.c_uint), ("state", ctypes.c_uint), ("phys_state", ctypes.c_uint),
                ("rate", ctypes.c_uint), ("capmask", ctypes.c_uint32), ("gid_prefix", ctypes.c_uint64),
                ("port_guid", ctypes.c_uint64), ("pkeys_size", ctypes.c_uint), ("pkeys", ctypes.POINTER(ctypes.c_uint16)),
                ("link_layer", ctypes.c_char * 20)]


@dataclass(frozen=True)
class PortState:
    """As sysfs shows it."""
    lid: int
    sm_lid: int
    sm_sl: int
    active: bool
    gid: int
    pkey: int  # at index 0


def _libibumad():
    ctypes.CDLL("libibumad.so.3", mode=ctypes.RTLD_GLOBAL)
    library = ctypes.CDLL(None, use_errno=True)  # of the whole program: what is preloaded comes first
    library.umad_init()
    return library


class Umad:
    """One agent on the first port: of class SubnAdm, with the kernel's RMPP, or of LID-routed SMPs."""

    _USER_MAD = struct.Struct("=5I")
    _ADDRESS = struct.Struct(">IIHBBBBBB16sI")

    def __init__(self, kind=SUBN_ADM):
        self.library = _libibumad()
        self.fd = self.library.umad_open_port(None, 0)
        version, rmpp = (SUBN_ADM_VERSION, KERNEL_RMPP) if kind == SUBN_ADM else (1, 0)
        self.qp = (GSI_QP, GSI_QKEY) if kind == SUBN_ADM else (SMI_QP, 0)
        self.agent = -1 if self.fd < 0 else self.library.umad_register(self.fd, kind, version, rmpp, None)
        if self.agent < 0:
            raise RuntimeError("no InfiniBand port, or its agent is refused")
        self.buffer = ctypes.create_string_buffer(64 + LONGEST_MESSAGE)

    def fileno(self):
        return self.fd

    def port(self):
        port = _Port()
        if self.library.umad_get_port(None, 0, ctypes.byref(port)) < 0:
            raise RuntimeError("no InfiniBand port")
        gid = port.gid_prefix.to_bytes(8, "little") + port.port_guid.to_bytes(8, "little")
        state = PortState(port.base_lid, port.sm_lid, port.sm_sl, port.state == ACTIVE, int.from_bytes(gid, "big"),
                          port.pkeys[0] if port.pkeys_size else 0)
        self.library.umad_release_port(ctypes.byref(port))
        return state

    def send(self, mad, lid, sl, timeout_ms, retries):
        address = self._ADDRESS.pack(*self.qp, lid, sl, 0, 0, 0, 0, 0, bytes(16), 0)
        head = self._USER_MAD.pack(0, 0, 0, 0, 64 + len(mad)) + address + bytes(8)
        message = ctypes.create_string_buffer(head + mad, 64 + len(mad))
        if self.library.umad_send(self.fd, self.agent, message, len(mad), timeout_ms, retries) < 0:
            raise OSError(ctypes.get_errno(), "umad_send")

    def receive(self, wait_ms=0):
        """(status, MAD or message, sender's LID) or None."""
        length = ctypes.c_int(LONGEST_MESSAGE)
        if self.library.umad_recv(self.fd, self.buffer, ctypes.byref(length), wait_ms) < 0:
            return None
        _, status, _, _, _ = self._USER_MAD.unpack_from(self.buffer)
        address = self._ADDRESS.unpack_from(self.buffer, self._USER_MAD.size)
        return status, ctypes.string_at(ctypes.addressof(self.buffer) + 64, length.value), address[2]


def _connect():
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.connect(os.environ["IBFABRIC_SIM"])
    return connection


class OwnQp:
    """A UD queue pair with a number above 1, on P_Key index 0."""

    _HEADER = struct.Struct("=BBHI")
    _QP_REQUEST = struct.Struct("=248sB7xII")
    _MAD = struct.Struct("=7IHHBBBBBB2x16sII")
    _MAGIC, _VERSION, _OPEN_QP, _MAD_KIND, _DONE = 0xFB, 1, 7, 16, 32

    def __init__(self, number):
        self.connection = _connect()
        self._send(self._OPEN_QP, self._QP_REQUEST.pack(os.environ["IBFABRIC_NODE"].encode(), 0, number, 0))
        kind, _ = self._take()
        if kind != self._DONE:
            raise RuntimeError(f"queue pair {number} is refused")

    def fileno(self):
        return self.connection.fileno()

    def _send(self, kind, payload):
        self.connection.sendall(self._HEADER.pack(self._MAGIC, self._VERSION, kind, len(payload)) + payload)

    def _take(self):
        _, _, kind, size = self._HEADER.unpack(self.connection.recv(self._HEADER.size, socket.MSG_WAITALL))
        return kind, self.connection.recv(size, socket.MSG_WAITALL)

    def send(self, mad, lid, sl):
        self._send(self._MAD_KIND, self._MAD.pack(0, 0, 0, 0, GSI_QP, GSI_QKEY, 0, lid, 0, sl, 0, 0, 0, 0, 0, bytes(16),
                                                  len(mad), 0) + mad)

    def receive(self):
        """(MAD, sender's LID); where one waits."""
        _, payload = self._take()
        return payload[self._MAD.size:self._MAD.size + MAD_BYTES], self._MAD.unpack_from(payload)[7]


class PortEvents:
    """Counts of what the driver told the host of its port."""

    def __init__(self):
        self.connection = _connect()
        self.lines = self.connection.makefile("r", encoding="ascii")
        self.seen = self._counts()

    def _counts(self):
        self.connection.sendall(f"events {os.environ['IBFABRIC_NODE']}\n".encode())
        counts = {}
        for line in self.lines:
            if line == "ok\n":
                return counts
            name, count = line.split()
            counts[name] = int(count)
        raise RuntimeError("ibfabric-sim is gone")

    def take(self):
        """The names of those that happened since the last time."""
        counts = self._counts()
        happened = {name for name, count in counts.items() if count != self.seen[name]}
        self.seen = counts
        return happened
