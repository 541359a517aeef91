// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import FanoutCore
internal import FanoutMetrics
internal import LinuxNet
internal import Logging
internal import ReusePortLB
internal import UnixSignals

struct MetricsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "metrics",
        abstract: "Report groups to Prometheus: once, to scrapers, or in a file for node_exporter.",
        discussion: """
            For each group: slots, members by state, packets by slot, packets left to the kernel, flows \
            missed, and drops, queue and buffer of each member's socket. A group that cannot be read has \
            reuseportlb_readable 0. Sockets of another network namespace are not seen: run it where the \
            collectors run.
            """)

    @Argument(help: "Groups to report. Default: all below the pin root.")
    var names: [String] = []

    @Option(
        help: ArgumentHelp(
            "Serve them at this address under /metrics until a signal.", valueName: "address:port"),
        transform: { text in
            guard let endpoint = try? Endpoint(parsing: text) else {
                throw ValidationError("'\(text)' is not address:port")
            }
            return endpoint
        })
    var listen: Endpoint?

    @Option(
        help: ArgumentHelp(
            "Replace this file with them, such as a .prom file of node_exporter.", valueName: "path"
        ))
    var textfile: String?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "With --textfile: again at this interval, until a signal.", valueName: "seconds"))
    var interval: Double?

    @OptionGroup var root: PinRootFlag

    func validate() throws {
        for name in names { try checkName(name) }
        guard listen == nil || textfile == nil else {
            throw ValidationError("--listen and --textfile exclude each other")
        }
        guard interval == nil || textfile != nil else {
            throw ValidationError("--interval goes with --textfile")
        }
        guard interval.map({ (1...86_400).contains($0) }) ?? true else {
            throw ValidationError("--interval takes seconds, 1 to 86400")
        }
    }

    func run() async throws {
        let page = GroupPage(names: names, pinRoot: root.pinRoot)
        if let listen {
            try await serve(page, at: listen)
        } else if let textfile {
            try await write(page, to: textfile)
        } else {
            guard StandardStream.output.write(try page.text()) else { throw ExitCode(1) }
        }
    }

    private func serve(_ page: GroupPage, at endpoint: Endpoint) async throws {
        let signals = await UnixSignalsSequence(trapping: .sigint, .sigterm)
        let server: MetricsServer
        do {
            server = try await MetricsServer.start(
                bind: endpoint, path: "/metrics",
                logger: Logger(label: "collector") { _ in SwiftLogNoOpLogHandler() }
            ) { (try? page.text(isStrict: false)) ?? "" }
        } catch {
            StandardStream.error.write("collector: \(error)\n")
            throw ExitCode(1)
        }
        StandardStream.error.write(
            "collector: metrics at http://\(server.boundEndpoint)/metrics; Ctrl+C ends it\n")
        for await _ in signals { break }
        await server.stop()
    }

    private func write(_ page: GroupPage, to path: String) async throws {
        let signals = await UnixSignalsSequence(trapping: .sigint, .sigterm)
        try replace(path, with: try page.text())
        guard let interval else { return }
        let writing = Task {
            // A later failure may pass: the disk is full, the group is being rebuilt.
            while (try? await Task.sleep(for: .seconds(interval))) != nil {
                do {
                    try replace(path, with: try page.text(isStrict: false))
                } catch {
                    StandardStream.error.write("collector: \(error)\n")
                }
            }
        }
        for await _ in signals { break }
        writing.cancel()
    }

    /// Writes a file beside it and renames that, so that no reader sees half of it.
    private func replace(_ path: String, with text: String) throws {
        do {
            // Its reader is another user.
            try SmallFile.replace(path, with: Array(text.utf8), permissions: 0o644)
        } catch {
            StandardStream.error.write("collector: \(error)\n")
            throw ExitCode(1)
        }
    }
}

/// The metrics of groups as a page of Prometheus text.
struct GroupPage: Sendable {
    let names: [String]
    let pinRoot: String

    /// - Parameter isStrict: whether a named group that does not exist is an error.
    /// - Throws: also when the pin root cannot be listed.
    func text(isStrict: Bool = true) throws(ReusePortError) -> String {
        var names = names
        if names.isEmpty { names = try ReusePortGroup.pinned(below: pinRoot).map(\.name) }
        var samples: [ReusePortGroup.Sample] = []
        for name in names {
            var isReadable = true
            do throws(ReusePortError) {
                var options = GroupOptions(pinRoot: pinRoot)
                options.existingOnly = true
                samples += try ReusePortGroup(name, options).samples()
            } catch {
                if isStrict, !self.names.isEmpty, error.code == .notFound { throw error }
                isReadable = false
            }
            samples.append(
                ReusePortGroup.Sample(
                    name: "reuseportlb_readable", help: "Whether the group can be read.",
                    isCounter: false, labels: [ReusePortGroup.Label("group", name)],
                    value: isReadable ? 1 : 0))
        }
        return Self.text(samples)
    }

    /// The samples of each metric in one block under its HELP and TYPE.
    private static func text(_ samples: [ReusePortGroup.Sample]) -> String {
        var order: [String] = []
        var blocks: [String: String] = [:]
        for sample in samples {
            if blocks[sample.name] == nil {
                order.append(sample.name)
                blocks[sample.name] =
                    "# HELP \(sample.name) \(sample.help)\n# TYPE \(sample.name) "
                    + (sample.isCounter ? "counter\n" : "gauge\n")
            }
            let labels = sample.labels.map { label in
                var value: [UInt8] = []
                LabelText.append(label.value, to: &value)
                return "\(label.name)=\"\(String(decoding: value, as: UTF8.self))\""
            }
            blocks[sample.name]? +=
                "\(sample.name){\(labels.joined(separator: ","))} \(sample.value)\n"
        }
        return order.compactMap { blocks[$0] }.joined()
    }
}
