// SPDX-License-Identifier: Apache-2.0

public import FanoutCore

/// `metrics`: the HTTP server that Prometheus scrapes.
public struct MetricsConfiguration: Equatable, Sendable {
    public var enabled = false
    /// The TCP address of the server.
    public var bind = Endpoint(IPAddress(v4: 0), port: 9090)
    /// Begins with `/`; never a path that the server has for health checks.
    public var path = "/metrics"
    /// Further names by which browsers may ask for the status page; in lower case.
    public var serverNames: [String] = []

    public init() {}

    public init(enabled: Bool, bind: Endpoint) {
        self.enabled = enabled
        self.bind = bind
    }
}

/// `control`: the unix socket that `udp-fanout status` and its like talk to.
public struct ControlConfiguration: Equatable, Sendable {
    public var enabled = true
    /// Where the socket is: an absolute path of at most 96 bytes; nil for the default, which depends on the daemon's
    /// user.
    public var socket: String?

    public init() {}

    public init(enabled: Bool) { self.enabled = enabled }
}

/// A capability that `settings.keep_capabilities` may name, as capabilities(7) has it without `CAP_`.
public enum KeptCapability: String, CaseIterable, Hashable, Sendable {
    /// For `preserve_source` in userspace, and `icmp` probes.
    case netRaw = "net_raw"
    /// For ports below 1024.
    case netBindService = "net_bind_service"
    /// For the kernel modes, and receive buffers above `net.core.rmem_max`.
    case netAdmin = "net_admin"
    /// For the kernel modes.
    case bpf
    case perfmon
}
