// SPDX-License-Identifier: Apache-2.0

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
