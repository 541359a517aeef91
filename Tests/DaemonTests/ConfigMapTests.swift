// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import Foundation
import Glibc
import LabNet
import Testing

extension DaemonTests {
    @Suite("A configuration in a ConfigMap")
    struct ConfigMapTests {}
}

extension DaemonTests.ConfigMapTests {
    /// Writes the next state of a volume as the kubelet does: into a new folder, to which the link `..data` then
    /// points in one step (pkg/volume/util/atomic_writer.go).
    private func turn(_ folder: ScratchFolder, to name: String, _ config: String) throws {
        let files = FileManager.default
        try files.createDirectory(atPath: folder.path(name), withIntermediateDirectories: true)
        try folder.write(config, to: "\(name)/\(DaemonUnderTest.configName)")
        try files.createSymbolicLink(
            atPath: folder.path("..data_tmp"), withDestinationPath: name)
        guard rename(folder.path("..data_tmp"), folder.path("..data")) == 0 else {
            throw Failed("rename")
        }
    }

    @Test("is reloaded when the kubelet has written it; an invalid one changes nothing")
    func rewritten() async throws {
        let sinks = [try Sink(), try Sink()]
        var config = try ConfigText.simple(receivers: [sinks[0].endpoint.port])
        let folder = try ScratchFolder()
        try turn(folder, to: "..1", config.yaml)
        try FileManager.default.createSymbolicLink(
            atPath: folder.path(DaemonUnderTest.configName),
            withDestinationPath: "..data/\(DaemonUnderTest.configName)")
        let path = folder.path(DaemonUnderTest.configName)
        let daemon = try DaemonUnderTest(nil, ["--config", path], folder: folder)
        do {
            try await daemon.isRunning()
            try turn(folder, to: "..2", "listeners: []\n")
            try await daemon.logs(DaemonUnderTest.notReloaded)
            config.listeners[0].receivers[0].port = sinks[1].endpoint.port
            try turn(folder, to: "..3", config.yaml)
            try await daemon.logs(DaemonUnderTest.reloaded)
            let traffic = try Traffic(to: Endpoint(.loopback, port: config.listeners[0].port))
            traffic.send([1])
            try await eventually("the new receiver has it") { sinks[1].arrivals == 1 }
            #expect(sinks[0].arrivals == 0)
        } catch {
            await daemon.process.end()
            throw error
        }
        try await daemon.stop()
    }
}
