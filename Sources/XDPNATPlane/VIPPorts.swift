// SPDX-License-Identifier: Apache-2.0

internal import BPFRuntime
internal import CDatapath
internal import FanoutCore
internal import KernelForwarding

/// One port of a listener: a listener of the kernel program, with its own services, servers and table.
struct VIPPort: Equatable, Sendable {
    struct Name: Hashable, Sendable {
        let listener: String
        let port: UInt16
    }

    /// The number in the kernel: the index of its table, and half that of its rows of counters.
    let number: UInt32
    /// The numbers of its services.
    var services: [Service: UInt16] = [:]
    /// By the endpoint of the receiver at this port.
    var servers: [Endpoint: Server] = [:]
    var table: [UInt8] = []

    /// A receiver by its number.
    struct Server: Equatable, Sendable {
        let number: UInt16
        let generation: UInt32
        /// The service whose address its packets get when it sends first.
        let service: UInt16
        /// The interface that leads to it, where packets are routed; nil when it is unknown.
        let interface: UInt32?
    }
}

/// A service as clients see it: a virtual address, a port and a protocol.
struct Service: Hashable, Sendable {
    let address: IPAddress
    let port: UInt16
    /// The protocol number of IANA.
    let transport: UInt8
}

extension Listener {
    /// Receivers that clients may stay with: all but unhealthy ones.
    var servers: [Downstream] { downstreams.filter(\.isEnabled) }
}

/// The table of one VIP port as bytes, in the layout of lb/tables.h: head, receivers, slots. Of a receiver the program
/// reads only the row, which is the number of the server.
struct VIPPortTable {
    let listener: Listener
    let port: UInt16
    let vipPort: VIPPort
    let capacity: NATCapacity

    /// Of `capacity.room.size` bytes. Receivers are in the listener's order, to which the slots refer. All VIP ports
    /// of a listener have the same slots, so that with `source_ip` a client gets the same host on every port.
    var bytes: [UInt8] {
        let receivers = listener.downstreams.map { downstream in
            var receiver = lb_receiver()
            let endpoint = listener.endpoint(of: downstream, at: port)
            receiver.address = endpoint.address.datapath
            receiver.port = endpoint.port
            receiver.is_v6 = endpoint.address.family == .v6 ? 1 : 0
            receiver.row = vipPort.servers[endpoint].map { UInt32($0.number) } ?? none
            return receiver
        }
        let head = lb_table(listener, row: vipPort.number)
        return capacity.room.bytes(head, receivers, listener.slotTable.slots)
    }

    /// A number that no server has.
    private var none: UInt32 { UInt32(LB_SERVERS_MAX) }
}
