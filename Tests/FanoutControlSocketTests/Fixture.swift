// SPDX-License-Identifier: Apache-2.0

import FanoutControl
import Glibc
import LabNet
import LinuxNet
import Logging

/// A control server in a folder of its own that answers whatever the test wants.
struct ServerFixture {
    let folder: ScratchFolder
    let server: ControlServer

    var path: String { server.path }

    init(
        folder: ScratchFolder? = nil, takingOver: Bool = false,
        handler: @escaping ControlServer.Handler = { _ in .reload(ReloadReport()) }
    ) throws {
        let folder = try folder ?? ScratchFolder()
        self.folder = folder
        server = try ControlServer.start(
            path: folder.path("control.sock"), takingOver: takingOver, logger: Self.silent,
            handler: handler)
    }

    static let silent = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

    /// One connection that sends bytes and gives the line of the answer.
    static func exchange(_ path: String, _ line: String) throws -> String {
        let client = try ControlClient(path: path)
        return String(decoding: try client.exchange(Array(line.utf8)), as: UTF8.self)
    }

    static func mode(of path: String) -> mode_t? {
        var state = stat()
        return lstat(path, &state) == 0 ? state.st_mode : nil
    }
}
