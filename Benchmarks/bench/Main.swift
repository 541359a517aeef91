// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import Glibc
internal import Measure

/// Measures udp-fanout and the references and prints the tables. Exit: 0, 1 when a figure could not be measured or is
/// not valid, 2 on bad usage. A missed promise is a result, not a failure.
@main
enum Main {
    static func main() {
        do {
            let options = try Options(Array(CommandLine.arguments.dropFirst()))
            if options.help {
                print(Options.usage)
            } else {
                try run(options)
            }
        } catch let error as UsageError {
            complain("\(error)\n\(Options.usage)")
            exit(2)
        } catch {
            Children.yieldToSignals()
            complain("\(error)")
            exit(1)
        }
    }

    private static func run(_ options: Options) throws {
        let machine = try Machine()
        if machine.cpus.count < 2 {
            complain(
                "only one CPU may be used here: the sender shares it with the forwarder, so the "
                    + "figures below are not comparable with those of another machine")
        }
        if options.daemon == nil {
            complain("no --daemon: only the references are measured")
        }
        let folder = FileManager.default.temporaryDirectory
            .appending(path: "bench-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let cleanUp: @Sendable () -> Void = { try? FileManager.default.removeItem(at: folder) }
        let signals = Children.endOnSignals(cleanUp: cleanUp)
        defer {
            withExtendedLifetime(signals) {}
            Children.endAll()
            cleanUp()
        }

        let report = try measure(options, machine, folder)
        if !report.cases.isEmpty {
            print("CPU ns a datagram, median of \(options.rounds) interleaved rounds")
        }
        print(report.tables.joined(separator: "\n\n"))
        guard let path = options.markdown else { return }

        let page = PerformancePage(
            facts: machine.facts(folder: folder), command: command, report: report)
        let old = try? String(contentsOfFile: path, encoding: .utf8)
        try page.text(replacing: old).write(toFile: path, atomically: true, encoding: .utf8)
        complain("wrote \(path)")
    }

    private static func measure(
        _ options: Options, _ machine: Machine, _ folder: URL
    ) throws -> Report {
        let bench = Bench(options: options, machine: machine, folder: folder)
        let isLoopback = options.wants(.loopback)
        return Report(
            cases: isLoopback ? try bench.cases() : [],
            footprint: isLoopback ? try bench.footprint() : nil,
            steering: try ifRoot(options, .programs, "the reuseport program") {
                try SteeringBench(options).run()
            },
            forwarding: try ifRoot(options, .programs, "the program of tc_ebpf") {
                try ForwardingBench(options).run()
            },
            lab: try ifRoot(options, .veths, "tc_ebpf over veths") {
                try LabBench(options, machine: machine, folder: folder).run()
            },
            translation: try ifRoot(options, .programs, "the program of xdp_nat") {
                try NATBench(options).run()
            },
            wire: try ifRoot(options, .afxdp, "af_xdp over veths") {
                try WireBench(options, machine: machine, folder: folder).run()
            },
            nat: try ifRoot(options, .nat, "xdp_nat over veths") {
                try TranslationBench(options, machine: machine, folder: folder).run()
            })
    }

    /// Only root can load programs and create networks; the rest of the run needs no privilege.
    private static func ifRoot<Figures>(
        _ options: Options, _ part: Part, _ what: String, _ body: () throws -> Figures
    ) throws -> Figures? {
        guard options.wants(part) else { return nil }
        guard geteuid() == 0 else {
            complain("not root: \(what) is not measured")
            return nil
        }
        return try body()
    }

    /// The command of this run, at the root of the tree.
    private static var command: String {
        let arguments = CommandLine.arguments.dropFirst()
        let daemon = arguments.firstIndex(of: "--daemon").map { [$0, $0 + 1] } ?? []
        let rest = arguments.indices.filter { !daemon.contains($0) }.map { arguments[$0] }
        return rest.isEmpty ? "make bench" : "make bench ARGS='\(rest.joined(separator: " "))'"
    }

    private static func complain(_ text: String) {
        FileHandle.standardError.write(Data("bench: \(text)\n".utf8))
    }
}
