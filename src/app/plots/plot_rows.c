/* app/plots/plot_rows.c -- the list of all plots. A plot is a maker and a row in one file, a word
 * of PLOT_LIST, and for a new file its line in plots.mk. */
#include "app/plots/plot_rows.h"

#include "base/buf.h"

#include <string.h>

/* In the order of `help plots`. The row of NAME is plots_NAME_row. */
#define PLOT_LIST(_) \
    _(columns) _(pairs) _(parity) _(residual) _(rate) _(race) _(rank) _(spectrum) _(nmll) \
    _(path) _(landscape) _(tradeoff) _(row) _(ard) _(calibration) _(zscore) _(sd) _(sderror) \
    _(roc) _(pr) _(confusion) _(reliability) _(boundary) _(learned) _(mutations) _(check) _(slice) \
    _(posterior) _(parts) _(features) _(pca) _(scree) _(silhouette) _(draws) _(kernel) \
    _(covariance) _(sweep) _(learning) _(cost) _(training) _(effects) _(importance) _(suggest) \
    _(bo) _(inducing) _(words) _(profile) _(cliffs) _(similarity) _(molecule) \
    _(molecules) _(ranks)

#define _(name) extern const struct plot_ops plots_##name##_row;
PLOT_LIST(_)
#undef _

static const struct plot_ops *const plots[] = {
#define _(name) &plots_##name##_row,
    PLOT_LIST(_)
#undef _
};

const struct plot_ops *plot_at(size_t i)
{
    return i < sizeof plots / sizeof *plots ? plots[i] : NULL;
}

bool plot_follows(const struct plot_ops *p, const struct run *r)
{
    if (p->live == PLOT_OF_LEARNING)
        return r->kind != RUN_FIT || r->nlearned;
    if (p->live == PLOT_OF_BOTH)
        return true;
    return p->live == (r->kind == RUN_FIT ? PLOT_OF_FIT : PLOT_OF_TUNING);
}

const struct plot_ops *plot_find(const char *name, struct err *err)
{
    const size_t n = sizeof plots / sizeof *plots;
    const struct plot_ops *found = NULL;
    size_t hits = 0;

    for (size_t i = 0; i < n; i++) {
        if (!strcmp(plots[i]->name, name))
            return plots[i];
        if (!strncmp(plots[i]->name, name, strlen(name)))
            found = plots[i], hits++;
    }
    if (hits != 1 || !*name) {
        struct buf b = { 0 };
        for (size_t i = 0; i < n; i++)
            buf_printf(&b, "%s%s", i ? ", " : "", plots[i]->name);
        err_set(err, hits ? ST_AMBIGUOUS : ST_NOT_FOUND, "%s plot %s",
                hits ? "more than one" : "there is no", name);
        err_hint(err, "plot NAME, one of %s", buf_str(&b));
        buf_free(&b);
        found = NULL;
    }
    return found;
}
