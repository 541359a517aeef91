// SPDX-License-Identifier: Apache-2.0

import LabNet
import Synchronization
import Testing
import Tiers

@testable import FanoutDiscovery

@Suite("A burst", .tags(.network))
struct BurstTests {
    private let burst = Burst<Int>()
    private let taken = Taken()

    private final class Taken: Sendable {
        private let all = Mutex<[Int]>([])
        var values: [Int] { all.withLock { $0 } }
        func take(_ value: Int) { all.withLock { $0.append(value) } }
    }

    private func taking(
        quiet: Duration, limit: Duration, _ body: () async throws -> Void
    ) async throws {
        let (burst, taken) = (burst, taken)
        let task = Task { await burst.ends(after: quiet, within: limit) { taken.take($0) } }
        defer { task.cancel() }
        try await body()
        task.cancel()
        await task.value
    }

    @Test("is one value, the last, once nothing more comes")
    func last() async throws {
        try await taking(quiet: .milliseconds(100), limit: .seconds(60)) {
            for value in 1...5 { burst.put(value, isEnd: false) }
            try await eventually("it is taken") { !taken.values.isEmpty }
            #expect(taken.values == [5])
            burst.put(6, isEnd: false)
            try await eventually("the next one is taken") { taken.values == [5, 6] }
        }
    }

    @Test("that does not end is not waited for any longer than it may be")
    func limit() async throws {
        try await taking(quiet: .milliseconds(20), limit: .milliseconds(200)) {
            let begin = ContinuousClock.now
            while taken.values.isEmpty, .now - begin < .seconds(10) {
                burst.put(1, isEnd: false)
                try await Task.sleep(for: .milliseconds(1))
            }
            #expect(taken.values == [1])
        }
    }

    @Test("with a known end is taken at once")
    func end() async throws {
        try await taking(quiet: .seconds(60), limit: .seconds(60)) {
            burst.put(1, isEnd: true)
            try await eventually("it is taken") { taken.values == [1] }
        }
    }
}
