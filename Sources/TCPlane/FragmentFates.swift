// SPDX-License-Identifier: Apache-2.0

internal import BPFRuntime

/// The map in which a program remembers what became of a datagram's first fragment. It outlives the program:
/// the next one shares it, so that the later fragments follow the first one. It is pinned beside each hook, where
/// the next process finds it.
final class FragmentFates: Sendable {
    static let name = "fragments"
    /// Says which version's map is pinned. Maps of another version mean something else.
    private static let prefix = "abi-"
    private static let mark = "\(prefix)\(BPFRuntimeInfo.abiVersion)"

    let map: BPFMap

    init(_ map: consuming BPFMap) { self.map = map }

    /// What another process has pinned in a folder; nil when there is none of this version.
    static func pinned(in folder: borrowing PinFolder) -> FragmentFates? {
        guard folder.hasMark(mark),
            let map = try? BPFMap.pinned(at: folder.path(of: name), named: name)
        else { return nil }
        return FragmentFates(map)
    }

    func pin(in folder: borrowing PinFolder) throws(BPFError) {
        folder.removeMarks(startingWith: Self.prefix)
        try map.pin(at: folder.path(of: Self.name))
        folder.setMark(Self.mark, true)
    }

    static func removePin(in folder: borrowing PinFolder) {
        folder.removeMarks(startingWith: prefix)
        folder.remove(name)
    }
}
