/* base/text.h -- widths, escaping and numbers for people. */
#ifndef GPDESK_TEXT_H
#define GPDESK_TEXT_H

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Decodes the character at s, which is not at its end, and returns its length in bytes.  What is
 * not UTF-8 (overlong forms, surrogates and cut sequences, too) has one byte and gives
 * UINT32_MAX. */
size_t text_decode(const char *s, uint32_t *cp);
/* The display width of a UTF-8 string; bytes that are not UTF-8 and controls count as one
 * column. */
size_t text_width(const char *s);
/* The length in bytes of the longest prefix of s, in whole characters, that fits `cols` columns. */
size_t text_fit(const char *s, size_t cols);
/* Appends s in a form that is safe for a terminal: control characters, ESC, C1, bidi overrides and
 * bytes that are not UTF-8 are escaped (\n, \t, \x1b, \u202e).  At most `cols` columns, then "..";
 * 0: all of it. */
void text_safe(struct buf *, const char *s, size_t cols);
/* s in single quotes, made safe in the same way, at most 40 columns and cut to fit into out: for
 * names in messages. */
const char *text_quoted(const char *s, char *out, size_t len);
/* Appends a field of a CSV file, in quotes if it needs them. */
void text_csv(struct buf *, const char *s);
/* True if a spreadsheet would take the text for a formula: it begins with = + - @, a tab or a
 * carriage return. */
bool text_is_formula(const char *s);
/* text_csv, but a formula is preceded by an apostrophe, so that spreadsheets show it as plain
 * text. */
void text_csv_guarded(struct buf *, const char *s);
typedef void text_csv_fn(struct buf *, const char *s); /* either of the two */
/* "36,000" */
void text_count(char *out, size_t len, uint64_t n);
/* "0.1 s", "12.3 s", "4 min 10 s", "2 h 03 min" */
void text_seconds(char *out, size_t len, double s);
/* %.4g, but never "1e+05" for whole numbers below a million; "nan" as "-" */
void text_number(char *out, size_t len, double x);
/* Reads a decimal number (as 1.5e3) in the C locale from exactly len bytes; false unless all of
 * them belong to it. */
bool text_double(const char *s, size_t len, double *out);
/* "64k" "1.5M" "4GB" "90%"; units of 1000 for counts (k M G), 1024 when B is given. */
bool text_scaled(const char *s, double *out);
/* Appends text broken at blanks into lines of at most `width` columns.  The first begins with
 * `first`, the others with `rest`; the last has no line end.  A blank before a % does not break. */
void text_wrap(struct buf *, const char *text, size_t width, const char *first, const char *rest);
/* The length of s before the first of `stops` outside quotes and parentheses; all of s if there is
 * none. */
size_t text_span(const char *s, const char *stops);
/* The Levenshtein distance, at most `limit` + 1, for suggestions. */
size_t text_distance(const char *a, const char *b, size_t limit);

#endif
