// SPDX-License-Identifier: Apache-2.0

/// What was waited for did not come about.
struct NeverHappened: Error {}

/// Asks again and again until `condition` holds, for ten seconds at most.
func until(_ condition: () async throws -> Bool) async throws {
    let end = ContinuousClock.now + .seconds(10)
    while try await !condition() {
        guard ContinuousClock.now < end else { throw NeverHappened() }
        try await Task.sleep(for: .milliseconds(2))
    }
}
