// SPDX-License-Identifier: Apache-2.0

public import FanoutCore

/// The text of a file of receivers: one `address` or `address:port` a line.
///
/// `#` and `;` begin comments. If there are section headers, as in an INI file, only the lines below `[Real
/// Servers]` count.
public struct ReceiverList: Equatable {
    /// Why the text is not a list of receivers.
    public struct Malformed: Error, Equatable, CustomStringConvertible {
        /// Counted from 1.
        public let line: Int
        public let what: String
        public var description: String { "line \(line): \(what)" }
    }

    static let section = "[real servers]"

    public private(set) var endpoints: [Endpoint] = []

    /// - Parameters:
    ///   - port: of receivers without one.
    ///   - isStrict: whether the section is required and duplicates are refused.
    public init(_ text: String, port: UInt16?, isStrict: Bool = false) throws(Malformed) {
        var isIn: Bool?
        var seen: Set<Endpoint> = []
        let lines = Self.lines(of: text)
        let isINI = lines.contains(where: Self.isHeader)
        var hasSection = false
        for (index, content) in lines.enumerated() where !content.isEmpty {
            if Self.isHeader(content) {
                isIn = content.lowercased() == Self.section
                hasSection = hasSection || isIn == true
                continue
            }
            guard isIn ?? !isINI else { continue }
            let endpoint = try Self.endpoint(String(content), port, index + 1)
            if seen.insert(endpoint).inserted {
                endpoints.append(endpoint)
            } else if isStrict {
                throw Malformed(line: index + 1, what: "'\(content)' is there twice")
            }
        }
        if isINI || isStrict, !hasSection {
            throw Malformed(line: 1, what: "there is no section [Real Servers]")
        }
    }

    /// A line that begins like `[v6]:port` is an address.
    private static func isHeader(_ content: Substring) -> Bool {
        content.utf8.first == UInt8(ascii: "[")
            && !content.utf8.dropFirst().contains(UInt8(ascii: ":"))
    }

    /// The lines without comments and surrounding blanks. Also splits at CR and CRLF. Works on bytes: thousands of
    /// lines are read while packets wait for their receiver.
    private static func lines(of text: String) -> [Substring] {
        var lines: [Substring] = []
        var wasReturn = false
        var start = text.utf8.startIndex
        for index in text.utf8.indices {
            let byte = text.utf8[index]
            defer { wasReturn = byte == 13 }
            guard byte == 10 || byte == 13 else { continue }
            if byte == 13 || !wasReturn { lines.append(bare(text.utf8[start..<index])) }
            start = text.utf8.index(after: index)
        }
        lines.append(bare(text.utf8[start...]))
        return lines
    }

    private static func bare(_ line: Substring.UTF8View) -> Substring {
        var content = line.prefix { $0 != UInt8(ascii: "#") && $0 != UInt8(ascii: ";") }
            .drop(while: isBlank)
        while let last = content.last, isBlank(last) { content.removeLast() }
        return Substring(content)
    }

    private static func isBlank(_ byte: UInt8) -> Bool { byte == 32 || (9...13).contains(byte) }

    private static func endpoint(
        _ content: String, _ port: UInt16?, _ line: Int
    ) throws(Malformed) -> Endpoint {
        let endpoint: Endpoint
        if let address = IPAddress(content) {
            guard let port else {
                throw Malformed(
                    line: line, what: "'\(content)' has no port, and file.port is not set")
            }
            endpoint = Endpoint(address, port: port)
        } else {
            do throws(Endpoint.Malformed) {
                endpoint = try Endpoint(parsing: content)
            } catch {
                throw Malformed(line: line, what: "'\(content)' is no receiver: \(error.reason)")
            }
        }
        guard endpoint.address.canReceive else {
            throw Malformed(
                line: line, what: "\(endpoint.address) is not the address of one receiver")
        }
        return endpoint
    }
}
