// SPDX-License-Identifier: Apache-2.0

/// The reference of the configuration file, generated from the decoding tables.
public enum ConfigurationReference {
    /// A page of Markdown.
    public static var markdown: String {
        let sections = ConfigSection.all.map { section in
            """
            ## \(section.title)

            | key | value | default | meaning |
            |---|---|---|---|
            \(section.keys.map(\.row).joined(separator: "\n"))
            """
        }
        return """
            <!-- SPDX-License-Identifier: Apache-2.0 -->
            <!-- `make reference` writes this page from Sources/FanoutConfig/Catalog. -->
            # Configuration reference

            The file is YAML. `udp-fanout check` reports every mistake with its line; `udp-fanout check --dump` prints the
            effective configuration, defaults included. [config.example.yaml](../../config.example.yaml) shows every key in its place, and
            [config.schema.json](config.schema.json), which `udp-fanout schema` prints, has the same for editors:

            ```yaml
            # yaml-language-server: $schema=docs/reference/config.schema.json
            ```

            Whole numbers are plain decimal digits, booleans `true` or `false`. A number of seconds may have a unit: `s`,
            `m` or `h`. So may a number of bytes: `KiB`, `MiB` or `GiB`, or `K`, `M` or `G` for the same. Aliases and tags
            are refused.

            \(sections.joined(separator: "\n\n"))

            """
    }
}

extension ConfigSection {
    fileprivate var title: String {
        isRoot ? "The top level" : paths.map { "`\($0)`" }.joined(separator: ", ")
    }
}

extension ConfigKey {
    fileprivate var row: String {
        let unset =
            switch defaultValue {
            case .required: "**required**"
            case .value(let text): "`\(text)`"
            case .absent(let words): words
            }
        let cells = ["`\(name)`", rule.cell, unset, meaning]
        return "| " + cells.map { $0.replacing("|", with: "\\|") }.joined(separator: " | ") + " |"
    }
}
