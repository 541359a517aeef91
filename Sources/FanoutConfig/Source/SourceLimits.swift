// SPDX-License-Identifier: Apache-2.0

/// How much a configuration file may ask of whoever reads it.
public enum SourceLimits {
    /// Longest file, bytes.
    public static let bytes = 1 << 20
    /// Most values and list items; more than 10 000 listeners need.
    public static let nodes = 200_000
    /// Most errors, and most warnings, that are reported of one file.
    public static let problems = 1_000
    /// Deepest nesting of `[` and `{`.
    public static let flowDepth = 16
    /// Furthest column at which a line may begin, which bounds the nesting of blocks.
    public static let indentation = 128
}
