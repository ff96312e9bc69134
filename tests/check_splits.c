/* tests/check_splits.c -- splits by group and by time against counts by hand; the ridge regression
 * of baselines against its normal equations and a dense likelihood; paired differences against
 * sums by hand. */
#include "app/runs/scoring/paired.h"
#include "compute/backend.h"
#include "compute/stats/baseline.h"
#include "data/formats/import.h"
#include "data/split_by.h"
#include "support.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct dataset *data_of(const char *text)
{
    struct table *t;
    struct err err = { 0 };

    ck_assert_msg(import_bytes_for_tests(text, strlen(text), NULL, &t, &err) == ST_OK, "%s",
                  err.msg);
    struct dataset *d = dataset_new(t, NULL, "y", &err);
    table_unref(t);
    ck_assert_msg(d != NULL, "%s", err.msg);
    return d;
}

/* Twenty rows: ten of group a, six of b, three of c, one of d, in turns; `number` has the same
 * groups as numbers, `gap` lacks the cells of c. */
static struct dataset *grouped(void)
{
    static const char order[] = "abacabadabacababacba";
    struct buf b = { 0 };

    buf_puts(&b, "who,number,gap,y\n");
    for (size_t i = 0; i < 20; i++) {
        const char *gap = order[i] == 'c' ? "" : order[i] == 'a' ? "p" : "q";
        buf_printf(&b, "%c,%d,%s,%zu\n", order[i], order[i] - 'a' + 3, gap, i * i);
    }
    struct dataset *d = data_of(buf_str(&b));
    buf_free(&b);
    return d;
}

/* The part of each group as letters in the order a, b, c, d: "r" train, "v" valid, "t" test. All of
 * its rows must agree. */
static const char *parts(const struct dataset *d)
{
    static char out[5];
    const struct column *who = &d->table->col[0];

    memset(out, 0, sizeof out);
    for (size_t i = 0; i < d->table->n; i++) {
        const size_t g = (size_t)(column_word(who, i)[0] - 'a');
        const char part = "rvt"[d->split.part[i]];
        ck_assert(out[g] == 0 || out[g] == part);
        out[g] = part;
    }
    return out;
}

START_TEST(groups_stay_whole)
{
    struct dataset *d = grouped();
    struct split_told told;
    struct err err;
    /* 4 rows are wanted: d (1) and c (3) reach them.  6: b would bring them from 4 to 10.  7.5,
     * that is 8: b brings them to 10, which is nearer. */
    static const struct { double test, valid; const char *want; } one[] = {
        { 0.2, 0.0, "rrtt" }, { 0.3, 0.0, "rrtt" }, { 0.4, 0.0, "rttt" }, { 0.05, 0.15, "rrvt" },
        { 0.0, 0.05, "rrrv" }, { 0.9, 0.05, "rvtt" },
    };

    for (size_t i = 0; i < sizeof one / sizeof *one; i++)
        for (size_t by = 0; by < 2; by++) {
            const struct split_ask ask = { .column = by ? "number" : "who", .test = one[i].test,
                                           .valid = one[i].valid };
            ck_assert_int_eq(split_grouped(d, &ask, &told, &err), ST_OK);
            ck_assert_str_eq(parts(d), one[i].want);
            ck_assert_uint_eq(told.groups, 4);
            ck_assert_uint_eq(told.count[PART_TRAIN] + told.count[PART_VALID] +
                              told.count[PART_TEST], 4);
        }
    const struct split_ask gap = { .column = "gap", .test = 0.15 };
    ck_assert_int_eq(split_grouped(d, &gap, &told, &err), ST_OK);
    ck_assert_uint_eq(told.groups, 3);
    ck_assert_uint_eq(told.missing, 3);
    ck_assert_str_eq(parts(d), "rrtr"); /* the rows without a cell are a group */
    ck_assert_str_eq(d->split.how, "test=15% group=\"gap\"");
    ck_assert_int_eq(d->split.by, SPLIT_BY_GROUP);
    ck_assert_int_eq(split_train(d, 5, 1, &err), ST_OK);
    ck_assert_int_eq(d->split.by, SPLIT_BY_GROUP); /* fewer training rows, the same groups */
    ck_assert_str_eq(d->split.column, "gap");
    dataset_unref(d);
}
END_TEST

START_TEST(groups_at_random)
{
    struct dataset *d = grouped();
    struct split_told told;
    struct err err;
    bool tested[4] = { false };

    for (uint64_t seed = 0; seed < 30; seed++) {
        const struct split_ask ask = { .column = "who", .test = 0.5, .seeded = true,
                                       .seed = seed };
        char first[5];
        ck_assert_int_eq(split_grouped(d, &ask, &told, &err), ST_OK);
        strcpy(first, parts(d));
        ck_assert_int_eq(split_grouped(d, &ask, &told, &err), ST_OK);
        ck_assert_str_eq(first, parts(d)); /* the seed decides */
        for (size_t g = 0; g < 4; g++)
            tested[g] |= first[g] == 't';
        ck_assert_uint_gt(d->split.count[PART_TRAIN], 0);
        ck_assert_uint_gt(d->split.count[PART_TEST], 0);
    }
    ck_assert(tested[0] && tested[1] && tested[2] && tested[3]);
    dataset_unref(d);
}
END_TEST

START_TEST(folds_of_whole_groups)
{
    struct dataset *d = grouped();
    struct split_told told;
    struct err err;
    struct split_ask ask = { .column = "who", .folds = 2 };
    size_t rows[2] = { 0 };

    ck_assert_int_eq(split_grouped(d, &ask, &told, &err), ST_OK);
    for (size_t i = 0; i < 20; i++) {
        rows[d->split.fold[i]]++;
        ck_assert_int_eq(d->split.fold[i] == 0, column_word(&d->table->col[0], i)[0] == 'a');
    }
    ck_assert_uint_eq(rows[0], 10); /* a; b, c and d */
    ck_assert_uint_eq(rows[1], 10);
    ask.folds = 5;
    ck_assert_int_eq(split_grouped(d, &ask, &told, &err), ST_RANGE);
    ck_assert_str_eq(err.name, "too-few-groups");
    ask = (struct split_ask){ .column = "y", .test = 0.2 };
    ck_assert_int_eq(split_grouped(d, &ask, &told, &err), ST_STATE);
    ask.column = "nobody";
    ck_assert_int_eq(split_grouped(d, &ask, &told, &err), ST_NOT_FOUND);
    dataset_unref(d);
}
END_TEST

/* Sorted: 0 1 2 2 3 3 3 4 4 5. */
static const char times[] = "t,word,gap,y\n5,a,1,1\n1,b,2,4\n2,a,3,9\n2,b,,16\n3,a,5,25\n"
                            "3,b,6,36\n3,a,7,49\n4,b,8,64\n4,a,9,81\n0,b,10,100\n";

/* The rows of each part whose times are below or above a bound. */
static void later(const struct dataset *d, double bound, size_t test)
{
    for (size_t i = 0; i < d->table->n; i++)
        ck_assert_int_eq(d->split.part[i] == PART_TEST,
                         column_at(&d->table->col[0], i) >= bound);
    ck_assert_uint_eq(d->split.count[PART_TEST], test);
}

START_TEST(the_last_rows_by_time)
{
    struct dataset *d = data_of(times);
    struct split_told told;
    struct err err;
    /* At 4 wanted rows the border meets the three 3s: 3 rows are nearer than 6.  At 5 six are. */
    static const struct { double test, bound; size_t rows, ties; } one[] = {
        { 0.1, 5, 1, 0 }, { 0.3, 4, 3, 0 }, { 0.4, 4, 3, 3 }, { 0.5, 3, 6, 3 }, { 0.6, 3, 6, 0 },
        { 0.7, 2, 8, 2 }, { 0.9, 1, 9, 0 },
    };

    for (size_t i = 0; i < sizeof one / sizeof *one; i++) {
        const struct split_ask ask = { .column = "t", .test = one[i].test };
        ck_assert_int_eq(split_timed(d, &ask, &told, &err), ST_OK);
        later(d, one[i].bound, one[i].rows);
        ck_assert_uint_eq(told.ties, one[i].ties);
    }
    const struct split_ask both = { .column = "t", .test = 0.1, .valid = 0.2 };
    ck_assert_int_eq(split_timed(d, &both, &told, &err), ST_OK);
    later(d, 5, 1);
    ck_assert_uint_eq(d->split.count[PART_VALID], 2); /* the two 4s */
    static const struct { const char *column; enum status rc; } bad[] = {
        { "word", ST_USAGE }, { "gap", ST_RANGE }, { "y", ST_STATE }, { "no", ST_NOT_FOUND } };
    for (size_t i = 0; i < 4; i++) {
        const struct split_ask ask = { .column = bad[i].column, .test = 0.2 };
        ck_assert_int_eq(split_timed(d, &ask, &told, &err), bad[i].rc);
    }
    later(d, 5, 1); /* refused: the split is as it was */
    dataset_unref(d);
    d = data_of("t,y\n1,1\n1,2\n1,3\n");
    const struct split_ask same = { .column = "t", .test = 0.4 };
    ck_assert_int_eq(split_timed(d, &same, &told, &err), ST_RANGE);
    dataset_unref(d);
}
END_TEST

/* Four blocks, of 2, 2, 3 and 3 rows: each fold trains on what is earlier. */
START_TEST(folds_by_time_look_back)
{
    struct dataset *d = data_of(times);
    struct split_told told;
    struct err err;
    const struct split_ask ask = { .column = "t", .folds = 3 };
    static const size_t before[] = { 2, 4, 7 }, own[] = { 2, 3, 3 };

    ck_assert_int_eq(split_timed(d, &ask, &told, &err), ST_OK);
    for (size_t f = 0; f < 3; f++) {
        size_t *in = NULL, *out = NULL, nin, nout;
        double last = -1.0, first = 99.0;
        ck_assert_int_eq(dataset_fold_rows(d, f, false, &in, &nin, &err), ST_OK);
        ck_assert_int_eq(dataset_fold_rows(d, f, true, &out, &nout, &err), ST_OK);
        ck_assert_uint_eq(nin, before[f]);
        ck_assert_uint_eq(nout, own[f]);
        for (size_t i = 0; i < nin; i++)
            last = fmax(last, column_at(&d->table->col[0], in[i]));
        for (size_t i = 0; i < nout; i++)
            first = fmin(first, column_at(&d->table->col[0], out[i]));
        ck_assert(last < first);
        free(in);
        free(out);
    }
    dataset_unref(d);
}
END_TEST

/* Ridge regression. */

enum { N = 40, D = 3, M = D + 1, AT = 5 };

/* Solves A x = b (n x n, row-major, both overwritten) by elimination with pivots; log |det A|. */
static double solve(size_t n, double *A, double *b)
{
    double log_det = 0.0;

    for (size_t k = 0; k < n; k++) {
        size_t best = k;
        for (size_t i = k + 1; i < n; i++)
            best = fabs(A[i * n + k]) > fabs(A[best * n + k]) ? i : best;
        for (size_t j = 0; j < n; j++) {
            const double t = A[k * n + j];
            A[k * n + j] = A[best * n + j];
            A[best * n + j] = t;
        }
        const double t = b[k];
        b[k] = b[best];
        b[best] = t;
        log_det += log(fabs(A[k * n + k]));
        for (size_t i = k + 1; i < n; i++) {
            const double f = A[i * n + k] / A[k * n + k];
            for (size_t j = k; j < n; j++)
                A[i * n + j] -= f * A[k * n + j];
            b[i] -= f * b[k];
        }
    }
    for (size_t k = n; k-- > 0;) {
        for (size_t j = k + 1; j < n; j++)
            b[k] -= A[k * n + j] * b[j];
        b[k] /= A[k * n + k];
    }
    return log_det;
}

/* n/2 log(y'K^-1 y / n) + log|K|/2 with K = Z Z' + lambda I: the likelihood at its best scale,
 * which goes to *amplitude2. */
static double likelihood(const double *Z, const double *y, double lambda, double *amplitude2)
{
    double K[N * N], x[N], fit = 0.0;

    memcpy(x, y, sizeof x);
    for (size_t i = 0; i < N; i++)
        for (size_t j = 0; j < N; j++) {
            K[i * N + j] = i == j ? lambda : 0.0;
            for (size_t k = 0; k < M; k++)
                K[i * N + j] += Z[i * M + k] * Z[j * M + k];
        }
    const double log_det = solve(N, K, x);
    for (size_t i = 0; i < N; i++)
        fit += y[i] * x[i];
    *amplitude2 = fit / N;
    return 0.5 * N * log(fit / N) + 0.5 * log_det;
}

/* (Z'Z + lambda I)^-1 b. */
static void normal_equations(const double *Z, double lambda, double *b)
{
    double A[M * M];

    for (size_t k = 0; k < M; k++)
        for (size_t l = 0; l < M; l++) {
            A[k * M + l] = k == l ? lambda : 0.0;
            for (size_t i = 0; i < N; i++)
                A[k * M + l] += Z[i * M + k] * Z[i * M + l];
        }
    solve(M, A, b);
}

START_TEST(ridge_solves_the_normal_equations)
{
    double X[N * D], Z[N * M], y[N], s[N], T[AT * D], mean[AT], var[AT], w[M] = { 0 };
    double m = 0.0, sd = 0.0, amplitude2, other;
    struct source_array train, test;
    struct splitmix g;
    struct err err = { 0 };

    splitmix_init(&g, 5);
    for (size_t i = 0; i < N; i++) {
        for (size_t k = 0; k < D; k++)
            X[i * D + k] = Z[i * M + k] = splitmix_normal(&g);
        Z[i * M + D] = 100.0; /* the intercept's prior sd is 100 times that of a weight */
        y[i] = 50.0 + 3.0 * X[i * D] - X[i * D + 1] + 2.0 * splitmix_normal(&g);
        m += y[i] / N;
    }
    for (size_t i = 0; i < AT * D; i++)
        T[i] = 2.0 * splitmix_normal(&g);
    for (size_t i = 0; i < N; i++)
        sd += (y[i] - m) * (y[i] - m) / N;
    sd = sqrt(sd);
    source_array_init(&train, X, N, D, D);
    source_array_init(&test, T, AT, D, D);
    struct baseline_ridge r = { .mean = mean, .var = var };
    ck_assert_msg(baseline_ridge(&train.base, 1, y, &test.base,
                                 &(struct tools){ backend_cpu(), NULL, NULL }, &r, &err) == ST_OK,
                  "%s", err.msg);
    for (size_t i = 0; i < N; i++)
        s[i] = (y[i] - m) / sd;
    /* no ratio nearby is likelier: the search ends within a percent or so of the optimum */
    const double best = likelihood(Z, s, r.lambda, &amplitude2);
    for (double f = 0.25; f < 5.0; f *= 1.1)
        ck_assert_double_ge(likelihood(Z, s, r.lambda * f, &other), best - 1e-3);
    for (size_t k = 0; k < M; k++)
        for (size_t i = 0; i < N; i++)
            w[k] += Z[i * M + k] * s[i];
    normal_equations(Z, r.lambda, w);
    for (size_t i = 0; i < AT; i++) {
        double z[M], a[M], at = 0.0, spread = 0.0;
        for (size_t k = 0; k < M; k++) {
            z[k] = a[k] = k < D ? T[i * D + k] : 100.0;
            at += z[k] * w[k];
        }
        normal_equations(Z, r.lambda, a);
        for (size_t k = 0; k < M; k++)
            spread += z[k] * a[k];
        /* noise^2 (1 + z'A^-1 z); the condition number of A is about 1e4 */
        ck_assert(support_close(mean[i], m + sd * at, 1e-9));
        ck_assert(support_close(var[i], sd * sd * r.lambda * amplitude2 * (1.0 + spread), 1e-9));
    }
}
END_TEST

START_TEST(what_takes_long_is_asked_for)
{
    ck_assert(!baseline_is_dear(100000, 100));
    ck_assert(!baseline_is_dear(3000, 1000));
    ck_assert(baseline_is_dear(100, 5000));
    ck_assert(baseline_is_dear(10000000, 500));
}
END_TEST

/* Paired differences. */

START_TEST(paired_means_by_hand)
{
    const double d[] = { 1, 2, 3, 4 };
    uint32_t two[] = { 0, 0, 1, 1 }, one[] = { 0, 0, 0, 0 };
    double se;

    ck_assert(support_close(paired_mean_for_tests(4, d, NULL, 0, &se), 2.5, 1e-15));
    ck_assert(support_close(se, sqrt(5.0 / 3.0) / 2.0, 1e-15)); /* sd / sqrt n */
    ck_assert(support_close(paired_mean_for_tests(4, d, two, 2, &se), 2.5, 1e-15));
    ck_assert(support_close(se, 1.0, 1e-15)); /* sums of deviations -2 and 2: sqrt(2/1 * 8) / 4 */
    paired_mean_for_tests(4, d, one, 1, &se);
    ck_assert(isnan(se));
    paired_mean_for_tests(1, d, NULL, 0, &se);
    ck_assert(isnan(se));
}
END_TEST

int main(void)
{
    Suite *s = suite_create("splits");
    TCase *t = tcase_create("splits");

    tcase_set_timeout(t, 60);
    tcase_add_test(t, groups_stay_whole);
    tcase_add_test(t, groups_at_random);
    tcase_add_test(t, folds_of_whole_groups);
    tcase_add_test(t, the_last_rows_by_time);
    tcase_add_test(t, folds_by_time_look_back);
    tcase_add_test(t, ridge_solves_the_normal_equations);
    tcase_add_test(t, what_takes_long_is_asked_for);
    tcase_add_test(t, paired_means_by_hand);
    suite_add_tcase(s, t);
    return support_run(s);
}
