// SPDX-License-Identifier: Apache-2.0

internal import Foundation

/// The bytes of a configuration file, and why they could not be had.
enum ConfigFile {
    /// - Returns: at most one byte more than `SourceLimits.bytes`, so that a longer file (or one
    ///   without an end) is seen to be too long without being read.
    static func bytes(of path: String) throws(ConfigProblem) -> [UInt8] {
        do {
            let handle = try FileHandle(forReadingFrom: URL(fileURLWithPath: path))
            defer { try? handle.close() }
            var bytes: [UInt8] = []
            // A pipe hands out what it holds; only an empty read is the end.
            while bytes.count <= SourceLimits.bytes,
                let more = try handle.read(upToCount: SourceLimits.bytes + 1 - bytes.count),
                !more.isEmpty
            {
                bytes += more
            }
            return bytes
        } catch {
            throw problem(of: path, errno: errno(of: error))
        }
    }

    /// What to tell the user about a file that could not be read, given the system's error number.
    static func problem(of path: String, errno code: Int32?) -> ConfigProblem {
        let (what, remedy) =
            switch code {
            case ENOENT, ENOTDIR:
                ("the file does not exist", "put it there, or write its path after --config")
            case EACCES, EPERM:
                ("the file may not be read", "give the daemon's user permission to read it")
            case EISDIR: ("this is a directory", "write the path of a file after --config")
            default:
                (
                    "the file cannot be read" + (code.map { " (errno \($0))" } ?? ""),
                    "write the path of a readable file after --config"
                )
            }
        return ConfigProblem(file: path, what: what, remedy: remedy)
    }

    private static func errno(of error: any Error) -> Int32? {
        let outer = error as NSError
        let cause = outer.userInfo[NSUnderlyingErrorKey] as? NSError ?? outer
        return cause.domain == NSPOSIXErrorDomain ? Int32(truncatingIfNeeded: cause.code) : nil
    }
}
