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
    static func all(of draft: ListenerDraft, owner: Int) -> [Claim] {
        guard let bind = draft.bind, let mode = draft.mode?.value else { return [] }
        let interface = mode.needsInterface ? draft.interface?.value ?? "" : nil
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
            claims += (draft.nat.ports?.value ?? []).dropFirst().map { port in
                claim(own, [], "\(Endpoint(own, port: port))", bind.origin, port: port)
            }
        }
        switch draft.addresses {
        case .some(let field) where field.value == .any:
            claims.append(
                claim(own, [.v4, .v6], "any address on port \(bind.value.port)", field.origin))
        case .some(let field):
            guard case .listed(let addresses) = field.value else { break }
            for address in addresses {
                let endpoint = Endpoint(address, port: bind.value.port)
                claims.append(claim(address, [], "\(endpoint)", field.origin))
            }
        case nil: break
        }
        return claims
    }
}
