@testable import HTTP
@testable import Policy
import Testing

@Suite struct CacheStoragePolicyTests {
    @Test(
        arguments: [
            ([], .addPrivate), (["max-age=60"], .addPrivate), (["public"], .none), (["max-age=60, PUBLIC"], .none),
            (["s-maxage=60"], .none), (["must-revalidate"], .none),
            (["private"], .none), (["no-store"], .none), (["private=\"set-cookie\""], .addPrivate),
            (["private=\"x, public\""], .addPrivate), (["no-cache"], .addPrivate),
            (["s-maxage"], .addPrivate), (["s-maxage=x"], .addPrivate), (["s-maxage="], .addPrivate),
            (["max-age=1", "must-revalidate"], .none), (["publicly, xpublic"], .addPrivate),
            (["ext=\"public\""], .addPrivate), (["proxy-revalidate"], .addPrivate), ([", ,public ,"], .none),
        ] as [([String], CacheStoragePolicy.Change)])
    func automatic(_ directives: [String], _ expected: CacheStoragePolicy.Change) {
        let response = makeResponse(200, directives.map { "Cache-Control: " + $0 })
        #expect(CacheStoragePolicy.change(.auto, isAuthorised: true, response: response) == expected)
        #expect(CacheStoragePolicy.change(.auto, isAuthorised: false, response: response) == .none)
        #expect(CacheStoragePolicy.change(.allowed, isAuthorised: true, response: response) == .none)
        #expect(CacheStoragePolicy.change(.notAllowed, isAuthorised: false, response: response) == .noStore)
    }
}
