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
