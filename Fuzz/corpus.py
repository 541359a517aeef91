#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the seeds of the fuzzers into the folder corpus beside this file: one input a kind of frame, and
configurations that reach every section. Run it when a kind is added; what it writes is tracked.

An input of the fuzzers of frames begins with the bytes that datapath/input.h tells of."""

import pathlib
import struct

HERE = pathlib.Path(__file__).parent
LINK = bytes([2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2])
# The receiver, and its port, of every input.
RECEIVER, PORT = bytes(range(0x20, 0x30)), 9000
V4 = bytes([10, 8, 0, 2]), bytes([10, 8, 9, 1])
V6 = bytes.fromhex("20010db8000000000000000000000002"), bytes.fromhex("20010db8000900000000000000000001")


def checksum(data):
    data += bytes(len(data) % 2)
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def udp(ends, payload=b"datagram", port=5514, check=True, length=None):
    header = struct.pack("!HHHH", 40000, port, 8 + len(payload) if length is None else length, 0)
    pseudo = ends[0] + ends[1] + struct.pack("!IHBB", len(header + payload), 0, 0, 17)
    right = checksum(pseudo + header + payload) or 0xFFFF
    return header[:6] + struct.pack("!H", right if check else 0) + payload


def v4(body, options=b"", fragment=0, ttl=64, protocol=17, ends=V4, version=4, cut=0):
    header = struct.pack("!BBHHHBBH", version << 4 | (20 + len(options)) // 4, 0xB8,
                         20 + len(options) + len(body) - cut, 77, fragment, ttl, protocol, 0)
    header += ends[0] + ends[1] + options
    return header[:10] + struct.pack("!H", checksum(header)) + header[12:] + body


def v6(body, headers=(), ttl=64, protocol=17):
    kinds = [kind for kind, _ in headers] + [protocol]
    chain = b"".join(bytes([after]) + rest for after, (_, rest) in zip(kinds[1:], headers))
    start = struct.pack("!IHBB", 0x6B800000, len(chain + body), kinds[0], ttl)
    return start + V6[0] + V6[1] + chain + body


def frame(packet, tags=(), vlan=0):
    kind = 0x86DD if packet[0] >> 4 == 6 else 0x0800
    return LINK + b"".join(struct.pack("!HH", tag, 0xA000 | vlan) for tag in tags) + struct.pack("!H", kind) + packet


def tcp(ends):
    header = struct.pack("!HHIIBBHHH", 40000, 80, 1, 0, 0x50, 2, 1024, 0, 0)
    return header


def zeroing(ends):
    """A payload with which the sum of a datagram between these ends and to PORT comes to 0xffff."""
    start = ends + struct.pack("!IHBB", 10, 0, 0, 17) + struct.pack("!HHHH", 40000, PORT, 10, 0)
    return struct.pack("!H", checksum(start))


HOP_BY_HOP = (0, bytes([0, 1, 4, 0, 0, 0, 0]))
DESTINATION = (60, bytes([0, 1, 4, 0, 0, 0, 0]))
FRAMES = {
    "v4": frame(v4(udp(V4))),
    "v4-no-checksum": frame(v4(udp(V4, check=False))),
    "v4-options": frame(v4(udp(V4), options=bytes([148, 4, 0, 0, 1, 1, 0, 0]))),
    "v4-source-route": frame(v4(udp(V4), options=bytes([131, 7, 4, 10, 0, 0, 1, 0]))),
    "v4-most-options": frame(v4(udp(V4), options=bytes([1] * 40))),
    "v4-first-fragment": frame(v4(udp(V4, length=900), fragment=0x2000)),
    "v4-later-fragment": frame(v4(b"rest of it", fragment=0x0003)),
    "v4-last-hop": frame(v4(udp(V4), ttl=1)),
    "v4-tagged": frame(v4(udp(V4)), tags=[0x8100]),
    "v4-in-vlan": frame(v4(udp(V4)), tags=[0x8100], vlan=5),
    "v4-double-tagged": frame(v4(udp(V4)), tags=[0x88A8, 0x8100]),
    "v4-padded": frame(v4(udp(V4, b""))) + bytes(18),
    "v4-odd": frame(v4(udp(V4, b"odd"))),
    "v4-short-datagram": frame(v4(udp(V4, length=9))),
    "v4-long-datagram": frame(v4(udp(V4, length=500))),
    "v4-cut": frame(v4(udp(V4), cut=12)),
    "v4-multicast": frame(v4(udp(V4), ends=(V4[0], bytes([224, 0, 0, 1])))),
    "v4-no-port": frame(v4(udp(V4, port=0))),
    "v4-tcp": frame(v4(tcp(V4), protocol=6)),
    "v4-icmp-error": frame(v4(bytes([3, 4, 0, 0, 0, 0, 5, 0]) + v4(udp(V4)), protocol=1)),
    "v6": frame(v6(udp(V6))),
    "v6-no-checksum": frame(v6(udp(V6, check=False))),
    "v6-hop-by-hop": frame(v6(udp(V6), headers=[HOP_BY_HOP])),
    "v6-all-headers": frame(v6(udp(V6), headers=[
        HOP_BY_HOP, DESTINATION, (43, bytes([0, 0, 0, 0, 0, 0, 0])), DESTINATION])),
    "v6-segments-left": frame(v6(udp(V6), headers=[(43, bytes([0, 0, 1, 0, 0, 0, 0]))])),
    "v6-atomic-fragment": frame(v6(udp(V6), headers=[(44, bytes([0, 0, 0, 0, 0, 0, 9]))])),
    "v6-first-fragment": frame(v6(udp(V6, length=900), headers=[(44, bytes([0, 0, 1, 0, 0, 0, 9]))])),
    "v6-later-fragment": frame(v6(b"rest of it", headers=[(44, bytes([0, 0, 24, 0, 0, 0, 9]))])),
    # UDP that is longer than what a header of 16 bytes leaves of the packet.
    "v6-long-header": frame(v6(udp(V6, length=24), headers=[(60, bytes([1, 1, 12]) + bytes(12))])) + bytes(16),
    "v6-tagged": frame(v6(udp(V6)), tags=[0x8100]),
    "v6-too-many-headers": frame(v6(udp(V6), headers=[DESTINATION] * 7)),
    "v6-icmp-error": frame(v6(bytes([2, 0, 0, 0, 0, 0, 5, 0]) + v6(udp(V6)), protocol=58)),
    # Whose checksum comes to 0 once it is led to RECEIVER.
    "v4-sum-of-zero": frame(v4(udp(V4, zeroing(V4[0] + RECEIVER[-4:])))),
    "v6-sum-of-zero": frame(v6(udp(V6, zeroing(V6[0] + RECEIVER)))),
    "arp": LINK + bytes.fromhex("080600010800060400010200000000020a0800020000000000000a080001"),
    "runt": LINK,
}

LISTENER = "listeners:\n  - name: a\n    bind: 127.0.0.1:5514\n"
DOWNSTREAM = "    downstream:\n      - name: b\n        address: 127.0.0.1:5515\n"
CONFIGS = {
    "least": LISTENER + DOWNSTREAM,
    "v6-weighted": LISTENER.replace("127.0.0.1:5514", '"[::]:5514"')
    + DOWNSTREAM + "        weight: 7\n        mac: \"02:00:00:00:00:01\"\n",
    "kernel": LISTENER + "    mode: tc_ebpf\n    interface: eth0\n    addresses: any\n" + DOWNSTREAM,
    "discovery": LISTENER + "    kubernetes:\n      namespace: n\n      service: s\n      port: dns\n",
    "settings": LISTENER + DOWNSTREAM + "settings:\n  workers: 0\n  batch_size: 32\n  pin_cpus: no\n",
    "health": LISTENER + DOWNSTREAM + "health:\n  enabled: true\n  protocol: udp\n  payload: \"a\\x00\"\n",
    "metrics": LISTENER + DOWNSTREAM + "metrics: {enabled: true, bind: '0.0.0.0:9090', path: /m}\n",
    "alias": "a: &a [1, 2]\nb: *a\n",
    "unknown-key": LISTENER + DOWNSTREAM + "    balanse: random\n",
    "two-documents": LISTENER + DOWNSTREAM + "---\n" + LISTENER,
    "block": "listeners:\n- name: |\n    a\n  bind: >-\n    127.0.0.1:1\n",
    "numbers": LISTENER + DOWNSTREAM + "settings:\n  workers: 012\n  batch_size: 1:30\n  steer: 0x1f\n",
    "empty": "",
}


def write(folder, name, data):
    place = HERE / "corpus" / folder
    place.mkdir(parents=True, exist_ok=True)
    (place / name).write_bytes(data)


for name, data in FRAMES.items():
    write("frames", name, RECEIVER + struct.pack("!HB", PORT, 255) + data)
# In the middle of a header, and one byte short of its end.
for name in "v4", "v6", "v4-tcp":
    for at_hand in 13, 30, 33, 41, 44, 53, 58, 61:
        write("frames", f"{name}-cut-at-{at_hand}", RECEIVER + struct.pack("!HB", PORT, at_hand) + FRAMES[name])
# The first bit says whether TCP is translated.
write("frames", "v4-tcp-taken", b"\x21" + RECEIVER[1:] + struct.pack("!HB", PORT, 255) + FRAMES["v4-tcp"])
write("frames", "v4-tcp-taken-cut", b"\x21" + RECEIVER[1:] + struct.pack("!HB", PORT, 44) + FRAMES["v4-tcp"])
for name, text in CONFIGS.items():
    write("config", name, text.encode())
for number in range(3):
    write("words", f"{number}", bytes((7 * number + 31 * index) % 256 for index in range(112)))
# The kinds of lb/payload_key.h: kind, offset, length, skip, then a payload that has the key.
PAYLOADS = {
    "bytes": (1, 4, 8, 2, bytes(range(24))),
    "ipfix": (2, 0, 0, 0, bytes.fromhex("000a00105f5e10000000000100000007")),
    "netflow9": (3, 0, 0, 0, bytes.fromhex("0009000100000000") + bytes(12)),
    "netflow5": (3, 0, 0, 0, bytes.fromhex("0005000100000000") + bytes(16)),
    "radius": (4, 0, 0, 0, bytes.fromhex("012a0014") + bytes(16)),
    "sip": (5, 0, 0, 0, b"BYE sip:b@h SIP/2.0\r\nVia: SIP/2.0/UDP h\r\nCall-ID \t: a@h \r\ni:x\r\n\r\n"),
    "sip_compact": (5, 0, 0, 3, b"\0\0\0SIP/2.0 200 OK\ni: " + b"v" * 70 + b"\n\n"),
    "quic_short": (6, 1, 4, 0, b"\x40" + bytes(range(24))),
    "quic_handshake": (6, 1, 4, 0, bytes.fromhex("e00000000108") + bytes(range(24))),
    "quic_v2": (6, 0, 8, 0, bytes.fromhex("f06b3343cf08") + bytes(range(24))),
    "dtls12": (7, 0, 2, 0, bytes.fromhex("19fefd0001000000000001") + bytes(range(24))),
    "dtls13": (7, 0, 2, 0, b"\x30" + bytes(range(24))),
}
for name, (kind, offset, length, skip, payload) in PAYLOADS.items():
    write("payload", name, struct.pack("<HHBBH", kind, offset, length, skip, 0) + payload)
