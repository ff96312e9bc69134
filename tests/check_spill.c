/* tests/check_spill.c -- arrays that move to disk, tables kept in the cache: the same values as in
 * memory, whatever is damaged, full or missing. */
#include "data/cache.h"
#include "data/dataset.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/spill.h"
#include "support.h"

#include <check.h>
#include <dirent.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

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

static void limit_cache(uint64_t bytes)
{
    struct limits l = limits_now();

    l.cache = bytes;
    limits_enter(l);
}

static const char *nowhere(void)
{
    return "/nonexistent";
}

static void setup(void)
{
    dir = support_tmpdir();
    setenv("XDG_CACHE_HOME", dir, 1);
    spill_directory(in_dir);
    limit_arrays(0);
}

static void teardown(void)
{
    limit_arrays(0);
    spill_directory(NULL);
    support_rmdir(dir);
}

START_TEST(arrays_go_out_beyond_the_limit)
{
    limit_arrays((size_t)1 << 20);
    double *a = spill_array(100000, sizeof *a, "a", &err),
           *b = spill_array(100000, sizeof *b, "b", &err);
    ck_assert(a && b);
    ck_assert(!spill_is_out(a) && spill_is_out(b));
    ck_assert_uint_eq(spill_out_for_tests(), 800000);
    ck_assert(!spill_fits(4e5) && spill_fits(1e5));
    for (size_t i = 0; i < 100000; i++) {
        ck_assert(b[i] == 0.0);
        b[i] = (double)i;
    }
    spill_used((size_t)1 << 30); /* pages leave, values stay */
    for (size_t i = 0; i < 100000; i++)
        ck_assert(b[i] == (double)i);
    spill_free(a);
    spill_free(b);
    spill_free(NULL);
    ck_assert_uint_eq(spill_out_for_tests(), 0);
    ck_assert(spill_fits(1e6));
}
END_TEST

START_TEST(growing_arrays_move)
{
    void *p = NULL;
    size_t cap = 0;

    limit_arrays((size_t)1 << 20);
    for (size_t n = 1; n <= 300000; n = n * 3 / 2 + 1) {
        const size_t was = cap;
        ck_assert_int_eq(spill_grow(&p, &cap, n, sizeof(double), "a", &err), ST_OK);
        ck_assert(cap >= n);
        for (size_t i = 0; i < was; i++)
            ck_assert(((double *)p)[i] == (double)i);
        for (size_t i = was; i < cap; i++)
            ((double *)p)[i] = (double)i;
    }
    ck_assert(spill_is_out(p));
    spill_free(p);
    ck_assert(spill_fits((double)((size_t)1 << 20)));
}
END_TEST

START_TEST(no_disk_is_an_error)
{
    limit_arrays(1000);
    spill_directory(nowhere);
    ck_assert_ptr_null(spill_array(100000, 8, "the columns", &err));
    ck_assert_int_eq(err.code, ST_IO);
    ck_assert_ptr_nonnull(strstr(err.msg, "/nonexistent"));
    ck_assert_ptr_null(spill_array(SIZE_MAX / 4, 8, "the columns", &err));
    ck_assert_int_eq(err.code, ST_NOMEM);
    spill_directory(in_dir); /* more than any disk has */
    ck_assert_ptr_null(spill_array((size_t)1 << 52, 8, "the columns", &err));
    ck_assert_int_eq(err.code, ST_IO);
    ck_assert_ptr_nonnull(strstr(err.msg, "on disk"));
}
END_TEST

/* Tables. */

/* Enough rows for the cache (4 MB), with a category, text, a date, missing cells, bytes above 127.
 */
static char *big_csv(void)
{
    char *path = strdup(support_path(dir, "big.csv"));
    FILE *f = fopen(path, "w");

    fprintf(f, "id,a,b,kind,day,\"sm\xc3\xb6g,x\",y\n");
    for (int i = 0; i < 90000; i++)
        fprintf(f, "name%d,%d,%.6f,%s,2024-01-%02d,%s,%.6f\n", i * 7 % 90001, i, sin(i),
                i % 3 ? "up" : "down", i % 28 + 1, i % 50 ? "0.5" : "", cos(i));
    fclose(f);
    return path;
}

static void assert_same(const struct table *a, const struct table *b)
{
    ck_assert_uint_eq(a->n, b->n);
    ck_assert_uint_eq(a->ncols, b->ncols);
    ck_assert_uint_eq(a->missing, b->missing);
    ck_assert_str_eq(a->checksum, b->checksum);
    ck_assert_str_eq(a->decisions, b->decisions);
    ck_assert_str_eq(a->notes, b->notes);
    for (size_t j = 0; j < a->ncols; j++) {
        const struct column *x = &a->col[j], *y = &b->col[j];
        ck_assert_str_eq(x->name, y->name);
        ck_assert_int_eq(x->type, y->type);
        ck_assert(x->integers == y->integers && x->date == y->date && x->named == y->named);
        ck_assert_uint_eq(x->missing, y->missing);
        ck_assert_uint_eq(x->nlevels, y->nlevels);
        for (size_t i = 0; i < a->n; i += 1 + a->n / 5000) {
            struct buf u = { 0 }, v = { 0 };
            table_cell(a, i, j, &u);
            table_cell(b, i, j, &v);
            ck_assert_str_eq(buf_str(&u), buf_str(&v));
            buf_free(&u);
            buf_free(&v);
        }
    }
}

static struct table *import(const char *path)
{
    struct table *t = NULL;
    ck_assert_msg(import_file(path, NULL, NULL, &t, &err) == ST_OK, "%s", err.msg);
    return t;
}

static size_t kept(void)
{
    size_t n;
    uint64_t bytes;
    cache_size(&n, &bytes);
    ck_assert(n == 0 || bytes > 1000000);
    return n;
}

/* The file of an entry. */
static const char *inside(const char *name)
{
    static char path[1200];
    char base[400];
    snprintf(base, sizeof base, "%s/gpdesk/columns", dir);
    DIR *d = opendir(base);
    struct dirent *e;
    while ((e = readdir(d)) && *e->d_name == '.')
        ;
    snprintf(path, sizeof path, "%s/%s/%s", base, e->d_name, name);
    closedir(d);
    return path;
}

START_TEST(cache_gives_the_same_table)
{
    char *path = big_csv();
    limit_cache(0);
    struct table *plain = import(path);
    ck_assert_uint_eq(kept(), 0);
    limit_cache((uint64_t)1 << 30);
    struct table *first = import(path);
    ck_assert_uint_eq(kept(), 1);
    struct table *second = cache_find(first->path, &(struct import_opts){ .header = -1 }, NULL);
    ck_assert_ptr_nonnull(second);
    ck_assert_int_eq(second->duplicates, plain->duplicates);
    assert_same(plain, first);
    assert_same(plain, second);
    /* Other options, another time: other contents. */
    ck_assert_ptr_null(cache_find(first->path, &(struct import_opts){ .header = 1 }, NULL));
    const struct timespec later[2] = { { .tv_sec = 2000000000 }, { .tv_sec = 2000000000 } };
    ck_assert_int_eq(utimensat(AT_FDCWD, path, later, 0), 0);
    ck_assert_ptr_null(cache_find(first->path, &(struct import_opts){ .header = -1 }, NULL));
    table_unref(plain);
    table_unref(first);
    table_unref(second);
    free(path);
}
END_TEST

/* Mapped from the cache, and grown on disk: the same cells. */
START_TEST(tables_go_out)
{
    char *path = big_csv();
    limit_cache(0);
    struct table *plain = import(path);
    limit_arrays(1 << 20);
    struct table *grown = import(path);
    ck_assert(table_is_out(grown) && !table_is_out(plain));
    ck_assert_int_eq(grown->duplicates, -1);
    limit_cache((uint64_t)1 << 30);
    table_unref(import(path));
    struct table *mapped = cache_find(plain->path, &(struct import_opts){ .header = -1 }, NULL);
    ck_assert(mapped && table_is_out(mapped));
    assert_same(plain, grown);
    assert_same(plain, mapped);

    /* Rows encoded as they are asked for are those of the matrix. */
    struct dataset *d = dataset_new(plain, "d", "y", &err),
                   *o = dataset_new(mapped, "o", "y", &err);
    struct encoding enc = { 0 };
    struct encoded in, out;
    size_t *rows, n;
    d->missing = o->missing = MISSING_MEAN;
    ck_assert_int_eq(split_random(d, 0.2, 0.0, 3, &err), ST_OK);
    ck_assert_int_eq(dataset_rows(d, PART_TRAIN, &rows, &n, &err), ST_OK);
    limit_arrays(0);
    ck_assert_int_eq(encoding_fit(d, rows, n, &enc, NULL, &err), ST_OK);
    ck_assert_int_eq(encode(&enc, plain, rows, n, true, &in, &err), ST_OK);
    limit_arrays(1 << 20);
    ck_assert_int_eq(encode(&enc, mapped, rows, n, true, &out, &err), ST_OK);
    ck_assert(in.x != NULL && out.x == NULL);
    ck_assert_uint_eq(in.n, out.n);
    ck_assert_uint_eq(in.cut, out.cut);
    ck_assert_int_eq(memcmp(in.y, out.y, in.n * sizeof *in.y), 0);
    double *a = malloc(1000 * enc.d * sizeof *a), *b = malloc(1000 * enc.d * sizeof *b);
    for (size_t r = 0; r + 1000 <= in.n; r += 7919) {
        ck_assert_int_eq(in.base.rows(&in.base, r, r + 1000, a, NULL), ST_OK);
        ck_assert_int_eq(out.base.rows(&out.base, r, r + 1000, b, NULL), ST_OK);
        ck_assert_int_eq(memcmp(a, b, 1000 * enc.d * sizeof *a), 0);
    }
    free(a), free(b), free(rows);
    encode_free(&in);
    encode_free(&out);
    encoding_free(&enc);
    dataset_unref(d);
    dataset_unref(o);
    table_unref(plain);
    table_unref(mapped);
    table_unref(grown);
    free(path);
}
END_TEST

/* A mapped file of the cache that is cut short: an error where the rows are used. */
START_TEST(a_mapped_entry_is_cut_short)
{
    char *path = big_csv();
    limit_cache((uint64_t)1 << 30);
    table_unref(import(path));
    limit_arrays(1 << 20);
    struct table *t = import(path);
    ck_assert(table_is_out(t));
    struct dataset *d = dataset_new(t, "d", "y", &err);
    struct encoding enc = { 0 };
    struct encoded e, other;
    size_t *rows, n;
    double x[64];
    d->missing = MISSING_MEAN;
    ck_assert_int_eq(dataset_rows(d, PART_TRAIN, &rows, &n, &err), ST_OK);
    ck_assert_int_eq(encoding_fit(d, rows, n, &enc, NULL, &err), ST_OK);
    ck_assert_int_eq(encode(&enc, t, rows, n, true, &e, &err), ST_OK);
    ck_assert_uint_le(enc.d, 64);
    ck_assert_int_eq(e.base.rows(&e.base, n - 1, n, x, &err), ST_OK);
    ck_assert_int_eq(truncate(inside("c2.npy"), 4096), 0);
    spill_used((size_t)1 << 30); /* the pages leave, and cannot come back */
    ck_assert_int_eq(e.base.rows(&e.base, n - 1, n, x, &err), ST_IO);
    ck_assert_str_eq(err.name, "changed");
    ck_assert_uint_gt(spill_cut(), 0);
    encode_free(&e);
    for (int i = 0; i < 3; i++) /* also when all its pages are zeros by now */
        ck_assert_int_eq(encode(&enc, t, rows, n, true, &other, &err), ST_IO);
    encoding_free(&enc);
    ck_assert_int_eq(encoding_fit(d, rows, n, &enc, NULL, &err), ST_IO);
    struct table *again = import(path); /* the damage is a miss: a new entry */
    struct dataset *d2 = dataset_new(again, "d", "y", &err);
    d2->missing = MISSING_MEAN;
    ck_assert_int_eq(encoding_fit(d2, rows, n, &enc, NULL, &err), ST_OK);
    dataset_unref(d2);
    table_unref(again);
    encoding_free(&enc);
    dataset_unref(d);
    table_unref(t);
    free(rows);
    free(path);
}
END_TEST

/* Damage of every kind is a miss: the file is read again. */
START_TEST(damaged_entries_are_misses)
{
    static const char *const files[] = {"meta.npy", "words.npy", "c0.npy",
                                        "c1.npy",   "c3.npy",    "l3.npy"};
    static const struct import_opts opts = { .header = -1 };
    char *path = big_csv();
    limit_cache((uint64_t)1 << 30);
    struct table *plain = import(path);

    for (size_t i = 0; i < 6; i++)
        for (int how = 0; how < 3; how++) {
            ck_assert_uint_eq(kept(), 1);
            const char *file = inside(files[i]);
            struct stat st;
            ck_assert_msg(stat(file, &st) == 0, "%s", file);
            if (how == 0)
                ck_assert_int_eq(truncate(file, st.st_size / 2), 0);
            else if (how == 1)
                unlink(file);
            else {
                FILE *f = fopen(file, "r+");
                fseek(f, st.st_size - 1, SEEK_SET);
                const int c = fgetc(f);
                fseek(f, st.st_size - 1, SEEK_SET);
                fputc(c ^ 0x41, f);
                fclose(f);
            }
            struct table *t = cache_find(plain->path, &opts, NULL);
            ck_assert_msg(t == NULL, "%s, %d", files[i], how);
            t = import(path);
            assert_same(plain, t);
            table_unref(t);
        }
    table_unref(plain);
    free(path);
}
END_TEST

START_TEST(least_recently_used_goes)
{
    char *path = big_csv(), copy[2][300], command[1000];
    for (int i = 0; i < 2; i++) {
        snprintf(copy[i], sizeof copy[i], "%s/copy%d.csv", dir, i);
        snprintf(command, sizeof command, "cp %s %s", path, copy[i]);
        ck_assert_int_eq(system(command), 0);
    }
    limit_cache((uint64_t)12 << 20); /* two of them */
    table_unref(import(path));
    usleep(20000);
    table_unref(import(copy[0]));
    usleep(20000);
    table_unref(import(path)); /* used again */
    ck_assert_uint_eq(kept(), 2);
    usleep(20000);
    table_unref(import(copy[1]));
    ck_assert_uint_eq(kept(), 2);
    static const struct import_opts opts = { .header = -1 };
    struct table *t = cache_find(path, &opts, NULL);
    ck_assert_ptr_nonnull(t);
    table_unref(t);
    ck_assert_ptr_null(cache_find(copy[0], &opts, NULL));
    cache_trim((uint64_t)7 << 20); /* one of them */
    ck_assert_uint_eq(kept(), 1);
    free(path);
}
END_TEST

/* The same size and time, other bytes: read again. */
START_TEST(a_file_rewritten_in_place)
{
    char *path = big_csv();
    struct stat st;
    limit_cache((uint64_t)1 << 30);
    struct table *t = import(path);
    const double was = column_at(&t->col[1], 0);
    table_unref(t);
    ck_assert_int_eq(stat(path, &st), 0);
    FILE *f = fopen(path, "r+");
    char line[200];
    ck_assert_ptr_nonnull(fgets(line, sizeof line, f));
    const long at = ftell(f) + 6; /* of "name0,0,..": the second cell */
    fseek(f, at, SEEK_SET);
    fputc('7', f);
    fclose(f);
    const struct timespec same[2] = { st.st_atim, st.st_mtim };
    ck_assert_int_eq(utimensat(AT_FDCWD, path, same, 0), 0);
    t = import(path);
    ck_assert(was == 0.0 && column_at(&t->col[1], 0) == 7.0);
    table_unref(t);
    free(path);
}
END_TEST

/* Nothing can be kept: the table is read all the same, and a note says why. */
START_TEST(no_cache_is_said)
{
    char *path = big_csv(), columns[400];
    limit_cache((uint64_t)1 << 20);
    struct table *t = import(path);
    ck_assert_ptr_nonnull(strstr(t->notes, "note[cache]"));
    ck_assert_ptr_nonnull(strstr(t->notes, "larger than the cache"));
    table_unref(t);
    limit_cache((uint64_t)1 << 30);
    snprintf(columns, sizeof columns, "%s/gpdesk/columns", dir);
    rmdir(columns);
    support_write(columns, "in the way", 10); /* what root may not do either */
    t = import(path);
    ck_assert_uint_eq(t->n, 90000);
    ck_assert_ptr_nonnull(strstr(t->notes, "Not a directory"));
    table_unref(t);
    unlink(columns);
    ck_assert_uint_eq(kept(), 0);
    t = import(path);
    ck_assert_ptr_null(strstr(t->notes, "note[cache]"));
    ck_assert_uint_eq(kept(), 1);
    table_unref(t);
    free(path);
}
END_TEST

START_TEST(no_directory_is_said)
{
    char *path = big_csv();
    setenv("XDG_CACHE_HOME", "/proc/nowhere", 1);
    limit_cache((uint64_t)1 << 30);
    struct table *t = import(path);
    ck_assert_str_eq(cache_dir(), "");
    ck_assert_ptr_nonnull(strstr(t->notes, "no cache directory"));
    table_unref(t);
    free(path);
}
END_TEST

/* No room on the disk: a limit on the size of files makes a write fail half way. */
START_TEST(a_full_disk_is_said)
{
    char *path = big_csv();
    const struct rlimit small = { 400000, RLIM_INFINITY };
    signal(SIGXFSZ, SIG_IGN);
    limit_cache((uint64_t)1 << 30);
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &small), 0);
    struct table *t = import(path);
    ck_assert_uint_eq(t->n, 90000);
    ck_assert_ptr_nonnull(strstr(t->notes, "File too large"));
    ck_assert_uint_eq(kept(), 0); /* and nothing is left behind */
    table_unref(t);
    free(path);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("spill");
    TCase *t = tcase_create("spill");

    tcase_set_timeout(t, 120);
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, arrays_go_out_beyond_the_limit);
    tcase_add_test(t, growing_arrays_move);
    tcase_add_test(t, no_disk_is_an_error);
    tcase_add_test(t, cache_gives_the_same_table);
    tcase_add_test(t, tables_go_out);
    tcase_add_test(t, a_mapped_entry_is_cut_short);
    tcase_add_test(t, damaged_entries_are_misses);
    tcase_add_test(t, least_recently_used_goes);
    tcase_add_test(t, a_file_rewritten_in_place);
    tcase_add_test(t, no_cache_is_said);
    tcase_add_test(t, no_directory_is_said);
    tcase_add_test(t, a_full_disk_is_said);
    suite_add_tcase(s, t);
    return support_run(s);
}
