// SPDX-License-Identifier: Apache-2.0

public import FanoutCore
internal import FoundationEssentials
internal import LinuxNet
public import Logging

/// Saves discovery results in a file, for a daemon that starts while its sources do not answer.
public struct LastKnownFile: DiscoveryMemory {
    private let path: String
    private let logger: Logger

    /// A thousand receivers take about 130 KiB.
    private static let longest = 16 << 20

    /// - Parameter path: in a folder that others cannot write to, since the file determines the receivers.
    public init(path: String, logger: Logger) {
        self.path = path
        self.logger = logger
    }

    public func keep(_ view: DiscoveryView) throws {
        let page = Page(
            sources: view.sets.sorted { $0.key < $1.key }.map { subject, set in
                Page.Source(
                    source: subject.description, endpoints: set.endpoints.map(Page.Endpoint.init),
                    addresses: set.addresses.map(\.description))
            },
            lastKnowns: view.lastKnowns.map(Page.LastKnown.init).sorted {
                ($0.listener, $0.source) < ($1.listener, $1.source)
            })
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        try SmallFile.replace(path, with: Array(try encoder.encode(page)))
    }

    public func recall(_ state: DesiredState) -> DiscoveryView {
        let page: Page
        do {
            guard SmallFile.isThere(path) else { return DiscoveryView() }
            guard SmallFile.isOwn(path) else { throw Foreign() }
            let bytes = try SmallFile.bytes(of: path, limit: Self.longest)
            page = try JSONDecoder().decode(Page.self, from: Data(bytes))
            guard page.version == Page.current else { throw OtherVersion(version: page.version) }
        } catch {
            logger.warning(
                "receivers that were remembered cannot be read",
                metadata: ["path": "\(path)", "error": "\(error)"])
            return DiscoveryView()
        }
        let known = Dictionary(page.sources.map { ($0.source, $0) }) { $1 }
        var view = DiscoveryView()
        for subject in state.subjects {
            guard let source = known[subject.description] else { continue }
            view.sets[subject] = DiscoveredSet(
                source.endpoints.compactMap(\.endpoint),
                addresses: source.addresses.compactMap { IPAddress($0) })
        }
        let lastKnowns = page.lastKnowns ?? []
        for place in state.lastKnownPlaces {
            view.lastKnowns[place] = lastKnowns.first { $0.isAt(place) }?.lastKnown
        }
        return view
    }
}

private struct Foreign: Error, CustomStringConvertible {
    let description = "not a regular file that this user alone may write"
}

private struct OtherVersion: Error, CustomStringConvertible {
    let version: Int

    var description: String { "version \(version)" }
}

/// The contents of the file.
private struct Page: Codable {
    static let current = 1

    struct Source: Codable {
        /// The subject, as in metrics.
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

        /// Nil if it is invalid.
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

    /// The last-known receivers and addresses of a listener.
    struct LastKnown: Codable {
        struct Receiver: Codable {
            let name: String
            let endpoint: String
            let weight: UInt16
        }

        let listener: String
        let source: String
        let receivers: [Receiver]
        let addresses: [String]

        init(_ place: FanoutCore.LastKnown.Place, _ lastKnown: FanoutCore.LastKnown) {
            listener = place.listener
            source = place.subject.description
            receivers = lastKnown.downstreams.map {
                Receiver(name: $0.name, endpoint: $0.endpoint.description, weight: $0.weight)
            }
            addresses = lastKnown.addresses.map(\.description)
        }

        func isAt(_ place: FanoutCore.LastKnown.Place) -> Bool {
            listener == place.listener && source == place.subject.description
        }

        /// Without invalid and duplicate receivers.
        var lastKnown: FanoutCore.LastKnown {
            var names = Set<String>()
            var endpoints = Set<FanoutCore.Endpoint>()
            let downstreams: [Downstream] = receivers.compactMap { receiver in
                guard let endpoint = try? FanoutCore.Endpoint(parsing: receiver.endpoint),
                    names.insert(receiver.name).inserted, endpoints.insert(endpoint).inserted
                else { return nil }
                return Downstream(
                    name: receiver.name, endpoint: endpoint, weight: receiver.weight)
            }
            return FanoutCore.LastKnown(
                downstreams: downstreams, addresses: addresses.compactMap { IPAddress($0) })
        }
    }

    var version = current
    let sources: [Source]
    /// Nil in a file of an older version, which ignores them as well.
    let lastKnowns: [LastKnown]?

    /// The spelling of older versions.
    private enum CodingKeys: String, CodingKey {
        case version, sources
        case lastKnowns = "standIns"
    }
}
