// SPDX-License-Identifier: Apache-2.0

/// The files `page.html`, `page.css` and `page.js`, which the build embeds.
struct PageTemplate {
    static let page = PageTemplate(text(PackageResources.page_html))
    static let style = text(PackageResources.page_css)
    static let script = text(PackageResources.page_js)

    /// Text and names of placeholders, alternating, beginning with text.
    private let parts: [Substring]

    /// - Parameter text: with placeholders such as `{{name}}`.
    private init(_ text: String) {
        parts = text.split(separator: "{{", omittingEmptySubsequences: false).flatMap { part in
            part.split(separator: "}}", maxSplits: 1, omittingEmptySubsequences: false)
        }
    }

    /// The text with each placeholder replaced by its value.
    func filled(_ values: [String: String]) -> String {
        var result = ""
        for (index, part) in parts.enumerated() {
            result += index % 2 == 0 ? String(part) : values[String(part)] ?? ""
        }
        return result
    }

    private static func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }
}
