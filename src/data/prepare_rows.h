/* data/prepare_rows.h -- rows that are to be measured and rows that were, as steps of a dataset
 * (prepare.h), so that sessions, undo and scripts keep them:
 *
 *   ask {"id":"s1","x1":0.5,"solvent":"water"}          a row that was proposed
 *   row {"id":"s1","x1":0.5,"solvent":"water","y":0.8}  its measurement, a further row of the table
 *   failed {"id":"s1"}                                  it could not be measured
 *
 * A cell is a number for a column of numbers, and otherwise its text; columns that are not named
 * have missing cells. "id" is that of the proposal and no column; a column of this name is written
 * as "column:id". */
#ifndef GPDESK_PREPARE_ROWS_H
#define GPDESK_PREPARE_ROWS_H

#include "data/dataset.h"

/* True for a step of this file. */
bool prepare_rows_is(const char *step);
/* True for a step that adds a row. */
bool prepare_rows_adds(const char *step);
/* Appends a row for each of n steps `row {..}` to a copy of the table. FORMAT for a step that
 * cannot be read, UNSUPPORTED for a kind of cells that cannot be made from words. */
enum status prepare_rows_append(struct table *from, const char *const *step, size_t n,
                                struct table **out, struct err *err);
/* Whether the text of a cell has all of it: not so for sets of nodes with numbers, rows with which
 * can be neither proposed nor told. */
bool prepare_rows_in_words(const struct column *);
/* Writes a cell as a member: ,"name":value. Nothing for a missing one. */
void prepare_rows_cell(struct buf *, const struct column *, size_t row);
/* The steps without those of this file, which new data do not go through, in *out (NULL: none is
 * left), which the caller frees. */
enum status prepare_rows_without(const char *steps, char **out, struct err *err);

/* The proposals of a dataset, in the order in which they were made. */
enum prepare_rows_state { ROWS_PENDING, ROWS_MEASURED, ROWS_FAILED };
struct prepare_rows_asked {
    char *id, *cells;  /* the object of the step `ask` */
    enum prepare_rows_state state;
    char *measured;    /* the object of the step `row`; NULL: none */
};
struct prepare_rows { struct prepare_rows_asked *at; size_t n, cap; };
enum status prepare_rows_read(const char *steps, struct prepare_rows *out, struct err *err);
void prepare_rows_free(struct prepare_rows *);
size_t prepare_rows_pending(const struct prepare_rows *); /* how many wait for a measurement */
size_t prepare_rows_last(const struct prepare_rows *); /* the largest N of an id sN; 0: none */
/* Whether the cells of an object are of columns of the dataset that are no targets: numbers for
 * columns of numbers, texts for all others. */
enum status prepare_rows_known(const struct dataset *, const char *object, struct err *err);
/* The id in a step of this file, which the caller frees; NULL: it cannot be read. */
char *prepare_rows_id(const char *step);
/* The text of a cell of an object, which the caller frees; NULL: it has none, or memory is
 * short. */
char *prepare_rows_text(const char *object, const char *column);

#endif
