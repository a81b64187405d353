import Testing
import Transport

/// Client and server in one thread, without sockets: what one has to say is handed to the other.
@Suite struct TLSSessionTests {
    private struct Pair {
        let authority: LocalAuthority
        let certificate: [UInt8]
        let key: [UInt8]
        let ring: TicketKeyRing
        let server: TLSServerContext
        let client: TLSClientContext
        let serverWire: TLSWire
        let clientWire: TLSWire

        init(keys: TicketKeys, _ change: (inout TLSServerSettings) -> Void = { _ in }) throws {
            authority = try LocalAuthority(owner: "a test")
            (certificate, key) = try authority.issue()
            ring = TicketKeyRing(keys)
            var settings = TLSServerSettings(certificates: [try TLSCertificate(certificate: certificate, key: key)])
            change(&settings)
            server = try TLSServerContext(settings, tickets: ring)
            var trust = TLSClientSettings()
            trust.authorities = authority.certificate
            client = try TLSClientContext(trust)
            serverWire = try TLSWire()
            clientWire = try TLSWire()
        }

        func sessions(name: String = "localhost", _ resumption: TLSResumption = TLSResumption()) throws -> (TLSSession, TLSSession)
        {
            (try client.session(on: clientWire, to: name, resuming: resumption), try server.session(on: serverWire))
        }
    }

    /// Hands over what `from` has to say, and returns the plaintext that comes of it.
    @discardableResult
    private func pass(_ from: TLSSession, to: TLSSession, isEnd: Bool = false) -> [UInt8] {
        var count = 0
        from.wire.takeOutput { bytes in
            count = bytes.count
            unsafe to.wire.incoming.copyMemory(from: bytes)
        }
        let room = UnsafeMutableRawBufferPointer.allocate(byteCount: 128 * 1024, alignment: 1)
        defer { room.deallocate() }
        let length = unsafe to.decrypt(count, isEnd: isEnd, into: room)
        return unsafe Array(room[..<length])
    }

    private func shakeHands(_ client: TLSSession, _ server: TLSSession) {
        client.begin()
        for _ in 0..<4 {
            pass(client, to: server)
            pass(server, to: client)
        }
    }

    @Test func bytesGoBothWays() throws {
        let pair = try Pair(keys: TicketKeys())
        let (client, server) = try pair.sessions()
        shakeHands(client, server)
        #expect(client.isEstablished && server.isEstablished)
        #expect(client.negotiatedProtocol == .http2 && server.negotiatedProtocol == .http2)
        #expect(server.promisedNames?.first?.covers("app.localhost") == true)
        let text = (0..<40_000).map { UInt8(truncatingIfNeeded: $0) }
        #expect(text.withUnsafeBytes { unsafe client.encrypt($0) })
        #expect(pass(client, to: server) == text)
        server.finishSending()
        #expect(pass(server, to: client).isEmpty)
        #expect(client.peerHasFinished && !client.isTruncated && client.failure == nil)
    }

    @Test func theServersPreferenceChoosesTheProtocol() throws {
        let pair = try Pair(keys: TicketKeys()) { $0.protocols = [.http11, .http2] }
        let (client, server) = try pair.sessions()
        shakeHands(client, server)
        #expect(client.negotiatedProtocol == .http11 && server.negotiatedProtocol == .http11)
    }

    @Test func anEndWithoutFarewellIsTold() throws {
        let pair = try Pair(keys: TicketKeys())
        let (client, server) = try pair.sessions()
        shakeHands(client, server)
        pass(server, to: client, isEnd: true)
        #expect(client.isTruncated && client.failure != nil)
    }

    @Test func ticketsOutliveOneRotationAndNotAll() throws {
        var keys = try TicketKeys()
        let pair = try Pair(keys: keys)
        let resumption = TLSResumption()
        let (first, firstServer) = try pair.sessions(resumption)
        shakeHands(first, firstServer)
        #expect(!first.wasResumed)
        for round in 0..<5 {
            try keys.rotate()
            pair.ring.update(keys)
            let (client, server) = try pair.sessions(resumption)
            shakeHands(client, server)
            // Each resumption renews the ticket, so it goes on for ever.
            #expect(client.wasResumed && server.wasResumed, "round \(round)")
        }
        for _ in 0..<3 { try keys.rotate() }
        pair.ring.update(keys)
        let (client, server) = try pair.sessions(resumption)
        shakeHands(client, server)
        #expect(client.isEstablished && !client.wasResumed)
        #expect(keys.count == 3)
    }

    @Test func anotherWorkerOpensTheTicket() throws {
        let keys = try TicketKeys()
        let pair = try Pair(keys: keys)
        let resumption = TLSResumption()
        let (client, server) = try pair.sessions(resumption)
        shakeHands(client, server)
        let settings = TLSServerSettings(certificates: [try TLSCertificate(certificate: pair.certificate, key: pair.key)])
        let other = try TLSServerContext(settings, tickets: TicketKeyRing(keys))
        let again = try pair.client.session(on: pair.clientWire, to: "localhost", resuming: resumption)
        let there = try other.session(on: pair.serverWire)
        shakeHands(again, there)
        #expect(there.wasResumed)
    }

    @Test func aSessionIsNotResumedWhereOtherClientsAreDemanded() throws {
        let keys = try TicketKeys()
        let pair = try Pair(keys: keys)
        let resumption = TLSResumption()
        let (client, server) = try pair.sessions(resumption)
        shakeHands(client, server)
        var settings = TLSServerSettings(certificates: [try TLSCertificate(certificate: pair.certificate, key: pair.key)])
        settings.clientAuthorities = pair.authority.certificate
        settings.clientAuthentication = .require
        let strict = try TLSServerContext(settings, tickets: TicketKeyRing(keys))
        let again = try pair.client.session(on: pair.clientWire, to: "localhost", resuming: resumption)
        let there = try strict.session(on: pair.serverWire)
        shakeHands(again, there)
        #expect(!there.isEstablished && there.failure != nil)
    }

    @Test(arguments: ["other.test", "127.0.0.2"])
    func aServerThatIsNotTheOneMeantIsRefused(_ name: String) throws {
        let pair = try Pair(keys: TicketKeys())
        let (client, server) = try pair.sessions(name: name)
        shakeHands(client, server)
        #expect(!client.isEstablished)
        #expect(client.failure?.text.contains("certificate is not accepted") == true)
    }

    @Test func anUnknownAuthorityIsRefused() throws {
        let pair = try Pair(keys: TicketKeys())
        let stranger = try TLSClientContext(TLSClientSettings())
        let client = try stranger.session(on: pair.clientWire, to: "localhost", resuming: TLSResumption())
        let server = try pair.server.session(on: pair.serverWire)
        shakeHands(client, server)
        #expect(!client.isEstablished && client.failure != nil && server.failure != nil)
    }

    @Test func whatIsNoHandshakeIsAFailure() throws {
        let pair = try Pair(keys: TicketKeys())
        let server = try pair.server.session(on: pair.serverWire)
        let text = Array("GET / HTTP/1.1\r\n\r\n".utf8)
        unsafe server.wire.incoming.copyBytes(from: text)
        let room = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 * 1024, alignment: 1)
        defer { room.deallocate() }
        #expect(unsafe server.decrypt(text.count, into: room) == 0)
        #expect(server.failure?.text == "http request")
    }

    @Test func keysThatDoNotFitAreRefused() throws {
        let authority = try LocalAuthority(owner: "a test")
        let one = try authority.issue()
        let other = try authority.issue()
        #expect(throws: TLSError("the key is not the certificate's", isAboutKey: true)) {
            try TLSCertificate(certificate: one.certificate, key: other.key)
        }
        #expect(throws: TLSError("no certificate in it (PEM)")) { try TLSCertificate(certificate: one.key, key: one.key) }
        #expect(throws: TLSError("no private key in it that can be read (PEM)", isAboutKey: true)) {
            try TLSCertificate(certificate: one.certificate, key: one.certificate)
        }
        #expect(throws: TLSError.self) { try TLSCertificate(certificate: Array(one.certificate.dropLast(60)), key: one.key) }
        #expect(authority.stillVouches(for: one.certificate, key: one.key))
        #expect(!authority.stillVouches(for: one.certificate, key: other.key))
        #expect(try !LocalAuthority(owner: "another").stillVouches(for: one.certificate, key: one.key))
    }
}
