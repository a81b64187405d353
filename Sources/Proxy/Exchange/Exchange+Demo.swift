internal import HTTP
internal import Policy

extension Exchange {
    /// What an upstream would be sent now, with where each part comes from and secrets as their sources.
    func demoRequestView() -> DemoRequestView { DemoRequestView(method: [], target: []) }
}
