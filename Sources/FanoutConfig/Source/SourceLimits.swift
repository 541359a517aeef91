// SPDX-License-Identifier: Apache-2.0

/// How much a configuration file may ask of whoever reads it.
public enum SourceLimits {
    /// Longest file, bytes: 64 listeners with 1 024 receivers each take some 4 MiB.
    public static let bytes = 8 << 20
    /// Most values and list items: those 65 536 receivers take 330 000, with a weight each.
    public static let nodes = 1_000_000
    /// How many bytes are read again for the sake of keys that stand twice.
    public static let bytesReadAgain = 1 << 20
    /// Most errors, and most warnings, that are reported of one file.
    public static let problems = 1_000
    /// Deepest nesting of `[` and `{`.
    public static let flowDepth = 16
    /// Furthest column at which a line may begin, which bounds the nesting of blocks.
    public static let indentation = 128
}
