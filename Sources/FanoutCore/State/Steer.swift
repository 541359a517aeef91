// SPDX-License-Identifier: Apache-2.0

/// Who chooses the worker that gets a datagram. The raw value is the spelling in YAML and logs.
///
/// This is not `Balance`: whichever worker has a datagram, the receiver is the one that the slot
/// table names.
public enum Steer: String, CaseIterable, Hashable, Sendable {
    /// All datagrams of one source address meet one worker, which keeps them in their order.
    case sourceIP = "source_ip"
    /// The kernel, by a hash of both addresses and both ports: a source with many ports meets many
    /// workers.
    case kernel
}
