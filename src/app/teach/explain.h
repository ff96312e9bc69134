/* app/teach/explain.h -- pages that explain messages, numbers, views and options with the current
 * numbers.
 *
 * The pages are text files in share/help, compiled in. A page begins with "== NAME, OTHER, ...".
 * Its entries begin with one of these words and continue on lines that begin with a blank:
 *   title    a title                         what    what it is
 *   formula  how it is computed              now     a sentence with {values}, left out
 *   else     shown if no `now` applies                if one is missing; "now [rmse > 1] ..."
 *   read     how to read it                  try     command lines, separated by |
 *   see      related pages                   source  its origin
 * A line that begins with % is a remark. */
#ifndef GPDESK_EXPLAIN_H
#define GPDESK_EXPLAIN_H

#include "app/teach/placeholder.h"

const char *explain_at(size_t i);   /* every name that has a page; NULL if i is past the end */
/* Appends the page; NOT_FOUND suggests the nearest names. If ws is NULL, the page has no
 * numbers. */
enum status explain_page(struct workspace *, const char *name, struct buf *out, struct err *err);
/* Checks all pages. FORMAT names the first one that is not well formed. */
enum status explain_check_for_tests(struct err *err);
enum status cmd_explain(struct workspace *, const struct args *, struct err *);

#endif
