/* data/demo/demo_motifs.h -- generated DNA in which one word of five letters was planted several
 * times, for demo.c. */
#ifndef GPDESK_DEMO_MOTIFS_H
#define GPDESK_DEMO_MOTIFS_H

#include "data/table.h"

#define MOTIFS_COLUMNS "sequence count many"
/* many is 1 where the word occurs more often than this. */
enum { MOTIFS_MANY = 5 };
/* Writes o->n strings into a table with these columns; o->noise is the standard deviation of what
 * is added to the counts. */
enum status motifs_make(struct table *, const struct demo_opts *, struct err *);

#endif
