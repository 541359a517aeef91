// SPDX-License-Identifier: Apache-2.0

public import FanoutCore

/// `health`: whether and how the downstreams are probed.
public struct HealthConfiguration: Equatable, Sendable {
    public var enabled = false
    /// Whether an interval that contains a refusal is a failed probe.
    public var passive = false
    /// How downstreams are probed, and the thresholds. Times are whole seconds. The payload is set by the keys below.
    public var probes = HealthPolicy()
    /// What a probe of kind `udp` sends, as it is written: see `PayloadText`.
    public var payload: String?
    /// The same by name; nil when `payload` is set.
    public var payloadPreset: ProbePayload.Preset?
    /// The secret that RADIUS servers have for this host; set with the preset `radius_status`.
    public var radiusSecret: String?

    public init() {}

    /// nil when nothing is probed.
    public var policy: HealthPolicy? { enabled ? complete : nil }

    /// How refusals are judged: by interval and thresholds; nil when they are not.
    public var passivePolicy: HealthPolicy? { passive ? complete : nil }

    /// What is done, in a few words; nil when nothing is.
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
