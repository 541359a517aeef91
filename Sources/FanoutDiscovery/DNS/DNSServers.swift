// SPDX-License-Identifier: Apache-2.0

internal import FanoutCore
internal import LinuxNet

/// Whom to ask, as resolv.conf(5) says.
struct DNSServers: Equatable, Sendable {
    /// At most three, in the order in which they are asked.
    var servers: [Endpoint]
    /// How long to wait for the answer of one.
    var timeout = Duration.seconds(5)
    /// How often all of them are asked before it is given up.
    var attempts = 2

    init(_ servers: [Endpoint]) { self.servers = servers }

    /// What the file says; without one, or without servers in it, the one on this host.
    static func system(_ path: String = "/etc/resolv.conf") -> DNSServers {
        let bytes = (try? SmallFile.bytes(of: path, limit: 1 << 20)) ?? []
        return DNSServers(resolvConf: String(decoding: bytes, as: UTF8.self))
    }

    init(resolvConf text: String) {
        servers = []
        for line in text.split(whereSeparator: \.isNewline) {
            let words = line.split(whereSeparator: \.isWhitespace)
            guard let key = words.first, words.count > 1 else { continue }
            if key == "nameserver", servers.count < 3, let address = IPAddress(words[1]) {
                servers.append(Endpoint(address, port: 53))
            }
            guard key == "options" else { continue }
            for option in words.dropFirst() {
                let parts = option.split(separator: ":")
                guard parts.count == 2, let number = Int(parts[1]) else { continue }
                // The limits of the C library.
                if parts[0] == "timeout" { timeout = .seconds(min(max(number, 1), 30)) }
                if parts[0] == "attempts" { attempts = min(max(number, 1), 5) }
            }
        }
        if servers.isEmpty { servers = [Endpoint(IPAddress(v4: 0x7f00_0001), port: 53)] }
    }
}
