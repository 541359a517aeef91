// SPDX-License-Identifier: Apache-2.0

import Foundation

extension SetupTests {
    /// A folder that is the whole PATH of a run of `scripts/setup.sh`.
    final class Machine {
        let folder: URL
        /// Where the script puts the policy that forbids services to start.
        var policy: URL { folder.appending(path: "policy-rc.d") }

        /// What a run did.
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
            let lastKnowns = [
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
            for (name, body) in lastKnowns where !without.contains(name) {
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

        func run(_ purposes: String...) throws -> Run {
            let script = SourceTree.root.appending(path: "scripts/setup.sh").path
            let command = try Command.run(
                "/bin/sh", [script] + purposes, in: folder,
                environment: [
                    "PATH": folder.appending(path: "bin").path, "POLICY_RC_D": policy.path,
                ])
            let log = try String(contentsOf: folder.appending(path: "log"), encoding: .utf8)
            return Run(
                status: command.status, called: log.split(separator: "\n").map(String.init),
                said: command.errors)
        }
    }
}
