// SPDX-License-Identifier: Apache-2.0

internal import BPFRuntime
internal import FanoutCore
internal import Glibc

/// The maps that outlive a program: who is who by number, and who stays with whom. A program hands them on to
/// the one that takes its place. Each hook has pins of them beside its link, so that the next process finds
/// them when this one is killed.
final class NATMemory: Sendable {
    private static let numbers = ["services", "servers", "fragments"]
    private static let associations = [
        "associations4", "associations6", "unanswered4", "unanswered6",
    ]
    private static let names = numbers + associations

    /// A map that several refer to.
    private final class Shared: Sendable {
        let map: BPFMap

        init(_ map: consuming BPFMap) { self.map = map }
    }

    private let maps: [String: Shared]
    /// The kernel's numbers of the maps, by their names.
    let identity: [String: UInt32]

    /// Those of a program that is loaded.
    init(of object: borrowing BPFObject) throws(BPFError) {
        var maps: [String: Shared] = [:]
        for name in Self.names { maps[name] = Shared(try object.map(named: name)) }
        self.maps = maps
        identity = maps.mapValues { $0.map.number }
    }

    /// Those that are pinned in a folder; nil unless all are there.
    init?(pinnedIn folder: String) {
        var maps: [String: Shared] = [:]
        for name in Self.names {
            guard let map = try? BPFMap.pinned(at: "\(folder)/\(name)", named: name) else {
                return nil
            }
            maps[name] = Shared(map)
        }
        self.maps = maps
        identity = maps.mapValues { $0.map.number }
    }

    /// The kernel's number of the map `servers`: programs with the same one have all of these in common.
    var number: UInt32 { identity["servers"] ?? 0 }

    /// - Throws: `BPFError` with ENOENT when there is no such map among them.
    func read<Value>(
        _ name: String, _ body: (borrowing BPFMap) throws(BPFError) -> Value
    ) throws(BPFError) -> Value {
        guard let shared = maps[name] else {
            throw BPFError(operation: "find map", subject: name, errno: ENOENT)
        }
        return try body(shared.map)
    }

    // MARK: Handing on

    /// Has an object use them, before it is loaded; of the associations each map whose size fits.
    ///
    /// - Returns: the maps that do not fit, though there may be something in them.
    func share(with object: inout BPFObject) throws(BPFError) -> [String] {
        for name in Self.numbers {
            guard let shared = maps[name] else { continue }
            try object.share(name, shared.map)
        }
        var forgotten: [String] = []
        for name in Self.associations {
            guard let shared = maps[name] else { continue }
            do throws(BPFError) {
                try object.share(name, shared.map)
            } catch {
                guard error.errno == EINVAL else { throw error }
                // A family that was not served had a map of 1.
                if shared.map.entries > 1 { forgotten.append(name) }
            }
        }
        return forgotten
    }

    /// Pins each, in place of what is pinned there.
    func pin(in folder: borrowing PinFolder) throws(BPFError) {
        for (name, shared) in maps { try shared.map.pin(at: folder.path(of: name)) }
    }

    static func removePins(in folder: borrowing PinFolder) {
        for name in names { folder.remove(name) }
    }
}
