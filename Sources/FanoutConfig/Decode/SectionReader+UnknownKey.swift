// SPDX-License-Identifier: Apache-2.0

extension SectionReader {
    /// What to write in the place of a key that is not known here: the same key where it belongs,
    /// the nearest key of this section, the nearest of any other, or at least what may stand here.
    func unknownKeyRemedy(for name: String) -> String {
        if let key = ConfigKey.allCases.first(where: { $0.name == name }) {
            return "it belongs under \(Self.home(of: key)); write \(key.rawValue)"
        }
        let here = section.keys.map(\.name)
        if let near = Spelling.nearest(to: name, among: here) {
            return "write \(near)"
        }
        if let near = Spelling.nearest(to: name, among: ConfigKey.allCases.map(\.name)),
            let key = ConfigKey.allCases.first(where: { $0.name == near })
        {
            return "write \(near) under \(Self.home(of: key)), or remove it"
        }
        return "remove it; \(origin.key.isEmpty ? "the file" : origin.key) takes "
            + here.alternatives
    }

    private static func home(of key: ConfigKey) -> String {
        let path = key.section.paths[0]
        return path.isEmpty ? "the top level" : path
    }
}
