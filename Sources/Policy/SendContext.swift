public import HTTP

/// What the values of a request or response are made from while it is sent once: the variables' sources, and whether secrets
/// may go where it goes.
public final class SendContext {
    /// The client's canonical request, also when a hop is being sent.
    public let request: CanonicalRequest
    public var client: ClientFacts
    /// The server that is sent to.
    public var destination = Destination.none
    /// The value of Host that was sent.
    public let sentHost = ByteBuffer(capacity: 64)
    public let requestID = ByteBuffer(capacity: 32)
    /// The send goes to the configured upstream's own origin: values of `request:` that hold a secret may go too.
    public var isUpstreamOrigin = true
    /// The send leaves the client's own Authorization and Cookie behind, so variables do not bring them either.
    public var leavesCredentialsBehind = false
    /// Nothing is sent: for a person who wants to see it, with secrets as their sources.
    public var isDescribing = false
    public var unixTime: Int = 0
    /// Secrets left out since the destination is not permitted; counted, reset by the sender.
    public var withheld = 0
    /// A hop before was not permitted a secret: what is dropped stays dropped, also where it would be permitted again.
    public var staysDropped = false
    /// The same for credentials, a bit each by their place among the configuration's.
    public var droppedCredentials: UInt64 = 0
    /// What `{uuid}` is made of; moves on with each use.
    public var random = RandomSource()

    public init(request: CanonicalRequest, client: ClientFacts) {
        self.request = request
        self.client = client
    }
}

/// Where a send goes: an object of the server's, so that a send refers to it instead of copying its parts.
public final class Destination {
    /// Host[:port] as Host has it.
    public let authority = ByteBuffer(capacity: 32)
    /// For `hosts` of credentials: lower-cased, IPv6 literals in brackets.
    public let host = ByteBuffer(capacity: 32)
    public let port: UInt16
    public let scheme: Scheme

    public init(authority: String, host: String, port: UInt16, scheme: Scheme) {
        self.authority.append(text: authority)
        self.host.append(text: host)
        self.port = port
        self.scheme = scheme
    }

    /// Before anything is sent; one each time, since workers share no object.
    public static var none: Destination { Destination(authority: "", host: "", port: 0, scheme: .http) }
}
