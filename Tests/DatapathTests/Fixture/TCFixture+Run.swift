// SPDX-License-Identifier: Apache-2.0

import BPFRuntime
import CDatapath
import FanoutCore
import LabNet

/// What a program at the TC hook decides (include/uapi/linux/pkt_cls.h).
enum TCVerdict: UInt32 {
    /// TC_ACT_UNSPEC, -1: continue with the next program at the hook, then the stack.
    case passed = 0xffff_ffff
    case dropped = 2
    case redirected = 7
}

extension TCFixture {
    /// The result for a packet.
    struct Outcome: Equatable, CustomStringConvertible {
        let verdict: TCVerdict?
        let output: [UInt8]

        var description: String {
            let digits = output.map { byte in
                let text = String(byte, radix: 16)
                return text.count == 1 ? "0" + text : text
            }
            return "\(verdict.map { "\($0)" } ?? "an unknown verdict") \(digits.joined())"
        }
    }

    /// Whether a test run can mark a packet's checksum as verified by the NIC (CHECKSUM_COMPLETE); otherwise packets
    /// run without that mark.
    static let checksSums = KernelRelease.running >= KernelRelease(6, 11)

    func run(
        _ frame: [UInt8], on interface: UInt32 = TCFixture.interface, segmentBytes: UInt32 = 0,
        segments: UInt32 = 0, isSummed: Bool = false
    ) throws -> Outcome {
        let run = try program.testRun(
            data: frame,
            buffer: SocketBuffer(
                ingressInterface: interface, segmentBytes: segmentBytes, segments: segments,
                isSummed: isSummed && Self.checksSums))
        return Outcome(verdict: TCVerdict(rawValue: run.verdict), output: run.output)
    }

    func run(_ datagram: Datagram, isSummed: Bool = false) throws -> Outcome {
        try run(datagram.frame, isSummed: isSummed)
    }

    /// The addresses that the clients use.
    static let service4 = "192.0.2.1:514"
    static let service6 = "[2001:db8::1]:514"

    /// Two round-robin listeners, one a family, with three receivers each: rows 0...2 and 3...5.
    static func withBothFamilies(
        _ balance: Balance = .roundRobin, path: lb_path = LB_PATH_NEIGH,
        maxPacketSize: UInt32 = 9000
    ) throws -> TCFixture {
        let fixture = try TCFixture()
        for (number, family) in [IPAddress.Family.v4, .v6].enumerated() {
            try fixture.serve(
                Endpoint(parsing: number == 0 ? service4 : service6), listener: UInt32(number))
            try fixture.fill(
                listener: UInt32(number), balance, Receiver.three(family, path: path),
                maxPacketSize: maxPacketSize, firstRow: UInt32(3 * number))
        }
        return fixture
    }
}
