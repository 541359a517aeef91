// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import LinuxNet

/// The bytes of a configuration file, and why they could not be had.
enum ConfigFile {
    /// Only regular files are read: a pipe without a writer would hold the daemon up for ever, and a pipe or a device
    /// cannot be read again.
    static func bytes(of path: String) throws(ConfigProblem) -> [UInt8] {
        do throws(SystemError) {
            return try SmallFile.bytes(of: path, limit: SourceLimits.bytes)
        } catch {
            throw problem(of: path, errno: error.code)
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
            case ESPIPE, ENXIO:
                (
                    "this is not a regular file",
                    "write the path of a file after --config; pipes and devices are not read"
                )
            case EFBIG: SourceText.tooLong
            case EISDIR: ("this is a directory", "write the path of a file after --config")
            default:
                (
                    "the file cannot be read" + (code.map { " (errno \($0))" } ?? ""),
                    "write the path of a readable file after --config"
                )
            }
        return ConfigProblem(file: path, what: what, remedy: remedy)
    }
}
