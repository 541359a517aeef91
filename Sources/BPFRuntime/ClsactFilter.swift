// SPDX-License-Identifier: Apache-2.0

internal import CLibBPF
internal import CNet
internal import Glibc

/// A program at the ingress hook of an interface, as a filter of its clsact queueing discipline: for
/// kernels before TCX. It stays when this process ends.
///
/// `tc filter show dev INTERFACE ingress` shows it under the name of its program.
public struct ClsactFilter: Sendable {
    public let interface: UInt32

    /// The priority among other tools' filters; a lower number comes first.
    public static let priority: UInt32 = 0xfa0
    private static let number: UInt32 = 1

    public init(interface: UInt32) { self.interface = interface }

    /// Adds the queueing discipline.
    ///
    /// - Returns: false when there was one already.
    public func makeDiscipline() throws(BPFError) -> Bool {
        var hook = hook
        // SAFETY: libbpf reads the structure, whose size is set.
        let result = unsafe bpf_tc_hook_create(&hook)
        if result == -EEXIST { return false }
        guard result == 0 else { throw failure("make clsact on", result) }
        return true
    }

    /// The name of the program of the filter with our handle; nil if there is none.
    public var programName: String? {
        var (hook, place) = (hook, place)
        // SAFETY: libbpf reads and writes the structures, whose sizes are set.
        guard unsafe bpf_tc_query(&hook, &place) == 0 else { return nil }
        return BPFProgram.name(ofNumber: place.prog_id)
    }

    /// The ID of the program of the filter with our handle; 0 if there is none, nil if the kernel does not
    /// report it.
    public var programNumber: UInt32? {
        var (hook, place) = (hook, place)
        // SAFETY: libbpf reads and writes the structures, whose sizes are set.
        let result = unsafe bpf_tc_query(&hook, &place)
        if result == 0 { return place.prog_id }
        // EINVAL: there is no queueing discipline.
        return [-ENOENT, -EINVAL].contains(result) ? 0 : nil
    }

    /// Attaches the program, in place of an existing one: each packet sees one of the two.
    public func put(_ program: HookProgram) throws(BPFError) {
        var (hook, place) = (hook, place)
        place.prog_fd = program.descriptor(in: .clsact)
        place.flags = BPF_TC_F_REPLACE.rawValue
        // SAFETY: libbpf reads and writes the structures, whose sizes are set.
        let result = unsafe bpf_tc_attach(&hook, &place)
        guard result == 0 else { throw failure("attach filter to", result) }
    }

    /// Removes the filter, if there is one.
    public func remove() throws(BPFError) {
        var (hook, place) = (hook, place)
        // SAFETY: libbpf reads the structures, whose sizes are set.
        let result = unsafe bpf_tc_detach(&hook, &place)
        // ENODEV: the interface is gone, and the filter with it. EINVAL: the discipline is gone.
        guard [0, -ENOENT, -ENODEV, -EINVAL].contains(result) else {
            throw failure("remove filter from", result)
        }
    }

    /// Removes the queueing discipline, unless a filter is left on it.
    public func removeDisciplineIfUnused() throws(BPFError) {
        let filters = cnet_clsact_filters(interface)
        // ENODEV: the interface is gone, and all on it.
        guard filters == 0 else {
            if filters > 0 || filters == -ENODEV { return }
            throw failure("list filters of", filters)
        }
        var hook = hook
        hook.attach_point = bpf_tc_attach_point(
            BPF_TC_INGRESS.rawValue | BPF_TC_EGRESS.rawValue)
        // SAFETY: libbpf reads the structure, whose size is set.
        let result = unsafe bpf_tc_hook_destroy(&hook)
        guard [0, -ENOENT, -ENODEV, -EINVAL].contains(result) else {
            throw failure("remove clsact of", result)
        }
    }

    /// The size up to the last field: libbpf requires zeros after it, and a copy of a structure need not keep its
    /// padding.
    private static let hookBytes = size(\bpf_tc_hook.parent)
    private static let placeBytes = size(\bpf_tc_opts.priority)

    private static func size<Whole>(_ last: KeyPath<Whole, UInt32>) -> Int {
        MemoryLayout<Whole>.offset(of: last).map { $0 + MemoryLayout<UInt32>.size }
            ?? MemoryLayout<Whole>.size
    }

    private var hook: bpf_tc_hook {
        var hook = bpf_tc_hook()
        hook.sz = Self.hookBytes
        hook.ifindex = Int32(bitPattern: interface)
        hook.attach_point = BPF_TC_INGRESS
        return hook
    }

    private var place: bpf_tc_opts {
        var place = bpf_tc_opts()
        place.sz = Self.placeBytes
        place.handle = Self.number
        place.priority = Self.priority
        return place
    }

    private func failure(_ operation: String, _ result: Int32) -> BPFError {
        BPFError(
            operation: operation, subject: "interface \(interface)", errno: -result,
            remedy: result == -ENOENT ? "needs a kernel with CONFIG_NET_CLS_BPF" : nil)
    }
}
