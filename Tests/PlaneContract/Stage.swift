// SPDX-License-Identifier: Apache-2.0

public import FanoutCore
public import LabNet

/// The environment for tests of one kind of plane: how to create one, and the addresses of clients, listeners and
/// receivers. A kernel plane sets its own; the default is loopback.
public struct Stage: Sendable {
    public var mode: ForwardingMode
    public var makePlane: @Sendable () -> any DataPlane
    /// Whether receivers see the client's address and port by default in this mode.
    public var keepsSource = false

    /// The bind address of listeners of a family.
    public var listening: @Sendable (IPAddress.Family) -> IPAddress = {
        $0 == .v4 ? .loopback : .loopback6
    }
    /// The address of client `number`, 0..<200.
    public var client: @Sendable (IPAddress.Family, Int) -> IPAddress = { family, number in
        family == .v4 ? .loopback(0x0a01 + UInt32(number)) : .loopback6
    }
    public var makeSink: @Sendable (_ family: IPAddress.Family, _ keeps: Bool) throws -> Sink = {
        try Sink(on: $0 == .v4 ? .loopback : .loopback6, keepsPayloads: $1)
    }
    public var makeTraffic: @Sendable (_ to: Endpoint, _ from: IPAddress) throws -> Traffic = {
        try Traffic(to: $0, from: $1)
    }

    /// Creates a sender that reaches a receiver without the plane.
    public var makeDirect: @Sendable (_ to: Endpoint) throws -> Traffic = { try Traffic(to: $0) }
    /// The interface of listeners in a kernel mode.
    public var interface: String?
    /// The hook that `tc_ebpf` attaches to.
    public var attach = TCAttach.auto
    /// The hook that `af_xdp` attaches to.
    public var xdpMode = XDPAttach.auto

    public init(mode: ForwardingMode, makePlane: @escaping @Sendable () -> any DataPlane) {
        self.mode = mode
        self.makePlane = makePlane
    }

    /// Receivers that keep payloads, or tally stamped datagrams.
    public func sinks(
        _ count: Int, _ family: IPAddress.Family = .v4, keepsPayloads: Bool = true
    ) throws -> [Sink] {
        try (0..<count).map { _ in try makeSink(family, keepsPayloads) }
    }

    /// A listener of this mode on a free port, by default with one worker.
    public func listener(
        _ name: String = "in", _ balance: Balance = .roundRobin, to downstreams: [Downstream],
        family: IPAddress.Family = .v4, settings: ListenerSettings = ListenerSettings(workers: 1)
    ) throws -> Listener {
        var settings = settings
        settings.tcAttach = attach
        settings.xdpMode = xdpMode
        return Listener(
            name: name, bind: try .free(on: listening(family)), mode: mode, balance: balance,
            preserveSource: keepsSource, downstreams: downstreams, settings: settings,
            interface: interface)
    }

    /// A sender from client `number`.
    public func traffic(to listener: Listener, client number: Int = 0) throws -> Traffic {
        try makeTraffic(listener.bind, client(listener.bind.address.family, number))
    }

    /// A plane that serves `listeners`.
    public func rig(_ listeners: [Listener]) async throws -> Rig {
        let rig = Rig(makePlane())
        try await rig.apply(listeners)
        return rig
    }
}

extension [Sink] {
    /// These sinks as the downstreams `a`, `b`, `c`, …, with the given weights or weight 1.
    public func downstreams(weights: [UInt16]? = nil) -> [Downstream] {
        enumerated().map { index, sink in
            Downstream(
                name: index < 26 ? String(UnicodeScalar(UInt8(97 + index))) : "d\(index)",
                endpoint: sink.endpoint, weight: weights?[index] ?? 1)
        }
    }

    public var counts: [UInt64] { map(\.count) }

    public var total: UInt64 { counts.reduce(0, +) }
}
