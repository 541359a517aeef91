// SPDX-License-Identifier: Apache-2.0

internal import CNet
internal import Dispatch
internal import Glibc
internal import Synchronization

/// Replaces maps in an array of maps, without blocking for the kernel's wait.
///
/// The kernel stores a map in its place at once, and then blocks the caller until no running program can have seen the
/// previous one (kernel/bpf/syscall.c, maybe_wait_bpf_programs): some tens of milliseconds. The caller only needs to
/// know that the store is done. So another thread makes the call and waits, and this one checks that the maps are in
/// place.
package final class MapExchange: Sendable {
    private let array: SharedMap
    private let maps: [(place: UInt32, map: SharedMap)]
    private let outcome = Mutex<Result<Void, BPFError>?>(nil)
    private let isOver = DispatchSemaphore(value: 0)

    /// How long to poll without a pause, and the length of later pauses, microseconds.
    private static let patience = 50
    private static let pause: UInt32 = 20
    private static let stackBytes = 256 << 10

    private init(_ array: SharedMap, _ maps: [(place: UInt32, map: SharedMap)]) {
        self.array = array
        self.maps = maps
    }

    /// Puts maps into their places. When it returns packets use them.
    ///
    /// - Parameters:
    ///   - array: an array of maps.
    ///   - maps: by their places.
    package static func begin(
        in array: SharedMap, _ maps: [(place: UInt32, map: SharedMap)]
    ) throws(BPFError) -> MapExchange {
        let exchange = MapExchange(array, maps)
        guard let last = maps.last else {
            exchange.end(.success(()))
            return exchange
        }
        exchange.start()
        do throws(BPFError) {
            try exchange.watch(last)
        } catch {
            // It runs all the same, so its own result counts.
            try exchange.wait()
        }
        return exchange
    }

    /// Returns once the last map is in its place: they are stored one after the other, so all others are too.
    private func watch(_ last: (place: UInt32, map: SharedMap)) throws(BPFError) {
        var looks = 0
        while try !isEnded,
            try array.map.value(of: last.place)?.words(of: UInt32.self).first
                != last.map.map.number
        {
            looks += 1
            if looks > Self.patience { usleep(Self.pause) }
        }
    }

    /// Makes the call in a thread of its own, which ends with it. Threads of a pool keep freed memory for themselves,
    /// and these calls come so often that memory use would rise for hours.
    private func start() {
        // SAFETY: the reference is retained here; the thread takes it, or we do when there is none.
        let reference = unsafe Unmanaged.passRetained(self)
        var thread: UInt = 0
        let result = unsafe cnet_thread_start(
            &thread, Self.stackBytes, "map-exchange",
            { unsafe Unmanaged<MapExchange>.fromOpaque($0!).takeRetainedValue().carryOut() },
            reference.toOpaque())
        if result < 0 {
            unsafe reference.takeRetainedValue().carryOut()
        } else {
            cnet_thread_detach(thread)
        }
    }

    private func carryOut() {
        do throws(BPFError) {
            try array.map.set(maps.map { (key: $0.place, value: $0.map.map.descriptor) })
            end(.success(()))
        } catch {
            end(.failure(error))
        }
    }

    /// Waits until no running program can have seen the previous content of the places.
    package func wait() throws(BPFError) {
        isOver.wait()
        isOver.signal()
        try outcome.withLock { $0 }?.get()
    }

    private var isEnded: Bool {
        get throws(BPFError) {
            guard let outcome = outcome.withLock({ $0 }) else { return false }
            try outcome.get()
            return true
        }
    }

    private func end(_ result: Result<Void, BPFError>) {
        outcome.withLock { $0 = result }
        isOver.signal()
    }
}

/// A map with several references.
package final class SharedMap: Sendable {
    package let map: BPFMap

    package init(_ map: consuming BPFMap) { self.map = map }
}
