// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import LinuxNet
internal import ReusePortLB

/// Opens a group for a command, and says more than the error does where more helps.
enum GroupOpening {
    /// - Throws: `ExitCode` once everything is said, else what the library throws.
    static func open(_ name: String, _ options: GroupOptions) throws -> ReusePortGroup {
        let tail = LogTail()
        var options = options
        options.log = { level, line in tail.add(level, line) }
        let refusal: ReusePortError
        do throws(ReusePortError) {
            let group = try ReusePortGroup(name, options)
            tail.groupIsOpen()
            return group
        } catch {
            refusal = error
        }
        let more: [String]
        switch refusal.code {
        case .programRefused: more = tail.lines.map { "the log: \(Printable.line($0))" }
        case .notPermitted: more = [maker(of: name, options)]
        default: throw refusal
        }
        for line in ["\(refusal)"] + more {
            StandardStream.error.write("collector: \(line)\n")
        }
        throw ExitCode(1)
    }

    private static func maker(of name: String, _ options: GroupOptions) -> String {
        var words = "collector create \(name) --count \(options.count ?? 1) --owner USER"
        if let root = options.pinRoot, root != ReusePortGroup.defaultPinRoot {
            words += " --pin-root \(root)"
        }
        return "as root: \(words); --group NAME joins another group"
    }
}
