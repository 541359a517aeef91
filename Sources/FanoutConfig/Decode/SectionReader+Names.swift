// SPDX-License-Identifier: Apache-2.0

internal import FanoutCore
internal import YAML

extension SectionReader {
    /// A DNS label (RFC 1123, section 2.1), as Kubernetes names namespaces and services.
    func dnsLabel(_ key: ConfigKey) -> Located<String>? {
        guard let field = scalar(key) else { return nil }
        let text = field.value.text
        guard Self.isDNSLabel(text) else {
            refuse(field.origin, "\(text.quoted) is not a DNS label", key)
            return nil
        }
        return Located(value: text, origin: field.origin)
    }

    /// A name of DNS (RFC 1035 section 2.3.4), in which `_` may stand (RFC 2782); without the dot at its
    /// end.
    func domainName(_ key: ConfigKey) -> Located<String>? {
        guard let field = scalar(key) else { return nil }
        guard let text = Self.domainName(field.value.text) else {
            refuse(field.origin, "\(field.value.text.quoted) is not a name of DNS", key)
            return nil
        }
        guard IPAddress(text) == nil else {
            findings.error(
                at: field.origin, "\(text) is an address and needs no DNS", "write downstream")
            return nil
        }
        return Located(value: text, origin: field.origin)
    }

    /// A list of such names.
    func domainNames(_ key: ConfigKey) -> [String] {
        (items(of: key) ?? []).compactMap { item in
            if let name = item.value.text.flatMap(Self.domainName) { return name }
            refuse(item.origin, "\(item.value.text?.quoted ?? "this") is not a name of DNS", key)
            return nil
        }
    }

    /// In lower case, without a dot at its end; nil when it is no name.
    private static func domainName(_ written: String) -> String? {
        let text = written.hasSuffix(".") ? String(written.dropLast()) : written
        let labels = text.split(separator: ".", omittingEmptySubsequences: false)
        let isName = labels.allSatisfy { label in
            (1...63).contains(label.utf8.count)
                && label.utf8.allSatisfy { byte in
                    (48...57).contains(byte) || (65...90).contains(byte)
                        || (97...122).contains(byte) || "-_".utf8.contains(byte)
                }
        }
        return isName && text.utf8.count <= 253 ? text.lowercased() : nil
    }

    /// A port number, or the name of a port: a DNS label with at least one letter.
    func servicePort(_ key: ConfigKey) -> Located<KubernetesConfiguration.Port>? {
        guard let field = scalar(key) else { return nil }
        let text = field.value.text
        guard text.utf8.contains(where: { (97...122).contains($0) }), Self.meant(by: text) == nil
        else {
            return portNumber(field, key)
        }
        guard Self.isDNSLabel(text) else {
            refuse(field.origin, "\(text.quoted) is not a port", key)
            return nil
        }
        return Located(value: .name(text), origin: field.origin)
    }

    private func portNumber(_ field: Located<ScalarText>, _ key: ConfigKey)
        -> Located<KubernetesConfiguration.Port>?
    {
        let text = field.value.text
        let number = Self.plainDecimal(text) ?? Self.meant(by: text)
        guard let number, (1...65535).contains(number) else {
            refuse(field.origin, "\(text.quoted) is not a port", key)
            return nil
        }
        guard Self.plainDecimal(text) != nil, !field.value.isQuoted else {
            findings.error(
                at: field.origin, "\(text.quoted) is not a number in plain decimal digits",
                "write \(number)" + (field.value.isQuoted ? " without quotes" : ""))
            return nil
        }
        return Located(value: .number(UInt16(number)), origin: field.origin)
    }

    /// Six bytes, separated by `:` or `-`, in lower case with `:`.
    func macAddress(_ key: ConfigKey) -> Located<String>? {
        guard let field = scalar(key) else { return nil }
        let text = field.value.text
        let parts = text.replacing("-", with: ":").split(
            separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 6,
            parts.allSatisfy({ $0.utf8.count == 2 && $0.allSatisfy(\.isHexDigit) })
        else {
            refuse(field.origin, "\(text.quoted) is not a MAC address", key)
            return nil
        }
        return Located(value: parts.joined(separator: ":").lowercased(), origin: field.origin)
    }

    /// Paths of the metrics server that are not the metrics'.
    static let takenPaths = ["/healthz", "/readyz"]

    /// The path under which metrics are served.
    func urlPath(_ key: ConfigKey) -> Located<String>? {
        guard let field = scalar(key) else { return nil }
        let text = field.value.text
        let fault: String? =
            if !text.hasPrefix("/") {
                "does not begin with /"
            } else if Self.takenPaths.contains(text) {
                "is where the daemon answers health checks"
            } else if text.utf8.contains(where: { $0 <= 0x20 || $0 >= 0x7f }) {
                "holds blanks or characters other than printable ASCII"
            } else if text.contains("?") || text.contains("#") {
                "holds a query or a fragment"
            } else if text.utf8.count > 1024 {
                "is longer than 1024 bytes"
            } else {
                nil
            }
        if let fault {
            refuse(field.origin, "\(text.quoted) \(fault)", key)
            return nil
        }
        return Located(value: text, origin: field.origin)
    }

    /// The path of a unix socket, with room behind it for the ending of a file beside it: sun_path of
    /// unix(7) has 108 bytes.
    func socketPath(_ key: ConfigKey) -> Located<String>? {
        guard let field = scalar(key) else { return nil }
        let text = field.value.text
        let fault: String? =
            if !text.hasPrefix("/") {
                "does not begin with /"
            } else if text.hasSuffix("/") {
                "is a folder"
            } else if text.unicodeScalars.contains(where: \.isControl) {
                "holds control characters"
            } else if text.utf8.count > 96 {
                "is longer than 96 bytes"
            } else {
                nil
            }
        if let fault {
            refuse(field.origin, "\(text.quoted) \(fault)", key)
            return nil
        }
        return Located(value: text, origin: field.origin)
    }

    static func isDNSLabel(_ text: String) -> Bool {
        let bytes = text.utf8
        return (1...63).contains(bytes.count)
            && bytes.first != UInt8(ascii: "-") && bytes.last != UInt8(ascii: "-")
            && bytes.allSatisfy {
                (97...122).contains($0) || (48...57).contains($0) || $0 == UInt8(ascii: "-")
            }
    }
}
