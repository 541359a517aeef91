// SPDX-License-Identifier: Apache-2.0

/// The result of a load: its report compared with the sinks' records.
public struct Delivery: Equatable, Sendable, CustomStringConvertible {
    public var sent: UInt64 = 0
    /// Different datagrams that arrived at any sink.
    public var arrived: UInt64 = 0
    public var duplicates: UInt64 = 0
    /// Arrivals after a later datagram of the same flow at the same sink.
    public var disorders: UInt64 = 0
    public var damaged: UInt64 = 0
    /// Datagrams that the kernel dropped at the sinks: the fault of the test, not of the plane.
    public var droppedAtSinks: UInt64 = 0
    /// The first missing numbers of a flow, for a report.
    public var missing: [UInt64] = []

    public init(of report: LoadReport, at sinks: [Sink]) {
        var whole: [UInt32: FlowTally] = [:]
        for sink in sinks {
            damaged += sink.damaged
            droppedAtSinks += sink.kernelDrops
            for (flow, tally) in sink.flows where report.sent[flow] != nil {
                whole[flow, default: FlowTally()].merge(tally)
            }
        }
        for (flow, count) in report.sent {
            let tally = whole[flow] ?? FlowTally()
            sent += count
            arrived += tally.count
            duplicates += tally.duplicates
            disorders += tally.disorders
            if missing.isEmpty { missing = Array(tally.missing(of: count).prefix(10)) }
        }
    }

    public var lost: UInt64 { sent - min(sent, arrived) }

    /// Whether every datagram arrived once, intact and in order, except for those that the kernel dropped at the sinks
    /// or in the listener's receive queue.
    public func isExact(droppedAtListener: UInt64 = 0) -> Bool {
        duplicates == 0 && disorders == 0 && damaged == 0
            && arrived + droppedAtSinks + droppedAtListener == sent
    }

    public var description: String {
        "sent \(sent), arrived \(arrived), duplicates \(duplicates), disorders \(disorders), damaged "
            + "\(damaged), dropped at sinks \(droppedAtSinks), first missing \(missing)"
    }
}
