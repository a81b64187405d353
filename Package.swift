// swift-tools-version: 6.2
import PackageDescription

// Arrows point at what is imported; nothing points up. See docs/architecture.md.
let package = Package(
    name: "authproxy",
    products: [.executable(name: "authproxy", targets: ["authproxy"])],
    targets: [
        .systemLibrary(name: "CLinux"),
        .systemLibrary(name: "COpenSSL", pkgConfig: "openssl", providers: [.apt(["libssl-dev"])]),
        .systemLibrary(name: "CYAML", pkgConfig: "yaml-0.1", providers: [.apt(["libyaml-dev"])]),
        .systemLibrary(name: "CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"])]),
        .systemLibrary(name: "CISAL", pkgConfig: "libisal", providers: [.apt(["libisal-dev"])]),
        .systemLibrary(name: "CBrotli", pkgConfig: "libbrotlienc", providers: [.apt(["libbrotli-dev"])]),
        .systemLibrary(name: "CZstd", pkgConfig: "libzstd", providers: [.apt(["libzstd-dev"])]),
        .systemLibrary(name: "CNGHTTP2", pkgConfig: "libnghttp2", providers: [.apt(["libnghttp2-dev"])]),
        .target(name: "CRE2", linkerSettings: [.linkedLibrary("re2")]),

        .target(name: "HTTP"),
        .target(name: "Codings", dependencies: ["HTTP", "CZlib", "CISAL", "CBrotli", "CZstd"]),
        .target(name: "HTML", dependencies: ["HTTP"]),
        .target(name: "Transport", dependencies: ["CLinux", "COpenSSL"]),
        .target(name: "Policy", dependencies: ["HTTP", "HTML", "CRE2"]),
        .target(name: "Proxy", dependencies: ["HTTP", "HTML", "Codings", "Policy", "Transport", "CLinux", "CNGHTTP2"]),
        .target(name: "Config", dependencies: ["HTTP", "HTML", "Policy", "Transport", "Proxy", "CYAML"]),
        .executableTarget(name: "authproxy", dependencies: ["HTTP", "Policy", "Transport", "Proxy", "Config", "CLinux"]),

        .testTarget(name: "HTTPTests", dependencies: ["HTTP"]),
        .testTarget(name: "CodingsTests", dependencies: ["Codings", "HTTP"]),
        .testTarget(name: "HTMLTests", dependencies: ["HTML", "HTTP"]),
        .testTarget(name: "TransportTests", dependencies: ["Transport"]),
        .testTarget(name: "PolicyTests", dependencies: ["Policy", "HTTP"]),
        .testTarget(name: "ConfigTests", dependencies: ["Config", "Policy", "Proxy", "HTTP"]),
        .testTarget(name: "ProxyTests", dependencies: ["Proxy", "Policy", "HTTP", "Transport"]),
    ],
    swiftLanguageModes: [.v6],
    cxxLanguageStandard: .cxx17
)

for target in package.targets where target.type != .system && target.name != "CRE2" {
    target.swiftSettings = [
        .enableExperimentalFeature("Lifetimes"),  // spans vended by our own buffers
        .enableUpcomingFeature("ExistentialAny"),
        .enableUpcomingFeature("InternalImportsByDefault"),
        .enableUpcomingFeature("MemberImportVisibility"),
        .treatAllWarnings(as: .error),
        // Exclusivity is checked in debug builds and tests; in a release build the run-time check of class properties
        // that cross a target costs five times what the access does.
        .unsafeFlags(["-enforce-exclusivity=unchecked"], .when(configuration: .release)),
    ]
}
