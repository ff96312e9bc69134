/* app/plots/plots_learned.c -- what maps have learned: their features, or the coordinates of a
 * kernel behind a map, along one input or over the plane of two.  Shown are those that vary most
 * there. */
#include "app/plots/plots_learned.h"

#include "app/plots/plots.h"
#include "base/mem.h"
#include "base/text.h"

#include <math.h>
#include <stdlib.h>

enum { LINES = 6, PANELS = 4 };

/* The numbers that the maps make at all places: `count` of each, place by place, of which `zeros`
 * are columns of zeros. */
struct made { size_t n, count, zeros; double *z, *sd; size_t order[LINES]; };

static enum status make_all(const struct plots_learned_view *v, struct made *m, struct job *job,
                            struct err *err)
{
    enum status rc = kernel_learned_ready(v->kernel, v->d, err);

    m->n = v->nx * v->ny;
    m->count = rc == ST_OK ? kernel_learned_numbers(v->kernel) : 0;
    for (size_t j = 0; j < m->count; j++)
        m->zeros += kernel_learned_zero(v->kernel, j);
    m->z = rc == ST_OK ? mem_calloc(m->n + 1, m->count * sizeof *m->z, "features", err) : NULL;
    m->sd = m->z ? m->z + m->n * m->count : NULL;
    if (rc == ST_OK && !m->z)
        rc = ST_NOMEM;
    for (size_t r = 0; rc == ST_OK && r < m->n; r += NET_GROUP) {
        const size_t k = m->n - r < NET_GROUP ? m->n - r : NET_GROUP;
        if (ctl_stopped(&job->ctl))
            return err_set(err, ST_CANCELLED, "stopped");
        rc = kernel_learned_rows(v->kernel, k, v->inputs + r * v->d, v->d, m->z + r * m->count,
                                 m->count, err);
        ctl_tick(&job->ctl, &(struct tick){ .phase = PHASE_FEATURES, .done = r + k, .total = m->n,
                                            .value = NAN, .value2 = NAN, .target = NAN,
                                            .passes = NAN });
    }
    return rc;
}

/* The standard deviation of each number over the places, and those with the largest; returns their
 * share of the sum of all variances. */
static double choose(struct made *m, size_t most)
{
    double all = 0.0, shown = 0.0;

    for (size_t j = 0; j < m->count; j++) {
        double mean = 0.0, var = 0.0;
        for (size_t i = 0; i < m->n; i++)
            mean += m->z[i * m->count + j] / (double)m->n;
        for (size_t i = 0; i < m->n; i++)
            var += pow(m->z[i * m->count + j] - mean, 2.0) / (double)m->n;
        m->sd[j] = sqrt(var);
        all += var;
    }
    for (size_t k = 0; k < most; k++) {
        size_t best = SIZE_MAX;
        for (size_t j = 0; j < m->count; j++) {
            bool had = false;
            for (size_t i = 0; i < k; i++)
                had |= m->order[i] == j;
            if (!had && (best == SIZE_MAX || m->sd[j] > m->sd[best]))
                best = j;
        }
        m->order[k] = best;
        shown += m->sd[best] * m->sd[best];
    }
    return all > 0.0 ? shown / all : 1.0;
}

/* "feature" or, where kernels stand behind maps, "coordinate". */
static const char *noun(const struct kernel *k)
{
    for (size_t t = 0; t < k->nterms; t++)
        if (k->term[t].map)
            return "coordinate";
    return "feature";
}

static bool words(struct figure *f, const struct plots_learned_view *v, const char *y,
                  struct err *err)
{
    struct buf a = { 0 }, b = { 0 };

    text_safe(&a, v->name[0], 40);
    text_safe(&b, y, 40);
    const bool ok = figure_label(f, buf_str(&a), buf_str(&b), err) == ST_OK;
    buf_free(&a), buf_free(&b);
    return ok;
}

static struct figure *lines(const struct plots_learned_view *v, const struct made *m, size_t k,
                            const char *title, struct err *err)
{
    struct figure *f = figure_new("features-learned", title, err);
    double *z = f ? mem_calloc(m->n, sizeof *z, "plot", err) : NULL;
    bool ok = z && words(f, v, noun(v->kernel), err);

    for (size_t i = 0; ok && i < k; i++) {
        char key[48];
        snprintf(key, sizeof key, "%s %zu", noun(v->kernel), m->order[i] + 1);
        for (size_t p = 0; p < m->n; p++)
            z[p] = m->z[p * m->count + m->order[i]];
        ok = figure_add(f, key, v->level ? MARK_LINEPOINTS : MARK_LINE, m->n, v->x, z, err) != NULL;
    }
    if (ok && v->level)
        ok = figure_names(&f->x, m->n, v->level, err) == ST_OK;
    free(z);
    return plots_finish(f, ok);
}

static struct figure *panels(const struct plots_learned_view *v, const struct made *m, size_t k,
                             const char *title, struct err *err)
{
    double *z = mem_calloc(m->n, sizeof *z, "plot", err);
    struct figure *head = NULL, **tail = &head;
    bool ok = z != NULL;

    for (size_t i = 0; ok && i < k; i++) {
        char key[48], own[200];
        const struct figure_surface heights = { v->nx, v->ny, v->x, v->y, z };
        snprintf(key, sizeof key, "%s %zu", noun(v->kernel), m->order[i] + 1);
        snprintf(own, sizeof own, i ? "%s" : "%s: %s", i ? key : title, key);
        for (size_t p = 0; p < m->n; p++)
            z[p] = m->z[p * m->count + m->order[i]];
        *tail = figure_new("features-learned", own, err);
        ok = *tail && words(*tail, v, v->name[1], err) &&
             figure_add_cells(*tail, key, &heights, err);
        tail = *tail ? &(*tail)->next : tail;
    }
    if (ok)
        head->across = 2;
    free(z);
    return plots_finish(head, ok);
}

struct figure *plots_learned_figure(const struct plots_learned_view *v, struct job *job,
                                    struct err *err)
{
    struct made m = { 0 };
    struct figure *f = NULL;
    char title[120], where[64] = "";

    if (make_all(v, &m, job, err) == ST_OK) {
        const size_t most = v->ny > 1 ? PANELS : LINES, real = m.count - m.zeros;
        const size_t k = real < most ? real : most;
        const double share = choose(&m, k);
        if (v->row)
            snprintf(where, sizeof where, ", through row %zu", v->row);
        else if (v->d > (v->ny > 1 ? 2 : 1))
            snprintf(where, sizeof where, ", other inputs at typical values");
        snprintf(title, sizeof title, "What the map of %s has learned%s", v->run,
                 v->ny > 1 ? "" : where);
        f = (v->ny > 1 ? panels : lines)(v, &m, k, title, err);
        const bool ok = f && figure_verdict(f, err, "%zu of %zu %ss, those that vary most here: "
                                            "%.0f %% of the variance of all%s", k, real,
                                            noun(v->kernel), 100.0 * share,
                                            v->ny > 1 ? where : "") == ST_OK;
        f = plots_finish(f, ok);
    }
    free(m.z);
    return f;
}

static struct figure *kept_learned(struct workspace *ws, struct run *r, const struct args *a,
                                   struct err *err)
{
    (void)r, (void)a;
    return kept_copy(ws, "features-learned",
                     "No learned features have been computed yet. try: plot features-learned", err);
}

const struct plot_ops plots_learned_row = {
    .name = "features-learned",
    .title = "What a map has learned against an input",
    .axes = "input, feature (or another input)",
    .help = "Of a fit whose kernel learns (mlp, cnn): up to six features along an input (default: "
            "the first), or four over the plane of two, those that vary most there; of a kernel "
            "behind a map, mlp(rbf,out=4), its coordinates. Other inputs stand at typical values, "
            "or at those of a row (row:12).",
    .make = kept_learned,
    .columns = true,
    .prepare = plots_learned_features,
};
