// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The layers: what each module may import. Every module must be in the table.
enum Layers {
    /// What a module may import, besides the Swift standard library.
    struct Rule {
        let layer: Int
        let imports: Set<String>
        /// Whether it may import anything but concrete planes; so in the composition layer.
        var anything = false
    }

    /// Modules of the toolchain and the C library.
    static let system: Set = [
        "Dispatch", "Foundation", "FoundationEssentials", "Glibc", "Musl", "Synchronization",
    ]
    static let kernelLibraries: Set = ["CLibBPF", "CLibXDP"]
    static let nio: Set = [
        "NIOConcurrencyHelpers", "NIOCore", "NIOFoundationCompat", "NIOHTTP1", "NIOPosix", "NIOSSL",
    ]
    static let edges: Set = ["LinuxNet", "BPFRuntime", "ReusePortLB", "XDPSockets"]

    static let table: [String: Rule] = [
        // 0: C
        "CNet": Rule(layer: 0, imports: []),
        "CDatapath": Rule(layer: 0, imports: []),
        "CReusePortLB": Rule(layer: 0, imports: []),
        "CLibBPF": Rule(layer: 0, imports: []),
        "CLibXDP": Rule(layer: 0, imports: []),
        "CLibMNL": Rule(layer: 0, imports: []),
        "CLibYAML": Rule(layer: 0, imports: []),
        // 1: pure
        "FanoutCore": Rule(layer: 1, imports: ["CDatapath"]),
        "KernelPrograms": Rule(layer: 1, imports: []),
        // 2: edges
        "LinuxNet": Rule(
            layer: 2, imports: system.union(["CNet", "CDatapath", "FanoutCore", "Logging"])),
        "YAML": Rule(layer: 2, imports: ["CLibYAML"]),
        "BPFRuntime": Rule(
            layer: 2,
            imports: system.union(kernelLibraries).union([
                "CNet", "CDatapath", "FanoutCore", "KernelPrograms",
            ])),
        "XDPSockets": Rule(layer: 2, imports: system.union(["CLibXDP", "CNet"])),
        "ReusePortLB": Rule(
            layer: 2,
            imports: system.union([
                "CNet", "CDatapath", "CReusePortLB", "FanoutCore", "KernelPrograms",
            ])),
        // 3: shared by the kernel planes
        "KernelForwarding": Rule(
            layer: 3,
            imports: system.union([
                "BPFRuntime", "CDatapath", "CLibMNL", "CNet", "FanoutCore", "LinuxNet", "Logging",
            ])),
        // 4: adapters
        "UserspacePlane": adapter(),
        "TCPlane": adapter(kernelLibraries.union(["KernelPrograms"])),
        "AFXDPPlane": adapter(kernelLibraries.union(["KernelPrograms"])),
        "XDPNATPlane": adapter(kernelLibraries.union(["KernelPrograms"])),
        "FanoutConfig": adapter(["YAML"]),
        "FanoutDiscovery": adapter(nio.union(["AsyncHTTPClient", "YAML"])),
        "FanoutMetrics": adapter(nio),
        "ReusePortLBMetrics": adapter(["CoreMetrics"]),
        // 5: control
        "FanoutControl": Rule(
            layer: 5, imports: system.union(["FanoutCore", "LinuxNet", "Logging"])),
        // 6: composition
        "udp-fanout": Rule(layer: 6, imports: planes, anything: true),
        "collector": Rule(layer: 6, imports: [], anything: true),
        "publisher": Rule(layer: 6, imports: [], anything: true),
    ]

    static let planes: Set = ["UserspacePlane", "TCPlane", "AFXDPPlane", "XDPNATPlane"]

    private static func adapter(_ more: Set<String> = []) -> Rule {
        let below = edges.union([
            "FanoutCore", "CNet", "CDatapath", "KernelForwarding", "Logging",
        ])
        return Rule(layer: 4, imports: system.union(below).union(more))
    }

    /// The imports of a Swift file below `Sources` that its module's layer does not allow.
    static func violations(in file: SourceFile) -> [Finding] {
        let parts = file.path.split(separator: "/")
        guard parts.count > 2, parts[0] == "Sources", file.kind == "swift" else { return [] }
        let module = String(parts[1])
        guard let rule = table[module] else {
            return [file.finding("the module \(module) is in no layer; add it to the table")]
        }
        return imports(of: file).compactMap { imported in
            if rule.imports.contains(imported.module) { return nil }
            if rule.anything, !imported.module.hasSuffix("Plane") { return nil }
            return file.finding(
                "\(module) (layer \(rule.layer)) may not import \(imported.module)",
                line: imported.line)
        }
    }

    /// The modules that a Swift file imports; of `import struct A.B` that is A.
    static func imports(of file: SourceFile) -> [(module: String, line: Int)] {
        // Most lines have no import; a plain search costs less than the regular expression.
        file.lines.filter { $0.text.contains("import ") }.compactMap { line in
            line.text.prefixMatch(of: importLine).map { (String($0.output.module), line.number) }
        }
    }

    private static var importLine: Regex<(Substring, module: Substring)> {
        #/
        \s* (?: @ [\w()]+ \s+ )*
        (?: (?: public | package | internal | fileprivate | private ) \s+ )?
        import \s+
        (?: (?: typealias | struct | class | actor | enum | protocol | let | var | func ) \s+ )?
        (?<module> \w+ )
        /#
    }

    /// The includes of a kernel program that are neither the kernel's, libbpf's nor this tree's.
    static func foreignIncludes(in file: SourceFile) -> [Finding] {
        guard file.folder == "bpf", ["c", "h"].contains(file.kind) else { return [] }
        return file.lines.compactMap { line in
            guard let match = line.text.prefixMatch(of: /\s*#\s*include\s*[<"]([^>"]+)[>"]/) else {
                return nil
            }
            let header = match.output.1
            if ["lb/", "bpf/", "linux/"].contains(where: header.hasPrefix) { return nil }
            // bpf/lib has the headers of kernel programs only.
            if header.hasSuffix(".bpf.h"), !header.contains("/") { return nil }
            // A shared header includes its neighbour without a path, so that Swift finds it.
            if file.path.hasPrefix("bpf/include/lb/"), !header.contains("/"),
                line.text.contains("\"")
            {
                return nil
            }
            return file.finding("a kernel program may not include \(header)", line: line.number)
        }
    }
}
