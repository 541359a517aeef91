// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import FanoutConfig
internal import FanoutControl
internal import LinuxNet

struct DoctorCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract:
            "Check that the host supports the configuration, and report what to fix.",
        discussion: """
            It checks the kernel, capabilities, the BPF file system, limits, interfaces, neighbours and \
            files of receivers. It changes nothing, but binds the listeners' addresses for a moment to see \
            whether they are free. Run it as the daemon's user, whose rights it checks. Exits 1 if the \
            daemon would not start, or a part of the configuration would not work.
            """)

    @OptionGroup var file: ConfigOption

    @Flag(help: "Print one line of JSON.")
    var json = false

    func run() throws {
        let report = DoctorReport(try findings())
        let text =
            json
            ? String(decoding: ControlLine.encode(report), as: UTF8.self)
            : Self.text(report, .ofOutput)
        guard StandardStream.output.write(text) else { throw ExitCode(1) }
        if !report.ok { throw ExitCode(1) }
    }

    private func findings() throws -> [Finding] {
        let config = try file.path()
        let report = ConfigurationReport(path: config)
        guard let configuration = report.configuration else {
            return report.errors.map {
                .problem("configuration", "\($0)", do: "run udp-fanout check --config \(config)")
            }
        }
        return Doctor(host: .current(for: configuration), configuration: configuration).findings
    }

    static func text(_ report: DoctorReport, _ paint: Paint) -> String {
        let lines = report.findings.flatMap { finding in
            let level = finding.level.rawValue
            let padded = level + String(repeating: " ", count: 8 - level.count)
            let mark =
                switch finding.level {
                case .ok: paint.good(padded)
                case .advice: paint.warn(padded)
                case .problem: paint.bad(padded)
                }
            let line = "\(mark) \(finding.check): \(finding.found)"
            return finding.remedy.isEmpty ? [line] : [line, "         → \(finding.remedy)"]
        }
        return lines.map { $0 + "\n" }.joined()
    }
}
