/* data/molecules/molecule_rows.h -- what is found out about the molecules of a column, row by row:
 * counts, descriptors, scaffolds, which molecules are equal, and which cannot be read.  What RDKit
 * finds is kept in the cache. */
#ifndef GPDESK_MOLECULE_ROWS_H
#define GPDESK_MOLECULE_ROWS_H

#include "data/molecules/fingerprint.h"
#include "compute/ctl.h"

struct smiles_column;
enum { MOLECULE_ROWS_TOLD = 3 };
/* Molecules that cannot be read, and the first of them in the order of the rows. */
struct molecule_unread {
    size_t n;
    size_t row[MOLECULE_ROWS_TOLD];
    char reason[MOLECULE_ROWS_TOLD][MOLECULES_REASON_MOST + 1];
};

struct molecule_rows {
    /* What is wanted.  `want`: MOLECULES_COUNTS, _DESCRIBED, _SCAFFOLD. */
    size_t n;
    const char *const *text;        /* n; NULL: a missing cell */
    uint32_t want;
    struct fingerprint how;
    /* Counts of the first nlike rows that were made so before: they are taken over where the text
     * is the same. NULL: none. */
    const struct smiles_column *like;
    size_t nlike;

    /* What was found. */
    struct fingerprint_rows counts;
    double *v[MOLECULES_DESCRIPTORS]; /* n of each; NaN: missing */
    char **scaffold;      /* n; NULL: missing; a chain has "" */
    uint64_t *same;       /* n; equal for equal molecules; 0: missing */
    struct molecule_unread unread;
    char version[MOLECULES_REASON_MOST + 1]; /* of RDKit; "": it was not asked */
};

/* The name of descriptor k, as "logp". */
const char *molecule_rows_descriptor(size_t k);
/* Reads the molecules, each text once.  Equal ones are recognised by their canonical SMILES where
 * RDKit reads them, otherwise by their text.  Lingo alone needs no RDKit: then texts against the
 * grammar of SMILES are the ones that cannot be read.  Beside NOMEM and CANCELLED: NOT_FOUND,
 * BACKEND, IO when there is no RDKit that works, with what to do.  Free it after a failure, too. */
enum status molecule_rows_read(struct molecule_rows *, const struct ctl *, struct err *);
void molecule_rows_free(struct molecule_rows *);

#endif
