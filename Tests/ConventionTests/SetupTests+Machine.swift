// SPDX-License-Identifier: Apache-2.0

import Foundation

extension SetupTests {
    /// A folder that is the only one in PATH for a run of `scripts/setup.sh`.
    final class Machine {
        let folder: URL
        /// Where the script writes the policy that forbids services to start.
        var policy: URL { folder.appending(path: "policy-rc.d") }

        /// The outcome of a run.
        struct Run {
            let status: Int32
            /// The lines of the commands that would have changed the machine.
            let called: [String]
            let said: String
        }

        init(
            missing: [String] = [], user: Int = 0, swift: String = "6.3.1",
            without: Set<String> = [], aptGetStatus: Int = 0
        ) throws {
            folder = FileManager.default.temporaryDirectory
                .appending(path: "setup-\(UUID().uuidString)")
            let programs = folder.appending(path: "bin")
            try FileManager.default.createDirectory(
                at: programs, withIntermediateDirectories: true)
            try Data().write(to: folder.appending(path: "log"))

            // A pattern of the shell; no package is called "-".
            let absent = missing.isEmpty ? "-" : missing.joined(separator: "|")
            let fakes = [
                "swift": "echo 'Swift version \(swift) (swift-\(swift)-RELEASE)'",
                "id": "echo \(user)",
                // dpkg-query -W -f=FORMAT PACKAGE...: a missing package is an error, the rest print.
                "dpkg-query": """
                shift 2
                for package; do
                    case $package in \(absent)) continue ;; esac
                    echo "$package installed"
                done
                exit \(missing.isEmpty ? 0 : 1)
                """,
                "apt-get": """
                echo "apt-get $*" >>'\(folder.path)/log'
                if [ "$1" = install ]; then
                    [ -x '\(policy.path)' ] && echo 'starts forbidden: yes' >>'\(folder.path)/log'
                fi
                exit \(aptGetStatus)
                """,
                "update-rc.d": "echo \"update-rc.d $*\" >>'\(folder.path)/log'",
                "sudo": "echo \"sudo $*\" >>'\(folder.path)/log'; exec \"$@\"",
            ]
            for (name, body) in fakes where !without.contains(name) {
                let program = programs.appending(path: name)
                try Data("#!/bin/sh\n\(body)\n".utf8).write(to: program)
                try FileManager.default.setAttributes(
                    [.posixPermissions: 0o755], ofItemAtPath: program.path)
            }
            for name in ["chmod", "env", "grep", "head", "rm", "sed", "sh", "sort", "tee", "tr"] {
                try FileManager.default.createSymbolicLink(
                    atPath: programs.appending(path: name).path,
                    withDestinationPath: "/usr/bin/\(name)")
            }
        }

        deinit {
            try? FileManager.default.removeItem(at: folder)
        }

        private var script: String { SourceTree.root.appending(path: "scripts/setup.sh").path }
        private var variables: [String: String] {
            ["PATH": folder.appending(path: "bin").path, "POLICY_RC_D": policy.path]
        }

        func run(_ purposes: String...) throws -> Run {
            try report(
                Command.run("/bin/sh", [script] + purposes, in: folder, environment: variables))
        }

        /// The same on a terminal (script(1)), where the user answers `reply`.
        func run(_ purposes: String..., replying reply: String) throws -> Run {
            let words = variables.map { "\($0.key)='\($0.value)'" } + ["/bin/sh '\(script)'"]
            let inner = (["env -i"] + words + purposes).joined(separator: " ")
            return try report(
                Command.run(
                    "/bin/sh",
                    ["-c", "echo \(reply) | script -qefc \"\(inner)\" /dev/null >&2"],
                    in: folder))
        }

        private func report(_ command: Command) throws -> Run {
            let log = try String(contentsOf: folder.appending(path: "log"), encoding: .utf8)
            return Run(
                status: command.status, called: log.split(separator: "\n").map(String.init),
                said: command.errors)
        }
    }
}
