// SPDX-License-Identifier: Apache-2.0

internal import FanoutCore

/// What the status page shows of a snapshot: every listener, shortened to a screen, or one listener with all of its
/// receivers.
///
/// However large the configuration, the page of all listeners shows at most `listenersShown` of them with
/// `receiversShown` receivers each, to limit the work of server and browser.
struct StatusView {
    static let listenersShown = 256
    static let receiversShown = 8
    /// From this number on, listeners are shown as lines that expand.
    static let listenersOpen = 6
    /// Up to this number the page contains the history of each listener, 60 points; beyond it only the sum.
    static let historiesShown = 32

    let snapshot: DaemonSnapshot
    /// The listener of the page; nil: all listeners.
    let only: String?
    let listeners: [StatusListener]
    /// Listeners that are not shown for lack of room.
    let omitted: Int
    /// Over all listeners, including those that are not shown.
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

    /// Whether the listener exists.
    var isFound: Bool { only == nil || !listeners.isEmpty }

    /// Changes when more than numbers changes on the page; the script then reloads it.
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

/// The numbers of the page, in its order. Only for the script: programs use `/metrics` and the control socket.
extension StatusView {
    var json: String {
        let members = [
            "\"shape\":\"\(shape)\"",
            // A clock that does not depend on the wall clock.
            "\"at\":\(Self.milliseconds)",
            "\"uptime\":\"\(HumanText.span(snapshot.uptime))\"",
            "\"total\":[\(total.received),\(total.forwarded),\(total.dropped)]",
            "\"listeners\":[\(listeners.map(\.json).joined(separator: ","))]",
        ]
        return "{" + members.joined(separator: ",") + "}\n"
    }

    /// Points of a chart: time, and rates received, forwarded and dropped. Contains no characters special to HTML.
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
