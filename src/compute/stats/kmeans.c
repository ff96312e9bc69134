/* compute/stats/kmeans.c -- k-means on coordinates: of inputs, or of kernel PCA, where it
 * approximates kernel k-means (share/doc/methods.md 12.2, 12.3).  Starts are drawn by k-means++
 * with several candidates for each centre (Arthur & Vassilvitskii 2007); Lloyd's iteration runs
 * until no label changes; the start with the least inertia wins.
 *
 * Distances are sums of squared differences, not |x|^2 - 2 x'c + |c|^2, which would cancel.  Rows
 * are cut into at most GROUPS fixed groups whose sums are merged in order, so that labels and
 * centres do not depend on the number of threads. */
#include "compute/stats/kpca.h"

#include "base/mem.h"
#include "compute/rng.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { GROUPS = 64, GROUP_ROWS = 256, ITERATIONS = 300, SILHOUETTE_ROWS = 2000 };

struct run {
    size_t n, d, k, groups, *label;
    const double *X;
    double *C;              /* k x d */
    double *Ct;             /* d x k: C transposed, so that distances to all centres vectorise */
    double *dist;           /* n: squared distance to the nearest centre */
    double *sums;           /* groups x k x d: sums of rows */
    double *weight;         /* groups: sums of squared distances */
    size_t *count, *moved;  /* groups x k rows; groups: rows whose label has changed */
    double *near;           /* groups x k: squared distances of one row */
    size_t candidate;       /* k-means++: the row that is tried */
    bool keep;              /* k-means++: accept the candidate */
    struct pool *pool;
    const struct ctl *ctl;
};

void kmeans_free(struct kmeans *m)
{
    if (!m)
        return;
    free(m->centers);
    free(m->label);
    *m = (struct kmeans){ 0 };
}

static size_t group_start(const struct run *r, size_t g)
{
    return r->n * g / r->groups;
}

static double squared(size_t d, const double *a, const double *b)
{
    double s = 0.0;
    for (size_t j = 0; j < d; j++)
        s += (a[j] - b[j]) * (a[j] - b[j]);
    return s;
}

/* K-means++. */

/* The sum of squared distances with the candidate as a further centre; with `keep` the distances
 * are stored. */
static void try_group(void *ctx, size_t g, size_t worker)
{
    (void)worker;
    struct run *r = ctx;
    const double *c = r->X + r->candidate * r->d;
    double sum = 0.0;
    for (size_t i = group_start(r, g); i < group_start(r, g + 1); i++) {
        const double d2 = fmin(r->dist[i], squared(r->d, r->X + i * r->d, c));
        sum += d2;
        if (r->keep)
            r->dist[i] = d2;
    }
    r->weight[g] = sum;
}

static double potential(struct run *r, size_t candidate, bool keep)
{
    double sum = 0.0;
    r->candidate = candidate;
    r->keep = keep;
    pool_run(r->pool, r->groups, try_group, r);
    for (size_t g = 0; g < r->groups; g++)
        sum += r->weight[g];
    return sum;
}

/* A row drawn with probability proportional to its squared distance; u is uniform in [0, 1). */
static size_t draw_far(const struct run *r, double total, double u)
{
    double left = u * total;
    for (size_t i = 0; i < r->n; i++) {
        left -= r->dist[i];
        if (left < 0.0 && r->dist[i] > 0.0)
            return i;
    }
    for (size_t i = r->n; i-- > 0;) /* rounding has left a positive rest: take the last row */
        if (r->dist[i] > 0.0)
            return i;
    return 0;
}

/* k-means++: the first centre is uniform; each further one is the best of 2 + log k candidates
 * drawn by squared distance. */
static void plus_plus(struct run *r, uint64_t seed, uint32_t restart)
{
    const uint64_t stream = rng_stream(RNG_KMEANS, restart);
    const size_t tries = 2 + (size_t)log((double)r->k);
    uint64_t index = 0;
    for (size_t i = 0; i < r->n; i++)
        r->dist[i] = INFINITY;
    for (size_t c = 0; c < r->k; c++) {
        size_t best = (size_t)rng_below(seed, stream, index++, r->n);
        double total = 0.0, least = INFINITY;
        for (size_t i = 0; c && i < r->n; i++)
            total += r->dist[i];
        for (size_t t = 0; total > 0.0 && t < tries; t++) {
            const size_t row = draw_far(r, total, rng_uniform(seed, stream, index++));
            const double p = potential(r, row, false);
            if (p < least) {
                least = p;
                best = row;
            }
        }
        potential(r, best, true);
        memcpy(r->C + c * r->d, r->X + best * r->d, r->d * sizeof *r->C);
    }
}

/* Lloyd. */

/* Assigns row i to its nearest centre (of equal distances the first) and adds it to the sums of
 * its group. */
static void assign_row(struct run *r, size_t i, double *near, size_t g)
{
    const double *x = r->X + i * r->d;
    size_t best = 0;
    for (size_t c = 0; c < r->k; c++)
        near[c] = 0.0;
    for (size_t j = 0; j < r->d; j++) {
        const double xj = x[j], *row = r->Ct + j * r->k;
        for (size_t c = 0; c < r->k; c++)
            near[c] += (xj - row[c]) * (xj - row[c]);
    }
    for (size_t c = 1; c < r->k; c++)
        if (near[c] < near[best])
            best = c;
    r->moved[g] += r->label[i] != best;
    r->label[i] = best;
    r->dist[i] = near[best];
    r->weight[g] += near[best];
    r->count[g * r->k + best]++;
    double *sum = r->sums + (g * r->k + best) * r->d;
    for (size_t j = 0; j < r->d; j++)
        sum[j] += x[j];
}

static void assign_group(void *ctx, size_t g, size_t worker)
{
    (void)worker;
    struct run *r = ctx;
    memset(r->sums + g * r->k * r->d, 0, r->k * r->d * sizeof *r->sums);
    memset(r->count + g * r->k, 0, r->k * sizeof *r->count);
    r->moved[g] = 0;
    r->weight[g] = 0.0;
    for (size_t i = group_start(r, g); i < group_start(r, g + 1); i++)
        assign_row(r, i, r->near + g * r->k, g);
}

/* Assigns every row to its nearest centre; the sums of all groups are merged into group 0.  Returns
 * how many labels have changed. */
static size_t assign(struct run *r)
{
    for (size_t c = 0; c < r->k; c++)
        for (size_t j = 0; j < r->d; j++)
            r->Ct[j * r->k + c] = r->C[c * r->d + j];
    pool_run(r->pool, r->groups, assign_group, r);
    for (size_t g = 1; g < r->groups; g++) {
        for (size_t i = 0; i < r->k * r->d; i++)
            r->sums[i] += r->sums[g * r->k * r->d + i];
        for (size_t c = 0; c < r->k; c++)
            r->count[c] += r->count[g * r->k + c];
        r->moved[0] += r->moved[g];
        r->weight[0] += r->weight[g];
    }
    return r->moved[0];
}

/* Gives each empty cluster the row that is farthest from its centre.  Returns how many rows
 * moved. */
static size_t refill_empty(struct run *r)
{
    size_t moved = 0;
    for (size_t c = 0; c < r->k; c++) {
        if (r->count[c])
            continue;
        size_t far = r->n;
        for (size_t i = 0; i < r->n; i++)
            if (r->count[r->label[i]] > 1 && r->dist[i] > 0.0 &&
                (far == r->n || r->dist[i] > r->dist[far]))
                far = i;
        if (far == r->n) /* fewer distinct points than clusters */
            break;
        const size_t old = r->label[far];
        for (size_t j = 0; j < r->d; j++) {
            r->sums[old * r->d + j] -= r->X[far * r->d + j];
            r->sums[c * r->d + j] = r->X[far * r->d + j];
        }
        r->count[old]--;
        r->count[c] = 1;
        r->label[far] = c;
        r->dist[far] = 0.0;
        moved++;
    }
    return moved;
}

static void new_centers(struct run *r)
{
    for (size_t c = 0; c < r->k; c++)
        for (size_t j = 0; r->count[c] && j < r->d; j++)
            r->C[c * r->d + j] = r->sums[c * r->d + j] / (double)r->count[c];
}

/* Returns the iterations used; r->weight[0] is the inertia. */
static size_t lloyd(struct run *r)
{
    for (size_t i = 0; i < r->n; i++)
        r->label[i] = r->k; /* nobody's: every row moves at first */
    size_t it = 0;
    for (bool last = false; !last; it++) {
        const size_t moved = assign(r) + refill_empty(r);
        last = moved == 0 || it + 1 == ITERATIONS || ctl_stopped(r->ctl);
        new_centers(r);
    }
    double sum = 0.0; /* to the centres as they are now */
    for (size_t i = 0; i < r->n; i++)
        sum += squared(r->d, r->X + i * r->d, r->C + r->label[i] * r->d);
    r->weight[0] = sum;
    return it;
}

/* Silhouette. */

struct silhouette {
    const struct kmeans *m;
    const double *X;
    const size_t *rows;   /* n sampled rows */
    size_t n, *count;     /* their number, and that in each cluster (k) */
    double *score, *mean; /* n scores; n x k sums of distances to each cluster */
};

/* The silhouette (b - a) / max(a, b) of sampled row i; 0 for a cluster of one row. */
static void silhouette_row(void *ctx, size_t i, size_t worker)
{
    (void)worker;
    const struct silhouette *s = ctx;
    const size_t d = s->m->d, k = s->m->k, own = s->m->label[s->rows[i]];
    double *mean = s->mean + i * k, b = INFINITY;
    memset(mean, 0, k * sizeof *mean);
    for (size_t j = 0; j < s->n; j++)
        mean[s->m->label[s->rows[j]]] +=
            sqrt(squared(d, s->X + s->rows[i] * d, s->X + s->rows[j] * d));
    s->score[i] = 0.0;
    if (s->count[own] < 2)
        return;
    for (size_t c = 0; c < k; c++)
        if (c != own && s->count[c])
            b = fmin(b, mean[c] / (double)s->count[c]);
    const double a = mean[own] / (double)(s->count[own] - 1), most = fmax(a, b);
    s->score[i] = isinf(b) ? NAN : most > 0.0 ? (b - a) / most : 0.0;
}

/* The mean of (b - a) / max(a, b), a the mean distance to the own cluster and b the least mean
 * distance to another one (Rousseeuw 1987; share/doc/methods.md 12.3); NaN for one cluster. */
static enum status silhouette(struct kmeans *m, const double *X, uint64_t seed, struct pool *pool,
                              struct err *err)
{
    const size_t n = m->n < SILHOUETTE_ROWS ? m->n : SILHOUETTE_ROWS;
    size_t *rows = mem_calloc(m->n + m->k, sizeof *rows, "silhouette", err);
    double *score = rows ? mem_calloc(n, (m->k + 1) * sizeof *score, "silhouette", err) : NULL;
    if (!score) {
        free(rows);
        return ST_NOMEM;
    }
    struct silhouette s = { m, X, rows, n, rows + m->n, score, score + n };
    for (size_t i = 0; i < m->n; i++)
        rows[i] = i;
    if (n < m->n)
        rng_permutation(seed, rng_stream(RNG_KMEANS, UINT32_MAX), m->n, rows);
    for (size_t i = 0; i < n; i++)
        s.count[m->label[rows[i]]]++;
    pool_run(pool, n, silhouette_row, &s);
    m->silhouette = 0.0;
    for (size_t i = 0; i < n; i++)
        m->silhouette += score[i] / (double)n;
    free(rows);
    free(score);
    return ST_OK;
}

/* The whole. */

static enum status check_input(size_t n, size_t d, const double *X, size_t k, const size_t *start,
                               struct err *err)
{
    if (k < 1 || k > n)
        return err_set(err, ST_RANGE, "k=%zu clusters of %zu rows: between 1 and %zu", k, n, n);
    for (size_t i = 0; i < n * d; i++)
        if (!isfinite(X[i]))
            return err_set(err, ST_RANGE, "row %zu cannot be clustered: column %zu is %g",
                           i / d + 1, i % d + 1, X[i]);
    for (size_t c = 0; start && c < k; c++)
        if (start[c] >= n)
            return err_set(err, ST_RANGE, "start row %zu of %zu", start[c] + 1, n);
    return ST_OK;
}

static void run_free(struct run *r)
{
    free(r->C);
    free(r->dist);
    free(r->sums);
    free(r->label);
    free(r->count);
}

static enum status run_new(struct run *r, struct err *err)
{
    const size_t kd = r->k * r->d, g = r->groups;
    r->C = mem_calloc(2 * kd, sizeof *r->C, "cluster centres", err);
    r->dist = r->C ? mem_calloc(r->n, sizeof *r->dist, "cluster distances", err) : NULL;
    r->sums =
        r->dist ? mem_calloc(g, (kd + r->k + 1) * sizeof *r->sums, "cluster sums", err) : NULL;
    r->label = r->sums ? mem_calloc(r->n, sizeof *r->label, "cluster labels", err) : NULL;
    r->count = r->label ? mem_calloc(g, (r->k + 1) * sizeof *r->count, "cluster sizes", err) : NULL;
    if (!r->count)
        return ST_NOMEM;
    r->Ct = r->C + kd;
    r->weight = r->sums + g * kd;
    r->near = r->weight + g;
    r->moved = r->count + g * r->k;
    return ST_OK;
}

/* Runs every start and keeps the best in m. */
static enum status best_of(struct run *r, size_t restarts, uint64_t seed, const size_t *start,
                           struct kmeans *m, struct err *err)
{
    size_t done = 0;
    m->inertia = INFINITY;
    for (size_t s = 0; s < restarts && !ctl_stopped(r->ctl); s++) {
        if (start)
            for (size_t c = 0; c < r->k; c++)
                memcpy(r->C + c * r->d, r->X + start[c] * r->d, r->d * sizeof *r->C);
        else
            plus_plus(r, seed, (uint32_t)s);
        const size_t it = lloyd(r);
        if (ctl_stopped(r->ctl) && done)
            break;
        done++;
        if (r->weight[0] < m->inertia) {
            m->inertia = r->weight[0];
            m->iterations = it;
            memcpy(m->centers, r->C, r->k * r->d * sizeof *r->C);
            memcpy(m->label, r->label, r->n * sizeof *r->label);
        }
        ctl_tell(r->ctl, PHASE_KMEANS, s + 1, restarts, m->inertia);
    }
    return done ? ST_OK : err_set(err, ST_CANCELLED, "stopped before the first clustering");
}

enum status kmeans_fit(size_t n, size_t d, const double *X, const struct kmeans_opts *o,
                       const struct ctl *ctl, struct kmeans *m, struct err *err)
{
    const size_t k = o->k, *start = o->start;

    *m = (struct kmeans){ .k = k, .d = d, .n = n };
    enum status rc = check_input(n, d, X, k, start, err);
    if (rc != ST_OK)
        return rc;
    const size_t groups = n / GROUP_ROWS + 1;
    struct run r = { .n = n, .d = d, .k = k, .groups = groups < GROUPS ? groups : GROUPS, .X = X,
                     .pool = o->pool, .ctl = ctl };
    rc = run_new(&r, err);
    if (rc == ST_OK) {
        m->centers = mem_calloc(k * d, sizeof *m->centers, "cluster centres", err);
        m->label = m->centers ? mem_calloc(n, sizeof *m->label, "cluster labels", err) : NULL;
        rc = m->label ? ST_OK : ST_NOMEM;
    }
    if (rc == ST_OK)
        rc = best_of(&r, start || o->restarts == 0 ? 1 : o->restarts, o->seed, start, m, err);
    if (rc == ST_OK)
        rc = silhouette(m, X, o->seed, o->pool, err);
    run_free(&r);
    if (rc != ST_OK)
        kmeans_free(m);
    return rc;
}
