// SPDX-License-Identifier: Apache-2.0

import Testing
import Tiers

@Suite("The layers", .tags(.unit))
struct LayerTests {
    @Test("the layer of each module allows all its imports")
    func importsOfTheTree() throws {
        let sources = try SourceTree.sources()
        #expect(sources.contains { !Layers.imports(of: $0).isEmpty && $0.folder == "Sources" })
        let findings = sources.flatMap(Layers.violations)
        #expect(findings.isEmpty, "\(findings.report)")
    }

    @Test("every folder of Sources is in a layer")
    func modulesOfTheTree() throws {
        let unknown = try SourceTree.modules().filter { Layers.table[$0] == nil }
        #expect(unknown == [])
    }

    @Test("kernel programs include only lb/, bpf/ and linux/ headers")
    func includesOfTheTree() throws {
        let sources = try SourceTree.sources()
        #expect(sources.contains { $0.folder == "bpf" && $0.kind == "c" })
        let findings = sources.flatMap(Layers.foreignIncludes)
        #expect(findings.isEmpty, "\(findings.report)")
    }

    @Test(
        "an import from the same or a higher layer is found",
        arguments: [
            ("Sources/FanoutCore/A.swift", "import Foundation"),
            ("Sources/FanoutCore/Deep/A.swift", "internal import Glibc"),
            ("Sources/FanoutCore/A.swift", "public import LinuxNet"),
            ("Sources/LinuxNet/A.swift", "import BPFRuntime"),
            ("Sources/LinuxNet/A.swift", "internal import KernelForwarding"),
            ("Sources/LinuxNet/A.swift", "internal import CLibMNL"),
            ("Sources/LinuxNet/A.swift", "@_spi(Raw) internal import NIOCore"),
            ("Sources/UserspacePlane/A.swift", "private import FanoutMetrics"),
            ("Sources/TCPlane/A.swift", "    import XDPNATPlane"),
            ("Sources/FanoutMetrics/A.swift", "import struct FanoutConfig.Settings"),
            ("Sources/FanoutControl/A.swift", "@preconcurrency import FanoutDiscovery"),
            ("Sources/FanoutControl/A.swift", "internal import UserspacePlane"),
            ("Sources/collector/A.swift", "import UserspacePlane"),
            ("Sources/publisher/A.swift", "import NewPlane"),
            ("Sources/udp-fanout/A.swift", "import NewPlane"),
            ("Sources/Nowhere/A.swift", "import FanoutCore"),
        ])
    func breach(path: String, text: String) {
        #expect(Layers.violations(in: SourceFile(path: path, text: text)).count == 1)
    }

    @Test(
        "an import from a lower layer passes",
        arguments: [
            ("Sources/FanoutCore/A.swift", "internal import CDatapath\n// import Foundation"),
            ("Sources/BPFRuntime/A.swift", "internal import CLibBPF\nimport FanoutCore"),
            ("Sources/UserspacePlane/A.swift", "internal import LinuxNet\nimport Logging"),
            ("Sources/udp-fanout/A.swift", "import UserspacePlane\nimport AnyLibrary"),
            ("Plugins/BPFObjects/A.swift", "import PackagePlugin"),
            ("Sources/CNet/CNet.c", "#include <stdio.h>"),
        ])
    func allowed(path: String, text: String) {
        #expect(Layers.violations(in: SourceFile(path: path, text: text)) == [])
    }

    @Test("a finding names the line and the module")
    func findingSaysWhere() {
        let file = SourceFile(
            path: "Sources/FanoutCore/A.swift", text: "// head\n\ninternal import Glibc\n")
        #expect(
            Layers.violations(in: file).map(\.description) == [
                "Sources/FanoutCore/A.swift:3: FanoutCore (layer 1) may not import Glibc"
            ])
    }

    @Test(
        "a foreign header in a kernel program is found",
        arguments: ["<stdio.h>", "<sys/socket.h>", "\"../Sources/CNet/include/CNet.h\""])
    func foreignHeader(header: String) {
        let text = "#include <linux/bpf.h>\n#include \(header)\n#include <lib.bpf.h>\n"
        let file = SourceFile(path: "bpf/a.bpf.c", text: text)
        #expect(Layers.foreignIncludes(in: file).map(\.line) == [2])
    }
}
