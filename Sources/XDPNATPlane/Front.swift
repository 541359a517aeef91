// SPDX-License-Identifier: Apache-2.0

internal import FanoutCore

/// One port of a listener: what the kernel program calls a listener, with services, servers and a
/// table of its own.
struct Front: Equatable, Sendable {
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
        /// That it leaves as when it speaks first.
        let service: UInt16
        /// By which it is reached, where packets are routed; nil when the network does not tell.
        let interface: UInt32?
    }
}

/// What clients know: a virtual address, a port and a protocol.
struct Service: Hashable, Sendable {
    let address: IPAddress
    let port: UInt16
    /// As IANA has it.
    let transport: UInt8
}

extension Listener {
    /// Receivers that clients may stay with: all but those that health checks keep out.
    var servers: [Downstream] { downstreams.filter(\.isEnabled) }
}
