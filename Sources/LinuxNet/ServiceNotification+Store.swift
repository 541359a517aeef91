// SPDX-License-Identifier: Apache-2.0

internal import CNet
internal import Glibc

/// Descriptors that the manager keeps open over a restart (systemd.service(5), FileDescriptorStoreMax=).
extension ServiceNotification {
    /// Whether there is a manager to keep something.
    public var isManaged: Bool { name != nil }

    /// Has the manager keep copies of descriptors, for the next start of the service.
    ///
    /// - Parameter label: by which they come back; at most 255 characters without a colon.
    public func keep(_ descriptors: [Int32], as label: String) {
        var rest = descriptors[...]
        while !rest.isEmpty {
            let part = Array(rest.prefix(Int(CNET_DESCRIPTORS_MAX)))
            rest = rest.dropFirst(part.count)
            // Without FDPOLL=0 the manager drops a socket that reports an error.
            send("FDSTORE=1\nFDNAME=\(label)\nFDPOLL=0", descriptors: part)
        }
    }

    /// Has the manager keep no longer what it keeps by this label.
    public func forget(_ label: String) { send("FDSTOREREMOVE=1\nFDNAME=\(label)") }

    /// Process `number` is the service from now on, in place of this one, which ends (sd_notify(3)).
    public func isFollowed(by number: Int32) { send("MAINPID=\(number)") }
}
