internal import Codings
internal import HTTP
internal import Policy
internal import Transport

/// What a `serve` rule would do with a request, found by the code that would do it; for `authproxy explain`.
struct FileExplanation {
    private(set) var action = ""
    /// The rule has no file for the request, and hands it on.
    private(set) var fallsThrough = false

    init(_ plan: ServePlan, rule: Int, _ request: CanonicalRequest, _ files: FileFinder) {
        guard request.method == .get || request.method == .head else {
            fallsThrough = plan.definition.fallsThrough
            action = fallsThrough ? "no file answers this method; on to the next rule" : "405: files are for GET and HEAD"
            return
        }
        let finding = files.find(plan, rule: rule, request, FileRequest(request), now: SystemClock.coarseMilliseconds())
        let path = files.shownPath(plan)
        switch finding {
        case .file(let file):
            file.close()
            let type = String(decoding: Array(copying: files.types.name(file.type)), as: UTF8.self)
            let coding = file.coding.map { ", encoded as \($0.token)" } ?? ""
            action = "serve \(path) (\(type)\(coding), \(file.identity.size) bytes)"
        case .folder: action = "redirect to the folder, with a slash at its end, status 307"
        case .exhausted: action = "503: no file can be opened now, there are too many open"
        case .missing:
            fallsThrough = plan.definition.fallsThrough
            action = fallsThrough ? "there is no file \(path); on to the next rule" : "404: there is no file \(path)"
        }
    }
}
