// SPDX-License-Identifier: Apache-2.0

/// Rows whose columns are as wide as their widest cell.
struct TextTable {
    private let isNumeric: [Bool]
    private var rows: [[String]]

    /// - Parameter heads: of the columns; one that begins with `>` is flush right.
    init(_ heads: [String]) {
        isNumeric = heads.map { $0.hasPrefix(">") }
        rows = [heads.map { $0.hasPrefix(">") ? String($0.dropFirst()) : $0 }]
    }

    mutating func add(_ cells: [String]) { rows.append(cells) }

    /// The head and each row, without blanks at their ends.
    var lines: [String] {
        let widths = rows[0].indices.map { column in rows.map { $0[column].count }.max() ?? 0 }
        return rows.map { row in
            let cells = row.indices.map { column in
                let blanks = String(repeating: " ", count: widths[column] - row[column].count)
                return isNumeric[column] ? blanks + row[column] : row[column] + blanks
            }
            let line = cells.joined(separator: "  ")
            return String(line.reversed().drop { $0 == " " }.reversed())
        }
    }
}

extension Double {
    /// With one digit behind the point.
    var tenths: String {
        let tenths = Int64((self * 10).rounded())
        return "\(tenths / 10).\(abs(tenths % 10))"
    }
}
