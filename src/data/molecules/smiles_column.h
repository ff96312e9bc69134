/* data/molecules/smiles_column.h -- columns of SMILES: the text of each molecule, and its counts,
 * which kernels read as they read those of a column of counts. */
#ifndef GPDESK_SMILES_COLUMN_H
#define GPDESK_SMILES_COLUMN_H

#include "data/molecules/molecule_rows.h"

struct smiles_column {
    struct counts counts;  /* first, so that what reads counts reads these */
    char **text, *arena;   /* n strings as they are in the file; NULL: a missing cell */
    uint64_t *same;        /* n; equal for equal molecules; 0: missing, or not read */
    char *how;             /* how the counts are made: "morgan(radius=2,size=0)" */
    char *version;         /* of the RDKit that made them; "": they were made without */
    struct molecule_unread unread; /* of these rows; after others were left out only their number */
};
extern const struct cell_ops smiles_column_cells;
static inline const struct smiles_column *smiles_column_of(const struct column *c)
{
    return c->held;
}
static inline bool smiles_column_is(const struct column *c)
{
    return c->type == COL_HELD && c->cells == &smiles_column_cells;
}

/* A column without a name from n texts (NULL: missing) and what was found about them; `rows` keeps
 * nothing of the counts afterwards. */
enum status smiles_column_make(size_t n, const char *const *text, struct molecule_rows *rows,
                               struct column *to, struct err *err);
/* The row n times with other counts: those of a column of counts of n rows, which is emptied. */
enum status smiles_column_recount(const struct column *, size_t row, size_t n,
                                  struct column *counts, struct column *to, struct err *);
/* The text of each cell, also of molecules that were not read; the array has as many pointers as
 * the table has rows, and the caller frees it.  Of a column of words, its words. */
const char **smiles_column_texts(const struct table *, const struct column *, struct err *err);

/* Writes a sentence about molecules that cannot be read: how many, and the first with row, name,
 * line and reason; nothing if there are none. */
void smiles_column_tell(const struct table *, const struct column *,
                        const struct molecule_unread *, struct buf *out);

/* Molecules that occur in several rows. */
struct smiles_column_repeats {
    size_t molecules, rows; /* how many, and in how many rows */
    size_t differ;          /* how many have different values of y */
};
/* y: a column of numbers; NULL: none.  part: of each row; with it, *shared is the number of rows of
 * part 2 with a molecule of part 0. */
enum status smiles_column_repeated(const struct column *, size_t n, const struct column *y,
                                   const uint8_t *part, struct smiles_column_repeats *out,
                                   size_t *shared, struct err *err);

#endif
