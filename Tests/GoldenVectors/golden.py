#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints GoldenVector+Table.swift: flow keys computed apart from bpf/include/lb/flow_key.h and payload_key.h.

    python3 golden.py > GoldenVector+Table.swift

The table is the contract between the modes: sockets, TC, XDP and AF_XDP must all give these keys,
in this version and the next, or a client's flow changes its receiver. A table that differs from
the committed one therefore means a new LB_ABI_VERSION, and an entry in the change log.
"""

import ipaddress
import re

MASK = (1 << 64) - 1


def mix(value):
    """The 64-bit finaliser of MurmurHash3, step by step as its author published it."""
    for shift, factor in ((33, 0xFF51AFD7ED558CCD), (33, 0xC4CEB9FE1A85EC53), (33, 1)):
        value = ((value ^ (value >> shift)) * factor) & MASK
    return value


def octets(text):
    """The sixteen octets of an address; IPv4 stands behind ::ffff (RFC 4291, section 2.5.5.2)."""
    address = ipaddress.ip_address(text)
    if address.version == 4:
        return bytes(10) + b"\xff\xff" + address.packed
    return address.packed


def absorb(state, text):
    whole = octets(text)
    for half in (whole[:8], whole[8:]):
        state = mix(state ^ int.from_bytes(half, "big"))
    return state


def split(endpoint):
    host, _, port = endpoint.rpartition(":")
    return host.strip("[]"), int(port)


def keys(seed, source, destination):
    source_host, source_port = split(source)
    destination_host, destination_port = split(destination)
    after_source = absorb(seed, source_host)
    after_both = absorb(after_source, destination_host)
    last = mix(after_both ^ (source_port * 65536 + destination_port))
    return after_source >> 32, last >> 32


# ---- keys of the payload


def connection_id(preset, data):
    """The connection ID that a server chose, and what follows; None if the packet has none."""
    first = data[0] if data else 0
    if preset == "dtls_server_id":
        if first == 25:
            return data[11:]
        return data[1:] if first >> 4 == 3 else None
    if not first & 0x40:
        return None
    if not first & 0x80:
        return data[1:]
    if len(data) < 6:
        return None
    handshake = {b"\0\0\0\1": 2, b"\x6b\x33\x43\xcf": 3}
    if handshake.get(data[1:5]) != first >> 4 & 3:
        return None
    return data[6:6 + data[5]]


def call_id(data):
    """The Call-ID of a SIP message; None if it has none, or it does not end in the first 1024 bytes."""
    text = data[:1024]
    while text:
        line, ended, text = text.partition(b"\n")
        if line.startswith(b"\r") or (ended and not line):
            return None
        found = re.match(rb"(?:call-id|i)[ \t]*:[ \t]*([^ \t\r]+)([ \t\r]?)", line, re.I)
        if found:
            return found[1][:64] if found[2] or ended or len(found[1]) > 64 else None
    return None


def chosen(preset, offset, length, skip, payload):
    """The bytes of the payload that are the key; empty if it has none."""
    data = payload[skip:]
    if preset == "ipfix_domain":
        return data[12:16] if data[:2] == b"\0\12" and len(data) >= 16 else b""
    if preset == "netflow_source":
        if data[:2] == b"\0\11" and len(data) >= 20:
            return data[16:20]
        return data[20:22] if data[:2] == b"\0\5" and len(data) >= 22 else b""
    if preset == "radius_id":
        return data[1:2] if len(data) >= 20 else b""
    if preset == "sip_call_id":
        return call_id(data) or b""
    if preset in ("quic_server_id", "dtls_server_id"):
        data = connection_id(preset, data) or b""
    found = data[offset:offset + length]
    return found if len(found) == length else b""


def payload_key(seed, source, destination, spec, payload):
    preset, offset, length, skip = spec
    by_source = preset in ("ipfix_domain", "netflow_source")
    found = chosen(preset, offset, length, skip, payload)
    if not found:
        return keys(seed, source, destination)[0 if by_source else 1]
    state = absorb(seed, split(source)[0]) if by_source else seed
    state = mix(state ^ len(found))
    for at in range(0, len(found), 8):
        state = mix(state ^ int.from_bytes(found[at:at + 8], "little"))
    return state >> 32


def spelled(spec):
    preset, offset, length, skip = spec
    words = [preset] if preset else []
    if length:
        words += [f"offset={offset}", f"length={length}"]
    return ",".join(words + ([f"skip={skip}"] if skip else []))


def payloads():
    """Specifications with payloads: one that has the key, neighbours of it, and what has none."""
    count = bytes(range(48))
    for spec in ((None, 0, 1, 0), (None, 3, 4, 0), (None, 2, 8, 5), (None, 0, 20, 0), (None, 27, 20, 1),
                 (None, 28, 20, 1), (None, 29, 20, 0), (None, 1023, 1, 0)):
        yield spec, count
    yield (None, 0, 4, 0), b"abc"
    yield (None, 0, 4, 0), b"abcd"
    yield (None, 0, 4, 0), b""
    ipfix = bytes.fromhex("000a0010 5f5e1000 00000001 00000007")
    for payload in (ipfix, ipfix[:15], ipfix[:-1] + b"\x08", b"\0\11" + ipfix[2:], b"\1" + ipfix[1:], b"\0"):
        yield ("ipfix_domain", 0, 0, 0), payload
    yield ("ipfix_domain", 0, 0, 8), b"\xff" * 8 + ipfix
    v9 = bytes.fromhex("00090001 00000000 5f5e1000 00000001 00000107")
    v5 = bytes.fromhex("00050001 00000000 5f5e1000 00000000 00000001 0103 0000")
    for payload in (v9, v9[:19], v5, v5[:22], v5[:21], ipfix + bytes(8)):
        yield ("netflow_source", 0, 0, 0), payload
    radius = bytes.fromhex("01 2a 0014") + bytes(range(16))
    for payload in (radius, radius[:19], b"\1\x2b" + radius[2:]):
        yield ("radius_id", 0, 0, 0), payload
    sip = b"INVITE sip:bob@example.com SIP/2.0\r\nVia: SIP/2.0/UDP h;branch=z9hG4bK\r\n%s\r\nCSeq: 1 INVITE\r\n\r\n"
    for header in (b"Call-ID: a84b4c76e66710@pc33.example.com", b"i:a84b4c76e66710@pc33.example.com",
                   b"CALL-id \t:  a84b4c76e66710@pc33.example.com  ", b"I : x", b"Call-IDs: x", b"X-Call-ID: x",
                   b"Call-ID:", b"Call-ID: \r\ni: second", b"Call-ID: " + b"v" * 63, b"Call-ID: " + b"v" * 64,
                   b"Call-ID: " + b"v" * 65, b"Call-ID: " + b"w" * 65, b"ci: x", b"call-i: x", b"\r\nCall-ID: in-the-body",
                   b"X: " + b"x" * 938 + b"\r\ni: close", b"X: " + b"x" * 942 + b"\r\ni: beyond",
                   b"X: " + b"x" * 980 + b"\r\nCall-ID: beyond"):
        yield ("sip_call_id", 0, 0, 0), sip % header
    yield ("sip_call_id", 0, 0, 0), b"SIP/2.0 200 OK\nCall-ID: lf-only\n\n"
    yield ("sip_call_id", 0, 0, 0), b"SIP/2.0 200 OK\r\nCall-ID: cut"
    yield ("sip_call_id", 0, 0, 0), b"\r\n\r\n"
    yield ("sip_call_id", 0, 0, 4), b"wrapSIP/2.0 200 OK\r\nCall-ID: skipped\r\n\r\n"
    identity = bytes(range(0xA0, 0xB4))
    for first, version in ((0xE0, 1), (0xC0, 1), (0xD0, 1), (0xF0, 1), (0xF0, 0x6B3343CF), (0xE0, 0x6B3343CF),
                           (0xC0, 0), (0xA0, 1), (0xE0, 2)):
        yield ("quic_server_id", 1, 4, 0), bytes([first]) + version.to_bytes(4, "big") + b"\x08" + identity
    for packet in (b"\x40" + identity, b"\x7f" + identity, b"\x00" + identity, b"\x40" + identity[:5], b"\x40" + identity[:4],
                   b"\xe0\0\0\0\1\5" + identity, b"\xe0\0\0\0\1\4" + identity, b"\xe0\0\0\0\1", b""):
        yield ("quic_server_id", 1, 4, 0), packet
    yield ("quic_server_id", 0, 20, 0), b"\x40" + identity
    dtls12 = bytes.fromhex("19 fefd 0001 000000000001") + identity
    for packet in (dtls12, b"\x16" + dtls12[1:], dtls12[:13], dtls12[:12], b"\x30" + identity, b"\x3f" + identity,
                   b"\x2f" + identity, b"\x40" + identity, b"\x30\xa0", b""):
        yield ("dtls_server_id", 0, 2, 0), packet
    yield ("dtls_server_id", 3, 8, 2), b"\0\0" + dtls12


def payload_vectors():
    ends = (("192.0.2.1:5000", "198.51.100.7:514"), ("[2001:db8::1]:5000", "[2001:db8::7]:514"))
    for index, (spec, payload) in enumerate(payloads()):
        source, destination = ends[index % 2]
        seed = SEEDS[index % len(SEEDS)]
        yield seed, source, destination, spelled(spec), payload, payload_key(seed, source, destination, spec, payload)


SEEDS = (0, 1, 0x5EED, 0xFFFFFFFFFFFFFFFF, 0x0123456789ABCDEF)

# Neighbours stand together on purpose: one bit, one port or the two ends exchanged.
FLOWS = (
    ("0.0.0.0:1", "0.0.0.0:1"),
    ("255.255.255.255:65535", "255.255.255.255:65535"),
    ("127.0.0.1:40000", "127.0.0.1:514"),
    ("192.0.2.1:5000", "198.51.100.7:514"),
    ("192.0.2.2:5000", "198.51.100.7:514"),
    ("192.0.2.1:5001", "198.51.100.7:514"),
    ("192.0.2.1:5000", "198.51.100.7:515"),
    ("192.0.2.1:5000", "198.51.100.8:514"),
    ("198.51.100.7:514", "192.0.2.1:5000"),
    ("[::ffff:192.0.2.1]:5000", "[::ffff:198.51.100.7]:514"),
    ("10.1.0.2:2055", "10.2.0.1:2055"),
    ("10.2.0.1:2055", "10.1.0.2:2055"),
    ("[::]:1", "[::]:1"),
    ("[::1]:40000", "[::1]:514"),
    ("[::c000:201]:5000", "[::c633:6407]:514"),
    ("[2001:db8::1]:5000", "[2001:db8::7]:514"),
    ("[2001:db8:0:1::]:5000", "[2001:db8::7]:514"),
    ("[2001:db8::1:0:0:0]:5000", "[2001:db8::7]:514"),
    ("[fe80::1]:546", "[ff02::1:2]:547"),
    ("[ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff]:65535", "[::1]:65535"),
    ("192.0.2.1:5000", "[2001:db8::7]:514"),
)


def vectors():
    for index, (source, destination) in enumerate(FLOWS):
        # Every flow under seed 0, and under one other seed in turn.
        for seed in (0, SEEDS[1 + index % (len(SEEDS) - 1)]):
            yield (seed, source, destination) + keys(seed, source, destination)


def main():
    # Published results of the finaliser: a slip here must not become the contract.
    assert mix(0) == 0 and mix(1) == 0xB456BCFC34C2CB2C
    print("// SPDX-License-Identifier: Apache-2.0")
    print("// Generated: python3 golden.py > GoldenVector+Table.swift")
    print()
    print("extension GoldenVector {")
    print("    public static let all: [GoldenVector] = [")
    for seed, source, destination, source_ip, four_tuple in vectors():
        print("        GoldenVector(")
        print(f'            seed: 0x{seed:x}, source: "{source}",')
        print(f'            destination: "{destination}",')
        print(f"            sourceIP: 0x{source_ip:08x}, fourTuple: 0x{four_tuple:08x}),")
    print("    ]")
    print("}")
    print()
    print("extension PayloadVector {")
    print("    public static let all: [PayloadVector] = [")
    for seed, source, destination, spec, payload, key in payload_vectors():
        print("        PayloadVector(")
        print(f'            seed: 0x{seed:x}, source: "{source}",')
        print(f'            destination: "{destination}",')
        print(f'            spec: "{spec}", key: 0x{key:08x},')
        print('            payload: """')
        for at in range(0, len(payload), 32):
            more = "\\" if at + 32 < len(payload) else ""
            print(f"                {payload[at:at + 32].hex()}{more}")
        print('                """),')
    print("    ]")
    print("}")


if __name__ == "__main__":
    main()
