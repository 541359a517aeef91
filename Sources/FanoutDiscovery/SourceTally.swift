// SPDX-License-Identifier: Apache-2.0

internal import FanoutCore
internal import Synchronization

/// Counts a source's results and errors; any thread may read it.
final class SourceTally: Sendable {
    private struct State {
        var confirmed = ContinuousClock.now
        /// Whether nothing has failed since the last confirmation.
        var isSound = false
        /// Whether there has ever been an answer.
        var hasAnswered = false
        var relists: [String: UInt64] = [:]
        var errors: [String: UInt64] = [:]
        /// Since the last confirmation.
        var lastError: String?
    }

    private let state = Mutex(State())

    /// Confirms the current data.
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

    /// Confirms the data again, if nothing has failed since the last confirmation.
    func reconfirm() { state.withLock { if $0.isSound { $0.confirmed = .now } } }

    func relist(_ reason: RelistReason) {
        state.withLock { $0.relists[reason.rawValue, default: 0] += 1 }
    }

    /// - Parameter words: distinguishes it from other errors of its code.
    /// - Returns: whether it differs from the last one, or is the first since the last confirmation.
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

/// Why everything was read again. The raw value is the metric label `reason`.
enum RelistReason: String, CaseIterable, Sendable {
    case start
    /// The file was replaced.
    case changed
    /// The known version is too old to watch from, or the TTL of an answer has expired.
    case expired
    /// The known version does not exist yet: the server's storage was reset.
    case future
    /// The watch sent something invalid, or failed instead of ending.
    case broken
}
