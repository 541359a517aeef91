// SPDX-License-Identifier: Apache-2.0

internal import FanoutConfig
internal import FanoutCore
internal import LinuxNet
internal import Logging
internal import Synchronization

/// The daemon with receivers, traffic and a table, in one unprivileged process. The daemon is the real one; only its
/// configuration is not from a file.
actor Demo {
    nonisolated let configuration: Configuration
    private let receivers: [DemoReceiver]
    private let sender: DemoSender
    private var threads: [Running] = []

    private final class Running {
        private var thread: Thread?
        init(_ thread: consuming Thread) { self.thread = consume thread }
        func join() { thread.take()?.join() }
    }

    /// - Throws: `SystemError` when loopback sockets cannot be opened.
    init(port: UInt16, metricsPort: UInt16, balance: Balance, rate: Int) throws(SystemError) {
        let loopback = IPAddress(v4: 0x7f00_0001)
        var receivers: [DemoReceiver] = []
        for number in 1...3 { receivers.append(try DemoReceiver(name: "receiver-\(number)")) }
        let bind = Endpoint(loopback, port: try Self.free(port, SocketKind.datagram))
        let metrics = Endpoint(loopback, port: try Self.free(metricsPort, SocketKind.stream))
        self.receivers = receivers
        sender = try DemoSender(to: bind, rate: rate)
        configuration = Configuration(
            listeners: [
                ListenerConfiguration(
                    name: "demo", bind: bind, balance: balance,
                    downstreams: receivers.map {
                        DownstreamConfiguration(
                            name: $0.downstream.name, address: $0.downstream.endpoint)
                    })
            ],
            metrics: MetricsConfiguration(enabled: true, bind: metrics),
            // The default path belongs to a daemon in service.
            control: ControlConfiguration(enabled: false))
    }

    private enum SocketKind { case datagram, stream }

    /// `wanted`, or a free port when `wanted` is taken.
    private static func free(_ wanted: UInt16, _ kind: SocketKind) throws(SystemError) -> UInt16 {
        let loopback = IPAddress(v4: 0x7f00_0001)
        func probe(_ port: UInt16) throws(SystemError) -> UInt16 {
            let endpoint = Endpoint(loopback, port: port)
            return switch kind {
            case .datagram: try Socket.listening(on: endpoint, sharing: .exclusive).boundPort
            case .stream: try Socket.boundStream(on: endpoint).boundPort
            }
        }
        if let port = try? probe(wanted) { return port }
        return try probe(0)
    }

    /// Starts the receivers and the traffic; the daemon should be running.
    func start() throws(SystemError) {
        for receiver in receivers { threads.append(Running(try receiver.start())) }
        threads.append(Running(try sender.start()))
    }

    func stopSending() { sender.stop() }

    func stop() {
        for receiver in receivers { receiver.stop() }
        for thread in threads { thread.join() }
    }

    func table(_ counters: ListenerCounters, since before: [UInt64], _ elapsed: Duration)
        -> DemoTable
    {
        let seconds = max(0.001, elapsed / .seconds(1))
        let rows = zip(receivers, before).map { receiver, earlier in
            let now = receiver.received
            return DemoTable.Row(
                name: receiver.downstream.name, endpoint: receiver.downstream.endpoint,
                datagrams: now, rate: UInt64((Double(now - earlier) / seconds).rounded()))
        }
        return DemoTable(rows: rows, sent: sender.sent, counters: counters)
    }

    var received: [UInt64] { receivers.map(\.received) }
}

/// Shows the demo's table: redrawn in place on a terminal, a line a second in a pipe.
struct DemoDisplay: Sendable {
    let demo: Demo
    let daemon: Daemon
    /// When to end; zero = never.
    let duration: Duration

    /// Draws until the task is cancelled, the duration is over or the reader is gone.
    func run() async {
        let isTerminal = StandardStream.output.isTerminal
        let interval = Duration.milliseconds(isTerminal ? 500 : 1000)
        let clock = ContinuousClock()
        let begin = clock.now
        var last = begin
        var before = await demo.received
        var isFirst = true
        while !Task.isCancelled {
            try? await Task.sleep(for: interval)
            let now = clock.now
            guard let counters = await daemon.counters().first else { return }
            let table = await demo.table(counters, since: before, now - last)
            (before, last) = (table.rows.map(\.datagrams), now)
            let isRead: Bool
            if isTerminal {
                // Back to the table's first line, and overwrite it (ECMA-48: CPL, EL).
                let up = isFirst ? "" : "\u{1b}[\(table.lines.count)F"
                isRead = StandardStream.output.write(
                    up + table.lines.map { $0 + "\u{1b}[K\n" }.joined())
            } else {
                isRead = StandardStream.output.write(table.plain + "\n")
            }
            guard isRead else { return }
            isFirst = false
            if duration > .zero, now - begin >= duration { return }
        }
    }
}

/// One of the demo's receivers: a socket on loopback and a thread that counts what arrives.
final class DemoReceiver: Sendable {
    let downstream: Downstream
    private let socket: Socket
    private let ending = Atomic<Bool>(false)
    private let datagrams = Atomic<UInt64>(0)

    var received: UInt64 { datagrams.load(ordering: .relaxed) }

    init(name: String) throws(SystemError) {
        let anyPort = Endpoint(IPAddress(v4: 0x7f00_0001), port: 0)
        socket = try Socket.listening(on: anyPort, sharing: .exclusive)
        let endpoint = Endpoint(anyPort.address, port: try socket.boundPort)
        downstream = Downstream(name: name, endpoint: endpoint)
    }

    /// Counts until `stop`.
    func start() throws(SystemError) -> Thread {
        try Thread(name: downstream.name) { self.run() }
    }

    private func run() {
        var buffer = [UInt8](repeating: 0, count: 2048)
        while !ending.load(ordering: .acquiring) {
            guard let length = socket.receive(into: &buffer) else { return }
            // Every datagram of the demo has a payload; length 0 means that `stop` ended the wait.
            if length > 0 { datagrams.wrappingAdd(1, ordering: .relaxed) }
        }
    }

    func stop() {
        ending.store(true, ordering: .releasing)
        socket.wakeReceiver()
    }
}
