// SPDX-License-Identifier: Apache-2.0

import FanoutCore

/// A datagram and its key under `balance: payload`, computed by `golden.py`; the contract between the modes, as
/// ``GoldenVector``.
public struct PayloadVector: Sendable, CustomStringConvertible {
    public let seed: UInt64
    public let source: String
    public let destination: String
    /// The bytes of the key, as ``PayloadKey`` is written.
    public let spec: String
    public let key: UInt32
    /// Hexadecimal.
    public let payload: String

    public var description: String { "\(spec) of \(payload), \(source), seed \(seed)" }
}
