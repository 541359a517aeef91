// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import Glibc
internal import Measure

/// Measures udp-fanout beside the references and prints the tables. Exit: 0, 1 when a figure could
/// not be had or cannot be trusted, 2 on bad usage. A promise that is missed is a result, not a failure.
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

        let bench = Bench(options: options, machine: machine, folder: folder)
        let report = Report(
            cases: try bench.cases(), footprint: try bench.footprint(),
            steering: try steering(options), forwarding: try forwarding(options),
            translation: try translation(options))
        print("CPU ns a datagram, median of \(options.rounds) interleaved rounds")
        print(report.costTable)
        if let footprint = report.footprintTable { print("\n\(footprint)") }
        if let steering = report.steeringTable { print("\n\(steering)") }
        if let forwarding = report.forwardingTable { print("\n\(forwarding)") }
        if let translation = report.translationTable { print("\n\(translation)") }
        guard let path = options.markdown else { return }

        let page = PerformancePage(
            facts: machine.facts(folder: folder), command: command, report: report)
        let old = try? String(contentsOfFile: path, encoding: .utf8)
        try page.text(replacing: old).write(toFile: path, atomically: true, encoding: .utf8)
        complain("wrote \(path)")
    }

    /// Programs can be loaded by root alone; the rest of the run needs no privilege.
    private static func steering(_ options: Options) throws -> Steering? {
        guard geteuid() == 0 else {
            complain("not root: the reuseport program is not measured")
            return nil
        }
        return try SteeringBench(options).run()
    }

    private static func forwarding(_ options: Options) throws -> Forwarding? {
        guard geteuid() == 0 else {
            complain("not root: the program of tc_ebpf is not measured")
            return nil
        }
        return try ForwardingBench(options).run()
    }

    private static func translation(_ options: Options) throws -> Translation? {
        guard geteuid() == 0 else {
            complain("not root: the program of xdp_nat is not measured")
            return nil
        }
        return try NATBench(options).run()
    }

    /// How this run was started, as one would type it at the root of the tree.
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
