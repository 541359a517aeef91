// SPDX-License-Identifier: Apache-2.0

internal import CLibYAML

/// Reads one document of YAML, event by event (libyaml's yaml_parser_parse).
///
/// Constructs that make the tree costly or ambiguous are refused, with their position: aliases, tags, directives, a
/// second document, deep nesting, too many values. Anchors without aliases are accepted. JSON is accepted as YAML.
@safe public struct YAMLDocument: ~Copyable {
    /// The tree; nil if the document is empty or has a fault.
    public private(set) var root: YAMLNode?
    /// All faults, in the order of the text.
    public private(set) var faults: [YAMLFault] = []

    private let limits: YAMLLimits
    private var nodes = 0
    private var documents = 0
    /// The sequences and mappings that are not closed yet.
    private var open: [Collection] = []

    private struct Collection {
        let isMapping: Bool
        let line: Int
        let column: Int
        var items: [YAMLNode] = []
    }

    /// - Parameter bytes: UTF-8. A byte order mark is accepted.
    public init(_ bytes: [UInt8], limits: YAMLLimits = YAMLLimits()) {
        self.limits = limits
        // SAFETY: the parser lives in this scope and reads `bytes` while they are borrowed; each event is deleted
        // before the next one.
        let parser = UnsafeMutablePointer<yaml_parser_t>.allocate(capacity: 1)
        defer { unsafe parser.deallocate() }
        guard unsafe yaml_parser_initialize(parser) == 1 else {
            faults = [YAMLFault(line: nil, column: nil, what: "no memory", remedy: "free some")]
            return
        }
        defer { unsafe yaml_parser_delete(parser) }
        unsafe bytes.withUnsafeBufferPointer { buffer in
            unsafe yaml_parser_set_input_string(parser, buffer.baseAddress, buffer.count)
            unsafe yaml_parser_set_encoding(parser, YAML_UTF8_ENCODING)
            var event = unsafe yaml_event_t()
            var goesOn = true
            while goesOn {
                guard unsafe yaml_parser_parse(parser, &event) == 1 else {
                    unsafe refuse(parser.pointee, in: buffer)
                    break
                }
                goesOn = unsafe take(event)
                unsafe yaml_event_delete(&event)
            }
        }
        if !faults.isEmpty { root = nil }
    }

    /// - Returns: whether to read on.
    private mutating func take(_ event: yaml_event_t) -> Bool {
        let place = unsafe Place(event.start_mark)
        switch unsafe event.type {
        case YAML_STREAM_END_EVENT: return false
        case YAML_DOCUMENT_START_EVENT:
            documents += 1
            let start = unsafe event.data.document_start
            if documents > 1 {
                return stop(place, "a second document begins here", "keep one document in a file")
            }
            if unsafe start.version_directive != nil
                || start.tag_directives.start != start.tag_directives.end
            {
                return stop(place, "directives are refused", "remove the line")
            }
        case YAML_ALIAS_EVENT:
            refuse(place, "aliases are refused", "write the value out")
            add(.scalar("", .plain), place)
        case YAML_SCALAR_EVENT:
            let scalar = unsafe event.data.scalar
            unsafe check(scalar.tag, place)
            // SAFETY: libyaml gives `length` bytes of valid UTF-8.
            let text = unsafe String(
                decoding: UnsafeBufferPointer(start: scalar.value, count: scalar.length),
                as: UTF8.self)
            add(.scalar(text, unsafe Self.style(scalar.style)), place)
            return count(place)
        case YAML_SEQUENCE_START_EVENT:
            unsafe check(event.data.sequence_start.tag, place)
            return begin(isMapping: false, place)
        case YAML_MAPPING_START_EVENT:
            unsafe check(event.data.mapping_start.tag, place)
            return begin(isMapping: true, place)
        case YAML_SEQUENCE_END_EVENT, YAML_MAPPING_END_EVENT: end()
        default: break
        }
        return faults.count < limits.faults
    }

    private static func style(_ style: yaml_scalar_style_t) -> YAMLNode.Style {
        switch style {
        case YAML_SINGLE_QUOTED_SCALAR_STYLE: .singleQuoted
        case YAML_DOUBLE_QUOTED_SCALAR_STYLE: .doubleQuoted
        case YAML_LITERAL_SCALAR_STYLE, YAML_FOLDED_SCALAR_STYLE: .block
        default: .plain
        }
    }

    // MARK: The tree

    private mutating func begin(isMapping: Bool, _ place: Place) -> Bool {
        open.append(Collection(isMapping: isMapping, line: place.line, column: place.column))
        guard open.count <= limits.depth else {
            return stop(
                place, "nested deeper than \(limits.depth) levels", "write fewer levels")
        }
        return count(place)
    }

    private mutating func end() {
        guard let last = open.popLast() else { return }
        let content: YAMLNode.Content
        if last.isMapping {
            content = .mapping(
                stride(from: 0, to: last.items.count - 1, by: 2).map {
                    (last.items[$0], last.items[$0 + 1])
                })
        } else {
            content = .sequence(last.items)
        }
        add(content, Place(line: last.line, column: last.column))
    }

    private mutating func add(_ content: YAMLNode.Content, _ place: Place) {
        let node = YAMLNode(content: content, line: place.line, column: place.column)
        if open.isEmpty {
            root = node
        } else {
            open[open.count - 1].items.append(node)
        }
    }

    // MARK: Faults

    private struct Place {
        let line: Int
        let column: Int

        init(line: Int, column: Int) { (self.line, self.column) = (line, column) }

        /// libyaml counts from 0.
        init(_ mark: yaml_mark_t) { self.init(line: mark.line + 1, column: mark.column + 1) }
    }

    private mutating func refuse(_ place: Place, _ what: String, _ remedy: String) {
        faults.append(
            YAMLFault(line: place.line, column: place.column, what: what, remedy: remedy))
    }

    /// A fault that ends reading.
    private mutating func stop(_ place: Place, _ what: String, _ remedy: String) -> Bool {
        refuse(place, what, remedy)
        return false
    }

    private mutating func check(_ tag: UnsafeMutablePointer<yaml_char_t>?, _ place: Place) {
        if unsafe tag != nil { refuse(place, "tags are refused", "write the value without one") }
    }

    private mutating func count(_ place: Place) -> Bool {
        nodes += 1
        guard nodes <= limits.nodes else {
            return stop(
                place, "the file holds more than \(limits.nodes) values", "write fewer values")
        }
        return faults.count < limits.faults
    }

    /// The fault that libyaml reports for invalid YAML.
    private mutating func refuse(_ parser: yaml_parser_t, in bytes: UnsafeBufferPointer<UInt8>) {
        let offset = unsafe parser.problem_mark.index
        if unsafe parser.error == YAML_SCANNER_ERROR, offset < bytes.count,
            unsafe Self.byte(at: offset, of: bytes) == UInt8(ascii: "\t")
        {
            unsafe refuse(
                Place(parser.problem_mark), "a tab in the indentation", "write spaces")
            return
        }
        let problem = unsafe parser.problem.map { unsafe String(cString: $0) }
        if documents > 0, problem == "did not find expected <document start>" {
            _ = unsafe stop(
                Place(parser.problem_mark), "a second document begins here",
                "keep one document in a file")
            return
        }
        var what = "this is not YAML"
        if let problem { what += ": \(problem)" }
        if let context = unsafe parser.context {
            what +=
                unsafe ", \(String(cString: context)) that begins on line "
                + "\(parser.context_mark.line + 1)"
        }
        let isPlaced =
            unsafe parser.error == YAML_SCANNER_ERROR || parser.error == YAML_PARSER_ERROR
        let place = unsafe Place(parser.problem_mark)
        faults.append(
            YAMLFault(
                line: isPlaced ? place.line : nil, column: isPlaced ? place.column : nil,
                what: what,
                remedy:
                    "check the indentation, the colons and the quotes here and on the line before"
            ))
    }

    /// The first byte of the `index`th Unicode scalar: libyaml's marks count those.
    private static func byte(at index: Int, of bytes: UnsafeBufferPointer<UInt8>) -> UInt8? {
        var seen = -1
        return unsafe bytes.first { byte in
            if byte & 0xc0 != 0x80 { seen += 1 }
            return seen == index
        }
    }
}
