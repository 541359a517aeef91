# SPDX-License-Identifier: Apache-2.0
"""Processes share one UDP or TCP port, and each source goes to one of them.

    import reuseport_lb as lb

    sock = lb.udp_socket("0.0.0.0", 2055)
    group = lb.Group("netflow", count=3)
    with group.join(sock, slot=0):
        while datagram := sock.recvfrom(65535):
            ...

It calls libreuseportlb.so.1, which `make install` installs; the environment variable REUSEPORTLB_LIBRARY names
another file. Errors are OSError with the library's remedy as text. `man 3 reuseport_lb` describes every function.
"""

import ctypes
import ipaddress
import os
import socket
import sys
from collections import namedtuple

__all__ = [
    "Counters", "Group", "Info", "Member", "Membership", "Sample", "destroy", "udp_socket",
]

KEYS = {
    "source_ip": 1, "four_tuple": 2, "round_robin": 3, "random": 4, "payload": 5, "cpu": 6,
}
PAYLOADS = {
    "bytes": 1, "ipfix_domain": 2, "netflow_source": 3, "radius_id": 4, "sip_call_id": 5,
    "quic_server_id": 6, "dtls_server_id": 7,
}
MEMBERS_LISTED = 4 * 1024

Counters = namedtuple("Counters", "selected fallback missed")
Info = namedtuple("Info", "count key seed capacity flows is_fallback")
Member = namedtuple("Member", "slot protocol cookie generation pid uid is_previous")
Sample = namedtuple("Sample", "name help is_counter labels value")


class _Payload(ctypes.Structure):
    _fields_ = [
        ("kind", ctypes.c_uint), ("offset", ctypes.c_uint32), ("length", ctypes.c_uint32),
        ("skip", ctypes.c_uint32),
    ]


_Log = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int, ctypes.c_char_p)


class _Options(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_size_t), ("pin_root", ctypes.c_char_p), ("count", ctypes.c_uint32),
        ("key", ctypes.c_uint), ("seed", ctypes.POINTER(ctypes.c_uint64)),
        ("owner", ctypes.c_uint), ("owner_group", ctypes.c_uint), ("mode", ctypes.c_uint),
        ("flags", ctypes.c_uint), ("object", ctypes.c_void_p), ("object_bytes", ctypes.c_size_t),
        ("log", _Log), ("log_context", ctypes.c_void_p), ("payload", _Payload),
        ("capacity", ctypes.c_uint32), ("flows", ctypes.c_uint32),
    ]


class _Info(ctypes.Structure):
    _fields_ = [
        ("abi", ctypes.c_uint32), ("count", ctypes.c_uint32), ("key", ctypes.c_uint),
        ("seed", ctypes.c_uint64), ("address", ctypes.c_uint64 * 16), ("payload", _Payload),
        ("capacity", ctypes.c_uint32), ("flows", ctypes.c_uint32), ("is_fallback", ctypes.c_int),
    ]


class _Counters(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint64) for name in Counters._fields]


class _Member(ctypes.Structure):
    _fields_ = [
        ("slot", ctypes.c_uint32), ("protocol", ctypes.c_int), ("cookie", ctypes.c_uint64),
        ("joined_ns", ctypes.c_uint64), ("generation", ctypes.c_uint64), ("pid", ctypes.c_int),
        ("uid", ctypes.c_uint), ("is_previous", ctypes.c_int),
    ]


class _Label(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("value", ctypes.c_char_p)]


class _Sample(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p), ("help", ctypes.c_char_p), ("is_counter", ctypes.c_int),
        ("labels", ctypes.POINTER(_Label)), ("label_count", ctypes.c_size_t),
        ("value", ctypes.c_uint64),
    ]


_Each = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.POINTER(_Sample))
_library = ctypes.CDLL(os.environ.get("REUSEPORTLB_LIBRARY", "libreuseportlb.so.1"))
_library.rplb_explain_call.restype = ctypes.c_char_p
_library.rplb_group_close.restype = None
_ANY, _OPEN, _DESTROY, _SOCKET, _JOIN, _LEAVE, _RESIZE, _REPORT = range(8)


def _check(result, call, subject):
    if result < 0:
        remedy = _library.rplb_explain_call(call, result).decode()
        raise OSError(-result, remedy, subject)
    return result


def _address(address, port):
    """A struct sockaddr_in or sockaddr_in6, and its length."""
    ip = ipaddress.ip_address(address)
    number = int(port).to_bytes(2, "big")
    if ip.version == 4:
        raw = socket.AF_INET.to_bytes(2, sys.byteorder) + number + ip.packed + bytes(8)
    else:
        raw = socket.AF_INET6.to_bytes(2, sys.byteorder) + number + bytes(4) + ip.packed + bytes(4)
    return ctypes.create_string_buffer(raw, len(raw)), len(raw)


def udp_socket(address, port, receive_buffer=0):
    """A bound UDP socket with SO_REUSEPORT. `receive_buffer`: bytes for SO_RCVBUF; 0 for the system's default."""
    raw, length = _address(address, port)
    fd = ctypes.c_int()
    _check(
        _library.rplb_socket_udp(raw, length, receive_buffer, ctypes.byref(fd)), _SOCKET,
        f"{address} port {port}")
    return socket.socket(fileno=fd.value)


def destroy(name, pin_root=None):
    """Removes the pins of a group without live members."""
    _check(_library.rplb_group_destroy(_text(pin_root), name.encode()), _DESTROY, name)


def _text(text):
    return None if text is None else os.fsencode(text)


class Membership:
    """A socket in a slot. Leaving the `with` block, or `retire`, takes it out."""

    def __init__(self, group, sock, slot):
        self.slot = slot
        self._group = group
        self._socket = sock

    def leave(self):
        """Empties the slot: its sources go to other members. The socket's queue can still be read."""
        self._group._call("rplb_leave", _LEAVE, self._socket.fileno())

    def retire(self):
        """Leaves the slot for good. Nothing more arrives: read the queue until it is empty, then close the socket."""
        self._group._call("rplb_retire", _LEAVE, self._socket.fileno())

    def is_replaced(self):
        """Whether another live socket has replaced this one in its slot."""
        return bool(self._group._call("rplb_is_replaced", _LEAVE, self._socket.fileno()))

    def drain(self, size=65535):
        """Retires, and yields (bytes, source) of what waits in the socket's queue. Loses nothing."""
        self.retire()
        while True:
            try:
                yield self._socket.recvfrom(size, socket.MSG_DONTWAIT)
            except BlockingIOError:
                return

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        if self._socket.fileno() < 0:
            return
        try:
            self.leave()
        except FileNotFoundError:
            pass  # it has left by other means


class Group:
    """The group `name`, opened or created; None for a private group.

    count: the number of members; None keeps the group's. key: a word of KEYS. payload: (kind of PAYLOADS, offset,
    length, skip) for the key "payload". seed, owner, owner_group, mode, capacity, flows: as rplb_options.
    existing: never create it. mount: mount a BPF file system if there is none. fallback: RPLB_FALLBACK. log: gets
    (level, line); level 0 is an error.
    """

    def __init__(
            self, name=None, count=None, key=None, payload=None, seed=None, pin_root=None,
            owner=None, owner_group=None, mode=0, capacity=0, flows=0, existing=False,
            mount=False, fallback=False, log=None):
        self.name = name
        self._handle = None
        options = _Options(size=ctypes.sizeof(_Options), pin_root=_text(pin_root))
        options.count = count or 0
        options.key = KEYS[key] if key else 0
        if payload:
            options.payload = _Payload(PAYLOADS[payload[0]], *payload[1:])
        if seed is not None:
            options.seed = ctypes.pointer(ctypes.c_uint64(seed))
        options.owner = 0xFFFFFFFF if owner is None else owner
        options.owner_group = 0xFFFFFFFF if owner_group is None else owner_group
        options.mode = mode
        options.capacity = capacity
        options.flows = flows
        options.flags = existing * 1 + mount * 2 + fallback * 4
        # Kept: the library holds a pointer to it.
        self._log = _Log(lambda _, level, line: log(level, line.decode(errors="replace"))) \
            if log else _Log()
        options.log = self._log
        handle = ctypes.c_void_p()
        _check(
            _library.rplb_group_open(
                None if name is None else name.encode(), ctypes.byref(options),
                ctypes.byref(handle)), _OPEN, name)
        self._handle = handle

    def _call(self, function, call, *arguments):
        if not self._handle:
            raise ValueError("the group is closed")
        return _check(
            getattr(_library, function)(self._handle, *arguments), call, self.name)

    def close(self):
        """Closes the group. Members stay in their slots."""
        handle, self._handle = self._handle, None
        if handle:
            _library.rplb_group_close(handle)

    __del__ = close

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.close()

    def join(self, sock, slot, replacing=False):
        """Puts a bound socket with SO_REUSEPORT into a slot. `replacing`: take over from the slot's live member."""
        function = "rplb_replace" if replacing else "rplb_join"
        self._call(function, _JOIN, sock.fileno(), ctypes.c_uint32(slot))
        return Membership(self, sock, slot)

    def resize(self, count):
        self._call("rplb_resize", _RESIZE, ctypes.c_uint32(count))

    def info(self):
        info = _Info()
        self._call("rplb_info", _REPORT, ctypes.byref(info))
        key = next(name for name, number in KEYS.items() if number == info.key)
        return Info(
            info.count, key, info.seed, info.capacity, info.flows, bool(info.is_fallback))

    def counters(self, slot):
        """Packets of a slot: as first choice, as fallback, and missed while its member was gone."""
        counters = _Counters()
        self._call("rplb_counters", _REPORT, ctypes.c_uint32(slot), ctypes.byref(counters))
        return Counters(counters.selected, counters.fallback, counters.missed)

    def left_to_kernel(self):
        """Packets for which there was no member."""
        packets = ctypes.c_uint64()
        self._call("rplb_left_to_kernel", _REPORT, ctypes.byref(packets))
        return packets.value

    def members(self):
        members = (_Member * MEMBERS_LISTED)()
        found = ctypes.c_size_t()
        self._call(
            "rplb_members", _REPORT, members, ctypes.c_size_t(MEMBERS_LISTED),
            ctypes.byref(found))
        return [
            Member(
                each.slot, "tcp" if each.protocol == socket.IPPROTO_TCP else "udp", each.cookie,
                each.generation, each.pid, each.uid, bool(each.is_previous))
            for each in members[:found.value]
        ]

    def slot_of(self, address, port=0, destination=None, payload=None, protocol="udp"):
        """The slot of a source, and the slot of the member that gets its packets now; None without a member.

        destination: (address, port), for the key "four_tuple". payload: bytes, for the key "payload".
        """
        source, _ = _address(address, port)
        target = _address(*destination)[0] if destination else None
        number = socket.IPPROTO_TCP if protocol == "tcp" else socket.IPPROTO_UDP
        slot, member = ctypes.c_uint32(), _Member()
        self._call(
            "rplb_slot_of_payload", _REPORT, number, source, target, payload,
            ctypes.c_size_t(len(payload or b"")), ctypes.byref(slot), ctypes.byref(member))
        return slot.value, member.slot if member.cookie else None

    def samples(self):
        """The group's metrics: a list of Sample(name, help, is_counter, labels, value)."""
        samples = []

        def each(_, pointer):
            sample = pointer.contents
            labels = {
                label.name.decode(): label.value.decode(errors="replace")
                for label in sample.labels[:sample.label_count]
            }
            samples.append(
                Sample(
                    sample.name.decode(), sample.help.decode(), bool(sample.is_counter), labels,
                    sample.value))

        self._call("rplb_samples", _REPORT, _Each(each), None)
        return samples
