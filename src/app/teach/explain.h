/* app/teach/explain.h -- pages about messages, numbers, views and options that speak of the current
 * numbers.
 *
 * They are text files in share/help, compiled in.  A page begins with "== NAME, OTHER, ..." and has
 * lines of these words, each of which may go on on lines that begin with a blank:
 *   title    what it is called in words          what     what it is
 *   formula  as it is computed                   now      a sentence with {values}: it is left out
 *   else     when no `now` applies                        when one is missing; "now [rmse > 1] ..."
 *   read     how to read it                      try      command lines, | between them
 *   see      further pages                       source   where it comes from
 * % begins a remark. */
#ifndef GPDESK_EXPLAIN_H
#define GPDESK_EXPLAIN_H

#include "app/teach/placeholder.h"

const char *explain_at(size_t i);   /* every name that pages have; NULL past the end */
/* Appends the page; NOT_FOUND names the nearest.  ws NULL: without numbers. */
enum status explain_page(struct workspace *, const char *name, struct buf *out, struct err *err);
/* Looks through all pages: FORMAT names the first one that is not well formed. */
enum status explain_check_for_tests(struct err *err);
enum status cmd_explain(struct workspace *, const struct args *, struct err *);

#endif
