/* tests/compute/check_places.c -- rows that need not be sent to ranks: read where they lie in files
 * (compute/ranks/places.h), as numbers of every type, in any order, from one file or several; or
 * kept from an earlier operator (kept.h).  A file that is another one, shorter, missing or no file
 * costs the time of sending, and never other bits. */
#include "compute/features/fop.h"
#include "compute/linalg/blas.h"
#include "compute/ranks/content.h"
#include "compute/ranks/places.h"
#include "compute/ranks/rank.h"
#include "compute/ranks/ranks.h"
#include "compute/rng.h"
#include "support.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Rows in files. */

enum { ROWS = 5000, KINDS = 11 };
static const struct { char kind; uint32_t size; } types[KINDS] = {
    { 'f', 4 }, { 'f', 8 }, { 'i', 1 }, { 'i', 2 }, { 'i', 4 }, { 'i', 8 },
    { 'u', 1 }, { 'u', 2 }, { 'u', 4 }, { 'u', 8 }, { 'b', 1 },
};

/* A number that every type can hold, as its bytes. */
static double number(size_t row, size_t column, size_t type)
{
    const uint64_t v = rng_below(3, RNG_TEST, 31 * row + column, 100);

    return types[type].kind == 'b' ? (double)(v % 2)
           : types[type].kind == 'f' ? (double)v + 0.25
           : types[type].kind == 'i' ? (double)v - 50.0 : (double)v;
}

static void item(double v, size_t type, bool swap, unsigned char *out)
{
    const uint32_t size = types[type].size;
    const int64_t whole = (int64_t)v;
    const float single = (float)v;
    unsigned char b[8];

    memcpy(b, &whole, 8); /* little-endian: the low bytes come first */
    if (types[type].kind == 'f')
        memcpy(b, size == 4 ? (const void *)&single : (const void *)&v, size);
    for (size_t i = 0; i < size; i++)
        out[i] = b[swap ? size - 1 - i : i];
}

static void write_file(const char *path, const void *p, size_t bytes)
{
    FILE *f = fopen(path, "w");

    ck_assert(f && fwrite(p, 1, bytes, f) == bytes && fclose(f) == 0);
}

/* Three columns of rows from `first` on, by rows or by columns, behind 10 other bytes. */
static struct source_file write_array(const char *path, size_t type, bool by_rows, bool swap,
                                      size_t first, size_t rows)
{
    const size_t size = types[type].size;
    const size_t row = by_rows ? 3 * size : size, column = by_rows ? size : rows * size;
    unsigned char *b = calloc(10 + 3 * rows, size);

    for (size_t r = 0; r < rows; r++)
        for (size_t c = 0; c < 3; c++)
            item(number(first + r, c, type), type, swap, b + 10 + r * row + c * column);
    write_file(path, b, 10 + 3 * rows * size);
    free(b);
    return (struct source_file){ .path = path, .first = first, .rows = rows, .at = 10, .row = row,
                                 .column = column, .size = (uint32_t)size,
                                 .kind = types[type].kind, .swap = swap };
}

/* What places_put and places_put_rows write of rows r0 to r1 - 1, with room to change it. */
struct message { struct buf places, rows; struct places_told told; };
static void message_of(struct message *m, const struct source_places *p, size_t r0, size_t r1)
{
    *m = (struct message){ .told = { .d = p->d } };
    places_put(&m->places, p);
    places_put_rows(&m->rows, p, r0, r1);
    m->told = (struct places_told){ m->places.s, m->rows.s, m->places.len, m->rows.len, p->d,
                                    r1 - r0 };
}

static void message_done(struct message *m)
{
    buf_free(&m->places);
    buf_free(&m->rows);
}

/* Every type, order of bytes and order of the array, over two files; all rows but every seventh. */
START_TEST(types_and_orders)
{
    char *dir = support_tmpdir();
    char name[2][4200];
    const size_t type = (size_t)_i / 4, n = ROWS - ROWS / 7 - 1, from = 100;
    const bool by_rows = _i % 2, swap = _i / 2 % 2;
    struct source_file file[2];
    struct source_input input[3];
    size_t *row = calloc(ROWS, sizeof *row);
    double *x = calloc(3 * ROWS, sizeof *x);
    struct message m;

    for (size_t i = 0; i < 2; i++)
        snprintf(name[i], sizeof name[i], "%s/%zu", dir, i);
    file[0] = write_array(name[0], type, by_rows, swap, 0, 2100);
    file[1] = write_array(name[1], type, by_rows, swap, 2100, ROWS - 2100);
    for (uint32_t c = 0; c < 3; c++)
        input[c] = (struct source_input){ .files = 2, .column = 2 - c, .mean = 3.0, .sd = 1.5,
                                          .limit = c == 1 ? 20.0 : 0.0, .constant = c == 2 };
    for (size_t r = 0, i = 0; i < n; r++)
        if (r % 7 != 3)
            row[i++] = r;
    const struct source_places p = { 2, 3, file, input, row };
    message_of(&m, &p, 0, n);
    ck_assert_uint_lt(m.rows.len, n / 2);
    ck_assert(places_read(&m.told, NULL, from, n - from, x));
    for (size_t i = 0; i < n - from; i++)
        for (size_t c = 0; c < 3; c++) {
            double v = (number(row[from + i], 2 - c, type) - 3.0) / 1.5;
            v = c == 1 && fabs(v) > 20.0 ? copysign(20.0, v) : c == 2 ? 0.0 : v;
            ck_assert_msg(x[3 * i + c] == v, "row %zu, column %zu: %g, not %g", i, c,
                          x[3 * i + c], v);
        }
    message_done(&m);
    free(row);
    free(x);
    support_rmdir(dir);
}
END_TEST

/* Missing numbers and levels; rows in reverse, some of them twice. */
START_TEST(levels_and_missing)
{
    enum { SOME = 300 };
    char *dir = support_tmpdir();
    char name[2][4200];
    static double v[SOME], x[SOME * 4];
    static uint32_t code[SOME];
    static size_t row[SOME];
    struct message m;

    for (size_t r = 0; r < SOME; r++) {
        v[r] = r % 5 == 0 ? NAN : (double)r;
        code[r] = r % 4 == 3 ? UINT32_MAX : (uint32_t)(r % 4);
        row[r] = SOME - 1 - r / 2;
    }
    for (size_t i = 0; i < 2; i++)
        snprintf(name[i], sizeof name[i], "%s/%zu", dir, i);
    write_file(name[0], v, sizeof v);
    write_file(name[1], code, sizeof code);
    const struct source_file file[2] = {
        { .path = name[0], .rows = SOME, .row = 8, .column = 8, .size = 8, .kind = 'f' },
        { .path = name[1], .rows = SOME, .row = 4, .column = 4, .size = 4, .kind = 'u' },
    };
    const struct source_input input[4] = {
        { .file = 0, .files = 1, .fill = 7.0, .sd = 2.0 },
        { .file = 0, .files = 1, .reads = SOURCE_MISSING, .sd = 1.0 },
        { .file = 1, .files = 1, .reads = SOURCE_IS, .is = 2.0, .fill = 0.5, .sd = 1.0 },
        { .file = 1, .files = 1, .reads = SOURCE_MISSING, .mean = 1.0, .sd = 1.0 },
    };
    const struct source_places p = { 2, 4, file, input, row };
    message_of(&m, &p, 0, SOME);
    ck_assert(places_read(&m.told, NULL, 0, SOME, x));
    for (size_t i = 0; i < SOME; i++) {
        const size_t r = row[i];
        ck_assert(x[4 * i] == (r % 5 == 0 ? 3.5 : (double)r / 2.0));
        ck_assert(x[4 * i + 1] == (r % 5 == 0));
        ck_assert(x[4 * i + 2] == (r % 4 == 3 ? 0.5 : (double)(r % 4 == 2)));
        ck_assert(x[4 * i + 3] == (r % 4 == 3 ? 0.0 : -1.0));
    }
    message_done(&m);
    support_rmdir(dir);
}
END_TEST

/* Files that are not as described, and descriptions that are none. */
START_TEST(not_there)
{
    char *dir = support_tmpdir();
    char name[4200];
    struct source_file file;
    struct source_input input[3];
    static double x[3 * ROWS];
    static size_t row[ROWS];
    struct message m;

    snprintf(name, sizeof name, "%s/array", dir);
    for (size_t r = 0; r < ROWS; r++)
        row[r] = r;
    for (uint32_t c = 0; c < 3; c++)
        input[c] = (struct source_input){ .files = 1, .column = c, .sd = 1.0 };
    file = write_array(name, 1, true, false, 0, ROWS);
    const struct source_places p = { 1, 3, &file, input, row };
    message_of(&m, &p, 0, ROWS);
    ck_assert(places_read(&m.told, NULL, 0, ROWS, x));
    ck_assert(!places_read(&m.told, NULL, 1, ROWS, x)); /* more than are listed */
    for (size_t cut = 0; cut < m.told.bytes; cut += 8) { /* every description cut off */
        struct places_told t = m.told;
        t.bytes = cut;
        ck_assert(!places_read(&t, NULL, 0, ROWS, x));
    }
    for (size_t i = 0; i < 8 * m.places.len; i++) { /* any bit: it ends, whatever is then read */
        m.places.s[i / 8] ^= (char)(1 << i % 8);
        places_read(&m.told, NULL, 0, 64, x);
        m.places.s[i / 8] ^= (char)(1 << i % 8);
    }
    ck_assert_int_eq(truncate(name, 10 + 3 * 8 * ROWS - 1), 0);
    ck_assert(!places_read(&m.told, NULL, 0, ROWS, x));
    ck_assert(places_read(&m.told, NULL, 0, ROWS / 2, x)); /* what is left can be read */
    ck_assert_int_eq(unlink(name), 0);
    ck_assert(!places_read(&m.told, NULL, 0, ROWS, x));
    ck_assert_int_eq(mkfifo(name, 0600), 0);
    ck_assert(!places_read(&m.told, NULL, 0, ROWS, x)); /* it does not wait for a writer */
    ck_assert_int_eq(unlink(name), 0);
    ck_assert_int_eq(mkdir(name, 0700), 0);
    ck_assert(!places_read(&m.told, NULL, 0, ROWS, x));
    message_done(&m);
    for (size_t r = 0; r < ROWS; r++)
        row[r] = r * 7919 % ROWS * 100; /* too scattered, and beyond the array */
    message_of(&m, &p, 0, ROWS);
    ck_assert(!places_read(&m.told, NULL, 0, ROWS, x));
    message_done(&m);
    support_rmdir(dir);
}
END_TEST

static uint64_t sum_of(size_t n, const double *x)
{
    uint64_t sum = 0;

    content_of_rows(NULL, n, 0, n, 1, x, &sum); /* so few rows are one segment */
    return sum;
}

/* A sum tells blocks apart that differ in a bit, in order or in length; that of a source is made in
 * other pieces, and the same. */
START_TEST(sums_differ)
{
    enum { COUNT = 64, MANY = 600 };
    static double x[COUNT], many[MANY], zeros[8];
    static uint64_t seen[COUNT * 64 + 1];
    struct source_array src;
    uint64_t bits, whole;
    size_t same = 0;
    struct err err;

    for (size_t i = 0; i < COUNT; i++)
        x[i] = rng_normal(5, RNG_TEST, i);
    seen[COUNT * 64] = sum_of(COUNT, x);
    for (size_t i = 0; i < COUNT * 64; i++) {
        const double before = x[i / 64];
        memcpy(&bits, &before, sizeof bits);
        bits ^= (uint64_t)1 << i % 64;
        memcpy(&x[i / 64], &bits, sizeof bits);
        seen[i] = sum_of(COUNT, x);
        x[i / 64] = before;
    }
    for (size_t i = 0; i <= COUNT * 64; i++)
        for (size_t j = 0; j < i; j++)
            same += seen[i] == seen[j];
    ck_assert_uint_eq(same, 0);
    ck_assert_uint_ne(sum_of(3, zeros), sum_of(4, zeros));
    for (size_t i = 0; i < MANY; i++)
        many[i] = (double)i;
    source_array_init(&src, many, MANY, 1, 1);
    ck_assert_int_eq(content_of_source(NULL, &src.base, &whole, &err), ST_OK);
    ck_assert_uint_eq(whole, sum_of(MANY, many));
    many[0] = 1.0, many[1] = 0.0;
    ck_assert_uint_ne(whole, sum_of(MANY, many));
}
END_TEST

/* Ranks. */

enum { N = 9000, D = 3, M = 64 };
static double X[N * D], one[M];

static uint64_t sent(void)
{
    struct ranks_one r;
    uint64_t sum = 0;

    for (size_t i = 0; ranks_at(i, &r); i++)
        sum += r.sent;
    return sum;
}

/* A pass over the rows, and the bytes that it needed. */
static uint64_t pass_over(const struct backend_ops *be, const struct source *src, double *W)
{
    const struct fop_opts o = { .precision = PREC_FLOAT };
    double hp[KERNEL_MAX_HP] = { 1.0 }, P[M];
    size_t from[KERNEL_MAX_HP];
    struct kernel k;
    struct err err = { 0 };
    const uint64_t before = sent();

    ck_assert_int_eq(kernel_parse("rbf", &k, hp, &err), ST_OK);
    ck_assert_int_eq(kernel_bind(&k, D, from, &err), ST_OK);
    hp[0] = 1.0;
    struct featmap *fm = featmap_new(&k, D, M, 5, &err);
    for (size_t j = 0; j < M; j++)
        P[j] = rng_normal(3, RNG_TEST, j);
    struct fop *f = fop_new(be, fm, src, &o, &err);
    ck_assert_msg(f && fop_set(f, hp, &err) == ST_OK, "%s", err.msg);
    ck_assert_msg(fop_pass(f, 1, P, W, NULL, &err) == ST_OK, "%s", err.msg);
    ck_assert(!fop_lost(f, NULL));
    fop_free(f);
    featmap_free(fm);
    return sent() - before;
}

static void as_one(const struct backend_ops *be, const struct source *src, uint64_t least,
                   uint64_t most)
{
    double W[M];
    const uint64_t bytes = pass_over(be, src, W);

    ck_assert(memcmp(W, one, sizeof W) == 0);
    ck_assert_msg(bytes >= least && bytes <= most, "%llu bytes were sent",
                  (unsigned long long)bytes);
}

static const struct backend_ops *team(size_t count, const char *hosts)
{
    const struct ranks_plan plan = { .count = count, .threads = 1, .hosts = hosts };
    const struct backend_ops *be = ranks_use(&plan);
    struct err err = { 0 };

    ck_assert_msg(ranks_start_for_tests(NULL, &err) == ST_OK, "%s", err.msg);
    return be;
}

static void make_rows(struct source_array *src)
{
    for (size_t i = 0; i < N * D; i++)
        X[i] = rng_normal(7, RNG_TEST, i);
    source_array_init(src, X, N, D, D);
    pass_over(backend_cpu(), &src->base, one);
}

/* Rows all, and little more than the requests. */
static const uint64_t all_rows = sizeof X, few = sizeof X / 8;

/* Ranks see the file: nothing is sent.  Another file there, one that was cut off, or none: rows are
 * sent, with the same bits. */
static void from_file(const char *hosts)
{
    char *dir = support_tmpdir();
    char name[4200];
    struct source_array src;
    struct source_input input[D];
    static size_t row[N];

    snprintf(name, sizeof name, "%s/rows", dir);
    make_rows(&src);
    write_file(name, X, sizeof X);
    const struct source_file file = { .path = name, .rows = N, .row = D * 8, .column = 8,
                                      .size = 8, .kind = 'f' };
    for (uint32_t c = 0; c < D; c++)
        input[c] = (struct source_input){ .files = 1, .column = c, .sd = 1.0 };
    for (size_t r = 0; r < N; r++)
        row[r] = r;
    const struct source_places p = { 1, D, &file, input, row };
    src.base.places = &p;
    as_one(team(3, hosts), &src.base, 1, few);
    ranks_end(false);
    X[N * D / 2] += 1e-9;
    write_file(name, X, sizeof X); /* a number in the middle is another one */
    X[N * D / 2] = rng_normal(7, RNG_TEST, N * D / 2);
    as_one(team(3, hosts), &src.base, sizeof X / 4, all_rows + few);
    ranks_end(false);
    write_file(name, X, sizeof X - 1);
    as_one(team(3, hosts), &src.base, sizeof X / 4, all_rows + few);
    ranks_end(false);
    ck_assert_int_eq(unlink(name), 0);
    as_one(team(3, hosts), &src.base, all_rows, all_rows + few);
    ck_assert_uint_eq(ranks_lost(NULL), 0);
    ranks_end(false);
    support_rmdir(dir);
}

START_TEST(read_by_ranks)
{
    from_file(NULL);
}
END_TEST

/* Rows that were sent stay for the next operators over rows with the same contents; those of two
 * sources do, and those of three do not. */
static void kept(const char *hosts)
{
    struct source_array src, other, third;
    static double Y[N * D], Z[N * D], W[M];

    make_rows(&src);
    memcpy(Y, X, sizeof Y);
    memcpy(Z, X, sizeof Z);
    Y[0] += 1.0, Y[N * D - 1] += 1.0; /* in the rows of the first rank and of the last */
    Z[0] += 2.0, Z[N * D - 1] += 2.0;
    source_array_init(&other, Y, N, D, D);
    source_array_init(&third, Z, N, D, D);
    const struct backend_ops *be = team(2, hosts);
    as_one(be, &src.base, all_rows, all_rows + few);
    as_one(be, &src.base, 1, few);
    ck_assert_uint_ge(pass_over(be, &other.base, W), all_rows);
    ck_assert(memcmp(W, one, sizeof W) != 0);
    as_one(be, &src.base, 1, few);
    ck_assert_uint_le(pass_over(be, &other.base, W), few);
    ck_assert_uint_ge(pass_over(be, &third.base, W), all_rows);
    as_one(be, &src.base, all_rows, all_rows + few);
    ranks_end(false);
}

START_TEST(kept_by_ranks)
{
    kept(NULL);
}
END_TEST

/* The same for a crew: of MPI, where it is there, and without it. */
START_TEST(crew)
{
    if (!support_crew((enum support_crew)_i))
        return;
    from_file("mpi:3");
    kept("mpi:2");
}
END_TEST

int main(int argc, char **argv)
{
    const int status = rank_called(argc, argv);

    if (status >= 0)
        return status;
    Suite *s = suite_create("places");
    TCase *t = tcase_create("places");

    blas_init();
    tcase_set_timeout(t, 120);
    tcase_add_loop_test(t, types_and_orders, 0, 4 * KINDS);
    tcase_add_test(t, levels_and_missing);
    tcase_add_test(t, not_there);
    tcase_add_test(t, sums_differ);
    tcase_add_test(t, read_by_ranks);
    tcase_add_test(t, kept_by_ranks);
    tcase_add_loop_test(t, crew, 0, SUPPORT_CREWS);
    suite_add_tcase(s, t);
    return support_run(s);
}
