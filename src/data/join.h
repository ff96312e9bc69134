/* data/join.h -- appends the columns of another table file (targets=) to a table of records or
 * graphs, matching rows by name. */
#ifndef GPDESK_JOIN_H
#define GPDESK_JOIN_H

#include "data/import_option.h"

extern const struct import_option join_options[];
/* Checks that a table can be joined to this one. USAGE if its rows have no names. */
enum status join_suits(const struct table *, const struct import_opts *, struct err *);
/* Appends the columns of `of`, read from opts->targets, in the order of t's rows. opts->twice and
 * opts->unmatched say what to do about names that repeat or have no partner. FORMAT otherwise. */
enum status join_table(struct table *t, const struct table *of, const struct import_opts *,
                       struct err *);

#endif
