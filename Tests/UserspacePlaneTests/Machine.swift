// SPDX-License-Identifier: Apache-2.0

import LinuxNet

/// A datagram as a steering program reads it.
struct Packet {
    let etherType: UInt16
    /// The bytes from the IP header on, in network order.
    let bytes: [UInt8]

    init(etherType: UInt16, bytes: [UInt8]) {
        self.etherType = etherType
        self.bytes = bytes
    }

    /// A header of 20 bytes, all zero except the source.
    init(v4 source: UInt32) {
        let header = [UInt32](repeating: 0x4bad_cafe, count: 3) + [source, 0x4bad_cafe]
        self.init(etherType: 0x0800, bytes: Self.bytes(of: header))
    }

    /// A header of 40 bytes, all zero except the source's four words.
    init(v6 source: [UInt32]) {
        let rest = [UInt32](repeating: 0x6bad_cafe, count: 4)
        self.init(etherType: 0x86dd, bytes: Self.bytes(of: [0x6bad_cafe, 1] + source + rest))
    }

    private static func bytes(of words: [UInt32]) -> [UInt8] {
        words.flatMap { word in withUnsafeBytes(of: word.bigEndian) { Array($0) } }
    }
}

/// An interpreter for the instructions of steering programs, as Documentation/networking/filter.rst describes them.
struct Machine {
    /// An operation that a program must not perform.
    struct Fault: Error { let code: UInt16 }

    private var accumulator: UInt32 = 0
    private var x: UInt32 = 0
    private let packet: Packet
    private let cpu: UInt32

    static func run(_ program: [ClassicInstruction], on packet: Packet, cpu: UInt32 = 0) throws
        -> UInt32
    {
        var machine = Machine(packet, cpu: cpu)
        var next = 0
        while next < program.count {
            let instruction = program[next]
            next += 1
            switch instruction.code {
            case 0x06: return instruction.operand
            case 0x16: return machine.accumulator
            case 0x15:
                let holds = machine.accumulator == instruction.operand
                next += Int(holds ? instruction.skipIfTrue : instruction.skipIfFalse)
            default: try machine.calculate(instruction)
            }
        }
        throw Fault(code: .max)  // ran past the end
    }

    private init(_ packet: Packet, cpu: UInt32) {
        self.packet = packet
        self.cpu = cpu
    }

    private mutating func calculate(_ instruction: ClassicInstruction) throws {
        let operand = instruction.operand
        switch instruction.code {
        case 0x20: accumulator = try load(operand)
        case 0x07: x = accumulator
        case 0x74: accumulator >>= operand
        case 0xac: accumulator ^= x
        case 0x24: accumulator &*= operand
        case 0x94: accumulator %= operand
        default: throw Fault(code: instruction.code)
        }
    }

    /// Offsets of linux/filter.h: SKF_AD_OFF + SKF_AD_PROTOCOL, SKF_AD_OFF + SKF_AD_CPU, and from SKF_NET_OFF on.
    private func load(_ place: UInt32) throws -> UInt32 {
        let place = Int(Int32(bitPattern: place))
        if place == -0x1000 { return UInt32(packet.etherType) }
        if place == -0x1000 + 36 { return cpu }
        let offset = place + 0x100000
        guard offset >= 0, offset + 4 <= packet.bytes.count else { throw Fault(code: 0x20) }
        return packet.bytes[offset..<offset + 4].reduce(0) { $0 << 8 | UInt32($1) }
    }
}
