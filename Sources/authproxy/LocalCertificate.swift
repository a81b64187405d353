internal import Proxy
internal import Transport

/// What `run --tls` serves with: a certificate for this machine's local names, signed by an authority that is made once and kept
/// in the user's state folder.
enum LocalCertificate {
    /// Makes what is not there yet, and says how to have it trusted when there is a new authority.
    static func ensure() throws -> CertificateFiles {
        let folder = try stateFolder()
        let files = CertificateFiles(certificate: folder + "/localhost.pem", key: folder + "/localhost.key")
        do {
            let authority = try authority(in: folder)
            if let certificate = read(files.certificate), let key = read(files.key),
                authority.stillVouches(for: certificate, key: key)
            {
                return files
            }
            let (certificate, key) = try authority.issue()
            try PrivateFile.write(key, to: files.key)
            try PrivateFile.write(certificate, to: files.certificate, mode: 0o644)
            return files
        } catch let error as TLSError {
            throw UsageError("--tls: \(error.text)")
        } catch let error as FileSystemError {
            throw UsageError("--tls: \(folder): \(error.description)")
        }
    }

    private static func stateFolder() throws -> String {
        if let folder = EnvironmentVariables.value("STATE_DIRECTORY"), folder.hasPrefix("/") { return folder }
        var parents: [String] = []
        if let state = EnvironmentVariables.value("XDG_STATE_HOME"), state.hasPrefix("/") {
            parents = [state]
        } else if let home = EnvironmentVariables.value("HOME"), home.hasPrefix("/") {
            parents = [home + "/.local", home + "/.local/state"]
        } else {
            throw UsageError("--tls: there is no folder for the certificate: set XDG_STATE_HOME or HOME")
        }
        for parent in parents where !FileStatus.exists(parent) { _ = PrivateFolder.make(parent) }
        let folder = (parents.last ?? "") + "/authproxy"
        guard PrivateFolder.make(folder) != nil else {
            throw UsageError("--tls: \(folder) must be a folder that only this user may enter (mode 0700)")
        }
        return folder
    }

    private static func authority(in folder: String) throws -> LocalAuthority {
        let certificatePath = folder + "/ca.pem"
        let keyPath = folder + "/ca.key"
        if let certificate = read(certificatePath), let key = read(keyPath) {
            return try LocalAuthority(certificate: certificate, key: key)
        }
        let authority = try LocalAuthority(owner: EnvironmentVariables.value("USER") ?? "this user")
        try PrivateFile.write(authority.key, to: keyPath)
        try PrivateFile.write(authority.certificate, to: certificatePath, mode: 0o644)
        Terminal.error(advice(certificatePath))
        return authority
    }

    private static func advice(_ path: String) -> String {
        """

          A certificate authority for localhost was made; it can vouch for localhost, *.localhost and loopback addresses only.
          curl     curl --cacert \(path) https://localhost:8080/
          system   sudo cp \(path) /usr/local/share/ca-certificates/authproxy-local.crt && sudo update-ca-certificates
          browser  import \(path) as an authority that identifies websites


        """
    }

    private static func read(_ path: String) -> [UInt8]? { try? FileContent.read(path, limit: 1 << 20) }
}
