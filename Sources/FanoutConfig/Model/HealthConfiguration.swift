// SPDX-License-Identifier: Apache-2.0

public import FanoutCore

/// `health`: whether and how the downstreams are probed.
public struct HealthConfiguration: Equatable, Sendable {
    public var enabled = false
    /// Whether an interval with a refusal is a failed probe.
    public var passive = false
    /// Probe settings and thresholds. Times are whole seconds. The payload is set by the keys below.
    public var probes = HealthPolicy()
    /// The payload of probes of kind `udp`, as configured: see `PayloadText`.
    public var payload: String?
    /// A preset payload; nil if `payload` is set.
    public var payloadPreset: ProbePayload.Preset?
    /// The secret shared with RADIUS servers; for the preset `radius_status`.
    public var radiusSecret: String?

    public init() {}

    /// Nil if nothing is probed.
    public var policy: HealthPolicy? { enabled ? complete : nil }

    /// Interval and thresholds for refusals; nil if they are ignored.
    public var passivePolicy: HealthPolicy? { passive ? complete : nil }

    /// A summary; nil if nothing is checked.
    public var summary: String? {
        let parts = (enabled ? [probes.kind.rawValue] : []) + (passive ? ["passive"] : [])
        return parts.isEmpty ? nil : parts.joined(separator: ", ")
    }

    private var complete: HealthPolicy {
        var policy = probes
        if let payloadPreset {
            policy.payload = ProbePayload(payloadPreset, secret: Array((radiusSecret ?? "").utf8))
        } else if let bytes = payload.flatMap({ try? PayloadText.bytes(of: $0) }) {
            policy.payload = .bytes(bytes)
        }
        return policy
    }
}
