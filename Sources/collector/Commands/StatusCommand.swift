// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import LinuxNet
internal import ReusePortLB

struct StatusCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "List the groups below the pin root, their members and counters.",
        discussion: "It also lists slots without a member; the other members have their sources.")

    @Argument(help: "Groups to show. Default: all below the pin root.")
    var names: [String] = []

    @Flag(help: "Print one JSON object.")
    var json = false

    @OptionGroup var root: PinRootFlag

    func run() throws {
        let groups = try names.isEmpty ? all() : named()
        let text: String
        if json {
            text = JSON.object([("groups", .array(groups.map(\.json)))]).description + "\n"
        } else if groups.isEmpty {
            text = "no groups below \(root.pinRoot)\n"
        } else {
            text = groups.map(\.text).joined(separator: "\n")
        }
        guard StandardStream.output.write(text) else { throw ExitCode(1) }
    }

    /// The groups below the pin root, without folders that are no groups and groups that are gone.
    private func all() throws -> [GroupStatus] {
        do throws(ReusePortError) {
            return try ReusePortGroup.pinned(below: root.pinRoot)
                .map { GroupStatus($0.name, root.pinRoot) }.filter(\.isThere)
        } catch {
            guard error.code == .accessDenied else { throw error }
            // A root of mode 711 can be searched for a name, but not listed.
            StandardStream.error.write(
                "collector: \(error); name the groups: collector status NAME\n")
            throw ExitCode(1)
        }
    }

    private func named() throws -> [GroupStatus] {
        let groups = names.map { GroupStatus($0, root.pinRoot) }
        for group in groups {
            if case .failure(let error) = group.details, !group.isThere { throw error }
        }
        return groups
    }
}
