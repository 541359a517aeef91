// SPDX-License-Identifier: Apache-2.0

internal import LinuxNet
internal import ReusePortLB

/// Prints the datagrams of a batch, a line each, in one write.
struct DatagramPrinter {
    let isJSON: Bool

    /// - Returns: false if the reader of the lines is gone.
    func show(_ batch: borrowing ReceiveBatch) -> Bool {
        var text = ""
        for index in 0..<batch.count {
            let datagram = batch.datagram(index)
            let length = batch.length(index)
            text += isJSON ? Self.json(datagram, length) : Self.line(datagram, length)
            text += "\n"
        }
        return StandardStream.output.write(text)
    }

    /// `192.0.2.1:40000 Hello World 1!`, or the length and the first bytes.
    static func line(_ datagram: Datagram, _ length: Int) -> String {
        let cut = datagram.isTruncated ? " (cut)" : ""
        if datagram.bytes.isEmpty { return "\(datagram.source) 0 bytes" }
        if let text = Printable.text(datagram.bytes) {
            return "\(datagram.source) \(Printable.line(text))\(cut)"
        }
        let shown = datagram.bytes.prefix(Printable.shownBytes)
        let more = shown.count < length ? " ..." : ""
        return "\(datagram.source) \(length) bytes\(cut): \(Printable.hex(shown))\(more)"
    }

    static func json(_ datagram: Datagram, _ length: Int) -> String {
        let content: (String, JSON) =
            if let text = Printable.text(datagram.bytes) {
                ("text", .string(text))
            } else {
                ("hex", .string(Printable.hex(datagram.bytes, separator: "")))
            }
        return JSON.object([
            ("event", .string("datagram")),
            ("source", .string(datagram.source.address.description)),
            ("port", .number(UInt64(datagram.source.port))),
            ("bytes", .number(UInt64(length))),
            ("truncated", .bool(datagram.isTruncated)),
            content,
        ]).description
    }
}
