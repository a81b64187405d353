internal import Policy

/// The credentials of a file by name, those with errors included.
struct CredentialTable {
    struct Entry {
        var name: String
        var place: Value
        /// nil: it has errors.
        var definition: CredentialDefinition?
        var hasHosts = false
    }

    var entries: [Entry] = []

    func index(of name: String) -> Int? { entries.firstIndex { $0.name == name } }
    var names: [String] { entries.map(\.name) }
}

extension ConfigurationDecoder {
    func credentials(_ root: Fields) -> CredentialTable {
        var table = CredentialTable()
        for (name, value) in root.entries("credentials") {
            guard let text = self.name(name), table.index(of: text) == nil else { continue }
            table.entries.append(credential(value, name: text, place: name))
        }
        return table
    }

    private func credential(_ value: Value, name: String, place: Value) -> CredentialTable.Entry {
        var entry = CredentialTable.Entry(name: name, place: place)
        guard let fields = fields(value, .credential) else { return entry }
        let kinds = fields.keys.filter { $0.name != "hosts" }
        if kinds.isEmpty {
            // An unknown key was probably meant to be the kind.
            let isEmpty = value.node.entries?.allSatisfy { $0.name == "hosts" } ?? true
            if isEmpty { fail(value, "a credential has one of `bearer`, `basic` and `header`") }
        }
        for more in kinds.dropFirst() {
            fail(
                more.key, joined(value.path, more.name),
                "a credential has one kind, and `\(kinds[0].name)` is given on line \(kinds[0].key.location.line)")
        }
        let kind =
            fields["bearer"].flatMap(bearer) ?? fields.fields("basic").flatMap(basic)
            ?? fields.fields("header").flatMap(header)
        let hosts = fields.list("hosts").compactMap { destination($0, takesPort: true) }
        if let list = fields["hosts"] {
            entry.hasHosts = true
            if list.node.items?.isEmpty ?? false { fail(list, "with no host the credential could never be sent") }
        }
        entry.definition = kind.map { CredentialDefinition(name: name, kind: $0, hosts: hosts) }
        return entry
    }

    private func bearer(_ value: Value) -> CredentialDefinition.Kind? {
        guard let template = template(value, .credential) else { return nil }
        if value.node.text?.lowercased().hasPrefix("bearer ") ?? false {
            fail(value, "a bearer token stands without the word `Bearer`", hint: "it is put before the token")
            return nil
        }
        return .bearer(template)
    }

    private func basic(_ fields: Fields) -> CredentialDefinition.Kind? {
        guard let user = fields["user"], let password = fields["password"] else { return nil }
        let userTemplate = template(user, .credential)
        if userTemplate != nil, resolvedBytes(user, in: .secret)?.contains(UInt8(ascii: ":")) ?? false {
            fail(user, "a user of HTTP Basic has no colon in its name")
        }
        guard let passwordTemplate = template(password, .credential), let userTemplate else { return nil }
        return .basic(user: userTemplate, password: passwordTemplate)
    }

    private func header(_ fields: Fields) -> CredentialDefinition.Kind? {
        guard let name = fields["name"], let value = fields["value"] else { return nil }
        let text = headerName(name, for: .credential)
        guard let template = template(value, .credential), let text else { return nil }
        return .header(name: text, value: template)
    }
}
