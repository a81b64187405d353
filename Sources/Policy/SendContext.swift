package import HTTP

/// What the values of a request or response are made from while it is sent once: the variables' sources, and whether secrets
/// may go where it goes.
package final class SendContext {
    /// The client's canonical request, also when a hop is being sent.
    package var request: CanonicalRequest
    package var client: ClientFacts
    /// The server that is sent to.
    package var destination = Destination.none
    /// The value of Host that was sent.
    package let sentHost = ByteBuffer(capacity: 64)
    package let requestID = ByteBuffer(capacity: 32)
    /// The send goes to the configured upstream's own origin: values of `request:` that hold a secret may go too.
    package var isUpstreamOrigin = true
    /// The send leaves the client's own Authorization and Cookie behind, so variables do not bring them either.
    package var leavesCredentialsBehind = false
    /// Nothing is sent: for a person who wants to see it, with secrets as their sources.
    package var isDescribing = false
    package var unixTime: Int = 0
    /// Secrets left out since the destination is not permitted; counted, reset by the sender.
    package var withheld = 0
    /// A hop before was not permitted a secret: what is dropped stays dropped, also where it would be permitted again.
    package var staysDropped = false
    /// The same for credentials, a bit each by their place among the configuration's.
    package var droppedCredentials: UInt64 = 0
    /// What `{uuid}` is made of; moves on with each use.
    package var random = RandomSource()

    package init(request: CanonicalRequest, client: ClientFacts) {
        self.request = request
        self.client = client
    }
}

/// Where a send goes: an object of the server's, so that a send refers to it instead of copying its parts.
package final class Destination {
    /// Host[:port] as Host has it.
    package let authority = ByteBuffer(capacity: 32)
    /// For `hosts` of credentials: lower-cased, IPv6 literals in brackets.
    package let host = ByteBuffer(capacity: 32)
    package let port: UInt16
    package let scheme: Scheme

    package init(authority: String, host: String, port: UInt16, scheme: Scheme) {
        self.authority.append(text: authority)
        self.host.append(text: host)
        self.port = port
        self.scheme = scheme
    }

    /// Before anything is sent; one each time, since workers share no object.
    package static var none: Destination { Destination(authority: "", host: "", port: 0, scheme: .http) }
}
