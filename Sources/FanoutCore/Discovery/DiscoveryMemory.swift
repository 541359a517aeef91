// SPDX-License-Identifier: Apache-2.0

/// What was found and what stands in for it, kept where the next process finds it.
public protocol DiscoveryMemory: Sendable {
    /// What was kept last of what listeners of this state look up.
    func recall(_ state: DesiredState) -> DiscoveryView

    /// Keeps this instead, but for the addresses of the host.
    ///
    /// - Throws: why it cannot; what was kept before is still there.
    func keep(_ view: DiscoveryView) throws
}
