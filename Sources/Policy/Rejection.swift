/// Why a request is refused or ended by the proxy itself: status, reason token and a constant sentence for the body.
public enum Rejection: Error, Sendable, Equatable, CaseIterable {
    case badRequest, unsupportedVersion, notImplemented
    case methodNotAllowed, uriTooLong, headerTooLarge, bodyTooLarge, requestTimeout
    case noRule, notFound, unauthenticated, forbidden, misdirected
    case loopDetected, redirectLoop
    case credentialUnavailable, internalError
    case upstreamUnreachable, upstreamProtocolError, upstreamTimeout, upstreamTLS
    case overloaded, shuttingDown

    public var status: Int {
        switch self {
        case .badRequest: 400
        case .unsupportedVersion: 505
        case .notImplemented: 501
        case .methodNotAllowed: 405
        case .uriTooLong: 414
        case .headerTooLarge: 431
        case .bodyTooLarge: 413
        case .requestTimeout: 408
        case .noRule, .notFound: 404
        case .unauthenticated: 401
        case .forbidden: 403
        case .misdirected: 421
        case .loopDetected, .redirectLoop: 508
        case .credentialUnavailable, .overloaded, .shuttingDown: 503
        case .internalError: 500
        case .upstreamUnreachable, .upstreamProtocolError, .upstreamTLS: 502
        case .upstreamTimeout: 504
        }
    }

    /// The token in `Authproxy-Error`, in problem details, logs and metrics.
    public var reason: StaticString {
        switch self {
        case .badRequest, .unsupportedVersion, .notImplemented: "bad_request"
        case .methodNotAllowed: "method_not_allowed"
        case .uriTooLong: "uri_too_long"
        case .headerTooLarge: "header_too_large"
        case .bodyTooLarge: "body_too_large"
        case .requestTimeout: "request_timeout"
        case .noRule: "no_rule"
        case .notFound: "not_found"
        case .unauthenticated: "unauthenticated"
        case .forbidden: "forbidden"
        case .misdirected: "misdirected"
        case .loopDetected: "loop_detected"
        case .redirectLoop: "redirect_loop"
        case .credentialUnavailable: "credential_unavailable"
        case .internalError: "internal_error"
        case .upstreamUnreachable: "upstream_unreachable"
        case .upstreamProtocolError: "upstream_protocol_error"
        case .upstreamTimeout: "upstream_timeout"
        case .upstreamTLS: "upstream_tls"
        case .overloaded: "overloaded"
        case .shuttingDown: "shutting_down"
        }
    }

    /// A constant sentence for a person; nothing of the request is ever in it.
    public var sentence: StaticString {
        switch self {
        case .badRequest: "The request is malformed."
        case .unsupportedVersion: "This version of HTTP is not spoken here."
        case .notImplemented: "The request asks for a transfer coding or a protocol that is not supported."
        case .methodNotAllowed: "The method is not allowed."
        case .uriTooLong: "The request target is too long."
        case .headerTooLarge: "The header fields are too large."
        case .bodyTooLarge: "The content is too large."
        case .requestTimeout: "The request did not arrive in time."
        case .noRule: "No rule takes this request."
        case .notFound: "There is nothing here."
        case .unauthenticated: "Authentication is needed."
        case .forbidden: "Access is denied."
        case .misdirected: "The request was sent to the wrong server."
        case .loopDetected: "The request has passed through this proxy before."
        case .redirectLoop: "The upstream redirects without end."
        case .credentialUnavailable: "A credential that the upstream needs is not available."
        case .internalError: "The proxy failed to handle the request."
        case .upstreamUnreachable: "The upstream can not be reached."
        case .upstreamProtocolError: "The upstream sent a response that can not be passed on."
        case .upstreamTimeout: "The upstream did not answer in time."
        case .upstreamTLS: "The upstream's certificate could not be verified."
        case .overloaded: "The proxy is at its limit; try again later."
        case .shuttingDown: "The proxy is shutting down."
        }
    }
}
