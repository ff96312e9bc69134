/* compute/models/fit.h -- a fit under way, and what the kinds of model share while they fit.  For
 * src/compute/models only. */
#ifndef GPDESK_FIT_H
#define GPDESK_FIT_H

#include "compute/models/model_impl.h"

struct fit {
    const struct model_ops *kind;
    const struct fit_opts *o;
    const struct source *src;
    const double *y;        /* t vectors of n, multiplied by the row factors of src */
    struct tools on;
    struct fit_plan plan;
    struct model *m;        /* sizes, kernel and scale are set; the fit fills w, X and L */
    struct fit_info *info;
    struct solve_info *trace;
    struct model_map z;     /* of a kind that draws features */
    size_t t;               /* targets: vectors in y, b and the model's weights */
    double ratio, *b;       /* ratio: of noise to amplitude, squared, in force; b: Z'y, or NULL */
    double weights;         /* sum of the rows' weights */
    bool free_scale;        /* amplitude and noise may follow the data */
};

double fit_now(void); /* seconds of a monotonic clock, for the times that are reported */
/* A warning of the fit; only the first one is kept, as it matters most. */
void fit_warn(struct fit_info *, const char *name, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Takes over the solves of all targets: the worst outcome and residual, the most iterations.  The
 * one that took these becomes the trace. */
void fit_gather(struct fit *, struct solve_info *each);

#endif
