// SPDX-License-Identifier: Apache-2.0

import LabNet

/// Two networks and a veth between them: `near0` and `far0`. It carries only the tests' frames.
struct Wire {
    let near: Network
    let far: Network

    init(queues: Int = 1) throws {
        near = try Network()
        far = try Network()
        try Self.connect(near, "near0", far, "far0", queues: queues)
    }

    static func connect(
        _ near: Network, _ nearName: String, _ far: Network, _ farName: String, queues: Int = 1
    ) throws {
        let shape = "numrxqueues \(queues) numtxqueues \(queues)"
        try near.ip(
            "link add \(nearName) \(shape) type veth peer name \(farName) netns \(far.path) \(shape)"
        )
        for (network, name) in [(near, nearName), (far, farName)] {
            // Prevents router solicitations and the like.
            try network.set("ipv6/conf/\(name)/disable_ipv6", to: "1")
            try network.ip("link set \(name) arp off up")
        }
    }

    /// Frames that differ; their EtherType is for experiments (IEEE 802, 0x88b5).
    static func frames(_ count: Int, bytes: Int = 60, mark: UInt8 = 0) -> [[UInt8]] {
        (0..<count).map { number in
            [UInt8](repeating: 0xff, count: 6) + [2, 0, 0, 0, 0, mark, 0x88, 0xb5]
                + (0..<bytes - 14).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ number) }
        }
    }
}
