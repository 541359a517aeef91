// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import LabNet
import Logging
import PlaneContract
import Testing
import Tiers
import UserspacePlane

/// All suites of this module.
@Suite("The userspace plane", .tags(.network), .serialized)
struct UserspacePlaneTests {
    @Test("keeps what every plane promises", arguments: Promise.functional)
    func promises(promise: Promise) async throws { try await promise.check(.userspace) }

    @Test("keeps it under load", .tags(.load), arguments: Promise.underLoad)
    func promisesUnderLoad(promise: Promise) async throws { try await promise.check(.userspace) }
}

extension Stage {
    /// This plane on loopback.
    static let userspace = Stage(mode: .userspace) { UserspacePlane(logger: .silent) }

    /// This plane with `preserve_source`, on loopback.
    static let preserving: Stage = {
        var stage = Stage.userspace
        stage.keepsSource = true
        return stage
    }()
}

extension Logger {
    static let silent = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
}

extension ListenerSettings {
    /// Buffer space at the listener for all datagrams that a test sends at once.
    static func roomy(workers: Int = 1, maxPacketSize: Int = 9000) -> ListenerSettings {
        ListenerSettings(
            maxPacketSize: maxPacketSize, workers: workers, receiveBufferBytes: Sink.bufferBytes)
    }
}

/// Waits until the listener has counted all datagrams of `report` and the sinks have got the forwarded ones, and
/// checks that none was lost, repeated, altered or reordered on the way.
func expectExact(
    _ report: LoadReport, through rig: Rig, _ name: String = "in", at sinks: [Sink],
    sourceLocation: SourceLocation = #_sourceLocation
) async throws {
    #expect(report.errors == [:], sourceLocation: sourceLocation)
    let counters = try await rig.settled(name, at: report.datagrams)
    #expect(
        counters.packetsForwarded == counters.packetsReceived, "\(counters)",
        sourceLocation: sourceLocation)
    try await eventually("what was forwarded arrives") {
        sinks.map(\.arrivals).reduce(0, +) >= counters.packetsForwarded
    }
    let delivery = Delivery(of: report, at: sinks)
    #expect(
        delivery.isExact(droppedAtListener: counters.kernelDrops), "\(delivery), \(counters)",
        sourceLocation: sourceLocation)
}
