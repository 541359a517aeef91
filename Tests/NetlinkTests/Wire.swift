// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import Foundation
import LabNet
import KernelForwarding
import Testing
import Tiers

/// Reads networks that the tests make, and compares with the output of iproute2.
@Suite(
    "Netlink", .tags(.network),
    .enabled(if: Privilege.isRoot, "NOT TESTED: network namespaces need root"))
struct NetlinkTests {}

/// A private network with a veth to another one: `near` here, `far` there.
enum Wire {
    /// Addresses for both ends, without duplicate address detection.
    static let addressed = [
        "addr add 10.0.0.1/24 dev near", "addr add fd00::1/64 dev near nodad",
        "link set near up",
    ]

    /// Runs `body` in the near network, after `commands`, arguments of ip(8), there.
    ///
    /// - Parameter far: arguments of ip(8) for the other one.
    static func run(
        _ commands: [String] = [], far: [String] = ["link set far up"],
        _ body: @Sendable (_ far: LabThread) async throws -> Void
    ) async throws {
        let other = try await Namespace.thread(["link set lo up"])
        defer { other.end() }
        let number = try await other.run { Namespace.threadNumber }
        let wire = ["link set lo up", "link add near type veth peer name far netns \(number)"]
        try await Namespace.run(wire) {
            try await other.run { for command in far { try Namespace.ip(command) } }
            for command in commands { try Namespace.ip(command) }
            try await body(other)
        }
    }
}

/// The output of iproute2 in the calling thread's namespace.
func ip<Answer: Decodable>(_ type: Answer.Type, _ arguments: String) async throws -> [Answer] {
    let words = ["-j", "-d"] + arguments.split(separator: " ").map(String.init)
    let process = try ChildProcess("ip", words)
    guard try await process.exit() == .exited(0) else {
        throw IPRefused(arguments: arguments, errors: process.record.state.errors)
    }
    let text = process.record.state.output.joined(separator: "\n")
    return try JSONDecoder().decode([Answer].self, from: Data(text.utf8))
}

struct IPRefused: Error {
    let arguments: String
    let errors: [String]
}

/// Parses an address of a test.
func host(_ text: String) throws -> IPAddress { try #require(IPAddress(text)) }

/// The error that `body` throws.
func refusal(_ body: () throws -> Void) -> NetlinkError? {
    do {
        try body()
        return nil
    } catch {
        return error as? NetlinkError
    }
}
