// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import LabNet

/// Steps for one listener of a plane: the test changes the listener, sends datagrams and checks the counters.
struct Course {
    /// The listener for the next step.
    var listener: Listener
    let rig: Rig
    private let traffic: Traffic
    private var applied: Listener
    private var sent: UInt64 = 0

    /// A plane that serves the listener, and a sender to it.
    init(_ stage: Stage, _ listener: Listener) async throws {
        self.listener = listener
        applied = listener
        rig = try await stage.rig([listener])
        traffic = try stage.traffic(to: listener)
    }

    /// Applies the current `listener` to the plane.
    mutating func apply() async throws {
        guard listener != applied else { return }
        try await rig.apply([listener])
        applied = listener
    }

    /// Applies the current `listener` to the plane, sends, and waits until all datagrams so far are counted.
    ///
    /// - Parameter refusals: how many times each datagram is retried. A plane that keeps the client's source has ICMP
    ///   errors of receivers sent to the client, and a send that reports such an error sends nothing.
    /// - Returns: the counters after that.
    mutating func send(
        _ count: Int, _ payload: [UInt8] = [1], refusals: Int = 0
    ) async throws -> ListenerCounters {
        try await apply()
        for _ in 0..<count {
            let isTaken = (0...refusals).contains { _ in traffic.send(payload) }
            try claim(isTaken, "a datagram cannot be sent")
        }
        sent += UInt64(count)
        return try await rig.settled(at: sent)
    }
}
