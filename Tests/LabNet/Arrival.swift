// SPDX-License-Identifier: Apache-2.0

/// A stamped datagram at a receiver, and its time.
public struct Arrival: Equatable, Sendable {
    public let stamp: Stamp
    /// Just after the call that read it from the socket, so not before it arrived.
    public let read: ContinuousClock.Instant
}

/// Stamped datagrams of one flow that a load sent in one call.
public struct Burst: Equatable, Sendable {
    public let flow: UInt32
    /// The number of the first.
    public let sequence: UInt64
    /// Just before the call, so not after any of them was sent.
    public let sent: ContinuousClock.Instant
}
