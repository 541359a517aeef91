// SPDX-License-Identifier: Apache-2.0

/// What was found, kept where the next process finds it.
public protocol DiscoveryMemory: Sendable {
    /// What was kept last.
    func recall(_ subjects: Set<DiscoverySubject>) -> [DiscoverySubject: DiscoveredSet]

    /// Keeps this instead.
    ///
    /// - Throws: why it cannot; what was kept before is still there.
    func keep(_ sets: [DiscoverySubject: DiscoveredSet]) throws
}
