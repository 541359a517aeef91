// SPDX-License-Identifier: Apache-2.0

internal import FanoutCore
internal import YAML

/// A whole file, read section by section and then checked across sections.
struct Document {
    private let findings: Findings
    private var configuration: Configuration?

    init(_ root: YAMLNode, file: String) {
        findings = Findings(file: file)
        let top = Origin(file: file, line: 1, column: 1, key: "")
        guard let root = SectionReader(root, as: .root, at: top, findings: findings) else { return }
        var settings = ListenerSettings()
        var kept: Set<KeptCapability> = []
        if let reader = root.reader(for: .settings) {
            settings.override(with: reader)
            kept.formUnion(reader.choices(.keepCapabilities, of: KeptCapability.self) ?? [])
        }
        let items = root.items(of: .listeners)
        if let origin = root.keyOrigin(of: .listeners), items?.isEmpty == true {
            findings.error(
                at: origin, "holds no listener", "write at least one, beginning with '- '")
        }
        let drafts = root.readers(for: .listeners, items ?? []).map {
            ListenerDraft($0, settings: settings)
        }
        check(drafts)
        let listeners = drafts.compactMap(ListenerConfiguration.init)
        let health = root.reader(for: .health)
        let healthConfiguration = health.map(HealthConfiguration.init) ?? HealthConfiguration()
        if healthConfiguration.passive, let place = health?.keyOrigin(of: .healthPassive) {
            PassiveCheck.run(drafts, at: place, findings)
        }
        for draft in drafts { kept.formUnion(draft.keptCapabilities) }
        configuration = Configuration(
            listeners: listeners, settings: settings,
            health: healthConfiguration,
            metrics: root.reader(for: .metrics).map(MetricsConfiguration.init)
                ?? MetricsConfiguration(),
            control: root.reader(for: .control).map(ControlConfiguration.init)
                ?? ControlConfiguration(),
            keptCapabilities: kept)
    }

    private func check(_ drafts: [ListenerDraft]) {
        for draft in drafts { ListenerCheck(draft, findings).run() }
        NameCheck.run(drafts, findings)
        CollisionCheck.run(drafts, findings)
        HookCheck.run(drafts, findings)
        NATCheck.run(drafts, findings)
        LoopCheck.run(drafts, findings)
    }

    var result: ConfigurationResult {
        let errors = findings.errors
        guard errors.isEmpty, let configuration else { return .invalid(errors) }
        return .valid(configuration, warnings: findings.warnings)
    }
}

/// The problems that are found while one file is read, and how many more there were.
final class Findings {
    private struct List {
        var problems: [ConfigProblem] = []
        var more = 0

        mutating func add(_ problem: () -> ConfigProblem) {
            // Finding the words may cost more than finding the problem.
            if problems.count < SourceLimits.problems {
                problems.append(problem())
            } else {
                more += 1
            }
        }

        func report(of file: String) -> [ConfigProblem] {
            let sorted = problems.sorted(by: ConfigProblem.isBefore)
            guard more > 0 else { return sorted }
            return sorted + [
                ConfigProblem(
                    file: file, what: "\(more) further problems are not shown",
                    remedy: "write what these lines say first")
            ]
        }
    }

    private let file: String
    private var errorList = List()
    private var warningList = List()

    init(file: String) { self.file = file }

    /// In line order.
    var errors: [ConfigProblem] { errorList.report(of: file) }
    /// In line order.
    var warnings: [ConfigProblem] { warningList.report(of: file) }

    func error(
        at origin: Origin, _ what: @autoclosure () -> String, _ remedy: @autoclosure () -> String
    ) {
        errorList.add { ConfigProblem(at: origin, what: what(), remedy: remedy()) }
    }

    func warning(
        at origin: Origin, _ what: @autoclosure () -> String, _ remedy: @autoclosure () -> String
    ) {
        warningList.add { ConfigProblem(at: origin, what: what(), remedy: remedy()) }
    }
}
