// SPDX-License-Identifier: Apache-2.0

package import BPFRuntime
package import FanoutCore
internal import Glibc
package import Logging

/// A plane's program at the hook of one interface.
///
/// The hook outlives this process: an XDP or TCX link because it is pinned, a clsact filter by itself. The program of a
/// killed daemon continues to forward, and the next daemon finds the hook and replaces the program in one step. A lock
/// on the folder of the pins shows that a daemon is alive.
package final class PinnedHook {
    package let interface: HostInterface
    /// Where the program is attached; nil while it is not.
    package private(set) var mode: HookMode?
    /// The maps of a killed daemon's program, until `replace`.
    package private(set) var left: PinnedMaps?
    /// How often the program was attached again after it had been detached.
    package private(set) var restores: UInt64 = 0
    /// The program of this process.
    private var program: HookProgram?
    /// Whether the last `replace` took over the hook of a killed daemon.
    private var isTakenOver = false
    /// Why the preferred mode was refused.
    package private(set) var refusal: BPFError?
    /// Whether a failure to attach the program again was logged.
    private var isLogged = false
    private let pins: HookPins?
    private let folder: PinFolder?
    /// The namespace of the interface; in another namespace its index means another interface.
    private let namespace = NetworkNamespace.current
    private var link: HookLink?
    private let filter: ClsactFilter
    /// The IDs of the pinned maps; empty when they may belong to several programs.
    private var pinnedMaps: [String: UInt32] = [:]

    /// A hook that ends with the process.
    package init(_ interface: HostInterface) {
        self.interface = interface
        filter = ClsactFilter(interface: interface.index)
        pins = nil
        folder = nil
    }

    /// Takes the lock and looks for a killed daemon's hook. Changes nothing at the hook.
    package init(_ interface: HostInterface, _ pins: HookPins, root: String) throws(BPFError) {
        self.interface = interface
        filter = ClsactFilter(interface: interface.index)
        self.pins = pins
        folder = try PinFolder(root: root, name: pins.folderName(interface.index))
        if let found = try HookLink.pinned(at: path(of: pins.link)),
            found.interface == interface.index
        {
            mode = found.mode
            link = consume found
        } else if isFilterOurs {
            mode = .clsact
        }
        guard mode != nil else { return }
        left = PinnedMaps(pinnedIn: path(of: ""), named: pins.maps)
        pinnedMaps = left?.identity ?? [:]
    }

    /// The attachment of this process.
    package var current: (program: HookProgram, mode: HookMode)? {
        guard let program, let mode else { return nil }
        return (program, mode)
    }

    /// Replaces the previous program with `program`. The previous one stays attached until then, unless the mode of XDP
    /// changes.
    ///
    /// - Parameter modes: in the order in which they are tried; a program in one of them keeps its mode.
    /// - Returns: the mode.
    @discardableResult
    package func replace(
        with program: HookProgram, trying modes: [HookMode]
    ) throws(BPFError) -> HookMode {
        let arePinned = pinnedMaps == program.maps?.identity ?? [:]
        // If the process is killed between the link and the pins, the next one must not mix the maps of two programs.
        if !arePinned { unmarkMaps() }
        let isFirst = self.program == nil
        let previous = mode
        isTakenOver = isFirst && previous.map(modes.contains) == true
        let mode: HookMode
        if let previous, modes.contains(previous) {
            mode = previous
            if mode == .clsact { try putFilter(program) } else { try link?.replace(with: program) }
        } else {
            mode = try attach(program, trying: modes)
        }
        self.program = program
        left = nil
        if isFirst || mode != previous { removeOtherKind() }
        if !arePinned, let maps = program.maps {
            try folder?.pin(maps)
            pinnedMaps = maps.identity
        }
        return mode
    }

    private func attach(
        _ program: HookProgram, trying modes: [HookMode]
    ) throws(BPFError) -> HookMode {
        refusal = nil
        // There is room for one XDP program, and no way from the driver to the stack without a gap. TC programs run
        // side by side: the second one does not see packets that the first one has forwarded.
        if mode?.isXDP == true {
            removeLink()
            mode = nil
        }
        var (wanted, others) = (modes[0], modes.dropFirst())
        while true {
            do throws(BPFError) {
                if wanted == .clsact {
                    try attachFilter(program)
                } else {
                    link = try HookLink(attaching: program, to: interface.index, wanted)
                }
                mode = wanted
                break
            } catch {
                guard wanted.allowsFallback(after: error), let next = others.popFirst() else {
                    throw error
                }
                refusal = error
                wanted = next
            }
        }
        if wanted != .clsact, let pins {
            folder?.remove(pins.link)
            try link?.pin(at: path(of: pins.link))
        }
        return wanted
    }

    /// Attaches the program again after it was detached, for which there is no event. A foreign program in its place
    /// stays.
    package func restoreIfDetached(trying modes: [HookMode], _ logger: Logger) {
        guard let program, isDetached else { return }
        var fields: Logger.Metadata = [
            "interface": "\(interface.name)", "ifindex": "\(interface.index)",
        ]
        if mode == .clsact, filter.programName == pins?.filterName {
            // The other daemon uses another BPF file system, otherwise it would see the lock.
            fields["reason"] = "another udp-fanout replaced the program of this one"
            fields["remedy"] = "stop one, or name both in one file"
        }
        if !isLogged {
            logger.warning(
                "the program was detached from the interface, it is attached again",
                metadata: fields)
        }
        removeLink()
        mode = nil
        do throws(BPFError) {
            try replace(with: program, trying: modes)
            isLogged = false
            restores += 1
            logAttached(logger)
        } catch {
            // Retried until it works.
            guard !isLogged else { return }
            isLogged = true
            fields["error"] = "\(error)"
            logger.error(
                "the program cannot be attached again, nothing is forwarded", metadata: fields)
        }
    }

    /// Whether the program is detached although the interface exists, as far as the kernel reports it.
    private var isDetached: Bool {
        guard NetworkNamespace.current == namespace, interface.exists else { return false }
        switch mode {
        case nil: return true
        case .clsact:
            return filter.programNumber.map { $0 != program?.number(in: .clsact) } ?? false
        default: return link?.interface != interface.index
        }
    }

    package func attachment(_ plane: ForwardingMode) -> Attachment {
        Attachment(
            mode: plane, interface: interface.name, hook: mode?.rawValue ?? "none",
            restores: restores)
    }

    package func logAttached(_ logger: Logger) {
        guard let mode else { return }
        var fields: Logger.Metadata = [
            "interface": "\(interface.name)", "ifindex": "\(interface.index)",
        ]
        if pins != nil { fields["replaced"] = "\(isTakenOver)" }
        guard mode.isXDP else {
            fields["attach"] = "\(mode.rawValue)"
            logger.info("attached TC eBPF program to ingress", metadata: fields)
            return
        }
        if let refusal {
            logger.warning(
                "native XDP attach failed, trying SKB mode",
                metadata: ["interface": "\(interface.name)", "error": "\(refusal)"])
        }
        fields["mode"] = "\(mode.rawValue)"
        logger.info("attached XDP program", metadata: fields)
    }

    /// Detaches the program and removes all that was created for it.
    package func remove() {
        removeLink()
        removeFilter()
        unmarkMaps()
        for name in pins?.maps ?? [] { folder?.remove(name) }
        mode = nil
        program = nil
        removeEmptyFolder()
    }

    /// Removes the empty folder if no program was attached.
    package func removeEmptyFolder() { folder?.removeIfEmpty() }

    private func path(of pin: String) -> String { folder?.path(of: pin) ?? "" }

    private func unmarkMaps() {
        folder?.unmarkMaps()
        pinnedMaps = [:]
    }

    private func removeOtherKind() {
        if mode == .clsact { removeLink() } else { removeFilter() }
    }

    private func removeLink() {
        try? link?.detach()
        link = nil
        if let pins { folder?.remove(pins.link) }
    }
}

// A clsact filter stays by itself. Marks in the folder show its owner, even to a process that may not read the
// names of programs (CAP_SYS_ADMIN).

extension PinnedHook {
    /// Marks that this program added the queueing discipline.
    private static let discipline = "clsact"
    private static let filterPrefix = "filter-"
    private static func filterMark(_ program: UInt32) -> String { "\(filterPrefix)\(program)" }

    private func attachFilter(_ program: HookProgram) throws(BPFError) {
        if try filter.makeDiscipline() { folder?.setMark(Self.discipline, true) }
        if !isFilterOurs, let number = filter.programNumber, number != 0 {
            let priority = ClsactFilter.priority
            let name = filter.programName
            let program =
                name.map { "\($0) of another tool" }
                ?? "number \(number), whose name this process may not read,"
            throw BPFError(
                operation: "attach filter to", subject: interface.name, errno: EEXIST,
                reason: "the program \(program) has priority \(priority)",
                remedy: name == nil
                    ? "remove it: tc filter del dev \(interface.name) ingress pref \(priority); "
                        + "or start with CAP_SYS_ADMIN"
                    : "give its filter another priority, or set tc_attach: tcx")
        }
        try putFilter(program)
    }

    /// Sets the mark before the filter is added: a process that is killed in between leaves no filter without a mark.
    private func putFilter(_ program: HookProgram) throws(BPFError) {
        let mark = Self.filterMark(program.number(in: .clsact))
        folder?.setMark(mark, true)
        try filter.put(program)
        folder?.removeMarks(startingWith: Self.filterPrefix, but: mark)
    }

    private var isFilterOurs: Bool {
        guard let name = pins?.filterName, let number = filter.programNumber, number != 0 else {
            return false
        }
        return folder?.hasMark(Self.filterMark(number)) == true || filter.programName == name
    }

    private func removeFilter() {
        guard pins?.filterName != nil else { return }
        if isFilterOurs { try? filter.remove() }
        folder?.removeMarks(startingWith: Self.filterPrefix)
        guard folder?.hasMark(Self.discipline) == true else { return }
        try? filter.removeDisciplineIfUnused()
        folder?.setMark(Self.discipline, false)
    }
}

/// The names under which the hooks of a plane are pinned.
package struct HookPins: Sendable {
    /// A folder is named after the index of its interface, whose name may change, and its network namespace, since
    /// several namespaces may see one BPF file system.
    private let prefix: String
    let link: String
    package let maps: [String]
    /// The name of the program at clsact; nil for planes without it.
    let filterName: String?

    package init(prefix: String, link: String, maps: [String], filterName: String? = nil) {
        self.prefix = prefix
        self.link = link
        self.maps = maps
        self.filterName = filterName
    }

    func folderName(_ interface: UInt32) -> String {
        "\(prefix)\(interface)-net-\(NetworkNamespace.current)"
    }

    /// Removes hooks of killed daemons: of deleted interfaces, since a pinned link keeps its program and maps, and at
    /// interfaces where the program would continue to forward to previous receivers. Hooks of a living process stay.
    ///
    /// - Parameters:
    ///   - interfaces: all interfaces of the host.
    ///   - held: the hooks of this process.
    /// - Returns: the interfaces with a removed hook.
    func removeLeftovers(
        root: String, interfaces: [HostInterface], but held: some Collection<UInt32>
    ) -> [HostInterface] {
        let present = Set(interfaces.map { folderName($0.index) })
        let ending = "-net-\(NetworkNamespace.current)"
        PinFolder.removeStale(root: root) { name in
            name.hasPrefix(prefix) && name.hasSuffix(ending) && !present.contains(name)
        }
        return interfaces.filter { interface in
            // Opening a hook creates the folder, and fails while another process holds the lock.
            guard !held.contains(interface.index),
                PinFolder.exists(root: root, name: folderName(interface.index)),
                let hook = try? PinnedHook(interface, self, root: root)
            else { return false }
            hook.remove()
            return true
        }
    }

    /// The maps of the attached programs of all processes in this network namespace, each with the names of the
    /// interfaces of its program.
    ///
    /// - Throws: `BPFError` with EACCES or EPERM for a user without permission.
    package func maps(
        root: String, interfaces: [HostInterface]
    ) throws(BPFError) -> [(maps: PinnedMaps, interfaces: [String])] {
        var result: [[String: UInt32]: (maps: PinnedMaps, interfaces: [String])] = [:]
        for interface in interfaces {
            let folder = "\(root)/udp-fanout/\(folderName(interface.index))"
            do throws(BPFError) {
                guard let link = try HookLink.pinned(at: "\(folder)/\(link)"),
                    link.programNumber != 0,
                    let maps = PinnedMaps(pinnedIn: folder, named: maps)
                else { continue }
                result[maps.identity, default: (maps, [])].interfaces.append(interface.name)
            } catch {
                guard [EACCES, EPERM].contains(error.errno) else { continue }
                throw error
            }
        }
        return Array(result.values)
    }
}

extension HostInterface {
    fileprivate var exists: Bool {
        var name = [CChar](repeating: 0, count: Int(IF_NAMESIZE))
        // SAFETY: the C library writes at most IF_NAMESIZE bytes, NUL included.
        return unsafe if_indextoname(index, &name) != nil
    }
}
