// SPDX-License-Identifier: Apache-2.0

public import FanoutCore

/// What the daemon tells a scrape: a plain value, taken at the moment of the scrape.
public struct MetricsSnapshot: Equatable, Sendable {
    /// The counters of every listener of every data plane. A listener that is moving from one mode
    /// to another may stand here once for each.
    public var listeners: [ListenerCounters]
    /// What planes counted by receive queue.
    public var queues: [QueueCounters]
    /// What became of packets, by the data planes' own names for it.
    public var events: [String: UInt64]
    /// Packets that drivers did not take, by the interface that they were to leave by.
    public var transmitErrors: [String: UInt64] = [:]
    /// The programs at interfaces.
    public var attachments: [Attachment] = []
    /// What health checks have found; nil when there are none.
    public var health: HealthReport?
    /// What discovery has found; nil when no listener uses it.
    public var discovery: DiscoveryReport?
    public var reload: ReloadStatus
    public var build: BuildInfo
    /// When the daemon started, seconds since 1970-01-01 UTC.
    public var startTimeSeconds: Double
    /// For the status page alone: how long the daemon has run, the active listeners, which of their receivers are
    /// drained by hand, out of reach or refuse datagrams, and the rates of each listener, now and before.
    public var uptime = Duration.zero
    public var active: [Listener] = []
    public var drains = DrainList()
    public var outOfReach: [String: Set<String>] = [:]
    public var refusing: [String: Set<String>] = [:]
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

/// How the configuration's reloads went. The load at start-up is the first success.
public struct ReloadStatus: Equatable, Sendable {
    /// Whether the last attempt put a configuration into force.
    public var lastSuccessful: Bool
    /// When a configuration last came into force, seconds since 1970-01-01 UTC.
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

/// What was built.
public struct BuildInfo: Equatable, Sendable {
    /// The daemon's version, as `--version` prints it.
    public var version: String
    /// Whether the modes that run in the kernel were compiled in.
    public var kernelModes: Bool

    public init(version: String, kernelModes: Bool) {
        self.version = version
        self.kernelModes = kernelModes
    }
}

/// What the metrics server counts about itself.
public struct ServerCounters: Equatable, Sendable {
    /// Connections closed because the server had as many as it allows: the newcomer, or an older one
    /// that made room for it.
    public var connectionsRefused: UInt64

    public init(connectionsRefused: UInt64 = 0) {
        self.connectionsRefused = connectionsRefused
    }
}
