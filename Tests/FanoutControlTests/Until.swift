// SPDX-License-Identifier: Apache-2.0

/// The condition did not come true.
struct NeverHappened: Error {}

/// Polls until `condition` holds, for at most ten seconds.
func until(_ condition: () async throws -> Bool) async throws {
    let end = ContinuousClock.now + .seconds(10)
    while try await !condition() {
        guard ContinuousClock.now < end else { throw NeverHappened() }
        try await Task.sleep(for: .milliseconds(2))
    }
}
