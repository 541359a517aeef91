// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// The folder below which a group is pinned, for errors that are about the folder.
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
    /// The kernel gives one errno for a folder that is closed and for pins that are; who asks again now
    /// learns which of them it is.
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

    /// Whether the caller may look for names in it.
    private var isSearchable: Bool {
        unsafe faccessat(AT_FDCWD, path, X_OK, Int32(AT_EACCESS)) == 0
    }
}
