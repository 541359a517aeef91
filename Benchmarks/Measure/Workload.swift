// SPDX-License-Identifier: Apache-2.0

/// One kind of input, the same for every forwarder.
public struct Workload: Hashable, Sendable {
    /// How the datagrams come in.
    public enum Input: String, Sendable {
        /// One at a time.
        case plain
        /// Many in one message, which the kernel can split (UDP_SEGMENT, UDP_GRO).
        case superPacket = "super-packet"
    }

    /// How the datagrams come in.
    public let input: Input
    /// Bytes of a datagram.
    public let payload: Int
    /// The number of sinks.
    public let receivers: Int

    /// - Parameters:
    ///   - payload: bytes of a datagram, 1 to 65507.
    ///   - receivers: 1 to 64.
    public init(input: Input, payload: Int, receivers: Int = 3) {
        self.input = input
        self.payload = payload
        self.receivers = receivers
    }

    /// Small and full-sized datagrams for both inputs; and small ones to more receivers, where each gets a smaller part
    /// of a batch.
    public static let all = [
        Workload(input: .plain, payload: 64), Workload(input: .plain, payload: 1400),
        Workload(input: .plain, payload: 64, receivers: 16),
        Workload(input: .plain, payload: 64, receivers: 64),
        Workload(input: .superPacket, payload: 64), Workload(input: .superPacket, payload: 1400),
    ]

    /// Datagrams a message: as many as a super-packet holds, 64 at most.
    public var segments: Int {
        switch input {
        case .plain: 1
        case .superPacket: min(64, 65507 / payload)
        }
    }

    /// The baseline by which the cost of a datagram is divided.
    public func baseline(mmsg: Double, gso: Double) -> Double {
        switch input {
        case .plain: min(mmsg, gso)
        // A forwarder that splits super-packets on receive is no baseline for these.
        case .superPacket: gso
        }
    }

    /// The greatest ratio to ``baseline(mmsg:gso:)`` that the project promises.
    public var promisedRatio: Double {
        switch input {
        case .plain: 1.10
        case .superPacket: 1.20
        }
    }
}
