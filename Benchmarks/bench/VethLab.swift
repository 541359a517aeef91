// SPDX-License-Identifier: Apache-2.0

internal import CVethLab
internal import Foundation
internal import Glibc
internal import Measure

/// client ── in0 │ lb0 ── balancer ── out0 │ in0 ── receiver                     same host
/// client ── in0 │ lb0 ── balancer ── br0 ── out0 │ in0 ── receiver              behind a bridge
///
/// Each │ is a veth between two networks. Addresses: 10.8.0.x between client (2) and balancer (1), 10.8.1.x
/// between balancer (1) and receiver, which has three: the daemon's choice does not change the path. The service is
/// 10.8.9.1, which no interface of the balancer has. The receiver has it too, as with direct server return, so the
/// bare programs need not rewrite anything.
struct VethLab {
    let place: LabRates.Place
    let balancer: LabNetwork
    private let client: LabNetwork
    private let receiver: LabNetwork

    static let service = "10.8.9.1"
    static let receivers = ["10.8.1.2", "10.8.1.3", "10.8.1.4"]
    static let port = 5514
    /// The balancer's interface to the client.
    static let ingress = "lb0"
    /// The MAC address of the receiver's end.
    static var macOfReceiver: String { mac(1, 2) }
    /// The same as a number, the first byte highest.
    static let macNumberOfReceiver: UInt64 = 0x0200_0008_0102
    /// The balancer's interface to the receiver.
    var way: String { place == .sameHost ? "out0" : "br0" }

    /// - Parameter folder: where the output of commands goes.
    init(_ place: LabRates.Place, folder: URL) throws {
        self.place = place
        (client, balancer) = (try LabNetwork(folder: folder), try LabNetwork(folder: folder))
        receiver = try LabNetwork(folder: folder)
        try connect(Self.ingress, to: client, subnet: 0)
        try connect("out0", to: receiver, subnet: 1)
        if place == .elsewhere {
            // A static entry, so that the bridge floods nothing.
            try balancer.run(
                """
                ip link add br0 address \(Self.mac(1, 1)) type bridge
                ip link set br0 up
                ip link set out0 master br0
                bridge fdb replace \(Self.mac(1, 2)) dev out0 master static
                """)
        }
        try address(client, subnet: 0, on: Self.ingress)
        try address(receiver, subnet: 1, on: way)
        try receiver.run("ip address add \(Self.service)/32 dev lo")
        try balancer.run("echo 1 >/proc/sys/net/ipv4/ip_forward")
    }

    /// A veth from the balancer to another network, both ends up.
    private func connect(_ veth: String, to network: LabNetwork, subnet: Int) throws {
        try balancer.run(
            """
            ip link add \(veth) address \(Self.mac(subnet, 1)) type veth \
                peer name in0 address \(Self.mac(subnet, 2)) netns \(network.path)
            ip link set \(veth) up
            """)
        try network.run("ip link set in0 up")
    }

    /// Sets the addresses of both sides with permanent neighbour entries: the bare programs take every packet,
    /// including replies to ARP and neighbour discovery.
    ///
    /// - Parameter interface: the interface with the balancer's address.
    private func address(_ network: LabNetwork, subnet: Int, on interface: String) throws {
        try balancer.run(
            """
            ip address add 10.8.\(subnet).1/24 dev \(interface)
            for host in 2 3 4; do
                ip neigh replace 10.8.\(subnet).$host dev \(interface) lladdr \(Self.mac(subnet, 2))
            done
            """)
        try network.run(
            """
            for host in 2 3 4; do ip address add 10.8.\(subnet).$host/24 dev in0; done
            ip neigh replace 10.8.\(subnet).1 dev in0 lladdr \(Self.mac(subnet, 1))
            ip route add default via 10.8.\(subnet).1
            """)
    }

    /// The MAC address of a veth's end in a subnet: 1 is the balancer's end, 2 the other.
    private static func mac(_ subnet: Int, _ end: Int) -> String {
        "02:00:00:08:0\(subnet):0\(end)"
    }

    /// The ends of the path.
    var lane: lab_lane {
        lab_lane(
            client: client.descriptor, receiver: receiver.descriptor,
            address: Self.number(of: Self.service), port: UInt16(Self.port))
    }

    /// The same for XDP frames.
    ///
    /// - Parameters:
    ///   - forwarder: the process that forwards them, and is stopped outside its turns; 0: the kernel forwards.
    ///   - sources: the number of senders: a power of two, at most 2^20.
    ///   - known: the number of sources that have sent before: `sources` or more, a power of two.
    ///   - isOneArm: whether they go back to the client.
    func wire(
        forwarder: pid_t = 0, sources: Int = 4096, known: Int = 4096, isOneArm: Bool = false
    ) -> lab_wire {
        // The literal lives, and ends with a zero, as C wants it.
        let end: StaticString = "in0"
        return lab_wire(
            client: client.descriptor,
            receiver: isOneArm ? client.descriptor : receiver.descriptor,
            end: UnsafeRawPointer(end.utf8Start).assumingMemoryBound(to: CChar.self),
            mac: 0x0200_0008_0001, address: Self.number(of: Self.service),
            port: UInt16(Self.port), forwarder: forwarder, sources: UInt32(sources),
            known: UInt32(known))
    }

    /// Packets that the balancer has sent to the receiver's side. bpf_redirect_peer does not count there: the packet
    /// appears directly at the other end.
    func packetsSent() throws -> Int {
        let table = try balancer.run("cat /proc/net/dev")
        for line in table.split(separator: "\n") {
            // Columns: name, eight of what came in (bytes, packets, …), then what went out.
            let columns = line.split(whereSeparator: { $0 == " " || $0 == ":" })
            guard columns.count > 10, columns[0] == way else { continue }
            if let packets = Int(columns[10]) { return packets }
        }
        throw Trouble("the lab's balancer has no interface \(way)")
    }

    /// An IPv4 address in host order.
    static func number(of address: String) -> UInt32 {
        address.split(separator: ".").reduce(0) { $0 << 8 + (UInt32($1) ?? 0) }
    }
}
