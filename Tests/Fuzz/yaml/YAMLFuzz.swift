import Config

/// Feeds the bytes to the configuration loader, with an environment in which one variable is secret.
///
/// What must hold: loading ends with a configuration or with errors, there is at least one error if it fails, and no message
/// holds what the variable stands for.
@c(LLVMFuzzerTestOneInput)
public func fuzzYAML(_ data: UnsafePointer<UInt8>?, _ size: Int) -> CInt {
    guard let data = unsafe data, size > 0 else { return 0 }
    let text = unsafe String(decoding: UnsafeBufferPointer(start: data, count: size), as: UTF8.self)
    let secret = "s3cr3t-canary"
    do {
        let loaded = try ConfigurationLoader.load(text: text, file: "config.yaml", environment: { $0 == "T" ? secret : nil })
        precondition(!loaded.warnings.render(color: true).contains(secret) || text.contains(secret), "a warning shows a secret")
    } catch {
        precondition(!error.problems.isEmpty, "a configuration is refused without a reason")
        precondition(!error.render(color: true).contains(secret) || text.contains(secret), "an error shows a secret")
    }
    return 0
}
