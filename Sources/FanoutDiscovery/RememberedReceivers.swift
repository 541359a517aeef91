// SPDX-License-Identifier: Apache-2.0

public import FanoutCore
internal import FoundationEssentials
internal import LinuxNet
public import Logging

/// What was found, in a file: a daemon that is started again while its sources do not answer goes on with it.
public struct RememberedReceivers: DiscoveryMemory {
    private let path: String
    private let logger: Logger

    /// A thousand receivers take some 130 KiB.
    private static let longest = 16 << 20

    /// - Parameter path: in a folder that others cannot write to, since who writes it says who receives.
    public init(path: String, logger: Logger) {
        self.path = path
        self.logger = logger
    }

    public func keep(_ sets: [DiscoverySubject: DiscoveredSet]) throws {
        let page = Page(
            sources: sets.sorted { $0.key < $1.key }.map { subject, set in
                Page.Source(
                    source: subject.description, endpoints: set.endpoints.map(Page.Endpoint.init),
                    addresses: set.addresses.map(\.description))
            })
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        try SmallFile.replace(path, with: Array(try encoder.encode(page)))
    }

    public func recall(_ subjects: Set<DiscoverySubject>) -> [DiscoverySubject: DiscoveredSet] {
        let page: Page
        do {
            guard SmallFile.isThere(path) else { return [:] }
            guard SmallFile.isOwn(path) else { throw Foreign() }
            let bytes = try SmallFile.bytes(of: path, limit: Self.longest)
            page = try JSONDecoder().decode(Page.self, from: Data(bytes))
            guard page.version == Page.current else { throw OtherVersion(version: page.version) }
        } catch {
            logger.warning(
                "receivers that were remembered cannot be read",
                metadata: ["path": "\(path)", "error": "\(error)"])
            return [:]
        }
        let known = Dictionary(page.sources.map { ($0.source, $0) }) { $1 }
        return subjects.reduce(into: [:]) { result, subject in
            guard let source = known[subject.description] else { return }
            result[subject] = DiscoveredSet(
                source.endpoints.compactMap(\.endpoint),
                addresses: source.addresses.compactMap { IPAddress($0) })
        }
    }
}

private struct Foreign: Error, CustomStringConvertible {
    let description = "not a plain file of this user that nobody else may write to"
}

private struct OtherVersion: Error, CustomStringConvertible {
    let version: Int

    var description: String { "version \(version)" }
}

/// The file.
private struct Page: Codable {
    static let current = 1

    struct Source: Codable {
        /// The subject, as metrics call it.
        let source: String
        let endpoints: [Endpoint]
        let addresses: [String]
    }

    struct Endpoint: Codable {
        struct Port: Codable {
            let name: String
            let number: UInt16
        }

        let name: String?
        let address: String
        let ports: [Port]
        let readiness: String
        let weight: UInt16

        init(_ endpoint: DiscoveredEndpoint) {
            name = endpoint.name
            address = endpoint.address.description
            ports = endpoint.ports.map { Port(name: $0.name, number: $0.number) }
            readiness = endpoint.readiness.rawValue
            weight = endpoint.weight
        }

        /// nil when it is not one.
        var endpoint: DiscoveredEndpoint? {
            guard let address = IPAddress(address), weight > 0,
                let readiness = DiscoveredEndpoint.Readiness(rawValue: readiness),
                !ports.contains(where: { $0.number == 0 })
            else { return nil }
            return DiscoveredEndpoint(
                name: name, address: address,
                ports: ports.map { DiscoveredPort(name: $0.name, number: $0.number) },
                readiness: readiness, weight: weight)
        }
    }

    var version = current
    let sources: [Source]
}
