/* compute/model_rank.c -- the rank of a preconditioner, from evidence.
 *
 * The eigenvalues of Z Z' over a sample of n_s rows, times n / n_s, are near the leading ones of
 * Z'Z.  With the leading r of them captured the
 * preconditioned matrix has r eigenvalues at the r-th one and the rest as they are; how many steps
 * conjugate gradients take there is not bounded but played through, on the diagonal system itself
 * and with the sample's own targets, b_j = sqrt(lam_j) u_j'y: a decay that lets them converge
 * faster than the condition number says is counted, and so are targets rougher than the model.
 *
 * Costs come from sizes (model_plan.c), not from clocks: the same data, the same rank. */
#include "compute/model_impl.h"

#include "base/mem.h"
#include "compute/blas.h"
#include "compute/ritz.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    SAMPLE_MOST = 2048, SAMPLE_LEAST = 512,
    SINGLE = 256,      /* eigenvalues that count by themselves; further ones in groups */
    GROUPS_MOST = 4096,
};
static const double sample_bytes = 256e6;
static const double group_width = 1.0 / 64.0; /* of its index */
/* Iterations taken over those played through, in the median of kin40k, robot and the tests (0.7 to
 * 2.1): rounding, a tail that is guessed, directions that a sketch has not quite caught. */
static const double taken = 1.2;

/* ---- the spectrum ------------------------------------------------------------------------------ */

/* Eigenvalues in groups, descending; their number in count. */
struct spectrum { size_t n; double lam[GROUPS_MOST], count[GROUPS_MOST], b2[GROUPS_MOST]; };

static size_t sample_rows(size_t n, size_t M, size_t mem_limit)
{
    const double bytes = mem_limit ? fmin(sample_bytes, (double)mem_limit / 8.0) : sample_bytes;

    double m = fmin(SAMPLE_MOST, fmax(SAMPLE_LEAST, (double)M / 4.0));

    if (n <= SAMPLE_MOST)
        m = (double)n;
    m = fmax(fmin(m, bytes / (8.0 * (double)M)), fmin(RANK_LEAST, (double)n));
    return (size_t)m < n ? (size_t)m : n;
}

struct rows { struct fop *f; size_t n, m, M; double *Z; enum status *rc; };

static size_t row_of(size_t i, size_t n, size_t m) /* spread evenly */
{
    return (size_t)((double)i * (double)n / (double)m);
}

static void sample_row(void *ctx, size_t i, size_t worker)
{
    const struct rows *s = ctx;
    const size_t r = row_of(i, s->n, s->m);

    (void)worker;
    s->rc[i] = fop_tile64(s->f, r, r + 1, s->Z + i * s->M, s->M, NULL);
}

/* The eigenvalues once, V'g for t vectors g of m. */
static enum status tridiag_targets(size_t m, size_t t, double *d, double *e, double *g,
                                   struct err *err)
{
    double *own = mem_calloc(2 * m, sizeof *own, "a spectrum", err);
    enum status rc = own ? ST_OK : ST_NOMEM;

    for (size_t j = 1; rc == ST_OK && j < t; j++) {
        memcpy(own, d, m * sizeof *d);
        memcpy(own + m, e, m * sizeof *e);
        rc = ritz_tridiag(m, own, own + m, g + j * m, err);
    }
    free(own);
    return rc == ST_OK ? ritz_tridiag(m, d, e, g, err) : rc;
}

/* The sample's eigenvalues, descending, scaled to all rows, and (u_j'y)^2 of its eigenvectors: of t
 * targets, all of one variance, the mean. */
static enum status sample_spectrum(struct fop *f, size_t t, const double *y, size_t m, double *lam,
                                   double *uy2, const struct ctl *ctl, struct err *err)
{
    const size_t n = fop_rows(f), M = fop_cols(f);
    struct pool *pool = fop_pool(f);
    struct rows s = { f, n, m, M, NULL, NULL };
    double *K = mem_aligned(m + 2 + t, m * sizeof *K, "a sample's Gram matrix", err);

    s.Z = K ? mem_aligned(m, M * sizeof *K, "a sample's features", err) : NULL;
    s.rc = s.Z ? mem_calloc(m, sizeof *s.rc, "a sample's features", err) : NULL;
    enum status rc = s.rc ? ST_OK : ST_NOMEM;
    if (rc == ST_OK)
        pool_run(pool, m, sample_row, &s);
    for (size_t i = 0; rc == ST_OK && i < m; i++)
        if (s.rc[i] != ST_OK)
            rc = err_set(err, s.rc[i], "the features of a sample could not be made");
    if (rc == ST_OK && ctl_stopped(ctl))
        rc = err_set(err, ST_CANCELLED, "stopped");
    if (rc == ST_OK)
        rc = blas_dgram(pool, M, m, s.Z, M, K, m, err);
    double *d = K ? K + m * m : NULL, *e = K ? d + m : NULL, *g = K ? e + m : NULL;
    for (size_t i = 0; rc == ST_OK && i < t * m; i++)
        g[i] = y[i / m * n + row_of(i % m, n, m)];
    if (rc == ST_OK)
        rc = blas_tridiag(pool, m, K, m, d, e, t, g, m, err);
    if (rc == ST_OK)
        rc = tridiag_targets(m, t, d, e, g, err);
    for (size_t i = 0; rc == ST_OK && i < m; i++) {
        lam[i] = fmax(0.0, d[m - 1 - i]) * (double)n / (double)m;
        uy2[i] = 0.0;
        for (size_t j = 0; j < t; j++)
            uy2[i] += g[j * m + m - 1 - i] * g[j * m + m - 1 - i] / (double)t;
    }
    free(s.rc);
    free(s.Z);
    free(K);
    return rc;
}

/* How the eigenvalues go on beyond the sample's first 3/8 of m, where few rows begin to show: as
 * the last octave and a half of those decays, and over the second half of all, where few columns
 * begin to show, bent down to a tenth of the noise (a kernel's last eigenvalues always get there;
 * on kin40k predicted iterations are then 0.6 to 1.1 of the true ones for RBF and Matern 3/2). */
struct decay { size_t known, bend, all; double last, power, end; };

static struct decay decay_from(const double *lam, size_t m, size_t n, size_t all, double ratio)
{
    struct decay d = { .known = m == n ? all : 3 * m / 8, .all = all };
    const size_t first = m / 8;

    if (d.known >= all || first == 0)
        d.known = all < m ? all : m;
    d.bend = all / 2 > d.known ? all / 2 : d.known;
    d.last = lam[d.known - 1];
    d.power = first > 0 && first < d.known && d.last > 0.0
                  ? log(lam[first - 1] / d.last) / log((double)d.known / (double)first)
                  : 1.0;
    d.end = fmin(d.last * pow((double)all / (double)d.known, -d.power), 0.1 * ratio);
    return d;
}

static double decay_at(const struct decay *d, const double *lam, size_t j)
{
    if (j < d->known)
        return lam[j];
    const size_t at = j < d->bend ? j : d->bend;
    const double law = d->last * pow((double)(at + 1) / (double)d->known, -d->power);
    if (j < d->bend || !(law > d->end) || !(d->end > 0.0))
        return law;
    const double u = (double)(j - d->bend) / (double)(d->all - d->bend);
    return law * pow(d->end / law, u * u);
}

/* All min(n, M) eigenvalues, and the square of b = Z'y along each, from those of m rows. */
static void whole_spectrum(const double *lam, const double *uy2, size_t m, size_t all, size_t n,
                           double ratio, struct spectrum *s)
{
    const struct decay d = decay_from(lam, m, n, all, ratio);
    double tail = 0.0; /* of the targets along the second half */

    for (size_t i = m / 2; i < m; i++)
        tail += uy2[i] / (double)(m - m / 2);
    s->n = 0;
    for (size_t i = 0; i < all && s->n < GROUPS_MOST;) {
        size_t width = i < SINGLE ? 1 : (size_t)((double)i * group_width);
        double sum = 0.0;
        width = width < 1 ? 1 : i + width > all ? all - i : width;
        const double l = decay_at(&d, lam, i + width / 2);
        for (size_t j = i; j < i + width; j++)
            sum += l * (j < d.known ? uy2[j] : tail);
        s->lam[s->n] = l;
        s->b2[s->n] = sum;
        s->count[s->n++] = (double)width;
        i += width;
    }
}

/* ---- iterations ------------------------------------------------------------------------------- */

size_t model_rank_iterations(size_t n, const double *lam, const double *count, const double *b2,
                             double lam2, size_t rank, double rtol, size_t maxit, double *work)
{
    double *pre = work, *r = work + n, *p = r + n, base = 0.0, seen = 0.0, bb = 0.0, rz = 0.0;

    for (size_t j = 0; j < n && rank > 0; j++) { /* the eigenvalue at the rank */
        seen += count[j];
        base = lam[j];
        if (seen >= (double)rank)
            break;
    }
    seen = 0.0;
    for (size_t j = 0; j < n; j++) {
        pre[j] = seen < (double)rank ? (base + lam2) / (lam[j] + lam2) : 1.0;
        seen += count[j];
        r[j] = sqrt(b2[j]);
        p[j] = pre[j] * r[j];
        bb += r[j] * r[j];
        rz += r[j] * p[j];
    }
    for (size_t it = 0; it < maxit; it++) {
        double rr = 0.0, pq = 0.0, next = 0.0;
        for (size_t j = 0; j < n; j++) {
            rr += r[j] * r[j];
            pq += p[j] * p[j] * (lam[j] + lam2);
        }
        if (!(rr > rtol * rtol * bb) || !(pq > 0.0))
            return it;
        const double alpha = rz / pq;
        for (size_t j = 0; j < n; j++) {
            r[j] -= alpha * (lam[j] + lam2) * p[j];
            next += pre[j] * r[j] * r[j];
        }
        const double beta = next / rz;
        for (size_t j = 0; j < n; j++)
            p[j] = pre[j] * r[j] + beta * p[j];
        rz = next;
    }
    return maxit;
}

/* ---- the choice --------------------------------------------------------------------------------- */

/* How much of its rank each construction turns into leading directions: two passes nearly all. */
static double captured(const struct fit_opts *o)
{
    return o->precond == NULL || strcmp(o->precond, "srht2") == 0 ? 0.9 : 0.6;
}

static int sketches(const struct fit_opts *o)
{
    return o->precond == NULL || strcmp(o->precond, "srht2") == 0 ? 2 : 1;
}

static double eigenvalue_at(const struct spectrum *s, size_t rank)
{
    double seen = 0.0;

    for (size_t j = 0; j < s->n; j++) {
        seen += s->count[j];
        if (seen >= (double)rank)
            return s->lam[j];
    }
    return s->n ? s->lam[s->n - 1] : 0.0;
}

static enum status weigh(const struct spectrum *s, size_t n, size_t d, const struct fit_opts *o,
                         const struct fit_plan *plan, double ratio, size_t solves,
                         struct rank_choice *c, const struct ctl *ctl, struct err *err)
{
    const size_t maxit = o->maxit ? o->maxit : 500, most = o->features / 2;
    const double rtol = o->rtol > 0.0 ? o->rtol : 1e-6;
    double *work = mem_calloc(3 * s->n, sizeof *work, "predicted iterations", err);
    double build, iteration, bytes, least = INFINITY;

    if (work == NULL)
        return ST_NOMEM;
    for (size_t r = 0; c->n < RANK_GUESSES && r <= most && r <= RANK_MOST;) {
        struct rank_guess *g = &c->at[c->n];
        if (ctl_stopped(ctl)) {
            free(work);
            return err_set(err, ST_CANCELLED, "stopped");
        }
        model_plan_costs(n, d, o, plan, r, sketches(o), &build, &iteration, &bytes);
        if (r > plan->rank && o->mem_limit && bytes > (double)o->mem_limit)
            break;
        *g = (struct rank_guess){ .rank = r };
        g->ratio = r ? eigenvalue_at(s, r) / ratio : NAN;
        g->iterations = (double)model_rank_iterations(s->n, s->lam, s->count, s->b2,
                                                      ratio, (size_t)(captured(o) * (double)r),
                                                      rtol, maxit, work);
        g->iterations = fmin(ceil(taken * g->iterations), (double)maxit);
        g->seconds = build + (double)solves * g->iterations * iteration;
        if ((r > 0 || c->none) && g->seconds < least) {
            least = g->seconds;
            c->best = c->n;
        }
        c->n++;
        r = r == 0 ? RANK_LEAST : r < 64 ? 2 * r : (r & (r - 1)) == 0 ? r + r / 2 : r / 3 * 4;
    }
    free(work);
    return ST_OK;
}

enum status model_rank_choose(struct fop *f, const double *y, size_t d, const struct fit_opts *o,
                              const struct fit_plan *plan, double ratio, size_t solves,
                              struct rank_choice *c, const struct ctl *ctl, struct err *err)
{
    const size_t n = fop_rows(f), M = fop_cols(f), m = sample_rows(n, M, o->mem_limit);
    struct spectrum *s = mem_calloc(1, sizeof *s, "a spectrum", err);
    double *lam = s ? mem_calloc(2 * m, sizeof *lam, "a spectrum", err) : NULL;
    enum status rc = lam ? ST_OK : ST_NOMEM;

    *c = (struct rank_choice){ .rows = m, .none = o->precond == NULL };
    c->best = c->none ? 0 : 1;
    if (rc == ST_OK)
        rc = sample_spectrum(f, o->targets ? o->targets : 1, y, m, lam, lam + m, ctl, err);
    if (rc == ST_OK) {
        whole_spectrum(lam, lam + m, m, n < M ? n : M, n, ratio, s);
        rc = weigh(s, n, d, o, plan, ratio, solves, c, ctl, err);
    }
    free(lam);
    free(s);
    return rc;
}
