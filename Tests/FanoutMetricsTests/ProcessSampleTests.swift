// SPDX-License-Identifier: Apache-2.0

import FanoutMetrics
import Glibc
import Testing
import Tiers

@Suite("the process's own use", .tags(.network))
struct ProcessSampleTests {
    private let fields =
        "S 1 2 3 0 -1 4194560 100 0 0 0 250 50 0 0 20 0 4 0 1000 99999999 300 18446744073709551615"

    @Test("time and memory are read behind a name with blanks and parentheses")
    func parsesStat() {
        let sample = ProcessSample(
            stat: "42 (a) b) (c) \(fields) 1 2 3", openFDs: 7, maxFDs: 64, pageBytes: 4096,
            ticksPerSecond: 100, bootTimeSeconds: 1_000_000)
        let expected = ProcessSample(
            residentBytes: 300 * 4096, virtualBytes: 99_999_999, openFDs: 7, maxFDs: 64,
            startTimeSeconds: 1_000_010, cpuSeconds: 3)
        #expect(sample == expected)
    }

    @Test(
        "a line of another shape gives nothing",
        arguments: [
            "", "42", "42 (name)", "42 (name) S 1 2 3", "42 (name) S x x x x x x x x x x x x",
        ])
    func refusesOtherShapes(line: String) {
        #expect(
            ProcessSample(
                stat: line, openFDs: 0, maxFDs: 1, pageBytes: 4096, ticksPerSecond: 100,
                bootTimeSeconds: 0) == nil)
    }

    @Test("this process's descriptors, memory and time are counted")
    func current() throws {
        let descriptors = (0..<50).map { _ in dup(0) }
        defer { for descriptor in descriptors { close(descriptor) } }
        let sample = try #require(ProcessSample.current())
        #expect(sample.openFDs >= 50)
        #expect(sample.residentBytes > 1 << 20)
        #expect(sample.cpuSeconds > 0)
        #expect(sample.virtualBytes > sample.residentBytes && sample.maxFDs >= sample.openFDs)
        // Since the machine runs, and not in the future; the same each time.
        let now = Double(time(nil))
        #expect(sample.startTimeSeconds > 1_600_000_000 && sample.startTimeSeconds < now + 2)
        #expect(ProcessSample.current()?.startTimeSeconds == sample.startTimeSeconds)
    }
}
