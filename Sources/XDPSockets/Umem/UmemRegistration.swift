// SPDX-License-Identifier: Apache-2.0

internal import CLibXDP
internal import Glibc
internal import Synchronization

/// A memory that is registered with the kernel. Every socket of it keeps it alive, since libxdp requires that the
/// sockets are deleted first.
@safe
final class UmemRegistration: @unchecked Sendable {
    let memory: UmemMemory
    // SAFETY: from xsk_umem__create; deleted in deinit.
    let handle: OpaquePointer
    let shape: Umem.Shape
    /// The rings that are created with the memory, until its first socket takes them.
    private var firstRings: FirstRings?
    /// Bits of the socket numbers in use.
    private let numbers = Mutex<UInt64>(0)

    /// A fill and a completion ring.
    @safe
    struct FirstRings {
        // SAFETY: both initialised; their owner frees them once libxdp refers to them no more.
        let fill: UnsafeMutablePointer<xsk_ring_prod>
        let completion: UnsafeMutablePointer<xsk_ring_cons>

        init() {
            unsafe fill = .allocate(capacity: 1)
            unsafe fill.initialize(to: xsk_ring_prod())
            unsafe completion = .allocate(capacity: 1)
            unsafe completion.initialize(to: xsk_ring_cons())
        }

        func free() {
            unsafe fill.deallocate()
            unsafe completion.deallocate()
        }
    }

    init(_ shape: Umem.Shape) throws(XDPSocketError) {
        guard let memory = UmemMemory(bytes: shape.bytes) else {
            throw XDPSocketError(registering: shape, errno: ENOMEM)
        }
        let rings = FirstRings()
        var created: OpaquePointer?
        var result = unsafe Self.create(&created, memory, shape, rings)
        if result == -ENOBUFS, MemoryLock.allow(shape.bytes) {
            result = unsafe Self.create(&created, memory, shape, rings)
        }
        guard result == 0, let handle = unsafe created else {
            rings.free()
            throw XDPSocketError(registering: shape, errno: -result)
        }
        self.memory = memory
        unsafe self.handle = handle
        self.shape = shape
        firstRings = rings
    }

    deinit {
        // SAFETY: the sockets, which refer to it, are gone, so the handle has no other user. It may read the
        // first rings, so these go after it.
        _ = unsafe xsk_umem__delete(handle)
        firstRings?.free()
    }

    private static func create(
        _ created: inout OpaquePointer?, _ memory: borrowing UmemMemory, _ shape: Umem.Shape,
        _ rings: FirstRings
    ) -> Int32 {
        var settings = xsk_umem_config(
            fill_size: UInt32(shape.fillEntries), comp_size: UInt32(shape.completionEntries),
            frame_size: UInt32(shape.frameBytes), frame_headroom: 0, flags: 0)
        // SAFETY: the memory lives as long as what is created; the settings are copied.
        return unsafe xsk_umem__create(
            &created, memory.base, UInt64(memory.bytes), rings.fill, rings.completion, &settings)
    }

    // MARK: For sockets

    /// The rings for the first socket; nil when a socket has them.
    var ringsOfFirst: FirstRings? { firstRings }

    /// Records that the first socket has the rings and frees them.
    func firstIsOpen() { firstRings = nil }

    /// A number for a socket; nil when all are in use.
    func takeNumber() -> UInt8? {
        numbers.withLock { used in
            let number = (~used).trailingZeroBitCount
            guard number < FramePlace.socketsMax else { return nil }
            used |= 1 << UInt64(number)
            return UInt8(number)
        }
    }

    func giveNumber(_ number: UInt8) { numbers.withLock { $0 &= ~(1 << UInt64(number)) } }
}
