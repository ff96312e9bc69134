/* data/molecules/molecule_step.h -- the step of prepare.h about a column of SMILES:
 *
 *     molecules NAME = morgan(radius=2,size=0) descriptors scaffold by 2022.09.3
 *
 * makes the counts of the column anew, and adds columns NAME.logp .. and NAME.scaffold; each word
 * is optional.  The step names the RDKit that was used, so that sessions and models notice another.
 */
#ifndef GPDESK_MOLECULE_STEP_H
#define GPDESK_MOLECULE_STEP_H

#include "data/encoding.h"
#include "data/molecules/smiles_column.h"

struct molecule_step {
    bool counted, described, scaffold;
    struct fingerprint how;
    char version[MOLECULES_REASON_MOST + 1]; /* ""; none is said */
};
enum { MOLECULE_STEP_COLUMNS = 2 + MOLECULES_DESCRIPTORS };

/* Writes a step; without a version it says that of the RDKit that is there, if it needs one, and
 * fails if there is none. */
enum status molecule_step_write(const char *column, const struct molecule_step *, struct buf *out,
                                struct err *err);
/* Appends a step to steps; if the last of them is about the same column, the two become one. */
void molecule_step_add(const char *steps, const char *step, struct buf *out);
/* Reads the words behind "NAME =". */
enum status molecule_step_read(const char *text, struct molecule_step *, struct err *err);
/* New data with one column of SMILES, under another name than that which an encoding reads, mean
 * this one: then true, and *pairs gets "NAME=NEW", as renames are written. */
bool molecule_step_renames(const struct table *, const struct encoding *, struct buf *pairs);
/* Leaves out the columns that an encoding does not read. */
void molecule_step_needed(struct molecule_step *, const char *column, const struct encoding *);
/* Makes the columns of a step from column j of a table: the first n of made[], with names; the
 * column of SMILES itself is the first if the step makes counts.  None if it is as the step says
 * already.  Notes say what was done, which molecules cannot be read, and that RDKit is another. */
enum status molecule_step_run(const struct table *, size_t j, const struct molecule_step *,
                              const struct ctl *, struct column made[MOLECULE_STEP_COLUMNS],
                              size_t *n, struct buf *notes, struct err *err);
/* For a table to which rows were added, so that its columns of SMILES were made again from words:
 * they get the counts that they had, and the new rows such counts, too. */
enum status molecule_step_keep(const struct table *from, struct table *to, struct err *err);
/* For kind_smiles: the step for a column that was just opened and is the input; where RDKit is not
 * there or does not work, notes about the pieces of the text that it keeps. */
void molecule_step_opened(const struct table *, const struct column *, struct buf *steps,
                          struct buf *notes);

#endif
