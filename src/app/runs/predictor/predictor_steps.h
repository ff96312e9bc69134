/* app/runs/predictor/predictor_steps.h -- the steps by which a table was prepared
 * (data/prepare.h), as a part of a program that predicts: it renames and computes columns and
 * leaves rows out as `predict` does. A place is a column of the file, or what a step computes. */
#ifndef GPDESK_PREDICTOR_STEPS_H
#define GPDESK_PREDICTOR_STEPS_H

#include "app/core/run.h"
#include "app/runs/predictor/predictor.h"
#include "base/buf.h"

struct predictor_place;
struct predictor_step;
struct predictor_steps {
    size_t nplaces, places_room; struct predictor_place *place;
    size_t nsteps, steps_room; struct predictor_step *step; /* where and let */
    size_t nnames, names_room; struct predictor_name *name; /* columns after all steps so far */
    size_t files, taken;       /* places of the file that are read, and steps that are taken */
    bool left;                 /* some steps are not taken: what is made from SMILES */
};
/* Reads the steps of a run. */
enum status predictor_steps_read(const struct run *, struct predictor_steps *, struct err *);
void predictor_steps_free(struct predictor_steps *);
/* The place of a column as it is after all steps, which the program then reads. */
enum status predictor_steps_find(struct predictor_steps *, const char *column, size_t *place,
                                 struct err *);
/* Numbers the places that are read, those of the file first, and finds what type each has. */
void predictor_steps_settle(struct predictor_steps *, const struct run *);
/* The number of a place in the program. */
size_t predictor_steps_number(const struct predictor_steps *, size_t place);
/* The name in a file of the column i that the program wants; NULL past the last. */
const char *predictor_steps_column(const struct predictor_steps *, size_t i);
/* Writes the names of the columns of the file, */
void predictor_steps_tables(const struct predictor_steps *, const struct predictor_language *,
                            struct buf *);
/* the words that steps compare, */
void predictor_steps_words(const struct predictor_steps *, const struct predictor_language *,
                           struct buf *);
/* and the steps as functions with their table. STATE: expr_source_write; UNSUPPORTED: numbers
 * that were made words are compared. */
enum status predictor_steps_code(const struct predictor_steps *, const struct predictor_language *,
                                 struct buf *, struct err *);

#endif
