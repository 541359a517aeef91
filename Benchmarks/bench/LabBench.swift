// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import Measure

/// The daemon in mode `tc_ebpf` in a lab of veths, beside bare programs and nftables in labs like it.
struct LabBench {
    private let daemon: String?
    private let folder: URL
    private let rounds: Int
    private let flood: LabFlood
    private let daemonCPU: Int

    init(_ options: Options, machine: Machine, folder: URL) {
        (daemon, self.folder) = (options.daemon, folder)
        let isFull = options.seconds >= 1
        rounds = isFull ? 11 : 1
        flood = LabFlood(
            cpu: machine.senderCPU, warmUp: isFull ? 100 : 10, turns: isFull ? 50 : 2,
            milliseconds: 20)
        daemonCPU = machine.forwarderCPU
    }

    /// - Throws: `Trouble`, also when the daemon does not forward correctly.
    func run() throws -> LabRates {
        var rates = LabRates()
        for place in LabRates.Place.allCases {
            for _ in 0..<rounds {
                for (forwarder, flood) in try round(place) {
                    rates.add(flood, of: forwarder, at: place)
                }
            }
        }
        return rates
    }

    /// All forwarders, each in a new lab, so that the memory layout differs between rounds.
    private func round(_ place: LabRates.Place) throws -> [(LabRates.Forwarder, LabRates.Flood)] {
        var running: [LabForwarding] = []
        defer { running.forEach { $0.stop() } }
        for forwarder in LabRates.Forwarder.allCases where forwarder != .daemon || daemon != nil {
            running.append(
                try LabForwarding(
                    forwarder, to: place, daemon: daemon ?? "", cpu: daemonCPU, folder: folder))
        }
        let before = try running.map {
            (sent: try $0.lab.packetsSent(), accounting: try $0.accounting())
        }
        let floods = try flood.counts(of: running.map(\.lab))
        for ((forwarding, flood), before) in zip(zip(running, floods), before) {
            let doubts = try self.doubts(of: flood, forwarding, before.sent, before.accounting)
            let who = "\(place.rawValue), \(forwarding.forwarder.rawValue)"
            guard doubts.isEmpty else {
                throw Trouble("\(who): \(doubts.joined(separator: "; "))")
            }
            note("\(who): \(Int(flood.interval)) ns, lost \(flood.lost) of \(flood.sentInAll)")
        }
        return Array(zip(running.map(\.forwarder), floods))
    }

    private func doubts(
        of flood: LabRates.Flood, _ forwarding: LabForwarding, _ sent: Int,
        _ accounting: Accounting?
    ) throws -> [String] {
        var doubts = flood.doubts
        if forwarding.forwarder != .nftables {
            doubts += forwarding.lab.place.doubts(
                of: flood, sent: try forwarding.lab.packetsSent() - sent)
        }
        if let accounting, let now = try forwarding.accounting() {
            doubts += (now - accounting).doubts(against: flood.sample)
        }
        return doubts
    }

    private func note(_ line: String) {
        FileHandle.standardError.write(Data("\(line)\n".utf8))
    }
}
