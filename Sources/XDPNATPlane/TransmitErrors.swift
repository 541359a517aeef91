// SPDX-License-Identifier: Apache-2.0

internal import BPFRuntime
internal import KernelForwarding
internal import KernelPrograms
internal import Logging

/// Counts frames that programs sent and drivers refused: bpf/xdp_errors.bpf.c.
final class TransmitErrors: Sendable {
    private let sources: BPFMap
    private let counts: BPFMap
    private let redirected: TracepointLink
    private let refused: TracepointLink
    private let turned: TracepointLink
    private let excepted: TracepointLink

    /// - Throws: `BPFError` when the kernel has no type information (CONFIG_DEBUG_INFO_BTF) or refuses the programs.
    init() throws(BPFError) {
        var object = try BPFObject(opening: .xdpErrors)
        try object.set("lb_namespace", to: UInt32(truncatingIfNeeded: NetworkNamespace.current))
        try object.load()
        sources = try object.map(named: "sources")
        counts = try object.map(named: "transmit_errors")
        redirected = try TracepointLink(attaching: object.program(named: "count_devmap_xmit"))
        refused = try TracepointLink(attaching: object.program(named: "count_redirect_err"))
        turned = try TracepointLink(attaching: object.program(named: "count_bulk_tx"))
        excepted = try TracepointLink(attaching: object.program(named: "count_exception"))
    }

    /// Counts frames that come in by these interfaces, and no others.
    func count(from interfaces: Set<UInt32>) throws(BPFError) {
        var previous: Set<UInt32> = []
        try sources.walk { key, _ in previous.insert(key.read(UInt32.self)) }
        for index in previous.subtracting(interfaces) { try sources.remove(index) }
        for index in interfaces.subtracting(previous) { try sources.set(index, to: UInt32(1)) }
    }

    /// Frames that did not leave by an interface.
    func errors(of interface: UInt32) -> UInt64 { (try? counts.sum(of: interface))?.first ?? 0 }
}

extension XDPNATPlane {
    /// Of every interface with a program, and of other output interfaces.
    package func transmitErrors() -> [String: UInt64] {
        guard let errors, let network else { return [:] }
        var result: [String: UInt64] = [:]
        for interface in network.interfaces {
            let count = errors.errors(of: interface.index)
            if count > 0 || hooks.has(interface.index) { result[interface.name] = count }
        }
        return result
    }

    /// Counts at the current hooks.
    func countErrors() {
        do throws(BPFError) {
            if errors == nil, !countsNoErrors { errors = try TransmitErrors() }
            try errors?.count(from: Set(hooks.all.map(\.interface.index)))
        } catch {
            countsNoErrors = true
            logger.warning(
                "packets that drivers refuse are not counted", metadata: ["error": "\(error)"]
            )
        }
    }
}
