// SPDX-License-Identifier: Apache-2.0

internal import FanoutCore

/// The metadata of an object of the Kubernetes API, as far as it is used.
struct ObjectMeta: Decodable, Sendable {
    var name: String?
    var resourceVersion: String?
}

/// An object that can be listed and watched.
protocol WatchedObject: Decodable, Sendable {
    var metadata: ObjectMeta { get }
}

/// A page of a list.
struct ObjectList<Object: WatchedObject>: Decodable {
    struct Meta: Decodable {
        var resourceVersion: String?
        /// The token for the next page; nil or empty on the last.
        var `continue`: String?
    }

    var metadata: Meta
    /// Nil for none: Go's encoding of an empty list.
    var items: [Object]?
}

/// An error of the API (meta/v1 Status).
struct APIStatus: Decodable, Sendable {
    struct Details: Decodable, Sendable {
        struct Cause: Decodable, Sendable {
            var reason: String?
        }
        var causes: [Cause]?
        var retryAfterSeconds: Int?
    }

    var code: Int?
    var reason: String?
    var message: String?
    var details: Details?

    /// Whether the request named a version that the server has not reached.
    var isFutureVersion: Bool {
        details?.causes?.contains { $0.reason == "ResourceVersionTooLarge" } == true
            || message?.contains("Too large resource version") == true
    }
}

/// A service (core/v1) with its load balancer's addresses.
struct Service: WatchedObject {
    struct Status: Decodable, Sendable {
        struct LoadBalancer: Decodable, Sendable {
            struct Ingress: Decodable, Sendable {
                /// Nil if the balancer has a name instead.
                var ip: String?
            }
            var ingress: [Ingress]?
        }
        var loadBalancer: LoadBalancer?
    }

    var metadata: ObjectMeta
    var status: Status?

    /// The addresses assigned by the load balancer.
    static func merged(_ services: some Sequence<Service>) -> DiscoveredSet {
        let texts = services.flatMap { $0.status?.loadBalancer?.ingress ?? [] }.compactMap(\.ip)
        return DiscoveredSet(
            addresses: texts.compactMap { IPAddress($0) }.filter { $0.canReceive })
    }
}

/// A line of a watch.
enum WatchEvent<Object: WatchedObject>: Decodable {
    /// Added or modified: the complete object.
    case present(Object)
    case deleted(Object)
    /// Nothing happened up to this version. The rest of the object is not its state.
    case bookmark(version: String)
    case error(APIStatus)

    private enum Key: String, CodingKey { case type, object }

    private struct Bookmark: Decodable { var metadata: ObjectMeta }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: Key.self)
        let type = try container.decode(String.self, forKey: .type)
        switch type {
        case "ADDED", "MODIFIED":
            self = .present(try container.decode(Object.self, forKey: .object))
        case "DELETED": self = .deleted(try container.decode(Object.self, forKey: .object))
        case "BOOKMARK":
            let bookmark = try container.decode(Bookmark.self, forKey: .object)
            guard let version = bookmark.metadata.resourceVersion else {
                throw DecodingError.dataCorruptedError(
                    forKey: .object, in: container, debugDescription: "a bookmark without version")
            }
            self = .bookmark(version: version)
        case "ERROR": self = .error(try container.decode(APIStatus.self, forKey: .object))
        default:
            throw DecodingError.dataCorruptedError(
                forKey: .type, in: container, debugDescription: "an event of type \(type)")
        }
    }
}
