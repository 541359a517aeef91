// SPDX-License-Identifier: Apache-2.0

/// The free frames of a `Umem`, and the accounting of all of them. One worker owns it.
///
/// The frame that was returned last is taken first: its bytes are still in the cache.
@safe
public struct FrameStore: ~Copyable, @unchecked Sendable {
    @usableFromInline var accounting: FrameAccounting
    @usableFromInline var available: Int
    /// Bytes of a frame, a power of two.
    public let frameBytes: Int
    @usableFromInline let mask: UInt64
    // SAFETY: room for every frame, of which the first `available` are in use; freed in deinit.
    @usableFromInline let stack: UnsafeMutablePointer<UInt64>

    /// A store of all frames of a memory, all of them free.
    init(frames: Int, frameBytes: Int) {
        accounting = FrameAccounting(frames: frames, frameBytes: frameBytes)
        self.frameBytes = frameBytes
        mask = ~UInt64(frameBytes - 1)
        unsafe stack = .allocate(capacity: frames)
        for number in 0..<frames {
            unsafe (stack + number).initialize(to: UInt64((frames - 1 - number) * frameBytes))
        }
        available = frames
    }

    deinit { unsafe stack.deallocate() }

    /// The address of a frame for a packet; nil when none is free.
    @_noLocks @_noAllocation @inlinable
    public mutating func take() -> UInt64? { lend(to: .held) }

    /// Returns a frame from `take` or a receive ring.
    ///
    /// - Parameter address: any within the frame, such as that of the packet.
    /// - Returns: false when the worker does not own the frame; it stays where it is, and `violations` counts it.
    @_noLocks @_noAllocation @inlinable @discardableResult
    public mutating func put(_ address: UInt64) -> Bool { accept(address, from: .held) }

    @_noLocks @_noAllocation @inlinable @inline(__always)
    mutating func lend(to place: FramePlace) -> UInt64? {
        guard available > 0 else { return nil }
        let address = unsafe stack[available &- 1]
        guard accounting.move(address, from: .free, to: place) else { return nil }
        available &-= 1
        return address
    }

    @_noLocks @_noAllocation @inlinable @inline(__always)
    mutating func accept(_ address: UInt64, from place: FramePlace) -> Bool {
        // There are fewer free frames than frames, or this one would not be elsewhere.
        guard accounting.move(address, from: place, to: .free) else { return false }
        unsafe stack[available] = address & mask
        available &+= 1
        return true
    }

    // MARK: Owners

    /// The number of frames.
    public var owned: Int { accounting.owned }

    /// Frames in the store.
    public var free: Int {
        @_noLocks @_noAllocation @inlinable
        get { available }
    }

    /// Refused moves, since the frame was elsewhere or does not exist. Each is a bug, here or in the kernel.
    public var violations: UInt64 { accounting.violations }

    /// The number of frames at a place. O(1).
    public func count(at place: FramePlace) -> Int { accounting.count(at: place) }

    /// The place of the frame at an address; nil past the end of the memory.
    public func place(of address: UInt64) -> FramePlace? { accounting.place(of: address) }

    /// Takes back all frames of a closed socket, before another one gets its number. O(frames).
    package mutating func reclaim(from socket: UInt8) {
        for place in [FramePlace.receiving(socket), .transmitting(socket)] {
            guard accounting.count(at: place) > 0 else { continue }
            for number in 0..<accounting.owned {
                let address = UInt64(number * frameBytes)
                if accounting.place(of: address) == place { _ = accept(address, from: place) }
            }
        }
    }
}
