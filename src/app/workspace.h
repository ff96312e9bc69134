/* app/workspace.h -- what is loaded, chosen, running and finished.  Owned by the main thread;
 * workers get immutable snapshots and hand results back through events. */
#ifndef GPDESK_WORKSPACE_H
#define GPDESK_WORKSPACE_H

#include "app/command.h"
#include "app/dataset.h"
#include "app/figure.h"
#include "app/rec.h"
#include "compute/kpca.h"
#include "compute/metrics.h"
#include "compute/model.h"
#include "compute/tune.h"

#include <poll.h>
#include <stdio.h>

enum run_kind { RUN_TUNE, RUN_FIT };
enum run_state { RUN_QUEUED, RUN_RUNNING, RUN_DONE, RUN_STOPPED, RUN_FAILED };
const char *run_state_name(enum run_state);

/* A trace point of a run: cg: step = iteration, value = recursive residual, value2 = true one (NaN
 * where not computed).  tune: step = evaluation, value = nmll, value2 = best, point = hp..., amp,
 * noise. */
struct trace_point { uint32_t step; float seconds; double value, value2; double point[6]; };

struct prediction {      /* of rows of the training dataset or of new data, units of the target */
    enum part part; size_t n;
    size_t *row; double *y, *mean, *sd_latent, *sd;   /* y NaN when unknown */
    double *y_scaled, *mean_scaled, *var_scaled;      /* var includes the noise */
};
struct run {
    char id[16];                 /* "r7", "t2" */
    enum run_kind kind; enum run_state state;
    struct dataset *data;        /* snapshot; NULL when the session could not find the file */
    char *dataset_name, *kernel_text, *command; /* canonical */
    struct encoding enc; bool has_enc;
    struct fit_opts fit; struct fit_info info; /* RUN_FIT */
    struct model *model;         /* RUN_FIT, once done */
    struct tune_opts topt; struct tune_result tune; /* RUN_TUNE (start points into the run) */
    struct solve_info solve;     /* alpha, beta of the run */
    struct trace_point *trace; size_t ntrace, captrace;
    double trace_target;         /* rtol */
    struct tick last;            /* newest tick (point NULL) */
    double started, ended;       /* seconds, monotonic while running; wall time in created */
    int64_t created;             /* unix time */
    bool has_score; struct metrics score_scaled, score_raw; enum part score_part; size_t score_rows;
    struct prediction train_pred, test_pred; bool has_train, has_test; /* of the last score/check */
    char *note; bool star;
    struct err failure;          /* RUN_FAILED */
    char verdict[256];           /* one sentence for the tables and views */
};

/* kPCA and clusters of the last `pca` / `cluster`. */
struct pca_state { bool have; struct kpca k; double *coords; size_t n; size_t *row; size_t dims;
                   double *color; char *color_name; bool sampled; char run[16];
                   struct kmeans clusters; bool have_clusters; };

struct options { size_t threads; size_t mem; uint64_t seed; int verbosity; bool json, plain, color,
                 accept_unconverged, strict, keep_going, dry; enum precision precision; };

struct job;
struct store;
struct workspace {
    struct dataset **data; size_t ndata; size_t cur;   /* cur == SIZE_MAX: none */
    struct kernel kernel; double hp[KERNEL_MAX_HP]; double amplitude, noise; bool hp_tuned;
    struct tune_bound hp_bound[KERNEL_MAX_HP], amp_bound, noise_bound; /* from `set l=a..b` */
    struct run **run; size_t nrun; size_t nfit, ntune;  /* order of creation */
    char last_fit[16];
    struct pca_state pca;
    struct options opt;
    struct sink *sinks;
    struct store *store;          /* NULL: no session */
    struct pool *pool; const struct backend_ops *backend;
    struct jobs *jobs;            /* worker thread, queue, event queue: job.h */
    size_t warnings, errors; bool unconverged;
    bool quit;
    char **script; size_t nscript; /* canonical state-changing lines so far */
    unsigned serial;              /* grows with every change; views redraw by it */
    /* Set by a full screen: `plot NAME [run]` without out= asks it to show the plot (run "" when
     * none applies) and then says one line instead of drawing text.  NULL: nobody shows plots. */
    void (*show)(void *ctx, const char *plot, const char *run);
    void *show_ctx;
};
struct workspace *workspace_new(const struct options *, struct err *);
void workspace_free(struct workspace *);   /* stops jobs first */

/* Runs one line (several statements). Jobs are queued and the call returns; failures have already
 * been emitted as error records. */
enum status workspace_exec(struct workspace *, const char *line);
/* Runs until no job is left (batch, `wait`). */
void workspace_drain(struct workspace *);
/* For the poll loop. */
int workspace_fd(const struct workspace *);
void workspace_pump(struct workspace *);   /* takes all events; calls sinks */

void ws_emit(struct workspace *, struct rec *);            /* to all sinks; frees the rec's content */
void ws_note(struct workspace *, const char *name, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
void ws_warn(struct workspace *, const char *name, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
void ws_error(struct workspace *, const struct err *, const char *in);
struct dataset *ws_dataset(struct workspace *, const char *name, struct err *); /* NULL/".": current */
/* "r7", "run:r7", ".", NULL: the last fit; patterns are not taken. */
struct run *ws_run(struct workspace *, const char *name, struct err *);
struct run *ws_run_new(struct workspace *, enum run_kind, struct err *);
struct run *ws_newest_running(struct workspace *);

/* Figures: every plot by name (plots.c): a row table as for commands.  run NULL: the last that
 * fits; args NULL (the screen's live panes): every key at its default. */
struct plot_ops { const char *name, *title, *axes, *help;
                  struct figure *(*make)(struct workspace *, struct run *, const struct args *,
                                         struct err *); };
const struct plot_ops *plot_at(size_t i);
const struct plot_ops *plot_find(const char *name, struct err *err);

#endif
