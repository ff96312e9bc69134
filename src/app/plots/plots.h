/* app/plots/plots.h -- what the makers of plots (plots*.c) share. The table of all plots is in
 * plot_rows.c.
 *
 * Most figures are made at once from what runs and commands have left behind. Those that need the
 * model again (slice, parts, features) are computed by a job and kept: `plot NAME` starts the job,
 * and the panes of the screen show the kept figure. */
#ifndef GPDESK_PLOTS_H
#define GPDESK_PLOTS_H

#include "app/core/kept.h"
#include "app/core/workspace.h"
#include "app/plots/plot_rows.h"

/* A figure that contains only the reason why there is nothing to draw, and what to do. */
struct figure *plots_nothing(const char *name, const char *reason, struct err *);
struct figure *plots_no_iterations(const char *name, const struct run *,
                                   struct err *); /* the figure gives the reason */
/* The figure, or NULL and NOMEM if memory was short since `lost` (err_unreported) without a word:
 * a part of it may be missing, as its title. */
struct figure *plots_whole(struct figure *, size_t lost, struct err *);
/* Ends a maker: returns the figure, or frees it and returns NULL if not ok. */
struct figure *plots_finish(struct figure *, bool ok);
/* The runs named in the line, or `first` if it names none. Returns their number, or SIZE_MAX if one
 * of them does not exist (err is set). */
size_t plots_runs(struct workspace *, struct run *first, const struct args *, struct run **out,
                  size_t max, struct err *);
/* the last tuning with evaluations; NULL if there is none */
struct run *plots_tuning(struct workspace *);
/* The predictions that pictures of a run show: of its test rows, otherwise of its training rows;
 * NULL if it has neither. */
const struct prediction *plots_prediction(const struct run *);
/* If there are no predictions (with sd: no variances), a figure that says why; otherwise NULL. */
struct figure *plots_no_prediction(const char *name, const struct run *, bool sd, struct err *);
/* The target named in the line, by default the first, and its predictions, which are borrowed. On
 * the screen (args is NULL) the target that the screen shows. */
enum status plots_target(const struct workspace *, const struct run *, const struct args *,
                         size_t *j, struct prediction *, struct err *);

/* Its state is the line of the last plot that was put on the screen (cmd_plot.c). */
extern const struct owner cmd_plot_shown_owner;

/* The figure of `plot calibration` for a scored run of two classes. */
struct figure *plots_reliability(struct run *, struct err *);

#define PLOT_MAKER(name) \
    struct figure *plots_##name(struct workspace *, struct run *, const struct args *, struct err *)
PLOT_MAKER(calibration);
PLOT_MAKER(sd);
PLOT_MAKER(sderror);
PLOT_MAKER(roc);
PLOT_MAKER(pr);
PLOT_MAKER(confusion);
PLOT_MAKER(labels_honest); /* the first panel of plot reliability */
#undef PLOT_MAKER

/* Figures made by a job (plot_job.c). */

struct job;
struct plot_work {
    void *in;                                                      /* owned */
    struct figure *(*make)(void *in, struct job *, struct err *);  /* worker thread */
    void (*free)(void *in);
};
enum status plots_slice(struct workspace *, struct run *, const struct args *, struct plot_work *,
                        struct err *); /* defined in plots_model.c */
enum status plots_boundary(struct workspace *, struct run *, const struct args *,
                           struct plot_work *, struct err *);
enum status plots_learned_features(struct workspace *, struct run *, const struct args *,
                                   struct plot_work *, struct err *);
enum status plots_posterior(struct workspace *, struct run *, const struct args *,
                            struct plot_work *, struct err *);
enum status plots_parts(struct workspace *, struct run *, const struct args *, struct plot_work *,
                        struct err *);
enum status plots_features(struct workspace *, struct run *, const struct args *,
                           struct plot_work *, struct err *);

#endif
