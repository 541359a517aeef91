// SPDX-License-Identifier: Apache-2.0

internal import LinuxNet

/// A certificate, key or token, where it lies.
enum Material: Equatable, Sendable {
    /// Read again from time to time, since it is renewed there.
    case file(String)
    case bytes([UInt8])

    func read() throws(APIFailure) -> [UInt8] {
        switch self {
        case .bytes(let bytes): return bytes
        case .file(let path):
            do throws(SystemError) {
                return try SmallFile.bytes(of: path, limit: 1 << 20)
            } catch {
                throw APIFailure(.credentials, "\(error)")
            }
        }
    }
}
