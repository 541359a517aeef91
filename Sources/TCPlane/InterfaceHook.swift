// SPDX-License-Identifier: Apache-2.0

internal import BPFRuntime
internal import FanoutCore
internal import Glibc
internal import KernelForwarding

/// Our program at the ingress hook of one interface.
///
/// What is at the hook outlives this process: a TCX link because it is pinned, a filter anyway. So a
/// daemon that was killed goes on forwarding, and the next one finds the hook and exchanges the program
/// in one step. A lock on the folder of the pins says that one is alive.
final class InterfaceHook {
    let interface: HostInterface
    /// What came of it: `tcx` or `clsact`; nil until a program is there.
    private(set) var kind: TCAttach?
    /// Whether a program of ours was at the hook already.
    private(set) var isAdopted = false
    private let folder: PinFolder
    /// Where the interface is; what a thread of another one asks about the hook would be about another
    /// interface of that number.
    private let namespace = NetworkNamespace.current
    private var link: TCXLink?
    private let filter: ClsactFilter
    /// The map that is pinned here, by the kernel's number.
    private var pinnedFates: UInt32?

    private static let pin = "tc_link"
    private static let mark = "clsact"

    /// By number, since an interface may change its name; and by namespace, since several may see one
    /// BPF file system.
    private static func folderName(_ interface: UInt32) -> String {
        "interface-\(interface)-net-\(NetworkNamespace.current)"
    }

    /// Removes what killed daemons left: for interfaces that are no more, since a pinned link keeps its
    /// program and maps even then, and at interfaces that nobody's listeners name any more, where it would
    /// go on forwarding to receivers of old. What a living process holds stays.
    ///
    /// - Parameters:
    ///   - interfaces: all that there are.
    ///   - held: those that this process holds.
    /// - Returns: the interfaces at which something was.
    static func removeLeftovers(
        root: String, interfaces: [HostInterface], but held: Set<UInt32>
    ) -> [HostInterface] {
        let present = Set(interfaces.map { folderName($0.index) })
        let ending = "-net-\(NetworkNamespace.current)"
        PinFolder.removeStale(root: root) { name in
            name.hasPrefix("interface-") && name.hasSuffix(ending) && !present.contains(name)
        }
        return interfaces.filter { interface in
            // Making a hook makes the folder, and the lock tells whether somebody lives.
            guard !held.contains(interface.index),
                PinFolder.exists(root: root, name: folderName(interface.index)),
                let left = try? InterfaceHook(interface, root: root)
            else { return false }
            left.remove()
            return true
        }
    }

    /// Takes the lock; alters nothing at the hook.
    init(_ interface: HostInterface, root: String) throws(BPFError) {
        folder = try PinFolder(root: root, name: Self.folderName(interface.index))
        self.interface = interface
        filter = ClsactFilter(interface: interface.index)
    }

    /// What the program remembers that a former process left here.
    var leftFates: FragmentFates? { isOccupied ? .pinned(in: folder) : nil }

    /// Whether a program of ours is there by the hook that is wanted.
    func satisfies(_ wanted: TCAttach) -> Bool {
        kind != nil && (wanted == .auto || wanted == kind)
    }

    /// Whether a program of ours is at the hook, this process's or a former one's.
    var isOccupied: Bool {
        if kind != nil || isFilterOurs { return true }
        let left = (try? TCXLink.pinned(at: folder.path(of: Self.pin))) ?? nil
        return left?.interface == interface.index
    }

    /// Leaves no empty folder of pins behind where nothing was attached.
    func leaveIfIdle() { folder.removeIfEmpty() }

    /// Has packets meet `program` from now on, in place of the one before, by the hook that is wanted.
    func put(_ program: TCProgram, by wanted: TCAttach) throws(BPFError) {
        switch kind {
        case .tcx where wanted != .clsact: try link?.replace(with: program.program)
        case .clsact where wanted != .tcx: try putFilter(program)
        default: try attach(program, by: wanted)
        }
        let fates = program.fates.map.number
        if pinnedFates != fates {
            try program.fates.pin(in: folder)
            pinnedFates = fates
        }
    }

    /// Whether packets meet `program`, as far as the kernel says: others may take it off the hook, or put
    /// theirs in its place, and nobody is told.
    func has(_ program: TCProgram) -> Bool {
        guard NetworkNamespace.current == namespace else { return true }
        switch kind {
        case .tcx: return link?.interface == interface.index
        case .clsact: return filter.programNumber.map { $0 == program.program.number } ?? true
        default: return false
        }
    }

    /// Whether it is another daemon of this kind that has our place. That one does not see our lock, so it
    /// sees another BPF file system.
    var isTakenByAnother: Bool { kind == .clsact && filter.programName == TCProgram.name }

    /// Forgets what somebody took off the hook, so that `put` makes it anew.
    func forget() {
        kind = nil
        link = nil
        folder.remove(Self.pin)
    }

    /// The other kind of hook is left only when this one has the program: for a moment both have, and
    /// what the first has forwarded, the second does not see.
    private func attach(_ program: TCProgram, by wanted: TCAttach) throws(BPFError) {
        if wanted != .clsact {
            do throws(BPFError) {
                try attachLink(program)
                kind = .tcx
                removeFilter()
                return
            } catch {
                // Kernels before 6.6 do not know the hook.
                guard wanted == .auto, error.errno == EINVAL else { throw error }
            }
        }
        try attachFilter(program)
        kind = .clsact
        removeLink()
    }

    private func attachLink(_ program: TCProgram) throws(BPFError) {
        let path = folder.path(of: Self.pin)
        if let left = try TCXLink.pinned(at: path), left.interface == interface.index {
            try left.replace(with: program.program)
            link = consume left
            isAdopted = true
            return
        }
        folder.remove(Self.pin)
        let made = try TCXLink(attaching: program.program, to: interface.index)
        try made.pin(at: path)
        link = consume made
    }

    private func attachFilter(_ program: TCProgram) throws(BPFError) {
        if try filter.makeDiscipline() { folder.setMark(Self.mark, true) }
        if isFilterOurs {
            isAdopted = true
        } else if let other = filter.programName {
            throw BPFError(
                operation: "attach filter to", subject: interface.name, errno: EEXIST,
                reason: "the program \(other) of another tool has priority "
                    + "\(ClsactFilter.priority)",
                remedy: "give its filter another priority, or write tc_attach: tcx")
        } else if let number = filter.programNumber, number != 0 {
            throw BPFError(
                operation: "attach filter to", subject: interface.name, errno: EEXIST,
                reason: "the program number \(number), whose name may not be asked for, has "
                    + "priority \(ClsactFilter.priority)",
                remedy: "remove it: tc filter del dev \(interface.name) ingress pref "
                    + "\(ClsactFilter.priority); or start with CAP_SYS_ADMIN")
        }
        try putFilter(program)
    }

    /// Marks the program's number before the filter is there: whose it is can be told then, even by a process
    /// that may not ask for the names of programs (CAP_SYS_ADMIN).
    private func putFilter(_ program: TCProgram) throws(BPFError) {
        let mark = Self.filterMark(program.program.number)
        folder.setMark(mark, true)
        try filter.put(program.program)
        folder.removeMarks(startingWith: Self.filterPrefix, but: mark)
    }

    private var isFilterOurs: Bool {
        guard let number = filter.programNumber, number != 0 else { return false }
        return folder.hasMark(Self.filterMark(number)) || filter.programName == TCProgram.name
    }

    private static let filterPrefix = "filter-"
    private static func filterMark(_ number: UInt32) -> String { "\(filterPrefix)\(number)" }

    /// Takes our program, and what we made for it, off the interface.
    func remove() {
        removeLink()
        removeFilter()
        FragmentFates.removePin(in: folder)
        pinnedFates = nil
        kind = nil
        folder.removeIfEmpty()
    }

    private func removeLink() {
        if link == nil, let left = try? TCXLink.pinned(at: folder.path(of: Self.pin)) {
            link = consume left
        }
        try? link?.detach()
        link = nil
        folder.remove(Self.pin)
    }

    private func removeFilter() {
        if isFilterOurs { try? filter.remove() }
        folder.removeMarks(startingWith: Self.filterPrefix)
        guard folder.hasMark(Self.mark) else { return }
        try? filter.removeDisciplineIfUnused()
        folder.setMark(Self.mark, false)
    }
}

/// An interface that the program is to be attached to, and how.
struct WantedHook: Equatable, Sendable {
    let interface: HostInterface
    let attach: TCAttach

    /// One for each interface that listeners name and that is there, by number.
    ///
    /// - Throws: `PlaneError` when two listeners of an interface want it hooked in different ways.
    static func all(
        of listeners: [Listener], on network: NetworkView
    ) throws(PlaneError) -> [WantedHook] {
        var wanted: [UInt32: WantedHook] = [:]
        for listener in listeners {
            guard let interface = network.interface(named: listener.interface) else { continue }
            let attach = listener.settings.tcAttach
            let known = wanted[interface.index]?.attach ?? .auto
            guard attach == .auto || known == .auto || attach == known else {
                throw PlaneError(listener, disagreesOver: interface.name)
            }
            wanted[interface.index] = WantedHook(
                interface: interface, attach: attach == .auto ? known : attach)
        }
        return wanted.values.sorted { $0.interface.index < $1.interface.index }
    }
}
