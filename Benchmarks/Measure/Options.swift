// SPDX-License-Identifier: Apache-2.0

/// The parts that can be measured separately.
public enum Part: String, CaseIterable, Sendable {
    /// The forwarders on loopback: what a datagram costs, memory, start-up.
    case loopback
    /// The kernel programs by themselves.
    case programs
    /// Mode `tc_ebpf` in a lab of veths.
    case veths
    /// Mode `af_xdp` in a lab of veths.
    case afxdp
    /// Mode `xdp_nat` in a lab of veths.
    case nat
}

/// The options of the command line.
public struct Options: Equatable, Sendable {
    /// The udp-fanout to measure; nil measures the references alone.
    public var daemon: String?
    /// Interleaved rounds a case.
    public var rounds = 5
    /// Measured time of a round, in seconds.
    public var seconds = 3.0
    /// Load before the measured time, in seconds.
    public var warmUp = 0.5
    /// Starts whose median is the start-up time.
    public var starts = 5
    /// The one part that is measured; nil for all.
    public var part: Part?
    /// The file that gets the table, such as `docs/performance.md`.
    public var markdown: String?
    /// Whether to print only ``usage``.
    public var help = false

    /// The defaults: a full run of the references.
    public init() {}

    /// How to call the program.
    public static let usage = """
        usage: bench [--daemon PATH] [--rounds N] [--seconds S] [--only PART]
                     [--markdown FILE] [--smoke]

          --daemon PATH    the udp-fanout to measure; without it only the references run
          --rounds N       interleaved rounds a case, 1 or more (5; fewer say little)
          --seconds S      measured time of a round, above 0 (3)
          --only PART      loopback, programs (of the kernel, by themselves), veths (mode tc_ebpf),
                           afxdp or nat
          --markdown FILE  write the table there too, with the machine and this command
          --smoke          one round of 0.3 s: shows that the bench works, measures nothing
        """

    /// Reads the arguments that follow the program's name.
    ///
    /// - Throws: ``UsageError`` that names the argument.
    public init(_ arguments: [String]) throws(UsageError) {
        var rest = arguments[...]
        while let argument = rest.popFirst() {
            switch argument {
            case "--daemon": daemon = try Self.value(of: argument, &rest)
            case "--markdown": markdown = try Self.value(of: argument, &rest)
            case "--only":
                let text = try Self.value(of: argument, &rest)
                guard let part = Part(rawValue: text) else {
                    let parts = Part.allCases.map(\.rawValue).joined(separator: ", ")
                    throw UsageError("--only takes one of \(parts), not \(text)")
                }
                self.part = part
            case "--rounds":
                let text = try Self.value(of: argument, &rest)
                guard let number = Int(text), number >= 1 else {
                    throw UsageError("--rounds takes a whole number from 1, not \(text)")
                }
                rounds = number
            case "--seconds":
                let text = try Self.value(of: argument, &rest)
                guard let number = Double(text), number > 0, number.isFinite else {
                    throw UsageError("--seconds takes a number above 0, not \(text)")
                }
                seconds = number
            case "--smoke":
                rounds = 1
                seconds = 0.3
                warmUp = 0.1
                starts = 1
            case "--help", "-h": help = true
            default: throw UsageError("unknown argument \(argument)")
            }
        }
    }

    /// Whether to measure a part.
    public func wants(_ part: Part) -> Bool { self.part == nil || self.part == part }

    private static func value(
        of argument: String, _ rest: inout ArraySlice<String>
    ) throws(UsageError) -> String {
        guard let value = rest.popFirst() else { throw UsageError("\(argument) takes a value") }
        return value
    }
}

/// An invalid argument.
public struct UsageError: Error, CustomStringConvertible, Equatable {
    /// The argument and what is wrong with it.
    public let description: String

    init(_ description: String) {
        self.description = description
    }
}
