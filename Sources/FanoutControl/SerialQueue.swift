// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// Runs operations one after another, in the order of their calls. An actor does not: it admits other calls while
/// one waits.
public final class SerialQueue: Sendable {
    private struct State {
        var isBusy = false
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Mutex(State())

    public init() {}

    /// Runs an operation after all earlier ones. An operation must not call `run` itself.
    public func run<Result: Sendable, Failure>(
        isolation: isolated (any Actor)? = #isolation,
        _ operation: () async throws(Failure) -> Result
    ) async throws(Failure) -> Result {
        await begin()
        defer { end() }
        return try await operation()
    }

    private func begin(isolation: isolated (any Actor)? = #isolation) async {
        await withCheckedContinuation { continuation in
            let isFirst = state.withLock { state in
                if state.isBusy { state.waiting.append(continuation) }
                defer { state.isBusy = true }
                return !state.isBusy
            }
            if isFirst { continuation.resume() }
        }
    }

    private func end() {
        let next = state.withLock { state in
            if state.waiting.isEmpty { state.isBusy = false }
            return state.waiting.isEmpty ? nil : state.waiting.removeFirst()
        }
        next?.resume()
    }
}
