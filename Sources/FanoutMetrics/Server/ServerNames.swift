// SPDX-License-Identifier: Apache-2.0

internal import FanoutCore

/// The host names that browsers may use for the status page.
///
/// Protects against DNS rebinding: another site may point its own name to this host to read the status page. Such
/// requests have that name in Host; only IP addresses, `localhost` and this host's names are accepted.
struct ServerNames {
    private let names: Set<String>

    /// - Parameter names: in any case, without a port.
    init(_ names: some Sequence<String>) {
        self.names = Set(names.map { $0.lowercased() } + ["localhost"])
    }

    /// - Parameter host: the Host header, a name or an address with or without a port; nil: HTTP/1.0 has none.
    func take(_ host: String?) -> Bool {
        guard let host else { return true }
        var name = host[...]
        if name.hasPrefix("[") {
            guard let end = name.firstIndex(of: "]") else { return false }
            return IPAddress(String(name[name.index(after: name.startIndex)..<end])) != nil
        }
        if let colon = name.lastIndex(of: ":") { name = name[..<colon] }
        if name.hasSuffix(".") { name.removeLast() }
        return IPAddress(String(name)) != nil || names.contains(name.lowercased())
    }
}
