/* app/core/batch.h -- runs scripts when nobody is at the keyboard: parses everything, runs it, and
 * returns an exit status. */
#ifndef GPDESK_BATCH_H
#define GPDESK_BATCH_H

#include "app/shell/rec.h"
#include "app/core/workspace.h"

/* One piece of the script, in order: a -e line (name is NULL), or the text of a file or of standard
 * input. Both strings are borrowed. */
struct batch_item { char *text; const char *name; };

enum {
    EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_USAGE_GP = 2, EXIT_UNCONVERGED = 3, EXIT_INPUT = 4,
    EXIT_RESOURCES = 5,
};
/* From now on SIGINT, SIGTERM and SIGHUP stop the script, and SIGPIPE becomes a write error. Call
 * it once, before batch_run. */
void batch_prepare(void);
/* Parses everything first: if anything does not parse, nothing runs and the result is 2. Otherwise
 * runs each statement, waits for each job, and returns the exit status. A signal n stops the
 * running job, keeps its best iterate, and gives 128 + n. */
int batch_run(struct workspace *, struct rec_writer *, const struct batch_item *, size_t n);
/* Parses everything and reports every error. Returns false if anything does not parse. */
bool batch_check(struct workspace *, const struct batch_item *, size_t n);
/* Option -n: parses, checks that files exist and predicts memory, but runs nothing. Returns the
 * exit status. */
int batch_dry(struct workspace *, const struct batch_item *, size_t n);
/* The exit status for everything that has happened so far. */
int batch_status(const struct workspace *);

#endif
