// SPDX-License-Identifier: Apache-2.0

/// Finds the known word that a misspelled word most likely means.
enum Spelling {
    /// Longer words are skipped: no known word is close to them, and the time stays bounded.
    private static let longest = 64

    /// The candidate (in lower case) with the fewest edits, if few for the length of the word; on a tie the first.
    static func nearest(to word: String, among candidates: [String]) -> String? {
        guard word.utf8.count <= longest else { return nil }
        let letters = Array(word.lowercased().utf8)
        var best: (word: String, distance: Int)?
        for candidate in candidates {
            let limit = max(1, min(letters.count, candidate.utf8.count) / 3)
            guard abs(letters.count - candidate.utf8.count) <= limit else { continue }
            let distance = distance(letters, Array(candidate.utf8))
            if distance <= limit, distance < best?.distance ?? .max {
                best = (candidate, distance)
            }
        }
        return best?.word
    }

    /// The number of insertions, deletions, substitutions and swaps of neighbours between two words. O(a × b).
    static func distance(_ a: [UInt8], _ b: [UInt8]) -> Int {
        var beforeLast: [Int] = []
        var last = Array(0...b.count)
        for i in 0..<a.count {
            var row = [i + 1]
            for j in 0..<b.count {
                var cost = min(last[j + 1] + 1, row[j] + 1, last[j] + (a[i] == b[j] ? 0 : 1))
                if i > 0, j > 0, a[i] == b[j - 1], a[i - 1] == b[j] {
                    cost = min(cost, beforeLast[j - 1] + 1)
                }
                row.append(cost)
            }
            (beforeLast, last) = (last, row)
        }
        return last[b.count]
    }
}
