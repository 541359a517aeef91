// SPDX-License-Identifier: Apache-2.0

import FanoutConfig
import FanoutCore
import Foundation
import LabNet
import Testing

@testable import udp_fanout

extension DaemonTests {
    @Suite("Doctor on receivers in a file")
    struct DoctorFileTests {}
}

extension DaemonTests.DoctorFileTests {
    private typealias Doctors = DaemonTests.DoctorTests

    @Test("an unusable file is a problem, with the line and a remedy")
    func unusable() async throws {
        let cases: [(text: String?, found: String, remedy: String)] = [
            (nil, "open receivers: ENOENT", "file.path"),
            ("", "receivers is empty", "only a comment"),
            ("192.0.2.1\nnonsense\n", "receivers:2: 'nonsense' is no receiver", "address:port"),
            (
                "[Servers]\n192.0.2.1", "receivers:1: there is no section [Real Servers]",
                "all of it"
            ),
        ]
        for (text, found, remedy) in cases {
            let (code, report) = try await report(text)
            let problems = report.findings.filter { $0.level == .problem }
            #expect(code == 1 && problems.map(\.check) == ["receivers of in"], "\(report)")
            #expect(problems.first?.found.contains(found) == true, "\(problems)")
            #expect(problems.first?.remedy.contains(remedy) == true, "\(problems)")
        }
        let (code, good) = try await report("127.0.0.1\n127.0.0.1:9001 # two\n")
        #expect(code == 0 && good.ok, "\(good)")
        let receivers = good.findings.first { $0.check == "receivers of in" }
        #expect(receivers?.found == "2, of receivers", "\(good)")
    }

    /// The report on a listener with receivers in a file of this content; nil: the file is missing.
    private func report(_ text: String?) async throws -> (Int32, DoctorReport) {
        let folder = try ScratchFolder()
        if let text { try folder.write(text, to: "receivers") }
        try folder.write(
            """
            listeners:
              - name: in
                bind: 127.0.0.1:\(try Ports.free())
                file: {path: receivers, port: 9000}
            """, to: "config.yaml")
        let run = try await DaemonUnderTest.run(["doctor", "--json"], folder: folder)
        return (
            run.code, try JSONDecoder().decode(DoctorReport.self, from: Data(run.output.utf8))
        )
    }

    @Test("they are checked like those of the configuration, but only those that the listener uses")
    func judged() throws {
        let folder = try ScratchFolder()
        let lines = "192.0.2.2\n192.0.2.3:9001\n192.0.2.4\n"
        let path = try folder.write(lines + "2001:db8::1\n", to: "receivers")
        func findings(
            _ mode: ForwardingMode, _ alter: (inout HostFacts) -> Void
        ) -> [String: Finding] {
            var wanted = Doctors.configuration(mode: mode)
            wanted.listeners[0].downstreams = []
            wanted.listeners[0].preserveSource = true
            wanted.listeners[0].file = FileConfiguration(path: path, port: 9000)
            var host = HostFacts.current(for: wanted)
            alter(&host)
            return Dictionary(
                Doctor(host: host, configuration: wanted).findings.map { ($0.check, $0) }
            ) { first, _ in first }
        }
        let userspace = findings(.userspace) {
            $0.openFilesMax = 64
            $0.silentNeighbours = ["192.0.2.3"]
        }
        #expect(userspace["open files"]?.found.contains("about 132 needed") == true)
        #expect(userspace["receiver in/192.0.2.3:9001"]?.level == .problem, "\(userspace)")
        let routed = findings(.xdpNAT) {
            $0.interfaces["eth7"] = HostFacts.Interface(forwardsV4: false)
        }
        #expect(routed["forwarding of IPv4"]?.level == .problem, "\(routed)")
        #expect(routed["forwarding of IPv6"] == nil, "a listener of IPv4 has no receiver of IPv6")
    }
}
