// SPDX-License-Identifier: Apache-2.0

internal import CDatapath
internal import CNet
internal import FanoutCore
internal import KernelForwarding
internal import LinuxNet
internal import XDPSockets

/// A table for one worker, with all that it refers to. It frees itself when dropped, so a change that fails half-way
/// leaks nothing.
@safe final class PreparedTable: @unchecked Sendable {
    /// A worker's rows of counters for a listener and its receivers.
    struct Rows {
        let own: WorkerRow
        var receivers: [Endpoint: WorkerRow] = [:]
    }

    /// By listener.
    let rows: [String: Rows]
    /// The sockets to send by.
    let egresses: [SharedSocket]
    // SAFETY: all of these are allocated in init and freed in deinit; the worker has another table by then.
    let table: UnsafeMutablePointer<WorkerTable>
    private var names: [UnsafeMutablePointer<cnet_name>] = unsafe []

    /// - Parameters:
    ///   - listeners: the listeners of the worker's interface.
    ///   - destinations: the destinations, each with the index of its listener in `listeners`.
    ///   - previous: the worker's existing rows, which are kept.
    ///   - firstTurn: the first slot of a new listener's round robin.
    ///   - way: returns how the worker reaches a receiver.
    init(
        _ listeners: [Listener], at destinations: [ServedDestination: Int],
        keeping previous: [String: Rows], firstTurn: UInt32, way: (IPAddress) -> Way
    ) throws(PlaneError) {
        let services = UnsafeMutablePointer<Service>.allocate(capacity: max(1, listeners.count))
        var (rows, egresses): ([String: Rows], [SharedSocket]) = ([:], [])
        var names: [UnsafeMutablePointer<cnet_name>] = unsafe []
        for (place, listener) in listeners.enumerated() {
            var kept = previous[listener.name] ?? Rows(own: WorkerRow(nextSlot: firstTurn))
            let known = kept.receivers
            kept.receivers = [:]
            let targets = UnsafeMutablePointer<Target>.allocate(
                capacity: max(1, listener.downstreams.count))
            for (index, downstream) in listener.downstreams.enumerated() {
                let endpoint = downstream.endpoint
                let row = known[endpoint] ?? WorkerRow()
                kept.receivers[endpoint] = row
                let way = way(endpoint.address)
                let egress = way.egress.map { socket in
                    egresses.firstIndex { $0 === socket } ?? egresses.add(socket)
                }
                let name = UnsafeMutablePointer<cnet_name>.allocate(capacity: 1)
                // A raw socket needs no port. An address whose zone is gone is unreachable.
                let native = try? Endpoint(endpoint.address, port: 0).native
                unsafe name.initialize(to: native ?? cnet_name())
                unsafe names.append(name)
                let target = unsafe Target(
                    receiver: Self.receiver(endpoint, way), link: way.link,
                    egress: egress.map { Int32($0) } ?? Target.kernel, mtu: way.mtu,
                    isLocal: way.isLocal, name: name, counters: row.counters)
                unsafe (targets + index).initialize(to: target)
            }
            let owners = listener.slotTable.slots
            let slots = unsafe Self.copy(owners)
            let service = unsafe Service(
                key: listener.balance.keySource,
                payloadKey: listener.payloadKey?.datapath ?? lb_payload_key(),
                seed: listener.settings.seed,
                maxPacketSize: UInt32(listener.settings.maxPacketSize),
                slotCount: UInt32(owners.count), slots: slots, targets: targets,
                counters: kept.own.counters, nextSlot: kept.own.nextSlot)
            unsafe (services + place).initialize(to: service)
            rows[listener.name] = kept
        }
        self.rows = rows
        self.egresses = egresses
        unsafe self.names = names
        let found = unsafe Self.index(destinations)
        let pointers = UnsafeMutablePointer<UnsafeMutablePointer<XDPSocket>>.allocate(
            capacity: max(1, egresses.count))
        for (place, socket) in egresses.enumerated() {
            unsafe (pointers + place).initialize(to: socket.pointer)
        }
        unsafe table = .allocate(capacity: 1)
        unsafe table.initialize(
            to: WorkerTable(
                destinations: found.entries, mask: found.mask,
                servesAny: destinations.keys.contains { $0.address == nil }, services: services,
                serviceCount: listeners.count, egresses: pointers, egressCount: egresses.count))
    }

    /// A table without listeners.
    static func empty() -> PreparedTable {
        do throws(PlaneError) {
            return try PreparedTable([], at: [:], keeping: [:], firstTurn: 0) { _ in Way() }
        } catch {
            preconditionFailure("an empty table needs nothing: \(error)")
        }
    }

    deinit {
        let content = unsafe table.pointee
        for place in 0..<content.serviceCount {
            unsafe content.services[place].slots.deallocate()
            unsafe content.services[place].targets.deallocate()
        }
        for place in unsafe names.indices { unsafe names[place].deallocate() }
        unsafe content.services.deallocate()
        unsafe content.destinations.deallocate()
        unsafe content.egresses.deallocate()
        unsafe table.deallocate()
    }

    private static func receiver(_ endpoint: Endpoint, _ way: Way) -> lb_receiver {
        var receiver = ReceiverPath.stack.receiver(endpoint, row: 0)
        if way.isUnplugged { receiver.flags |= UInt8(LB_RECEIVER_UNPLUGGED) }
        return receiver
    }

    private static func copy(_ slots: [UInt16]) -> UnsafeMutablePointer<UInt16> {
        let copy = UnsafeMutablePointer<UInt16>.allocate(capacity: max(1, slots.count))
        for (place, owner) in slots.enumerated() { unsafe copy[place] = owner }
        return unsafe copy
    }

    /// The destinations, for lookups.
    private static func index(
        _ destinations: [ServedDestination: Int]
    ) -> (entries: UnsafeMutablePointer<Destination>, mask: UInt32) {
        var size: UInt32 = 4
        while size < 2 * destinations.count { size *= 2 }
        let entries = UnsafeMutablePointer<Destination>.allocate(capacity: Int(size))
        unsafe entries.initialize(repeating: Destination(), count: Int(size))
        for (destination, listener) in destinations {
            let (address, port) = (destination.key.address, destination.port)
            var place = WorkerTable.hash(address, port) & (size - 1)
            while unsafe entries[Int(place)].listener != Destination.none {
                place = (place + 1) & (size - 1)
            }
            unsafe entries[Int(place)] = Destination(
                address: address, port: port, listener: UInt16(listener))
        }
        return unsafe (entries, size - 1)
    }
}

extension [SharedSocket] {
    /// Appends it, and returns its index.
    fileprivate mutating func add(_ socket: SharedSocket) -> Int {
        append(socket)
        return count - 1
    }
}
