// SPDX-License-Identifier: Apache-2.0

internal import FanoutCore

/// The text of a file of receivers: one `address` or `address:port` a line.
///
/// `#` and `;` begin comments. When there are section headers, as in an INI file, the lines below
/// `[Real Servers]` count and all others do not.
struct ReceiverList: Equatable {
    /// Why a text is no such list.
    struct Malformed: Error, Equatable, CustomStringConvertible {
        /// Counted from 1.
        let line: Int
        let what: String
        var description: String { "line \(line): \(what)" }
    }

    static let section = "[real servers]"

    var endpoints: [Endpoint] = []

    /// - Parameter port: of receivers without one.
    init(_ text: String, port: UInt16?) throws(Malformed) {
        var isIn: Bool?
        var seen: Set<Endpoint> = []
        // A carriage return and its newline are one character.
        let lines = text.split(omittingEmptySubsequences: false) { $0.isNewline }
        let isINI = lines.contains {
            Self.bare($0).hasPrefix("[") && !Self.isAddress(Self.bare($0))
        }
        for (index, line) in lines.enumerated() {
            let content = Self.bare(line)
            if content.isEmpty { continue }
            if content.hasPrefix("["), !Self.isAddress(content) {
                isIn = content.lowercased() == Self.section
                continue
            }
            guard isIn ?? !isINI else { continue }
            let endpoint = try Self.endpoint(content, port, index + 1)
            if seen.insert(endpoint).inserted { endpoints.append(endpoint) }
        }
        if isINI,
            isIn == nil || !lines.contains(where: { Self.bare($0).lowercased() == Self.section })
        {
            throw Malformed(line: 1, what: "there is no section [Real Servers]")
        }
    }

    /// `[v6]:port`, which begins like a section.
    private static func isAddress(_ content: String) -> Bool {
        content.dropFirst().contains(":")
    }

    /// A line without its comment and the blanks around it.
    private static func bare(_ line: Substring) -> String {
        let content = line.prefix { $0 != "#" && $0 != ";" }
        let trimmed = content.drop(while: \.isWhitespace)
        guard let last = trimmed.lastIndex(where: { !$0.isWhitespace }) else { return "" }
        return String(trimmed[...last])
    }

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
