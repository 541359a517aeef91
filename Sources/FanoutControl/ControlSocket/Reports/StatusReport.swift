// SPDX-License-Identifier: Apache-2.0

/// What the daemon is doing: the answer to `status`.
public struct StatusReport: Codable, Equatable, Sendable {
    public var version: String
    public var pid: Int32
    /// RFC 3339.
    public var started: String
    public var uptimeSeconds: Double
    /// The configuration file; nil when there is none.
    public var config: String?
    public var reload: ReloadState
    /// What health checks do; nil when there are none.
    public var health: String?
    /// Receivers that were drained by hand, `listener/receiver`, whether they are there at present or not.
    public var drained: [String]
    /// Over how many seconds rates are averaged.
    public var rateSeconds: Double
    public var listeners: [ListenerStatus]
    /// Where kernel modes are hooked in.
    public var attachments: [AttachmentStatus]

    public init(
        version: String, pid: Int32, started: String, uptimeSeconds: Double, config: String?,
        reload: ReloadState, health: String?, drained: [String], rateSeconds: Double,
        listeners: [ListenerStatus], attachments: [AttachmentStatus]
    ) {
        self.version = version
        self.pid = pid
        self.started = started
        self.uptimeSeconds = uptimeSeconds
        self.config = config
        self.reload = reload
        self.health = health
        self.drained = drained
        self.rateSeconds = rateSeconds
        self.listeners = listeners
        self.attachments = attachments
    }

    /// How reloads went; the load at start-up is the first success.
    public struct ReloadState: Codable, Equatable, Sendable {
        public var lastSuccessful: Bool
        /// When a configuration last came into force, RFC 3339.
        public var inForceSince: String
        public var successes: UInt64
        public var failures: UInt64

        public init(
            lastSuccessful: Bool, inForceSince: String, successes: UInt64, failures: UInt64
        ) {
            self.lastSuccessful = lastSuccessful
            self.inForceSince = inForceSince
            self.successes = successes
            self.failures = failures
        }
    }

    public struct AttachmentStatus: Codable, Equatable, Sendable {
        public var mode: String
        public var interface: String
        public var hook: String

        public init(mode: String, interface: String, hook: String) {
            self.mode = mode
            self.interface = interface
            self.hook = hook
        }
    }
}
