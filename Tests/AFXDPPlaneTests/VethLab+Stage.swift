// SPDX-License-Identifier: Apache-2.0

import AFXDPPlane
import FanoutCore
import LabNet
import Logging
import PlaneContract
import Synchronization

extension VethLab {
    /// The plane with clients, listeners and receivers in their networks. Its calls run in the balancer.
    func stage(logger: Logger = .silent, mode: XDPAttach = .native) throws -> Stage {
        let lab = self
        let nextSlot = Turn()
        // Without this setting, packets from a veth have no complete checksum.
        try client.command("ethtool -K c0 tx off")
        var stage = Stage(mode: .afXDP) { AFXDPPlane(logger: logger) }
        stage.keepsSource = true
        stage.interface = "lb0"
        stage.xdpMode = mode
        stage.listening = { VethLab.address($0, 0, 1) }
        stage.client = { VethLab.address($0, 9, $1 + 1) }
        stage.makeSink = { family, keeps in
            let number = nextSlot.next % lab.receivers.count
            return try lab.receivers[number].enter {
                try Sink(on: VethLab.address(family, number + 1, 2), keepsPayloads: keeps)
            }
        }
        stage.makeTraffic = { target, source in
            try lab.client.enter { try Traffic(to: target, from: source) }
        }
        stage.makeDirect = { target in
            let address = target.address
            let near = IPAddress(high: address.high, low: address.low - 1)
            return try lab.balancer.enter { try Traffic(to: target, from: near) }
        }
        return stage
    }

    /// Counts up from 0.
    private final class Turn: Sendable {
        private let count = Atomic(0)
        var next: Int { count.add(1, ordering: .relaxed).oldValue }
    }
}

extension Logger {
    static let silent = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
}
