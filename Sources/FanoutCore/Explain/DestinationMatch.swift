// SPDX-License-Identifier: Apache-2.0

/// Why a listener takes datagrams to a destination.
public enum DestinationMatch: Equatable, Sendable {
    /// Its `bind` names the address.
    case bound
    /// Its `addresses` do.
    case listed
    /// Its `bind` is a wildcard: any address of this host; in a kernel mode of its interface.
    case wildcard
    /// Its `addresses` are `any`.
    case anyDestination

    var rank: Int {
        switch self {
        case .bound: 0
        case .listed: 1
        case .wildcard: 2
        case .anyDestination: 3
        }
    }

    /// - Parameter port: that of the destination, one of the listener's.
    func sentence(_ listener: Listener, port: UInt16) -> String {
        let name = "listener \(listener.name) (\(listener.mode.rawValue))"
        return switch self {
        case .bound: "\(name) is bound to the destination"
        case .listed: "\(name) has the destination among its addresses"
        case .anyDestination: "\(name) takes every destination on port \(port)"
        case .wildcard:
            if let interface = listener.interface {
                "\(name) takes port \(port) on the addresses of \(interface)"
            } else {
                "\(name) takes port \(port) on every address of this host"
            }
        }
    }
}

extension Listener {
    /// Why it takes datagrams to `destination`; nil when it does not. Whether a wildcard's host or
    /// interface has the address is not known here.
    public func match(_ destination: Endpoint) -> DestinationMatch? {
        guard ports.contains(destination.port) else { return nil }
        let address = destination.address
        if bind.address.isSameHost(as: address) { return .bound }
        switch served {
        case .listed(let more) where more.contains { $0.isSameHost(as: address) }: return .listed
        case .any: return .anyDestination
        case .listed: break
        }
        // [::] serves IPv4 as well.
        guard bind.address.isWildcard, bind.address.family == .v6 || address.family == .v4 else {
            return nil
        }
        return .wildcard
    }
}

extension IPAddress {
    /// Equal but for the zone, which a packet does not carry.
    fileprivate func isSameHost(as other: IPAddress) -> Bool {
        high == other.high && low == other.low
    }
}
