// SPDX-License-Identifier: Apache-2.0

import Glibc
import LabNet
import Testing
import Tiers

@Suite(
    "The task pool beside a lab", .tags(.network),
    .enabled(if: geteuid() == 0, "needs root for namespaces"))
struct PoolGateTests {
    /// The network namespace of the calling thread, as the kernel numbers it.
    private static func namespace() -> String {
        var text = [CChar](repeating: 0, count: 64)
        let length = readlink("/proc/thread-self/ns/net", &text, text.count - 1)
        return String(decoding: text.prefix(max(0, length)).map(UInt8.init), as: UTF8.self)
    }

    @Test("a thread that the pool makes for a lab's task is not in the lab")
    func outside() async throws {
        let outside = Self.namespace()
        let priorities: [TaskPriority] = [.background, .utility, .low, .medium, .high]
        let (inside, seen) = try await Namespace.run([]) {
            // Each priority has threads of its own, and some of them have none yet.
            var seen: Set<String> = []
            for priority in priorities {
                for _ in 0..<4 {
                    let tasks = (0..<4).map { _ in
                        Task.detached(priority: priority) { Self.namespace() }
                    }
                    for task in tasks { seen.insert(await task.value) }
                }
            }
            return (Self.namespace(), seen)
        }
        #expect(inside != outside)
        #expect(seen == [outside])
    }
}
