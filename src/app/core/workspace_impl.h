/* app/core/workspace_impl.h -- the statements being executed and waiting. Only the files of the
 * workspace include this. */
#ifndef GPDESK_WORKSPACE_IMPL_H
#define GPDESK_WORKSPACE_IMPL_H

#include "app/core/workspace.h"

/* A statement that has been parsed and waits to run. */
struct waiting {
    const struct command *cmd;
    struct args *args;
    unsigned long group, number; /* group: of its line or script; number: its own, for `stop q3` */
    /* the group of the statement that queued it through workspace_exec_apart; 0: none */
    unsigned long parent;
    unsigned depth;              /* nesting depth of `source` */
    char origin[160];            /* "line 12 of mine.gps"; "" for typed lines */
};
struct ws_line {
    /* n waiting statements, after `spare` unused slots of statements that have run */
    struct waiting *v;
    size_t n, cap, spare;
    unsigned long groups, numbers;
    /* The statement being executed, or the one whose job's outcome is being handled. */
    const struct command *cmd;
    struct args *args;
    unsigned long group;
    unsigned depth;
    char origin[160];
    char run[16];           /* the run of the job whose outcome is being handled; "" otherwise */
    bool executing, submitted;
    size_t warned;               /* number of warnings before a job's outcome was reported */
    size_t insert;               /* where `source` inserts the statements it reads */
};
void workspace_lines_free(struct ws_line *); /* defined in workspace_exec.c */

#endif
