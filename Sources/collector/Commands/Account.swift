// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// A user of this host.
struct Account: Equatable {
    let uid: UInt32
    let group: UInt32

    init(uid: UInt32, group: UInt32) {
        self.uid = uid
        self.group = group
    }

    /// By name or by uid; nil when there is no such user. A uid that is not in the user database gets the group of the
    /// same number.
    init?(_ text: String) {
        // SAFETY: nothing else in this process asks the user database, so the row stays while it is read.
        if let row = unsafe getpwnam(text) {
            self = unsafe Account(uid: row.pointee.pw_uid, group: row.pointee.pw_gid)
        } else if let uid = UInt32(text), uid != .max {
            let row = unsafe getpwuid(uid)
            self = unsafe Account(uid: uid, group: row?.pointee.pw_gid ?? uid)
        } else {
            return nil
        }
    }
}

/// The folders on the way to a group.
enum SearchPath {
    /// The first folder on the path, from the root, that the account may not search, and its mode in octal.
    static func firstClosed(
        in folder: String, to account: Account
    ) -> (path: String, mode: String)? {
        guard account.uid != 0 else { return nil }
        var path = ""
        for part in folder.split(separator: "/") {
            path += "/\(part)"
            guard let facts = facts(of: path) else { return nil }
            let bit: UInt32 =
                if facts.st_uid == account.uid {
                    S_IXUSR
                } else if facts.st_gid == account.group {
                    S_IXGRP
                } else {
                    S_IXOTH
                }
            if facts.st_mode & bit == 0 {
                return (path, "0" + String(facts.st_mode & 0o7777, radix: 8))
            }
        }
        return nil
    }

    static func owner(of folder: String) -> UInt32? { facts(of: folder)?.st_uid }

    private static func facts(of path: String) -> stat? {
        var facts = stat()
        // SAFETY: stat(2) fills in the structure and keeps no pointer.
        return unsafe stat(path, &facts) == 0 ? facts : nil
    }
}
