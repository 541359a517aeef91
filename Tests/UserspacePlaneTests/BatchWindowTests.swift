// SPDX-License-Identifier: Apache-2.0

import Testing
import Tiers

@testable import UserspacePlane

@Suite("The window of a batch", .tags(.unit))
struct BatchWindowTests {
    /// Makes that many full calls with messages of `bytes`, and returns the window of each.
    private func sizes(
        of window: inout BatchWindow, calls: Int, bytes: Int
    ) -> [Int] {
        (0..<calls).map { _ in
            let size = window.size
            window.adapt(to: size, bytes: UInt64(size * bytes))
            return size
        }
    }

    @Test("doubles while calls come back full, up to 512")
    func growth() {
        var window = BatchWindow(start: 32)
        #expect(window.capacity == 512)
        #expect(sizes(of: &window, calls: 6, bytes: 64) == [32, 64, 128, 256, 512, 512])
    }

    @Test("never exceeds its memory", arguments: [1, 3, 300, 511, 512, 513, 1024])
    func capacity(start: Int) {
        var window = BatchWindow(start: start)
        #expect(window.capacity == max(512, start))
        #expect(sizes(of: &window, calls: 20, bytes: 64).last == window.capacity)
    }

    @Test("keeps its size while more than half of it is needed")
    func steady() {
        var window = BatchWindow(start: 32)
        _ = sizes(of: &window, calls: 4, bytes: 64)
        for _ in 0..<10 { window.adapt(to: 257, bytes: 257 * 64) }
        #expect(window.size == 512)
    }

    @Test("shrinks to its start when calls bring few messages, and no further")
    func shrinking() {
        var window = BatchWindow(start: 32)
        _ = sizes(of: &window, calls: 4, bytes: 64)
        var sizes: [Int] = []
        for _ in 0..<6 {
            window.adapt(to: 1, bytes: 64)
            sizes.append(window.size)
        }
        #expect(sizes == [256, 128, 64, 32, 32, 32])
    }

    @Test("keeps a full call of super-packets within the cache, and grows again after it")
    func superPackets() {
        var window = BatchWindow(start: 32)
        #expect(sizes(of: &window, calls: 4, bytes: 64_000) == [32, 16, 8, 8])
        // Few messages do not reset it, since they may be super-packets.
        window.adapt(to: 1, bytes: 64_000)
        #expect(window.size == 8)
        #expect(sizes(of: &window, calls: 3, bytes: 64) == [8, 16, 32])
    }

    @Test("with large datagrams does not grow beyond the cache")
    func largeDatagrams() {
        var window = BatchWindow(start: 32)
        #expect(sizes(of: &window, calls: 4, bytes: 1400) == [32, 64, 128, 128])
    }
}
