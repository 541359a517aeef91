// SPDX-License-Identifier: Apache-2.0

internal import FanoutCore

/// The name of a group that nobody named.
enum GroupName {
    /// `collector-10-0-2-15-10001`: the address and port that all its members have. A BPF file system
    /// takes no dots (kernel/bpf/inode.c, bpf_lookup); colons and percent signs are replaced as well, to
    /// spare shells.
    static func of(_ endpoint: Endpoint) -> String {
        let address = endpoint.address.description.map { character in
            character.isASCII && (character.isLetter || character.isNumber) ? character : "-"
        }
        return "collector-\(String(address))-\(endpoint.port)"
    }
}
