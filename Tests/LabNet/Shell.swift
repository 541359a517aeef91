// SPDX-License-Identifier: Apache-2.0

import Glibc

/// The output of a command, run in the namespaces of the calling thread.
public enum Shell {
    /// - Parameter line: the command; spaces separate its words.
    /// - Throws: `CommandFailed` unless it ends with status 0.
    public static func output(_ line: String) throws -> String {
        var ends: [Int32] = [0, 0]
        guard pipe(&ends) == 0 else { throw Failed("pipe") }
        defer { close(ends[0]) }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, ends[1], 1)
        let words = line.split(separator: " ").map { strdup(String($0)) } + [nil]
        defer { for word in words { free(word) } }
        var child: pid_t = 0
        let code = posix_spawnp(&child, words[0]!, &actions, nil, words, environ)
        close(ends[1])
        guard code == 0 else { throw Failed("posix_spawn \(line)", code) }
        var bytes: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 1 << 14)
        while case let count = read(ends[0], &piece, piece.count), count > 0 {
            bytes += piece[..<count]
        }
        var status: Int32 = 0
        while waitpid(child, &status, 0) < 0, errno == EINTR {}
        guard status == 0 else { throw CommandFailed(command: line) }
        return String(decoding: bytes, as: UTF8.self)
    }
}
