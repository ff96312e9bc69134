/* data/beside.h -- appends the columns of another table file (beside=) with as many rows, in the
 * same order: fingerprints of molecules, for example. */
#ifndef GPDESK_BESIDE_H
#define GPDESK_BESIDE_H

#include "data/import_option.h"

extern const struct import_option beside_options[];
/* Moves the columns of `of`, read from opts->beside, before the targets of t, or behind all columns
 * if it has none.  FORMAT: another number of rows, or a name that t has. */
enum status beside_append(struct table *t, struct table *of, const struct import_opts *opts,
                          const struct ctl *, struct err *);

#endif
