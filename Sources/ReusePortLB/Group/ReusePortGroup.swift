// SPDX-License-Identifier: Apache-2.0

internal import CDatapath
internal import CReusePortLB
internal import Glibc

/// A group of sockets on one address and port, among which a BPF program chooses.
///
/// A member is a socket in a *slot* below the group's *count*. All packets of one source reach the
/// member that the slot table names for it; while that member is gone, a fallback member replaces it, and no
/// other sources move.
///
/// The group outlives this value: pins keep it until ``destroy(_:pinRoot:)``, and a private group lasts as long as a
/// member's socket. All functions may be called from any thread.
public struct ReusePortGroup: ~Copyable, Sendable {
    /// Where groups are pinned by default: `/sys/fs/bpf`.
    public static let defaultPinRoot = RPLB_PIN_ROOT
    /// Slots that a group can have, 128, unless ``GroupOptions/capacity`` says otherwise.
    public static let defaultCapacity = Int(RPLB_CAPACITY)
    /// The highest capacity of a group: 1024.
    public static let maximumCapacity = Int(RPLB_MEMBERS_MAX)

    /// nil for a private group.
    public let name: String?
    let handle: GroupHandle

    /// Opens the group `name` below the pin root, and creates it if need be.
    ///
    /// Creating needs CAP_BPF and CAP_NET_ADMIN, or root; opening needs only the right to read and write
    /// the pins.
    ///
    /// - Parameters:
    ///   - name: 1...64 characters without `/` and `.`.
    ///   - options: a new group needs at least a count.
    /// - Throws: `.notFound` without a count, or when only an existing group would do; `.outOfRange` with
    ///   a count out of range; `.noBPFFileSystem`, `.notPermitted`, `.accessDenied`, `.settingsDiffer`, `.busy`,
    ///   `.otherVersion`, `.unsupported`, `.timedOut`, `.invalid`.
    public init(
        _ name: String, _ options: GroupOptions = GroupOptions()
    ) throws(ReusePortError) {
        self.name = name
        handle = try GroupHandle(name, options)
    }

    /// Creates a group that no other process can open and that leaves nothing behind.
    ///
    /// - Parameter options: the pin root, owner and mode are ignored.
    public init(private options: GroupOptions) throws(ReusePortError) {
        name = nil
        handle = try GroupHandle(nil, options)
    }

    /// Puts a socket into a slot, so that it gets the packets of the slot's sources, and resizes the group to the count
    /// that it was opened with.
    ///
    /// A UDP socket must be bound, a TCP socket must listen, both with SO_REUSEPORT set before. No packet
    /// is dropped in between.
    ///
    /// - Parameters:
    ///   - socket: in no slot yet, and bound where the other members are.
    ///   - slot: below the group's count.
    ///   - replacing: take over from the live member of the slot. It becomes the slot's previous member, which gets
    ///     packets again if this socket closes first, until it leaves (``Membership/retireIfReplaced()``). No source
    ///     goes to another slot.
    /// - Returns: the membership, which ends when it is left or goes out of scope. It keeps the socket open until then.
    /// - Throws: `.slotTaken`, also when the slot has a previous member already; `.outOfRange`, `.busy` when the socket
    ///   is in a slot already, `.otherAddress`, `.notBound`, `.notSharingPort`, `.wrongSocket`, `.timedOut`.
    public borrowing func join(
        _ socket: borrowing ReusePortSocket, slot: Int, replacing: Bool = false
    ) throws(ReusePortError) -> Membership {
        try Membership(handle, socket.handle, slot: slot, replacing: replacing)
    }

    /// The same for a socket that the caller owns. When the caller closes it the slot is empty, and the end of the
    /// membership changes nothing.
    public borrowing func join(
        descriptor: Int32, slot: Int, replacing: Bool = false
    ) throws(ReusePortError) -> Membership {
        try Membership(
            handle, SocketHandle(borrowing: descriptor), slot: slot, replacing: replacing)
    }

    /// Puts a UDP socket of another process into a slot: of a program that binds with SO_REUSEPORT itself and does not use
    /// this library. The process keeps its socket; when it closes it or ends, the slot is empty. Needs the permission to
    /// trace the process (ptrace(2)): the same user, or root.
    ///
    /// - Parameters:
    ///   - process: its pid.
    ///   - port: the port of the socket; nil: the only bound UDP socket with SO_REUSEPORT.
    ///   - slot: below the group's count.
    ///   - replacing: as of ``join(_:slot:replacing:)``.
    /// - Throws: `.noSuchProcess`, `.notPermitted`, `.noSuchSocket`, `.severalSockets`, or as ``join(_:slot:replacing:)``.
    public borrowing func adopt(
        process: Int32, port: UInt16? = nil, slot: Int, replacing: Bool = false
    ) throws(ReusePortError) {
        let number = UInt32(exactly: slot) ?? .max
        try check(
            unsafe rplb_adopt(handle.native, process, port ?? 0, number, replacing ? 1 : 0),
            "put a socket of process \(process) into slot \(slot) of", handle.subject,
            RPLB_CALL_ADOPT)
    }

    /// Puts a socket that this process shares with another one into a slot. Unlike a membership this lasts until the
    /// last copy of the socket is closed, in any process.
    ///
    /// - Parameter process: the pid that ``members()`` lists; nil: of this process.
    /// - Throws: as ``join(_:slot:replacing:)``.
    public borrowing func adopt(
        descriptor: Int32, process: Int32? = nil, slot: Int, replacing: Bool = false
    ) throws(ReusePortError) {
        let number = UInt32(exactly: slot) ?? .max
        try check(
            unsafe rplb_adopt_fd(
                handle.native, descriptor, process ?? getpid(), number, replacing ? 1 : 0),
            "put a socket into slot \(slot) of", handle.subject, RPLB_CALL_JOIN)
    }

    /// Attaches the program to the sockets on a socket's port without joining, so that it also chooses for sockets that
    /// other processes have bound.
    public borrowing func attach(descriptor: Int32) throws(ReusePortError) {
        try check(
            unsafe rplb_attach(handle.native, descriptor), "attach the program of", handle.subject,
            RPLB_CALL_JOIN)
    }

    /// Gives the group another count, 1...capacity.
    ///
    /// - Throws: `.busy` when a live member would be cut off.
    public borrowing func resize(count: Int) throws(ReusePortError) {
        let wanted = UInt32(exactly: count) ?? .max
        try check(
            unsafe rplb_resize(handle.native, wanted), "resize to \(count) members", handle.subject,
            RPLB_CALL_RESIZE)
    }

    /// Removes the pins of a group, half-built ones too.
    ///
    /// - Parameters:
    ///   - name: as it was created with.
    ///   - pinRoot: nil for ``defaultPinRoot``.
    /// - Throws: `.busy` while a member lives; `.notFound`, `.accessDenied`, `.otherVersion`,
    ///   `.timedOut`.
    public static func destroy(_ name: String, pinRoot: String? = nil) throws(ReusePortError) {
        let result = unsafe withOptionalCString(pinRoot) { root in
            unsafe rplb_group_destroy(root, name)
        }
        guard result == 0 else {
            // Only the C library knows whether the pins or the root denied access.
            let remedy = -result == EACCES ? nil : PinRoot(pinRoot).remedy(errno: -result)
            throw ReusePortError(
                "destroy", "group \(name)", errno: -result, RPLB_CALL_DESTROY, remedy: remedy)
        }
    }

    /// The version of the layout of the pins; groups of another version are refused.
    public static var abiVersion: Int { Int(LB_REUSEPORT_ABI) }

    /// The version of the C library, such as `0.1.0`.
    public static var libraryVersion: String { unsafe String(cString: rplb_version()) }
}

/// The state of a group.
extension ReusePortGroup {
    public borrowing func info() throws(ReusePortError) -> GroupInfo {
        var info = rplb_info()
        try check(
            unsafe rplb_info(handle.native, &info), "look at", handle.subject,
            RPLB_CALL_REPORT)
        guard let key = Key(info) else {
            throw ReusePortError("look at", handle.subject, errno: EPROTONOSUPPORT)
        }
        return GroupInfo(
            count: Int(info.count), key: key, seed: info.seed,
            address: Endpoint(storage: info.address), abi: Int(info.abi),
            capacity: Int(info.capacity), flows: Int(info.flows),
            isFallback: info.is_fallback != 0)
    }

    /// The counters of one slot.
    ///
    /// - Parameter slot: below the group's capacity; slots that the group had before a resize keep theirs.
    public borrowing func counters(slot: Int) throws(ReusePortError) -> SlotCounters {
        var row = rplb_counters()
        let number = UInt32(exactly: slot) ?? .max
        try check(
            unsafe rplb_counters(handle.native, number, &row),
            "read the counters of slot \(slot) of",
            handle.subject, RPLB_CALL_REPORT)
        return SlotCounters(selected: row.selected, fallback: row.fallback, missed: row.missed)
    }

    /// The counters of every slot below the group's count, in their order.
    public borrowing func counters() throws(ReusePortError) -> [SlotCounters] {
        var rows: [SlotCounters] = []
        for slot in 0..<(try info().count) { rows.append(try counters(slot: slot)) }
        return rows
    }

    /// Packets for which there was no member, so that the kernel chose among the sockets on the port.
    public borrowing func leftToKernel() throws(ReusePortError) -> UInt64 {
        var packets: UInt64 = 0
        try check(
            unsafe rplb_left_to_kernel(handle.native, &packets), "read the counters of",
            handle.subject, RPLB_CALL_REPORT)
        return packets
    }

    /// Packets of flows that the group did not remember, because they were new or forgotten; 0 without
    /// ``GroupOptions/flows``.
    public borrowing func flowsMissed() throws(ReusePortError) -> UInt64 {
        var packets: UInt64 = 0
        try check(
            unsafe rplb_flows_missed(handle.native, &packets), "read the counters of",
            handle.subject, RPLB_CALL_REPORT)
        return packets
    }

    /// The member that gets the packets of a source now.
    ///
    /// - Parameters:
    ///   - source: the sender; its port matters for ``Key/fourTuple`` alone.
    ///   - destination: the receiver, for ``Key/fourTuple`` and payloads without the bytes of the key.
    ///   - payload: of the datagram, for ``Key/payload(_:)``.
    /// - Throws: `.notBound` when the key needs a destination; with errno ENODATA when it needs a payload, EDOM for a
    ///   group that does not balance by a property of the packet.
    public borrowing func placement(
        of source: Endpoint, to destination: Endpoint? = nil, payload: [UInt8]? = nil,
        transport: Member.Transport = .udp
    ) throws(ReusePortError) -> Placement {
        let number = Int32(transport == .udp ? IPPROTO_UDP : IPPROTO_TCP)
        var (slot, member) = (UInt32(0), rplb_member())
        let from = try source.storage()
        let to = if let destination { try destination.storage() } else { sockaddr_storage() }
        let group = unsafe handle.native
        // SAFETY: sockaddr_storage begins as a sockaddr does and has room for each family.
        let result = unsafe withUnsafeBytes(of: from) { from in
            unsafe withUnsafeBytes(of: to) { to in
                // An empty array may have no address, which would mean no payload.
                unsafe ((payload ?? []) + [0]).withUnsafeBytes { bytes in
                    unsafe rplb_slot_of_payload(
                        group, number, from.baseAddress?.assumingMemoryBound(to: sockaddr.self),
                        destination == nil
                            ? nil : to.baseAddress?.assumingMemoryBound(to: sockaddr.self),
                        payload == nil ? nil : bytes.baseAddress, bytes.count - 1, &slot, &member)
                }
            }
        }
        try check(result, "look up \(source) in", handle.subject, RPLB_CALL_REPORT)
        return Placement(
            slot: Int(slot), member: member.cookie == 0 ? nil : Member(member))
    }

    /// The live members by transport and slot, the current one of a slot before the previous one.
    public borrowing func members() throws(ReusePortError) -> [Member] {
        // SAFETY: any bytes are a valid rplb_member, and there is room for as many as are announced.
        let most = try 4 * info().capacity
        var rows = [rplb_member](repeating: rplb_member(), count: most)
        var found = 0
        try check(
            unsafe rplb_members(handle.native, &rows, most, &found), "list the members of",
            handle.subject, RPLB_CALL_REPORT)
        return rows.prefix(found).map(Member.init)
    }
}

extension Member {
    init(_ native: rplb_member) {
        slot = Int(native.slot)
        transport = native.protocol == Int32(IPPROTO_TCP) ? .tcp : .udp
        cookie = native.cookie
        isPrevious = native.is_previous != 0
        generation = native.generation == 0 ? nil : native.generation
        joinedNanoseconds = native.joined_ns == 0 ? nil : native.joined_ns
        pid = native.pid == 0 ? nil : native.pid
        uid = native.joined_ns == 0 ? nil : native.uid
    }
}

extension ReusePortGroup {
    /// A folder below a pin root that has a group, or may have one.
    public struct Pinned: Hashable, Sendable {
        public let name: String
        /// False if the caller may not read the folder, so its content is unknown.
        public let isReadable: Bool
    }

    /// The groups below a pin root by name: every folder with the maps of a group in it, and every folder
    /// that the caller may not look into.
    ///
    /// - Parameter pinRoot: nil for ``defaultPinRoot``.
    /// - Throws: `.noBPFFileSystem` when there is no such folder, `.accessDenied` when it cannot be read.
    public static func pinned(below pinRoot: String? = nil) throws(ReusePortError) -> [Pinned] {
        let root = pinRoot ?? defaultPinRoot
        var found: [Pinned] = []
        for name in try entries(of: root) {
            let folder = "\(root)/\(name)"
            var facts = stat()
            guard unsafe stat(folder, &facts) == 0, facts.st_mode & S_IFMT == S_IFDIR else {
                continue
            }
            // The map that every version of the library pins.
            if unsafe stat("\(folder)/udp_balancing_targets", &facts) == 0 {
                found.append(Pinned(name: name, isReadable: true))
            } else if Glibc.errno == EACCES {
                found.append(Pinned(name: name, isReadable: false))
            }
        }
        return found.sorted { $0.name < $1.name }
    }

    private static func entries(of root: String) throws(ReusePortError) -> [String] {
        guard let folder = unsafe opendir(root) else {
            // Without the folder there is no file system on it either.
            let code = [ENOENT, ENOTDIR].contains(Glibc.errno) ? ENODEV : Glibc.errno
            let remedy =
                code == EACCES
                ? "this user may not list it" : PinRoot(root).remedy(errno: code)
            throw ReusePortError("list the groups below", root, errno: code, remedy: remedy)
        }
        defer { unsafe closedir(folder) }
        var names: [String] = []
        // SAFETY: the entry is the folder's until the next readdir, and its name NUL-terminated.
        while let entry = unsafe readdir(folder) {
            let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) { tuple in
                unsafe tuple.withMemoryRebound(to: CChar.self, capacity: 256) {
                    unsafe String(cString: $0)
                }
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names
    }
}

/// The folder below which a group is pinned, for errors about the folder.
struct PinRoot {
    let path: String
    private let isDefault: Bool

    /// - Parameter path: nil for the default.
    init(_ path: String?) {
        self.path = path ?? ReusePortGroup.defaultPinRoot
        isDefault = self.path == ReusePortGroup.defaultPinRoot
    }

    /// What an error means at this folder; nil when it is not about the folder.
    ///
    /// The kernel returns the same errno for a closed folder and for closed pins; a second check shows which one it is.
    func remedy(errno: Int32) -> String? {
        switch errno {
        case ENODEV where !isDefault:
            return "\(path) is on no BPF file system: name a folder on one, such as "
                + "\(ReusePortGroup.defaultPinRoot), or make one of an empty folder with "
                + "mount -t bpf bpf FOLDER"
        case EACCES where !isSearchable:
            return "this user cannot search \(path): chmod 711 \(path) as root"
        case EACCES:
            return "the group's pins belong to another user: its creator names the owner; or use "
                + "another group"
        default:
            return nil
        }
    }

    /// Whether the caller may look up names in it.
    private var isSearchable: Bool {
        unsafe faccessat(AT_FDCWD, path, X_OK, Int32(AT_EACCESS)) == 0
    }
}
