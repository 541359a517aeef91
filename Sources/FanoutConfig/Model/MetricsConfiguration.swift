// SPDX-License-Identifier: Apache-2.0

public import FanoutCore

/// `metrics`: the HTTP server that Prometheus scrapes.
public struct MetricsConfiguration: Equatable, Sendable {
    public var enabled: Bool
    /// The TCP address of the server.
    public var bind: Endpoint
    /// Begins with `/`; never `/healthz`, which the server answers itself.
    public var path: String

    /// Further names by which browsers may ask for the status page; in lower case.
    public var serverNames: [String]

    public init(
        enabled: Bool = false, bind: Endpoint = Endpoint(IPAddress(v4: 0), port: 9090),
        path: String = "/metrics", serverNames: [String] = []
    ) {
        self.enabled = enabled
        self.bind = bind
        self.path = path
        self.serverNames = serverNames
    }
}
