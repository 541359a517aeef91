// SPDX-License-Identifier: Apache-2.0

/// Who holds each frame of a `Umem`. Every frame is in one place, and moves only from where it is: a frame
/// that is given back twice, or that the kernel hands over though it was not lent, is refused and counted.
///
/// It costs a byte a frame, and a comparison and a few stores a move; it has no lock, since one worker
/// owns it.
@safe @usableFromInline
struct FrameAccounting: ~Copyable, @unchecked Sendable {
    /// Frames that there are.
    @usableFromInline let owned: Int
    @usableFromInline let shift: UInt64
    // SAFETY: `owned` bytes and 256 counts, initialised in init and freed in deinit; not shared.
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

/// Who holds a frame, as a byte. A socket is named by its number among those that share the memory.
@frozen
public struct FramePlace: Equatable, Sendable {
    @usableFromInline let code: UInt8

    @_noLocks @_noAllocation @inlinable
    init(code: UInt8) { self.code = code }

    /// Free: it is in the store.
    public static var free: FramePlace {
        @_noLocks @_noAllocation @inlinable
        get { FramePlace(code: 0) }
    }
    /// The worker, between receiving and sending or dropping.
    public static var held: FramePlace {
        @_noLocks @_noAllocation @inlinable
        get { FramePlace(code: 1) }
    }

    /// The kernel, to receive into: from the fill ring until it comes out of the receive ring.
    public static func receiving(_ socket: UInt8) -> FramePlace { FramePlace(code: 2 + 2 * socket) }

    /// The kernel, to send: from the transmit ring until it comes out of the completion ring.
    public static func transmitting(_ socket: UInt8) -> FramePlace {
        FramePlace(code: 3 + 2 * socket)
    }

    /// Sockets that can share one memory.
    static let socketsMax = 64
}

/// How many frames are where, at one moment. The sum of all places is `owned`, always.
///
/// It begins with what the store knows and takes in one socket after the other; complete it is when every
/// socket of the memory has been counted.
public struct FrameCensus: Equatable, Sendable, CustomStringConvertible {
    public let owned: Int
    /// In the store.
    public let free: Int
    /// In the worker's hands.
    public let held: Int
    /// In fill rings, for the kernel to take.
    public private(set) var fill = 0
    /// In receive rings, for the worker to take.
    public private(set) var receive = 0
    /// In transmit rings, for the kernel to take.
    public private(set) var transmit = 0
    /// In completion rings, for the worker to take.
    public private(set) var completion = 0
    /// With the kernel: taken from a fill or a transmit ring, and not handed back yet. At rest a kernel
    /// keeps the few that it took and had no packet for.
    public private(set) var inKernel = 0
    /// Moves that made no sense (`FrameStore.violations`).
    public let violations: UInt64

    init(_ store: borrowing FrameStore) {
        owned = store.owned
        free = store.free
        held = store.count(at: .held)
        violations = store.violations
    }

    /// Frames that a socket has: lent to receive and to transmit, and of those in each ring.
    struct Share {
        var receiving: Int
        var transmitting: Int
        var fill: Int
        var receive: Int
        var transmit: Int
        var completion: Int
    }

    mutating func add(_ share: Share) {
        fill += share.fill
        receive += share.receive
        transmit += share.transmit
        completion += share.completion
        inKernel += share.receiving - share.fill - share.receive
        inKernel += share.transmitting - share.transmit - share.completion
    }

    public var sum: Int { free + held + fill + receive + transmit + completion + inKernel }

    /// Whether every frame is accounted for.
    public var isExact: Bool { sum == owned && inKernel >= 0 && violations == 0 }

    public var description: String {
        "\(owned) frames: free \(free), held \(held), fill \(fill), receive \(receive), "
            + "transmit \(transmit), completion \(completion), in the kernel \(inKernel)"
            + (violations > 0 ? ", \(violations) wrong moves" : "")
    }
}

extension FrameStore {
    /// Where the frames are, before any socket is counted.
    public func census() -> FrameCensus { FrameCensus(self) }
}
