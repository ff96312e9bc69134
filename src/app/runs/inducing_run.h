/* app/runs/inducing_run.h -- the command inducing: what a sparse model keeps, and what each of its
 * points is worth. */
#ifndef GPDESK_INDUCING_RUN_H
#define GPDESK_INDUCING_RUN_H

#include "app/core/workspace.h"

/* Starts the job. out: a CSV to write (NULL: none). STATE for a run that keeps no points, or whose
 * data is not loaded. */
enum status inducing_run_start(struct workspace *, const struct run *, const char *out,
                               const char *line, struct err *);
/* The training rows of a run's data in the order in which its fit read them, as rows of the table
 * (*n of them, the caller frees them): origins of points count in it. NULL where the data is not
 * loaded or does not agree with the fit. */
size_t *inducing_run_rows(const struct run *, size_t *n);
/* The target of a row of the table, given its column: a number, or that of its class among those of
 * the run, from 0 on; NaN: there is none. */
double inducing_run_target(const struct run *, const struct column *, size_t row);
/* What the record of a finished fit says of its points; nothing where it has none. */
void inducing_run_text(struct rec *, const struct run *);
/* Notes about a finished sparse fit: its points, and where the noise went. */
void inducing_run_notes(struct workspace *, const struct run *);

#endif
