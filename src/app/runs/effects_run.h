/* app/runs/effects_run.h -- `effects`: the partial dependence of the predicted mean on columns and
 * on pairs of columns, as a job, and its figure (share/doc/methods.md 14.1, 14.2). */
#ifndef GPDESK_EFFECTS_RUN_H
#define GPDESK_EFFECTS_RUN_H

#include "app/core/workspace.h"
#include "figure/figure.h"

struct effects_run;
struct effects_opts {
    const char *const *word; /* lists of columns and patterns, pairs as x1*x3, "all" */
    size_t words;            /* 0: all columns */
    size_t rows, top;        /* rows of the sample; columns in the text of the result */
    const char *target, *out;
};
/* Main thread: checks the words and takes what the job needs. Free it with effects_run_free, which
 * takes NULL. */
struct effects_run *effects_run_new(const struct run *, const struct effects_opts *, struct err *);
void effects_run_free(void *);
/* Worker: computes, and draws. The caller owns the figure. */
struct job;
struct figure *effects_run_figure(void *effects_run, struct job *, struct err *);
/* Queues the job of the command. */
enum status effects_run_start(struct workspace *, const struct run *, const struct effects_opts *,
                              const char *line, struct err *);
/* The run that the words of a line name, and the words that are left (an array of pointers into
 * args, which the caller frees). A word is a run if it looks like one and is no column. key: the
 * argument that takes several words. */
enum status effects_run_words(struct workspace *, const struct args *, const char *key,
                              struct run **, const char ***word, size_t *words, struct err *);

#endif
