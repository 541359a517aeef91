// SPDX-License-Identifier: Apache-2.0

internal import NIOCore

/// Cuts a stream of chunks into lines.
struct LineBuffer {
    /// The longest line in bytes; an EndpointSlice of 1 000 endpoints has about a tenth of it.
    static let longest = 8 << 20

    private var buffer = ByteBuffer()
    /// Bytes from the reader index that are known to hold no newline.
    private var searched = 0

    mutating func append(_ chunk: ByteBuffer) {
        buffer.discardReadBytes()
        buffer.writeImmutableBuffer(chunk)
    }

    /// The next whole line, without its newline; nil when there is none yet. Blank lines are left out.
    ///
    /// - Throws: `APIFailure`, when a line exceeds `longest`.
    mutating func next() throws(APIFailure) -> ByteBuffer? {
        while true {
            let rest = buffer.readableBytesView.dropFirst(searched)
            guard let newline = rest.firstIndex(of: UInt8(ascii: "\n")) else {
                searched = buffer.readableBytes
                guard searched <= Self.longest else {
                    throw APIFailure(.malformed, "a line of more than \(Self.longest) bytes")
                }
                return nil
            }
            let line = buffer.readSlice(length: newline - buffer.readerIndex)
            buffer.moveReaderIndex(forwardBy: 1)
            searched = 0
            if let line, line.readableBytes > 0 { return line }
        }
    }
}
