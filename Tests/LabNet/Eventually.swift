// SPDX-License-Identifier: Apache-2.0

/// What was waited for did not come about.
public struct NeverHappened: Error, CustomStringConvertible {
    public let what: String
    public let limit: Duration

    public var description: String { "not within \(limit): \(what)" }
}

/// Asks again and again, every few milliseconds, until `condition` holds. The only way to wait here.
///
/// - Throws: `NeverHappened` with `what`, a sentence that says what should have come about.
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
