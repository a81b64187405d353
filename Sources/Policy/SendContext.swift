package import HTTP

/// What the values of a request or response are made from while it is sent once: the variables' sources, and whether secrets
/// may go where it goes.
package final class SendContext {
    /// The client's canonical request, also when a hop is being sent.
    package var request: CanonicalRequest
    package var client: ClientFacts
    /// Host[:port] of the server that is sent to.
    package var upstreamAuthority = ByteBuffer(capacity: 16)
    /// The value of Host that was sent.
    package let sentHost = ByteBuffer(capacity: 64)
    package let requestID = ByteBuffer(capacity: 32)
    /// Where this send goes, for `hosts` of credentials: host lower-cased, IPv6 literals in brackets.
    package var destinationHost = ByteBuffer(capacity: 16)
    package var destinationPort: UInt16 = 0
    package var destinationScheme = Scheme.http
    /// The send goes to the configured upstream's own origin: values of `request:` that hold a secret may go too.
    package var isUpstreamOrigin = true
    /// The send leaves the client's own Authorization and Cookie behind, so variables do not bring them either.
    package var leavesCredentialsBehind = false
    /// Nothing is sent: for a person who wants to see it, with secrets as their sources.
    package var isDescribing = false
    package var unixTime: Int = 0
    /// Secrets left out since the destination is not permitted; counted, reset by the sender.
    package var withheld = 0
    /// What `{uuid}` is made of; moves on with each use.
    package var random = RandomSource()

    package init(request: CanonicalRequest, client: ClientFacts) {
        self.request = request
        self.client = client
    }
}
