/* data/prepare.h -- what is done to a table after it was read: columns are renamed and computed,
 * types are changed, rows are left out. The steps are kept as text, one line for each, so that
 * sessions and fitted models apply the same steps to other tables in the same order:
 *
 *   rename "x1"=age,"x2"=bmi      all at once; columns that a table lacks are passed over
 *   where EXPR                    keeps the rows for which the condition is true (expr.h)
 *   let NAME = EXPR               adds a column, or replaces the one of this name
 *   type NAME,.. = TYPE           a word of kind_type_at
 *   molecules NAME = ..           what is made from SMILES (molecules/molecule_step.h)
 *   ask, row, failed              proposals and their measurements (prepare_rows.h) */
#ifndef GPDESK_PREPARE_H
#define GPDESK_PREPARE_H

#include "data/dataset.h"

/* Applies steps to a dataset, all or none: its table is replaced, columns keep their roles and rows
 * their part of the split, and the steps are added to dataset.steps. A new column is an input,
 * unless it is computed from a target. Appends lines "note[..]: .." to notes (NULL: nowhere). */
enum status prepare_dataset(struct dataset *, const char *steps, const struct ctl *,
                            struct buf *notes, struct err *);
/* Applies steps to a table as it was read, for `open` and a session. *t is replaced. */
enum status prepare_table(struct table **t, const char *steps, const struct ctl *,
                          struct buf *notes, struct err *);
/* Applies the steps of an encoding to a table of new data, which *t replaces. Rows are not taken
 * out, so that row numbers remain those of the file: *rows are the n rows that stay, which the
 * caller frees; NULL: all. A step whose columns are not there is passed over and noted, unless an
 * input of the encoding needs its column. */
enum status prepare_new_data(const struct encoding *, struct table **t, size_t **rows, size_t *n,
                             const struct ctl *, struct buf *notes, struct err *);

/* Finds the column from which the steps compute `column`, if it is a single one: that of the dates
 * for their season, weight for log(weight); followed back through several steps and names, and
 * put into out by the name that it has after all steps.  False if it is not computed, or from
 * several columns or none. */
bool prepare_origin(const char *steps, const char *column, struct buf *out);

/* Writing steps, from what a user typed. `names`: "age,bmi,sex", one name for each column. */
enum status prepare_write_names(const struct table *, const char *names, struct buf *out,
                                struct err *);
/* `pairs`: "OLD=NEW, OLD=NEW" or with blanks between them. */
enum status prepare_write_rename(const struct table *, const char *pairs, struct buf *out,
                                 struct err *);
enum status prepare_write_where(const char *expression, struct buf *out, struct err *);
/* `definition`: "bmi = weight / height^2". */
enum status prepare_write_let(const char *definition, struct buf *out, struct err *);

#endif
