// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import Measure

/// The rounds of a run.
struct Bench {
    let options: Options
    let machine: Machine
    /// Configurations and output of children; removed at the end.
    let folder: URL
    /// The folder of the reference programs: that of this program.
    private let programs = URL(filePath: CommandLine.arguments[0])
        .resolvingSymlinksInPath().deletingLastPathComponent()

    private var forwarders: [Forwarder] {
        Forwarder.allCases.filter { $0 != .daemon || options.daemon != nil }
    }

    /// All rounds of all workloads, interleaved: a round runs every forwarder, and the order changes with the round.
    func cases() throws -> [CaseResult] {
        try Workload.all.map { workload in
            var result = CaseResult(workload: workload)
            for round in 0..<options.rounds {
                let first = round % forwarders.count
                for forwarder in forwarders[first...] + forwarders[..<first] {
                    let sample = try self.sample(of: forwarder, under: workload)
                    result.add(sample, of: forwarder)
                    note(
                        "\(workload.input.rawValue) \(workload.payload) B to \(workload.receivers), round "
                            + "\(round + 1): "
                            + "\(forwarder.rawValue) \(Int(sample.cost)) ns")
                }
            }
            return result
        }
    }

    /// The daemon's memory at its defaults, and its start-up time; nil without a daemon.
    func footprint() throws -> Footprint? {
        guard let daemon = options.daemon else { return nil }
        let starts = try (0..<options.starts).map { _ in try startMilliseconds(of: daemon) }
        guard let spread = Spread(starts) else { return nil }
        let resident = try residentMebibytes(of: daemon)
        note("resident \(Int(resident)) MiB, first datagram after \(Int(spread.median)) ms")
        return Footprint(residentMebibytes: resident, startMilliseconds: spread)
    }

    /// One forwarder, freshly started, under one load.
    private func sample(of forwarder: Forwarder, under workload: Workload) throws -> Sample {
        let ports = try Loopback.freePorts(2 + workload.receivers)
        let (port, metricsPort, sinks) = (ports[0], ports[1], Array(ports[2...]))
        let command =
            switch forwarder {
            case .mmsg: reference("mmsg", port, sinks)
            case .gso: reference("gso", port, sinks)
            case .daemon:
                try DaemonConfig(
                    port: port, sinks: sinks, metricsPort: metricsPort, likeTheReferences: true
                ).command(options.daemon ?? "", folder: folder)
            }
        let child = try Child(command, cpu: machine.forwarderCPU, folder: folder)
        defer { child.end() }
        let sample = try load(child, port: port, sinks: sinks, workload)
        var doubts = sample.doubts
        if forwarder == .daemon {
            let scrape = try Loopback.get("/metrics", port: metricsPort)
            let accounting = try Accounting(scrape: scrape, listener: DaemonConfig.listener)
            doubts += accounting.doubts(against: sample)
            note(
                "accounting: received \(accounting.received) = forwarded \(accounting.forwarded) + dropped "
                    + "\(accounting.dropped); dropped by the kernel \(accounting.kernelDrops)")
        }
        guard doubts.isEmpty else {
            throw Trouble("\(forwarder.rawValue): \(doubts.joined(separator: "; "))")
        }
        return sample
    }

    private func load(
        _ child: Child, port: Int, sinks: [Int], _ workload: Workload
    ) throws -> Sample {
        try child.waitUntilBound(to: port)
        let loadgen = try Child(
            [
                programs.appending(path: "loadgen").path, "-t", "\(port)",
                "-s", sinks.map(String.init).joined(separator: ","), "-p", "\(child.pid)",
                "-d", "\(options.seconds)", "-w", "\(options.warmUp)",
                "-z", "\(workload.payload)", "-g", "\(workload.segments)",
            ],
            cpu: machine.senderCPU, folder: folder)
        let line = try loadgen.result(within: options.seconds + options.warmUp + 10)
        return try JSONDecoder().decode(Sample.self, from: line)
    }

    private func reference(_ kind: String, _ port: Int, _ sinks: [Int]) -> [String] {
        [programs.appending(path: "reference").path, kind, "\(port)"] + sinks.map(String.init)
    }

    private func startMilliseconds(of daemon: String) throws -> Double {
        struct First: Decodable {
            let milliseconds: Double
            enum CodingKeys: String, CodingKey { case milliseconds = "first_datagram_ms" }
        }
        let ports = try Loopback.freePorts(2)
        let command = try DaemonConfig(port: ports[0], sinks: [ports[1]])
            .command(daemon, folder: folder)
        let child = try Child(
            [
                programs.appending(path: "firstpacket").path, "\(ports[0])", "\(ports[1])",
            ] + command,
            cpu: nil, folder: folder)
        return try JSONDecoder().decode(First.self, from: child.result(within: 20)).milliseconds
    }

    /// After full-sized super-packets, which touch the most memory.
    private func residentMebibytes(of daemon: String) throws -> Double {
        let ports = try Loopback.freePorts(4)
        let sinks = Array(ports[1...])
        let command = try DaemonConfig(port: ports[0], sinks: sinks)
            .command(daemon, folder: folder)
        let child = try Child(command, cpu: nil, folder: folder)
        defer { child.end() }
        for workload in Workload.all where workload.payload > 64 {
            let sample = try load(child, port: ports[0], sinks: sinks, workload)
            guard sample.arrived > 0 else { throw Trouble("udp-fanout delivered nothing") }
        }
        return Double(try child.residentKibibytes()) / 1024
    }

    private func note(_ line: String) {
        FileHandle.standardError.write(Data("\(line)\n".utf8))
    }
}
