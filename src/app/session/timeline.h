/* app/session/timeline.h -- the earlier states of a workspace: undo, redo, looking back,
 * branching.
 *
 * A state is what commands change: datasets with their roles, types, policies and splits; kernel
 * and hyperparameters; options; and the notes, stars and bin of the runs. It holds references to
 * tables, never copies of data. Runs are results and not part of the state: they stay whatever is
 * undone.
 *
 * Every line of the workspace's script remembers the state after it, so that the state after line
 * 12 can be shown again. With a session, all states are on disk and read back when needed. */
#ifndef GPDESK_TIMELINE_H
#define GPDESK_TIMELINE_H

#include "app/core/workspace.h"

struct run_mark {
    char id[16];
    char *note;
    bool star, dropped;
};                               /* the marks of a run; a run without an entry has none */
struct snapshot {                /* immutable, with counted references */
    int refs;
    int64_t id;                  /* id in the session; 0: not written */
    struct dataset **data; size_t ndata, cur;
    struct kernel kernel; size_t nhp; double *hp; struct tune_bound *bound;
    double amplitude, noise; bool hp_tuned, scale_tuned, chosen;
    struct tune_bound amp_bound, noise_bound;
    struct options opt; struct options_origin *who;
    struct run_mark *mark; size_t nmark;
};
struct snapshot *timeline_snapshot_take(const struct workspace *, struct err *);
void timeline_snapshot_unref(struct snapshot *);

/* How a line of the script relates to undo. It made `count` steps (0: it changed nothing), undid
 * `count` steps, redid `count` steps, or branched from the state after line `count`. */
enum past_kind { PAST_STEPS, PAST_UNDO, PAST_REDO, PAST_BRANCH };
struct past {                    /* one for each line of the script, from line 1 */
    enum past_kind kind; size_t count;
    /* NULL: it is in the session under id; if id is 0 as well, it is unknown. */
    struct snapshot *after; int64_t id;
    size_t made;                 /* number of runs made until then */
    char last[16];               /* the last fit at that time */
    int64_t at; double seconds;  /* Unix time of its end; its duration */
};
struct step {
    struct snapshot *state;
    int64_t id;
    char *line;
    size_t script;
}; /* line: the command that led here */
enum { STEPS_MOST = 200 };

struct timeline;
extern const struct owner timeline_owner;
struct timeline *timeline_of(const struct workspace *);
void timeline_clear(struct timeline *);
/* The options that the program began with, before any `set` and any session. Recorded once. */
void timeline_base(struct workspace *);
const struct options *timeline_options(const struct workspace *, const struct options_origin **who);
/* Restores everything as the current command found it. */
void timeline_revert(struct workspace *);

/* Redoes n steps, or undoes -n steps if n is negative. *line: what was undone or redone last,
 * borrowed. */
enum status timeline_move(struct workspace *, long n, const char **line, struct err *);
/* How many can be undone, and redone. */
size_t timeline_steps(const struct workspace *, size_t *undone);
/* Step i (SIZE_MAX: the state at the beginning); NULL if i is past the end. */
const struct step *timeline_step(const struct workspace *, size_t i, bool *done);
/* Shows the state after line n of the script (0: the beginning), read-only; SIZE_MAX: returns to
 * the present. */
enum status timeline_look(struct workspace *, size_t n, struct err *);
size_t timeline_view(const struct workspace *); /* SIZE_MAX if the present is shown */
/* Continues from the state after line n, as a change that can be undone. */
enum status timeline_branch(struct workspace *, size_t n, struct err *);
const struct past *timeline_past(const struct workspace *,
                                 size_t i); /* of line i + 1; NULL: none */
/* The state after line n of the script (0: the beginning), lent; it is read from the session if
 * necessary. NULL: it was not kept. */
const struct snapshot *timeline_after(const struct workspace *, size_t n, struct err *err);
/* out[nscript]: whether each line of the script has been undone. */
enum status timeline_undone(const struct workspace *, bool *out, struct err *err);
/* A command that was running when the program ended stands in the script as a comment. */
void timeline_note_interrupted(struct workspace *, const char *command);
/* The command in a line of the script; *interrupted: the line is such a comment. */
const char *timeline_command(const char *line, bool *interrupted);
/* Drops all steps but the present one and returns how many were dropped. */
size_t timeline_forget(struct workspace *);

/* Determines the runs that are shown: those not in the bin and, when looking back, made until
 * then. */
void timeline_arrange(struct workspace *, size_t made);
/* If the last fit is not shown, the newest fit that is shown takes its place. */
void timeline_last_fit(struct workspace *);

/* The session file returns states that were written, and writes runs whose marks have changed. */
struct timeline_keeper {
    /* Reads the state under `id`; the caller owns it. */
    enum status (*recall)(void *kept, int64_t id, struct snapshot **out, struct err *);
    void (*run)(void *kept, const struct run *);
};
/* NULL: no session. */
void timeline_keep(struct workspace *, const struct timeline_keeper *, void *kept);

/* For the session: restores what it has of earlier programs. */
enum status timeline_restore_past(struct workspace *, const struct past *, size_t n, struct err *);
enum status timeline_restore_step(struct workspace *, int64_t id, const char *line, size_t script,
                                  struct err *);
/* At: the number of steps that are not undone. */
void timeline_restore_end(struct workspace *, size_t at);
/* For the store: gives every state that is not written yet an id from `number`, once each. */
void timeline_each_new(struct workspace *, int64_t (*number)(void *ctx, const struct snapshot *),
                       void *ctx);

#endif
