#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints GoldenVector+Table.swift: flow keys computed apart from bpf/include/lb/flow_key.h.

    python3 golden.py > GoldenVector+Table.swift

The table is the contract between the modes: sockets, TC, XDP and AF_XDP must all give these keys,
in this version and the next, or a client's flow changes its receiver. A table that differs from
the committed one therefore means a new LB_ABI_VERSION, and an entry in the change log.
"""

import ipaddress

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


if __name__ == "__main__":
    main()
