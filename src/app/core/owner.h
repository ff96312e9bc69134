/* app/core/owner.h -- state that other modules keep in the workspace, and how they take part in a
 * statement.
 *
 * The workspace knows nothing of a sweep, a lesson or the session file. Each module that keeps
 * something there declares one row. The list of rows is handed to workspace_new by the top layer
 * (app/commands/app.c). Everything that the workspace does with such state is one loop over this
 * list, so that a new kind of state needs one row and no line of workspace.c. */
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

/* The end of a statement, or of its last job. */
struct owner_step {
    const struct command *cmd;
    const struct args *args;
    enum status rc;
    double seconds;
    bool changed; /* an owner reported a change (see `changed` below) */
    bool kept;    /* the line is now part of the script (a comment if rc is ST_CANCELLED), */
    size_t at;    /* at this position, counted from 0 */
};

/* A row. Every entry but the name may be NULL. Functions that take a workspace find their own state
 * with owner_state, and it may be NULL. */
struct owner {
    const char *name;
    /* Makes the state that exists from the beginning. If this is NULL, the state begins as NULL. */
    void *(*make)(struct err *);
    void (*free)(void *state);
    /* Called before `resume` opens another session: forgets what belongs to this one. If this is
     * NULL, the state is freed and made again. */
    void (*clear)(void *state);

    /* Called before and after a statement, and before and after the outcome of its job is
     * handled. */
    void (*begin)(struct workspace *);
    void (*end)(struct workspace *);
    /* Returns true if the statement has changed what this owner watches, and records the change
     * under the line. */
    bool (*changed)(struct workspace *, const char *line);
    /* Called when the statement failed: restores the state that `begin` found. */
    void (*revert)(struct workspace *);
    /* The statement has queued a job: its line belongs at this position of the script. */
    void (*queued)(struct workspace *, const struct args *);
    /* The position of such a line in the script, counted from 0. */
    size_t (*place)(const struct workspace *, const struct args *);
    void (*ended)(struct workspace *, const struct owner_step *);
    /* The line of the script whose state is shown. SIZE_MAX: the present, the only state that may
     * be changed. */
    size_t (*shown)(const struct workspace *);
    /* If an earlier state is shown and has been changed, restores it and returns true. */
    bool (*strayed)(struct workspace *);
    /* A run has just been named; nothing has shown it yet. */
    void (*named)(struct workspace *, const struct run *);
    /* The main loop has woken: take what other threads have sent. */
    void (*pump)(struct workspace *);
    /* Receives every record except progress. */
    void (*told)(struct workspace *, const struct rec *);
};

/* The state of an owner. NULL if there is none, or the owner is not in the workspace's list. */
void *owner_state(const struct workspace *, const struct owner *);
/* Stores the state and frees the earlier one, if it is another. Takes ownership: if the owner is
 * not in the list, the state is freed and NULL is returned; otherwise returns the state. */
void *owner_take(struct workspace *, const struct owner *, void *state);
/* Moves the state out; the caller owns it. */
void *owner_release(struct workspace *, const struct owner *);

/* For workspace.c. Each function loops over the whole list. */
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
