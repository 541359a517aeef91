// SPDX-License-Identifier: Apache-2.0

/// A file that is no configuration of the daemon's own, but read under the same limits.
public enum SmallFile {
    /// Why a file cannot be had, in a few words.
    public struct Fault: Error, Equatable, Sendable {
        public let reason: String
    }

    /// The whole file.
    ///
    /// - Throws: `Fault` when it cannot be read or is longer than `SourceLimits.bytes`.
    public static func bytes(of path: String) throws(Fault) -> [UInt8] {
        let bytes: [UInt8]
        do throws(ConfigProblem) {
            bytes = try ConfigFile.bytes(of: path)
        } catch {
            throw Fault(reason: error.what)
        }
        guard bytes.count <= SourceLimits.bytes else {
            throw Fault(reason: "the file is longer than \(SourceLimits.bytes) bytes")
        }
        return bytes
    }
}
