// SPDX-License-Identifier: Apache-2.0

internal import BPFRuntime
internal import CDatapath
internal import FanoutCore
internal import KernelForwarding
internal import KernelPrograms

/// The program of one interface with its own maps: it selects the packets for the sockets.
final class SteerProgram: Sendable {
    /// The capacity of the maps. It is fixed when they are created.
    struct Capacity: Equatable, Sendable {
        var entries: Int
        var queues: Int
        var servesAny: Bool

        /// With room for more addresses and queues.
        init(destinations: Set<ServedDestination>, queues: Int) {
            entries = .powerOfTwo(atLeast: max(1024, 2 * destinations.count))
            self.queues = .powerOfTwo(atLeast: max(64, queues))
            servesAny = destinations.contains { $0.address == nil }
        }

        /// Whether maps of this capacity can hold what needs `other`.
        func covers(_ other: Capacity) -> Bool {
            entries >= other.entries && queues >= other.queues && (servesAny || !other.servesAny)
        }
    }

    let capacity: Capacity
    let program: HookProgram
    private let listeners: BPFMap
    private let known: BPFMap
    private let sockets: BPFMap

    static let name = "udp_fanout_xdp"

    /// Whether an interface's program is one of ours, of either kind. The kernel keeps 15 characters of a name.
    static func isOurs(_ occupant: XDPOccupant) -> Bool {
        occupant.name?.hasPrefix(name) == true
    }

    /// - Throws: `BPFError` when the object is not one of ours or the kernel refuses it.
    init(_ source: ProgramSource, capacity: Capacity) throws(BPFError) {
        var object = try source.open(.xdpSteer, with: Self.name)
        try object.set("lb_serves_any", to: UInt8(capacity.servesAny ? 1 : 0))
        try object.size("listeners", entries: capacity.entries)
        try object.size("xsks", entries: capacity.queues)
        try object.load()
        self.capacity = capacity
        program = try HookProgram(xdp: Self.name, of: object)
        listeners = try object.map(named: "listeners")
        known = try object.map(named: "steer")
        sockets = try object.map(named: "xsks")
    }

    /// Sets the properties of the interface; nothing is steered before.
    ///
    /// - Parameters:
    ///   - mac: 6 bytes.
    ///   - longest: bytes of the longest packet that fits into a frame.
    func know(mac: [UInt8], longest: Int) throws(BPFError) {
        var steer = lb_steer()
        if mac.count == 6 { steer.mac = (mac[0], mac[1], mac[2], mac[3], mac[4], mac[5]) }
        steer.longest = UInt16(clamping: longest)
        try known.set(UInt32(0), to: steer)
    }

    func steer(queue: UInt32, to socket: SharedSocket) throws(BPFError) {
        try sockets.steer(queue: queue, to: socket.descriptor)
    }

    func serve(_ destination: ServedDestination) throws(BPFError) {
        // User space looks up the listener by itself.
        try listeners.set(destination.key, to: UInt32(0))
    }

    func leave(_ destination: ServedDestination) throws(BPFError) {
        try listeners.remove(destination.key)
    }
}
