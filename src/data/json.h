/* data/json.h -- the pieces of JSON that an encoding is stored in: names byte for byte (a byte
 * that is not UTF-8 travels as a lone low surrogate, \udc80 to \udcff), numbers with the digits
 * that read back to the same value. */
#ifndef GPDESK_JSON_H
#define GPDESK_JSON_H

#include "base/buf.h"
#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>

void json_write_string(struct buf *, const char *s);
/* ,"key":x */
void json_write_number(struct buf *, const char *key, double x);

/* Reading.  What is read comes from a session file and is not believed. */
struct json_reader {
    const char *p, *start;
    struct err *err;
};
/* FORMAT, with the byte at which reading stands. */
enum status json_wrong(struct json_reader *, const char *what);
void json_blanks(struct json_reader *);
bool json_take(struct json_reader *, char c); /* steps over it, where it is next */
enum status json_string(struct json_reader *, char **out); /* the caller frees */
enum status json_number(struct json_reader *, double *x);  /* finite */
/* The index of a string among n words. */
enum status json_word(struct json_reader *, const char *const *words, size_t n, unsigned *out);
enum status json_bool(struct json_reader *, bool *x);
enum status json_count(struct json_reader *, double most, size_t *n); /* whole, from 0 */
/* Reads a member's value into whatever is being filled. */
typedef enum status json_member_fn(struct json_reader *, const char *key, void *into);
enum status json_skip(struct json_reader *); /* over a value of any sort */
enum status json_object(struct json_reader *, json_member_fn *, void *into);

#endif
