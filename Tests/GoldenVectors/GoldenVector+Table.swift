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

extension PayloadVector {
    public static let all: [PayloadVector] = [
        PayloadVector(
            seed: 0x0, source: "192.0.2.1:5000",
            destination: "198.51.100.7:514",
            spec: "offset=0,length=1", key: 0x7d6e4ac3,
            payload: """
                000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f\
                202122232425262728292a2b2c2d2e2f
                """),
        PayloadVector(
            seed: 0x1, source: "[2001:db8::1]:5000",
            destination: "[2001:db8::7]:514",
            spec: "offset=3,length=4", key: 0x1f744e68,
            payload: """
                000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f\
                202122232425262728292a2b2c2d2e2f
                """),
        PayloadVector(
            seed: 0x5eed, source: "192.0.2.1:5000",
            destination: "198.51.100.7:514",
            spec: "offset=2,length=8,skip=5", key: 0x6c8fe7fb,
            payload: """
                000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f\
                202122232425262728292a2b2c2d2e2f
                """),
        PayloadVector(
            seed: 0xffffffffffffffff, source: "[2001:db8::1]:5000",
            destination: "[2001:db8::7]:514",
            spec: "offset=0,length=20", key: 0x249172f1,
            payload: """
                000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f\
                202122232425262728292a2b2c2d2e2f
                """),
        PayloadVector(
            seed: 0x123456789abcdef, source: "192.0.2.1:5000",
            destination: "198.51.100.7:514",
            spec: "offset=27,length=20,skip=1", key: 0x327a4055,
            payload: """
                000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f\
                202122232425262728292a2b2c2d2e2f
                """),
        PayloadVector(
            seed: 0x0, source: "[2001:db8::1]:5000",
            destination: "[2001:db8::7]:514",
            spec: "offset=28,length=20,skip=1", key: 0xe903e831,
            payload: """
                000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f\
                202122232425262728292a2b2c2d2e2f
                """),
        PayloadVector(
            seed: 0x1, source: "192.0.2.1:5000",
            destination: "198.51.100.7:514",
            spec: "offset=29,length=20", key: 0x38794c37,
            payload: """
                000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f\
                202122232425262728292a2b2c2d2e2f
                """),
        PayloadVector(
            seed: 0x5eed, source: "[2001:db8::1]:5000",
            destination: "[2001:db8::7]:514",
            spec: "offset=1023,length=1", key: 0x6f41de55,
            payload: """
                000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f\
                202122232425262728292a2b2c2d2e2f
                """),
        PayloadVector(
            seed: 0xffffffffffffffff, source: "192.0.2.1:5000",
            destination: "198.51.100.7:514",
            spec: "offset=0,length=4", key: 0x685059f7,
            payload: """
                616263
                """),
        PayloadVector(
            seed: 0x123456789abcdef, source: "[2001:db8::1]:5000",
            destination: "[2001:db8::7]:514",
            spec: "offset=0,length=4", key: 0x0fa5b384,
            payload: """
                61626364
                """),
        PayloadVector(
            seed: 0x0, source: "192.0.2.1:5000",
            destination: "198.51.100.7:514",
            spec: "offset=0,length=4", key: 0xed7dd2da,
            payload: """
                """),
        PayloadVector(
            seed: 0x1, source: "[2001:db8::1]:5000",
            destination: "[2001:db8::7]:514",
            spec: "ipfix_domain", key: 0xfed31ab9,
            payload: """
                000a00105f5e10000000000100000007
                """),
        PayloadVector(
            seed: 0x5eed, source: "192.0.2.1:5000",
            destination: "198.51.100.7:514",
            spec: "ipfix_domain", key: 0x8b4a47d2,
            payload: """
                000a00105f5e100000000001000000
                """),
        PayloadVector(
            seed: 0xffffffffffffffff, source: "[2001:db8::1]:5000",
            destination: "[2001:db8::7]:514",
            spec: "ipfix_domain", key: 0xbd312c92,
            payload: """
                000a00105f5e10000000000100000008
                """),
        PayloadVector(
            seed: 0x123456789abcdef, source: "192.0.2.1:5000",
            destination: "198.51.100.7:514",
            spec: "ipfix_domain", key: 0x778314d4,
            payload: """
                000900105f5e10000000000100000007
                """),
        PayloadVector(
            seed: 0x0, source: "[2001:db8::1]:5000",
            destination: "[2001:db8::7]:514",
            spec: "ipfix_domain", key: 0x44157b3a,
            payload: """
                010a00105f5e10000000000100000007
                """),
        PayloadVector(
            seed: 0x1, source: "192.0.2.1:5000",
            destination: "198.51.100.7:514",
            spec: "ipfix_domain", key: 0x25f3e432,
            payload: """
                00
                """),
        PayloadVector(
            seed: 0x5eed, source: "[2001:db8::1]:5000",
            destination: "[2001:db8::7]:514",
            spec: "ipfix_domain,skip=8", key: 0xab2e16ac,
            payload: """
                ffffffffffffffff000a00105f5e10000000000100000007
                """),
        PayloadVector(
            seed: 0xffffffffffffffff, source: "192.0.2.1:5000",
            destination: "198.51.100.7:514",
            spec: "netflow_source", key: 0x515607bc,
            payload: """
                00090001000000005f5e10000000000100000107
                """),
        PayloadVector(
            seed: 0x123456789abcdef, source: "[2001:db8::1]:5000",
            destination: "[2001:db8::7]:514",
            spec: "netflow_source", key: 0xeaca2816,
            payload: """
                00090001000000005f5e100000000001000001
                """),
        PayloadVector(
            seed: 0x0, source: "192.0.2.1:5000",
            destination: "198.51.100.7:514",
            spec: "netflow_source", key: 0x787bfc07,
            payload: """
                00050001000000005f5e1000000000000000000101030000
                """),
        PayloadVector(
            seed: 0x1, source: "[2001:db8::1]:5000",
            destination: "[2001:db8::7]:514",
            spec: "netflow_source", key: 0x981d9485,
            payload: """
                00050001000000005f5e100000000000000000010103
                """),
        PayloadVector(
            seed: 0x5eed, source: "192.0.2.1:5000",
            destination: "198.51.100.7:514",
            spec: "netflow_source", key: 0x8b4a47d2,
            payload: """
                00050001000000005f5e1000000000000000000101
                """),
        PayloadVector(
            seed: 0xffffffffffffffff, source: "[2001:db8::1]:5000",
            destination: "[2001:db8::7]:514",
            spec: "netflow_source", key: 0x5615b5b2,
            payload: """
                000a00105f5e100000000001000000070000000000000000
                """),
        PayloadVector(
            seed: 0x123456789abcdef, source: "192.0.2.1:5000",
            destination: "198.51.100.7:514",
            spec: "radius_id", key: 0x78b0398d,
            payload: """
                012a0014000102030405060708090a0b0c0d0e0f
                """),
        PayloadVector(
            seed: 0x0, source: "[2001:db8::1]:5000",
            destination: "[2001:db8::7]:514",
            spec: "radius_id", key: 0xe903e831,
            payload: """
                012a0014000102030405060708090a0b0c0d0e
                """),
        PayloadVector(
            seed: 0x1, source: "192.0.2.1:5000",
            destination: "198.51.100.7:514",
            spec: "radius_id", key: 0x203ea4c5,
            payload: """
                012b0014000102030405060708090a0b0c0d0e0f
                """),
        PayloadVector(
            seed: 0x5eed, source: "[2001:db8::1]:5000",
            destination: "[2001:db8::7]:514",
            spec: "sip_call_id", key: 0x5741c776,
            payload: """
                494e56495445207369703a626f62406578616d706c652e636f6d205349502f32\
                2e300d0a5669613a205349502f322e302f55445020683b6272616e63683d7a39\
                684734624b0d0a43616c6c2d49443a2061383462346337366536363731304070\
                6333332e6578616d706c652e636f6d0d0a435365713a203120494e564954450d\
                0a0d0a
                """),
        PayloadVector(
            seed: 0xffffffffffffffff, source: "192.0.2.1:5000",
            destination: "198.51.100.7:514",
            spec: "sip_call_id", key: 0x2962ac54,
            payload: """
                494e56495445207369703a626f62406578616d706c652e636f6d205349502f32\
                2e300d0a5669613a205349502f322e302f55445020683b6272616e63683d7a39\
                684734624b0d0a693a613834623463373665363637313040706333332e657861\
                6d706c652e636f6d0d0a435365713a203120494e564954450d0a0d0a
                """),
        PayloadVector(
            seed: 0x123456789abcdef, source: "[2001:db8::1]:5000",
            destination: "[2001:db8::7]:514",
            spec: "sip_call_id", key: 0x2dcf28fa,
            payload: """
                494e56495445207369703a626f62406578616d706c652e636f6d205349502f32\
                2e300d0a5669613a205349502f322e302f55445020683b6272616e63683d7a39\
                684734624b0d0a43414c4c2d696420093a202061383462346337366536363731\
                3040706333332e6578616d706c652e636f6d20200d0a435365713a203120494e\
                564954450d0a0d0a
                """),
        PayloadVector(
            seed: 0x0, source: "192.0.2.1:5000",
            destination: "198.51.100.7:514",
            spec: "sip_call_id", key: 0xd5f026fb,
            payload: """
                494e56495445207369703a626f62406578616d706c652e636f6d205349502f32\
                2e300d0a5669613a205349502f322e302f55445020683b6272616e63683d7a39\
                684734624b0d0a49203a20780d0a435365713a203120494e564954450d0a0d0a
                """),
        PayloadVector(
            seed: 0x1, source: "[2001:db8::1]:5000",
            destination: "[2001:db8::7]:514",
            spec: "sip_call_id", key: 0x9cd194b1,
            payload: """
                494e56495445207369703a626f62406578616d706c652e636f6d205349502f32\
                2e300d0a5669613a205349502f322e302f55445020683b6272616e63683d7a39\
                684734624b0d0a43616c6c2d4944733a20780d0a435365713a203120494e5649\
                54450d0a0d0a
                """),
        PayloadVector(
            seed: 0x5eed, source: "192.0.2.1:5000",
            destination: "198.51.100.7:514",
            spec: "sip_call_id", key: 0x94a60084,
            payload: """
                494e56495445207369703a626f62406578616d706c652e636f6d205349502f32\
                2e300d0a5669613a205349502f322e302f55445020683b6272616e63683d7a39\
                684734624b0d0a582d43616c6c2d49443a20780d0a435365713a203120494e56\
                4954450d0a0d0a
                """),
        PayloadVector(
            seed: 0xffffffffffffffff, source: "[2001:db8::1]:5000",
            destination: "[2001:db8::7]:514",
            spec: "sip_call_id", key: 0xb3c4d226,
            payload: """
                494e56495445207369703a626f62406578616d706c652e636f6d205349502f32\
                2e300d0a5669613a205349502f322e302f55445020683b6272616e63683d7a39\
                684734624b0d0a43616c6c2d49443a0d0a435365713a203120494e564954450d\
                0a0d0a
                """),
        PayloadVector(
            seed: 0x123456789abcdef, source: "192.0.2.1:5000",
            destination: "198.51.100.7:514",
            spec: "sip_call_id", key: 0x4d396923,
            payload: """
                494e56495445207369703a626f62406578616d706c652e636f6d205349502f32\
                2e300d0a5669613a205349502f322e302f55445020683b6272616e63683d7a39\
                684734624b0d0a43616c6c2d49443a200d0a693a207365636f6e640d0a435365\
                713a203120494e564954450d0a0d0a
                """),
        PayloadVector(
            seed: 0x0, source: "[2001:db8::1]:5000",
            destination: "[2001:db8::7]:514",
            spec: "sip_call_id", key: 0x9a82df38,
            payload: """
                494e56495445207369703a626f62406578616d706c652e636f6d205349502f32\
                2e300d0a5669613a205349502f322e302f55445020683b6272616e63683d7a39\
                684734624b0d0a43616c6c2d49443a2076767676767676767676767676767676\
                7676767676767676767676767676767676767676767676767676767676767676\
                7676767676767676767676767676760d0a435365713a203120494e564954450d\
                0a0d0a
                """),
        PayloadVector(
            seed: 0x1, source: "192.0.2.1:5000",
            destination: "198.51.100.7:514",
            spec: "sip_call_id", key: 0x5719ab97,
            payload: """
                494e56495445207369703a626f62406578616d706c652e636f6d205349502f32\
                2e300d0a5669613a205349502f322e302f55445020683b6272616e63683d7a39\
                684734624b0d0a43616c6c2d49443a2076767676767676767676767676767676\
                7676767676767676767676767676767676767676767676767676767676767676\
                767676767676767676767676767676760d0a435365713a203120494e56495445\
                0d0a0d0a
                """),
        PayloadVector(
            seed: 0x5eed, source: "[2001:db8::1]:5000",
            destination: "[2001:db8::7]:514",
            spec: "sip_call_id", key: 0x995cc7f1,
            payload: """
                494e56495445207369703a626f62406578616d706c652e636f6d205349502f32\
                2e300d0a5669613a205349502f322e302f55445020683b6272616e63683d7a39\
                684734624b0d0a43616c6c2d49443a2076767676767676767676767676767676\
                7676767676767676767676767676767676767676767676767676767676767676\
                76767676767676767676767676767676760d0a435365713a203120494e564954\
                450d0a0d0a
                """),
        PayloadVector(
            seed: 0xffffffffffffffff, source: "192.0.2.1:5000",
            destination: "198.51.100.7:514",
            spec: "sip_call_id", key: 0x490f0ce5,
            payload: """
                494e56495445207369703a626f62406578616d706c652e636f6d205349502f32\
                2e300d0a5669613a205349502f322e302f55445020683b6272616e63683d7a39\
                684734624b0d0a43616c6c2d49443a2077777777777777777777777777777777\
                7777777777777777777777777777777777777777777777777777777777777777\
                77777777777777777777777777777777770d0a435365713a203120494e564954\
                450d0a0d0a
                """),
        PayloadVector(
            seed: 0x123456789abcdef, source: "[2001:db8::1]:5000",
            destination: "[2001:db8::7]:514",
            spec: "sip_call_id", key: 0xfd889238,
            payload: """
                494e56495445207369703a626f62406578616d706c652e636f6d205349502f32\
                2e300d0a5669613a205349502f322e302f55445020683b6272616e63683d7a39\
                684734624b0d0a63693a20780d0a435365713a203120494e564954450d0a0d0a
                """),
        PayloadVector(
            seed: 0x0, source: "192.0.2.1:5000",
            destination: "198.51.100.7:514",
            spec: "sip_call_id", key: 0xed7dd2da,
            payload: """
                494e56495445207369703a626f62406578616d706c652e636f6d205349502f32\
                2e300d0a5669613a205349502f322e302f55445020683b6272616e63683d7a39\
                684734624b0d0a63616c6c2d693a20780d0a435365713a203120494e56495445\
                0d0a0d0a
                """),
        PayloadVector(
            seed: 0x1, source: "[2001:db8::1]:5000",
            destination: "[2001:db8::7]:514",
            spec: "sip_call_id", key: 0x9cd194b1,
            payload: """
                494e56495445207369703a626f62406578616d706c652e636f6d205349502f32\
                2e300d0a5669613a205349502f322e302f55445020683b6272616e63683d7a39\
                684734624b0d0a0d0a43616c6c2d49443a20696e2d7468652d626f64790d0a43\
                5365713a203120494e564954450d0a0d0a
                """),
        PayloadVector(
            seed: 0x5eed, source: "192.0.2.1:5000",
            destination: "198.51.100.7:514",
            spec: "sip_call_id", key: 0x9a8ffdf3,
            payload: """
                494e56495445207369703a626f62406578616d706c652e636f6d205349502f32\
                2e300d0a5669613a205349502f322e302f55445020683b6272616e63683d7a39\
                684734624b0d0a583a2078787878787878787878787878787878787878787878\
                7878787878787878787878787878787878787878787878787878787878787878\
                7878787878787878787878787878787878787878787878787878787878787878\
                7878787878787878787878787878787878787878787878787878787878787878\
                7878787878787878787878787878787878787878787878787878787878787878\
                7878787878787878787878787878787878787878787878787878787878787878\
                7878787878787878787878787878787878787878787878787878787878787878\
                7878787878787878787878787878787878787878787878787878787878787878\
                7878787878787878787878787878787878787878787878787878787878787878\
                7878787878787878787878787878787878787878787878787878787878787878\
                7878787878787878787878787878787878787878787878787878787878787878\
                7878787878787878787878787878787878787878787878787878787878787878\
                7878787878787878787878787878787878787878787878787878787878787878\
                7878787878787878787878787878787878787878787878787878787878787878\
                7878787878787878787878787878787878787878787878787878787878787878\
                7878787878787878787878787878787878787878787878787878787878787878\
                7878787878787878787878787878787878787878787878787878787878787878\
                7878787878787878787878787878787878787878787878787878787878787878\
                7878787878787878787878787878787878787878787878787878787878787878\
                7878787878787878787878787878787878787878787878787878787878787878\
                7878787878787878787878787878787878787878787878787878787878787878\
                7878787878787878787878787878787878787878787878787878787878787878\
                7878787878787878787878787878787878787878787878787878787878787878\
                7878787878787878787878787878787878787878787878787878787878787878\
                7878787878787878787878787878787878787878787878787878787878787878\
                7878787878787878787878787878787878787878787878787878787878787878\
                7878787878787878787878787878787878787878787878787878787878787878\
                7878787878787878787878787878787878787878787878787878787878787878\
                7878787878787878787878787878787878787878787878787878787878787878\
                78787878787878787878787878787878787878780d0a693a20636c6f73650d0a\
                435365713a203120494e564954450d0a0d0a
                """),
        PayloadVector(
            seed: 0xffffffffffffffff, source: "[2001:db8::1]:5000",
            destination: "[2001:db8::7]:514",
            spec: "sip_call_id", key: 0xb3c4d226,
            payload: """
                494e56495445207369703a626f62406578616d706c652e636f6d205349502f32\
                2e300d0a5669613a205349502f322e302f55445020683b6272616e63683d7a39\
                684734624b0d0a583a2078787878787878787878787878787878787878787878\
                7878787878787878787878787878787878787878787878787878787878787878\
                7878787878787878787878787878787878787878787878787878787878787878\
                7878787878787878787878787878787878787878787878787878787878787878\
                7878787878787878787878787878787878787878787878787878787878787878\
                7878787878787878787878787878787878787878787878787878787878787878\
                7878787878787878787878787878787878787878787878787878787878787878\
                7878787878787878787878787878787878787878787878787878787878787878\
                7878787878787878787878787878787878787878787878787878787878787878\
                7878787878787878787878787878787878787878787878787878787878787878\
                7878787878787878787878787878787878787878787878787878787878787878\
                7878787878787878787878787878787878787878787878787878787878787878\
                7878787878787878787878787878787878787878787878787878787878787878\
                7878787878787878787878787878787878787878787878787878787878787878\
                7878787878787878787878787878787878787878787878787878787878787878\
                7878787878787878787878787878787878787878787878787878787878787878\
                7878787878787878787878787878787878787878787878787878787878787878\
                7878787878787878787878787878787878787878787878787878787878787878\
                7878787878787878787878787878787878787878787878787878787878787878\
                7878787878787878787878787878787878787878787878787878787878787878\
                7878787878787878787878787878787878787878787878787878787878787878\
                7878787878787878787878787878787878787878787878787878787878787878\
                7878787878787878787878787878787878787878787878787878787878787878\
                7878787878787878787878787878787878787878787878787878787878787878\
                7878787878787878787878787878787878787878787878787878787878787878\
                7878787878787878787878787878787878787878787878787878787878787878\
                7878787878787878787878787878787878787878787878787878787878787878\
                7878787878787878787878787878787878787878787878787878787878787878\
                7878787878787878787878787878787878787878787878787878787878787878\
                7878787878787878787878787878787878787878787878780d0a693a20626579\
                6f6e640d0a435365713a203120494e564954450d0a0d0a
                """),
        PayloadVector(
            seed: 0x123456789abcdef, source: "192.0.2.1:5000",
            destination: "198.51.100.7:514",
            spec: "sip_call_id", key: 0xefd36124,
            payload: """
                494e56495445207369703a626f62406578616d706c652e636f6d205349502f32\
                2e300d0a5669613a205349502f322e302f55445020683b6272616e63683d7a39\
                684734624b0d0a583a2078787878787878787878787878787878787878787878\
                7878787878787878787878787878787878787878787878787878787878787878\
                7878787878787878787878787878787878787878787878787878787878787878\
                7878787878787878787878787878787878787878787878787878787878787878\
                7878787878787878787878787878787878787878787878787878787878787878\
                7878787878787878787878787878787878787878787878787878787878787878\
                7878787878787878787878787878787878787878787878787878787878787878\
                7878787878787878787878787878787878787878787878787878787878787878\
                7878787878787878787878787878787878787878787878787878787878787878\
                7878787878787878787878787878787878787878787878787878787878787878\
                7878787878787878787878787878787878787878787878787878787878787878\
                7878787878787878787878787878787878787878787878787878787878787878\
                7878787878787878787878787878787878787878787878787878787878787878\
                7878787878787878787878787878787878787878787878787878787878787878\
                7878787878787878787878787878787878787878787878787878787878787878\
                7878787878787878787878787878787878787878787878787878787878787878\
                7878787878787878787878787878787878787878787878787878787878787878\
                7878787878787878787878787878787878787878787878787878787878787878\
                7878787878787878787878787878787878787878787878787878787878787878\
                7878787878787878787878787878787878787878787878787878787878787878\
                7878787878787878787878787878787878787878787878787878787878787878\
                7878787878787878787878787878787878787878787878787878787878787878\
                7878787878787878787878787878787878787878787878787878787878787878\
                7878787878787878787878787878787878787878787878787878787878787878\
                7878787878787878787878787878787878787878787878787878787878787878\
                7878787878787878787878787878787878787878787878787878787878787878\
                7878787878787878787878787878787878787878787878787878787878787878\
                7878787878787878787878787878787878787878787878787878787878787878\
                7878787878787878787878787878787878787878787878787878787878787878\
                7878787878787878787878787878787878787878787878787878787878787878\
                7878787878787878787878787878787878787878787878787878787878780d0a\
                43616c6c2d49443a206265796f6e640d0a435365713a203120494e564954450d\
                0a0d0a
                """),
        PayloadVector(
            seed: 0x0, source: "[2001:db8::1]:5000",
            destination: "[2001:db8::7]:514",
            spec: "sip_call_id", key: 0xb088dd3f,
            payload: """
                5349502f322e3020323030204f4b0a43616c6c2d49443a206c662d6f6e6c790a\
                0a
                """),
        PayloadVector(
            seed: 0x1, source: "192.0.2.1:5000",
            destination: "198.51.100.7:514",
            spec: "sip_call_id", key: 0x38794c37,
            payload: """
                5349502f322e3020323030204f4b0d0a43616c6c2d49443a20637574
                """),
        PayloadVector(
            seed: 0x5eed, source: "[2001:db8::1]:5000",
            destination: "[2001:db8::7]:514",
            spec: "sip_call_id", key: 0x6f41de55,
            payload: """
                0d0a0d0a
                """),
        PayloadVector(
            seed: 0xffffffffffffffff, source: "192.0.2.1:5000",
            destination: "198.51.100.7:514",
            spec: "sip_call_id,skip=4", key: 0xaddc7c08,
            payload: """
                777261705349502f322e3020323030204f4b0d0a43616c6c2d49443a20736b69\
                707065640d0a0d0a
                """),
        PayloadVector(
            seed: 0x123456789abcdef, source: "[2001:db8::1]:5000",
            destination: "[2001:db8::7]:514",
            spec: "quic_server_id,offset=1,length=4", key: 0x277a174e,
            payload: """
                e00000000108a0a1a2a3a4a5a6a7a8a9aaabacadaeafb0b1b2b3
                """),
        PayloadVector(
            seed: 0x0, source: "192.0.2.1:5000",
            destination: "198.51.100.7:514",
            spec: "quic_server_id,offset=1,length=4", key: 0xed7dd2da,
            payload: """
                c00000000108a0a1a2a3a4a5a6a7a8a9aaabacadaeafb0b1b2b3
                """),
        PayloadVector(
            seed: 0x1, source: "[2001:db8::1]:5000",
            destination: "[2001:db8::7]:514",
            spec: "quic_server_id,offset=1,length=4", key: 0x9cd194b1,
            payload: """
                d00000000108a0a1a2a3a4a5a6a7a8a9aaabacadaeafb0b1b2b3
                """),
        PayloadVector(
            seed: 0x5eed, source: "192.0.2.1:5000",
            destination: "198.51.100.7:514",
            spec: "quic_server_id,offset=1,length=4", key: 0x94a60084,
            payload: """
                f00000000108a0a1a2a3a4a5a6a7a8a9aaabacadaeafb0b1b2b3
                """),
        PayloadVector(
            seed: 0xffffffffffffffff, source: "[2001:db8::1]:5000",
            destination: "[2001:db8::7]:514",
            spec: "quic_server_id,offset=1,length=4", key: 0x24b6a14e,
            payload: """
                f06b3343cf08a0a1a2a3a4a5a6a7a8a9aaabacadaeafb0b1b2b3
                """),
        PayloadVector(
            seed: 0x123456789abcdef, source: "192.0.2.1:5000",
            destination: "198.51.100.7:514",
            spec: "quic_server_id,offset=1,length=4", key: 0xefd36124,
            payload: """
                e06b3343cf08a0a1a2a3a4a5a6a7a8a9aaabacadaeafb0b1b2b3
                """),
        PayloadVector(
            seed: 0x0, source: "[2001:db8::1]:5000",
            destination: "[2001:db8::7]:514",
            spec: "quic_server_id,offset=1,length=4", key: 0xe903e831,
            payload: """
                c00000000008a0a1a2a3a4a5a6a7a8a9aaabacadaeafb0b1b2b3
                """),
        PayloadVector(
            seed: 0x1, source: "192.0.2.1:5000",
            destination: "198.51.100.7:514",
            spec: "quic_server_id,offset=1,length=4", key: 0x38794c37,
            payload: """
                a00000000108a0a1a2a3a4a5a6a7a8a9aaabacadaeafb0b1b2b3
                """),
        PayloadVector(
            seed: 0x5eed, source: "[2001:db8::1]:5000",
            destination: "[2001:db8::7]:514",
            spec: "quic_server_id,offset=1,length=4", key: 0x6f41de55,
            payload: """
                e00000000208a0a1a2a3a4a5a6a7a8a9aaabacadaeafb0b1b2b3
                """),
        PayloadVector(
            seed: 0xffffffffffffffff, source: "192.0.2.1:5000",
            destination: "198.51.100.7:514",
            spec: "quic_server_id,offset=1,length=4", key: 0x24b6a14e,
            payload: """
                40a0a1a2a3a4a5a6a7a8a9aaabacadaeafb0b1b2b3
                """),
        PayloadVector(
            seed: 0x123456789abcdef, source: "[2001:db8::1]:5000",
            destination: "[2001:db8::7]:514",
            spec: "quic_server_id,offset=1,length=4", key: 0x277a174e,
            payload: """
                7fa0a1a2a3a4a5a6a7a8a9aaabacadaeafb0b1b2b3
                """),
        PayloadVector(
            seed: 0x0, source: "192.0.2.1:5000",
            destination: "198.51.100.7:514",
            spec: "quic_server_id,offset=1,length=4", key: 0xed7dd2da,
            payload: """
                00a0a1a2a3a4a5a6a7a8a9aaabacadaeafb0b1b2b3
                """),
        PayloadVector(
            seed: 0x1, source: "[2001:db8::1]:5000",
            destination: "[2001:db8::7]:514",
            spec: "quic_server_id,offset=1,length=4", key: 0x15780171,
            payload: """
                40a0a1a2a3a4
                """),
        PayloadVector(
            seed: 0x5eed, source: "192.0.2.1:5000",
            destination: "198.51.100.7:514",
            spec: "quic_server_id,offset=1,length=4", key: 0x94a60084,
            payload: """
                40a0a1a2a3
                """),
        PayloadVector(
            seed: 0xffffffffffffffff, source: "[2001:db8::1]:5000",
            destination: "[2001:db8::7]:514",
            spec: "quic_server_id,offset=1,length=4", key: 0x24b6a14e,
            payload: """
                e00000000105a0a1a2a3a4a5a6a7a8a9aaabacadaeafb0b1b2b3
                """),
        PayloadVector(
            seed: 0x123456789abcdef, source: "192.0.2.1:5000",
            destination: "198.51.100.7:514",
            spec: "quic_server_id,offset=1,length=4", key: 0xefd36124,
            payload: """
                e00000000104a0a1a2a3a4a5a6a7a8a9aaabacadaeafb0b1b2b3
                """),
        PayloadVector(
            seed: 0x0, source: "[2001:db8::1]:5000",
            destination: "[2001:db8::7]:514",
            spec: "quic_server_id,offset=1,length=4", key: 0xe903e831,
            payload: """
                e000000001
                """),
        PayloadVector(
            seed: 0x1, source: "192.0.2.1:5000",
            destination: "198.51.100.7:514",
            spec: "quic_server_id,offset=1,length=4", key: 0x38794c37,
            payload: """
                """),
        PayloadVector(
            seed: 0x5eed, source: "[2001:db8::1]:5000",
            destination: "[2001:db8::7]:514",
            spec: "quic_server_id,offset=0,length=20", key: 0x0df5fb63,
            payload: """
                40a0a1a2a3a4a5a6a7a8a9aaabacadaeafb0b1b2b3
                """),
        PayloadVector(
            seed: 0xffffffffffffffff, source: "192.0.2.1:5000",
            destination: "198.51.100.7:514",
            spec: "dtls_server_id,offset=0,length=2", key: 0x504294d5,
            payload: """
                19fefd0001000000000001a0a1a2a3a4a5a6a7a8a9aaabacadaeafb0b1b2b3
                """),
        PayloadVector(
            seed: 0x123456789abcdef, source: "[2001:db8::1]:5000",
            destination: "[2001:db8::7]:514",
            spec: "dtls_server_id,offset=0,length=2", key: 0xfd889238,
            payload: """
                16fefd0001000000000001a0a1a2a3a4a5a6a7a8a9aaabacadaeafb0b1b2b3
                """),
        PayloadVector(
            seed: 0x0, source: "192.0.2.1:5000",
            destination: "198.51.100.7:514",
            spec: "dtls_server_id,offset=0,length=2", key: 0xfc29f623,
            payload: """
                19fefd0001000000000001a0a1
                """),
        PayloadVector(
            seed: 0x1, source: "[2001:db8::1]:5000",
            destination: "[2001:db8::7]:514",
            spec: "dtls_server_id,offset=0,length=2", key: 0x9cd194b1,
            payload: """
                19fefd0001000000000001a0
                """),
        PayloadVector(
            seed: 0x5eed, source: "192.0.2.1:5000",
            destination: "198.51.100.7:514",
            spec: "dtls_server_id,offset=0,length=2", key: 0x2389787d,
            payload: """
                30a0a1a2a3a4a5a6a7a8a9aaabacadaeafb0b1b2b3
                """),
        PayloadVector(
            seed: 0xffffffffffffffff, source: "[2001:db8::1]:5000",
            destination: "[2001:db8::7]:514",
            spec: "dtls_server_id,offset=0,length=2", key: 0x504294d5,
            payload: """
                3fa0a1a2a3a4a5a6a7a8a9aaabacadaeafb0b1b2b3
                """),
        PayloadVector(
            seed: 0x123456789abcdef, source: "192.0.2.1:5000",
            destination: "198.51.100.7:514",
            spec: "dtls_server_id,offset=0,length=2", key: 0xefd36124,
            payload: """
                2fa0a1a2a3a4a5a6a7a8a9aaabacadaeafb0b1b2b3
                """),
        PayloadVector(
            seed: 0x0, source: "[2001:db8::1]:5000",
            destination: "[2001:db8::7]:514",
            spec: "dtls_server_id,offset=0,length=2", key: 0xe903e831,
            payload: """
                40a0a1a2a3a4a5a6a7a8a9aaabacadaeafb0b1b2b3
                """),
        PayloadVector(
            seed: 0x1, source: "192.0.2.1:5000",
            destination: "198.51.100.7:514",
            spec: "dtls_server_id,offset=0,length=2", key: 0x38794c37,
            payload: """
                30a0
                """),
        PayloadVector(
            seed: 0x5eed, source: "[2001:db8::1]:5000",
            destination: "[2001:db8::7]:514",
            spec: "dtls_server_id,offset=0,length=2", key: 0x6f41de55,
            payload: """
                """),
        PayloadVector(
            seed: 0xffffffffffffffff, source: "192.0.2.1:5000",
            destination: "198.51.100.7:514",
            spec: "dtls_server_id,offset=3,length=8,skip=2", key: 0xe4651e22,
            payload: """
                000019fefd0001000000000001a0a1a2a3a4a5a6a7a8a9aaabacadaeafb0b1b2\
                b3
                """),
    ]
}
