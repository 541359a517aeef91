// SPDX-License-Identifier: Apache-2.0

internal import FanoutCore
internal import Synchronization

/// What a source counts about itself; any thread may read it.
final class SourceTally: Sendable {
    private struct State {
        var confirmed = ContinuousClock.now
        /// Whether nothing has failed since.
        var isSound = false
        /// Whether anything has ever been known.
        var hasAnswered = false
        var relists: [String: UInt64] = [:]
        var errors: [String: UInt64] = [:]
        /// Since something was confirmed.
        var lastError: String?
    }

    private let state = Mutex(State())

    /// What is known has been confirmed just now.
    func confirm() {
        state.withLock {
            $0.confirmed = .now
            $0.isSound = true
            $0.hasAnswered = true
            $0.lastError = nil
        }
    }

    /// Whether something is known.
    var hasAnswered: Bool { state.withLock(\.hasAnswered) }

    /// What is known is as it was when it was confirmed, if nothing has failed since.
    func reconfirm() { state.withLock { if $0.isSound { $0.confirmed = .now } } }

    func relist(_ reason: RelistReason) {
        state.withLock { $0.relists[reason.rawValue, default: 0] += 1 }
    }

    /// - Parameter words: what tells it from others of its code.
    /// - Returns: whether it is another one than the last, or the first since something was confirmed.
    @discardableResult
    func error(_ code: String, _ words: String = "") -> Bool {
        state.withLock { state in
            state.errors[code, default: 0] += 1
            state.isSound = false
            let error = "\(code): \(words)"
            defer { state.lastError = error }
            return state.lastError != error
        }
    }

    var status: SourceStatus {
        state.withLock {
            SourceStatus(
                syncAge: .now - $0.confirmed, relists: $0.relists, errors: $0.errors)
        }
    }
}

/// Why everything was read anew. The raw value is the metric label `reason`.
enum RelistReason: String, CaseIterable, Sendable {
    case start
    /// A file is another.
    case changed
    /// The version that was known is too old for a watch from it, or an answer for being believed.
    case expired
    /// The version that was known is yet to come: the server's memory was reset.
    case future
    /// The watch said something that cannot be understood, or failed in another way than by its end.
    case broken
}
