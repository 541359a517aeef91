// SPDX-License-Identifier: Apache-2.0

internal import CLibXDP
internal import CNet
internal import Glibc

/// The parts of a socket for libxdp. The receiver of the value owns all of them.
@safe
struct OpenSocket {
    let handle: OpaquePointer
    let number: UInt8
    let fill: UnsafeMutablePointer<xsk_ring_prod>
    let completion: UnsafeMutablePointer<xsk_ring_cons>
    let receive: UnsafeMutablePointer<xsk_ring_cons>
    let transmit: UnsafeMutablePointer<xsk_ring_prod>

    /// The pause before a busy queue is tried again.
    private static let pauseMicroseconds: UInt32 = 5000

    /// libxdp must get the first rings themselves: with copies of them it unmaps the rings when a bind fails, and a
    /// second try would use unmapped memory.
    init(
        on queue: InterfaceQueue, _ registration: UmemRegistration, _ settings: XDPSocket.Settings
    ) throws(XDPSocketError) {
        let isFirst = registration.ringsOfFirst != nil
        let shared = registration.ringsOfFirst ?? UmemRegistration.FirstRings()
        let rings = Rings(with: shared)
        do throws(XDPSocketError) {
            let created = unsafe try Self.create(on: queue, registration, settings, rings)
            do throws(XDPSocketError) {
                number = unsafe try Self.complete(created, on: queue, registration, settings)
            } catch {
                unsafe xsk_socket__delete(created)
                throw error
            }
            unsafe handle = created
        } catch {
            rings.free()
            // The first rings belong to the memory until its first socket.
            if !isFirst { shared.free() }
            throw error
        }
        if isFirst { registration.firstIsOpen() }
        unsafe fill = rings.fill
        unsafe completion = rings.completion
        unsafe receive = rings.receive
        unsafe transmit = rings.transmit
    }

    /// Sets the options of a bound socket, and assigns its number.
    private static func complete(
        _ created: OpaquePointer, on queue: InterfaceQueue, _ registration: UmemRegistration,
        _ settings: XDPSocket.Settings
    ) throws(XDPSocketError) -> UInt8 {
        if let polling = settings.busyPolling {
            let result = unsafe cnet_prefer_busy_poll(
                xsk_socket__fd(created), polling.microseconds, polling.packets)
            if result < 0 {
                throw XDPSocketError(setting: "busy polling", on: queue, errno: -result)
            }
        }
        guard let number = registration.takeNumber() else {
            throw XDPSocketError(
                operation: "open AF_XDP socket on", subject: "\(queue)", errno: ENOSPC,
                reason: "\(FramePlace.socketsMax) sockets share its memory",
                remedy: "give some of them a memory of their own")
        }
        return number
    }

    @safe
    private struct Rings {
        // SAFETY: all initialised; their maker frees them, unless a socket owns them.
        let fill: UnsafeMutablePointer<xsk_ring_prod>
        let completion: UnsafeMutablePointer<xsk_ring_cons>
        let receive: UnsafeMutablePointer<xsk_ring_cons>
        let transmit: UnsafeMutablePointer<xsk_ring_prod>

        init(with shared: UmemRegistration.FirstRings) {
            unsafe fill = shared.fill
            unsafe completion = shared.completion
            unsafe receive = .allocate(capacity: 1)
            unsafe receive.initialize(to: xsk_ring_cons())
            unsafe transmit = .allocate(capacity: 1)
            unsafe transmit.initialize(to: xsk_ring_prod())
        }

        /// Without the rings that it was created with.
        func free() {
            unsafe receive.deallocate()
            unsafe transmit.deallocate()
        }
    }

    private static func create(
        on queue: InterfaceQueue, _ registration: UmemRegistration, _ settings: XDPSocket.Settings,
        _ rings: Rings
    ) throws(XDPSocketError) -> OpaquePointer {
        let end = ContinuousClock.now + settings.busyLimit
        while true {
            guard let name = queue.interfaceName else {
                throw XDPSocketError(opening: queue, errno: ENODEV, waited: .zero)
            }
            var config = settings.config
            var created: OpaquePointer?
            // SAFETY: libxdp keeps the pointers to the rings until the socket is deleted, and they live
            // longer; the rest is copied.
            let result = unsafe xsk_socket__create_shared(
                &created, name, queue.queue, registration.handle, rings.receive, rings.transmit,
                rings.fill, rings.completion, &config)
            if result == 0, let created = unsafe created { return unsafe created }
            guard result == -EBUSY, ContinuousClock.now < end else {
                throw XDPSocketError(opening: queue, errno: -result, waited: settings.busyLimit)
            }
            cnet_pause(pauseMicroseconds)
        }
    }
}

/// One queue of a network interface.
public struct InterfaceQueue: Hashable, Sendable, CustomStringConvertible {
    /// The index of the interface, in the network namespace of the calling thread.
    public let interface: UInt32
    /// From 0 on; `ethtool -l` shows the number of queues.
    public let queue: UInt32

    public init(interface: UInt32, queue: UInt32) {
        self.interface = interface
        self.queue = queue
    }

    /// The current name of the interface; nil when it is gone.
    public var interfaceName: String? {
        var name = [CChar](repeating: 0, count: Int(IF_NAMESIZE))
        // SAFETY: the C library writes at most IF_NAMESIZE bytes, NUL included.
        guard unsafe if_indextoname(interface, &name) != nil else { return nil }
        return String(decoding: name.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    /// `interface eth0 queue 2`
    public var description: String {
        "interface \(interfaceName ?? "\(interface)") queue \(queue)"
    }
}
