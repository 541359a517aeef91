// SPDX-License-Identifier: Apache-2.0

internal import FanoutCore

/// No two listeners serve one destination: which of them received would depend on chance.
///
/// Kernel modes on different interfaces see different datagrams and may share a destination; a
/// socket sees them all. O(claims).
struct CollisionCheck {
    /// The claims on one port within one scope: an interface, the sockets, or all together.
    private struct Table {
        var exact: [IPAddress: Claim] = [:]
        var anyOfFamily: [IPAddress.Family: Claim] = [:]
        var wildcard: [IPAddress.Family: Claim] = [:]

        func rival(of claim: Claim) -> Claim? {
            let address = claim.endpoint.address
            return claim.wildcard.isEmpty
                ? exact[address] ?? wildcard[address.family]
                : claim.wildcard.lazy.compactMap { anyOfFamily[$0] }.first
        }

        mutating func add(_ claim: Claim) {
            let address = claim.endpoint.address
            if claim.wildcard.isEmpty {
                exact[address] = exact[address] ?? claim
                anyOfFamily[address.family] = anyOfFamily[address.family] ?? claim
            }
            for family in claim.wildcard {
                wildcard[family] = wildcard[family] ?? claim
                anyOfFamily[family] = anyOfFamily[family] ?? claim
            }
        }
    }

    private enum Scope: Hashable {
        case interface(String)
        case sockets, everything
    }

    private struct Place: Hashable {
        let port: UInt16
        let scope: Scope
    }

    private var tables: [Place: Table] = [:]

    static func run(_ listeners: [DecodedListener], _ findings: Findings) {
        var check = CollisionCheck()
        for (index, listener) in listeners.enumerated() {
            let claims = Claim.all(of: listener, owner: index)
            // One problem a listener: its further claims most likely have the same rival.
            for claim in claims {
                guard let rival = check.rival(of: claim) else { continue }
                report(claim, rival, listeners, findings)
                break
            }
            for claim in claims { check.add(claim) }
        }
    }

    private func rival(of claim: Claim) -> Claim? {
        let scopes: [Scope] = claim.interface.map { [.interface($0), .sockets] } ?? [.everything]
        return scopes.lazy.compactMap {
            tables[Place(port: claim.endpoint.port, scope: $0)]?.rival(of: claim)
        }.first
    }

    private mutating func add(_ claim: Claim) {
        for scope in [claim.interface.map { .interface($0) } ?? .sockets, Scope.everything] {
            tables[Place(port: claim.endpoint.port, scope: scope), default: Table()].add(claim)
        }
    }

    private static func report(
        _ claim: Claim, _ rival: Claim, _ listeners: [DecodedListener], _ findings: Findings
    ) {
        var what = "\(claim.title) collides with \(listeners[rival.owner].title)"
        what += " (\(rival.title)" + (rival.origin.line.map { ", line \($0))" } ?? ")")
        let isDual = [claim, rival].contains {
            $0.wildcard.count == 2 && $0.endpoint.address.family == .v6
        }
        if isDual, claim.endpoint.address.family != rival.endpoint.address.family {
            what += ": [::] serves IPv4 as well"
        }
        let (mine, other) = (listeners[claim.owner].mode, listeners[rival.owner].mode)
        if let mine, let other, mine != other {
            what += ", although one is \(other.rawValue) and the other \(mine.rawValue)"
        }
        findings.error(at: claim.origin, what, "write another address or port")
    }
}
