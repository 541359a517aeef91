// SPDX-License-Identifier: Apache-2.0

internal import FanoutCore

/// What the status page shows of a snapshot: every listener, folded to what fits on a screen, or one
/// listener with all of its receivers.
///
/// However large the configuration, the page of all listeners has at most `listenersShown` of them
/// with `receiversShown` receivers each, so that neither the server nor a browser is busy with it.
struct StatusView {
    static let listenersShown = 256
    static let receiversShown = 8
    /// From so many listeners on they are shown as lines that open.
    static let listenersOpen = 6
    /// Up to so many listeners the page brings the history of each, 60 points; else that of the sum alone.
    static let historiesShown = 32

    let snapshot: DaemonSnapshot
    /// The listener whose page it is; nil: of all of them.
    let only: String?
    let listeners: [StatusListener]
    /// Listeners that found no room.
    let omitted: Int
    /// Over all listeners, those that are not shown among them.
    let total: StatusTotal

    init(_ snapshot: DaemonSnapshot, of only: String? = nil) {
        self.snapshot = snapshot
        self.only = only
        let places = Dictionary(snapshot.active.map { ($0.name, $0) }) { $1 }
        var total = StatusTotal()
        for counters in snapshot.listeners { total.add(counters) }
        let wanted = snapshot.listeners.filter { only == nil || $0.listener == only }
        // Listeners that need attention come first, so that they are not cut off.
        let shown =
            wanted.count <= Self.listenersShown
            ? wanted
            : Array(
                (wanted.filter { !$0.hasReceiver } + wanted.filter(\.hasReceiver))
                    .prefix(Self.listenersShown))
        listeners = shown.map { counters in
            StatusListener(
                counters, in: snapshot, place: places[counters.listener],
                hasHistory: shown.count <= Self.historiesShown,
                limit: only == nil ? Self.receiversShown : .max)
        }
        omitted = wanted.count - listeners.count
        self.total = total
    }

    /// Whether there is such a listener.
    var isFound: Bool { only == nil || !listeners.isEmpty }

    /// A number that changes when anything but numbers changes on the page: the script then asks for
    /// the page again.
    var shape: String {
        var hasher = Hasher()
        hasher.combine(snapshot.reload.lastSuccessful)
        hasher.combine(omitted)
        for listener in listeners { listener.hashShape(into: &hasher) }
        return String(UInt(bitPattern: hasher.finalize()), radix: 16)
    }
}

extension ListenerCounters {
    fileprivate var hasReceiver: Bool { downstreams.contains(where: \.isReady) }
}

/// Sums over listeners.
struct StatusTotal {
    private(set) var received: UInt64 = 0
    private(set) var forwarded: UInt64 = 0
    private(set) var dropped: UInt64 = 0
    private(set) var receivers = 0
    private(set) var ready = 0

    mutating func add(_ counters: ListenerCounters) {
        received &+= counters.packetsReceived
        forwarded &+= counters.packetsForwarded
        dropped &+= counters.packetsDropped
        receivers += counters.downstreams.count
        ready += counters.downstreams.count(where: \.isReady)
    }
}

/// The numbers of the page, in the order in which the page has them. It is the script's alone: programs
/// have `/metrics` and the control socket.
extension StatusView {
    var json: String {
        let members = [
            "\"shape\":\"\(shape)\"",
            // The page's time runs on whatever the wall clock does.
            "\"at\":\(Self.milliseconds)",
            "\"uptime\":\"\(HumanText.span(snapshot.uptime))\"",
            "\"total\":[\(total.received),\(total.forwarded),\(total.dropped)]",
            "\"listeners\":[\(listeners.map(\.json).joined(separator: ","))]",
        ]
        return "{" + members.joined(separator: ",") + "}\n"
    }

    /// Points of a chart: time, received, forwarded and dropped a second. Free of characters that HTML knows.
    static func json(_ points: [RateHistory.Point]) -> String {
        let items = points.map { point in
            let rates = [point.received, point.forwarded, point.dropped].map(Self.rounded)
            return "[\(milliseconds(at: point.time)),\(rates.joined(separator: ","))]"
        }
        return "[\(items.joined(separator: ","))]"
    }

    private static func rounded(_ rate: Float) -> String {
        rate > 0 && rate < 10 ? "\((rate * 10).rounded() / 10)" : "\(UInt64(rate))"
    }

    private static var milliseconds: Int64 { milliseconds(at: .now) }

    private static func milliseconds(at time: ContinuousClock.Instant) -> Int64 {
        let passed = time - start
        return passed.components.seconds * 1000
            + passed.components.attoseconds / 1_000_000_000_000_000
    }

    private static let start = ContinuousClock.now
}

extension StatusListener {
    fileprivate var json: String {
        let drops = reasons.map { String($0.count) }.joined(separator: ",")
        let rows = receivers.map {
            "[\($0.counters.packetsForwarded),\($0.packetsDropped),\($0.counters.refusals)]"
        }
        .joined(separator: ",")
        let totals = [
            counters.packetsReceived, counters.packetsForwarded, counters.packetsDropped,
            counters.bytesReceived, counters.kernelDrops,
        ].map { String($0) }.joined(separator: ",")
        return "{\"counts\":[\(totals)],\"drops\":[\(drops)],\"receivers\":[\(rows)]}"
    }
}
