/* app/runs/predictor/predictor.h -- a fitted model as a program of its own, in Python or C, that
 * predicts rows as `predict` does: `export r1 as=python out=FILE`.
 *
 * The program holds the encoding of inputs, the weights, and the feature map as the list of steps
 * that it is (featmap.h), which it interprets. A kernel therefore needs no code here; an exact
 * model takes the expression of each kernel from its row (kernel_ops.code). */
#ifndef GPDESK_PREDICTOR_H
#define GPDESK_PREDICTOR_H

#include "app/core/run.h"
#include "base/buf.h"

/* A language. */
struct predictor_language {
    const char *name, *ending; /* "python", ".py" */
    const char *file, *features, *exact, *steps, *classes; /* its files in share/predictors */
    const char *note;          /* how a line of comment begins, and */
    const char *first_note;    /* how the first one does */
    const char *open, *close;  /* a row of a table */
    const char *none;
};
const struct predictor_language *predictor_language_find(const char *name); /* NULL: none */
/* The language of files with this ending, ".py"; NULL: none. */
const struct predictor_language *predictor_language_of(const char *ending);

/* Appends a text from outside as a string: only printable ASCII stands as it is. */
void predictor_string(const struct predictor_language *, const char *text, struct buf *);

/* Writes the program for a fit. with_sd: it also has the factor for variances. *sd tells whether it
 * has it: under y=log the mean needs the variance, too. STATE for a run without a model or without
 * the factor, UNSUPPORTED for inputs or kernels that such a program cannot compute, LIMIT when it
 * would be too long. The hints say what to do instead. */
enum status predictor_write(const struct run *, const struct predictor_language *, bool with_sd,
                            bool *sd, struct buf *out, struct err *);

#endif
