// SPDX-License-Identifier: Apache-2.0
// Generated: python3 golden.py > GoldenVector+Table.swift

extension GoldenVector {
    public static let all: [GoldenVector] = [
        GoldenVector(
            seed: 0x0, source: "0.0.0.0:1",
            destination: "0.0.0.0:1",
            sourceIP: 0xfa5e76fa, fourTuple: 0xe71af0b5),
        GoldenVector(
            seed: 0x1, source: "0.0.0.0:1",
            destination: "0.0.0.0:1",
            sourceIP: 0x257279f0, fourTuple: 0xcb57a85f),
        GoldenVector(
            seed: 0x0, source: "255.255.255.255:65535",
            destination: "255.255.255.255:65535",
            sourceIP: 0x0d70cbfe, fourTuple: 0x57c02c6c),
        GoldenVector(
            seed: 0x5eed, source: "255.255.255.255:65535",
            destination: "255.255.255.255:65535",
            sourceIP: 0x2cc7eee4, fourTuple: 0x70a81c7d),
        GoldenVector(
            seed: 0x0, source: "127.0.0.1:40000",
            destination: "127.0.0.1:514",
            sourceIP: 0x5fcd0a81, fourTuple: 0x252eaf5b),
        GoldenVector(
            seed: 0xffffffffffffffff, source: "127.0.0.1:40000",
            destination: "127.0.0.1:514",
            sourceIP: 0xb83212a6, fourTuple: 0xb2837fda),
        GoldenVector(
            seed: 0x0, source: "192.0.2.1:5000",
            destination: "198.51.100.7:514",
            sourceIP: 0x68e562aa, fourTuple: 0xed7dd2da),
        GoldenVector(
            seed: 0x123456789abcdef, source: "192.0.2.1:5000",
            destination: "198.51.100.7:514",
            sourceIP: 0x778314d4, fourTuple: 0xefd36124),
        GoldenVector(
            seed: 0x0, source: "192.0.2.2:5000",
            destination: "198.51.100.7:514",
            sourceIP: 0x1b77509d, fourTuple: 0xd90e5631),
        GoldenVector(
            seed: 0x1, source: "192.0.2.2:5000",
            destination: "198.51.100.7:514",
            sourceIP: 0x703849fe, fourTuple: 0x221de592),
        GoldenVector(
            seed: 0x0, source: "192.0.2.1:5001",
            destination: "198.51.100.7:514",
            sourceIP: 0x68e562aa, fourTuple: 0x6d55c58d),
        GoldenVector(
            seed: 0x5eed, source: "192.0.2.1:5001",
            destination: "198.51.100.7:514",
            sourceIP: 0x8b4a47d2, fourTuple: 0x2a8c9b8a),
        GoldenVector(
            seed: 0x0, source: "192.0.2.1:5000",
            destination: "198.51.100.7:515",
            sourceIP: 0x68e562aa, fourTuple: 0x901c0059),
        GoldenVector(
            seed: 0xffffffffffffffff, source: "192.0.2.1:5000",
            destination: "198.51.100.7:515",
            sourceIP: 0x9fbdd5de, fourTuple: 0x7fe0f8d1),
        GoldenVector(
            seed: 0x0, source: "192.0.2.1:5000",
            destination: "198.51.100.8:514",
            sourceIP: 0x68e562aa, fourTuple: 0x9225a8b0),
        GoldenVector(
            seed: 0x123456789abcdef, source: "192.0.2.1:5000",
            destination: "198.51.100.8:514",
            sourceIP: 0x778314d4, fourTuple: 0x7b6b7680),
        GoldenVector(
            seed: 0x0, source: "198.51.100.7:514",
            destination: "192.0.2.1:5000",
            sourceIP: 0xb3bc1721, fourTuple: 0x90959d9d),
        GoldenVector(
            seed: 0x1, source: "198.51.100.7:514",
            destination: "192.0.2.1:5000",
            sourceIP: 0x183c6f27, fourTuple: 0x497e93c9),
        GoldenVector(
            seed: 0x0, source: "[::ffff:192.0.2.1]:5000",
            destination: "[::ffff:198.51.100.7]:514",
            sourceIP: 0x68e562aa, fourTuple: 0xed7dd2da),
        GoldenVector(
            seed: 0x5eed, source: "[::ffff:192.0.2.1]:5000",
            destination: "[::ffff:198.51.100.7]:514",
            sourceIP: 0x8b4a47d2, fourTuple: 0x94a60084),
        GoldenVector(
            seed: 0x0, source: "10.1.0.2:2055",
            destination: "10.2.0.1:2055",
            sourceIP: 0x4021188d, fourTuple: 0xa3a5ed02),
        GoldenVector(
            seed: 0xffffffffffffffff, source: "10.1.0.2:2055",
            destination: "10.2.0.1:2055",
            sourceIP: 0x2d197318, fourTuple: 0x0a7c95c9),
        GoldenVector(
            seed: 0x0, source: "10.2.0.1:2055",
            destination: "10.1.0.2:2055",
            sourceIP: 0x803d300b, fourTuple: 0xf4e587e7),
        GoldenVector(
            seed: 0x123456789abcdef, source: "10.2.0.1:2055",
            destination: "10.1.0.2:2055",
            sourceIP: 0xdcd90bed, fourTuple: 0x2f685cbe),
        GoldenVector(
            seed: 0x0, source: "[::]:1",
            destination: "[::]:1",
            sourceIP: 0x00000000, fourTuple: 0x88847781),
        GoldenVector(
            seed: 0x1, source: "[::]:1",
            destination: "[::]:1",
            sourceIP: 0x7d6e4ac3, fourTuple: 0x830c866b),
        GoldenVector(
            seed: 0x0, source: "[::1]:40000",
            destination: "[::1]:514",
            sourceIP: 0xb456bcfc, fourTuple: 0x803c4755),
        GoldenVector(
            seed: 0x5eed, source: "[::1]:40000",
            destination: "[::1]:514",
            sourceIP: 0x0898858c, fourTuple: 0x6f917a07),
        GoldenVector(
            seed: 0x0, source: "[::c000:201]:5000",
            destination: "[::c633:6407]:514",
            sourceIP: 0x82acc1a6, fourTuple: 0x927c0aef),
        GoldenVector(
            seed: 0xffffffffffffffff, source: "[::c000:201]:5000",
            destination: "[::c633:6407]:514",
            sourceIP: 0xf9aeb0dc, fourTuple: 0xc9459cef),
        GoldenVector(
            seed: 0x0, source: "[2001:db8::1]:5000",
            destination: "[2001:db8::7]:514",
            sourceIP: 0x44157b3a, fourTuple: 0xe903e831),
        GoldenVector(
            seed: 0x123456789abcdef, source: "[2001:db8::1]:5000",
            destination: "[2001:db8::7]:514",
            sourceIP: 0xeaca2816, fourTuple: 0xfd889238),
        GoldenVector(
            seed: 0x0, source: "[2001:db8:0:1::]:5000",
            destination: "[2001:db8::7]:514",
            sourceIP: 0xd8389a1b, fourTuple: 0xb3049ee4),
        GoldenVector(
            seed: 0x1, source: "[2001:db8:0:1::]:5000",
            destination: "[2001:db8::7]:514",
            sourceIP: 0x957dae2d, fourTuple: 0x1e6410fc),
        GoldenVector(
            seed: 0x0, source: "[2001:db8::1:0:0:0]:5000",
            destination: "[2001:db8::7]:514",
            sourceIP: 0x1bb5505d, fourTuple: 0x94ef7369),
        GoldenVector(
            seed: 0x5eed, source: "[2001:db8::1:0:0:0]:5000",
            destination: "[2001:db8::7]:514",
            sourceIP: 0x0fdf7888, fourTuple: 0x9bd24554),
        GoldenVector(
            seed: 0x0, source: "[fe80::1]:546",
            destination: "[ff02::1:2]:547",
            sourceIP: 0x863976bb, fourTuple: 0x0a4731ec),
        GoldenVector(
            seed: 0xffffffffffffffff, source: "[fe80::1]:546",
            destination: "[ff02::1:2]:547",
            sourceIP: 0x6e9b295e, fourTuple: 0x4d497430),
        GoldenVector(
            seed: 0x0, source: "[ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff]:65535",
            destination: "[::1]:65535",
            sourceIP: 0x3b8d08f7, fourTuple: 0x8bbd6b45),
        GoldenVector(
            seed: 0x123456789abcdef, source: "[ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff]:65535",
            destination: "[::1]:65535",
            sourceIP: 0x1df80feb, fourTuple: 0x0d4a8b75),
        GoldenVector(
            seed: 0x0, source: "192.0.2.1:5000",
            destination: "[2001:db8::7]:514",
            sourceIP: 0x68e562aa, fourTuple: 0xda0ea1b7),
        GoldenVector(
            seed: 0x1, source: "192.0.2.1:5000",
            destination: "[2001:db8::7]:514",
            sourceIP: 0x25f3e432, fourTuple: 0x4ccb6137),
    ]
}
