// SPDX-License-Identifier: Apache-2.0

internal import FanoutCore
internal import Glibc
internal import LinuxNet

/// The addresses of real servers, as arguments or as a file has them:
///
///     [Real Servers]
///     10.0.0.4
///     10.0.0.2
struct RealServers: Equatable, Sendable {
    /// At least one, none of them twice, in the order given.
    let addresses: [IPAddress]

    /// What is wrong with them.
    struct Fault: Error, Equatable, CustomStringConvertible {
        let reason: String
        var description: String { reason }
    }

    /// - Throws: `Fault` for what is no address of a server, or stands twice, or for none at all.
    init(texts: [String], where place: (Int) -> String = { _ in "" }) throws(Fault) {
        var addresses: [IPAddress] = []
        for (index, text) in texts.enumerated() {
            guard let address = IPAddress(text), address.zone == nil, !address.isWildcard,
                !address.isMulticastOrBroadcast, !address.isLoopback
            else {
                throw Fault(
                    reason:
                        "\(place(index))'\(LineLogHandler.escaped(text))' is not the address of "
                        + "a real server; write one without a port, such as 10.40.0.2")
            }
            guard !addresses.contains(address) else {
                throw Fault(reason: "\(place(index))\(address) stands twice")
            }
            addresses.append(address)
        }
        guard !addresses.isEmpty else {
            throw Fault(reason: "there is no real server; write at least one address")
        }
        self.addresses = addresses
    }

    /// Reads a file.
    ///
    /// - Throws: `Fault` that names the file, and the line where one is to blame.
    init(path: String) throws(Fault) {
        let bytes: [UInt8]
        do throws(SystemError) {
            bytes = try SmallFile.bytes(of: path)
        } catch {
            let why = error.code == ESPIPE ? "it is a pipe or a device, not a file" : error.reason
            throw Fault(reason: "\(path) cannot be read: \(why)")
        }
        try self.init(text: String(decoding: bytes, as: UTF8.self), file: path)
    }

    /// - Parameter file: what faults call it.
    init(text: String, file: String) throws(Fault) {
        var isInside = false
        var hasSection = false
        var found: [(text: String, line: Int)] = []
        let lines = text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
        for (index, line) in lines.enumerated() {
            let content = String(line).trimmed
            if content.isEmpty || content.hasPrefix("#") || content.hasPrefix(";") { continue }
            if content.hasPrefix("[") {
                isInside = content == "[Real Servers]"
                hasSection = hasSection || isInside
            } else if isInside {
                found.append((content, index + 1))
            }
        }
        guard hasSection else { throw Fault(reason: "\(file): there is no [Real Servers]") }
        try self.init(texts: found.map(\.text)) { "\(file):\(found[$0].line): " }
    }
}

extension String {
    fileprivate var trimmed: String {
        String(drop(while: \.isWhitespace).reversed().drop(while: \.isWhitespace).reversed())
    }
}
