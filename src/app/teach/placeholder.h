/* app/teach/placeholder.h -- the current numbers by name, for pages and lessons that speak of them:
 * "{rmse}" in a text, "[coverage95 < 0.9]" before one, and the arithmetic in both. */
#ifndef GPDESK_PLACEHOLDER_H
#define GPDESK_PLACEHOLDER_H

#include "app/core/workspace.h"

/* Further names, looked at first: what a lesson has kept. */
struct value_var { char name[24]; double x; };
struct value_vars { struct value_var *v; size_t n, cap; };

/* The names there are: those of this table, and the figures of runs (app/core/measures.h).  false:
 * past the end. */
struct value_row { const char *name, *help; bool text; };
bool placeholder_at_for_tests(size_t i, struct value_row *out);
bool placeholder_known(const char *name);                    /* a number or a text */
/* Numbers; NaN: there is none now. */
double placeholder_number(struct workspace *, const struct value_vars *, const char *name);
/* Words; false: none now. */
bool placeholder_text(struct workspace *, const char *name, struct buf *out);

/* "2 * rmse / (1 + x)", with abs, sqrt, log, exp, min, max; comparisons and & give 1 or 0.  USAGE
 * names the place.  ws NULL: only looks whether it is written well and its names are known. */
enum status placeholder_expression(struct workspace *, const struct value_vars *, const char *text,
                             double *out, struct err *err);
/* Replaces {expression} and {text}; *missing counts those that have no value, which become "-".  A
 * brace that should stand is written {{.  plain: numbers as a command line takes them. */
enum status placeholder_expand(struct workspace *, const struct value_vars *, const char *text,
                         bool plain, struct buf *out, size_t *missing, struct err *err);
enum status placeholder_keep(struct value_vars *, const char *name, double x, struct err *err);
void placeholder_vars_free(struct value_vars *);

#endif
