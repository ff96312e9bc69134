/* app/runs/scoring/map_unseen.h -- the rows that a map was not trained on, by which a fit of
 * several classes that searches for its amplitude judges it (compute/tuners/learn.h). */
#ifndef GPDESK_MAP_UNSEEN_H
#define GPDESK_MAP_UNSEEN_H

#include "app/core/workspace.h"
#include "compute/tuners/learn.h"
#include "data/encoding.h"

struct map_unseen {
    bool wanted;         /* the fit chooses by rows left out, under a kernel that learns */
    struct tune_opts by; /* what dealt the rows out; by.dealt 0: nothing is known of it */
    size_t *row, n;      /* the rows, once they are known */
};
/* Main thread: whether a fit wants them, and the tuning that made its maps. */
void map_unseen_look(const struct workspace *, const struct fit_opts *, struct map_unseen *);
/* On the worker: names them in the options, where they are the rows that were dealt out and enough
 * of them; they are borrowed until map_unseen_free. */
enum status map_unseen_rows(struct map_unseen *, const struct encoded *, struct fit_opts *,
                            struct err *);
/* The same where these very rows have just been dealt out by these options. */
enum status map_unseen_again(struct map_unseen *, const struct tune_opts *, const struct encoded *,
                             struct fit_opts *, struct err *);
/* A note where a fit wanted such rows and had none. */
void map_unseen_note(struct workspace *, const struct run *, const struct map_unseen *);
void map_unseen_free(struct map_unseen *);

#endif
