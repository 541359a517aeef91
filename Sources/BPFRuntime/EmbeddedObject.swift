// SPDX-License-Identifier: Apache-2.0

/// A compiled kernel program that the build put into this module (bpf/embed.sh writes the instances).
public struct EmbeddedObject: Sendable {
    /// The name of its source in bpf/, without `.bpf.c`.
    public let name: StaticString
    /// The ELF object.
    let base64: StaticString
}
