// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import Tiers

/// `scripts/setup.sh` on a fake machine: its PATH has only fakes of the commands that it calls, and a log shows
/// which of them it called.
@Suite("The set-up", .tags(.network))
struct SetupTests {
    @Test("calls no apt-get when nothing is missing")
    func warmTree() throws {
        let run = try Machine().run("build", "test", "lint")
        #expect(run.status == 0, "\(run.said)")
        #expect(run.called == [])
        #expect(run.said == "")
    }

    @Test("names what is missing, then installs only that, and starts no service")
    func missing() throws {
        let machine = try Machine(missing: ["libelf-dev", "prometheus"])
        let run = try machine.run("test")
        #expect(run.status == 0, "\(run.said)")
        #expect(run.said.hasPrefix("setup: installing with apt-get: libelf-dev prometheus\n"))
        #expect(
            run.called == [
                "apt-get update -q",
                "apt-get install -qy --no-install-recommends libelf-dev prometheus",
                "starts forbidden: yes",
                "update-rc.d prometheus disable",
            ])
        #expect(!FileManager.default.fileExists(atPath: machine.policy.path), "the policy stayed")
    }

    @Test("asks on a terminal before it installs, with --ask")
    func asks() throws {
        let machine = try Machine(missing: ["clang-format"])
        let refused = try machine.run("--ask", "lint", replying: "n")
        #expect(refused.status == 1)
        #expect(refused.called == [])
        #expect(refused.said.contains("setup: missing: clang-format"))
        #expect(refused.said.contains("apt-get install --no-install-recommends clang-format"))
        let agreed = try machine.run("--ask", "lint", replying: "y")
        #expect(agreed.status == 0, "\(agreed.said)")
        #expect(agreed.called.first == "apt-get update -q")
    }

    @Test("asks nothing without a terminal")
    func noTerminal() throws {
        let run = try Machine(missing: ["clang-format"]).run("--ask", "lint")
        #expect(run.status == 0, "\(run.said)")
        #expect(run.called.first == "apt-get update -q")
    }

    @Test("keeps an existing policy")
    func policyOfTheMachine() throws {
        let machine = try Machine(missing: ["curl"])
        try Data("exit 0\n".utf8).write(to: machine.policy)
        #expect(try machine.run("test").status == 0)
        #expect(try String(contentsOf: machine.policy, encoding: .utf8) == "exit 0\n")
    }

    @Test("uses sudo when it is not root")
    func notRoot() throws {
        let run = try Machine(missing: ["clang-format"], user: 1000).run("lint")
        #expect(run.status == 0, "\(run.said)")
        #expect(run.called.contains("sudo apt-get update -q"))
    }

    @Test("says what to install by hand when it is neither root nor has sudo")
    func neitherRootNorSudo() throws {
        let run = try Machine(missing: ["clang-format"], user: 1000, without: ["sudo"]).run("lint")
        #expect(run.status == 1)
        #expect(run.called == [])
        #expect(
            run.said.contains(
                "neither root nor sudo, install by hand: "
                    + "apt-get install --no-install-recommends clang-format"))
    }

    @Test("says what to install by hand when there is no apt-get")
    func noAptGet() throws {
        let run = try Machine(missing: ["clang-format"], without: ["apt-get"]).run("lint")
        #expect(run.status == 1)
        #expect(run.said.contains("there is no apt-get here, install by hand: "))
    }

    @Test("refuses a system without dpkg, and names the packages to look for")
    func notDebian() throws {
        let run = try Machine(without: ["dpkg-query"]).run("lint")
        #expect(run.status == 1)
        #expect(run.said.contains("not a Debian system"))
        #expect(run.said.contains("clang-format"))
    }

    @Test("accepts a Swift that is new enough", arguments: ["6.3", "6.3.1", "6.10", "7.0"])
    func goodSwift(version: String) throws {
        #expect(try Machine(swift: version).run("build").status == 0)
    }

    @Test("refuses an old Swift and says where a newer one is", arguments: ["5.10", "6.2.4"])
    func oldSwift(version: String) throws {
        let run = try Machine(swift: version).run("build")
        #expect(run.status == 1)
        #expect(run.said.contains("Swift \(version) is too old, 6.3 is the least: install Swift"))
    }

    @Test("says that Swift is missing")
    func noSwift() throws {
        let run = try Machine(without: ["swift"]).run("build")
        #expect(run.status == 1)
        #expect(run.said.hasPrefix("setup: swift is not on PATH: install Swift"))
    }

    @Test("needs no Swift for the C library alone")
    func libraryAlone() throws {
        let run = try Machine(missing: ["libtool"], without: ["swift"]).run("library")
        #expect(run.status == 0, "\(run.said)")
        #expect(run.said.hasPrefix("setup: installing with apt-get: libtool\n"))
        #expect(try Machine(without: ["swift"]).run("library", "lint").status == 1)
    }

    @Test("fails when apt-get fails")
    func aptGetFails() throws {
        let machine = try Machine(missing: ["curl"], aptGetStatus: 100)
        let run = try machine.run("test")
        #expect(run.status == 1)
        #expect(run.said.contains("apt-get update failed, install by hand"))
        #expect(!FileManager.default.fileExists(atPath: machine.policy.path), "the policy stayed")
    }

    @Test("refuses an unknown purpose")
    func unknownPurpose() throws {
        let run = try Machine().run("biuld")
        #expect(run.status != 0)
        #expect(run.said.contains("no such purpose: biuld"))
    }
}
