// SPDX-License-Identifier: Apache-2.0

internal import BPFRuntime
internal import Glibc

/// The maps of `xdp_nat` that outlive a program: the IDs of services and servers, and the associations of clients.
extension PinnedMaps {
    static let numbers = ["services", "servers", "fragments"]
    static let associations = ["associations4", "associations6", "unanswered4", "unanswered6"]

    /// Makes an object use them, before it is loaded; maps of associations only if their size fits.
    ///
    /// - Returns: the maps that do not fit and may have entries.
    func share(with object: inout BPFObject) throws(BPFError) -> [String] {
        for name in Self.numbers { try share(name, with: &object) }
        var forgotten: [String] = []
        for name in Self.associations {
            do throws(BPFError) {
                try share(name, with: &object)
            } catch {
                guard error.errno == EINVAL else { throw error }
                // A family that was not served had a map of size 1.
                if try read(name, { $0.entries }) > 1 { forgotten.append(name) }
            }
        }
        return forgotten
    }
}
