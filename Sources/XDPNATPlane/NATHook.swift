// SPDX-License-Identifier: Apache-2.0

internal import BPFRuntime
internal import FanoutCore
internal import Glibc
internal import HostNetwork

/// Our program at the XDP hook of one interface.
///
/// The link is pinned, so it outlives this process, and with it the program and the program's maps: a
/// daemon that was killed goes on translating, and the next one finds clients and servers as they were. A
/// lock on the folder of the pin says that one is alive.
final class NATHook {
    let interface: HostInterface
    /// Where the program is; nil until one is there.
    var mode: XDPMode? { link?.mode }
    /// The kernel's number of the program that a former process left here; nil when there is none, or it
    /// is of another version.
    private(set) var left: UInt32?
    /// Why it is not native, though that was tried.
    private(set) var nativeRefusal: BPFError?
    private let folder: PinFolder
    private var link: XDPLink?

    private static let pin = "xdp_link"
    private static let prefix = "nat-"
    /// Maps of another version mean something else.
    private static let mark = "abi-\(BPFRuntimeInfo.abiVersion)"

    /// By number, since an interface may change its name; and by namespace, since several may see one
    /// BPF file system.
    static func folderName(_ interface: UInt32) -> String {
        "\(prefix)\(interface)-net-\(NetworkNamespace.current)"
    }

    /// Takes the lock, and looks for what a former process left. Alters nothing at the hook.
    init(_ interface: HostInterface, root: String) throws(BPFError) {
        folder = try PinFolder(root: root, name: Self.folderName(interface.index))
        self.interface = interface
        let path = folder.path(of: Self.pin)
        if let found = try XDPLink.pinned(at: path), found.interface == interface.index {
            left = folder.hasMark(Self.mark) ? found.programNumber : nil
            link = consume found
        }
    }

    /// Whether the program is at the hook in a way that satisfies `wanted`.
    func satisfies(_ wanted: XDPAttach) -> Bool {
        switch (wanted, mode) {
        case (_, nil), (.native, .skb), (.skb, .native): false
        case (.auto, _), (.native, .native), (.skb, .skb): true
        }
    }

    /// Has packets meet `program` from now on, in place of the one before.
    ///
    /// - Returns: whether there was none of ours before.
    @discardableResult
    func put(_ program: NATProgram, by wanted: XDPAttach) throws(BPFError) -> Bool {
        if satisfies(wanted) {
            try link?.replace(with: program.program)
            folder.setMark(Self.mark, true)
            left = nil
            return false
        }
        // The kernel has no way from the driver to the stack but without a program in between.
        detach()
        let made = try attach(program, by: wanted)
        try made.pin(at: folder.path(of: Self.pin))
        folder.setMark(Self.mark, true)
        nativeRefusal = made.nativeRefusal
        link = consume made
        left = nil
        return true
    }

    private func attach(
        _ program: NATProgram, by wanted: XDPAttach
    ) throws(BPFError) -> XDPLink {
        switch wanted {
        case .native: return try XDPLink(attaching: program.program, to: interface.index, .native)
        case .skb: return try XDPLink(attaching: program.program, to: interface.index, .skb)
        case .auto where interface.kind == "veth":
            return try XDPLink(attaching: program.program, to: interface.index, .skb)
        case .auto: return try XDPLink(attaching: program.program, to: interface.index)
        }
    }

    /// Takes our program off the interface, and all that we made for it.
    func remove() {
        detach()
        folder.setMark(Self.mark, false)
        folder.removeIfEmpty()
    }

    private func detach() {
        try? link?.detach()
        link = nil
        folder.remove(Self.pin)
    }

    // MARK: What killed daemons left

    /// Removes what was left for interfaces that are no more, and on interfaces that are not used any
    /// more, where the program shares its maps with one that is `adopted`.
    static func removeLeftovers(
        root: String, interfaces: [HostInterface], used: Set<UInt32>, adopted: UInt32?
    ) {
        let present = Set(interfaces.map { folderName($0.index) })
        let ending = "-net-\(NetworkNamespace.current)"
        PinFolder.removeStale(root: root) { name in
            name.hasPrefix(prefix) && name.hasSuffix(ending) && !present.contains(name)
        }
        guard let adopted, let ours = try? BPFMap(named: "servers", ofProgram: adopted).number
        else { return }
        for interface in interfaces where !used.contains(interface.index) {
            let path = "\(root)/udp-fanout/\(folderName(interface.index))/\(pin)"
            guard let link = try? XDPLink.pinned(at: path),
                (try? BPFMap(named: "servers", ofProgram: link.programNumber).number) == ours,
                let hook = try? NATHook(interface, root: root)
            else { continue }
            hook.remove()
        }
    }

    /// The programs at work in this network namespace: each with the interfaces where it is, whoever
    /// runs them.
    static func programs(
        root: String, interfaces: [HostInterface]
    ) -> [UInt32: [String]] {
        var result: [UInt32: [String]] = [:]
        for interface in interfaces {
            let path = "\(root)/udp-fanout/\(folderName(interface.index))/\(pin)"
            guard let link = try? XDPLink.pinned(at: path), link.programNumber != 0 else {
                continue
            }
            result[link.programNumber, default: []].append(interface.name)
        }
        return result
    }
}
