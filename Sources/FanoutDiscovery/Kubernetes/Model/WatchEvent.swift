// SPDX-License-Identifier: Apache-2.0

/// A line of a watch.
enum WatchEvent<Object: WatchedObject>: Decodable {
    /// Added or modified: its whole state.
    case present(Object)
    case deleted(Object)
    /// Nothing happened up to this version. What else the object says is not its state.
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
