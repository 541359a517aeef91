// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc

/// The state of a child: written by the threads that read its output and wait for its end, read by waiting tests.
public final class ChildRecord: @unchecked Sendable {
    /// A snapshot of the record.
    public struct State: Sendable {
        /// Whole lines of standard output and standard error.
        public var output: [String] = []
        public var errors: [String] = []
        /// Collected standard streams that have not ended yet.
        public var open: Set<Int32> = []
        public var ending: Ending?
    }

    private let name: String
    private let condition = NSCondition()
    private var current = State()
    private var collected: [Int32: Int32] = [:]

    init(name: String, open: [Int32]) {
        self.name = name
        current.open = Set(open)
    }

    public var state: State { condition.withLock { current } }

    /// Waits until `probe` finds something in the state.
    ///
    /// - Throws: `NotInTime`, with the whole output of the child.
    @discardableResult
    public func wait<Value: Sendable>(
        _ what: String, within limit: Duration = .seconds(20),
        _ probe: @escaping @Sendable (State) -> Value?
    ) async throws -> Value {
        try await offPool {
            let end = Date(timeIntervalSinceNow: limit / .seconds(1))
            return try self.condition.withLock {
                while true {
                    if let value = probe(self.current) { return value }
                    // A child that has ended and whose output is read does not change any more.
                    let isOver = self.current.ending != nil && self.current.open.isEmpty
                    guard !isOver, self.condition.wait(until: end) else {
                        throw NotInTime(
                            what: "\(what) of \(self.name)", limit: limit, state: self.current)
                    }
                }
            }
        }
    }

    private func update(_ change: (inout State) -> Void) {
        condition.withLock {
            change(&current)
            condition.broadcast()
        }
    }

    /// Reads `descriptor` to its end, on a thread of its own, and closes it.
    func collect(_ descriptor: Int32, as number: Int32) {
        condition.withLock { collected[number] = descriptor }
        Thread.detachNewThread {
            var rest: [UInt8] = []
            var chunk = [UInt8](repeating: 0, count: 65_536)
            while true {
                let count = read(descriptor, &chunk, chunk.count)
                if count < 0, errno == EINTR { continue }
                guard count > 0 else { break }
                rest += chunk[..<count]
                let pieces = rest.split(separator: 10, omittingEmptySubsequences: false)
                rest = Array(pieces.last ?? [])
                self.append(pieces.dropLast().map { String(decoding: $0, as: UTF8.self) }, number)
            }
            if !rest.isEmpty { self.append([String(decoding: rest, as: UTF8.self)], number) }
            self.condition.withLock { _ = self.collected.removeValue(forKey: number) }
            close(descriptor)
            self.update { $0.open.remove(number) }
        }
    }

    private func append(_ lines: [String], _ number: Int32) {
        update { state in
            if number == 1 { state.output += lines } else { state.errors += lines }
        }
    }

    /// Stops reading a stream: the child's later writes fail with EPIPE.
    public func hangUp(_ number: Int32) {
        condition.withLock {
            if let descriptor = collected[number] { shutdown(descriptor, Int32(SHUT_RDWR)) }
        }
    }

    /// Records the end of `pid`. It is reaped under the lock, so that `kill` never signals another process with the
    /// same id.
    func awaitEnd(of pid: pid_t) {
        Thread.detachNewThread {
            var information = siginfo_t()
            while waitid(P_PID, id_t(pid), &information, WEXITED | WNOWAIT) < 0, errno == EINTR {}
            self.update { state in
                var status: Int32 = 0
                waitpid(pid, &status, 0)
                state.ending = Ending(status: status)
            }
        }
    }

    func kill(_ pid: pid_t, _ signal: Int32) {
        condition.withLock { if current.ending == nil { Glibc.kill(pid, signal) } }
    }
}

/// Something did not happen within its time.
public struct NotInTime: Error, CustomStringConvertible {
    public let what: String
    public let limit: Duration
    public let state: ChildRecord.State

    public var description: String {
        "\(what) did not come within \(limit); it ended: \(String(describing: state.ending)); "
            + "it said:\n" + (state.output + state.errors).suffix(40).joined(separator: "\n")
    }
}

/// Runs blocking work on a thread outside of the task pool.
public func offPool<Value: Sendable>(
    _ work: @escaping @Sendable () throws -> Value
) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
        Thread.detachNewThread { continuation.resume(with: Result { try work() }) }
    }
}
