// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// The counters of a worker. Only the worker writes; any thread may read at any time.
final class Accounting: Sendable {
    /// Errnos are below this (errno(3); the highest of Linux is 133).
    static let codes = 134

    private let sent = Atomic<UInt64>(0)
    private let bytes = Atomic<UInt64>(0)
    /// Datagrams that the kernel did not accept, by errno; 0 is an errno beyond the table.
    private let failed = InlineArray<134, Atomic<UInt64>> { _ in Atomic(0) }

    func add(sent datagrams: UInt64, bytes more: UInt64) {
        sent.wrappingAdd(datagrams, ordering: .relaxed)
        bytes.wrappingAdd(more, ordering: .relaxed)
    }

    func add(failed code: Int32) {
        let index = code > 0 && code < Int32(Self.codes) ? Int(code) : 0
        failed[index].wrappingAdd(1, ordering: .relaxed)
    }

    var totals: Totals {
        var totals = Totals()
        totals.sent = sent.load(ordering: .relaxed)
        totals.bytes = bytes.load(ordering: .relaxed)
        for code in 0..<Self.codes {
            let count = failed[code].load(ordering: .relaxed)
            if count > 0 { totals.errors[Int32(code)] = count }
        }
        return totals
    }
}

/// The sum over all workers. Every datagram attempted is either sent or failed.
struct Totals: Equatable, Sendable {
    /// Datagrams that the kernel accepted.
    var sent: UInt64 = 0
    /// Payload bytes of these.
    var bytes: UInt64 = 0
    /// Datagrams that it did not accept: errno to count.
    var errors: [Int32: UInt64] = [:]

    var failed: UInt64 { errors.values.reduce(0, +) }
    var attempted: UInt64 { sent + failed }

    static func += (left: inout Totals, right: Totals) {
        left.sent += right.sent
        left.bytes += right.bytes
        left.errors.merge(right.errors, uniquingKeysWith: +)
    }
}
