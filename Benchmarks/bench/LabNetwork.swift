// SPDX-License-Identifier: Apache-2.0

internal import CVethLab
internal import Foundation
internal import Glibc

/// An unnamed network namespace: it ends with this object and its last process, also when this program is killed.
final class LabNetwork {
    let descriptor: Int32
    private let folder: URL

    /// A namespace with only `lo`, which is up.
    ///
    /// - Parameter folder: where the output of commands goes.
    init(folder: URL) throws {
        self.folder = folder
        descriptor = lab_network()
        guard descriptor >= 0 else {
            throw Trouble("make a network namespace: \(String(cString: strerror(-descriptor)))")
        }
        try run("ip link set lo up")
    }

    deinit { close(descriptor) }

    /// Its path for ip(8): `link set x netns PATH`.
    var path: String { "/proc/\(getpid())/fd/\(descriptor)" }

    /// Runs `body` in it, on the calling thread. Sockets and processes made there stay there.
    func enter<Value>(_ body: () throws -> Value) throws -> Value {
        let outside = lab_enter(descriptor)
        guard outside >= 0 else {
            throw Trouble("enter a network namespace: \(String(cString: strerror(-outside)))")
        }
        defer {
            let inside = lab_enter(outside)
            if inside >= 0 { close(inside) }
            close(outside)
        }
        return try body()
    }

    /// Runs the lines of a shell script in it until one fails.
    @discardableResult
    func run(_ script: String) throws -> String {
        let shell = try enter { try Child(["sh", "-ec", script], cpu: nil, folder: folder) }
        return String(decoding: try shell.result(within: 10), as: UTF8.self)
    }
}
