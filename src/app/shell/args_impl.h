/* app/shell/args_impl.h -- private to the parser: args.c builds a statement, args_words.c splits it
 * into words, args_values.c reads values. */
#ifndef GPDESK_ARGS_IMPL_H
#define GPDESK_ARGS_IMPL_H

#include "app/shell/args.h"

struct args_word {
    char *text;        /* without quotes; for key=value the value */
    char *key;         /* "rank" in rank=512 and --rank=512; NULL: no key */
    bool quoted;       /* began with a quote, so it is never a key, a flag or ? */
    bool whole;        /* a pair of quotes encloses the whole word */
    bool dashed;       /* written as --rank: the next word may be its value */
    size_t start, end; /* byte offsets in the statement */
};
struct args_words { struct args_word *v; size_t n, cap; };
/* Splits a statement into words. Free them with args_words_free, after a failure too. */
enum status args_words_read(const char *statement, struct args_words *, struct err *);
void args_words_free(struct args_words *);

/* Reads "yes", "no" and the like; false if the text is neither. */
bool args_value_bool(const char *text, bool *out);
/* Sets the error for a wrong value: the value, the reason, and what was expected. */
enum status args_value_bad(const struct arg *, const char *text, enum status, const char *why,
                           struct err *);
/* Parses a number (lo == hi) or an interval a..b. */
enum status args_value_bound(const struct arg *, const char *text, double *lo, double *hi,
                             struct err *);
/* Parses a list of whole numbers, which the caller frees. */
enum status args_value_ints(const struct arg *, const char *text, size_t **out, size_t *n,
                            struct err *);
/* Checks a value. It may replace *text by its canonical form. */
enum status args_value_check(const struct arg *, char **text, struct err *);

#endif
