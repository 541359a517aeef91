// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// An XDP program in the two kinds of it that an object has.
///
/// Drivers want the one that takes packets in several pieces (`xdp.frags`, Linux 5.18) when the MTU is more
/// than a page. In the network stack (`XDPMode.skb`) the other one is right: for a program that takes several
/// pieces Linux 6.18 makes a new skb there and forgets how long its link-layer header is
/// (`skb_pp_cow_data`, net/core/skbuff.c), so programs at the TC hook behind it look for headers in the wrong place.
public struct XDPProgram: ~Copyable, Sendable {
    /// For drivers.
    public let native: BPFProgram
    /// For the network stack.
    public let skb: BPFProgram

    /// Two programs that do the same.
    public init(native: consuming BPFProgram, skb: consuming BPFProgram) {
        self.native = native
        self.skb = skb
    }

    /// - Parameter name: of the one for drivers; the other one's has `_skb` behind it.
    /// - Throws: `BPFError` as `BPFObject.program(named:)`.
    public init(of object: borrowing BPFObject, named name: String) throws(BPFError) {
        let native = try object.program(named: name)
        let skb = try object.program(named: name + "_skb")
        self.init(native: native, skb: skb)
    }
}

extension XDPLink {
    /// Attaches in the driver or, when that refuses, in the network stack, each time the kind made for it.
    ///
    /// - Throws: `BPFError` as for one program.
    public init(attaching program: borrowing XDPProgram, to interface: UInt32) throws(BPFError) {
        do throws(BPFError) {
            try self.init(attaching: program.native, to: interface, .native)
        } catch {
            if [EPERM, ENODEV, EBUSY].contains(error.errno) { throw error }
            try self.init(attaching: program.skb, to: interface, .skb, after: error)
        }
    }

    /// Attaches the kind made for `mode`.
    ///
    /// - Throws: `BPFError` as for one program.
    public init(
        attaching program: borrowing XDPProgram, to interface: UInt32, _ mode: XDPMode
    ) throws(BPFError) {
        switch mode {
        case .native: try self.init(attaching: program.native, to: interface, mode)
        case .skb: try self.init(attaching: program.skb, to: interface, mode)
        }
    }

    /// Exchanges the program for the kind made for where the link is: each packet meets the one before or
    /// the new one.
    public borrowing func replace(with program: borrowing XDPProgram) throws(BPFError) {
        switch mode {
        case .native: try replace(with: program.native)
        case .skb: try replace(with: program.skb)
        }
    }
}
