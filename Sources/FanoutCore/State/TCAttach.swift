// SPDX-License-Identifier: Apache-2.0

/// How `tc_ebpf` hooks into an interface. The raw value is the spelling in YAML and logs.
public enum TCAttach: String, CaseIterable, Hashable, Sendable {
    /// TCX where the kernel has it, else clsact.
    case auto
    /// A link at the TCX hook (Linux 6.6), which other tools' programs stand beside.
    case tcx
    /// A filter of a clsact queueing discipline, which `tc filter show` lists.
    case clsact
}
