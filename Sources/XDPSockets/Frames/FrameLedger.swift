// SPDX-License-Identifier: Apache-2.0

/// Who holds each frame of a `Umem`. Every frame is in one place, and moves only from where it is: a frame
/// that is given back twice, or that the kernel hands over though it was not lent, is refused and counted.
///
/// It costs a byte a frame, and a comparison and a few stores a move; it has no lock, since one worker
/// owns it.
@safe @usableFromInline
struct FrameLedger: ~Copyable, @unchecked Sendable {
    /// Frames that there are.
    @usableFromInline let owned: Int
    @usableFromInline let shift: UInt64
    // SAFETY: `owned` bytes and 256 counts, initialised in init and freed in deinit, which nobody else has.
    @usableFromInline let places: UnsafeMutablePointer<UInt8>
    @usableFromInline let counts: UnsafeMutablePointer<Int>

    /// Moves that were refused.
    private(set) var violations: UInt64 = 0

    init(frames: Int, frameBytes: Int) {
        owned = frames
        shift = UInt64(frameBytes.trailingZeroBitCount)
        unsafe places = .allocate(capacity: frames)
        unsafe places.initialize(repeating: FramePlace.free.code, count: frames)
        unsafe counts = .allocate(capacity: 256)
        unsafe counts.initialize(repeating: 0, count: 256)
        unsafe counts[Int(FramePlace.free.code)] = frames
    }

    @inlinable deinit {
        unsafe places.deallocate()
        unsafe counts.deallocate()
    }

    /// How many frames are there. O(1).
    func count(at place: FramePlace) -> Int { unsafe counts[Int(place.code)] }

    /// The same, frame by frame: what `count` has to agree with. O(frames).
    func recount(at place: FramePlace) -> Int {
        (0..<owned).count { unsafe places[$0] == place.code }
    }

    /// Where the frame is that the address lies in; nil past the end of the memory.
    func place(of address: UInt64) -> FramePlace? {
        let frame = address >> shift
        return frame < UInt64(owned) ? unsafe FramePlace(code: places[Int(frame)]) : nil
    }

    /// - Parameter address: any within the frame.
    /// - Returns: false when the frame is not at `from`; nothing is altered then but `violations`.
    @_noLocks @_noAllocation @inlinable @inline(__always)
    mutating func move(_ address: UInt64, from: FramePlace, to: FramePlace) -> Bool {
        let frame = address >> shift
        guard frame < UInt64(truncatingIfNeeded: owned) else { return refuse() }
        let index = Int(truncatingIfNeeded: frame)
        guard unsafe places[index] == from.code else { return refuse() }
        unsafe places[index] = to.code
        unsafe counts[Int(from.code)] &-= 1
        unsafe counts[Int(to.code)] &+= 1
        return true
    }

    @_noLocks @_noAllocation @usableFromInline
    mutating func refuse() -> Bool {
        violations &+= 1
        return false
    }
}
