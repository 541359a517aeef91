// SPDX-License-Identifier: Apache-2.0

extension SectionReader {
    /// What to write in the place of a key that is not known here: what other programs call it, the same key where
    /// it belongs, the nearest key of this section, the nearest of any other, or at least what may stand here.
    func unknownKeyRemedy(for name: String) -> String {
        if let usual = usualRemedy(for: name) { return usual }
        let homes = homes(of: name)
        if let home = homes.first {
            return "it belongs under \(homes.map(Self.words).alternatives)"
                + (homes.count == 1 ? "; write \(home.isEmpty ? name : "\(home).\(name)")" : "")
        }
        let here = section.keys.map(\.name)
        if let near = Spelling.nearest(to: name, among: here) {
            return "write \(near)"
        }
        if let near = Spelling.nearest(to: name, among: ConfigKey.allCases.map(\.name)) {
            return
                "write \(near) under \(self.homes(of: near).map(Self.words).alternatives), or remove it"
        }
        return "remove it; \(origin.key.isEmpty ? "the file" : origin.key) takes "
            + here.alternatives
    }

    /// An address and its port are one value here, and two keys in other programs.
    private func usualRemedy(for name: String) -> String? {
        switch (section, name) {
        case (.listener, "port"), (.listener, "address"), (.listener, "listen"),
            (.metrics, "port"), (.metrics, "address"), (.metrics, "listen"):
            "write bind: ip:port"
        case (.downstream, "port"), (.downstream, "ip"), (.downstream, "host"):
            "write address: ip:port"
        default: nil
        }
    }

    /// The sections that know a key of this name: those inside this one if there are any, else all.
    private func homes(of name: String) -> [String] {
        let keys = ConfigKey.allCases.filter { $0.name == name }
        let here = section.paths[0]
        let inside = keys.compactMap { key in
            key.section.paths.first { !here.isEmpty && $0.hasPrefix("\(here).") }
        }
        return inside.isEmpty ? keys.map { $0.section.paths[0] } : inside
    }

    private static func words(_ path: String) -> String {
        path.isEmpty ? "the top level" : path
    }
}
