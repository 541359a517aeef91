// SPDX-License-Identifier: Apache-2.0

import FanoutCore

/// A flow and its keys, computed by `golden.py`, which shares no code with the C header.
///
/// The vectors are the contract between the modes: sockets, TC, XDP and AF_XDP all give these keys, so
/// that a source meets the same receiver whichever carries it. They break when the C header changes;
/// then LB_ABI_VERSION must rise too.
public struct GoldenVector: Sendable, CustomStringConvertible {
    public let seed: UInt64
    public let source: String
    public let destination: String
    /// The key of `balance: source_ip`.
    public let sourceIP: UInt32
    /// The key of `balance: four_tuple`.
    public let fourTuple: UInt32

    public var description: String { "\(source) to \(destination), seed \(seed)" }
}
