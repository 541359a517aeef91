// SPDX-License-Identifier: Apache-2.0

internal import FanoutCore

extension Findings {
    /// Reports duplicates.
    func requireUnique<Value: Hashable>(
        _ values: [Located<Value>], _ remedy: String,
        _ what: (_ value: Value, _ line: Int) -> String
    ) {
        var lines: [Value: Int] = [:]
        for value in values {
            if let line = lines[value.value] {
                error(at: value.origin, what(value.value, line), remedy)
            } else {
                lines[value.value] = value.origin.line ?? 0
            }
        }
    }
}

/// All listeners of an interface share one program, so their attach settings must match. O(listeners).
enum HookCheck {
    static func run(_ listeners: [DecodedListener], _ findings: Findings) {
        agree(
            listeners.filter { $0.mode == .tcEBPF }, on: \.listener.tcAttach, auto: .auto, findings)
        agree(
            listeners.filter { $0.mode == .afXDP }, on: \.listener.xdpMode, auto: .auto, findings)
    }

    /// - Parameter auto: the value that adopts another listener's choice.
    private static func agree<Choice: RawRepresentable<String> & Equatable>(
        _ listeners: [DecodedListener], on path: KeyPath<SettingsSection, Choice>, auto: Choice,
        _ findings: Findings
    ) {
        /// The place of the listener's own setting.
        func own(_ listener: DecodedListener) -> Origin? {
            listener.section(\.settingsSection)?.keyOrigin(path)
        }
        let name = SettingsSection.section.key(path).name
        var first: [String: DecodedListener] = [:]
        for listener in listeners {
            let choice = listener.value.settingsSection[keyPath: path]
            guard choice != auto, let interface = listener[\.interface] else { continue }
            guard let other = first[interface.value] else {
                first[interface.value] = listener
                continue
            }
            let otherChoice = other.value.settingsSection[keyPath: path]
            guard otherChoice != choice else { continue }
            let line = (own(other) ?? other.origin(\.interface))?.line
            findings.error(
                at: own(listener) ?? interface.origin,
                "\(name) is \(choice.rawValue) here and \(otherChoice.rawValue) for \(other.title)"
                    + (line.map { " (line \($0))" } ?? "")
                    + ", and both hook into \(interface.value.quoted)",
                "write one \(name) for all listeners of an interface")
        }
    }
}

/// A destination that a listener of the file serves.
struct Claim {
    /// Index of the listener.
    let owner: Int
    let endpoint: Endpoint
    /// The families of which every address is claimed; empty for a single address.
    let wildcard: [IPAddress.Family]
    /// The interface of a kernel mode; nil for a socket, which receives from all interfaces.
    let interface: String?
    /// The name of the claim in problems.
    let title: String
    let origin: Origin

    /// The claims of a listener, as far as it is valid.
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
        // A socket bound to [::] is dual-stack: it also takes datagrams to any IPv4 address.
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

/// No two listeners may serve one destination: the receiver of a datagram would be arbitrary.
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
            // One problem per listener: its further claims most likely conflict with the same listener.
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
