/* app/session/timeline.h -- the states that a workspace has been in: undo, redo, looking back,
 * branching.
 *
 * A state is what commands change: datasets with their roles, types, policies and splits, kernel
 * and hyperparameters, options, and the notes, stars and bin of the runs.  It holds references to
 * tables, never copies of data.  Runs are results, not state: they stay whatever is undone.
 *
 * Every line of the workspace's script remembers the state after it, so that line 12 can be looked
 * at again.  With a session all of it is on disk and read back when it is asked for. */
#ifndef GPDESK_TIMELINE_H
#define GPDESK_TIMELINE_H

#include "app/core/workspace.h"

struct run_mark {
    char id[16];
    char *note;
    bool star, dropped;
};                               /* of a run; none: all as they began */
struct snapshot {                /* immutable, shared */
    int refs;
    int64_t id;                  /* in the session; 0: not written */
    struct dataset **data; size_t ndata, cur;
    struct kernel kernel; size_t nhp; double *hp; struct tune_bound *bound;
    double amplitude, noise; bool hp_tuned, scale_tuned;
    struct tune_bound amp_bound, noise_bound;
    struct options opt; struct options_origin *who;
    struct run_mark *mark; size_t nmark;
};
struct snapshot *timeline_snapshot_take(const struct workspace *, struct err *);
void timeline_snapshot_unref(struct snapshot *);

/* What a line of the script was for the undoing, and how often: it made `count` steps (0: it
 * changed nothing), took so many back, did so many again, or went on from the state after line
 * `count`. */
enum past_kind { PAST_STEPS, PAST_UNDO, PAST_REDO, PAST_BRANCH };
struct past {                    /* of a line of the script, from 1 */
    enum past_kind kind; size_t count;
    struct snapshot *after; int64_t id;  /* NULL: in the session under id; id 0 too: not known */
    size_t made;                 /* runs made until then */
    char last[16];               /* the last fit then */
    int64_t at; double seconds;  /* unix time of its end; how long it took */
};
struct step {
    struct snapshot *state;
    int64_t id;
    char *line;
    size_t script;
}; /* line: what led here */
enum { STEPS_MOST = 200 };

struct timeline;
extern const struct owner timeline_owner;
struct timeline *timeline_of(const struct workspace *);
void timeline_clear(struct timeline *);
/* Options as the program began with, before any `set` and any session: kept once. */
void timeline_base(struct workspace *);
const struct options *timeline_options(const struct workspace *, const struct options_origin **who);
/* Everything is again as the command in hand found it. */
void timeline_revert(struct workspace *);

/* n steps back or on; *line: what was undone or done again last, lent. */
enum status timeline_move(struct workspace *, long n, const char **line, struct err *);
size_t timeline_steps(const struct workspace *, size_t *undone); /* that can be undone, redone */
/* Step i (SIZE_MAX: the state that all began with); NULL past the end. */
const struct step *timeline_step(const struct workspace *, size_t i, bool *done);
/* Shows everything as after line n of the script (0: the beginning), read-only; SIZE_MAX: now. */
enum status timeline_look(struct workspace *, size_t n, struct err *);
size_t timeline_view(const struct workspace *); /* SIZE_MAX: the present is shown */
/* Goes on from there, as a change that can be undone. */
enum status timeline_branch(struct workspace *, size_t n, struct err *);
const struct past *timeline_past(const struct workspace *,
                                 size_t i); /* of line i + 1; NULL: none */
/* Which of the script's lines have been undone: out[nscript]. */
enum status timeline_undone(const struct workspace *, bool *out, struct err *err);
/* A command that was running when the program ended stands in the script as a comment. */
void timeline_note_interrupted(struct workspace *, const char *command);
/* The command in a line of the script; *interrupted: the line is such a comment. */
const char *timeline_command(const char *line, bool *interrupted);
/* Forgets all steps but the present one; returns how many went. */
size_t timeline_forget(struct workspace *);

/* Which runs are shown: those not in the bin, and, looking back, those made until then. */
void timeline_arrange(struct workspace *, size_t made);
/* The newest fit that is shown, when the last one is not. */
void timeline_last_fit(struct workspace *);

/* The session file gives back states that were written, and writes runs whose marks have moved. */
struct timeline_keeper {
    /* The state under `id`, owned by the caller. */
    enum status (*recall)(void *kept, int64_t id, struct snapshot **out, struct err *);
    void (*run)(void *kept, const struct run *);
};
void timeline_keep(struct workspace *, const struct timeline_keeper *, void *kept); /* NULL: none */

/* For the session: what it kept of earlier programs. */
enum status timeline_restore_past(struct workspace *, const struct past *, size_t n, struct err *);
enum status timeline_restore_step(struct workspace *, int64_t id, const char *line, size_t script,
                                  struct err *);
void timeline_restore_end(struct workspace *, size_t at); /* at: how many steps are done */
/* Every state not written yet gets an id from `number`, once; for the store. */
void timeline_each_new(struct workspace *, int64_t (*number)(void *ctx, const struct snapshot *),
                       void *ctx);

#endif
