/// `serve:`; local files in the place of an upstream.
package struct ServeDefinition: Sendable {
    /// Absolute.
    package enum Source: Sendable, Equatable {
        /// One file, whatever the path.
        case file(String)
        case folder(String)
    }

    /// Which answers say that pages of other origins may read them.
    package enum CrossOrigin: Sendable { case auto, all, none }

    package var source: Source
    package var stripPrefix: String?
    /// Only the last segment of the path counts.
    package var isFlat = false
    package var ignoresCase = false
    package var index = ["index.html"]
    package var cacheControl: String?
    package var spaFallback = false
    package var fallsThrough = false
    package var servesHidden = false
    package var compresses = true
    package var crossOrigin = CrossOrigin.auto
    /// Of texts; nil for none.
    package var charset: String? = "utf-8"

    package init(source: Source) { self.source = source }
}
