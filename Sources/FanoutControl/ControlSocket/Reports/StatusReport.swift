// SPDX-License-Identifier: Apache-2.0

public import FanoutCore
internal import LinuxNet

/// The state of the daemon: the response to `status`.
public struct StatusReport: Codable, Equatable, Sendable {
    public var version: String
    public var pid: Int32
    /// RFC 3339.
    public var started: String
    public var uptimeSeconds: Double
    /// The configuration file; nil if there is none.
    public var config: String?
    public var reload: ReloadState
    /// The health checks; nil if there are none.
    public var health: String?
    /// Drained receivers, `listener/receiver`, present or not.
    public var drained: [String]
    /// Seconds over which rates are averaged.
    public var rateSeconds: Double
    public var listeners: [ListenerStatus]
    /// Where kernel modes are attached.
    public var attachments: [AttachmentStatus]

    /// The result of reloads; the load at start-up is the first success.
    public struct ReloadState: Codable, Equatable, Sendable {
        public var lastSuccessful: Bool
        /// When a configuration was last applied, RFC 3339.
        public var inForceSince: String
        public var successes: UInt64
        public var failures: UInt64
    }

    public struct AttachmentStatus: Codable, Equatable, Sendable {
        public var mode: String
        public var interface: String
        public var hook: String
    }
}

extension StatusReport {
    /// O(receivers).
    public init(_ snapshot: DaemonSnapshot) {
        version = snapshot.build.version
        pid = snapshot.process
        started = Self.time(snapshot.startTimeSeconds)
        uptimeSeconds = (snapshot.uptime / .seconds(1)).coarse
        config = snapshot.path
        let reload = snapshot.reload
        self.reload = ReloadState(
            lastSuccessful: reload.lastSuccessful,
            inForceSince: Self.time(reload.lastSuccessTimestampSeconds),
            successes: reload.successes, failures: reload.failures)
        health = snapshot.healthChecks
        drained = snapshot.drains.entries.sorted().map(\.description)
        rateSeconds = (snapshot.meter.span / .seconds(1)).coarse
        let counters = Dictionary(snapshot.listeners.map { ($0.listener, $0) }) { $1 }
        let configured = Dictionary(snapshot.configured.map { ($0.name, $0) }) { $1 }
        listeners = snapshot.active.map {
            ListenerStatus(
                $0, configured: configured[$0.name], counters[$0.name], in: snapshot)
        }
        attachments = snapshot.attachments.map {
            AttachmentStatus(mode: $0.mode.rawValue, interface: $0.interface, hook: $0.hook)
        }
    }

    /// RFC 3339.
    private static func time(_ secondsSinceEpoch: Double) -> String {
        WallClock(nanosecondsSinceEpoch: UInt64(max(0, secondsSinceEpoch) * 1e9)).rfc3339
    }
}

extension Double {
    /// Rounded to a tenth.
    fileprivate var coarse: Double { (self * 10).rounded() / 10 }
}
