// SPDX-License-Identifier: Apache-2.0

public import FanoutCore
public import LinuxNet

/// Steering by a classic BPF program, which needs neither privileges nor libbpf.
///
/// The program's result is an index into the kernel's array of the group, so it selects an index, not a socket. That
/// is enough, since workers are interchangeable: docs/decisions/0007-steering-workers.md describes what happens while
/// sockets are added and removed.
public struct ClassicSteering: WorkerSteering {
    public var name: String { "cbpf" }

    public init() {}

    public func steer(
        _ sockets: [Int32], of listener: Listener
    ) throws(SystemError) -> (any SteeringHold)? {
        try ReuseportGroup(member: sockets[0])
            .attach(
                listener.settings.steer == .cpu
                    ? SteeringProgram.cpu(workers: sockets.count)
                    : SteeringProgram.sourceIP(workers: sockets.count))
        return nil
    }
}

/// The classic BPF programs that return the index of a worker.
enum SteeringProgram {
    /// The CPU that runs the program, modulo the workers.
    ///
    /// - Parameter workers: 1...256.
    static func cpu(workers: Int) -> [ClassicInstruction] {
        [.loadCPU, .modulo(UInt32(workers)), .returnAccumulator]
    }
}

/// Each source address has one index.
///
/// The words of the address are mixed one after the other into a hash of 32 bits, not added up. The index is
/// `hash % workers`. An IPv4 client has the same index on a dual-stack socket, since the program reads the datagram
/// and not the socket.
extension SteeringProgram {
    /// EtherTypes (IEEE 802).
    private static let ipv4: UInt32 = 0x0800
    private static let ipv6: UInt32 = 0x86dd
    /// The offset of the source address, bytes: RFC 791, section 3.1; RFC 8200, section 3.
    private static let sourceOfIPv4: UInt32 = 12
    private static let sourceOfIPv6: UInt32 = 8

    /// - Parameter workers: 1...256.
    /// - Returns: instructions whose result is 0..<workers; for packets other than IP it is an index outside of every
    ///   group, so that the kernel chooses.
    static func sourceIP(workers: Int) -> [ClassicInstruction] {
        let place: [ClassicInstruction] = [.modulo(UInt32(workers)), .returnAccumulator]
        let v4 = hash([sourceOfIPv4]) + place
        let v6 = hash((0..<4).map { sourceOfIPv6 + 4 * $0 }) + place
        return [.loadEtherType, .unless(ipv6, skip: UInt8(v6.count))] + v6
            + [.unless(ipv4, skip: UInt8(v4.count))] + v4 + [.returnConstant(.max)]
    }

    /// Leaves the hash of the words at these offsets of the IP header in the accumulator: each word is XORed to the
    /// hash of the previous ones, and mixed.
    private static func hash(_ offsets: [UInt32]) -> [ClassicInstruction] {
        offsets.enumerated().flatMap { index, offset -> [ClassicInstruction] in
            let word = ClassicInstruction.loadNetworkWord(at: offset)
            return (index == 0 ? [word] : [.copyToX, word, .exclusiveOrX]) + mix
        }
    }

    /// A bijection on 32 bits in which every input bit reaches every output bit: the finaliser of
    /// MurmurHash3 with 32 bits (Austin Appleby, public domain).
    private static let mix: [ClassicInstruction] =
        fold(16) + [.multiply(by: 0x85eb_ca6b)] + fold(13) + [.multiply(by: 0xc2b2_ae35)] + fold(16)

    /// `A ^= A >> bits`.
    private static func fold(_ bits: UInt32) -> [ClassicInstruction] {
        [.copyToX, .shiftRight(by: bits), .exclusiveOrX]
    }
}
