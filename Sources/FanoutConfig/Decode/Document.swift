// SPDX-License-Identifier: Apache-2.0

internal import FanoutCore
internal import YAML

extension Configuration {
    /// Decodes a whole file, and checks the rules that span keys.
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
    /// Those that are mappings.
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
        NameCheck.run(listeners, findings)
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
