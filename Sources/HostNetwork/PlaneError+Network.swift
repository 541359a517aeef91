// SPDX-License-Identifier: Apache-2.0

package import FanoutCore
internal import Glibc
package import Netlink

extension PlaneError {
    /// A listener's interface is not there.
    fileprivate init(noInterface listener: Listener, among interfaces: [HostInterface]) {
        let names = interfaces.map(\.name).joined(separator: ", ")
        self.init(
            operation: "attach",
            subject: "listener \(listener.name) to interface \(listener.interface ?? "")",
            code: ENODEV, reason: "there is no such interface",
            remedy: "write one of those that exist: \(names)")
    }

    /// The kernel does not tell about the network.
    package init(looking error: NetlinkError) {
        self.init(
            operation: error.operation, subject: error.subject, code: error.errno,
            reason: error.reason, remedy: error.remedy)
    }
}

extension NetworkView {
    /// That of every listener which a change brings has to be there; others may wait for theirs to come back.
    package func checkInterfaces(of change: Change) throws(PlaneError) {
        for listener in change.added + change.replaced.map(\.to)
        where interface(named: listener.interface) == nil {
            throw PlaneError(noInterface: listener, among: interfaces)
        }
    }
}
