// SPDX-License-Identifier: Apache-2.0

/// What the daemon does at one moment: the only source of metrics, status page and control socket.
public struct DaemonSnapshot: Equatable, Sendable {
    public var build: BuildInfo
    public var process: Int32 = 0
    /// When the daemon started, seconds since 1970-01-01 UTC.
    public var startTimeSeconds: Double
    public var uptime = Duration.zero
    /// The configuration file; nil when there is none.
    public var path: String?
    public var reload: ReloadStatus

    /// The listeners of the configuration, and the same with discovery, drains, health and slow start.
    public var configured: [Listener] = []
    public var active: [Listener] = []
    public var drains = DrainList()
    /// Receivers that no datagram gets to, by listener.
    public var outOfReach: [String: Set<String>] = [:]
    /// A summary of the configured health checks; nil if there are none.
    public var healthChecks: String?
    /// The results of health checks; nil if there are none.
    public var health: HealthReport?
    /// The results of discovery; nil if no listener uses it.
    public var discovery: DiscoveryReport?

    /// The counters of every listener of every data plane. A listener that is moving from one mode to another may be
    /// listed once for each.
    public var listeners: [ListenerCounters]
    /// Counters by receive queue.
    public var queues: [QueueCounters]
    /// What happened to packets, by the data planes' own names.
    public var events: [String: UInt64]
    /// Packets that drivers did not accept, by output interface.
    public var transmitErrors: [String: UInt64] = [:]
    /// The programs attached to interfaces.
    public var attachments: [Attachment] = []
    /// The rates of each listener, current and past.
    public var meter = RateMeter()
    public var history = RateHistory()

    public init(
        listeners: [ListenerCounters], queues: [QueueCounters] = [], events: [String: UInt64] = [:],
        health: HealthReport? = nil, discovery: DiscoveryReport? = nil, reload: ReloadStatus,
        build: BuildInfo, startTimeSeconds: Double
    ) {
        self.listeners = listeners
        self.queues = queues
        self.events = events
        self.health = health
        self.discovery = discovery
        self.reload = reload
        self.build = build
        self.startTimeSeconds = startTimeSeconds
    }
}

/// The result of the configuration's reloads. The load at start-up is the first success.
public struct ReloadStatus: Equatable, Sendable {
    /// Whether the last attempt applied a configuration.
    public var lastSuccessful: Bool
    /// When a configuration was last applied, seconds since 1970-01-01 UTC.
    public var lastSuccessTimestampSeconds: Double
    public var successes: UInt64
    public var failures: UInt64

    public init(
        lastSuccessful: Bool, lastSuccessTimestampSeconds: Double, successes: UInt64,
        failures: UInt64
    ) {
        self.lastSuccessful = lastSuccessful
        self.lastSuccessTimestampSeconds = lastSuccessTimestampSeconds
        self.successes = successes
        self.failures = failures
    }
}

/// The build of the daemon.
public struct BuildInfo: Equatable, Sendable {
    /// The daemon's version, as `--version` prints it.
    public var version: String
    /// Whether the kernel modes were compiled in.
    public var kernelModes: Bool

    public init(version: String, kernelModes: Bool) {
        self.version = version
        self.kernelModes = kernelModes
    }
}

/// A receiver of a listener, with its state and rates.
public struct ReceiverSnapshot: Equatable, Sendable {
    public let counters: DownstreamCounters
    public let state: ReceiverState
    /// By its probes; nil if it is not probed.
    public let isHealthy: Bool?
    public let rates: Rates

    /// Whether it currently refuses datagrams.
    public var isRefusing: Bool { rates.refusals > 0 }

    public var packetsDropped: UInt64 { counters.drops.values.reduce(0, +) }
}

extension DaemonSnapshot {
    /// Receivers of a listener, in their order.
    ///
    /// - Parameter counters: the receivers' counters. O(receivers of the listener).
    public func receivers(
        _ counters: [DownstreamCounters], of listener: String
    ) -> [ReceiverSnapshot] {
        let rates = meter.receiverRates(of: listener)
        let outOfReach = outOfReach[listener] ?? []
        return counters.map { counters in
            let entry = DrainList.Entry(listener: listener, downstream: counters.name)
            return ReceiverSnapshot(
                counters: counters,
                state: ReceiverState(
                    weight: counters.weight, isReady: counters.isReady,
                    isOnStandby: counters.isOnStandby,
                    isDrained: drains.entries.contains(entry),
                    isWithinReach: !outOfReach.contains(counters.name)),
                isHealthy: health?.healthStatuses[counters.endpoint],
                rates: rates[counters.endpoint] ?? Rates())
        }
    }
}
