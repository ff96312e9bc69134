/* app/core/workspace_impl.h -- the statements in hand and waiting, shared by the files of the
 * workspace and by nobody else. */
#ifndef GPDESK_WORKSPACE_IMPL_H
#define GPDESK_WORKSPACE_IMPL_H

#include "app/core/workspace.h"

/* A statement that has been parsed and waits for its turn. */
struct waiting {
    const struct command *cmd;
    struct args *args;
    unsigned long group, number; /* of its line or script; its own, for `stop q3` */
    unsigned long parent;        /* group of the statement that queued it apart; 0: none */
    unsigned depth;              /* of nested source */
    char origin[160];            /* "line 12 of mine.gps"; "" for typed lines */
};
struct ws_line {
    struct waiting *v;           /* n in line; before them `spare` places of some that have run */
    size_t n, cap, spare;
    unsigned long groups, numbers;
    /* The statement being executed, or whose job's outcome is being told. */
    const struct command *cmd;
    struct args *args;
    unsigned long group;
    unsigned depth;
    char origin[160];
    char run[16];                /* of the job being told of; "" */
    bool executing, submitted;
    size_t warned;               /* warnings before a job's outcome was told */
    size_t insert;               /* where `source` puts what it reads */
};
void workspace_lines_free(struct ws_line *); /* workspace_exec.c */

#endif
