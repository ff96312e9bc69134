/* app/runs/row_inspect.h -- one row as a model sees it: the training rows most similar to it
 * (neighbours), and how its prediction changes when one letter is replaced or one node left out, or
 * a column takes the values of other rows (explain-row). */
#ifndef GPDESK_ROW_INSPECT_H
#define GPDESK_ROW_INSPECT_H

#include "app/core/job.h"
#include "app/core/workspace.h"
#include "figure/figure.h"

/* Each queues a job.  word: a row, or the SMILES of a molecule that is none of the rows. */
enum status row_inspect_neighbours(struct workspace *, const struct run *, const char *word,
                                   size_t count, const char *line, struct err *);
/* column: of several sequences the one whose parts are changed; NULL: the first that is read. out:
 * a CSV file, or NULL.  NOT_FOUND lists the sequences. */
struct row_inspect_ask { size_t row, target; const char *column, *out; };
enum status row_inspect_explain(struct workspace *, const struct run *,
                                const struct row_inspect_ask *, const char *line, struct err *);
/* For a plot: made on the main thread, computed and drawn by the worker; the atoms of a molecule
 * are coloured by how much each raises the mean.  row: of the table, from 0.  STATE, with what to
 * do, if the model reads no molecule whose atoms are known. */
enum status row_inspect_molecule_new(const struct run *, size_t row, size_t target, void **out,
                                     struct err *);
struct figure *row_inspect_molecule(void *, struct job *, struct err *);
void row_inspect_molecule_free(void *);
/* Parses "row:123" or "123". USAGE if it is neither. */
enum status row_inspect_number(const char *word, size_t *row, struct err *);
/* The same, or the row of the run's data that has the word as its cell in a column of text, such as
 * a name or a SMILES.  USAGE when none has it, or several. */
enum status row_inspect_find(const struct run *, const char *word, size_t *row, struct err *);

#endif
