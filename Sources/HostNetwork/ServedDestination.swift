// SPDX-License-Identifier: Apache-2.0

package import CDatapath
package import FanoutCore

/// A destination of datagrams that a listener serves, where they come in: a key of the map `listeners`.
package struct ServedDestination: Hashable, Sendable {
    /// nil for every address.
    package let address: IPAddress?
    /// 0 for fragments, which have no port: the address is served on some port.
    package let port: UInt16
    package let interface: UInt32

    package init(address: IPAddress?, port: UInt16, interface: UInt32) {
        self.address = address
        self.port = port
        self.interface = interface
    }

    package var key: lb_listener_key {
        var key = lb_listener_key()
        key.address = address?.datapath ?? lb_addr(high: 0, low: 0)
        key.ifindex = interface
        key.port = port
        return key
    }

    /// How many entries the listeners take.
    package static func count(_ listeners: [Listener], _ network: NetworkView) -> Int {
        listeners.reduce(0) { sum, listener in
            sum
                + (network.interface(named: listener.interface)
                    .map { all(of: listener, on: $0).count } ?? 0)
        }
    }

    /// What a listener serves on an interface. A wildcard bind means the interface's own addresses;
    /// `::` those of both families, as a socket's would.
    package static func all(of listener: Listener, on interface: HostInterface)
        -> [ServedDestination]
    {
        var addresses: [IPAddress?] = []
        let bind = listener.bind.address
        if !bind.isWildcard {
            addresses = [bind]
        } else {
            addresses = interface.addresses.filter { bind.family == .v6 || $0.family == .v4 }
        }
        switch listener.served {
        case .listed(let more): addresses += more
        case .any: addresses = [nil]
        }
        return addresses.flatMap { address in
            [listener.bind.port, 0].map { port in
                ServedDestination(
                    address: address.map { IPAddress(high: $0.high, low: $0.low) }, port: port,
                    interface: interface.index)
            }
        }
    }
}
