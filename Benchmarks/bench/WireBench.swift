// SPDX-License-Identifier: Apache-2.0

internal import CVethLab
internal import Foundation
internal import Glibc
internal import Measure

/// The daemon in modes `af_xdp` and `userspace`, and references that receive by AF_XDP.
struct WireBench {
    private let daemon: String?
    private let folder: URL
    private let rounds: Int
    private let turns: lab_cases
    private let daemonCPU: Int
    /// How long the idle daemon is measured, in ms.
    private let idle: Int

    init(_ options: Options, machine: Machine, folder: URL) {
        (daemon, self.folder) = (options.daemon, folder)
        let isFull = options.seconds >= 1
        rounds = isFull ? 7 : 1
        idle = isFull ? 3000 : 200
        turns = lab_cases(
            cpu: Int32(machine.senderCPU), warm_up: 10, turns: isFull ? 40 : 2, milliseconds: 50)
        daemonCPU = machine.forwarderCPU
    }

    /// - Throws: `Trouble`, also when the daemon does not forward correctly.
    func run() throws -> WireRates {
        var rates = WireRates()
        var forwarders: [WireRates.Forwarder] = daemon == nil ? [.ring, .mmsg] : []
        if daemon != nil {
            forwarders = WireRates.Forwarder.allCases
            rates.idlePercent = try idlePercent()
        }
        for _ in 0..<rounds { try round(of: forwarders, &rates) }
        return rates
    }

    /// All forwarders, each in a new lab, so that the memory layout differs between rounds.
    private func round(of forwarders: [WireRates.Forwarder], _ rates: inout WireRates) throws {
        var running: [WireForwarding] = []
        defer { running.forEach { $0.stop() } }
        for forwarder in forwarders {
            running.append(try start(forwarder))
        }
        let before = try running.map { try $0.accounting() }
        let floods = try self.floods(of: running)
        for ((forwarding, flood), before) in zip(zip(running, floods), before) {
            var doubts = flood.doubts
            if let before, let now = try forwarding.accounting() {
                doubts += (now - before).doubts(against: flood.sample)
            }
            let who = forwarding.forwarder.rawValue
            guard doubts.isEmpty else { throw Trouble("\(who): \(doubts.joined(separator: "; "))") }
            note(
                "\(who): \(Int(flood.rate / 1000)) thousand a second, \(Int(flood.cost)) ns; "
                    + "\(flood.arrivedInAll) of \(flood.sentInAll)")
            rates.add(flood, of: forwarding.forwarder)
            if forwarding.forwarder == .afxdp {
                let resident = Double(try forwarding.child.residentKibibytes()) / 1024
                rates.residentMebibytes = max(rates.residentMebibytes ?? 0, resident)
            }
        }
    }

    private func start(_ forwarder: WireRates.Forwarder) throws -> WireForwarding {
        try WireForwarding(forwarder, daemon: daemon ?? "", cpu: daemonCPU, folder: folder)
    }

    private func floods(of running: [WireForwarding]) throws -> [WireRates.Flood] {
        let wires = running.map { $0.lab.wire(forwarder: $0.child.pid) }
        var counts = [lab_rate](repeating: lab_rate(), count: wires.count)
        let result = withUnsafePointer(to: turns) {
            lab_wire_flood(wires, Int32(wires.count), $0, &counts)
        }
        guard result == 0 else {
            throw Trouble("flood the labs with frames: \(String(cString: strerror(-result)))")
        }
        return counts.map {
            WireRates.Flood(
                nanoseconds: Int($0.nanoseconds), arrived: Int($0.arrived),
                cpuNanoseconds: Int($0.cpu_ns), sentInAll: Int($0.sent_in_all),
                arrivedInAll: Int($0.arrived_in_all))
        }
    }

    /// The CPU use of the idle daemon.
    private func idlePercent() throws -> Double {
        let forwarding = try start(.afxdp)
        defer { forwarding.stop() }
        let before = lab_cpu_ns(forwarding.child.pid)
        usleep(UInt32(idle) * 1000)
        return Double(lab_cpu_ns(forwarding.child.pid) - before) / Double(idle) / 1e4
    }

    private func note(_ line: String) {
        FileHandle.standardError.write(Data("\(line)\n".utf8))
    }
}
