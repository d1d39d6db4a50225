"""Management datagrams of subnet administration as bytes: a request packed, an answer's records read.

Offsets and component numbers are those of IBA 15.2.5, written down here a second time and on purpose: what is tested
shares nothing with who tests it.
"""

import ipaddress
import struct
from dataclasses import dataclass

GET, SET, REPORT, GET_TABLE, DELETE, REPORT_RESP = 0x01, 0x02, 0x06, 0x12, 0x15, 0x86
CLASS_PORT_INFO, NOTICE, INFORM_INFO, NODE_RECORD, PORT_INFO_RECORD, SERVICE_RECORD, PATH_RECORD, MC_MEMBER_RECORD = (
    0x01, 0x02, 0x03, 0x11, 0x12, 0x31, 0x35, 0x38)
MAD_BYTES, DATA_AT, DATA_BYTES = 256, 56, 200
EXACTLY = 2            # a selector's value
BITS_AS_MASK = 1 << 31  # PortInfoRecord's modifier: CapabilityMask names bits that must be set

HEAD = struct.Struct(">BBBBHHQHHI")      # MAD header
_SA = struct.Struct(">QHHQ")             # SM_Key, AttributeOffset, reserved, ComponentMask


@dataclass(frozen=True)
class Field:
    components: tuple  # bits of the component mask
    at: int            # in bits
    bits: int


def _table(*rows):
    """(name, components, byte, bits before it in that byte, bits)"""
    return {name: Field(components if isinstance(components, tuple) else (components,), 8 * byte + shift, bits)
            for name, components, byte, shift, bits in rows}


FIELDS = {
    PATH_RECORD: _table(
        ("ServiceID", (0, 1), 0, 0, 64), ("DGID", 2, 8, 0, 128), ("SGID", 3, 24, 0, 128), ("DLID", 4, 40, 0, 16),
        ("SLID", 5, 42, 0, 16), ("RawTraffic", 6, 44, 0, 1), ("FlowLabel", 8, 44, 4, 20), ("HopLimit", 9, 47, 0, 8),
        ("TClass", 10, 48, 0, 8), ("Reversible", 11, 49, 0, 1), ("NumbPath", 12, 49, 1, 7), ("P_Key", 13, 50, 0, 16),
        ("QosClass", 14, 52, 0, 12), ("SL", 15, 53, 4, 4), ("MtuSelector", 16, 54, 0, 2), ("Mtu", 17, 54, 2, 6),
        ("RateSelector", 18, 55, 0, 2), ("Rate", 19, 55, 2, 6)),
    MC_MEMBER_RECORD: _table(
        ("MGID", 0, 0, 0, 128), ("PortGID", 1, 16, 0, 128), ("Q_Key", 2, 32, 0, 32), ("MLID", 3, 36, 0, 16),
        ("MtuSelector", 4, 38, 0, 2), ("Mtu", 5, 38, 2, 6), ("TClass", 6, 39, 0, 8), ("P_Key", 7, 40, 0, 16),
        ("RateSelector", 8, 42, 0, 2), ("Rate", 9, 42, 2, 6), ("SL", 12, 44, 0, 4), ("FlowLabel", 13, 44, 4, 20),
        ("HopLimit", 14, 47, 0, 8), ("Scope", 15, 48, 0, 4), ("JoinState", 16, 48, 4, 4)),
    INFORM_INFO: _table(
        ("GID", 0, 0, 0, 128), ("LIDRangeBegin", 1, 16, 0, 16), ("LIDRangeEnd", 2, 18, 0, 16), ("IsGeneric", 4, 22, 0, 8),
        ("Subscribe", 5, 23, 0, 8), ("Type", 6, 24, 0, 16), ("TrapNumber", 7, 26, 0, 16), ("QPN", 8, 28, 0, 24),
        ("ProducerType", 12, 33, 0, 24)),
    SERVICE_RECORD: _table(
        ("ServiceID", 0, 0, 0, 64), ("ServiceGID", 1, 8, 0, 128), ("ServiceP_Key", 2, 24, 0, 16),
        ("ServiceLease", 3, 28, 0, 32), ("ServiceName", 5, 48, 0, 512)),
    NODE_RECORD: _table(("LID", 0, 0, 0, 16), ("PortGUID", 7, 24, 0, 64)),
    PORT_INFO_RECORD: _table(("EndportLID", 0, 0, 0, 16), ("PortNum", 1, 2, 0, 8), ("CapabilityMask", 7, 24, 0, 32)),
    CLASS_PORT_INFO: _table(("CapabilityMask", (), 2, 0, 16), ("CapabilityMask2", (), 4, 0, 27)),
    # Of traps 64 and 65 the GID, of 144 the LID.
    NOTICE: _table(("TrapNumber", (), 4, 0, 16), ("GID", (), 16, 0, 128), ("LID", (), 12, 0, 16)),
}


@dataclass(frozen=True)
class Record:
    """One record of an answer."""
    attribute: int
    data: bytes

    def __getitem__(self, name):
        field = FIELDS[self.attribute][name]
        bits = int.from_bytes(self.data[field.at // 8:(field.at + field.bits + 7) // 8], "big")
        return bits >> -(field.at + field.bits) % 8 & (1 << field.bits) - 1


@dataclass(frozen=True)
class Answer:
    method: int
    status: int
    tid: int
    attribute: int
    attribute_offset: int
    data: bytes

    def record(self):
        return Record(self.attribute, self.data)

    def records(self):
        """Of a table, which may be empty. What follows the last whole record is filling."""
        size = 8 * self.attribute_offset
        return [Record(self.attribute, self.data[at:at + size]) for at in range(0, len(self.data) - size + 1, size)] if size else []


def request(method, attribute, tid, modifier=0, **fields):
    """A request that gives exactly these fields."""
    data, mask = 0, 0
    for name, value in fields.items():
        field = FIELDS[attribute][name]
        data |= value << 8 * DATA_BYTES - field.at - field.bits
        mask |= sum(1 << bit for bit in field.components)
    return (HEAD.pack(1, 3, 2, method, 0, 0, tid, attribute, 0, modifier) + bytes(12) + _SA.pack(0, 0, 0, mask)
            + data.to_bytes(DATA_BYTES, "big"))


def answer(mad):
    _, _, _, method, status, _, tid, attribute, _, _ = HEAD.unpack_from(mad)
    _, offset, _, _ = _SA.unpack_from(mad, 36)
    return Answer(method, status, tid & 0xFFFFFFFF, attribute, offset, mad[DATA_AT:])


def report_response(mad):
    """As srp_daemon answers: the report itself with another method."""
    return mad[:3] + bytes((REPORT_RESP,)) + mad[4:]


def gid_text(bits):
    return str(ipaddress.IPv6Address(bits))


def gid_bits(text):
    return int(ipaddress.IPv6Address(text))
