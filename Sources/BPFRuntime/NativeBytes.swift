// SPDX-License-Identifier: Apache-2.0

/// Values as they lie in memory, for maps that kernel programs share.
extension [UInt8] {
    /// The bytes of a C structure or an integer. Padding would come along with whatever it holds, so
    /// the headers in bpf/include assert that there is none.
    public init(native value: some BitwiseCopyable) {
        // SAFETY: the bytes of a trivial value, copied before the closure returns.
        self = unsafe Swift.withUnsafeBytes(of: value) { unsafe [UInt8]($0) }
    }

    /// The bytes of all elements, one after the other.
    public init(native values: [some BitwiseCopyable]) {
        // SAFETY: as above; an array's elements of such a type lie side by side.
        self = unsafe values.withUnsafeBytes { unsafe [UInt8]($0) }
    }

    /// The C structure or integer whose bytes these are; there must be enough of them.
    package func read<Value: BitwiseCopyable>(_ type: Value.Type) -> Value {
        precondition(count >= MemoryLayout<Value>.size, "too few bytes")
        // SAFETY: there are enough bytes, of a trivial type.
        return unsafe withUnsafeBytes { unsafe $0.loadUnaligned(as: Value.self) }
    }

    /// The integers that the bytes are, from the first on; bytes that make no whole one are left out.
    public func words<Word: FixedWidthInteger & BitwiseCopyable>(of type: Word.Type) -> [Word] {
        let size = MemoryLayout<Word>.size
        // SAFETY: each load lies within the buffer, which has `count / size` of them.
        return unsafe withUnsafeBytes { raw in
            (0..<count / size).map {
                unsafe raw.loadUnaligned(fromByteOffset: $0 * size, as: Word.self)
            }
        }
    }
}
