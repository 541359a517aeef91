// SPDX-License-Identifier: Apache-2.0

/// What is measured.
public enum Forwarder: String, CaseIterable, Sendable {
    /// `reference mmsg`: a message a datagram.
    case mmsg = "reference mmsg"
    /// `reference gso`: super-packets in and out.
    case gso = "reference gso"
    /// The daemon.
    case daemon = "udp-fanout"
}
