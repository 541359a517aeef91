// SPDX-License-Identifier: Apache-2.0

/// What is probed. Downstreams that lead to the same target, of whichever listener, share its probes.
public struct ProbeTarget: Hashable, Sendable {
    public let kind: ProbeKind
    /// Where the probe goes; the port is 0 when the kind has none.
    public let endpoint: Endpoint

    public init(kind: ProbeKind, endpoint: Endpoint) {
        self.kind = kind
        self.endpoint = endpoint
    }
}

/// A probe that is over.
public struct ProbeReport: Equatable, Sendable {
    public let target: ProbeTarget
    public let result: ProbeResult
    /// The operation and errno behind the result, such as `connect: ECONNREFUSED`; empty without one.
    public let detail: String

    public init(_ target: ProbeTarget, _ result: ProbeResult, detail: String = "") {
        self.target = target
        self.result = result
        self.detail = detail
    }
}
