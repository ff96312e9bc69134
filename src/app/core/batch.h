/* app/core/batch.h -- scripts without anybody at the keyboard: parse all, run all, end with a
 * status. */
#ifndef GPDESK_BATCH_H
#define GPDESK_BATCH_H

#include "app/shell/rec.h"
#include "app/core/workspace.h"

/* A piece of the script, in order: an -e line (name NULL), the text of a file or of stdin. */
struct batch_item { char *text; const char *name; };

enum {
    EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_USAGE_GP = 2, EXIT_UNCONVERGED = 3, EXIT_INPUT = 4,
    EXIT_RESOURCES = 5,
};
/* SIGINT, SIGTERM and SIGHUP stop the script from now on; SIGPIPE becomes an error of write. */
void batch_prepare(void);
/* Parses everything first: a script that does not parse runs nothing and gives 2.  Otherwise runs
 * it, each job to its end.  A signal stops the job, keeps its best iterate, and gives 128 + n. */
int batch_run(struct workspace *, struct rec_writer *, const struct batch_item *, size_t n);
/* Parses everything and complains: false when something does not parse. */
bool batch_check(struct workspace *, const struct batch_item *, size_t n);
/* -n: parses, looks for files, predicts memory; runs nothing. */
int batch_dry(struct workspace *, const struct batch_item *, size_t n);
/* The exit status that fits what happened so far. */
int batch_status(const struct workspace *);

#endif
