// SPDX-License-Identifier: Apache-2.0

internal import FanoutCore

/// The names by which browsers may ask for the status page.
///
/// A page of another site can have its own name point to this host (DNS rebinding) and would then read the status page
/// as its own. Its requests have that name in Host. An IP address, `localhost` and this host's names are not its own.
struct ServerNames {
    private let names: Set<String>

    /// - Parameter names: in any case, without a port.
    init(_ names: some Sequence<String>) {
        self.names = Set(names.map { $0.lowercased() } + ["localhost"])
    }

    /// - Parameter host: the value of Host, a name or an address with or without a port; nil: HTTP/1.0 has none.
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
