/* app/teach/placeholder.h -- the current numbers by name, for pages and lessons: "{rmse}" in a
 * text, "[coverage95 < 0.9]" as a condition before one, and arithmetic in both. */
#ifndef GPDESK_PLACEHOLDER_H
#define GPDESK_PLACEHOLDER_H

#include "app/core/workspace.h"

/* Additional names, which take precedence: the values that a lesson has stored. */
struct value_var { char name[24]; double x; };
struct value_vars { struct value_var *v; size_t n, cap; };

/* The i-th known name, from this table and from the figures of runs (app/core/measures.h). Returns
 * false if i is past the end. */
struct value_row { const char *name, *help; bool text; };
bool placeholder_at_for_tests(size_t i, struct value_row *out);
bool placeholder_known(const char *name);           /* true for the name of a number or of a text */
/* The value of a number; NaN if it has none now. */
double placeholder_number(struct workspace *, const struct value_vars *, const char *name);
/* Appends the value of a text; false if it has none now. */
bool placeholder_text(struct workspace *, const char *name, struct buf *out);

/* Evaluates an expression such as "2 * rmse / (1 + x)" with abs, sqrt, log, exp, min and max;
 * comparisons and & give 1 or 0. USAGE names the position of an error. If ws is NULL, only the
 * syntax and the names are checked. */
enum status placeholder_expression(struct workspace *, const struct value_vars *, const char *text,
                             double *out, struct err *err);
/* Replaces {expression} and {text}. *missing counts those that have no value, which become "-". A
 * literal brace is written {{. plain: writes numbers in the form that command lines accept. */
enum status placeholder_expand(struct workspace *, const struct value_vars *, const char *text,
                         bool plain, struct buf *out, size_t *missing, struct err *err);
enum status placeholder_keep(struct value_vars *, const char *name, double x, struct err *err);
void placeholder_vars_free(struct value_vars *);

#endif
