/* tests/check_parts.c -- arrays in files: pairs, lists, numbers read in place, HDF5; every way in
 * which they can disagree, change or lie. */
#include "config.h"

#include "data/dataset.h"
#include "data/formats/import.h"
#include "data/kinds/nodes.h"
#include "data/formats/npy_set.h"
#include "base/limits.h"
#include "base/spill.h"
#include "support.h"

#include <check.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#ifdef HAVE_HDF5
#include <hdf5.h>
#endif

static struct err err;
static char *dir;

static const char *in_dir(void)
{
    return dir;
}

/* Bytes of arrays that this thread's work may have in memory. */
static void limit_arrays(size_t bytes)
{
    struct limits l = limits_now();

    l.arrays = bytes;
    limits_enter(l);
}

static void setup(void)
{
    dir = support_tmpdir();
    setenv("XDG_CACHE_HOME", dir, 1);
    spill_directory(in_dir);
    limit_arrays(0);
    memset(&err, 0, sizeof err);
}

static void teardown(void)
{
    limit_arrays(0);
    spill_directory(NULL);
    support_rmdir(dir);
}

/* Files. */

static double cell(size_t i, size_t j)
{
    return (double)((i * 7919 + j * 104729) % 100003) / 64.0 - 700.0; /* exact in float32 */
}

/* rows first..first+n of cell(), d columns; kind: f4 f8 i4. */
static void write_npy(const char *name, const char *kind, bool fortran, size_t first, size_t n,
                      size_t d, bool one_dim)
{
    FILE *f = fopen(support_path(dir, name), "wb");
    char head[129], shape[64];

    ck_assert_ptr_nonnull(f);
    memset(head, ' ', sizeof head);
    memcpy(head, "\x93NUMPY\x01\0\x76\0", 10);
    snprintf(shape, sizeof shape, one_dim ? "%zu," : "%zu, %zu", n, d);
    const int k = snprintf(head + 10, 118, "{'descr': '<%s', 'fortran_order': %s, 'shape': (%s), }",
                           kind, fortran ? "True" : "False", shape);
    head[10 + k] = ' ';
    head[127] = '\n';
    fwrite(head, 1, 128, f);
    for (size_t i = 0; i < n * d; i++) {
        const double x = fortran ? cell(first + i % n, i / n) : cell(first + i / d, i % d);
        const float x4 = (float)x;
        const int32_t xi = (int32_t)x;
        if (kind[0] == 'i')
            fwrite(&xi, sizeof xi, 1, f);
        else if (kind[1] == '4')
            fwrite(&x4, sizeof x4, 1, f);
        else
            fwrite(&x, sizeof x, 1, f);
    }
    fclose(f);
}

/* Rows, nodes, numbers, all of them cell(); and how many of the nodes each row has: 1 + i % 3, but
 * the last none. */
static void write_cube(const char *name, const char *lengths, size_t n)
{
    for (int k = 0; k < 2; k++) {
        FILE *f = fopen(support_path(dir, k ? lengths : name), "wb");
        char head[129];

        ck_assert_ptr_nonnull(f);
        memset(head, ' ', sizeof head);
        memcpy(head, "\x93NUMPY\x01\0\x76\0", 10);
        const int m =
            snprintf(head + 10, 118, "{'descr': '<%s', 'fortran_order': False, 'shape': (%zu%s), }",
                     k ? "i4" : "f8", n, k ? "," : ", 3, 2");
        head[10 + m] = ' ';
        head[127] = '\n';
        fwrite(head, 1, 128, f);
        for (size_t i = 0; i < (k ? n : 6 * n); i++) {
            const double x = cell(i / 6, i % 6);
            const int32_t len = i + 1 == n ? 0 : 1 + (int32_t)(i % 3);
            if (k)
                fwrite(&len, sizeof len, 1, f);
            else
                fwrite(&x, sizeof x, 1, f);
        }
        fclose(f);
    }
}

static void write_text(const char *name, const char *text)
{
    support_write(support_path(dir, name), text, strlen(text));
}

static struct table *open_as(const char *name, const char *target, const char *inputs)
{
    const struct import_opts o = { .header = -1, .target = target, .inputs = inputs };
    struct table *t = NULL;

    ck_assert_msg(import_file(support_path(dir, name), &o, NULL, &t, &err) == ST_OK, "%s: %s", name,
                  err.msg);
    return t;
}

static struct table *open_parts(const char *name, const char *target)
{
    return open_as(name, target, NULL);
}

/* Opening fails with this name, and the message has these words. */
static void refused(const char *name, const char *target, const char *which, const char *words)
{
    const struct import_opts o = { .header = -1, .target = target };
    struct table *t = NULL;

    memset(&err, 0, sizeof err);
    ck_assert_msg(import_file(support_path(dir, name), &o, NULL, &t, &err) != ST_OK, "%s was read",
                  name);
    ck_assert_ptr_null(t);
    ck_assert_msg(strcmp(err.name, which) == 0 && strstr(err.msg, words), "%s: error[%s]: %s", name,
                  err.name, err.msg);
}

static void assert_cells(const struct table *t, size_t n, size_t d, size_t targets)
{
    ck_assert_uint_eq(t->n, n);
    ck_assert_uint_eq(t->ncols, d + targets);
    ck_assert_uint_eq(t->targets, targets);
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < d; j++)
            ck_assert(column_at(&t->col[j], i) == cell(i, j));
        for (size_t j = 0; j < targets; j++)
            ck_assert(column_at(&t->col[d + j], i) == cell(i, j));
    }
}

/* Pairs and lists. */

START_TEST(rows_nodes_numbers_and_lengths)
{
    write_cube("cube.npy", "lengths.npy", 30);
    write_npy("y.npy", "f8", false, 0, 30, 1, true);
    struct import_opts o = { .header = -1 };
    char lengths[PATH_MAX];
    struct table *t = NULL;
    snprintf(lengths, sizeof lengths, "%s", support_path(dir, "lengths.npy"));
    o.lengths = lengths;
    o.target = "y.npy";
    ck_assert_msg(import_file(support_path(dir, "cube.npy"), &o, NULL, &t, &err) == ST_OK, "%s",
                  err.msg);
    ck_assert_uint_eq(t->n, 30);
    const struct nodes *q = t->col[0].held;
    ck_assert_ptr_nonnull(q);
    ck_assert_uint_eq(q->d, 2);
    for (size_t i = 0; i < 30; i++) {
        const size_t len = q->at[i + 1] - q->at[i] - 1;
        ck_assert_uint_eq(len, i == 29 ? 0 : 1 + i % 3);
        for (size_t j = 0; j < 2 * len; j++)
            ck_assert_double_eq(nodes_at(q, i)[j], cell(i, j));
    }
    ck_assert_double_eq(column_at(&t->col[1], 29), cell(29, 0));
    ck_assert_uint_eq(t->col[0].missing, 1);
    ck_assert_ptr_nonnull(
        strstr(t->notes, "warning[empty]: 1 set is without a node, first row 30: missing drop"));
    table_unref(t);
    write_cube("cube.npy", "short.npy", 29); /* one row less, and lengths of that many */
    t = NULL;
    ck_assert_int_ne(import_file(support_path(dir, "cube.npy"), &o, NULL, &t, &err), ST_OK);
    ck_assert_ptr_null(t);
}
END_TEST

START_TEST(a_file_of_inputs_and_one_of_targets)
{
    write_npy("X.npy", "f4", false, 0, 50, 3, false);
    write_npy("y.npy", "f8", false, 0, 50, 1, true);
    write_npy("t.npy", "f8", true, 0, 50, 2, false);
    struct table *t = open_parts("X.npy", "y.npy"); /* beside the inputs */
    assert_cells(t, 50, 3, 1);
    ck_assert_str_eq(t->col[0].name, "x1");
    ck_assert_str_eq(t->col[3].name, "y");
    struct dataset *d = dataset_new(t, NULL, NULL, &err);
    ck_assert_uint_eq(dataset_target(d), 3);
    ck_assert_uint_eq(dataset_inputs_for_tests(d), 3);
    dataset_unref(d);
    table_unref(t);
    t = open_parts("X.npy", support_path(dir, "t.npy"));
    assert_cells(t, 50, 3, 2);
    ck_assert_str_eq(t->col[4].name, "y2");
    d = dataset_new(t, NULL, NULL, &err);
    ck_assert_uint_eq(dataset_target(d), 3);
    ck_assert_int_eq(d->role[4], ROLE_TARGET);
    ck_assert_uint_eq(dataset_targets(d), 2);
    ck_assert_uint_eq(dataset_inputs_for_tests(d), 3);
    dataset_unref(d);
    table_unref(t);
    t = open_parts("X.npy", NULL); /* alone: its last column, as in any table */
    ck_assert_uint_eq(t->targets, 0);
    ck_assert_uint_eq(t->ncols, 3);
    table_unref(t);
}
END_TEST

/* Blocks of 20 rows, numbered so that 10 comes after 9. */
static void write_blocks(const char *before, const char *after, const char *kind, bool fortran)
{
    char name[64];

    for (size_t b = 0; b < 12; b++) {
        snprintf(name, sizeof name, "%s%s%zu%s%s.npy", before, *before ? "x_" : "", b,
                 *after ? "_x" : "", after);
        write_npy(name, kind, fortran, 20 * b, 20, 4, false);
        snprintf(name, sizeof name, "%s%s%zu%s%s.npy", before, *before ? "y_" : "", b,
                 *after ? "_y" : "", after);
        write_npy(name, "f8", false, 20 * b, 20, 1, b % 2 == 0);
    }
}

START_TEST(many_files)
{
    const bool in_place = _i & 1, fortran = _i & 2;
    struct table *t;

    limit_arrays(in_place ? 1000 : 0);
    write_blocks("./", "", _i & 4 ? "f8" : "f4", fortran);
    write_npy("other.npy", "f8", false, 0, 5, 1, false); /* pairs with nothing */
    t = open_parts(".", NULL);
    assert_cells(t, 240, 4, 1);
    ck_assert_int_eq(table_is_out(t), in_place);
    ck_assert_ptr_nonnull(strstr(t->decisions, "12 NPY files"));
    ck_assert_int_eq(strstr(t->decisions, "in place") != NULL, in_place);
    const uint64_t size = t->file_size;
    ck_assert_uint_eq(size, 24 * 128 + 240 * (4 * (_i & 4 ? 8 : 4) + 8));
    char sum[72];
    strcpy(sum, t->checksum);
    table_unref(t);

    t = open_parts("x_*.npy", "y_*.npy");
    assert_cells(t, 240, 4, 1);
    ck_assert_str_eq(t->checksum, sum);
    struct dataset *d = dataset_new(t, NULL, NULL, &err);
    ck_assert_ptr_null(strchr(d->name, '*'));
    dataset_unref(d);
    table_unref(t);
    t = open_parts("x_*.npy", NULL); /* the partners are found */
    assert_cells(t, 240, 4, 1);
    table_unref(t);

    write_text("list.txt", "# blocks\n\nx_0.npy, y_0.npy\nx_1.npy\ty_1.npy\r\nx_2.npy y_2.npy");
    t = open_parts("list.txt", NULL);
    assert_cells(t, 60, 4, 1);
    table_unref(t);
    write_text("inputs.txt", "x_0.npy\nx_1.npy\n");
    t = open_parts("inputs.txt", NULL);
    assert_cells(t, 40, 4, 1);
    table_unref(t);

    char files[600]; /* one after the other, in the order given; targets lie beside the inputs */
    snprintf(files, sizeof files, "x_0.npy,%s/x_1.npy,%s/x_2.npy", dir, dir);
    t = open_parts(files, NULL);
    assert_cells(t, 60, 4, 1);
    ck_assert_str_eq(strrchr(t->path, ','), strstr(t->path, "/x_2.npy") - strlen(dir) - 1);
    table_unref(t);
    t = open_parts(files, "y_0.npy,y_1.npy,y_2.npy");
    assert_cells(t, 60, 4, 1);
    table_unref(t);
    snprintf(files, sizeof files, "x_[0-9].npy,%s/x_1?.npy", dir);
    t = open_parts(files, "y_[0-9].npy,y_1?.npy");
    assert_cells(t, 240, 4, 1);
    table_unref(t);
}
END_TEST

START_TEST(other_names_that_pair)
{
    write_blocks("", "block", "f8", false);
    struct table *t = open_parts(".", NULL);
    assert_cells(t, 240, 4, 1);
    table_unref(t);
    write_npy("index.npy", "f8", false, 0, 20, 4, false); /* the x of a word's middle is none */
    t = open_parts("index.npy", NULL);
    ck_assert_uint_eq(t->targets, 0);
    table_unref(t);
    write_npy("max_1.npy", "f8", false, 0, 20, 4, false);
    write_npy("may_1.npy", "f8", false, 0, 20, 4, false);
    t = open_parts("max_*.npy", NULL);
    ck_assert_uint_eq(t->targets, 0);
    ck_assert_uint_eq(t->ncols, 4);
    table_unref(t);
}
END_TEST

START_TEST(what_does_not_fit_together)
{
    write_npy("x_1.npy", "f8", false, 0, 20, 4, false);
    write_npy("y_1.npy", "f8", false, 0, 19, 1, true);
    refused(".", NULL, "npy", "20 rows, its targets");
    write_npy("y_1.npy", "f8", false, 0, 20, 1, true);
    write_npy("x_2.npy", "f8", false, 0, 20, 3, false);
    refused("x_*.npy", NULL, "files", "no file of targets");
    refused("x_*.npy", "y_*.npy", "files", "2 files of inputs but 1 of targets");
    write_npy("y_3.npy", "f8", false, 0, 20, 1, true);
    refused("x_*.npy", "y_*.npy", "files", "are not a pair");
    write_npy("y_2.npy", "f8", false, 0, 20, 1, true);
    unlink(support_path(dir, "y_3.npy"));
    refused("x_*.npy", "y_*.npy", "npy", "3 columns, the files before it have 4");
    refused("z_*.npy", "y_*.npy", "files", "no file is named");
    refused("x_1.npy", "absent.npy", "files", "not there");
    refused("x_1.npy", "absent_*.npy", "files", "no file is named");
    write_text("x_2.npy", "1,2,3\n");
    refused("x_*.npy", "y_*.npy", "npy", "is no NPY file");
    write_text("list.txt", "x_1.npy y_1.npy\nx_2.npy\n");
    refused("list.txt", NULL, "list", "line 2");
    write_text("list.txt", "x_1.npy y_1.npy z.npy\n");
    refused("list.txt", NULL, "list", "line 1");
    write_text("list.txt", "x_1.npy y_1.npy\nx_9.npy y_9.npy\n");
    refused("list.txt", NULL, "io", "x_9.npy");
    write_text("list.txt", "x_1.npy y_1.npy\n");
    refused("list.txt", "y_1.npy", "usage", "leave target= out");
    char files[300];
    snprintf(files, sizeof files, "x_1.npy,%s/x_1.npy", dir);
    refused(files, "y_1.npy", "files", "2 files of inputs but 1 of targets");
    refused(files, "y_1.npy,absent.npy", "files", "not there");
    snprintf(files, sizeof files, "x_1.npy,%s/x_9.npy", dir);
    refused(files, "y_1.npy,y_1.npy", "io", "x_9.npy");
    mkdir(support_path(dir, "empty"), 0700);
    refused("empty", NULL, "directory", "without NPY files");
    write_npy("empty/a.npy", "f8", false, 0, 2, 1, true);
    refused("empty", NULL, "directory", "no two of them pair");
}
END_TEST

/* Lies in one file of several name the file, and where. */
START_TEST(lies_in_one_of_several)
{
    write_npy("x_1.npy", "f8", false, 0, 20, 4, false);
    write_npy("y_1.npy", "f8", false, 0, 20, 1, true);
    write_npy("x_2.npy", "f8", false, 20, 20, 4, false);
    write_npy("y_2.npy", "f8", false, 20, 20, 1, true);
    const char *x2 = support_path(dir, "x_2.npy");
    ck_assert_int_eq(truncate(x2, 128 + 20 * 32 - 1), 0);
    refused(".", NULL, "truncated",
            "x_2.npy: the header tells of 20 x 4 items of 8 bytes from byte 128, "
            "the file has 767 bytes");
    write_npy("x_2.npy", "f8", false, 20, 20, 4, false);
    FILE *f = fopen(support_path(dir, "x_2.npy"), "r+b");
    const double nan = NAN;
    fseek(f, 128 + (3 * 4 + 1) * 8, SEEK_SET);
    fwrite(&nan, sizeof nan, 1, f);
    fclose(f);
    refused(".", NULL, "not-finite", "x_2.npy row 4, column 2 (byte 232): nan");
    const struct import_opts o = { .header = -1, .missing = "nan" };
    struct table *t = NULL;
    ck_assert_int_eq(import_file(support_path(dir, "."), &o, NULL, &t, &err), ST_OK);
    ck_assert_uint_eq(t->missing, 1);
    ck_assert(isnan(column_at(&t->col[1], 23)));
    table_unref(t);
    f = fopen(support_path(dir, "x_2.npy"), "r+b");
    fseek(f, 10, SEEK_SET);
    fputs("{'descr': '|O', ", f);
    fclose(f);
    refused(".", NULL, "npy", "pickled");
}
END_TEST

/* Numbers in place. */

enum { BIG = 40000 };

static struct dataset *big_dataset(const char *kind, bool fortran, bool in_place)
{
    write_npy("X.npy", kind, fortran, 0, BIG, 5, false);
    write_npy("y.npy", "f8", false, 0, BIG, 1, true);
    limit_arrays(in_place ? 100000 : 0);
    struct table *t = open_parts("X.npy", "y.npy");
    ck_assert_int_eq(table_is_out(t), in_place);
    struct dataset *d = dataset_new(t, NULL, NULL, &err);
    table_unref(t);
    ck_assert_int_eq(split_random(d, 0.2, 0.0, 3, &err), ST_OK);
    return d;
}

START_TEST(rows_in_place_are_those_of_memory)
{
    static const char *const kinds[] = { "f4", "f8", "i4" };
    struct dataset *in = big_dataset(kinds[_i / 2], _i % 2, false);
    struct dataset *out = big_dataset(kinds[_i / 2], _i % 2, true);
    struct encoding a = { 0 }, b = { 0 };
    struct encoded ea, eb;
    size_t *rows, n;

    ck_assert_int_eq(dataset_rows(in, PART_TRAIN, &rows, &n, &err), ST_OK);
    limit_arrays(0);
    ck_assert_int_eq(encoding_fit(in, rows, n, &a, NULL, &err), ST_OK);
    ck_assert_int_eq(encode(&a, in->table, rows, n, true, &ea, &err), ST_OK);
    limit_arrays(100000);
    ck_assert_int_eq(encoding_fit(out, rows, n, &b, NULL, &err), ST_OK);
    ck_assert_int_eq(encode(&b, out->table, rows, n, true, &eb, &err), ST_OK);
    ck_assert(ea.x != NULL && eb.x == NULL);
    ck_assert_uint_eq(ea.n, eb.n);
    ck_assert_uint_eq(a.d, 5);
    for (size_t j = 0; j < a.d; j++)
        ck_assert(a.col[j].mean == b.col[j].mean && a.col[j].sd == b.col[j].sd);
    ck_assert_int_eq(memcmp(ea.y, eb.y, n * sizeof *ea.y), 0);
    double *x = malloc(n * 5 * sizeof *x);
    ck_assert_int_eq(eb.base.rows(&eb.base, 0, n, x, &err), ST_OK);
    ck_assert_int_eq(memcmp(ea.x, x, n * 5 * sizeof *x), 0);
    free(x);
    free(rows);
    encode_free(&ea);
    encode_free(&eb);
    encoding_free(&a);
    encoding_free(&b);
    dataset_unref(in);
    dataset_unref(out);
}
END_TEST

/* The moments against sums of another kind. */
START_TEST(moments_of_all_columns_at_once)
{
    struct dataset *d = big_dataset("f4", false, true);
    struct encoding e = { 0 };
    size_t *rows, n;

    ck_assert_int_eq(dataset_rows(d, PART_TRAIN, &rows, &n, &err), ST_OK);
    ck_assert_int_eq(encoding_fit(d, rows, n, &e, NULL, &err), ST_OK);
    for (size_t j = 0; j < 5; j++) {
        long double s = 0, q = 0;
        for (size_t i = 0; i < n; i++)
            s += cell(rows[i], j);
        s /= n;
        for (size_t i = 0; i < n; i++)
            q += (cell(rows[i], j) - s) * (cell(rows[i], j) - s);
        ck_assert(support_close(e.col[j].mean, (double)s, 1e-12));
        ck_assert(support_close(e.col[j].sd, (double)sqrtl(q / n), 1e-12));
    }
    free(rows);
    encoding_free(&e);
    dataset_unref(d);
}
END_TEST

/* Written to, replaced, cut short or removed while it is used: an error that names the file. */
START_TEST(files_that_change_while_in_use)
{
    struct dataset *d = big_dataset("f8", false, true);
    struct encoding e = { 0 };
    struct encoded x, other;
    size_t *rows, n;
    double *block = malloc(1000 * 5 * sizeof *block);
    const char *path = support_path(dir, "X.npy");

    ck_assert_int_eq(dataset_rows(d, PART_TRAIN, &rows, &n, &err), ST_OK);
    ck_assert_int_eq(encoding_fit(d, rows, n, &e, NULL, &err), ST_OK);
    ck_assert_int_eq(encode(&e, d->table, rows, n, true, &x, &err), ST_OK);
    ck_assert_int_eq(x.base.rows(&x.base, 0, 1000, block, &err), ST_OK);
    usleep(20000); /* the clock of the file system ticks */
    if (_i == 0) {
        ck_assert_int_eq(truncate(path, 4096), 0);
    } else if (_i == 1) {
        unlink(path);
    } else if (_i == 2) {
        FILE *f = fopen(path, "r+b");
        fseek(f, 5000, SEEK_SET);
        fputc(1, f);
        fclose(f);
    } else {
        write_npy("Z.npy", "f8", false, 1, BIG, 5, false);
        ck_assert_int_eq(rename(support_path(dir, "Z.npy"), path), 0);
    }
    enum status rc = ST_OK;
    for (size_t r = 0; r + 1000 <= n && rc == ST_OK; r += 1000)
        rc = x.base.rows(&x.base, r, r + 1000, block, &err);
    ck_assert_int_eq(rc, ST_IO);
    ck_assert_str_eq(err.name, "changed");
    ck_assert_msg(strstr(err.msg, _i == 0 ? "" : "X.npy") != NULL, "%s", err.msg);
    ck_assert_int_eq(encode(&e, d->table, rows, n, true, &other, &err), ST_IO);
    struct encoding again = { 0 };
    ck_assert_int_eq(encoding_fit(d, rows, n, &again, NULL, &err), ST_IO);
    ck_assert_ptr_nonnull(strstr(err.msg, "X.npy"));
    if (_i == 0) {
        double sum = 0;
        for (size_t i = 0; i < BIG; i++) /* a reader who does not ask gets zeros, no signal */
            sum += column_at(&d->table->col[0], i);
        ck_assert(isfinite(sum));
        ck_assert_uint_gt(spill_cut(), 0);
    }
    encode_free(&x);
    encoding_free(&e);
    dataset_unref(d);
    free(rows);
    free(block);
}
END_TEST

/* A column of another type beside those in place: the rest is shared, not copied. */
START_TEST(types_change_in_place)
{
    struct dataset *d = big_dataset("i4", false, true), *keep = dataset_snapshot(d, &err);
    size_t changed;

    limit_arrays(0);
    ck_assert_int_eq(dataset_set_type(d, "x2", "category", &changed, &err), ST_OK);
    ck_assert_uint_eq(changed, 1);
    ck_assert_int_eq(d->table->col[1].type, COL_CATEGORY);
    ck_assert_ptr_eq(d->table->col[0].in, keep->table->col[0].in);
    struct buf a = { 0 }, b = { 0 };
    table_cell(d->table, 12345, 1, &a);
    table_cell(keep->table, 12345, 1, &b);
    ck_assert_str_eq(buf_str(&a), buf_str(&b));
    buf_free(&a);
    buf_free(&b);
    dataset_unref(keep);
    ck_assert(column_at(&d->table->col[0], 777) == (double)(int32_t)cell(777, 0));
    dataset_unref(d);
}
END_TEST

/* HDF5. */

#ifdef HAVE_HDF5

static void put(hid_t f, const char *name, int rank, hsize_t n, hsize_t d, hid_t type, bool packed)
{
    const hsize_t dim[3] = { n, d, 2 }, chunk[3] = { n > 16 ? 16 : n, d, 2 };
    const hid_t space = H5Screate_simple(rank, dim, NULL), made = H5Pcreate(H5P_DATASET_CREATE);
    double *v = malloc(n * d * 2 * sizeof *v);

    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < d; j++)
            v[i * d + j] = cell(i, j);
    if (packed) {
        H5Pset_chunk(made, rank, chunk);
        H5Pset_deflate(made, 6);
    }
    const hid_t set = H5Dcreate2(f, name, type, space, H5P_DEFAULT, made, H5P_DEFAULT);
    ck_assert_int_ge(set, 0);
    if (rank < 3)
        ck_assert_int_ge(H5Dwrite(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, v), 0);
    H5Dclose(set);
    H5Pclose(made);
    H5Sclose(space);
    free(v);
}

static hid_t create(const char *name)
{
    ck_assert(support_module("GPDESK_HDF5_MODULE", "libgpdesk-hdf5.so"));
    return H5Fcreate(support_path(dir, name), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
}

START_TEST(hdf5_files)
{
    hid_t f = create("a.h5");
    put(f, "X", 2, 300, 4, H5T_NATIVE_FLOAT, _i);
    put(f, "labels", 1, 300, 1, H5T_NATIVE_DOUBLE, false);
    put(f, "cube", 3, 2, 2, H5T_NATIVE_DOUBLE, false);
    H5Fclose(f);
    struct table *t = open_parts("a.h5", NULL);
    assert_cells(t, 300, 4, 1);
    ck_assert_str_eq(t->col[4].name, "labels");
    ck_assert_ptr_nonnull(strstr(t->decisions, "HDF5"));
    ck_assert_int_eq(strncmp(t->checksum, "crc32:", 6), 0);
    table_unref(t);

    f = create("b.h5"); /* several: the names tell, or are asked for */
    H5Gclose(H5Gcreate2(f, "train", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    put(f, "train/x", 2, 300, 4, H5T_NATIVE_DOUBLE, _i);
    put(f, "train/y", 2, 300, 2, H5T_NATIVE_DOUBLE, false);
    put(f, "u", 1, 300, 1, H5T_NATIVE_DOUBLE, false);
    put(f, "v", 1, 300, 1, H5T_NATIVE_DOUBLE, false);
    put(f, "short", 1, 299, 1, H5T_NATIVE_DOUBLE, false);
    H5Fclose(f);
    t = open_as("b.h5", "/train/y", "train/x");
    assert_cells(t, 300, 4, 2);
    table_unref(t);
    t = open_as("b.h5", "u", NULL);
    assert_cells(t, 300, 4, 1);
    ck_assert_str_eq(t->col[4].name, "u");
    table_unref(t);
    t = open_as("b.h5", NULL, NULL); /* no telling target: the last column, as in any table */
    ck_assert_uint_eq(t->targets, 0);
    table_unref(t);
    refused("b.h5", "short", "hdf5", "299");
}
END_TEST

START_TEST(hostile_hdf5)
{
    hid_t f = create("none.h5");
    H5Fclose(f);
    refused("none.h5", NULL, "hdf5", "no dataset of numbers");
    f = create("two.h5");
    put(f, "a", 2, 10, 2, H5T_NATIVE_DOUBLE, false);
    put(f, "b", 2, 10, 2, H5T_NATIVE_DOUBLE, false);
    H5Fclose(f);
    refused("two.h5", NULL, "hdf5", "a (10 x 2), b (10 x 2)");
    const struct import_opts o = { .header = -1, .inputs = "c" };
    struct table *t = NULL;
    ck_assert_int_eq(import_file(support_path(dir, "two.h5"), &o, NULL, &t, &err), ST_FORMAT);
    ck_assert_ptr_nonnull(strstr(err.msg, "there is no dataset c"));

    f = create("bomb.h5"); /* never written: a few bytes that tell of terabytes */
    const hsize_t dim[2] = { (hsize_t)1 << 36, 4 }, chunk[2] = { 1024, 4 };
    const hid_t space = H5Screate_simple(2, dim, NULL), made = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_chunk(made, 2, chunk);
    H5Dclose(H5Dcreate2(f, "X", H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, made, H5P_DEFAULT));
    H5Pclose(made);
    H5Sclose(space);
    H5Fclose(f);
    refused("bomb.h5", NULL, "bomb", "refused");

    f = create("far.h5"); /* numbers in another file are not fetched */
    const hsize_t few[2] = { 4, 2 };
    const hid_t flat = H5Screate_simple(2, few, NULL), far = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_external(far, "/etc/passwd", 0, 64);
    H5Dclose(H5Dcreate2(f, "X", H5T_NATIVE_DOUBLE, flat, H5P_DEFAULT, far, H5P_DEFAULT));
    H5Pclose(far);
    H5Sclose(flat);
    H5Fclose(f);
    refused("far.h5", NULL, "hdf5", "no dataset of numbers");

    f = create("cut.h5");
    put(f, "X", 2, 500, 4, H5T_NATIVE_DOUBLE, true);
    H5Fclose(f);
    struct stat st;
    ck_assert_int_eq(stat(support_path(dir, "cut.h5"), &st), 0);
    char *bytes = malloc((size_t)st.st_size);
    FILE *in = fopen(support_path(dir, "cut.h5"), "rb");
    ck_assert_uint_eq(fread(bytes, 1, (size_t)st.st_size, in), (size_t)st.st_size);
    fclose(in);
    for (size_t cut = 8; cut < (size_t)st.st_size; cut += 97) {
        support_write(support_path(dir, "cut2.h5"), bytes, cut);
        struct table *none = NULL;
        ck_assert_int_ne(import_file(support_path(dir, "cut2.h5"), NULL, NULL, &none, &err), ST_OK);
        ck_assert_ptr_null(none);
    }
    free(bytes);
    write_text("packed.h5", "\x89HDF\r\n\x1a\n");
    refused("packed.h5", NULL, "hdf5", "damaged or cut short");
}
END_TEST

#endif

START_TEST(hdf5_without_its_module)
{
    write_text("a.h5", "\x89HDF\r\n\x1a\n");
#ifndef HAVE_HDF5
    refused("a.h5", NULL, "hdf5", "built without HDF5");
#endif
    setenv("GPDESK_HDF5_MODULE", support_path(dir, "a.h5"), 1);
    refused("a.h5", NULL, "hdf5", "a.h5 cannot be loaded");
}
END_TEST

int main(void)
{
    Suite *s = suite_create("parts");
    TCase *t = tcase_create("parts");

    tcase_set_timeout(t, 60);
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, rows_nodes_numbers_and_lengths);
    tcase_add_test(t, a_file_of_inputs_and_one_of_targets);
    tcase_add_loop_test(t, many_files, 0, 8);
    tcase_add_test(t, other_names_that_pair);
    tcase_add_test(t, what_does_not_fit_together);
    tcase_add_test(t, lies_in_one_of_several);
    tcase_add_loop_test(t, rows_in_place_are_those_of_memory, 0, 6);
    tcase_add_test(t, moments_of_all_columns_at_once);
    tcase_add_loop_test(t, files_that_change_while_in_use, 0, 4);
    tcase_add_test(t, types_change_in_place);
#ifdef HAVE_HDF5
    tcase_add_loop_test(t, hdf5_files, 0, 2);
    tcase_add_test(t, hostile_hdf5);
#endif
    tcase_add_test(t, hdf5_without_its_module);
    suite_add_tcase(s, t);
    return support_run(s);
}
