#ifndef AUTHPROXY_CRE2_H
#define AUTHPROXY_CRE2_H
// The few calls of RE2 that the proxy needs, with C linkage: linear time, bytes (Latin-1), full match.
#include <stddef.h>
#ifdef __cplusplus
extern "C" {
#endif
typedef struct cre2_pattern cre2_pattern;
// Compiles; NULL with a message in `error` (at most `capacity` bytes, zero-terminated) when the pattern is faulty.
cre2_pattern *cre2_compile(const char *pattern, size_t length, char *error, size_t capacity);
void cre2_free(cre2_pattern *pattern);
// 1 when the whole text matches.
int cre2_full_match(const cre2_pattern *pattern, const char *text, size_t length);
#ifdef __cplusplus
}
#endif
#endif
