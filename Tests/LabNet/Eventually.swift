// SPDX-License-Identifier: Apache-2.0

/// A condition that did not become true in time.
public struct NeverHappened: Error, CustomStringConvertible {
    public let what: String
    public let limit: Duration

    public var description: String { "not within \(limit): \(what)" }
}

/// Polls `condition` every few milliseconds until it is true. All tests wait by this function.
///
/// - Throws: `NeverHappened` with `what`, a sentence that describes the condition.
public func eventually(
    isolation: isolated (any Actor)? = #isolation, within limit: Duration = .seconds(30),
    _ what: String, _ condition: () async throws -> Bool
) async throws {
    let end = ContinuousClock.now + limit
    while try await !condition() {
        guard ContinuousClock.now < end else { throw NeverHappened(what: what, limit: limit) }
        try await Task.sleep(for: .milliseconds(3))
    }
}
