#include "cre2.h"

#include <re2/re2.h>

#include <cstring>
#include <new>

struct cre2_pattern {
    re2::RE2 expression;
    cre2_pattern(const re2::StringPiece &text, const re2::RE2::Options &options) : expression(text, options) {}
};

cre2_pattern *cre2_compile(const char *pattern, size_t length, char *error, size_t capacity) {
    re2::RE2::Options options;
    options.set_encoding(re2::RE2::Options::EncodingLatin1);
    options.set_log_errors(false);
    options.set_dot_nl(true);
    options.set_never_capture(true);
    options.set_max_mem(1 << 20);
    cre2_pattern *compiled = new (std::nothrow) cre2_pattern(re2::StringPiece(pattern, length), options);
    if (compiled && compiled->expression.ok()) return compiled;
    if (capacity) {
        std::strncpy(error, compiled ? compiled->expression.error().c_str() : "out of memory", capacity - 1);
        error[capacity - 1] = 0;
    }
    delete compiled;
    return nullptr;
}

void cre2_free(cre2_pattern *pattern) { delete pattern; }

int cre2_full_match(const cre2_pattern *pattern, const char *text, size_t length) {
    return re2::RE2::FullMatch(re2::StringPiece(text, length), pattern->expression);
}
