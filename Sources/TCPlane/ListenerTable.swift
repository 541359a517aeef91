// SPDX-License-Identifier: Apache-2.0

internal import BPFRuntime
internal import CDatapath
internal import FanoutCore
internal import KernelForwarding

/// One listener's table as bytes, as lb/tables.h lays it out: head, receivers, slots.
struct ListenerTable {
    let listener: Listener
    /// The row of the listener's counters.
    let row: UInt32
    /// The row of each receiver's counters.
    let rows: [Endpoint: UInt32]
    /// What the listener serves, when nothing else is served on that port.
    let sole: ServedDestination?
    let paths: [IPAddress: ReceiverPath]
    let capacity: TableCapacity
    /// Receivers behind a link without carrier.
    var unplugged: Set<IPAddress> = []

    /// Of `capacity.tableBytes` bytes. Receivers stand in the order of the listener, which is what the
    /// slots count.
    var bytes: [UInt8] {
        let slots = listener.slotTable.slots
        let receivers = listener.downstreams.map { downstream in
            var receiver = (paths[downstream.endpoint.address] ?? .routes)
                .receiver(downstream.endpoint, row: rows[downstream.endpoint] ?? 0)
            if unplugged.contains(downstream.endpoint.address) {
                receiver.flags |= UInt8(LB_RECEIVER_UNPLUGGED)
            }
            return receiver
        }
        var bytes = [UInt8](native: head(slots: slots.count))
        bytes.reserveCapacity(capacity.tableBytes)
        bytes += [UInt8](native: receivers)
        bytes.fill(upTo: MemoryLayout<lb_table>.size + capacity.receivers * Self.receiverBytes)
        bytes += [UInt8](native: slots)
        bytes.fill(upTo: capacity.tableBytes)
        return bytes
    }

    private static let receiverBytes = MemoryLayout<lb_receiver>.size

    private func head(slots: Int) -> lb_table {
        var head = lb_table()
        head.seed = listener.settings.seed
        head.seed_v4 = lb_hash_high(head.seed, 0)
        head.key = listener.balance.keySource.datapath
        head.slots = UInt32(slots)
        head.max_packet_size = UInt32(listener.settings.maxPacketSize)
        head.row = row
        if let key = sole?.key {
            head.address = key.address
            head.ifindex = key.ifindex
        }
        return head
    }
}

extension Balance.KeySource {
    /// What the kernel programs call it (enum lb_key_source).
    fileprivate var datapath: UInt32 {
        switch self {
        case .counter: LB_KEY_COUNTER.rawValue
        case .randomNumber: LB_KEY_RANDOM.rawValue
        case .sourceAddress: LB_KEY_SOURCE_IP.rawValue
        case .fourTuple: LB_KEY_FOUR_TUPLE.rawValue
        }
    }
}

extension [UInt8] {
    /// Appends zeros.
    fileprivate mutating func fill(upTo size: Int) {
        append(contentsOf: repeatElement(0, count: Swift.max(0, size - count)))
    }
}

/// What a listener counted in rows that are no more, receiver by receiver.
struct Tally: Sendable {
    var listener = Counts()
    var receivers = PastCounts<Counts>()
}

/// Who is served on a port: an element of the map `ports`.
enum ServedPort: Equatable, Sendable {
    /// One destination; the table of the listener with this number says which.
    case sole(ServedDestination, listener: UInt32)
    /// Several destinations, or every one: the map `listeners` knows them.
    case shared

    /// As lb/tables.h has it.
    var value: UInt32 {
        switch self {
        case .sole(_, let listener): listener + 1
        case .shared: LB_PORT_SHARED
        }
    }

    /// By port, for destinations with their listeners' numbers.
    static func all(of entries: [ServedDestination: UInt32]) -> [UInt16: ServedPort] {
        var ports: [UInt16: ServedPort] = [:]
        for (entry, listener) in entries where entry.port != 0 {
            let isSole = ports[entry.port] == nil && entry.address != nil
            ports[entry.port] = isSole ? .sole(entry, listener: listener) : .shared
        }
        return ports
    }
}
