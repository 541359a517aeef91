// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// Maps that outlive a program: the next program takes them over, so that their content survives a replacement. They
/// are pinned beside the link of each hook, where the next process finds them.
package final class PinnedMaps: Sendable {
    private let maps: [String: SharedMap]
    /// The kernel's IDs of the maps, by name.
    package let identity: [String: UInt32]

    private init(_ maps: [String: SharedMap]) {
        self.maps = maps
        identity = maps.mapValues { $0.map.number }
    }

    /// The maps of a loaded program.
    package convenience init(
        of object: borrowing BPFObject, named names: [String]
    ) throws(BPFError) {
        var maps: [String: SharedMap] = [:]
        for name in names { maps[name] = SharedMap(try object.map(named: name)) }
        self.init(maps)
    }

    /// The maps that a process pinned in a folder; nil unless all are there.
    package convenience init?(pinnedIn folder: String, named names: [String]) {
        guard unsafe access("\(folder)/\(Self.mark)", F_OK) == 0 else { return nil }
        var maps: [String: SharedMap] = [:]
        for name in names {
            guard let map = try? BPFMap.pinned(at: "\(folder)/\(name)", named: name) else {
                return nil
            }
            maps[name] = SharedMap(map)
        }
        self.init(maps)
    }

    /// - Throws: `BPFError` with ENOENT when there is no such map among them.
    package func read<Value>(
        _ name: String, _ body: (borrowing BPFMap) throws(BPFError) -> Value
    ) throws(BPFError) -> Value {
        guard let shared = maps[name] else {
            throw BPFError(operation: "find map", subject: name, errno: ENOENT)
        }
        return try body(shared.map)
    }

    /// Makes an object use a map, before it is loaded.
    ///
    /// - Throws: `BPFError` with EINVAL when the object needs other sizes.
    package func share(_ name: String, with object: inout BPFObject) throws(BPFError) {
        guard let shared = maps[name] else { return }
        try object.share(name, shared.map)
    }

    /// Set while all pins belong to one program of this version: another version's maps have another meaning.
    fileprivate static let markPrefix = "abi-"
    fileprivate static let mark = "\(markPrefix)\(BPFRuntimeInfo.abiVersion)"

    fileprivate func pin(in folder: String) throws(BPFError) {
        for (name, shared) in maps { try shared.map.pin(at: "\(folder)/\(name)") }
    }
}

extension PinFolder {
    /// Pins each of the maps, in place of a previous pin.
    package func pin(_ maps: PinnedMaps) throws(BPFError) {
        try maps.pin(in: path)
        setMark(PinnedMaps.mark, true)
    }

    /// Marks that the pins may belong to several programs.
    package func unmarkMaps() { removeMarks(startingWith: PinnedMaps.markPrefix) }
}
