// SPDX-License-Identifier: Apache-2.0

internal import CDatapath
internal import HostNetwork

/// Who is served on a port: an element of the map `ports`.
enum ServedPort: Equatable, Sendable {
    /// One destination; the table of the listener with this number says which.
    case sole(ServedDestination, listener: UInt32)
    /// Several destinations, or every one: the map `listeners` knows them.
    case shared

    /// As lb/tables.h has it.
    var value: UInt32 {
        switch self {
        case .sole(_, let listener): listener + 1
        case .shared: LB_PORT_SHARED
        }
    }

    /// By port, for destinations with their listeners' numbers.
    static func all(of entries: [ServedDestination: UInt32]) -> [UInt16: ServedPort] {
        var ports: [UInt16: ServedPort] = [:]
        for (entry, listener) in entries where entry.port != 0 {
            let isSole = ports[entry.port] == nil && entry.address != nil
            ports[entry.port] = isSole ? .sole(entry, listener: listener) : .shared
        }
        return ports
    }
}
