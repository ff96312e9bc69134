/* data/demo/demo_proteins.h -- generated variants of one protein with a known activity, for
 * demo.c. */
#ifndef GPDESK_DEMO_PROTEINS_H
#define GPDESK_DEMO_PROTEINS_H

#include "data/table.h"

#define PROTEINS_COLUMNS "sequence activity changes few_vs_many"
enum { PROTEINS_FEW = 3 }; /* few_vs_many trains on rows with at most this many changed letters */
/* Writes o->n variants into a table with these columns. */
enum status proteins_make(struct table *, const struct demo_opts *, struct err *);
/* The sequence that is varied; the activity of a sequence of its length, without noise. */
const char *proteins_parent_for_tests(void);
enum status proteins_activity_for_tests(const char *sequence, double *activity, struct err *);

#endif
