public import HTTP

/// What has to be added to a response so that no shared cache in front of us stores what only we were authorised to
/// fetch.
///
/// Such a cache sees a request without Authorization and can't know that it became one with it; so RFC 9111 section 3.5
/// is applied on its behalf.
public enum CacheStoragePolicy {
    public enum Change: Sendable, Equatable {
        case none
        /// `private` joins what Cache-Control says.
        case addPrivate
        /// `no-store` takes the place of what Cache-Control says.
        case noStore
    }

    /// `isAuthorised`: a credential, or a managed Authorization or Cookie, went out with the request.
    public static func change(_ mode: CacheStorage, isAuthorised: Bool, response: ResponseHead) -> Change {
        switch mode {
        case .allowed: return .none
        case .notAllowed: return .noStore
        case .auto: break
        }
        guard isAuthorised else { return .none }
        for line in response.lines where line.id == .cacheControl {
            let value = response.bytes.span(line.value)
            var directives = ListElements()
            while let range = directives.next(in: value) {
                if settlesStorage(value.extracting(range)) { return .none }
            }
        }
        return .addPrivate
    }

    /// For a response that holds something which no two clients may share, such as a nonce; a rule's own word stands.
    public static func changeForPersonal(_ mode: CacheStorage, response: ResponseHead) -> Change {
        if mode != .auto { return mode == .allowed ? .none : .noStore }
        for line in response.lines where line.id == .cacheControl {
            let value = response.bytes.span(line.value)
            if HTTP1.listContains(value, "private") || HTTP1.listContains(value, "no-store") { return .none }
        }
        return .addPrivate
    }

    /// Either the server allows shared storage of authorised responses in so many words, or no shared cache stores it
    /// anyway. A directive with an argument that it does not take is read the safe way: `private="x"` covers one field
    /// only.
    private static func settlesStorage(_ directive: Span<UInt8>) -> Bool {
        if CanonicalBytes.hasPrefix(directive, "s-maxage=") {
            let seconds = directive.extracting(9..<directive.count)
            if seconds.isEmpty { return false }
            for index in 0..<seconds.count where !CanonicalBytes.isDigit(seconds[index]) { return false }
            return true
        }
        return CanonicalBytes.equalsIgnoringCase(directive, "public")
            || CanonicalBytes.equalsIgnoringCase(directive, "must-revalidate")
            || CanonicalBytes.equalsIgnoringCase(directive, "private")
            || CanonicalBytes.equalsIgnoringCase(directive, "no-store")
    }
}
