/* base/buf.h -- a growable string, and writing text, numbers and JSON into it.
 *
 * A buf for which memory ran out stays valid and remembers it (buf.failed), so that a long sequence
 * of appends needs only one check at its end. */
#ifndef GPDESK_BUF_H
#define GPDESK_BUF_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

struct buf {
    char *s;      /* NUL-terminated once anything was appended; NULL before */
    size_t len, cap;
    bool failed;
};

void buf_free(struct buf *);  /* leaves an empty, usable buf */
void buf_clear(struct buf *); /* keeps the storage */
char *
buf_take(struct buf *); /* moves the string out (caller frees); "" when empty; NULL if failed */
const char *buf_str(const struct buf *); /* never NULL */
void buf_putc(struct buf *, char c);
void buf_puts(struct buf *, const char *s);
void buf_putn(struct buf *, const char *s, size_t n);
void buf_printf(struct buf *, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void buf_vprintf(struct buf *, const char *fmt, va_list ap) __attribute__((format(printf, 2, 0)));

/* JSON.  Strings are escaped; bytes that are not UTF-8 become U+FFFD.  Doubles are written with
 * the fewest digits that read back to the same value; NaN and infinities as null. */
void buf_json_string(struct buf *, const char *s);
void buf_json_double(struct buf *, double x);

#endif
