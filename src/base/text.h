/* base/text.h -- widths, escaping and numbers for people. */
#ifndef GPDESK_TEXT_H
#define GPDESK_TEXT_H

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The character at s (not at its end): how many bytes it takes.  What is not UTF-8 (overlong forms,
 * surrogates and cut sequences too) takes one byte and gives UINT32_MAX. */
size_t text_decode(const char *s, uint32_t *cp);
/* Display columns of a UTF-8 string; bytes that are not UTF-8 and controls count as one. */
size_t text_width(const char *s);
/* Longest prefix (in bytes) of s that fits in `cols` display columns, whole characters only. */
size_t text_fit(const char *s, size_t cols);
/* Appends s safe for a terminal: control characters, ESC, C1, bidi overrides and bytes that are
 * not UTF-8 appear escaped (\n, \t, \x1b, \u202e); at most `cols` columns, then "..". 0: all. */
void text_safe(struct buf *, const char *s, size_t cols);
/* The same in single quotes, at most 40 columns, cut to fit into out: for names in messages. */
const char *text_quoted(const char *s, char *out, size_t len);
/* A field of a CSV file, in quotes where it needs them. */
void text_csv(struct buf *, const char *s);
/* The same, but text that a spreadsheet would take for a formula (it begins with = + - @, a tab or
 * a carriage return) gets an apostrophe before it, which spreadsheets show as plain text. */
void text_csv_guarded(struct buf *, const char *s);
typedef void text_csv_fn(struct buf *, const char *s); /* either of the two */
/* "36,000" */
void text_count(char *out, size_t len, uint64_t n);
/* "0.1 s", "12.3 s", "4 min 10 s", "2 h 03 min" */
void text_seconds(char *out, size_t len, double s);
/* %.4g, but never "1e+05" for whole numbers below a million; "nan" as "-" */
void text_number(char *out, size_t len, double x);
/* strtod for the C locale over exactly len bytes; false unless all are used. Accepts 1.5e3 only. */
bool text_double(const char *s, size_t len, double *out);
/* "64k" "1.5M" "4GB" "90%"; units of 1000 for counts (k M G), 1024 when B is given. */
bool text_scaled(const char *s, double *out);
/* Appends text broken at blanks into lines of at most `width` columns, the first begun with
 * `first`, the others with `rest`; no line end behind the last.  A blank before a % does not break.
 */
void text_wrap(struct buf *, const char *text, size_t width, const char *first, const char *rest);
/* Length of s before the first of `stops` that stands outside quotes and parentheses; all of s if
 * none does. */
size_t text_span(const char *s, const char *stops);
/* Levenshtein distance, at most `limit` + 1; for "did you mean". */
size_t text_distance(const char *a, const char *b, size_t limit);

#endif
