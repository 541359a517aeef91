// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import Foundation
import Glibc
import LabNet
import Testing
import Tiers

/// The built executable, tested from outside. The tests run one at a time, because they measure rates.
@Suite("The publisher", .tags(.network), .serialized)
enum PublisherTests {}

/// A run of the publisher to its end, as its user sees it.
struct PublisherRun: Sendable {
    let code: Int32
    let output: [String]
    let errors: [String]

    /// The report of `--json`.
    struct Report: Decodable, Equatable {
        let destination: String
        let attempted: UInt64
        let sent: UInt64
        let failed: UInt64
        let errors: [String: UInt64]
        let bytes: UInt64
        let sources: Int
        let workers: Int
        let seconds: Double
        let rate: Double
        let ended: String
    }

    static let program = Files.product("publisher")

    static func start(_ words: String, to endpoint: Endpoint? = nil) throws -> ChildProcess {
        let target = endpoint.map { ["\($0.address)", "\($0.port)"] } ?? []
        return try ChildProcess(program, target + words.split(separator: " ").map(String.init))
    }

    /// - Parameters:
    ///   - words: arguments, separated by spaces.
    ///   - endpoint: IP and PORT before them.
    init(_ words: String, to endpoint: Endpoint? = nil) async throws {
        try await self.init(ending: try Self.start(words, to: endpoint))
    }

    /// Waits for the end of `process`.
    init(ending process: ChildProcess) async throws {
        guard case .exited(let code) = try await process.exit() else {
            throw Failed("a signal ended the publisher", EPROTO)
        }
        self.code = code
        (output, errors) = (process.record.state.output, process.record.state.errors)
    }

    /// The report of `--json`, which must be the only output.
    var report: Report {
        get throws {
            #expect(code == 0 && output.count == 1, "\(output) \(errors)")
            return try JSONDecoder().decode(Report.self, from: Data(output.joined().utf8))
        }
    }
}

extension Sink {
    /// The number in each datagram, by source, in order of arrival.
    ///
    /// - Throws: when a datagram carries no number of the publisher.
    func numbers() throws -> [IPAddress: [UInt64]] {
        var numbers: [IPAddress: [UInt64]] = [:]
        for datagram in datagrams {
            let text = String(decoding: datagram.payload, as: UTF8.self)
            let match = try #require(text.wholeMatch(of: /Hello World (\d+)! */), "\(text)")
            let number = try #require(UInt64(match.output.1))
            numbers[datagram.source.address, default: []].append(number)
        }
        return numbers
    }
}
