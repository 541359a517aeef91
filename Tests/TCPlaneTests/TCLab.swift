// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import LabNet
import Logging
import PlaneContract
import Synchronization
import TCPlane

/// client ── c0 │ lb0 ── balancer ── out0…2 │ in0 ── three receivers: each a network of its own.
///
/// Addresses of IPv4 / IPv6: 10.8.0.x / fd08::x between client (2) and balancer (1), 10.8.9.x /
/// fd08:9::x as further sources of the client, 10.8.N.x / fd08:N::x between balancer (1) and receiver
/// (2), N counted from 1.
final class TCLab: Sendable {
    let client: Network
    let balancer: Network
    let receivers: [Network]
    let pins: BPFFileSystem
    private let nextReceiver = Atomic(0)

    init(receivers count: Int = 3) throws {
        (client, balancer) = (try Network(), try Network())
        receivers = try (0..<count).map { _ in try Network() }
        pins = try BPFFileSystem()
        try balancer.set("ipv4/ip_forward", to: "1")
        try balancer.set("ipv6/conf/all/forwarding", to: "1")
        try Self.connect(balancer, "lb0", client, "c0", subnet: 0)
        try client.ip("route add local 10.8.9.0/24 dev lo")
        try client.set("ipv6/ip_nonlocal_bind", to: "1")
        for (index, receiver) in receivers.enumerated() {
            try Self.connect(balancer, "out\(index)", receiver, "in0", subnet: index + 1)
        }
    }

    /// A veth between two networks: the first has address 1 and the other 2.
    static func connect(
        _ near: Network, _ nearName: String, _ far: Network, _ farName: String, subnet: Int
    ) throws {
        try near.ip("link add \(nearName) type veth peer name \(farName) netns \(far.path)")
        for (network, name, number) in [(near, nearName, 1), (far, farName, 2)] {
            // What comes by an interface that its source is not behind would be dropped.
            for scope in [name, "all"] { try network.set("ipv4/conf/\(scope)/rp_filter", to: "0") }
            try network.ip("link set \(name) up")
            try network.ip("address add \(v4(subnet, number))/24 dev \(name)")
            try network.ip("address add \(v6(subnet, number))/64 dev \(name) nodad")
        }
        try far.ip("route add default via \(v4(subnet, 1))")
        try far.ip("-6 route add default via \(v6(subnet, 1))")
    }

    static func v4(_ subnet: Int, _ number: Int) -> IPAddress {
        IPAddress(v4: 0x0a08_0000 + UInt32(subnet << 8 + number))
    }

    static func v6(_ subnet: Int, _ number: Int) -> IPAddress {
        IPAddress(high: 0xfd08_0000_0000_0000 + UInt64(subnet) << 32, low: UInt64(number))
    }

    static func address(_ family: IPAddress.Family, _ subnet: Int, _ number: Int) -> IPAddress {
        family == .v4 ? v4(subnet, number) : v6(subnet, number)
    }

    /// The plane with clients, listeners and receivers in their places. Calls of it are made in the
    /// balancer.
    var stage: Stage {
        let lab = self
        var stage = Stage(mode: .tcEBPF) { TCPlane(logger: .silent, root: lab.pins.path) }
        stage.keepsSource = true
        stage.interface = "lb0"
        stage.listening = { TCLab.address($0, 0, 1) }
        stage.client = { TCLab.address($0, 9, $1 + 1) }
        stage.makeSink = { family, keeps in
            let next = lab.nextReceiver.add(1, ordering: .relaxed).oldValue
            let number = next % lab.receivers.count
            return try lab.receivers[number].enter {
                try Sink(on: TCLab.address(family, number + 1, 2), keepsPayloads: keeps)
            }
        }
        stage.makeTraffic = { target, source in
            try lab.client.enter { try Traffic(to: target, from: source) }
        }
        stage.makeDirect = { target in
            let address = target.address
            let near = IPAddress(high: address.high, low: address.low - 1)
            return try lab.balancer.enter { try Traffic(to: target, from: near) }
        }
        return stage
    }
}

extension Logger {
    static let silent = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
}
