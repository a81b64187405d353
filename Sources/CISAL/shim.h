#ifndef AUTHPROXY_CISAL_H
#define AUTHPROXY_CISAL_H
// The stream holds arrays that the importer can not read, so it is made and used here. Static inline functions only.
#include <isa-l/igzip_lib.h>
#include <stdlib.h>

/// One allocation: the stream, then the memory of its level.
static inline void *cisal_writer_make(void) {
    struct isal_zstream *stream = (struct isal_zstream *)malloc(sizeof(struct isal_zstream) + ISAL_DEF_LVL2_DEFAULT);
    if (!stream) return NULL;
    isal_deflate_init(stream);
    stream->level = 2;
    stream->level_buf = (uint8_t *)(stream + 1);
    stream->level_buf_size = ISAL_DEF_LVL2_DEFAULT;
    return stream;
}
static inline void cisal_writer_begin(void *writer, int is_gzip) {
    struct isal_zstream *stream = (struct isal_zstream *)writer;
    isal_deflate_reset(stream);
    stream->gzip_flag = is_gzip ? IGZIP_GZIP : IGZIP_ZLIB;
    stream->flush = NO_FLUSH;
    stream->end_of_stream = 0;
}
static inline void cisal_writer_free(void *writer) { free(writer); }

/// Encodes from `input` to `output`, both of which are moved on; 0, or the library's error.
static inline int cisal_encode(void *writer, const uint8_t **input, uint32_t *available, uint8_t *output, uint32_t *room, int flush, int end) {
    struct isal_zstream *stream = (struct isal_zstream *)writer;
    stream->next_in = (uint8_t *)*input;
    stream->avail_in = *available;
    stream->next_out = output;
    stream->avail_out = *room;
    stream->flush = flush ? SYNC_FLUSH : NO_FLUSH;
    stream->end_of_stream = (uint16_t)end;
    int result = isal_deflate(stream);
    *input = stream->next_in;
    *available = stream->avail_in;
    *room = stream->avail_out;
    return result;
}
#endif
