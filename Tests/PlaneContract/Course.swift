// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import LabNet

/// What a plane makes of one listener step by step: the listener is altered, somebody sends, and the counters say
/// what became of it.
struct Course {
    /// As the next step finds it.
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

    /// Brings the plane to the listener as it is by now.
    mutating func apply() async throws {
        guard listener != applied else { return }
        try await rig.apply([listener])
        applied = listener
    }

    /// Brings the plane to the listener as it is by now, sends, and waits until all that was ever sent is dealt
    /// with.
    ///
    /// - Parameter refusals: how many times each is tried again. Who keeps the client's source has the client told
    ///   of receivers that refuse, and a send that learns of one sends nothing.
    /// - Returns: the counters by then.
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
