// SPDX-License-Identifier: Apache-2.0

internal import FanoutCore

/// A destination that a listener of the file serves.
struct Claim {
    /// Index of the listener.
    let owner: Int
    let endpoint: Endpoint
    /// The families of which every address is claimed; empty for a single address.
    let wildcard: [IPAddress.Family]
    /// Where kernel modes take the datagrams from; nil for a socket, which takes them from
    /// everywhere.
    let interface: String?
    /// How a problem calls the claim.
    let title: String
    let origin: Origin

    /// The claims of a listener, as far as it could be read.
    static func all(of listener: DecodedListener, owner: Int) -> [Claim] {
        guard let bind = listener.bind, let mode = listener.mode else { return [] }
        let interface = mode.needsInterface ? listener[\.interface]?.value ?? "" : nil
        func claim(
            _ address: IPAddress, _ wildcard: [IPAddress.Family], _ title: String,
            _ origin: Origin, port: UInt16 = bind.value.port
        ) -> Claim {
            Claim(
                owner: owner, endpoint: Endpoint(address, port: port), wildcard: wildcard,
                interface: interface, title: title, origin: origin)
        }
        let own = bind.value.address
        // A socket bound to [::] is dual stack: it also takes what is sent to any IPv4 address.
        let families: [IPAddress.Family] = own.family == .v6 ? [.v4, .v6] : [.v4]
        var claims = [claim(own, own.isWildcard ? families : [], "\(bind.value)", bind.origin)]
        if mode == .xdpNAT {
            claims += listener.ports.dropFirst().map { port in
                claim(own, [], "\(Endpoint(own, port: port))", bind.origin, port: port)
            }
        }
        guard let addresses = listener[\.addresses] else { return claims }
        switch addresses.value {
        case .any:
            claims.append(
                claim(own, [.v4, .v6], "any address on port \(bind.value.port)", addresses.origin))
        case .listed(let list):
            claims += list.map {
                claim($0, [], "\(Endpoint($0, port: bind.value.port))", addresses.origin)
            }
        }
        return claims
    }
}
