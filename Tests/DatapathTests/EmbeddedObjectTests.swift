// SPDX-License-Identifier: Apache-2.0

import BPFRuntime
import KernelPrograms
import CDatapath
import Foundation
import Testing
import Tiers

@Suite("Embedded kernel programs", .tags(.network))
struct EmbeddedObjectTests {
    @Test("every program of bpf/ is embedded and listed")
    func listing() throws {
        let folder = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../../bpf").standardized
        let sources = try FileManager.default.contentsOfDirectory(atPath: folder.path)
            .filter { $0.hasSuffix(".bpf.c") }
            .map { String($0.dropLast(".bpf.c".count)) }
        #expect(!sources.isEmpty)
        #expect(EmbeddedObject.all.map(\.name.description) == sources.sorted())
    }

    @Test("an object has type information and no debugging information", arguments: names)
    func strippedButTyped(name: String) throws {
        let file = try elf(name)
        #expect(file.contents(of: ".BTF")?.isEmpty == false)
        #expect(file.contents(of: ".BTF.ext")?.isEmpty == false)
        #expect(file.sections.keys.filter { $0.contains(".debug") } == [])
    }

    @Test(
        "an object's license is compatible with the GPL, as the kernel reads it", arguments: names)
    func license(name: String) throws {
        let section = try #require(try elf(name).contents(of: "license"))
        let license = String(decoding: section.prefix { $0 != 0 }, as: UTF8.self)
        // include/linux/license.h: license_is_gpl_compatible.
        let compatible = [
            "GPL", "GPL v2", "GPL and additional rights", "Dual BSD/GPL", "Dual MIT/GPL",
            "Dual MPL/GPL",
        ]
        #expect(compatible.contains(license))
    }

    @Test("an object does not contain the path of its build", arguments: names)
    func reproducible(name: String) throws {
        let file = try elf(name)
        let text = String(decoding: file.bytes, as: UTF8.self)
        let checkout = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../..").standardized.path
        #expect(!text.contains(checkout))
    }

    @Test(
        "base64 decodes to the original bytes (RFC 4648, section 10)",
        arguments: [
            ("", ""), ("Zg==", "f"), ("Zm8=", "fo"), ("Zm9v", "foo"), ("Zm9vYg==", "foob"),
            ("Zm9vYmE=", "fooba"), ("Zm9vYmFy", "foobar"), ("+/+/", "\u{fb}\u{ff}\u{bf}"),
        ])
    func base64(text: String, bytes: String) {
        #expect(Base64.decode(text.utf8) == bytes.unicodeScalars.map { UInt8($0.value) })
    }

    @Test(
        "truncated base64 and other characters are refused",
        arguments: [
            "Z", "Zg", "Zg=", "Zm9vY", "Z===", "====", "=m9v", "Z=9v", "Zg==Zm9v", "Zm9v Zm9",
            "Zm9v\n",
            "Zm-_", "Zm9é",
        ])
    func damagedBase64(text: String) {
        #expect(Base64.decode(text.utf8) == nil)
    }

    @Test("the daemon reports its libbpf and its ABI")
    func versions() {
        #expect(BPFRuntimeInfo.libbpfVersion.hasPrefix("v1."))
        #expect(BPFRuntimeInfo.abiVersion == Int(LB_ABI_VERSION))
    }

    static let names = EmbeddedObject.all.map(\.name.description)

    private func elf(_ name: String) throws -> ELFFile {
        let object = try #require(EmbeddedObject.all.first { $0.name.description == name })
        let bytes = try #require(object.bytes)
        return try #require(ELFFile(bytes))
    }
}
