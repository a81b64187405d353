internal import Policy

extension YAMLProblem {
    /// libyaml's words as a sentence about the file, with what would be right.
    func explained(file: String) -> ConfigurationError {
        let (message, hint) = words
        var place = SourceLocation(file: file, line: line, column: column)
        // What is not closed is to be mended where it begins; that it is not is seen much later.
        if isUnclosed { place = SourceLocation(file: file, line: contextLine, column: contextColumn) }
        return ConfigurationError(.error, at: place, path: "", message, hint: hint, mayHoldSecret: true)
    }

    private var isUnclosed: Bool {
        guard contextLine > 0 else { return false }
        switch problem {
        case "found unexpected end of stream", "found unexpected document indicator", "did not find expected ',' or ']'",
            "did not find expected ',' or '}'":
            return true
        default: return false
        }
    }

    private var words: (message: String, hint: String?) {
        switch problem {
        case "mapping values are not allowed in this context":
            return ("a `:` is not expected here", "put a value that holds `: ` in quotes, or check the indentation")
        case "found character that cannot start any token":
            return ("a value can not begin with this character", "put the value in quotes; indent with spaces, not with tabs")
        case "found a tab character that violates indentation", "found a tab character where an indentation space is expected":
            return ("a tab where indentation is expected", "indent with spaces")
        case "did not find expected key", "did not find expected '-' indicator":
            return ("the indentation does not fit what stands above", start("the block"))
        case "could not find expected ':'":
            return ("a key without `:`", "write `key: value`; a text of several lines needs quotes or `|`")
        case "block sequence entries are not allowed in this context":
            return ("a `- ` item is not expected here", "begin the list on a line of its own below its key")
        case "block mapping entries are not allowed in this context", "mapping keys are not allowed in this context":
            return ("a key is not expected here", "check the indentation")
        case "found unexpected end of stream", "found unexpected document indicator":
            return ("a quoted text is not closed", end)
        case "did not find expected ',' or ']'":
            return ("a list in brackets is not closed, or lacks a `,`", end)
        case "did not find expected ',' or '}'":
            return (
                "a mapping in braces is not closed, or lacks a `,`", end ?? "put a value that holds `{`, `}` or `,` in quotes"
            )
        case "found unknown escape character":
            return ("an unknown escape in a text in double quotes", "write `\\\\` for a backslash, or use single quotes")
        case "found undefined tag handle", "did not find expected tag URI":
            return ("a value can not begin with `!`", "put it in quotes")
        case "did not find expected alphabetic or numeric character":
            return ("a value can not begin with `*` or `&`", "put it in quotes")
        case "control characters are not allowed":
            return ("a control character", "remove it")
        case "found incompatible YAML document": return ("another version of YAML is asked for", "remove the `%YAML` line")
        case "did not find expected <document start>": return ("text behind the end of the document", "remove it")
        case "did not find expected node content":
            return ("a value is missing here", "put a value that begins with `%`, `@`, `,` or a bracket in quotes")
        default:
            return problem.contains("UTF-8") || problem.contains("Unicode")
                ? ("not UTF-8", "save the file in UTF-8") : ("not YAML: \(problem)", start("the part"))
        }
    }

    private var end: String? { contextLine > 0 && contextLine != line ? "seen on line \(line)" : nil }

    private func start(_ what: String) -> String? {
        contextLine > 0 && contextLine != line ? "\(what) begins on line \(contextLine)" : nil
    }
}
