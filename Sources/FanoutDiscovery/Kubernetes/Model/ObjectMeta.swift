// SPDX-License-Identifier: Apache-2.0

/// What every object of the Kubernetes API says of itself, as far as it matters here.
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
        /// Leads to the next page; nil or empty on the last.
        var `continue`: String?
    }

    var metadata: Meta
    /// nil for none: Go's way to write an empty list.
    var items: [Object]?
}

/// How the API says that something went wrong (meta/v1 Status).
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

    /// A version was named that the server has not reached.
    var isFutureVersion: Bool {
        details?.causes?.contains { $0.reason == "ResourceVersionTooLarge" } == true
            || message?.contains("Too large resource version") == true
    }
}
