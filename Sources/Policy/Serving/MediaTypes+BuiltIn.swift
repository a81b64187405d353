extension MediaTypes {
    /// What pages are made of, in the format of `/etc/mime.types`, for systems that have no such file or an old one.
    static let builtIn = """
        text/html html htm
        text/css css
        text/javascript js mjs cjs
        text/plain txt text log ini conf
        text/markdown md markdown
        text/csv csv
        text/tab-separated-values tsv
        text/calendar ics
        text/vcard vcf
        text/vtt vtt
        text/x-component htc
        application/json json map
        application/manifest+json webmanifest
        application/ld+json jsonld
        application/geo+json geojson
        application/xml xml xsl
        application/xhtml+xml xhtml
        application/atom+xml atom
        application/rss+xml rss
        application/wasm wasm
        application/pdf pdf
        application/rtf rtf
        application/yaml yaml yml
        application/toml toml
        application/zip zip
        application/gzip gz tgz
        application/zstd zst
        application/x-bzip2 bz2
        application/x-xz xz
        application/x-tar tar
        application/x-7z-compressed 7z
        application/java-archive jar
        application/vnd.android.package-archive apk
        application/vnd.apple.mpegurl m3u8
        application/dash+xml mpd
        application/vnd.ms-fontobject eot
        application/msword doc
        application/vnd.openxmlformats-officedocument.wordprocessingml.document docx
        application/vnd.ms-excel xls
        application/vnd.openxmlformats-officedocument.spreadsheetml.sheet xlsx
        application/vnd.ms-powerpoint ppt
        application/vnd.openxmlformats-officedocument.presentationml.presentation pptx
        application/epub+zip epub
        application/octet-stream bin exe dll iso img dmg deb
        font/woff woff
        font/woff2 woff2
        font/ttf ttf
        font/otf otf
        font/collection ttc
        image/png png
        image/apng apng
        image/jpeg jpg jpeg
        image/gif gif
        image/webp webp
        image/avif avif
        image/svg+xml svg
        image/vnd.microsoft.icon ico
        image/bmp bmp
        image/tiff tif tiff
        image/heic heic
        image/jxl jxl
        audio/mpeg mp3
        audio/mp4 m4a
        audio/aac aac
        audio/ogg oga ogg opus
        audio/flac flac
        audio/wav wav
        audio/webm weba
        audio/midi mid midi
        video/mp4 mp4 m4v
        video/webm webm
        video/ogg ogv
        video/quicktime mov
        video/mp2t ts
        video/x-matroska mkv
        video/x-msvideo avi
        model/gltf+json gltf
        model/gltf-binary glb
        """
}
