/* app/plots/plots.h -- what the makers of plots share (plots*.c); the table of all is in plots.c.
 *
 * Most figures are made at once from what runs and commands have left behind.  Those that need the
 * model again (slice, parts, features) are computed by a job and kept: `plot NAME` starts it, the
 * screen's panes and `plot NAME` of others show what was kept. */
#ifndef GPDESK_PLOTS_H
#define GPDESK_PLOTS_H

#include "app/core/kept.h"
#include "app/core/workspace.h"
#include "app/plots/plot_rows.h"

/* A figure that only says why there is nothing to draw, and what to do. */
struct figure *plots_nothing(const char *name, const char *reason, struct err *);
struct figure *plots_no_iterations(const char *name, const struct run *,
                                   struct err *); /* why it has none */
/* Ends a maker: the figure, or NULL when something ran out. */
struct figure *plots_finish(struct figure *, bool ok);
/* The runs named in the line, `first` without any; SIZE_MAX: one of them does not exist. */
size_t plots_runs(struct workspace *, struct run *first, const struct args *, struct run **out,
                  size_t max, struct err *);
struct run *plots_tuning(struct workspace *); /* the last with evaluations; NULL */
/* The rows that pictures of a run's predictions show: test rows, else training rows; NULL: none. */
const struct prediction *plots_prediction(const struct run *);
/* A figure that says why when there are none (with sd: no variances); NULL: all is there. */
struct figure *plots_no_prediction(const char *name, const struct run *, bool sd, struct err *);
/* Which target the line names, the first by default, and its predictions.  On the screen (no line)
 * that which it looks at. */
enum status plots_target(const struct workspace *, const struct run *, const struct args *,
                         size_t *j, struct prediction *, struct err *);

/* Its state is the line of the last plot put on the screen (cmd_plot.c). */
extern const struct owner cmd_plot_shown_owner;

#define PLOT_MAKER(name) \
    struct figure *plots_##name(struct workspace *, struct run *, const struct args *, struct err *)
PLOT_MAKER(calibration);
PLOT_MAKER(sd);
PLOT_MAKER(sderror);
#undef PLOT_MAKER

/* Figures made by a job (plot_job.c). */

struct job;
struct plot_work {
    void *in;                                                      /* owned */
    struct figure *(*make)(void *in, struct job *, struct err *);  /* worker thread */
    void (*free)(void *in);
};
enum status plots_slice(struct workspace *, struct run *, const struct args *, struct plot_work *,
                        struct err *); /* plots_model.c */
enum status plots_parts(struct workspace *, struct run *, const struct args *, struct plot_work *,
                        struct err *);
enum status plots_features(struct workspace *, struct run *, const struct args *,
                           struct plot_work *, struct err *);

#endif
