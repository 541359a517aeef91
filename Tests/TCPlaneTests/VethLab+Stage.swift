// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import LabNet
import Logging
import PlaneContract
import Synchronization
import TCPlane

extension VethLab {
    /// The plane with clients, listeners and receivers in their networks. Its calls run in the balancer.
    ///
    /// - Parameter pins: where the hooks are pinned.
    func stage(_ pins: BPFFileSystem, logger: Logger = .silent) -> Stage {
        let lab = self
        let turn = Turn()
        var stage = Stage(mode: .tcEBPF) { TCPlane(logger: logger, root: pins.path) }
        stage.keepsSource = true
        stage.interface = "lb0"
        stage.listening = { VethLab.address($0, 0, 1) }
        stage.client = { VethLab.address($0, 9, $1 + 1) }
        stage.makeSink = { family, keeps in
            let number = turn.next % lab.receivers.count
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

    /// Receivers that record the time of each stamped datagram.
    func timingSinks(_ count: Int) throws -> [Sink] {
        try (0..<count).map { index in
            let number = index % receivers.count
            return try receivers[number].enter {
                try Sink(on: Self.v4(number + 1, 2), keepsPayloads: false, keepsTimes: true)
            }
        }
    }

    /// Counts up from 0.
    private final class Turn: Sendable {
        private let count = Atomic(0)
        var next: Int { count.add(1, ordering: .relaxed).oldValue }
    }
}

extension TCAttach {
    /// The hooks that the running kernel supports.
    static let here: [TCAttach] =
        KernelRelease.running >= .hasTCX ? [.tcx, .clsact] : [.clsact]
}

extension Logger {
    static let silent = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
}
