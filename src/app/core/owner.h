/* app/core/owner.h -- state that other modules keep in the workspace, and how they take part in a
 * statement.
 *
 * The workspace knows nothing of a sweep, a lesson or the session file.  Each module that keeps
 * something there declares one row; the list of rows is handed to workspace_new from the top
 * (app/commands/app.c).  Everything that the workspace does with such state is one loop over this
 * list, so a new kind of state is one row and no line of workspace.c. */
#ifndef GPDESK_OWNER_H
#define GPDESK_OWNER_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>

struct args;
struct command;
struct rec;
struct run;
struct workspace;

/* The end of a statement, or of the last job of one. */
struct owner_step {
    const struct command *cmd;
    const struct args *args;
    enum status rc;
    double seconds;
    bool changed; /* an owner said so (see `changed` below) */
    bool kept;    /* its line is in the script now, */
    size_t at;    /* at this place, counted from 0 */
};

/* A row.  Every entry but the name may be NULL; functions that take a workspace look up their own
 * state, which may be NULL, with owner_state. */
struct owner {
    const char *name;
    /* State that is there from the beginning; without it, state begins as NULL. */
    void *(*make)(struct err *);
    void (*free)(void *state);
    /* For `resume` of another session: forgets what belongs to this one.  NULL: the state is freed,
     * and made again. */
    void (*clear)(void *state);

    /* Around a statement, and around the outcome of its job. */
    void (*begin)(struct workspace *);
    void (*end)(struct workspace *);
    /* Has the statement changed what this owner watches?  It notes the change under the line. */
    bool (*changed)(struct workspace *, const char *line);
    /* The statement failed: everything is again as `begin` found it. */
    void (*revert)(struct workspace *);
    /* The statement has queued a job: its line belongs to this place of the script. */
    void (*queued)(struct workspace *, const struct args *);
    /* The place of such a line in the script, counted from 0. */
    size_t (*place)(const struct workspace *, const struct args *);
    void (*ended)(struct workspace *, const struct owner_step *);
    /* Which line of the script the state that is shown belongs to; SIZE_MAX: it is the present, the
     * only one that may be changed. */
    size_t (*shown)(const struct workspace *);
    /* An earlier state is shown and has been changed: puts it back, and says so. */
    bool (*strayed)(struct workspace *);
    /* A run has got its name; nothing has shown it yet. */
    void (*named)(struct workspace *, const struct run *);
    /* The main loop has woken: news of other threads. */
    void (*pump)(struct workspace *);
    /* Every record but progress. */
    void (*told)(struct workspace *, const struct rec *);
};

/* The state of an owner; NULL: none, or the owner is not in the workspace's list. */
void *owner_state(const struct workspace *, const struct owner *);
/* Puts state in its place and frees the earlier one (if it is another).  An owner that is not in
 * the list cannot keep it: the state is freed and NULL returned, else the state. */
void *owner_take(struct workspace *, const struct owner *, void *state);
/* Moves the state out: the caller owns it. */
void *owner_release(struct workspace *, const struct owner *);

/* For workspace.c, each over the whole list. */
enum status owner_make_all(struct workspace *, const struct owner *const *list, struct err *);
void owner_clear_all(struct workspace *);
void owner_free_all(struct workspace *);
void owner_begin_all(struct workspace *);
void owner_end_all(struct workspace *);
bool owner_changed_any(struct workspace *, const char *line);
void owner_revert_all(struct workspace *);
void owner_queued_all(struct workspace *, const struct args *);
size_t owner_place(const struct workspace *, const struct args *);
void owner_ended_all(struct workspace *, const struct owner_step *);
size_t owner_shown(const struct workspace *);
bool owner_strayed_any(struct workspace *);
void owner_named_all(struct workspace *, const struct run *);
void owner_pump_all(struct workspace *);
void owner_told_all(struct workspace *, const struct rec *);

#endif
