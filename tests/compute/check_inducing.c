/* tests/compute/check_inducing.c -- inducing points: bounds and likelihoods against the golden
 * files and against the dense formulas, sets that grow and change, the ways to choose points, and
 * sparse models against exact ones. */
#include "tests/support.h"

#include "base/mem.h"
#include "compute/inducing/basis.h"
#include "compute/inducing/select.h"
#include "compute/models/model.h"
#include "compute/rng.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct row_layout dna = { .nparts = 1, .part = { { ROWS_SYMBOLS, 4, 0 } } };

/* Rows of letters, or of numbers, with a kernel and targets. */
struct problem {
    struct kernel k;
    double hp[KERNEL_MAX_HP], *X, *y;
    size_t n, d;
    struct source_array src;
    struct columns_of rows;
};

static void problem_free(struct problem *p)
{
    free(p->X);
    free(p->y);
}

static void problem_open(struct problem *p, bool letters)
{
    source_array_init(&p->src, p->X, p->n, p->d, p->d);
    if (letters) {
        p->src.base.layout = dna;
    }
    p->rows = (struct columns_of){ .k = &p->k, .hp = p->hp, .X = p->X, .n = p->n, .d = p->d };
}

static void write_row(const char *letters, double *x)
{
    x[0] = (double)strlen(letters);
    for (size_t i = 0; letters[i]; i++)
        x[1 + i] = (double)(strchr("ACGT", letters[i]) - "ACGT");
}

/* The golden strings under 20 times the cosine of words of 5 letters, noise variance 4. */
static const double GOLDEN_AMPLITUDE = 4.47213595499957939, GOLDEN_RATIO = 0.2;

static struct problem golden_problem(void)
{
    struct problem p = { .d = 101 };
    size_t r, c;
    char **s = support_golden_strings("sparse_strings", &p.n);

    ck_assert_int_eq(kernel_parse("spectrum(n=5,norm=cosine)", &p.k, NULL, NULL), ST_OK);
    ck_assert_int_eq(kernel_bind_rows(&p.k, &dna, NULL, NULL), ST_OK);
    p.X = mem_calloc(p.n, p.d * sizeof *p.X, "rows", NULL);
    for (size_t i = 0; i < p.n; i++)
        write_row(s[i], p.X + i * p.d);
    support_strings_free(s);
    p.y = support_golden("sparse_y", &r, &c);
    ck_assert(r == p.n);
    return p;
}

static double value_at(const struct problem *p, const double *Z, size_t m, enum bound_approx a)
{
    const double amplitude = GOLDEN_AMPLITUDE;
    struct err err = { 0 };
    struct bound b = { .approx = a, .m = m, .t = 1, .y = p->y };
    struct bound_at at;

    ck_assert_msg(bound_make(&p->rows, Z, &b, NULL, &err) == ST_OK, "%s", err.msg);
    ck_assert_msg(bound_at(&b, GOLDEN_RATIO, &at, &err) == ST_OK, "%s", err.msg);
    const double value = bound_value(&b, &at, &amplitude);
    bound_at_free(&at);
    bound_free(&b);
    return -value;
}

/* The golden matrix is that of the strings, and the targets are the counts less their mean. */
START_TEST(golden_strings)
{
    struct problem p = golden_problem();
    size_t n, cols;
    double *K = support_golden("sparse_K", &n, &cols), mean = 0.0;

    ck_assert(n == p.n && cols == p.n);
    for (size_t i = 0; i < n * n; i++)
        ck_assert(support_close(20.0 * kernel_exact(&p.k, p.hp, p.d, p.X + i / n * p.d,
                                                    p.X + i % n * p.d, NULL),
                                K[i], 1e-12));
    free(K);
    double *count = support_golden("sparse_counts", &n, &cols);
    ck_assert(n == p.n && cols == 1);
    for (size_t i = 0; i < n; i++)
        mean += count[i] / (double)n;
    for (size_t i = 0; i < n; i++)
        ck_assert(support_close(count[i] - mean, p.y[i], 1e-12));
    free(count);
    problem_free(&p);
}
END_TEST

START_TEST(golden_values)
{
    struct problem p = golden_problem();
    double *Z = mem_calloc(10, p.d * sizeof *Z, "points", NULL);

    problem_open(&p, true);
    for (size_t i = 0; i < 10; i++)
        memcpy(Z + i * p.d, p.X + 6 * i * p.d, p.d * sizeof *Z);
    for (enum bound_approx a = BOUND_VFE; a <= BOUND_DTC; a++) {
        const double want = support_golden_scalar("sparse_scalars", bound_approx_words[a]);
        const double got = value_at(&p, Z, 10, a);
        ck_assert_msg(support_close(got, want, 1e-8), "%s: %.12g, golden %.12g",
                      bound_approx_words[a], got, want);
    }
    free(Z);
    problem_free(&p);
}
END_TEST

/* Of a way on a problem, at the golden amplitude and ratio. */
static struct select_points chosen(struct problem *p, const char *way, size_t m,
                                   enum bound_approx approx, uint64_t seed, size_t threads,
                                   const struct ctl *ctl)
{
    struct pool *pool = threads > 1 ? pool_new(threads, NULL) : NULL;
    struct select_opts o = { .m = m, .approx = approx };
    struct select_points out = { 0 };
    const double amplitude = GOLDEN_AMPLITUDE;
    struct err err = { 0 };

    p->rows.pool = pool;
    ck_assert_msg(select_parse(way, &o, &err) == ST_OK, "%s: %s", way, err.msg);
    struct select_job job = { .rows = &p->rows, .src = &p->src.base, .y = p->y, .t = 1,
                              .amplitude = &amplitude, .ratio = GOLDEN_RATIO, .o = &o,
                              .seed = seed, .out = &out, .ctl = ctl };
    ck_assert_msg(select_points(&job, &err) == ST_OK, "%s: %s", way, err.msg);
    p->rows.pool = NULL;
    pool_free(pool);
    return out;
}

START_TEST(golden_greedy)
{
    struct problem p = golden_problem();
    size_t r, c;
    char name[40];

    problem_open(&p, true);
    snprintf(name, sizeof name, "sparse_greedy_%s", bound_approx_words[_i]);
    double *want = support_golden(name, &r, &c);
    ck_assert(r == 8 && c == 2);
    /* of all candidates, and of a subset that is all of them */
    for (int way = 0; way < 2; way++) {
        struct select_points got = chosen(&p, way ? "greedy(subset=60)" : "greedy", 8,
                                          (enum bound_approx)_i, 1, 1, NULL);
        ck_assert_uint_eq(got.m, 8);
        for (size_t i = 0; i < 8; i++) {
            ck_assert_msg(got.origin[i] == want[2 * i], "%s, round %zu: %g, golden %g", name, i,
                          got.origin[i], want[2 * i]);
            ck_assert(support_close(value_at(&p, got.Z, i + 1, (enum bound_approx)_i),
                                    want[2 * i + 1], 1e-8));
        }
        select_points_free(&got);
    }
    free(want);
    problem_free(&p);
}
END_TEST

/* Of two targets and rows that weigh differently, each greedy point is the row with which the bound
 * or likelihood, computed anew for every row, is best: where all rows are judged by their residuals
 * in counts of words, and in a matrix of all rows, and where memory does not suffice for that. */
static double value_with(const struct problem *p, const double *Z, size_t m, enum bound_approx a,
                         const double *y, double ratio, const double *amplitude)
{
    struct bound b = { .approx = a, .m = m, .t = 2, .y = y };
    struct bound_at at;

    ck_assert_int_eq(bound_make(&p->rows, Z, &b, NULL, NULL), ST_OK);
    ck_assert_int_eq(bound_at(&b, ratio, &at, NULL), ST_OK);
    const double value = bound_value(&b, &at, amplitude);
    bound_at_free(&at);
    bound_free(&b);
    return value;
}

START_TEST(greedy_takes_the_best)
{
    enum { POINTS = 7 };
    const struct { const char *kernel; enum bound_approx approx; size_t memory; } cases[] = {
        { "spectrum(n=1..2,norm=cosine) + spectrum(n=3)", BOUND_VFE, 0 },
        { "mismatch(n=3,m=1)", BOUND_DTC, 0 },
        { "mismatch(n=3,m=1)", BOUND_VFE, 1000000 },
        { "mismatch(n=3,m=1)", BOUND_VFE, 1 },
        { "wd(n=5,shift=1)", BOUND_VFE, 0 },
        { "wd(n=5,shift=1)", BOUND_DTC, 0 },
        { "wd(n=5,shift=1)", BOUND_VFE, 1 },
    };
    const double amplitude[2] = { 0.7, 1.9 }, ratio = 0.3;
    struct problem p = golden_problem();
    struct select_opts o = { .m = POINTS, .approx = cases[_i].approx };
    struct select_points out = { 0 };
    double scale[64], y[128], Z[POINTS * 101];

    ck_assert(p.n <= 64 && p.d == 101);
    ck_assert_int_eq(kernel_parse(cases[_i].kernel, &p.k, NULL, NULL), ST_OK);
    ck_assert_int_eq(kernel_bind_rows(&p.k, &dna, NULL, NULL), ST_OK);
    for (size_t i = 0; i < kernel_nhp(&p.k); i++)
        p.hp[i] = 0.4; /* the weight of the second kernel */
    problem_open(&p, true);
    p.rows.row_scale = scale;
    for (size_t i = 0; i < p.n; i++) {
        scale[i] = 0.5 + (double)(i % 5) / 3.0;
        y[i] = scale[i] * p.y[i];
        y[i + p.n] = scale[i] * cos((double)i);
    }
    ck_assert_int_eq(select_parse("greedy", &o, NULL), ST_OK);
    struct select_job job = { .rows = &p.rows, .src = &p.src.base, .y = y, .t = 2,
                              .amplitude = amplitude, .ratio = ratio, .o = &o, .seed = 1,
                              .mem_limit = cases[_i].memory, .out = &out };
    ck_assert_int_eq(select_points(&job, NULL), ST_OK);
    ck_assert_uint_eq(out.m, POINTS);
    for (size_t m = 0; m < POINTS; m++) {
        double best = INFINITY, took = NAN;
        for (size_t i = 0; i < p.n; i++) {
            memcpy(Z + m * p.d, p.X + i * p.d, p.d * sizeof *Z);
            bool there = false;
            for (size_t k = 0; k < m; k++)
                there |= out.origin[k] == (double)i;
            if (there)
                continue;
            const double v = value_with(&p, Z, m + 1, o.approx, y, ratio, amplitude);
            best = fmin(best, v);
            took = out.origin[m] == (double)i ? v : took;
        }
        ck_assert_msg(support_close(took, best, 1e-9), "%s, point %zu: %.12g, best %.12g",
                      cases[_i].kernel, m, took, best);
        memcpy(Z + m * p.d, out.Z + m * p.d, p.d * sizeof *Z);
    }
    select_points_free(&out);
    problem_free(&p);
}
END_TEST

/* The golden probabilities of sets of 3 of the first 8 strings, and how often 20,000 chains of 40
 * steps end in each: total variation within .03, of which .5 sum sqrt(2 p / (pi N)) = .02 is the
 * sampling error of 56 sets. */
START_TEST(golden_dpp)
{
    enum { CHAINS = 20000 };
    struct problem p = { .n = 8, .d = 8 };
    size_t n, cols;
    double *K = support_golden("sparse_K", &n, &cols);
    size_t sets;
    char **line = support_golden_strings("kdpp_probs", &sets);
    double apart = 0.0;
    size_t *count = mem_calloc(512, sizeof *count, "counts", NULL);

    /* rows whose linear kernel is that of the strings: the factor of the leading block, over 20 */
    ck_assert_int_eq(kernel_parse("linear", &p.k, NULL, NULL), ST_OK);
    p.X = mem_calloc(8 * 8, sizeof *p.X, "rows", NULL);
    p.y = mem_calloc(8, sizeof *p.y, "targets", NULL);
    for (size_t r = 0; r < 8; r++)
        for (size_t s = 0; s <= r; s++) {
            double v = K[r * cols + s] / 20.0;
            for (size_t l = 0; l < s; l++)
                v -= p.X[8 * r + l] * p.X[8 * s + l];
            p.X[8 * r + s] = r == s ? sqrt(v) : v / p.X[8 * s + s];
        }
    free(K);
    problem_open(&p, false);
    for (uint64_t seed = 0; seed < CHAINS; seed++) {
        struct select_points got = chosen(&p, "dpp(steps=40)", 3, BOUND_VFE, seed, 1, NULL);
        size_t s[3] = { (size_t)got.origin[0], (size_t)got.origin[1], (size_t)got.origin[2] };
        count[1u << s[0] | 1u << s[1] | 1u << s[2]]++;
        select_points_free(&got);
    }
    ck_assert_uint_eq(sets, 56);
    for (size_t i = 0; i < sets; i++) {
        unsigned s[3];
        double want;
        ck_assert(sscanf(line[i], "%u,%u,%u,%lf", &s[0], &s[1], &s[2], &want) == 4);
        apart += 0.5 * fabs((double)count[1u << s[0] | 1u << s[1] | 1u << s[2]] / CHAINS - want);
    }
    support_strings_free(line);
    ck_assert_msg(apart < 0.03, "total variation %g", apart);
    free(count);
    problem_free(&p);
}
END_TEST

/* Mean and variance of a row by A = K_zz + K_zx Lambda^-1 K_xz, and the value by the n x n matrix:
 * another algorithm than the program's. */
static bool solve(size_t n, double *A, double *b, size_t k, double *logdet)
{
    *logdet = 0.0;
    for (size_t i = 0; i < n; i++) { /* Gauss, with pivots of a positive definite matrix */
        if (!(A[i * n + i] > 0.0))
            return false;
        *logdet += log(A[i * n + i]);
        for (size_t r = i + 1; r < n; r++) {
            const double f = A[r * n + i] / A[i * n + i];
            for (size_t j = i; j < n; j++)
                A[r * n + j] -= f * A[i * n + j];
            for (size_t j = 0; j < k; j++)
                b[r * k + j] -= f * b[i * k + j];
        }
    }
    for (size_t i = n; i-- > 0;)
        for (size_t j = 0; j < k; j++) {
            for (size_t r = i + 1; r < n; r++)
                b[i * k + j] -= A[i * n + r] * b[r * k + j];
            b[i * k + j] /= A[i * n + i];
        }
    return true;
}

static double pair(const struct problem *p, const double *x, const double *z)
{
    return kernel_exact(&p->k, p->hp, p->d, x, z, NULL);
}

/* Q (n x n) of points Z, and what is left of the diagonal. */
static void dense_q(const struct problem *p, const double *Z, size_t m, double *Q, double *left)
{
    const size_t n = p->n;
    double *Kzz = mem_calloc(m, m * sizeof *Kzz, "K", NULL), logdet,
           *Kzx = mem_calloc(m, n * sizeof *Kzx, "K", NULL),
           *Kxz = mem_calloc(m, n * sizeof *Kxz, "K", NULL);

    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < m; j++)
            Kzz[i * m + j] = pair(p, Z + i * p->d, Z + j * p->d);
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < n; j++)
            Kxz[i * n + j] = Kzx[i * n + j] = pair(p, Z + i * p->d, p->X + j * p->d);
    ck_assert(solve(m, Kzz, Kzx, n, &logdet));
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            Q[i * n + j] = 0.0;
            for (size_t k = 0; k < m; k++)
                Q[i * n + j] += Kxz[k * n + i] * Kzx[k * n + j];
        }
    for (size_t i = 0; i < n; i++)
        left[i] = pair(p, p->X + i * p->d, p->X + i * p->d) - Q[i * n + i];
    free(Kzz), free(Kzx), free(Kxz);
}

static double dense_value(const struct problem *p, const double *Z, size_t m, enum bound_approx a,
                          double amplitude, double ratio)
{
    const size_t n = p->n;
    double *Q = mem_calloc(n, n * sizeof *Q, "Q", NULL), *left = mem_calloc(n, 8, "Q", NULL),
           *b = mem_calloc(n, 8, "y", NULL), logdet, quad = 0.0, trace = 0.0;

    dense_q(p, Z, m, Q, left);
    for (size_t i = 0; i < n; i++) {
        Q[i * n + i] += ratio + (a == BOUND_FITC ? left[i] : 0.0);
        trace += a == BOUND_VFE ? left[i] : 0.0;
        b[i] = p->y[i];
    }
    ck_assert(solve(n, Q, b, 1, &logdet));
    for (size_t i = 0; i < n; i++)
        quad += p->y[i] * b[i];
    free(Q), free(left), free(b);
    return -0.5 * (logdet + (double)n * log(2.0 * M_PI * amplitude * amplitude) +
                   quad / (amplitude * amplitude) + trace / ratio);
}

/* Rows of two numbers, some of them equal. */
static struct problem numbers(size_t n, const char *kernel)
{
    struct problem p = { .n = n, .d = 2 };
    double set[KERNEL_MAX_HP];

    ck_assert_int_eq(kernel_parse(kernel, &p.k, set, NULL), ST_OK);
    for (size_t i = 0; i < kernel_nhp(&p.k); i++)
        p.hp[i] = 0.8 + 0.1 * (double)i;
    p.X = mem_calloc(n, p.d * sizeof *p.X, "rows", NULL);
    p.y = mem_calloc(n, sizeof *p.y, "targets", NULL);
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < 2; j++)
            p.X[2 * i + j] = rng_normal(3, rng_stream(RNG_TEST, 0), 2 * i + j);
        if (i % 7 == 6)
            memcpy(p.X + 2 * i, p.X + 2 * i - 2, 2 * sizeof *p.X);
        p.y[i] = sin(2.0 * p.X[2 * i]) + 0.3 * p.X[2 * i + 1] +
                 0.2 * rng_normal(3, rng_stream(RNG_TEST, 1), i);
    }
    return p;
}

/* Sets that grow and change one by one have the values of the dense formulas. */
START_TEST(sets_that_change)
{
    struct problem p = _i < 2 ? numbers(40, "rbf") : golden_problem();
    const double amplitude = 1.3, ratio = 0.05;
    const bool bound = _i % 2 == 0;
    struct basis b;
    size_t row = 0;

    problem_open(&p, _i >= 2);
    const struct basis_of of = { .rows = &p.rows, .y = p.y, .amplitude = &amplitude, .t = 1,
                                 .ratio = ratio, .bound = bound };
    ck_assert_int_eq(basis_new(&of, 12, &b, NULL), ST_OK);
    struct basis_try *t = basis_try_new(&b, 1, NULL);
    double *Z = mem_calloc(12, p.d * sizeof *Z, "points", NULL);
    for (size_t step = 0; step < 60; step++) {
        const double *z = p.X + row * p.d;
        row = (row + 7) % p.n;
        double said = NAN;
        if (b.m == 12) {
            const size_t out = rng_below(4, rng_stream(RNG_TEST, 2), step, b.m);
            ck_assert_int_eq(basis_exchange(&b, out, z, t, NULL), ST_OK);
            if (t->spanned)
                continue;
            said = t->value;
            basis_remove(&b, out);
        }
        ck_assert_int_eq(basis_tries(&b, 1, z, t, NULL), ST_OK);
        if (t->spanned)
            continue;
        basis_add(&b, z, t);
        ck_assert(isnan(said) || support_close(said, b.value, 1e-8));
        for (size_t i = 0; i < b.m; i++)
            memcpy(Z + i * p.d, basis_point(&b, i), p.d * sizeof *Z);
        const double want =
            -dense_value(&p, Z, b.m, bound ? BOUND_VFE : BOUND_DTC, amplitude, ratio);
        ck_assert_msg(support_close(b.value, want, 1e-7), "step %zu: %.12g, dense %.12g", step,
                      b.value, want);
    }
    ck_assert_uint_eq(b.m, 12);
    const double before = b.value;
    ck_assert_int_eq(basis_refresh(&b, NULL), ST_OK);
    ck_assert(support_close(b.value, before, 1e-9));
    free(Z);
    basis_try_free(t);
    basis_free(&b);
    problem_free(&p);
}
END_TEST

/* The bound never falls with a further point; the likelihoods of DTC and FITC do: of 300 random
 * additions to random sets about one in two and one in six (methods digest: 150 and 51). */
START_TEST(only_the_bound_is_monotone)
{
    struct problem p = golden_problem();
    size_t falls[3] = { 0 }, additions = 0;
    double *Z = mem_calloc(40, p.d * sizeof *Z, "points", NULL);
    size_t order[60];

    problem_open(&p, true);
    for (uint64_t run = 0; additions < 300; run++) {
        double last[3] = { NAN, NAN, NAN };
        rng_permutation(run, rng_stream(RNG_TEST, 4), p.n, order);
        for (size_t m = 1; m <= 31 && additions < 300; m++) {
            memcpy(Z + (m - 1) * p.d, p.X + order[m - 1] * p.d, p.d * sizeof *Z);
            for (enum bound_approx a = BOUND_VFE; a <= BOUND_DTC; a++) {
                const double v = value_at(&p, Z, m, a);
                falls[a] += v < last[a] - 1e-9;
                last[a] = v;
            }
            additions += m > 1;
        }
    }
    ck_assert_uint_eq(falls[BOUND_VFE], 0);
    ck_assert_msg(falls[BOUND_DTC] >= 120 && falls[BOUND_DTC] <= 180, "dtc %zu", falls[BOUND_DTC]);
    ck_assert_msg(falls[BOUND_FITC] >= 30 && falls[BOUND_FITC] <= 80, "fitc %zu",
                  falls[BOUND_FITC]);
    free(Z);
    problem_free(&p);
}
END_TEST

/* Values and gradients against the dense formulas and central differences; the best ratio against
 * a grid of them. */
START_TEST(values_and_slopes)
{
    static const char *const kernels[] = { "rbf", "matern(nu=5/2)", "rbf + linear" };
    const enum bound_approx a = (enum bound_approx)(_i % 3);
    struct problem p = numbers(30, kernels[_i / 3]);
    const double amplitude = 1.2, noise = 0.3, h = 1e-5;
    double grad[KERNEL_MAX_HP + 2], Z[8 * 2];
    struct bound b = { .approx = a, .m = 8, .t = 1, .y = p.y };
    struct bound_at at;

    problem_open(&p, false);
    for (size_t i = 0; i < 16; i++)
        Z[i] = rng_normal(8, rng_stream(RNG_TEST, 5), i);
    ck_assert_int_eq(bound_make(&p.rows, Z, &b, NULL, NULL), ST_OK);
    ck_assert_int_eq(bound_at(&b, noise * noise / (amplitude * amplitude), &at, NULL), ST_OK);
    ck_assert(support_close(-bound_value(&b, &at, &amplitude),
                            dense_value(&p, Z, 8, a, amplitude, at.ratio), 1e-9));
    ck_assert_int_eq(bound_slope(&p.rows, Z, &b, &at, &amplitude, grad, NULL, NULL), ST_OK);
    const size_t nhp = kernel_nhp(&p.k);
    for (size_t i = 0; i < nhp + 2; i++) {
        double v[2];
        for (int s = 0; s < 2; s++) {
            struct problem q = p;
            q.rows.hp = q.hp;
            double be = amplitude, si = noise;
            double *at_i = i < nhp ? &q.hp[i] : i == nhp ? &be : &si;
            *at_i *= exp(s ? h : -h);
            v[s] = -dense_value(&q, Z, 8, a, be, si * si / (be * be));
        }
        const double want = (v[1] - v[0]) / (2.0 * h);
        ck_assert_msg(fabs(grad[i] - want) <= 1e-5 * (1.0 + fabs(want)), "%s %d: %g, want %g",
                      kernels[_i / 3], (int)i, grad[i], want);
    }
    const struct nmll_bounds in = { { 0.05, 50.0 }, { 1e-4, 10.0 } };
    double best, amp, sd, effdim, least = INFINITY;
    const struct nmll_told told = { .value = &best, .amplitude = &amp, .noise = &sd,
                                    .effdim = &effdim };
    ck_assert_int_eq(bound_best(&b, &in, &told, NULL), ST_OK);
    for (double r = 1e-4; r < 10.0; r *= 1.05) { /* the best amplitude is sqrt(c / n) */
        struct bound_at one;
        ck_assert_int_eq(bound_at(&b, r, &one, NULL), ST_OK);
        const double beta = sqrt(one.c[0] / (double)p.n);
        least = fmin(least, bound_value(&b, &one, &beta));
        bound_at_free(&one);
    }
    ck_assert(best <= least + 1e-7 && best > least - 0.05);
    bound_at_free(&at);
    bound_free(&b);
    problem_free(&p);
}
END_TEST

/* Every way gives the same points for any number of threads, distinct ones, at most as many as can
 * be told apart, and at a stop those until then. */
static void stop_soon(void *ctx, const struct tick *t)
{
    struct cancel *c = ctx;

    if (t->phase == PHASE_INDUCING && t->done >= 4)
        atomic_store(&c->stop, true);
}

START_TEST(ways)
{
    const struct select_ops *ops = select_at((size_t)_i);
    struct problem p = strcmp(ops->name, "kmeans") ? golden_problem() : numbers(70, "rbf");
    const bool letters = strcmp(ops->name, "kmeans") != 0;
    struct cancel cancel = { false };
    const struct ctl ctl = { .cancel = &cancel, .tick = stop_soon, .ctx = &cancel };

    problem_open(&p, letters);
    struct select_points one = chosen(&p, ops->name, 12, BOUND_VFE, 3, 1, NULL);
    ck_assert_uint_eq(one.m, 12);
    for (size_t threads = 2; threads <= 3; threads++) {
        struct select_points many = chosen(&p, ops->name, 12, BOUND_VFE, 3, threads, NULL);
        ck_assert_uint_eq(many.m, one.m);
        ck_assert(memcmp(many.Z, one.Z, one.m * p.d * sizeof *one.Z) == 0);
        ck_assert(memcmp(many.origin, one.origin, one.m * sizeof *one.origin) == 0);
        select_points_free(&many);
    }
    for (size_t i = 0; i < one.m; i++) {
        for (size_t j = 0; j < i; j++)
            ck_assert(memcmp(one.Z + i * p.d, one.Z + j * p.d, p.d * sizeof *one.Z) != 0);
        if (one.origin[i] >= 0.0)
            ck_assert(memcmp(one.Z + i * p.d, p.X + (size_t)one.origin[i] * p.d,
                             p.d * sizeof *one.Z) == 0);
        for (size_t j = 1; letters && j < p.d; j++)
            ck_assert(one.Z[i * p.d + j] >= 0.0 && one.Z[i * p.d + j] < 4.0);
    }
    struct select_points some = chosen(&p, ops->name, 12, BOUND_VFE, 3, 1, &ctl);
    ck_assert(some.m >= 1 && some.m <= 12);
    select_points_free(&some);
    /* Rows that repeat: of 60 rows six differ. */
    for (size_t i = 6; i < p.n; i++)
        memcpy(p.X + i * p.d, p.X + i % 6 * p.d, p.d * sizeof *p.X);
    struct select_points few = chosen(&p, ops->name, 12, BOUND_VFE, 3, 1, NULL);
    ck_assert_uint_ge(few.m, strcmp(ops->name, "anneal") ? 6 : 1);
    ck_assert(letters && strcmp(ops->name, "anneal") ? few.m == 6 : few.m <= 12);
    select_points_free(&few);
    select_points_free(&one);
    problem_free(&p);
}
END_TEST

/* Annealing ends at a better bound than where it starts, a random set, and than greedy on these
 * strings with enough steps; its letters are those of the alphabet (above). */
START_TEST(annealing_improves)
{
    struct problem p = golden_problem();

    problem_open(&p, true);
    struct select_points random = chosen(&p, "random", 8, BOUND_VFE, 1, 1, NULL);
    struct select_points greedy = chosen(&p, "greedy", 8, BOUND_VFE, 1, 1, NULL);
    struct select_points best = chosen(&p, "anneal(steps=8000)", 8, BOUND_VFE, 1, 1, NULL);
    const double a = value_at(&p, random.Z, 8, BOUND_VFE), b = value_at(&p, greedy.Z, 8, BOUND_VFE),
                 c = value_at(&p, best.Z, 8, BOUND_VFE);
    ck_assert_msg(a < b && b < c, "random %g, greedy %g, anneal %g", a, b, c);
    select_points_free(&random);
    select_points_free(&greedy);
    select_points_free(&best);
    problem_free(&p);
}
END_TEST

START_TEST(words_of_select)
{
    struct select_opts o = { 0 };
    struct err err = { 0 };
    char text[SELECT_TEXT_MAX];

    ck_assert_int_eq(select_parse("anneal(steps=20m)", &o, NULL), ST_OK);
    select_print(&o, text, sizeof text);
    ck_assert_str_eq(text, "anneal(steps=20m)");
    ck_assert_int_eq(select_parse("greedy(subset=20)", &o, NULL), ST_OK);
    select_print(&o, text, sizeof text);
    ck_assert_str_eq(text, "greedy(subset=20)");
    ck_assert_int_eq(select_parse("greedy(subset=20m)", &o, &err), ST_RANGE);
    ck_assert_int_eq(select_parse("lucky", &o, &err), ST_NOT_FOUND);
    ck_assert(strstr(err.hint, "anneal") != NULL);
    ck_assert_int_eq(select_parse("anneal(steps=", &o, &err), ST_USAGE);
    ck_assert_int_eq(select_parse("random(steps=3)", &o, &err), ST_NOT_FOUND);
}
END_TEST

/* Models. */

static struct model *fitted(struct problem *p, const char *solver, size_t m, enum bound_approx a,
                            size_t threads, struct fit_info *info)
{
    struct fit_opts o = { .solver = solver, .kernel = p->k, .amplitude = GOLDEN_AMPLITUDE,
                          .noise = 2.0, .keep_scale = true, .seed = 5, .targets = 1,
                          .inducing = { .m = m, .approx = a } };
    struct tools on = { .pool = threads > 1 ? pool_new(threads, NULL) : NULL };
    struct err err = { 0 };
    struct model *out;

    memcpy(o.hp, p->hp, sizeof o.hp);
    ck_assert_msg(model_fit(&p->src.base, p->y, &o, &on, &out, info, NULL, &err) == ST_OK, "%s",
                  err.msg);
    pool_free(on.pool);
    return out;
}

/* With all rows as points a sparse model is the exact one. */
START_TEST(all_rows_are_exact)
{
    struct problem p = golden_problem();
    const struct tools on = { 0 };
    double mean[2][60], var[2][60];
    struct fit_info info;

    problem_open(&p, true);
    struct model *exact = fitted(&p, "exact", 0, BOUND_VFE, 1, &info);
    struct model *sparse = fitted(&p, "sparse", 60, (enum bound_approx)_i, 1, &info);
    ck_assert_uint_eq(info.inducing, 60);
    ck_assert(support_close(info.objective, support_golden_scalar("sparse_scalars", "full"), 1e-8));
    ck_assert(isnan(info.bound) == (_i != BOUND_VFE));
    ck_assert_int_eq(model_predict(exact, &p.src.base, mean[0], var[0], &on, NULL), ST_OK);
    ck_assert_int_eq(model_predict(sparse, &p.src.base, mean[1], var[1], &on, NULL), ST_OK);
    for (size_t i = 0; i < p.n; i++)
        ck_assert(fabs(mean[0][i] - mean[1][i]) < 1e-8 && fabs(var[0][i] - var[1][i]) < 1e-7);
    model_unref(exact);
    model_unref(sparse);
    problem_free(&p);
}
END_TEST

/* The golden predictions at points 0, 6, .. 54 and test strings 1, 7, 13, 29, 58. */
START_TEST(golden_predictions)
{
    static const size_t test[] = { 1, 7, 13, 29, 58 };
    struct problem p = golden_problem();
    const struct tools on = { 0 };
    size_t r, c;
    double *want = support_golden("sparse_pred", &r, &c), mean[5], var[5], x[5 * 101];
    struct source_array rows;
    struct fit_info info;

    problem_open(&p, true);
    for (int fitc = 0; fitc < 2; fitc++) {
        struct model *m = fitted(&p, "sparse", 10, fitc ? BOUND_FITC : BOUND_VFE, 1, &info);
        struct bound b = { .approx = m->approx, .m = 10, .t = 1, .y = p.y };
        struct bound_at at;
        for (size_t i = 0; i < 10; i++)
            memcpy(m->X + i * p.d, p.X + 6 * i * p.d, p.d * sizeof *m->X);
        /* the weights of these points: u through L' by the fit's own formula on the dense system */
        ck_assert_int_eq(bound_make(&p.rows, m->X, &b, NULL, NULL), ST_OK);
        ck_assert_int_eq(bound_at(&b, GOLDEN_RATIO, &at, NULL), ST_OK);
        for (size_t i = 10; i-- > 0;) {
            m->w[i] = at.u[i];
            for (size_t j = i + 1; j < 10; j++)
                m->w[i] -= b.L[j + i * 10] * m->w[j];
            m->w[i] /= b.L[i + i * 10];
        }
        bound_at_free(&at);
        bound_free(&b);
        ck_assert_int_eq(model_variance(m, &p.src.base, 0, &on, NULL, NULL), ST_OK);
        for (size_t i = 0; i < 5; i++)
            memcpy(x + i * p.d, p.X + test[i] * p.d, p.d * sizeof *x);
        source_array_init(&rows, x, 5, p.d, p.d);
        rows.base.layout = dna;
        ck_assert_int_eq(model_predict(m, &rows.base, mean, var, &on, NULL), ST_OK);
        for (size_t i = 0; i < 5; i++) {
            ck_assert(support_close(mean[i], want[i * c + 2 * (size_t)fitc], 1e-8));
            ck_assert(support_close(var[i], want[i * c + 2 * (size_t)fitc + 1], 1e-8));
        }
        model_unref(m);
    }
    free(want);
    problem_free(&p);
}
END_TEST

/* Threads change no bit of a fit, and the factor comes back with the same bits from the rows. */
START_TEST(bits_of_a_fit)
{
    struct problem p = numbers(300, "rbf");
    const struct tools on = { 0 };
    struct fit_info info;

    problem_open(&p, false);
    struct model *m = fitted(&p, "sparse", 40, (enum bound_approx)_i, 1, &info);
    for (size_t threads = 2; threads <= 3; threads++) {
        struct model *o = fitted(&p, "sparse", 40, (enum bound_approx)_i, threads, &info);
        ck_assert_uint_eq(o->M, m->M);
        ck_assert(memcmp(o->w, m->w, m->M * sizeof *m->w) == 0);
        ck_assert(memcmp(o->L, m->L, m->M * m->M * sizeof *m->L) == 0 ||
                  memcmp(o->L, m->L, sizeof *m->L) == 0);
        model_unref(o);
    }
    double *L = m->L;
    m->L = NULL;
    ck_assert_int_eq(model_variance(m, &p.src.base, 0, &on, NULL, NULL), ST_OK);
    for (size_t j = 0; j < m->M; j++)
        ck_assert(memcmp(m->L + j * m->M + j, L + j * m->M + j, (m->M - j) * sizeof *L) == 0);
    free(L);
    model_unref(m);
    problem_free(&p);
}
END_TEST

/* The mean squared left-out residual over its variance at fixed points, against models that were
 * fitted without the row. */
START_TEST(rows_left_out)
{
    const enum bound_approx a = (enum bound_approx)_i;
    struct problem p = numbers(24, "rbf");
    const double ratio = 4.0 / (GOLDEN_AMPLITUDE * GOLDEN_AMPLITUDE);
    struct fit_info info;
    double sum = 0.0;

    problem_open(&p, false);
    struct model *m = fitted(&p, "sparse", 6, a, 1, &info);
    for (size_t i = 0; i < p.n; i++) {
        struct problem q = p;
        struct bound b = { .approx = a, .m = m->M, .t = 1 };
        struct bound_at at;
        double v[6], f[6], mean = 0.0, var = pair(&p, p.X + i * 2, p.X + i * 2) + ratio;
        q.X = mem_calloc(p.n, 2 * sizeof *q.X, "rows", NULL);
        q.y = mem_calloc(p.n, sizeof *q.y, "rows", NULL);
        memcpy(q.X, p.X, 2 * i * sizeof *q.X);
        memcpy(q.X + 2 * i, p.X + 2 * (i + 1), 2 * (p.n - 1 - i) * sizeof *q.X);
        memcpy(q.y, p.y, i * sizeof *q.y);
        memcpy(q.y + i, p.y + i + 1, (p.n - 1 - i) * sizeof *q.y);
        q.n = p.n - 1;
        problem_open(&q, false);
        b.y = q.y;
        ck_assert_int_eq(bound_make(&q.rows, m->X, &b, NULL, NULL), ST_OK);
        ck_assert_int_eq(bound_at(&b, ratio, &at, NULL), ST_OK);
        for (size_t k = 0; k < m->M; k++) { /* v = L^-1 k, then F^-1 v */
            v[k] = pair(&p, m->X + 2 * k, p.X + 2 * i);
            for (size_t j = 0; j < k; j++)
                v[k] -= b.L[k + j * m->M] * v[j];
            v[k] /= b.L[k + k * m->M];
        }
        for (size_t k = 0; k < m->M; k++) {
            mean += v[k] * at.u[k];
            f[k] = v[k];
            for (size_t j = 0; j < k; j++)
                f[k] -= at.F[k + j * m->M] * f[j];
            f[k] /= at.F[k + k * m->M];
            var += f[k] * f[k] - v[k] * v[k];
        }
        sum += (p.y[i] - mean) * (p.y[i] - mean) / var;
        bound_at_free(&at);
        bound_free(&b);
        free(q.X), free(q.y);
    }
    const double want = sum / (double)p.n / (GOLDEN_AMPLITUDE * GOLDEN_AMPLITUDE);
    ck_assert_msg(support_close(info.left_out_z2, want, 1e-9), "%.12g, want %.12g",
                  info.left_out_z2, want);
    model_unref(m);
    problem_free(&p);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("inducing");
    TCase *t = tcase_create("inducing");
    size_t nways = 0;

    while (select_at(nways))
        nways++;
    tcase_add_test(t, golden_strings);
    tcase_add_test(t, golden_values);
    tcase_add_loop_test(t, golden_greedy, BOUND_VFE, BOUND_DTC + 1);
    tcase_add_loop_test(t, greedy_takes_the_best, 0, 7);
    tcase_add_test(t, golden_dpp);
    tcase_add_loop_test(t, sets_that_change, 0, 4);
    tcase_add_test(t, only_the_bound_is_monotone);
    tcase_add_loop_test(t, values_and_slopes, 0, 9);
    tcase_add_loop_test(t, ways, 0, (int)nways);
    tcase_add_test(t, annealing_improves);
    tcase_add_test(t, words_of_select);
    tcase_add_loop_test(t, all_rows_are_exact, BOUND_VFE, BOUND_DTC + 1);
    tcase_add_test(t, golden_predictions);
    tcase_add_loop_test(t, bits_of_a_fit, BOUND_VFE, BOUND_DTC + 1);
    tcase_add_loop_test(t, rows_left_out, BOUND_VFE, BOUND_DTC + 1);
    tcase_set_timeout(t, 120);
    suite_add_tcase(s, t);
    return support_run(s);
}
