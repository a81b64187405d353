internal import HTTP
internal import Policy

extension Rejection {
    init(_ error: HTTPError) {
        switch error {
        case .malformed: self = .badRequest
        case .uriTooLong: self = .uriTooLong
        case .headerTooLarge: self = .headerTooLarge
        case .unsupportedVersion: self = .unsupportedVersion
        case .unsupportedTransferCoding: self = .notImplemented
        }
    }
}
