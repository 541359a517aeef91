// SPDX-License-Identifier: Apache-2.0

internal import CVethLab
internal import Foundation
internal import Glibc
internal import Measure

/// The daemon in mode `xdp_nat` in labs of veths, beside a bare program and nftables in labs like them.
struct TranslationBench {
    private let daemon: String?
    private let folder: URL
    private let rounds: Int
    private let turns: lab_cases
    private let daemonCPU: Int

    /// The scenes that are measured together. Those with many clients displace each other's caches.
    private static let together: [[NATRates.Scene]] = [[.oneArm], [.routed], [.few, .crowd, .all]]

    init(_ options: Options, machine: Machine, folder: URL) {
        (daemon, self.folder) = (options.daemon, folder)
        let isFull = options.seconds >= 1
        rounds = isFull ? 5 : 1
        turns = lab_cases(
            cpu: Int32(machine.senderCPU), warm_up: 10, turns: isFull ? 20 : 2, milliseconds: 50)
        daemonCPU = machine.forwarderCPU
    }

    /// - Throws: `Trouble`, also when the daemon does not forward correctly.
    func run() throws -> NATRates {
        var rates = NATRates()
        for _ in 0..<rounds {
            for scenes in Self.together { try round(of: scenes, &rates) }
        }
        return rates
    }

    /// All forwarders, each in a new lab, so that the memory layout differs between rounds.
    private func round(
        of scenes: [NATRates.Scene], _ rates: inout NATRates
    ) throws {
        var running: [Translating] = []
        defer { running.forEach { $0.stop() } }
        for scene in scenes {
            for forwarder in scene.forwarders where forwarder != .daemon || daemon != nil {
                running.append(
                    try Translating(
                        forwarder, in: scene, daemon: daemon ?? "", cpu: daemonCPU,
                        folder: folder))
            }
        }
        guard !running.isEmpty else { return }
        let before = try running.map { try $0.accounting() }
        let floods = try self.floods(of: running)
        for ((translating, flood), before) in zip(zip(running, floods), before) {
            var doubts = flood.doubts
            if let before, let now = try translating.accounting() {
                doubts += (now - before).doubts(against: flood.sample)
            }
            let who = "\(translating.scene.rawValue), \(translating.forwarder.rawValue)"
            guard doubts.isEmpty else { throw Trouble("\(who): \(doubts.joined(separator: "; "))") }
            note(
                "\(who): \(Int(1e9 / flood.rate)) ns; "
                    + "\(flood.arrivedInAll) of \(flood.sentInAll)")
            rates.add(flood, of: translating.forwarder, in: translating.scene)
        }
    }

    private func floods(of running: [Translating]) throws -> [WireRates.Flood] {
        let wires = running.map(\.wire)
        var counts = [lab_rate](repeating: lab_rate(), count: wires.count)
        let result = withUnsafePointer(to: turns) {
            lab_wire_flood(wires, Int32(wires.count), $0, &counts)
        }
        guard result == 0 else {
            throw Trouble("flood the labs with frames: \(String(cString: strerror(-result)))")
        }
        return counts.map {
            WireRates.Flood(
                nanoseconds: Int($0.nanoseconds), arrived: Int($0.arrived), cpuNanoseconds: 0,
                sentInAll: Int($0.sent_in_all), arrivedInAll: Int($0.arrived_in_all))
        }
    }

    private func note(_ line: String) {
        FileHandle.standardError.write(Data("\(line)\n".utf8))
    }
}
