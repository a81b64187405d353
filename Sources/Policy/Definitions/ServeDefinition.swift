/// `serve:`; local files in the place of an upstream.
public struct ServeDefinition: Sendable {
    /// Absolute.
    public enum Source: Sendable, Equatable {
        /// One file, whatever the path.
        case file(String)
        case folder(String)
    }

    /// Which answers say that pages of other origins may read them.
    public enum CrossOrigin: Sendable { case auto, all, none }

    public var source: Source
    public var stripPrefix: String?
    /// Only the last segment of the path counts.
    public var isFlat = false
    public var ignoresCase = false
    public var index = ["index.html"]
    public var cacheControl: String?
    public var spaFallback = false
    public var fallsThrough = false
    public var servesHidden = false
    public var compresses = true
    public var crossOrigin = CrossOrigin.auto
    /// Of texts; nil for none.
    public var charset: String? = "utf-8"

    public init(source: Source) { self.source = source }
}
