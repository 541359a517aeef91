// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import Tiers

/// `.ci/run` with a fake `make`: its last line and its exit status.
@Suite("What CI runs", .tags(.network))
struct CIRunTests {
    static let good = "3 passed, 0 failed, 0 skipped in 1 min 2 s"
    static let failure = "✘ failed: ATests.BTests/b()"
    static let bad = "\(failure)\n1 passed, 1 failed, 0 skipped in 1 min 2 s"

    struct Case: CustomTestStringConvertible {
        let testDescription: String
        let test: (says: String, status: Int)
        var buildStatus = 0
        let lintStatus: Int
        let last: String
        let status: Int32
    }

    static let cases = [
        Case(
            testDescription: "all is well", test: (good, 0), lintStatus: 0,
            last: "3 passed, 0 failed", status: 0),
        Case(
            testDescription: "a test fails", test: (bad, 2), lintStatus: 0,
            last: "1 passed, 1 failed", status: 1),
        Case(
            testDescription: "lint fails", test: (good, 0), lintStatus: 2,
            last: "3 passed, 1 failed", status: 1),
        Case(
            testDescription: "the optimizer refuses the daemon", test: (good, 0), buildStatus: 2,
            lintStatus: 0, last: "3 passed, 1 failed", status: 1),
        Case(
            testDescription: "both fail", test: (bad, 2), lintStatus: 2,
            last: "1 passed, 2 failed", status: 1),
        Case(
            testDescription: "the build breaks", test: ("error: no such module", 2), lintStatus: 0,
            last: "0 passed, 1 failed", status: 1),
        Case(
            testDescription: "the runner fails after its tests", test: (good, 2), lintStatus: 0,
            last: "3 passed, 1 failed", status: 1),
        Case(
            testDescription: "no test reports", test: ("Build complete!", 0), lintStatus: 0,
            last: "0 passed, 1 failed", status: 1),
    ]

    @Test("its last line and its exit code match the outcome", arguments: cases)
    func verdict(of example: Case) throws {
        let folder = FileManager.default.temporaryDirectory
            .appending(path: "ci-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try Data(example.test.says.utf8).write(to: folder.appending(path: "says"))
        let make = folder.appending(path: "make")
        let script = """
            #!/bin/sh
            [ "$CI" = true ] || exit 9
            case $1 in
            test) cat '\(folder.path)/says'; echo; exit \(example.test.status) ;;
            build) exit \(example.buildStatus) ;;
            lint) exit \(example.lintStatus) ;;
            esac
            exit 9
            """
        try Data(script.utf8).write(to: make)
        try FileManager.default.setAttributes(
            [.posixPermissions: 0o755], ofItemAtPath: make.path)

        let run = try Command.run(
            SourceTree.root.appending(path: ".ci/run").path, [], in: folder,
            environment: ["PATH": "\(folder.path):/usr/bin:/bin"])
        #expect(run.output.split(separator: "\n").last.map(String.init) == example.last)
        #expect(run.status == example.status, "\(run.output)\(run.errors)")
        let summary = run.output.components(separatedBy: "\nWhat failed:\n").dropFirst().last
        #expect((summary?.contains(Self.failure) == true) == (example.test.says == Self.bad))
    }
}
