// SPDX-License-Identifier: Apache-2.0

internal import FanoutCore
internal import YAML

extension Configuration {
    /// Decodes a whole file and checks the rules across keys.
    static func decode(_ root: YAMLNode, file: String) -> ConfigurationResult {
        let findings = Findings(file: file)
        let top = Origin(file: file, line: 1, column: 1, key: "")
        let field = Field(
            node: root, origin: top, key: top, name: "", remedy: "", findings: findings)
        var configuration = Configuration()
        if let origins = section.decode(field, into: &configuration) {
            let decoded = Decoded(value: configuration, origins: origins)
            decoded.check(findings)
            configuration.settle(decoded)
        }
        let errors = findings.errors
        return errors.isEmpty
            ? .valid(configuration, warnings: findings.warnings) : .invalid(errors)
    }

    /// Sets the defaults that depend on other keys.
    private mutating func settle(_ decoded: Decoded<Configuration>) {
        for (index, item) in decoded.listeners.enumerated() {
            var listener = item.value
            listener.modeOrigin = item.origin(\.mode) ?? item.missing(\.mode)
            listener.preserveSource = item.preservesSource
            if listener.mode == .xdpNAT, listener.file?.port == nil {
                listener.file?.port = listener.bind.port
            }
            keptCapabilities.formUnion(listener.keptCapabilities)
            listener.keptCapabilities = []
            listeners[index] = listener
        }
    }
}

extension Decoded<Configuration> {
    /// The items that are mappings.
    var listeners: [Decoded<ListenerConfiguration>] {
        (items(\.listeners) ?? []).filter(\.origins.isMapping)
    }

    fileprivate func check(_ findings: Findings) {
        if let origin = keyOrigin(\.listeners), items(\.listeners)?.isEmpty == true {
            findings.error(
                at: origin, "holds no listener", "write at least one, beginning with '- '")
        }
        let listeners = listeners
        for listener in listeners { ListenerCheck(listener, findings).run() }
        // Names are metric labels, and identify listeners across reloads.
        findings.requireUnique(listeners.compactMap { $0[\.name] }, "write another name") {
            "\($0.quoted) is the name of the listener on line \($1)"
        }
        CollisionCheck.run(listeners, findings)
        HookCheck.run(listeners, findings)
        NATCheck.run(listeners, findings)
        LoopCheck.run(listeners, findings)
        if let health = section(\.health) {
            HealthCheck(health, findings).run()
            PassiveCheck.run(listeners, health, findings)
        }
    }
}

/// The problems found in one file, and how many more there were.
final class Findings {
    private struct List {
        var problems: [ConfigProblem] = []
        var unshown = 0

        mutating func add(_ problem: () -> ConfigProblem) {
            // Formatting the text may cost more than the check.
            if problems.count < SourceLimits.problems {
                problems.append(problem())
            } else {
                unshown += 1
            }
        }
    }

    private let file: String
    private var errorList = List()
    private var warningList = List()

    init(file: String) { self.file = file }

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

    var errors: [ConfigProblem] { report(errorList) }
    var warnings: [ConfigProblem] { report(warningList) }

    /// In line order.
    private func report(_ list: List) -> [ConfigProblem] {
        let sorted = list.problems.sorted(by: ConfigProblem.isBefore)
        guard list.unshown > 0 else { return sorted }
        return sorted + [
            ConfigProblem(
                file: file, what: "\(list.unshown) further problems are not shown",
                remedy: "write what these lines say first")
        ]
    }
}
