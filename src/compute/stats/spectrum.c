/* compute/stats/spectrum.c -- the spectrum of Z'Z from a sample of rows (spectrum.h;
 * share/doc/methods.md 13.1, 13.2).  Curves D(k) are kept as D and log k and interpolated linearly;
 * everything is a function of sizes and of the sample alone, so that it is the same on every
 * machine. */
#include "compute/stats/spectrum.h"

#include "base/mem.h"
#include "compute/linalg/blas.h"
#include "compute/stats/ritz.h"
#include "compute/rng.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    SAMPLE_MOST = 2048, SAMPLE_LEAST = 512, ROWS_LEAST = 16,
    SINGLE = 256,        /* eigenvalues kept one by one; further ones in groups */
    GROUPS_MOST = 2048,  /* largest number of groups */
    CURVE = 200,         /* points of the curve of a sample */
    JOINED = 320,        /* points of the curve that continues beyond the sample */
    TOP = 32,            /* eigenvalues that are taken from the sample unchanged */
    MATCHES = 6,         /* iterations of the matching */
};
static const double sample_bytes = 256e6;     /* memory for the features of a sample */
static const double group_width = 1.0 / 64.0; /* width of a group over its index */
static const double trusted = 0.75;    /* share of the sample up to which its curve is used */
static const double slope_from = 0.25; /* share of the sample from which the power is measured */
/* Beyond this share of the sample the targets are taken to lie evenly, signal and noise alike. */
static const double targets_to = 0.5;
static const double smallest = 1e-14; /* eigenvalues below this share of the largest are rounding */

void spectrum_free(struct spectrum *s)
{
    free(s->lam);
    memset(s, 0, sizeof *s);
}

double spectrum_at(const struct spectrum *s, double index)
{
    double seen = 0.0, before = NAN, at = NAN;

    for (size_t i = 0; i < s->groups; i++) {
        const double mid = seen + 0.5 * (s->count[i] + 1.0);
        if (index <= mid) {
            if (i == 0 || !(s->lam[i] > 0.0))
                return s->lam[i];
            return s->lam[i - 1] * pow(s->lam[i] / s->lam[i - 1],
                                       log(index / before) / log(mid / before));
        }
        before = mid;
        seen += s->count[i];
        at = s->lam[i];
    }
    return index <= seen + 0.5 ? at : 0.0;
}

double spectrum_dimension(const struct spectrum *s, double noise)
{
    double d = 0.0;

    for (size_t i = 0; i < s->groups; i++)
        if (s->lam[i] > 0.0)
            d += s->count[i] * s->lam[i] / (s->lam[i] + noise);
    return d;
}

/* M features have D degrees of freedom at a noise k (1 - D/M) if the kernel has D at k (13.1 with
 * features in place of rows).  The smallest such D, by fixed-point iteration from below, which
 * ascends monotonically. */
double spectrum_kernel_dimension(const struct spectrum *s, double noise)
{
    const double M = (double)s->M;
    double D = spectrum_dimension(s, noise);

    for (int step = 0; step < 200 && D < 0.999 * M; step++) {
        const double next = spectrum_dimension(s, noise * (1.0 - D / M));
        if (next - D < 1e-6 * M)
            break;
        D = next;
    }
    return D;
}

/* Curves. */

/* n points with D ascending, log k descending, and h, the mean square of the targets that D degrees
 * of freedom leave unexplained. */
struct curve { size_t n; double D[JOINED], k[JOINED], h[JOINED]; };

/* Linear interpolation of v over ascending x (n), constant outside. */
static double between(size_t n, const double *x, const double *v, double at)
{
    if (at <= x[0])
        return v[0];
    if (at >= x[n - 1])
        return v[n - 1];
    size_t lo = 0, hi = n - 1;
    while (hi - lo > 1) {
        const size_t mid = (lo + hi) / 2;
        *(x[mid] <= at ? &lo : &hi) = mid;
    }
    return v[lo] + (v[hi] - v[lo]) * (at - x[lo]) / (x[hi] - x[lo]);
}

/* The curve of a sample of m rows with M features, converted to infinitely many rows and features:
 *   k = l / ((1 - D/m) (1 - D/M)),  D = sum lam / (lam + l)                             (13.1)
 *   h = GCV (1 - g),  GCV = (1/m) sum (l / (lam + l))^2 (u'y)^2 / (1 - D/m)^2,
 *   g = (1/m) sum (lam / (lam + k))^2 = (D + dD/dlog k) / m                             (13.2)
 * GCV (Golub, Heath & Wahba 1979) estimates the error on new rows; the factor 1 - g takes away the
 * variance that learning from m rows adds.  h is made to descend. */
static void curve_of(const double *lam, const double *uy2, size_t m, size_t M, struct curve *c)
{
    const double top = lam[0], rows = (double)m;
    double last = top, gcv[CURVE], lpop[CURVE];

    for (size_t i = 0; i < m && lam[i] > smallest * top; i++)
        last = lam[i];
    c->n = 0;
    for (size_t p = 0; p < CURVE; p++) {
        const double u = (double)p / (CURVE - 1);
        const double l = 10.0 * top * pow(1e-4 * last / top, u);
        double D = 0.0, left = 0.0;
        for (size_t i = 0; i < m; i++) {
            const double e = lam[i] > smallest * top ? lam[i] : 0.0, f = l / (e + l);
            D += e / (e + l);
            left += f * f * uy2[i];
        }
        const double a = 1.0 - D / rows, b = 1.0 - D / (double)M;
        if (!(a > 1e-3) || !(b > 1e-3) || (c->n && D <= c->D[c->n - 1]))
            break;
        c->D[c->n] = D;
        lpop[c->n] = log(l / a);
        c->k[c->n] = log(l / (a * b));
        gcv[c->n++] = left / rows / (a * a);
    }
    for (size_t p = 0; p < c->n; p++) {
        const size_t q = p ? p - 1 : 0, r = p + 1 < c->n ? p + 1 : p;
        const double slope = r > q ? (c->D[r] - c->D[q]) / (lpop[r] - lpop[q]) : 0.0;
        const double g = (c->D[p] + slope) / rows;
        c->h[p] = gcv[p] * fmin(1.0, fmax(0.0, 1.0 - g));
        if (p && c->h[p] > c->h[p - 1])
            c->h[p] = c->h[p - 1];
    }
}

/* log k at D degrees of freedom. */
static double noise_at(const struct curve *c, double D)
{
    return between(c->n, c->D, c->k, D);
}

/* The correction to log k of a sample of m rows at D = x m.  If the deviation from the law depends
 * on the share D/m alone, the sample and its half differ at one D by the deviation at x/2 less that
 * at x; the sum of these differences over all halvings of the share is the deviation itself. */
static double offset(const struct curve *whole, const struct curve *half, double m, double x)
{
    double sum = 0.0;

    for (; x * m / 2.0 > 8.0; x /= 2.0)
        sum += noise_at(whole, x * m / 2.0) - noise_at(half, x * m / 2.0);
    return fmin(2.0, fmax(-2.0, sum));
}

/* The corrected curve, continued to min(n, M) eigenvalues as a power law, and converted from
 * infinitely many to n rows and M columns by the factors of 13.1. */
static void carry_on(const struct curve *whole, const struct curve *half, size_t n, size_t M,
                     size_t m, struct curve *out)
{
    const double N = (double)(n < M ? n : M), most = 0.9995 * N;
    const double end = fmin(fmin(trusted * (double)m, most), 0.98 * whole->D[whole->n - 1]);
    const double first = fmin(whole->D[0] * 2.0, 0.5 * end);
    const bool ends =
        whole->D[whole->n - 1] < trusted * (double)m; /* low rank: the spectrum ends here */
    const size_t known = JOINED / 2;
    double k = INFINITY;

    for (size_t i = 0; i < known; i++) {
        const double D = first * pow(end / first, (double)i / (double)(known - 1));
        k = fmin(k,
                 noise_at(whole, D) + (half ? offset(whole, half, (double)m, D / (double)m) : 0.0));
        out->D[i] = D;
        out->k[i] = k;
    }
    out->n = known;
    const double from = fmax(slope_from * (double)m * end / (trusted * (double)m), first);
    const double power = (between(known, out->D, out->k, from) - k) / log(end / from);
    for (size_t i = 1; i <= JOINED - known && !ends && end < 0.99 * most; i++) {
        const double D = end * pow(most / end, (double)i / (double)(JOINED - known));
        out->D[out->n] = D;
        out->k[out->n++] = k - fmax(power, 0.3) * log(D / end);
    }
    for (size_t i = 0; i < out->n; i++) {
        const double D = out->D[i];
        out->k[i] += log(fmax(1e-4, 1.0 - D / (double)n)) + log(fmax(1e-4, 1.0 - D / (double)M));
        out->h[i] = between(whole->n, whole->D, whole->h, fmin(D, targets_to * (double)m));
    }
}

/* Eigenvalues from a curve. */

/* Allocates the groups: single indices first, then widths that grow with the index. */
static enum status spectrum_new(struct spectrum *s, size_t n, size_t M, size_t m, struct err *err)
{
    const size_t all = n < M ? n : M;

    *s = (struct spectrum){ .n = n, .M = M, .sample = m };
    s->lam = mem_calloc(3 * GROUPS_MOST, sizeof *s->lam, "a spectrum", err);
    if (s->lam == NULL)
        return ST_NOMEM;
    s->count = s->lam + GROUPS_MOST;
    s->b2 = s->count + GROUPS_MOST;
    for (size_t i = 0; i < all && s->groups < GROUPS_MOST;) {
        size_t width = i < SINGLE ? 1 : (size_t)((double)i * group_width);
        width = width < 1 ? 1 : i + width > all ? all - i : width;
        s->count[s->groups++] = (double)width;
        i += width;
    }
    return ST_OK;
}

/* The sample is all rows, so that the eigenvalues are known: b = Z'y has the squared length
 * lam_j (u_j'y)^2 along eigenvector j. */
static void take_all(struct spectrum *s, const double *lam, const double *uy2)
{
    size_t at = 0;

    for (size_t i = 0; i < s->groups; i++) {
        double sum = 0.0, b2 = 0.0;
        for (size_t j = 0; j < (size_t)s->count[i]; j++, at++) {
            sum += lam[at];
            b2 += lam[at] * uy2[at];
        }
        s->lam[i] = sum / s->count[i];
        s->b2[i] = b2;
    }
    s->known = (double)at;
}

/* The middle of every group as an index, and its logarithm. */
static void middles(const struct spectrum *s, double *mid, double *lmid)
{
    double seen = 0.0;

    for (size_t i = 0; i < s->groups; i++) {
        mid[i] = seen + 0.5 * s->count[i];
        lmid[i] = log(mid[i]);
        seen += s->count[i];
    }
}

/* One step of the matching: log k at which the current eigenvalues have D degrees of freedom is
 * compared with that of the curve.  The difference, limited to 0.7 and smoothed over log index by a
 * Gaussian of width 0.25, is added to the log of the eigenvalue with index D. */
static void match(struct spectrum *s, const struct curve *c, const double *mid, const double *lmid,
                  double *f)
{
    enum { GRID = 240 };
    double D[GRID], k[GRID];

    for (size_t p = 0; p < GRID; p++) {
        k[p] = c->k[0] + (c->k[c->n - 1] - c->k[0]) * (double)p / (GRID - 1);
        D[p] = spectrum_dimension(s, exp(k[p]));
    }
    for (size_t i = 0; i < s->groups; i++) {
        const bool seen = mid[i] > D[0] && mid[i] < D[GRID - 1] && mid[i] < c->D[c->n - 1];
        const double d =
            seen ? between(c->n, c->D, c->k, mid[i]) - between(GRID, D, k, mid[i]) : 0.0;
        f[i] = fmin(0.7, fmax(-0.7, d));
    }
    for (size_t i = 0, lo = 0; i < s->groups; i++) {
        double sum = 0.0, weight = 0.0;
        while (lmid[lo] < lmid[i] - 0.75)
            lo++;
        for (size_t j = lo; j < s->groups && lmid[j] < lmid[i] + 0.75; j++) {
            const double u = (lmid[j] - lmid[i]) / 0.25, w = exp(-u * u) * s->count[j] / mid[j];
            sum += w * f[j];
            weight += w;
        }
        s->lam[i] *= exp(sum / weight);
    }
}

/* Eigenvalues from the curve c: lam at index i starts as k at D = i and is then matched.  The first
 * TOP ones come from the sample.  h0: the mean square of the targets. */
static enum status from_curve(struct spectrum *s, const struct curve *c, const double *lam,
                              double h0, struct err *err)
{
    double *mid = mem_calloc(3 * s->groups, sizeof *mid, "a spectrum", err), seen = 0.0;

    if (mid == NULL)
        return ST_NOMEM;
    middles(s, mid, mid + s->groups);
    for (size_t i = 0; i < s->groups; i++)
        s->lam[i] = mid[i] > c->D[c->n - 1] + 1.0 ? 0.0 : exp(between(c->n, c->D, c->k, mid[i]));
    for (int step = 0; step < MATCHES; step++)
        match(s, c, mid, mid + s->groups, mid + 2 * s->groups);
    for (size_t i = 0; i < s->groups; i++) {
        if (i < TOP && i < s->sample)
            s->lam[i] = lam[i];
        if (i && s->lam[i] > s->lam[i - 1])
            s->lam[i] = s->lam[i - 1];
        /* The targets along these directions: what they explain of n rows, from - to, and their
         * share of the unexplained rest. */
        const double from = i ? between(c->n, c->D, c->h, seen) : h0;
        const double to = between(c->n, c->D, c->h, seen + s->count[i]);
        s->b2[i] = s->lam[i] * ((double)s->n * fmax(0.0, from - to) +
                                s->count[i] * between(c->n, c->D, c->h, mid[i]));
        seen += s->count[i];
    }
    free(mid);
    return ST_OK;
}

enum status spectrum_estimate(size_t n, size_t M, const struct spectrum_part *whole,
                              const struct spectrum_part *half, struct spectrum *s,
                              struct err *err)
{
    const size_t m = whole->m;
    const double *lam = whole->lam, *uy2 = whole->uy2;
    double h0 = 0.0;
    enum status rc = spectrum_new(s, n, M, m, err);

    if (rc != ST_OK)
        return rc;
    if (m == n || !(lam[0] > 0.0)) {
        take_all(s, lam, uy2);
        return ST_OK;
    }
    struct curve *c = mem_calloc(3, sizeof *c, "a spectrum", err);
    if (c == NULL) {
        spectrum_free(s);
        return ST_NOMEM;
    }
    for (size_t i = 0; i < m; i++)
        h0 += uy2[i] / (double)m;
    curve_of(lam, uy2, m, M, &c[0]);
    if (half)
        curve_of(half->lam, half->uy2, half->m, M, &c[1]);
    carry_on(&c[0], half ? &c[1] : NULL, n, M, m, &c[2]);
    s->known = trusted * (double)m;
    rc = from_curve(s, &c[2], lam, h0, err);
    free(c);
    if (rc != ST_OK)
        spectrum_free(s);
    return rc;
}

/* Sampling. */

/* The number of rows in the sample. */
static size_t sample_rows(size_t n, size_t M, size_t asked, size_t mem_limit)
{
    const double bytes = mem_limit ? fmin(sample_bytes, (double)mem_limit / 8.0) : sample_bytes;
    double m = asked ? (double)asked : fmin(SAMPLE_MOST, fmax(SAMPLE_LEAST, (double)M / 4.0));

    if (!asked && n <= SAMPLE_MOST)
        m = (double)n;
    m = fmax(fmin(m, bytes / (8.0 * (double)M)), fmin(ROWS_LEAST, (double)n));
    return (size_t)m < n ? (size_t)m : n;
}

/* What is sampled: n rows of features f, or of the system A. */
struct sampled {
    size_t n, M;
    struct pool *pool;
    struct fop *f;
    const struct linop *A;
};

struct rows { struct fop *f; const size_t *row; size_t M; double *Z; enum status *rc; };

static void sample_row(void *ctx, size_t i, size_t worker)
{
    const struct rows *s = ctx;

    (void)worker;
    s->rc[i] = fop_tile64(s->f, s->row[i], s->row[i] + 1, s->Z + i * s->M, s->M, NULL);
}

/* Draws one row at random from each of m equal stretches of the data and puts them in random order,
 * so that any first part of the list is a sample, too. */
static enum status draw_rows(size_t n, size_t m, size_t *row, struct err *err)
{
    size_t *order = mem_calloc(m, sizeof *order, "a sample", err);

    if (order == NULL)
        return ST_NOMEM;
    rng_permutation(1, rng_stream(RNG_SAMPLE, 11), m, order);
    for (size_t i = 0; i < m; i++) {
        const double u = rng_uniform(1, rng_stream(RNG_SAMPLE, 12), order[i]);
        const size_t lo = (size_t)((double)order[i] * (double)n / (double)m);
        const size_t hi = (size_t)(((double)order[i] + 1.0) * (double)n / (double)m);
        row[i] = lo + (size_t)(u * (double)(hi - lo));
        row[i] = row[i] < n ? row[i] : n - 1;
    }
    free(order);
    return ST_OK;
}

/* The rows and columns of a system that a sample of rows names (m x m), a few columns at a time. */
static enum status sample_columns(const struct linop *A, size_t m, const size_t *row, double *K,
                                  const struct ctl *ctl, struct err *err)
{
    enum { AT_ONCE = 32 };
    double *C = mem_aligned(A->n, AT_ONCE * sizeof *C, "columns of a kernel", err);
    enum status rc = C ? ST_OK : ST_NOMEM;

    for (size_t j0 = 0; rc == ST_OK && j0 < m; j0 += AT_ONCE) {
        const size_t some = m - j0 < AT_ONCE ? m - j0 : AT_ONCE;
        rc = A->columns(A->ctx, some, row + j0, C, ctl, err);
        for (size_t j = 0; rc == ST_OK && j < some; j++)
            for (size_t i = 0; i < m; i++)
                K[(j0 + j) * m + i] = C[j * A->n + row[i]];
    }
    free(C);
    return rc;
}

/* K = Z_s Z_s' of a sample of rows (m x m), in double precision. */
static enum status sample_gram(struct fop *f, size_t m, const size_t *row, double *K,
                               const struct ctl *ctl, struct err *err)
{
    struct rows s = { f, row, fop_cols(f), NULL, NULL };

    s.Z = mem_aligned(m, s.M * sizeof *s.Z, "a sample's features", err);
    s.rc = s.Z ? mem_calloc(m, sizeof *s.rc, "a sample's features", err) : NULL;
    enum status rc = s.rc ? ST_OK : ST_NOMEM;
    if (rc == ST_OK)
        pool_run(fop_pool(f), m, sample_row, &s);
    for (size_t i = 0; rc == ST_OK && i < m; i++)
        if (s.rc[i] != ST_OK)
            rc = err_set(err, s.rc[i], "the features of a sample could not be made");
    if (rc == ST_OK && ctl_stopped(ctl))
        rc = err_set(err, ST_CANCELLED, "stopped");
    if (rc == ST_OK)
        rc = blas_dgram(fop_pool(f), s.M, m, s.Z, s.M, K, m, err);
    free(s.rc);
    free(s.Z);
    return rc;
}

/* The eigenvalues of a tridiagonal matrix (d, e), and V'g for t vectors g of m. */
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

/* The eigenvalues of K (m x m, overwritten), descending, times n / m, and the squares of the
 * targets along the eigenvectors, averaged over the t targets, which have equal variance.  No
 * eigenvector is formed: the reduction to tridiagonal form and the QR iteration transform the
 * targets. work: (2 + t) m. */
static enum status sample_eigen(const struct sampled *of, const struct spectrum_ask *ask,
                                const size_t *row, double *K, struct spectrum_part *p,
                                double *work, struct err *err)
{
    const size_t n = of->n, m = p->m, t = ask->t;
    double *d = work, *e = d + m, *g = e + m;

    for (size_t i = 0; i < t * m; i++)
        g[i] = ask->y[i / m * n + row[i % m]];
    enum status rc = blas_tridiag(of->pool, m, K, m, d, e, t, g, m, err);
    if (rc == ST_OK)
        rc = tridiag_targets(m, t, d, e, g, err);
    for (size_t i = 0; rc == ST_OK && i < m; i++) {
        p->lam[i] = fmax(0.0, d[m - 1 - i]) * (double)n / (double)m;
        p->uy2[i] = 0.0;
        for (size_t j = 0; j < t; j++)
            p->uy2[i] += g[j * m + m - 1 - i] * g[j * m + m - 1 - i] / (double)t;
    }
    return rc;
}

/* The spectrum of the first p->m of the `all` sampled rows, from a copy of their block of K. */
static enum status part_eigen(const struct sampled *of, const struct spectrum_ask *ask,
                              const size_t *row, struct spectrum_part *p, const double *K,
                              size_t all, const struct ctl *ctl, struct err *err)
{
    const size_t m = p->m;
    double *own = mem_aligned(m + 2 + ask->t, m * sizeof *own, "a sample's Gram matrix", err);

    if (own == NULL)
        return ST_NOMEM;
    for (size_t i = 0; i < m; i++)
        memcpy(own + i * m, K + i * all, m * sizeof *own);
    enum status rc = ctl_stopped(ctl) ? err_set(err, ST_CANCELLED, "stopped")
                                      : sample_eigen(of, ask, row, own, p, own + m * m, err);
    free(own);
    return rc;
}

/* Z'Z of all rows. */

static const double exact_most = 2e11; /* operations of its Gram matrix: two seconds of one core */

bool spectrum_exact(size_t n, size_t M, const struct spectrum_ask *ask)
{
    const double cols = (double)M;

    return ask->exact && ask->rows == 0 && n > SAMPLE_MOST && M <= SAMPLE_MOST &&
           (double)n * cols * cols <= exact_most &&
           (ask->mem_limit == 0 || 16.0 * cols * cols <= (double)ask->mem_limit / 4.0);
}

/* The eigenvalues of Z'Z, and Z'y along its eigenvectors. */
static enum status columns(struct fop *f, const struct spectrum_ask *ask, struct spectrum *s,
                           const struct ctl *ctl, struct err *err)
{
    const size_t n = fop_rows(f), M = fop_cols(f), t = ask->t;
    double *G = mem_aligned(M * M, sizeof *G, "the Gram matrix", err);
    double *d = G ? mem_calloc((4 + t) * M, sizeof *d, "a spectrum", err) : NULL;
    double *e = d + M, *lam = e + M, *uy2 = lam + M, *b = uy2 + M;
    enum status rc = d ? fop_gram_of(f, t, ask->y, G, b, NULL, ctl, err) : ST_NOMEM;

    if (rc == ST_OK && ctl_stopped(ctl))
        rc = err_set(err, ST_CANCELLED, "stopped");
    if (rc == ST_OK)
        rc = blas_tridiag(fop_pool(f), M, G, M, d, e, t, b, M, err);
    if (rc == ST_OK)
        rc = tridiag_targets(M, t, d, e, b, err);
    for (size_t i = 0; rc == ST_OK && i < M; i++) {
        double b2 = 0.0;
        for (size_t j = 0; j < t; j++)
            b2 += b[j * M + M - 1 - i] * b[j * M + M - 1 - i] / (double)t;
        lam[i] = fmax(0.0, d[M - 1 - i]);
        uy2[i] = lam[i] > 0.0 ? b2 / lam[i] : 0.0;
    }
    if (rc == ST_OK)
        rc = spectrum_new(s, n, M, n, err);
    if (rc == ST_OK)
        take_all(s, lam, uy2);
    free(d);
    free(G);
    return rc;
}

static enum status sample(const struct sampled *of, const struct spectrum_ask *ask,
                          struct spectrum *s, struct spectrum *half, const struct ctl *ctl,
                          struct err *err)
{
    enum { LIKE = 4 * SAMPLE_MOST }; /* columns that limit a sample as a system does */
    const size_t n = of->n, M = of->M;
    const size_t m = sample_rows(n, of->A ? LIKE : M, ask->rows, ask->mem_limit);
    const size_t parts = m == n ? 1 : half && m / 4 >= ROWS_LEAST ? 3 : m / 2 >= ROWS_LEAST ? 2 : 1;
    double *K = mem_aligned(m, m * sizeof *K, "a sample's Gram matrix", err);
    double *v = K ? mem_calloc(4 * m, sizeof *v, "a sample's spectrum", err) : NULL;
    size_t *row = v ? mem_calloc(m, sizeof *row, "a sample", err) : NULL;
    struct spectrum_part p[3];
    enum status rc = row ? draw_rows(n, m, row, err) : ST_NOMEM;

    if (rc == ST_OK)
        rc = of->A ? sample_columns(of->A, m, row, K, ctl, err)
                   : sample_gram(of->f, m, row, K, ctl, err);
    double *at = v;
    for (size_t i = 0; rc == ST_OK && i < parts; i++) {
        p[i] = (struct spectrum_part){ m >> i, at, at + (m >> i) };
        at += 2 * (m >> i);
        rc = part_eigen(of, ask, row, &p[i], K, m, ctl, err);
    }
    if (rc == ST_OK)
        rc = spectrum_estimate(n, M, &p[0], parts > 1 ? &p[1] : NULL, s, err);
    if (rc == ST_OK && half && parts == 3)
        rc = spectrum_estimate(n, M, &p[1], &p[2], half, err);
    if (rc != ST_OK)
        spectrum_free(s);
    free(row);
    free(v);
    free(K);
    return rc;
}

enum status spectrum_sample(struct fop *f, const struct spectrum_ask *ask, struct spectrum *s,
                            struct spectrum *half, const struct ctl *ctl, struct err *err)
{
    const struct sampled of = { .n = fop_rows(f), .M = fop_cols(f), .pool = fop_pool(f), .f = f };

    *s = (struct spectrum){ 0 };
    if (half)
        *half = (struct spectrum){ 0 };
    return spectrum_exact(of.n, of.M, ask) ? columns(f, ask, s, ctl, err)
                                           : sample(&of, ask, s, half, ctl, err);
}

enum status spectrum_system(const struct linop *A, const struct spectrum_ask *ask,
                            struct spectrum *s, struct spectrum *half, const struct ctl *ctl,
                            struct err *err)
{
    const struct sampled of = { .n = A->n, .M = SPECTRUM_KERNEL, .pool = A->pool, .A = A };

    *s = (struct spectrum){ 0 };
    if (half)
        *half = (struct spectrum){ 0 };
    return sample(&of, ask, s, half, ctl, err);
}
