// SPDX-License-Identifier: Apache-2.0

public import FanoutCore
public import LinuxNet

/// Reads a file of receivers.
public enum ReceiverFile {
    /// Why a file cannot be used; no part of it is used.
    public enum Unusable: Error, Equatable, Sendable, CustomStringConvertible {
        case unreadable(SystemError)
        /// A writer may have truncated the file and not filled it yet.
        case empty
        /// - Parameter line: counted from 1.
        case malformed(line: Int, what: String)

        /// The name for counters.
        var code: String {
            switch self {
            case .unreadable(let error): error.name
            case .empty: "empty"
            case .malformed: "malformed"
            }
        }

        /// Whether the same file may become readable later.
        var mayPass: Bool {
            guard case .unreadable(let error) = self else { return false }
            return ["EMFILE", "ENFILE", "ENOMEM", "EIO", "ESTALE", "EINTR"].contains(error.name)
        }

        public var description: String {
            switch self {
            case .unreadable(let error): "\(error)"
            case .empty: "the file is empty"
            case .malformed(let line, let what): "line \(line): \(what)"
            }
        }
    }

    /// All receivers listed in it.
    ///
    /// - Parameter port: of receivers without one.
    public static func receivers(
        at path: String, port: UInt16?
    ) throws(Unusable) -> DiscoveredSet {
        let bytes: [UInt8]
        do throws(SystemError) {
            bytes = try SmallFile.bytes(of: path, limit: 1 << 20)
        } catch {
            throw .unreadable(error)
        }
        guard !bytes.isEmpty else { throw .empty }
        do throws(ReceiverList.Malformed) {
            let list = try ReceiverList(String(decoding: bytes, as: UTF8.self), port: port)
            return DiscoveredSet(
                list.endpoints.map {
                    DiscoveredEndpoint(
                        address: $0.address, ports: [DiscoveredPort(number: $0.port)])
                })
        } catch {
            throw .malformed(line: error.line, what: error.what)
        }
    }
}
