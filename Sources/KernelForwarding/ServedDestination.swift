// SPDX-License-Identifier: Apache-2.0

package import CDatapath
package import FanoutCore

/// A destination of datagrams that a listener serves on an interface: a key of the map `listeners`.
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

    /// The number of entries of the listeners.
    package static func count(_ listeners: [Listener], _ network: NetworkView) -> Int {
        listeners.reduce(0) { sum, listener in
            sum
                + (network.interface(named: listener.interface)
                    .map { all(of: listener, on: $0).count } ?? 0)
        }
    }

    /// The destinations of a listener on an interface. A wildcard bind means the interface's own addresses; `::` those
    /// of both families, as for a socket.
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

/// Why a listener serves nothing now.
enum Idleness: Hashable, Sendable {
    case noInterface
    case isDown
    /// The interface has none of the listener's addresses.
    case noAddress

    /// nil when it serves a destination.
    init?(_ listener: Listener, on network: NetworkView) {
        guard let interface = network.interface(named: listener.interface) else {
            self = .noInterface
            return
        }
        if ServedDestination.all(of: listener, on: interface).isEmpty {
            self = .noAddress
        } else if !interface.isUp {
            self = .isDown
        } else {
            return nil
        }
    }

    func obstruction(of listener: Listener) -> Obstruction {
        let name = listener.interface ?? ""
        let (reason, remedy) =
            switch self {
            case .noInterface: ("interface \(name) is gone", "add it again, or set another one")
            case .isDown: ("interface \(name) is down", "ip link set \(name) up")
            case .noAddress: ("interface \(name) has no address", Self.addressRemedy)
            }
        return Obstruction(
            listener: listener.name, receivers: [], reason: reason, remedy: remedy)
    }

    static let addressRemedy = "set the address in bind or addresses, or add one to the interface"
}

extension NetworkView {
    /// Listeners of a kernel mode that serve nothing.
    package func idle(_ listeners: [Listener]) -> [Obstruction] {
        listeners.compactMap { listener in
            Idleness(listener, on: self)?.obstruction(of: listener)
        }
    }
}
