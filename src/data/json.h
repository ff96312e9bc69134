/* data/json.h -- the parts of JSON in which an encoding is stored. Names are kept byte by byte (a
 * byte that is not UTF-8 is stored as a lone low surrogate, \udc80 to \udcff), and numbers have
 * enough digits to read back the same value. */
#ifndef GPDESK_JSON_H
#define GPDESK_JSON_H

#include "base/buf.h"
#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>

void json_write_string(struct buf *, const char *s);
/* ,"key":x */
void json_write_number(struct buf *, const char *key, double x);

/* Reading. The text comes from a session file and is not trusted. */
struct json_reader {
    const char *p, *start;
    struct err *err;
};
/* FORMAT, with the position of the error. */
enum status json_wrong(struct json_reader *, const char *what);
void json_blanks(struct json_reader *);
bool json_take(struct json_reader *, char c); /* moves past it if it comes next */
enum status json_string(struct json_reader *, char **out); /* the caller frees it */
enum status json_number(struct json_reader *, double *x);  /* finite */
/* The index of a string among n words. */
enum status json_word(struct json_reader *, const char *const *words, size_t n, unsigned *out);
enum status json_bool(struct json_reader *, bool *x);
enum status json_count(struct json_reader *, double most, size_t *n); /* a whole number from 0 */
/* Reads a member's value into the object being filled. */
typedef enum status json_member_fn(struct json_reader *, const char *key, void *into);
enum status json_skip(struct json_reader *); /* moves past any value */
enum status json_object(struct json_reader *, json_member_fn *, void *into);

#endif
