/* compute/likelihood/dirichlet.c -- see dirichlet.h: the regressions of single classes, and the
 * probabilities that they give (share/doc/methods.md 17.1 to 17.5, 17.7). */
#include "compute/likelihood/dirichlet.h"

#include "base/mem.h"
#include "compute/features/featmap.h"
#include "compute/likelihood/likelihood.h"
#include "compute/likelihood/nmll_impl.h"
#include "compute/linalg/blas.h"
#include "compute/rng.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const struct likelihood_ops dirichlet_likelihood = {
    .name = "dirichlet",
    .link = "dirichlet",
    .title = "several classes, by a regression for each",
    .method = "regressions with known noise",
    .classes = true,
    .several = true,
};

/* The log-normal distribution with mean and variance a, those of Gamma(a, 1). */
void dirichlet_values(double alpha, struct dirichlet_value of[2])
{
    for (size_t own = 0; own < 2; own++) {
        const double a = alpha + (double)own;
        of[own].var = log1p(1.0 / a);
        of[own].y = log(a) - 0.5 * of[own].var;
    }
}

/* The sums. */

enum status dirichlet_labels(const struct dirichlet_rows *r, struct err *err)
{
    if (r->classes < 2 || r->classes > TARGETS_MOST)
        return err_set(err, ST_RANGE, "%zu classes; 2 to %d are possible", r->classes,
                       TARGETS_MOST);
    if (!(r->alpha > 0.0) || !isfinite(r->alpha))
        return err_set(err, ST_RANGE, "alpha=%g must be positive", r->alpha);
    for (size_t i = 0; i < r->src->n; i++) {
        const double c = r->labels[i];
        if (!(c >= 0.0 && c < (double)r->classes) || c != floor(c))
            return err_set(err, ST_RANGE, "row %zu has class %g, not 0 to %zu", i + 1, c,
                           r->classes - 1);
    }
    return ST_OK;
}

void dirichlet_balance(size_t n, size_t classes, const double *labels, double *weight)
{
    size_t seen = 0;

    for (size_t c = 0; c < classes; c++)
        weight[c] = 0.0;
    for (size_t i = 0; i < n; i++)
        weight[(size_t)labels[i]] += 1.0;
    for (size_t c = 0; c < classes; c++)
        seen += weight[c] > 0.0;
    for (size_t c = 0; c < classes; c++)
        weight[c] = weight[c] > 0.0 ? (double)n / ((double)seen * weight[c]) : 1.0;
}

/* The square roots of the weights of rows, and their sums. */
static enum status weigh(struct dirichlet *d, struct err *err)
{
    d->total = (double)d->n;
    d->logs = 0.0;
    if (d->rows.weight == NULL)
        return ST_OK;
    d->scale = mem_calloc(2 * d->n + 1, sizeof *d->scale, "weights of rows", err);
    if (d->scale == NULL)
        return ST_NOMEM;
    d->total = 0.0;
    for (size_t i = 0; i < d->n; i++) {
        const double w = d->rows.weight[(size_t)d->rows.labels[i]];
        d->scale[i] = sqrt(w);
        d->total += w;
        d->logs += log(w);
    }
    return ST_OK;
}

/* An operator over rows, and their sums Z'WZ and Z'W1; scale: square roots of W, or NULL. */
static enum status sum_up(const struct dirichlet *d, const struct source *src,
                          const double *scale, struct fop **f, double *G, double *sum,
                          struct err *err)
{
    const struct fop_opts fo = {.pool = d->rows.on.pool,
                                .ctl = d->rows.on.ctl,
                                .precision = d->rows.precision,
                                .row_scale = scale};
    double *ones = mem_calloc(src->n + 1, sizeof *ones, "ones", err);

    for (size_t i = 0; ones && i < src->n; i++)
        ones[i] = scale ? scale[i] : 1.0; /* the operator scales rows, too */
    *f = ones ? fop_new(d->rows.on.be, d->rows.map, src, &fo, err) : NULL;
    enum status rc = *f ? fop_set(*f, d->rows.hp, err) : err_status(err);
    if (rc == ST_OK)
        rc = fop_gram_of(*f, 1, ones, G, sum, NULL, d->rows.on.ctl, err);
    free(ones);
    return rc;
}

enum status dirichlet_open(struct dirichlet *d, const struct dirichlet_rows *rows, struct err *err)
{
    enum status rc = dirichlet_labels(rows, err);

    *d = (struct dirichlet){ .rows = *rows, .n = rows->src->n, .M = rows->map->M };
    if (rc != ST_OK)
        return rc;
    dirichlet_values(rows->alpha, d->of);
    d->G = mem_aligned(d->M * d->M, sizeof *d->G, "the Gram matrix", err);
    d->Gc = d->G ? mem_aligned(d->M * d->M, sizeof *d->Gc, "the Gram matrix of a class", err)
                 : NULL;
    d->sum = d->Gc ? mem_calloc(2 * d->M, sizeof *d->sum, "sums", err) : NULL;
    d->row = d->sum ? mem_calloc(d->n + 1, sizeof *d->row, "rows of a class", err) : NULL;
    if (d->row == NULL)
        return ST_NOMEM;
    d->sumc = d->sum + d->M;
    rc = weigh(d, err);
    return rc == ST_OK ? sum_up(d, rows->src, d->scale, &d->all, d->G, d->sum, err) : rc;
}

void dirichlet_close(struct dirichlet *d)
{
    fop_free(d->all);
    fop_free(d->own);
    free(d->G);
    free(d->Gc);
    free(d->sum);
    free(d->row);
    free(d->scale);
    *d = (struct dirichlet){ .all = NULL };
}

enum status dirichlet_take(struct dirichlet *d, size_t c, struct err *err)
{
    d->nown = 0;
    for (size_t i = 0; i < d->n; i++)
        if (d->rows.labels[i] == (double)c)
            d->row[d->nown++] = i;
    const double w = d->rows.weight ? d->rows.weight[c] : 1.0;
    double *scale = d->scale ? d->scale + d->n : NULL; /* of the class's rows, all alike */
    for (size_t i = 0; scale && i < d->nown; i++)
        scale[i] = sqrt(w);
    d->own_part = w * (double)d->nown;
    const double share = d->own_part / d->total;
    d->mean = share * d->of[1].y + (1.0 - share) * d->of[0].y;
    fop_free(d->own);
    d->own = NULL;
    memset(d->Gc, 0, d->M * d->M * sizeof *d->Gc);
    memset(d->sumc, 0, d->M * sizeof *d->sumc);
    if (d->nown == 0)
        return ST_OK;
    source_subset_init(&d->subset, d->rows.src, d->row, d->nown);
    return sum_up(d, &d->subset.base, scale, &d->own, d->Gc, d->sumc, err);
}

/* The regression of a class. */

/* L L' = A + jitter I, with the least jitter that rounding needs; *added is it and rho. */
static enum status factor(const struct dirichlet *d, double rho, double *L, double *added,
                          struct err *err)
{
    const size_t M = d->M;
    const double k = d->of[0].var / d->of[1].var - 1.0, most = 1e-4 * (double)d->n;

    for (double jitter = 0.0;; jitter = jitter > 0.0 ? 10.0 * jitter : 1e-10 * (double)d->n) {
        *added = rho + jitter;
        for (size_t j = 0; j < M; j++) {
            for (size_t i = j; i < M; i++)
                L[i + j * M] = d->G[i + j * M] + k * d->Gc[i + j * M];
            L[j + j * M] += *added;
        }
        enum status rc = blas_dpotrf(d->rows.on.pool, M, L, M, d->rows.on.ctl, NULL, err);
        if (rc == ST_OK && jitter <= most)
            rc = blas_sound(d->rows.on.pool, M, L, M, 0.5 * *added, err);
        if (jitter > most || rc != ST_NOT_PD)
            return rc;
        err_clear(err);
    }
}

enum status dirichlet_at(const struct dirichlet *d, double amplitude, double *L, double *w,
                         double *value, struct err *err)
{
    const size_t M = d->M;
    const double off = d->of[0].var, own = d->of[1].var;
    const double r0 = d->of[0].y - d->mean, r1 = d->of[1].y - d->mean;
    const double n1 = (double)d->nown, n0 = (double)d->n - n1;
    const double w1 = d->own_part, w0 = d->total - w1;
    double rho, logdet = 0.0;
    enum status rc = factor(d, off / (amplitude * amplitude), L, &rho, err);

    if (rc != ST_OK)
        return rc;
    for (size_t i = 0; i < M; i++)
        w[i] = r0 * d->sum[i] + (r1 * off / own - r0) * d->sumc[i];
    rc = blas_dtrsm(d->rows.on.pool, false, M, 1, L, M, w, M, err);
    const double quad = rc == ST_OK ? blas_ddot(M, w, w) : 0.0;
    if (rc == ST_OK)
        rc = blas_dtrsm(d->rows.on.pool, true, M, 1, L, M, w, M, err);
    for (size_t i = 0; i < M; i++)
        logdet += 2.0 * log(L[i + i * M]);
    *value = 0.5 * ((w0 * r0 * r0 + w1 * r1 * r1 * off / own - quad) / off) +
             0.5 * (logdet - (double)M * log(rho)) +
             0.5 * (n0 * log(off) + n1 * log(own) - d->logs) +
             0.5 * (n0 + n1) * log(2.0 * M_PI);
    return rc;
}

struct search { const struct dirichlet *d; double *L, *w; };

static enum status value_at(void *ctx, double amplitude, double *value, struct err *err)
{
    const struct search *s = ctx;

    return dirichlet_at(s->d, amplitude, s->L, s->w, value, err);
}

enum status dirichlet_best(const struct dirichlet *d, const double within[2], double *L, double *w,
                           double *amplitude, struct err *err)
{
    struct search s = { d, L, w };

    return nmll_search_amplitude(value_at, &s, within, amplitude, err);
}

/* Probabilities. */

enum { DRAWS = 512, ROWS_EACH = 64 };
/* Draws come in pairs e and -e, so that their mean is exact. */
struct softmax {
    size_t n, classes;
    const double *mean, *var, *normal; /* normal: DRAWS x classes */
    double temperature, *p;
};

static void add_softmax(size_t classes, const double *f, double *sum)
{
    double most = f[0], all = 0.0, e[TARGETS_MOST];

    for (size_t c = 1; c < classes; c++)
        most = fmax(most, f[c]);
    for (size_t c = 0; c < classes; c++)
        all += e[c] = exp(f[c] - most);
    for (size_t c = 0; c < classes; c++)
        sum[c] += e[c] / all;
}

/* By draws e and -e at once: exp(a + b e) and exp(a - b e) are exp(a) times and over exp(b e).
 * A: exp(a) over its largest value. */
static void add_pair(size_t C, const double *A, const double *b, const double *e, double *sum)
{
    double up[TARGETS_MOST], down[TARGETS_MOST], all[2] = { 0.0 };

    for (size_t c = 0; c < C; c++) {
        const double x = exp(b[c] * e[c]);
        all[0] += up[c] = A[c] * x;
        all[1] += down[c] = A[c] / x;
    }
    for (size_t c = 0; c < C; c++)
        sum[c] += up[c] / all[0] + down[c] / all[1];
}

/* b e is at most 6 b, and exp(200) squared is a number; beyond, each draw is on its own. */
static const double most_pair = 200.0 / 6.0;

static void row_by_draws(const struct softmax *s, size_t i)
{
    const size_t C = s->classes;
    double sum[TARGETS_MOST] = { 0.0 }, f[TARGETS_MOST], a[TARGETS_MOST] = { 0.0 };
    double b[TARGETS_MOST];
    double most_a = -INFINITY, most_b = 0.0, all = 0.0;

    for (size_t c = 0; c < C; c++) {
        a[c] = s->mean[c * s->n + i] / s->temperature;
        b[c] = sqrt(s->var[c * s->n + i]) / s->temperature;
        most_a = fmax(most_a, a[c]);
        most_b = fmax(most_b, b[c]);
    }
    const bool pairs = most_b > 0.0 && most_b < most_pair;
    for (size_t c = 0; pairs && c < C; c++)
        f[c] = exp(a[c] - most_a);
    if (most_b == 0.0)
        add_softmax(C, a, sum);
    for (size_t k = 0; pairs && k < DRAWS; k++)
        add_pair(C, f, b, s->normal + k * C, sum);
    for (size_t k = 0; most_b >= most_pair && k < 2 * DRAWS; k++) {
        const double *e = s->normal + k / 2 * C, sign = k % 2 ? -1.0 : 1.0;
        for (size_t c = 0; c < C; c++)
            f[c] = a[c] + sign * b[c] * e[c];
        add_softmax(C, f, sum);
    }
    for (size_t c = 0; c < C; c++)
        all += sum[c];
    for (size_t c = 0; c < C; c++)
        s->p[c * s->n + i] = sum[c] / all;
}

static void softmax_task(void *ctx, size_t task, size_t worker)
{
    const struct softmax *s = ctx;
    const size_t r0 = task * ROWS_EACH, r1 = r0 + ROWS_EACH < s->n ? r0 + ROWS_EACH : s->n;
    const double t = s->temperature;

    (void)worker;
    for (size_t i = r0; i < r1; i++) {
        if (s->classes > 2) {
            row_by_draws(s, i);
            continue;
        }
        const double one = logit_likelihood.probability((s->mean[s->n + i] - s->mean[i]) / t,
                                                        (s->var[i] + s->var[s->n + i]) / (t * t));
        s->p[i] = 1.0 - one;
        s->p[s->n + i] = one;
    }
}

enum status dirichlet_softmax(struct pool *pool, size_t n, size_t classes, const double *mean,
                              const double *var, double temperature, double *p, struct err *err)
{
    double *normal = mem_calloc(DRAWS, classes * sizeof *normal, "draws of classes", err);
    struct softmax s = { .n = n, .classes = classes, .mean = mean, .var = var, .normal = normal,
                         .temperature = temperature, .p = p };

    if (normal == NULL)
        return ST_NOMEM;
    for (size_t k = 0; k < DRAWS * classes; k++)
        normal[k] = rng_normal(0, rng_stream(RNG_SOFTMAX, 0), k);
    pool_run(pool, (n + ROWS_EACH - 1) / ROWS_EACH, softmax_task, &s);
    free(normal);
    return ST_OK;
}
