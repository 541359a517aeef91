// SPDX-License-Identifier: Apache-2.0

/// The owner of each frame of a `Umem`. Every frame is in one place, and moves only from there: a frame that is
/// returned twice, or that the kernel returns although it was not lent, is refused and counted.
///
/// It costs a byte a frame, and a comparison and a few stores a move. It has no lock, since one worker owns it.
@safe @usableFromInline
struct FrameAccounting: ~Copyable, @unchecked Sendable {
    /// The number of frames.
    @usableFromInline let owned: Int
    @usableFromInline let shift: UInt64
    // SAFETY: `owned` bytes and 256 counts, initialised in init and freed in deinit; not shared.
    @usableFromInline let places: UnsafeMutablePointer<UInt8>
    @usableFromInline let counts: UnsafeMutablePointer<Int>

    /// Refused moves.
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

    /// The number of frames at a place. O(1).
    func count(at place: FramePlace) -> Int { unsafe counts[Int(place.code)] }

    /// The same, counted frame by frame, to check `count`. O(frames).
    func recount(at place: FramePlace) -> Int {
        (0..<owned).count { unsafe places[$0] == place.code }
    }

    /// The place of the frame at an address; nil past the end of the memory.
    func place(of address: UInt64) -> FramePlace? {
        let frame = address >> shift
        return frame < UInt64(owned) ? unsafe FramePlace(code: places[Int(frame)]) : nil
    }

    /// - Parameter address: any within the frame.
    /// - Returns: false when the frame is not at `from`; then only `violations` changes.
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

/// The owner of a frame, as a byte. A socket is identified by its number among those that share the memory.
@frozen
public struct FramePlace: Equatable, Sendable {
    @usableFromInline let code: UInt8

    @_noLocks @_noAllocation @inlinable
    init(code: UInt8) { self.code = code }

    /// Free, in the store.
    public static var free: FramePlace {
        @_noLocks @_noAllocation @inlinable
        get { FramePlace(code: 0) }
    }
    /// The worker, between receiving and sending or dropping.
    public static var held: FramePlace {
        @_noLocks @_noAllocation @inlinable
        get { FramePlace(code: 1) }
    }

    /// The kernel, for receiving: from the fill ring until it comes out of the receive ring.
    public static func receiving(_ socket: UInt8) -> FramePlace { FramePlace(code: 2 + 2 * socket) }

    /// The kernel, for sending: from the transmit ring until it comes out of the completion ring.
    public static func transmitting(_ socket: UInt8) -> FramePlace {
        FramePlace(code: 3 + 2 * socket)
    }

    /// The maximum number of sockets that share one memory.
    static let socketsMax = 64
}

/// How many frames are in each place, at one moment. The sum of all places is always `owned`.
///
/// It starts with the store's counts and adds one socket after the other; it is complete when every socket of the
/// memory has been added.
public struct FrameCensus: Equatable, Sendable, CustomStringConvertible {
    public let owned: Int
    /// In the store.
    public let free: Int
    /// With the worker.
    public let held: Int
    /// In fill rings, for the kernel to take.
    public private(set) var fill = 0
    /// In receive rings, for the worker to take.
    public private(set) var receive = 0
    /// In transmit rings, for the kernel to take.
    public private(set) var transmit = 0
    /// In completion rings, for the worker to take.
    public private(set) var completion = 0
    /// With the kernel: taken from a fill or a transmit ring, and not returned yet. An idle kernel keeps the few that
    /// it took without a packet for them.
    public private(set) var inKernel = 0
    /// Refused moves (`FrameStore.violations`).
    public let violations: UInt64

    init(_ store: borrowing FrameStore) {
        owned = store.owned
        free = store.free
        held = store.count(at: .held)
        violations = store.violations
    }

    /// Frames of a socket: lent for receiving and sending, and the counts of each ring.
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
    /// The places of the frames, before any socket is added.
    public func census() -> FrameCensus { FrameCensus(self) }
}
