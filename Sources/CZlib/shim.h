#ifndef AUTHPROXY_CZLIB_H
#define AUTHPROXY_CZLIB_H
// The two initialisers are macros, which the importer can not read. Static inline functions only.
#include <zlib.h>

static inline int czlib_deflate_init(z_streamp stream, int level, int window_bits) {
    return deflateInit2(stream, level, Z_DEFLATED, window_bits, 8, Z_DEFAULT_STRATEGY);
}
static inline int czlib_inflate_init(z_streamp stream, int window_bits) { return inflateInit2(stream, window_bits); }
#endif
