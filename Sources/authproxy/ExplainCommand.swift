enum ExplainCommand {
    static func run(_ words: [String]) throws -> Int32 { throw UsageError("not yet") }
}
