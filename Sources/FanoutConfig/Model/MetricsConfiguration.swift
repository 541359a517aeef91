// SPDX-License-Identifier: Apache-2.0

public import FanoutCore

/// `metrics`: the HTTP server that Prometheus scrapes.
public struct MetricsConfiguration: Equatable, Sendable {
    public var enabled: Bool
    /// The TCP address of the server.
    public var bind: Endpoint
    /// Begins with `/`; never `/healthz`, which the server answers itself.
    public var path: String

    public init(
        enabled: Bool = false, bind: Endpoint = Endpoint(IPAddress(v4: 0), port: 9090),
        path: String = "/metrics"
    ) {
        self.enabled = enabled
        self.bind = bind
        self.path = path
    }
}
