// SPDX-License-Identifier: Apache-2.0

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
