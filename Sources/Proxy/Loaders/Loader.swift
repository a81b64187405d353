internal import HTTP
internal import Policy

/// What answers an exchange; a closed set, so that each call is a direct one. Injected pages and further protocols get their
/// case here.
///
/// Not counted: the exchange owns its loaders for as long as itself.
enum Loader {
    case none
    case upstream(Uncounted<UpstreamLoader>)
    case fixed(Uncounted<FixedLoader>)
    case file(Uncounted<FileLoader>)
    case demo(Uncounted<DemoLoader>)

    /// It can use more of the request's content now; false pauses the client.
    var takesContent: Bool {
        switch self {
        case .none: false
        case .upstream(let loader): loader.with { $0.takesContent }
        case .fixed, .file: true
        case .demo(let loader): loader.with { $0.takesContent }
        }
    }

    func send(_ content: Span<UInt8>) {
        switch self {
        case .none, .fixed, .file: break
        case .upstream(let loader): loader.with { $0.send(content) }
        case .demo(let loader): loader.with { $0.send(content) }
        }
    }

    /// The request's content is complete; in a tunnel: the client sends no more.
    func finishContent(_ trailers: TrailerSection?) {
        switch self {
        case .none, .fixed, .file: break
        case .upstream(let loader): loader.with { $0.finishContent(trailers) }
        case .demo(let loader): loader.with { $0.finishContent() }
        }
    }

    /// The client has taken what it was sent: deliver on.
    func resume() {
        switch self {
        case .none, .fixed: break
        case .upstream(let loader): loader.with { $0.resume() }
        case .file(let loader): loader.with { $0.resume() }
        case .demo(let loader): loader.with { $0.resume() }
        }
    }

    /// The client went away, or nothing more is wanted: what was begun ends, and nothing is delivered any more.
    func stop() {
        switch self {
        case .none, .fixed: break
        case .upstream(let loader): loader.with { $0.stop() }
        case .file(let loader): loader.with { $0.stop() }
        case .demo(let loader): loader.with { $0.stop() }
        }
    }

    /// What comes back is an origin's word: it may redirect, and its names are to be put into the client's terms.
    var asksOrigin: Bool {
        switch self {
        case .none, .fixed, .file: false
        case .upstream, .demo: true
        }
    }

    /// What it sends, or would send, is a page; nil where the head alone tells.
    var sendsPage: Bool? { if case .file(let loader) = self { loader.with { $0.isPage } } else { nil } }

    /// Has not reached the point where something can come back: resolving, queueing, connecting.
    var isWaiting: Bool {
        if case .upstream(let loader) = self { return loader.with { $0.isWaiting } }
        return false
    }
}

/// What a loader's delegate wants to become of a response.
enum ResponseDisposition {
    case allow
    /// Deliver nothing of it; `loaderDidCancel` follows when the loader is free for another request.
    case cancel
    case becomeTunnel
}

/// The moments of a load, as a session delegate has them; ``Exchange`` is the delegate.
///
/// Order: any number of informational responses, then one response, then data, then finish; or a failure at any point. Data
/// comes only while `wantsData`; when that turns true again the delegate calls `Loader.resume`.
protocol LoaderDelegate: AnyObject {
    var wantsData: Bool { get }
    func loader(didReceiveInformational head: ResponseHead)
    func loader(didReceiveResponse head: ResponseHead) -> ResponseDisposition
    func loader(didReceiveData data: Span<UInt8>)
    func loaderDidFinish(trailers: TrailerSection?)
    /// In a tunnel: the upstream sends no more, the client still may.
    func loaderDidFinishSending()
    func loaderDidCancel()
    func loader(didFailWith rejection: Rejection)
}
