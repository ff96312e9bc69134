/* tests/check_dataset.c -- roles, types, splits, and the encoding held to plain formulas. */
#include "data/dataset.h"
#include "data/formats/import.h"
#include "data/json.h"
#include "base/mem.h"
#include "support.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct table *table_of(const char *text)
{
    struct table *t;
    struct err err = { 0 };
    ck_assert_msg(import_bytes_for_tests(text, strlen(text), NULL, &t, &err) == ST_OK, "%s",
                  err.msg);
    return t;
}

static struct dataset *data_of(const char *text, const char *target)
{
    struct table *t = table_of(text);
    struct err err = { 0 };
    struct dataset *d = dataset_new(t, NULL, target, &err);
    table_unref(t);
    ck_assert_msg(d != NULL, "%s", err.msg);
    return d;
}

static struct dataset *data_of_file(const char *path)
{
    const char *full = support_shared(path);
    if (full == NULL)
        exit(77);
    struct table *t;
    struct err err = { 0 };
    ck_assert_msg(import_file(full, NULL, NULL, &t, &err) == ST_OK, "%s", err.msg);
    struct dataset *d = dataset_new(t, NULL, NULL, &err);
    table_unref(t);
    ck_assert_ptr_nonnull(d);
    return d;
}

/* n rows of numbers and words in columns a, b, c, kind, y. */
static char *generated(size_t n, uint64_t seed)
{
    struct splitmix r;
    splitmix_init(&r, seed);
    struct buf b = { 0 };
    buf_puts(&b, "a,b,c,kind,y\n");
    for (size_t i = 0; i < n; i++)
        buf_printf(&b, "%.17g,%.17g,%d,%c,%.17g\n", splitmix_normal(&r),
                   1e6 + splitmix_normal(&r), (int)(splitmix_next(&r) % 5),
                   "uvw"[splitmix_next(&r) % 3], 10 + 3 * splitmix_normal(&r));
    return buf_take(&b);
}

/* Roles and types. */

START_TEST(names_come_from_paths)
{
    static const struct {
        const char *path, *name;
    } cases[] = { { "/x/kin40k/data.csv.gz", "kin40k" }, { "/x/sales.csv", "sales" },
                  { "/x/wine/train.npy", "wine" },       { "-", "stdin" },
                  { "/x/.hidden", ".hidden" },           { "demo:co2 n=3", "co2" },
                  { "/data.csv", "data" } };
    struct table *t = table_of("a,y\n1,2\n3,4\n");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct err err = { 0 };
        free(t->path);
        t->path = strdup(cases[i].path);
        struct dataset *d = dataset_new(t, NULL, NULL, &err);
        ck_assert_str_eq(d->name, cases[i].name);
        dataset_unref(d);
    }
    table_unref(t);
}
END_TEST

START_TEST(roles_are_guessed_and_said)
{
    struct buf b = { 0 };
    buf_puts(&b, "id,a,text,split,empty,y,label\n");
    for (int i = 0; i < 40; i++)
        buf_printf(&b, "%d,%d.5,w%d,%s,,%d,%s\n", i + 1, i * i % 7, i, i % 4 ? "train" : "test",
                   i % 9, i % 2 ? "yes" : "no");
    struct dataset *d = data_of(buf_str(&b), NULL);
    static const enum col_role want[] = { ROLE_ID, ROLE_INPUT, ROLE_SKIP, ROLE_SKIP, ROLE_SKIP,
                                          ROLE_TARGET, ROLE_INPUT };
    for (size_t j = 0; j < 7; j++)
        ck_assert_msg(d->role[j] == want[j], "column %zu is %s", j, dataset_role_name(d->role[j]));
    static const char *const said[] = { "note[id]: column 'id'", "note[skip]: column 'text'",
                                        "note[split-column]: column 'split'",
                                        "note[skip]: column 'empty'", "note[target]: " };
    for (size_t k = 0; k < 5; k++)
        ck_assert_msg(strstr(d->notes, said[k]) != NULL, "%s", said[k]);
    ck_assert_uint_eq(dataset_target(d), 5);
    ck_assert_uint_eq(dataset_inputs_for_tests(d), 3);
    dataset_unref(d);
    d = data_of("a,b,c,d,e\n1,2,3,4,5\n2,3,4,5,6\n", "b");
    ck_assert_uint_eq(dataset_target(d), 1);
    dataset_unref(d);
    buf_free(&b);
    struct err err = { 0 };
    struct table *t = table_of("alpha,beta\n1,2\n");
    ck_assert_ptr_null(dataset_new(t, NULL, "alphq", &err));
    ck_assert_int_eq(err.code, ST_NOT_FOUND);
    ck_assert_ptr_nonnull(strstr(err.hint, "alpha"));
    table_unref(t);
}
END_TEST

START_TEST(patterns_choose_columns)
{
    struct dataset *d =
        data_of("x1,x2,x30,z,y\n1,2,3,4,5\n2,3,4,5,6\n3,3,4,5,7\n4,1,1,1,1\n5,1,1,1,2\n", NULL);
    struct err err = { 0 };
    size_t n;
    ck_assert_int_eq(dataset_set_role(d, "x*", ROLE_SKIP, &n, &err), ST_OK);
    ck_assert_uint_eq(n, 3);
    ck_assert_int_eq(dataset_set_role(d, "x3*,x1", ROLE_INPUT, &n, &err), ST_OK);
    ck_assert_uint_eq(n, 2);
    ck_assert_int_eq(dataset_set_role(d, "x*", ROLE_WEIGHT, &n, &err), ST_USAGE);
    ck_assert_int_eq(dataset_set_role(d, "y,z", ROLE_TARGET, &n, &err), ST_OK);
    ck_assert_uint_eq(n, 1); /* y was one before */
    ck_assert_uint_eq(dataset_targets(d), 2);
    ck_assert_uint_eq(dataset_target(d), 3);
    ck_assert_int_eq(dataset_set_role(d, "z", ROLE_TARGET, &n, &err), ST_OK);
    ck_assert_uint_eq(n, 1); /* y is none any more */
    ck_assert_uint_eq(dataset_targets(d), 1);
    ck_assert_uint_eq(dataset_target(d), 3);
    ck_assert_int_eq(d->role[4], ROLE_INPUT);
    ck_assert_int_eq(dataset_set_role(d, "q*", ROLE_SKIP, &n, &err), ST_NOT_FOUND);
    ck_assert_int_eq(dataset_set_role(d, "x1,nope", ROLE_SKIP, &n, &err), ST_NOT_FOUND);
    ck_assert_int_eq(d->role[0], ROLE_INPUT); /* nothing was changed */
    dataset_unref(d);
    d = data_of("\"a,b\",*,y\n1,2,3\n2,3,5\n", NULL); /* names that look like patterns */
    ck_assert_int_eq(dataset_set_role(d, "a,b", ROLE_SKIP, &n, &err), ST_OK);
    ck_assert_uint_eq(n, 1);
    ck_assert_int_eq(d->role[0], ROLE_SKIP);
    ck_assert_int_eq(dataset_set_role(d, "*", ROLE_SKIP, &n, &err), ST_OK);
    ck_assert_uint_eq(n, 1);
    ck_assert_int_eq(d->role[1], ROLE_SKIP);
    dataset_unref(d);
}
END_TEST

/* Several targets: each with its own mean and sd; a row without one of them is no row. */
START_TEST(several_targets)
{
    struct dataset *d =
        data_of("a,u,b,v,w\n1,10,3,1,7\n2,20,1,2,8\n3,,2,4,9\n4,40,5,8,9\n5,50,4,,9\n", "v,u");
    struct err err = { 0 };
    struct encoding e, copy;
    struct encoded out;
    struct buf notes = { 0 };
    const size_t train[] = { 0, 1, 2, 3, 4 };
    size_t j;

    ck_assert_uint_eq(dataset_targets(d), 2);
    ck_assert_uint_eq(dataset_inputs_for_tests(d), 3);
    ck_assert_int_eq(encoding_fit(d, train, 5, &e, &notes, &err), ST_STATE); /* policy: error */
    ck_assert_ptr_nonnull(strstr(err.msg, "target 'u'"));
    d->missing = MISSING_DROP;
    buf_clear(&notes);
    ck_assert_int_eq(encoding_fit(d, train, 5, &e, &notes, &err), ST_OK);
    ck_assert_ptr_nonnull(strstr(buf_str(&notes), "2 of 5 training rows"));
    ck_assert_uint_eq(encoding_targets(&e), 2);
    ck_assert_str_eq(e.target, "u"); /* in the order of the table */
    ck_assert_str_eq(e.more[0].name, "v");
    ck_assert(support_close(e.ymean, 70.0 / 3.0, 1e-12) &&
              support_close(e.more[0].mean, 11.0 / 3.0, 1e-12)); /* rows 1, 2, 4 */
    ck_assert(support_close(e.more[0].sd, sqrt((1 + 4 + 64) / 3.0 - 121.0 / 9.0), 1e-12));
    ck_assert_int_eq(encoding_find(&e, "v", &j, &err), ST_OK);
    ck_assert_uint_eq(j, 1);
    ck_assert_int_eq(encoding_find(&e, "w", &j, &err), ST_NOT_FOUND);
    ck_assert_ptr_nonnull(strstr(err.hint, "u, v"));
    ck_assert_int_eq(encode(&e, d->table, NULL, 0, true, &out, &err), ST_OK);
    ck_assert_uint_eq(out.n, 3);
    ck_assert_uint_eq(out.t, 2);
    ck_assert_uint_eq(out.dropped, 2);
    ck_assert(out.yraw[2] == 40 && out.yraw[3 + 2] == 8);
    const struct encoding second = encoding_for(&e, 1);
    for (size_t i = 0; i < 3; i++) {
        ck_assert(support_close(out.y[i] * e.ysd + e.ymean, out.yraw[i], 1e-12));
        ck_assert(support_close(encoding_value(&second, out.y[3 + i]), out.yraw[3 + i], 1e-12));
    }
    encode_free(&out);
    char *json = encoding_to_json(&e, &err); /* as a session keeps it */
    ck_assert_int_eq(encoding_from_json(json, &copy, &err), ST_OK);
    ck_assert(copy.nmore == 1 && copy.more[0].mean == e.more[0].mean &&
              copy.more[0].sd == e.more[0].sd);
    ck_assert_str_eq(copy.more[0].name, "v");
    encoding_free(&copy);
    static const char *const bad[] = { "\"more\":[{\"name\":\"v\",\"mean\":1}]", "\"more\":[}]" };
    for (size_t i = 0; i < 2; i++) {
        struct buf b = { 0 };
        char *at = strstr(json, "\"more\":");
        buf_printf(&b, "%.*s%s%s", (int)(at - json), json, bad[i], strchr(at, ']') + 1);
        ck_assert_int_eq(encoding_from_json(buf_str(&b), &copy, &err), ST_FORMAT);
        encoding_free(&copy);
        buf_free(&b);
    }
    free(json);
    encoding_free(&e);
    d->yscale = Y_LOG; /* of every target */
    ck_assert_int_eq(encoding_fit(d, train, 5, &e, NULL, &err), ST_OK);
    ck_assert(support_close(e.more[0].mean, (0 + log(2) + log(8)) / 3.0, 1e-12));
    encoding_free(&e);
    buf_free(&notes);
    dataset_unref(d);
}
END_TEST

START_TEST(types_are_converted)
{
    struct dataset *d = data_of("a,w,y\n3,u,1\n1,v,2\n,u,3\n3,,4\n", NULL);
    struct dataset *before = dataset_snapshot(d, NULL);
    struct err err = { 0 };
    size_t n;
    ck_assert_int_eq(dataset_set_type(d, "a", "category", &n, &err), ST_OK);
    ck_assert_uint_eq(n, 1);
    const struct column *c = &d->table->col[0];
    ck_assert(c->type == COL_CATEGORY && c->nlevels == 2 && c->missing == 1);
    ck_assert_str_eq(c->level[0], "1");
    ck_assert_str_eq(c->level[c->code[3]], "3");
    ck_assert_int_eq(before->table->col[0].type, COL_REAL); /* a job's copy keeps its own */
    ck_assert(before->table->col[0].v[0] == 3.0);
    ck_assert_int_eq(dataset_set_type(d, "a", "real", &n, &err), ST_OK);
    ck_assert(d->table->col[0].v[1] == 1.0 && isnan(d->table->col[0].v[2]));
    ck_assert_int_eq(dataset_set_type(d, "w", "real", &n, &err), ST_STATE);
    ck_assert_ptr_nonnull(strstr(err.msg, "'w' holds 'u'"));
    ck_assert_int_eq(dataset_set_type(d, "a,w", "text", &n, &err), ST_OK);
    ck_assert_uint_eq(n, 2);
    ck_assert(d->table->col[1].text[3] == NULL);
    ck_assert_str_eq(d->table->col[1].text[1], "v");
    ck_assert_int_eq(d->role[1], ROLE_SKIP);
    ck_assert_int_eq(dataset_set_role(d, "w", ROLE_INPUT, &n, &err), ST_STATE);
    ck_assert_int_eq(dataset_set_type(d, "w", "category", &n, &err), ST_OK);
    ck_assert_int_eq(d->role[1], ROLE_INPUT);
    ck_assert_str_eq(d->table->col[2].name, "y");
    dataset_unref(before);
    dataset_unref(d);
}
END_TEST

/* Splits. */

static void expect_counts(const struct dataset *d, size_t train, size_t valid, size_t test)
{
    ck_assert_uint_eq(d->split.count[PART_TRAIN], train);
    ck_assert_uint_eq(d->split.count[PART_VALID], valid);
    ck_assert_uint_eq(d->split.count[PART_TEST], test);
    for (int p = 0; p < 3; p++) {
        size_t *rows, n;
        ck_assert_int_eq(dataset_rows(d, (enum part)p, &rows, &n, NULL), ST_OK);
        ck_assert_uint_eq(n, d->split.count[p]);
        for (size_t i = 1; i < n; i++)
            ck_assert_uint_gt(rows[i], rows[i - 1]);
        free(rows);
    }
}

START_TEST(splits_by_share)
{
    char *text = generated(1000, 1);
    struct dataset *d = data_of(text, NULL);
    struct err err = { 0 };
    expect_counts(d, 1000, 0, 0);
    ck_assert_int_eq(split_random(d, 0.2, 0.1, 7, &err), ST_OK);
    expect_counts(d, 700, 100, 200);
    ck_assert_str_eq(d->split.how, "test=20% valid=10% seed=7");
    uint8_t first[1000];
    memcpy(first, d->split.part, 1000);
    size_t early = 0;
    for (size_t i = 0; i < 500; i++)
        early += first[i] == PART_TEST;
    ck_assert(early > 70 && early < 130); /* 100 +- 4.5 sd of a hypergeometric: +-29 */
    struct dataset *copy = dataset_snapshot(d, &err);
    ck_assert_int_eq(split_random(d, 0.2, 0.1, 7, &err), ST_OK);
    ck_assert(memcmp(first, d->split.part, 1000) == 0);
    ck_assert_int_eq(split_random(d, 0.2, 0.1, 8, &err), ST_OK);
    ck_assert(memcmp(first, d->split.part, 1000) != 0);
    ck_assert(memcmp(first, copy->split.part, 1000) == 0);
    dataset_unref(copy);
    ck_assert_int_eq(split_ordered(d, 0.25, 0.0, &err), ST_OK);
    expect_counts(d, 750, 0, 250);
    ck_assert(d->split.part[749] == PART_TRAIN && d->split.part[750] == PART_TEST);
    ck_assert_int_eq(split_random(d, 1.0, 0.0, 1, &err), ST_RANGE);
    ck_assert_int_eq(split_random(d, 0.0, 0.0, 1, &err), ST_RANGE);
    ck_assert_int_eq(split_random(d, -0.1, 0.5, 1, &err), ST_RANGE);
    ck_assert_int_eq(split_random(d, NAN, 0.5, 1, &err), ST_RANGE);
    expect_counts(d, 750, 0, 250); /* a failure changes nothing */
    dataset_unref(d);
    free(text);
}
END_TEST

/* Rows set aside: as many as asked for train, fewer are some of the more, test rows stay; a copy
 * for a job, and all of them, come back as they were. */
START_TEST(fewer_rows_train)
{
    char *text = generated(1000, 1);
    struct dataset *d = data_of(text, NULL);
    struct err err = { 0 };
    uint8_t before[1000], many[1000];
    ck_assert_int_eq(split_random(d, 0.2, 0.1, 7, &err), ST_OK);
    memcpy(before, d->split.part, 1000);
    ck_assert_int_eq(split_train(d, 400, 3, &err), ST_OK);
    expect_counts(d, 400, 100, 200);
    ck_assert_uint_eq(d->split.count[PART_LEFT], 300);
    ck_assert_str_eq(d->split.how, "test=20% valid=10% seed=7 train=400");
    memcpy(many, d->split.part, 1000);
    ck_assert_int_eq(split_train(d, 100, 3, &err), ST_OK);
    expect_counts(d, 100, 100, 200);
    size_t early = 0;
    for (size_t i = 0; i < 1000; i++) {
        ck_assert(d->split.part[i] != PART_TRAIN || many[i] == PART_TRAIN);
        ck_assert((d->split.part[i] == PART_TEST) == (before[i] == PART_TEST));
        early += d->split.part[i] == PART_TRAIN && i < 500;
    }
    ck_assert(early > 28 && early < 72); /* 50 +- 4.5 sd */
    ck_assert_int_eq(split_train(d, 400, 4, &err), ST_OK);
    ck_assert(memcmp(many, d->split.part, 1000) != 0);
    ck_assert_int_eq(split_train(d, 5000, 3, &err), ST_OK);
    expect_counts(d, 700, 100, 200);
    ck_assert_int_eq(split_train(d, 0, 3, &err), ST_OK);
    ck_assert(memcmp(before, d->split.part, 1000) == 0);
    ck_assert_str_eq(d->split.how, "test=20% valid=10% seed=7");
    dataset_split_none(d);
    ck_assert_int_eq(split_train(d, 10, 3, &err), ST_OK); /* without a split, too */
    expect_counts(d, 10, 0, 0);
    ck_assert_str_eq(d->split.how, "train=10");
    ck_assert_int_eq(split_folds(d, 5, 1, &err), ST_OK);
    ck_assert_int_eq(split_train(d, 10, 3, &err), ST_STATE);
    dataset_unref(d);
    free(text);
}
END_TEST

START_TEST(folds_cover_every_row_once)
{
    char *text = generated(103, 2);
    struct dataset *d = data_of(text, NULL);
    struct err err = { 0 };
    ck_assert_int_eq(split_folds(d, 5, 3, &err), ST_OK);
    size_t seen[103] = { 0 };
    for (size_t k = 0; k < 5; k++) {
        size_t *in, *out, a, b;
        ck_assert_int_eq(dataset_fold_rows(d, k, true, &in, &a, &err), ST_OK);
        ck_assert_int_eq(dataset_fold_rows(d, k, false, &out, &b, &err), ST_OK);
        ck_assert_uint_eq(a + b, 103);
        ck_assert(a == 20 || a == 21);
        for (size_t i = 0; i < a; i++)
            seen[in[i]]++;
        free(in);
        free(out);
    }
    for (size_t i = 0; i < 103; i++)
        ck_assert_uint_eq(seen[i], 1);
    size_t *rows, n;
    ck_assert_int_eq(dataset_fold_rows(d, 5, true, &rows, &n, &err), ST_STATE);
    ck_assert_int_eq(split_folds(d, 104, 3, &err), ST_RANGE);
    ck_assert_int_eq(split_folds(d, 1, 3, &err), ST_RANGE);
    dataset_split_none(d);
    ck_assert_int_eq(dataset_fold_rows(d, 0, true, &rows, &n, &err), ST_STATE);
    dataset_unref(d);
    free(text);
}
END_TEST

START_TEST(masks_from_columns_and_files)
{
    struct dataset *d =
        data_of("a,m,w,y\n1,0,train,1\n2,1,TEST,2\n3,0,valid,3\n4,0,Validation,4\n", NULL);
    struct err err = { 0 };
    ck_assert_int_eq(split_column(d, NULL, "m", &err), ST_OK);
    expect_counts(d, 3, 0, 1);
    ck_assert_int_eq(d->role[1], ROLE_SPLIT);
    ck_assert_str_eq(d->split.how, "column=\"m\"");
    ck_assert_int_eq(split_column(d, NULL, "w", &err), ST_OK);
    expect_counts(d, 1, 2, 1);
    ck_assert_int_eq(d->role[1], ROLE_SKIP);
    ck_assert_int_eq(split_column(d, NULL, "a", &err), ST_FORMAT);
    ck_assert_ptr_nonnull(strstr(err.msg, "row 2: '2' is neither 0 nor 1"));
    ck_assert_int_eq(split_column(d, NULL, "q", &err), ST_NOT_FOUND);
    ck_assert_int_eq(split_column(d, NULL, "y", &err), ST_STATE);
    char *dir = support_tmpdir();
    const char *path = support_path(dir, "m.csv");
    support_write(path, "s\n0\n1\n1\n0\n", 10);
    ck_assert_int_eq(split_column(d, path, NULL, &err), ST_OK);
    expect_counts(d, 2, 0, 2);
    support_write(path, "s,t\n0,1\n1,1\n1,1\n", 16);
    ck_assert_int_eq(split_column(d, path, "s", &err), ST_FORMAT);
    ck_assert_str_eq(err.name, "rows");
    ck_assert_int_eq(split_column(d, path, NULL, &err), ST_USAGE);
    support_write(path, "s,t\n0,1\n1,1\n1,1\n1,1\n", 20);
    ck_assert_int_eq(split_column(d, path, "t", &err), ST_FORMAT);
    ck_assert_ptr_nonnull(strstr(err.msg, "no row for training"));
    ck_assert_int_eq(split_column(d, support_path(dir, "none"), "t", &err), ST_IO);
    expect_counts(d, 2, 0, 2);
    support_rmdir(dir);
    dataset_unref(d);
}
END_TEST

START_TEST(official_masks)
{
    struct dataset *d = data_of_file("data/kin40k/data.csv.gz");
    struct err err = { 0 };
    const char *mask = support_shared("data/kin40k/splits.csv.gz");
    ck_assert_ptr_nonnull(mask);
    ck_assert_str_eq(d->name, "kin40k");
    ck_assert_int_eq(split_column(d, mask, "split0", &err), ST_OK);
    expect_counts(d, 36000, 0, 4000);
    dataset_unref(d);
    d = data_of_file("data/pbm8mer/data.csv.gz");
    ck_assert_int_eq(split_column(d, NULL, "split", &err), ST_OK);
    expect_counts(d, 23027, 0, 9869);
    dataset_unref(d);
    d = data_of_file("data/fluorescence/data.csv.gz");
    ck_assert_int_eq(split_column(d, NULL, "split", &err), ST_OK);
    expect_counts(d, 21446, 5362, 27217);
    dataset_unref(d);
}
END_TEST

/* The encoding. */

struct fitted {
    struct dataset *d;
    struct encoding e;
    struct encoded train, test;
    struct buf notes;
};

static enum status fit(struct fitted *f, struct err *err)
{
    size_t *rows, n;
    f->notes = (struct buf){ 0 };
    f->train = f->test = (struct encoded){ 0 };
    *err = (struct err){ 0 };
    ck_assert_int_eq(dataset_rows(f->d, PART_TRAIN, &rows, &n, err), ST_OK);
    enum status rc = encoding_fit(f->d, rows, n, &f->e, &f->notes, err);
    if (rc == ST_OK)
        rc = encode(&f->e, f->d->table, rows, n, true, &f->train, err);
    free(rows);
    if (rc != ST_OK)
        return rc;
    ck_assert_int_eq(dataset_rows(f->d, PART_TEST, &rows, &n, err), ST_OK);
    rc = encode(&f->e, f->d->table, rows, n, true, &f->test, err);
    free(rows);
    return rc;
}

static void release(struct fitted *f)
{
    encoding_free(&f->e);
    encode_free(&f->train);
    encode_free(&f->test);
    buf_free(&f->notes);
}

START_TEST(standardised_on_training_rows)
{
    char *text = generated(400, 3);
    struct fitted f = { .d = data_of(text, NULL) };
    struct err err;
    ck_assert_int_eq(split_random(f.d, 0.25, 0.0, 1, &err), ST_OK);
    ck_assert_msg(fit(&f, &err) == ST_OK, "%s", err.msg);
    ck_assert_uint_eq(f.e.d, 6); /* a b c and three levels */
    ck_assert_uint_eq(f.train.n, 300);
    ck_assert_uint_eq(f.test.n, 100);
    /* Columns a, b, c and y: mean 0, variance 1 by long double sums. */
    for (size_t j = 0; j < 4; j++) {
        long double s = 0, q = 0;
        for (size_t i = 0; i < 300; i++) {
            long double z = j < 3 ? f.train.x[i * 6 + j] : f.train.y[i];
            s += z;
            q += z * z;
        }
        ck_assert(fabsl(s / 300) < 1e-10L); /* b: 1e6 +- 1 keeps ten digits */
        ck_assert(fabsl(q / 300 - 1) < 1e-10L);
    }
    /* The category as a whole: centred, variance one, equal distances. */
    long double q = 0;
    for (size_t i = 0; i < 300; i++)
        for (size_t j = 3; j < 6; j++)
            q += (long double)f.train.x[i * 6 + j] * f.train.x[i * 6 + j];
    ck_assert(fabsl(q / 300 - 1) < 1e-10L);
    /* Test rows: the training rows' numbers. */
    for (size_t i = 0; i < 100; i++) {
        size_t row = f.test.row[i];
        ck_assert(f.test.x[i * 6] == (f.d->table->col[0].v[row] - f.e.col[0].mean) / f.e.col[0].sd);
        ck_assert(f.test.yraw[i] == f.d->table->col[4].v[row]);
        ck_assert(support_close(encoding_value(&f.e, f.test.y[i]), f.test.yraw[i], 1e-14));
    }
    /* The source hands out the same rows, also after a move. */
    struct encoded moved = f.test;
    double x[12];
    ck_assert_int_eq(moved.base.rows(&moved.base, 3, 5, x, &err), ST_OK);
    ck_assert(memcmp(x, f.test.x + 18, sizeof x) == 0);
    release(&f);
    f.d->xscale = X_NONE;
    f.d->yscale = Y_NONE;
    ck_assert_int_eq(fit(&f, &err), ST_OK);
    ck_assert(f.train.x[1] == f.d->table->col[1].v[f.train.row[0]]);
    ck_assert(f.train.y[0] == f.train.yraw[0]);
    ck_assert(f.train.x[3] + f.train.x[4] + f.train.x[5] == 1.0);
    release(&f);
    dataset_unref(f.d);
    free(text);
}
END_TEST

START_TEST(constant_columns_cannot_blow_up)
{
    /* k: constant; e: constant but for rounding noise; r: tiny spread around zero and one extreme
     * test row; all extreme in the test row. */
    struct buf b = { 0 };
    buf_puts(&b, "k,e,r,m,y\n");
    for (int i = 0; i < 50; i++)
        buf_printf(&b, "3,%.17g,%.17g,0,%d\n", 0.1 * 3 + (i % 2 ? 0 : 5e-17), 1e-9 * (i % 5),
                   i % 7);
    buf_puts(&b, "1e6,1e6,1e6,1,3\n");
    struct fitted f = { .d = data_of(buf_str(&b), NULL) };
    struct err err;
    ck_assert_int_eq(split_column(f.d, NULL, "m", &err), ST_OK);
    ck_assert_msg(fit(&f, &err) == ST_OK, "%s", err.msg);
    ck_assert_uint_eq(f.e.d, 3);
    ck_assert(f.e.col[0].constant && f.e.col[1].constant && !f.e.col[2].constant);
    ck_assert_ptr_nonnull(strstr(buf_str(&f.notes), "note[constant]: 2 inputs do not vary"));
    ck_assert(f.test.x[0] == 0.0 && f.test.x[1] == 0.0);
    ck_assert(fabs(f.test.x[2]) <= 20.0);
    ck_assert_uint_eq(f.test.cut, 1);
    ck_assert_uint_eq(f.train.cut, 0);
    release(&f);
    dataset_unref(f.d);
    buf_free(&b);
}
END_TEST

START_TEST(gas_is_bounded)
{
    struct fitted f = { .d = data_of_file("data/gas/data.csv.gz") };
    struct err err;
    const char *mask = support_shared("data/gas/splits.csv.gz");
    for (int k = 0; k < 5; k++) {
        char column[24];
        snprintf(column, sizeof column, "split%d", k);
        ck_assert_int_eq(split_column(f.d, mask, column, &err), ST_OK);
        ck_assert_int_eq(fit(&f, &err), ST_OK);
        double most = 0.0;
        for (size_t i = 0; i < f.test.n * f.e.d; i++)
            most = fmax(most, fabs(f.test.x[i]));
        ck_assert(isfinite(most) && most < 500.0);
        release(&f);
    }
    dataset_unref(f.d);
}
END_TEST

START_TEST(missing_cells_follow_the_policy)
{
    static const char text[] =
        "a,w,m,y\n1,u,0,1\n2,,0,2\n,v,0,4\n9,u,0,8\n4,v,0,\n,u,1,3\n3,z,1,5\n3,u,1,6\n";
    struct fitted f = { .d = data_of(text, NULL) };
    struct err err;
    ck_assert_int_eq(split_column(f.d, NULL, "m", &err), ST_OK);
    ck_assert_int_eq(fit(&f, &err), ST_STATE);
    ck_assert_str_eq(err.name, "missing");
    ck_assert_ptr_nonnull(strstr(err.msg, "'a' is missing in 1 of the rows, first in row 3"));
    release(&f);
    f.d->missing = MISSING_MEAN; /* row 5 has no target: dropped in any case */
    ck_assert_msg(fit(&f, &err) == ST_OK, "%s", err.msg);
    ck_assert_uint_eq(f.train.n, 4);
    ck_assert_uint_eq(f.train.dropped, 1);
    ck_assert_uint_eq(f.e.d, 3);
    ck_assert(f.e.col[0].fill == 4.0); /* of 1 2 9 */
    ck_assert(f.train.x[2 * 3] == 0.0);
    ck_assert(f.train.x[1 * 3 + 1] == 0.0 &&
              f.train.x[1 * 3 + 2] == 0.0); /* missing word: the mean */
    ck_assert_uint_eq(f.test.missing_cells, 1);
    ck_assert_uint_eq(f.test.unseen_levels, 1);
    ck_assert(f.test.x[1 * 3 + 1] == 0.0 && f.test.x[1 * 3 + 2] == 0.0); /* never seen: the same */
    release(&f);
    f.d->missing = MISSING_MEDIAN;
    f.d->missing_flag = true;
    ck_assert_int_eq(fit(&f, &err), ST_OK);
    ck_assert_uint_eq(f.e.d, 5);
    ck_assert_int_eq(f.e.col[1].kind, ENC_MISSING);
    ck_assert(f.e.col[0].fill == 2.0);
    ck_assert(f.train.x[2 * 5 + 1] > 0.0 && f.train.x[1] < 0.0);
    release(&f);
    f.d->missing = MISSING_DROP;
    ck_assert_int_eq(fit(&f, &err), ST_OK);
    ck_assert_uint_eq(f.train.n, 2);
    ck_assert_uint_eq(f.train.row[1], 3);
    ck_assert_ptr_nonnull(strstr(buf_str(&f.notes), "3 of 5 training rows"));
    ck_assert_uint_eq(f.test.n, 1);
    ck_assert_uint_eq(f.test.dropped, 2);
    release(&f);
    dataset_unref(f.d);
    /* Nothing missing in training, an unseen word in test: an error under the default policy. */
    f.d = data_of("w,m,y\nu,0,1\nv,0,2\nu,0,3\nz,1,4\n", NULL);
    ck_assert_int_eq(split_column(f.d, NULL, "m", &err), ST_OK);
    ck_assert_int_eq(fit(&f, &err), ST_STATE);
    ck_assert_str_eq(err.name, "unseen");
    ck_assert_ptr_nonnull(strstr(err.msg, "row 4: 'z' in column 'w'"));
    release(&f);
    dataset_unref(f.d);
}
END_TEST

START_TEST(targets_that_cannot_be)
{
    struct fitted f = { .d = data_of("a,y\n1,3\n2,3\n3,3\n", NULL) };
    struct err err;
    ck_assert_int_eq(fit(&f, &err), ST_STATE);
    ck_assert_str_eq(err.name, "constant-target");
    release(&f);
    dataset_unref(f.d);
    static const char *const beyond[] = {
        "a,y\n1,2e200\n2,3e200\n3,1e200\n", "a,y\n1,2e-200\n2,3e-200\n3,0\n",
        "a,y\n1e250,1\n2,3\n3,2\n", "a,y\n1e-190,1\n2e-200,3\n3e-210,2\n"};
    for (size_t i = 0; i < sizeof beyond / sizeof *beyond; i++) {
        f.d = data_of(beyond[i], NULL);
        ck_assert_int_eq(fit(&f, &err), ST_STATE);
        ck_assert_str_eq(err.name, "magnitude");
        release(&f);
        dataset_unref(f.d);
    }
    f.d = data_of("a,y\n1e140,1e-140\n-1e140,3e-140\n3e139,2e-140\n", NULL);
    ck_assert_int_eq(fit(&f, &err), ST_OK);
    release(&f);
    dataset_unref(f.d);
    f.d = data_of("a,y\n1,3\n2,0\n3,5\n", NULL);
    f.d->yscale = Y_LOG;
    ck_assert_int_eq(fit(&f, &err), ST_STATE);
    ck_assert_str_eq(err.name, "log");
    release(&f);
    dataset_unref(f.d);
    f.d = data_of("a,w\n1,u\n2,v\n3,u\n", "w");
    ck_assert_int_eq(fit(&f, &err), ST_STATE);
    ck_assert_ptr_nonnull(strstr(err.msg, "holds words"));
    release(&f);
    dataset_unref(f.d);
    f.d = data_of("y\n1\n2\n3\n", NULL);
    ck_assert_int_eq(fit(&f, &err), ST_STATE);
    ck_assert_str_eq(err.name, "inputs");
    release(&f);
    dataset_unref(f.d);
}
END_TEST

START_TEST(logarithms_and_back)
{
    struct buf b = { 0 };
    buf_puts(&b, "a,y\n");
    for (int i = 1; i <= 60; i++)
        buf_printf(&b, "%d,%.17g\n", i, exp(0.1 * i));
    struct fitted f = { .d = data_of(buf_str(&b), NULL) };
    struct err err;
    f.d->yscale = Y_LOG;
    ck_assert_int_eq(fit(&f, &err), ST_OK);
    ck_assert(support_close(f.e.ymean, 3.05, 1e-12));
    ck_assert(support_close(f.train.y[0], (0.1 - 3.05) / f.e.ysd, 1e-12));
    /* Mean and sd of a log-normal, against Simpson's rule over the normal. */
    double m = 0.3, v = 0.2, mean, sd;
    encoding_unscale(&f.e, 1, &m, &v, &mean, &sd);
    long double s0 = 0, s1 = 0, s2 = 0;
    for (int k = 0; k <= 20000; k++) {
        long double z = -12.0L + 24.0L * k / 20000, w = (k % 2 ? 4 : 2) * expl(-z * z / 2);
        long double y = encoding_value(&f.e, (double)(m + sqrtl(v) * z));
        s0 += w;
        s1 += w * y;
        s2 += w * y * y;
    }
    ck_assert(support_close(mean, (double)(s1 / s0), 1e-9));
    ck_assert(support_close(sd, (double)sqrtl(s2 / s0 - s1 / s0 * (s1 / s0)), 1e-8));
    f.e.yscale = Y_STANDARD;
    encoding_unscale(&f.e, 1, &m, &v, &mean, &sd);
    ck_assert(support_close(mean, f.e.ymean + 0.3 * f.e.ysd, 1e-14));
    ck_assert(support_close(sd, sqrt(0.2) * f.e.ysd, 1e-14));
    release(&f);
    dataset_unref(f.d);
    buf_free(&b);
}
END_TEST

START_TEST(new_tables_are_matched_by_name)
{
    struct fitted f = { .d = data_of("a,w,k,y\n1,u,1,1\n2,v,2,2\n3,u,1,3\n4,v,3,1\n", NULL) };
    struct err err;
    size_t n;
    ck_assert_int_eq(dataset_set_type(f.d, "k", "category", &n, &err), ST_OK);
    ck_assert_int_eq(fit(&f, &err), ST_OK);
    ck_assert_uint_eq(f.e.d, 6);
    /* Other order, no target, a column more; k read as a number is still level "2". */
    struct table *t = table_of("k,extra,w,a\n2,9,v,2\n1,9,u,3\n");
    struct encoded x;
    ck_assert_msg(encode(&f.e, t, NULL, 0, true, &x, &err) == ST_OK, "%s", err.msg);
    ck_assert_ptr_null(x.y);
    ck_assert_uint_eq(x.n, 2);
    ck_assert(memcmp(x.x, f.train.x + 6, 6 * sizeof(double)) == 0);
    ck_assert(memcmp(x.x + 6, f.train.x + 12, 6 * sizeof(double)) == 0);
    encode_free(&x);
    table_unref(t);
    t = table_of("k,w\n2,v\n");
    ck_assert_int_eq(encode(&f.e, t, NULL, 0, false, &x, &err), ST_STATE);
    ck_assert_ptr_nonnull(strstr(err.msg, "no column 'a'"));
    table_unref(t);
    t = table_of("k,w,a\n2,v,word\n2,v,other\n");
    ck_assert_int_eq(encode(&f.e, t, NULL, 0, false, &x, &err), ST_STATE);
    ck_assert_ptr_nonnull(strstr(err.msg, "'a' holds words"));
    table_unref(t);
    t = table_of("k,w,a\n7,v,1\n");
    ck_assert_int_eq(encode(&f.e, t, NULL, 0, false, &x, &err), ST_STATE);
    ck_assert_str_eq(err.name, "unseen");
    table_unref(t);
    release(&f);
    dataset_unref(f.d);
}
END_TEST

static void same_encoding(const struct encoding *a, const struct encoding *b)
{
    ck_assert_uint_eq(a->d, b->d);
    ck_assert_str_eq(a->target, b->target);
    ck_assert(a->yscale == b->yscale && a->missing == b->missing);
    ck_assert(a->ymean == b->ymean && a->ysd == b->ysd);
    for (size_t j = 0; j < a->d; j++) {
        const struct enc_col *x = &a->col[j], *y = &b->col[j];
        ck_assert_str_eq(x->column, y->column);
        ck_assert(x->kind == y->kind && x->constant == y->constant);
        ck_assert(x->mean == y->mean && x->sd == y->sd && x->fill == y->fill &&
                  x->limit == y->limit);
        ck_assert((x->level == NULL) == (y->level == NULL));
        if (x->level != NULL)
            ck_assert_str_eq(x->level, y->level);
    }
}

START_TEST(encodings_are_stored_exactly)
{
    static const char text[] =
        "\"q\"\"\\\n\xe6\x97\xa5\xf0\x9f\x98\x80\x1b\x7f\xff\xed\xa0\x80\",w,y\n"
        "0.1,\xc3\xa9,1\n0.3333333333333333,\xc3,2\n1e-300,\"a\tb\",7\n,\xc3,9\n";
    struct fitted f = { .d = data_of(text, NULL) };
    struct err err;
    f.d->missing = MISSING_MEDIAN;
    f.d->missing_flag = true;
    ck_assert_msg(fit(&f, &err) == ST_OK, "%s", err.msg);
    char *json = encoding_to_json(&f.e, &err);
    struct encoding back, copy;
    ck_assert_msg(encoding_from_json(json, &back, &err) == ST_OK, "%s: %s", err.msg, json);
    same_encoding(&f.e, &back);
    ck_assert_int_eq(encoding_copy(&copy, &back, &err), ST_OK);
    same_encoding(&f.e, &copy);
    /* Cut anywhere, or with any byte changed: refused or read, never a crash. */
    char *bad = strdup(json);
    size_t len = strlen(json), refused = 0;
    struct encoding none;
    for (size_t i = 0; i < len; i++) {
        bad[i] = '\0';
        ck_assert_int_ne(encoding_from_json(bad, &none, &err), ST_OK);
        static const char other[] = "\"\\{}[],:0-e\x01u";
        for (size_t k = 0; other[k] != '\0'; k++) {
            bad[i] = other[k];
            if (encoding_from_json(bad, &none, &err) == ST_OK)
                encoding_free(&none);
            else
                refused++;
        }
        bad[i] = json[i];
    }
    ck_assert_uint_gt(refused, 4 * len);
    free(bad);
    free(json);
    encoding_free(&back);
    encoding_free(&copy);
    release(&f);
    dataset_unref(f.d);
}
END_TEST

/* Summaries. */

START_TEST(summaries_against_plain_formulas)
{
    struct table *t = table_of("v,w,x\n4,a,\n1,b,\n3,a,\n2,,\n10,c,\n,a,\n");
    struct err err = { 0 };
    struct col_summary s;
    ck_assert_int_eq(column_summary(t, 0, NULL, 0, &s, &err), ST_OK);
    ck_assert(s.n == 6 && s.missing == 1 && s.unique == 5 && s.unique_exact);
    ck_assert(s.mean == 4.0 && support_close(s.sd, sqrt(10.0), 1e-14));
    ck_assert(s.min == 1 && s.q25 == 2 && s.median == 3 && s.q75 == 4 && s.max == 10);
    ck_assert(s.bins[0] == 1 && s.bins[2] == 1 && s.bins[4] == 1 && s.bins[6] == 1 &&
              s.bins[19] == 1);
    ck_assert_int_eq(column_summary(t, 1, NULL, 0, &s, &err), ST_OK);
    ck_assert(s.missing == 1 && s.unique == 3);
    ck_assert_int_eq(column_summary(t, 2, NULL, 0, &s, &err), ST_OK);
    ck_assert(s.missing == 6 && s.unique == 0 && isnan(s.mean));
    const size_t rows[] = { 0, 1 };
    ck_assert_int_eq(column_summary(t, 0, rows, 2, &s, &err), ST_OK);
    ck_assert(s.median == 2.5 && s.q25 == 1.75 && s.max == 4); /* numpy.quantile */
    table_unref(t);
    /* Signs, zeros and magnitudes sort as numbers. */
    t = table_of("v\n-1e300\n0\n-0.0\n5e-324\n-2\n1e-5\n7\n-5e-324\n");
    ck_assert_int_eq(column_summary(t, 0, NULL, 0, &s, &err), ST_OK);
    ck_assert(s.min == -1e300 && s.max == 7 && s.unique == 7 && s.median == 0);
    table_unref(t);
}
END_TEST

START_TEST(leaks_are_suspected)
{
    struct buf b = { 0 }, notes = { 0 };
    struct splitmix r;
    splitmix_init(&r, 9);
    buf_puts(&b, "same,unit,order,level,fair,m,y\n");
    for (int i = 0; i < 200; i++) {
        int y = (int)(splitmix_next(&r) % 50);
        buf_printf(&b, "%d,%.17g,%.17g,%s,%.6g,%d,%d\n", y, 2.54 * y + 1, exp(0.1 * y),
                   y < 25 ? "low" : "high", splitmix_normal(&r), i % 10 == 0, y);
    }
    struct dataset *d = data_of(buf_str(&b), NULL);
    struct err err = { 0 };
    ck_assert_int_eq(split_column(d, NULL, "m", &err), ST_OK);
    ck_assert_int_eq(summary_leaks(d, true, &notes, &err), ST_OK);
    ck_assert_ptr_nonnull(strstr(buf_str(&notes), "input 'same' equals the target"));
    ck_assert_ptr_nonnull(strstr(buf_str(&notes), "input 'unit' is the target in other units"));
    ck_assert_ptr_nonnull(strstr(buf_str(&notes), "input 'order' orders the rows exactly"));
    ck_assert_ptr_null(strstr(buf_str(&notes), "'level'"));
    ck_assert_ptr_null(strstr(buf_str(&notes), "'fair'"));
    ck_assert_ptr_null(strstr(buf_str(&notes), "test rows"));
    dataset_unref(d);
    buf_clear(&b);
    buf_clear(&notes);
    buf_puts(&b, "alive,a,m,y\n");
    for (int i = 0; i < 60; i++)
        buf_printf(&b, "%s,%d,%d,%d\n", i % 3 ? "no" : "yes", i % 6, i >= 50, i % 3 == 0);
    d = data_of(buf_str(&b), NULL);
    ck_assert_int_eq(split_column(d, NULL, "m", &err), ST_OK);
    ck_assert_int_eq(summary_leaks(d, true, &notes, &err), ST_OK);
    ck_assert_ptr_nonnull(strstr(buf_str(&notes), "'alive' determines the target"));
    ck_assert_ptr_nonnull(strstr(buf_str(&notes), "10 of 10 test rows equal a training row"));
    buf_clear(&notes); /* a glance sees the columns and leaves the rows */
    ck_assert_int_eq(summary_leaks(d, false, &notes, &err), ST_OK);
    ck_assert_ptr_nonnull(strstr(buf_str(&notes), "'alive' determines the target"));
    ck_assert_ptr_null(strstr(buf_str(&notes), "test rows"));
    dataset_unref(d);
    buf_free(&b);
    buf_free(&notes);
}
END_TEST

START_TEST(exhaustion_is_an_error)
{
    static const char text[] = "a,w,m,y\n1,u,0,1\n2,,0,2\n,v,0,4\n9,u,0,8\n4,v,1,1\n";
    struct table *t = table_of(text);
    size_t failures = 0;
    for (size_t k = 1; k < 150; k++) {
        struct err err = { 0 };
        struct encoding e = { 0 };
        struct encoded x = { 0 };
        size_t *rows = NULL, n;
        char *json = NULL;
        mem_fail_after_for_tests(k);
        struct dataset *d = dataset_new(t, "d", NULL, &err);
        enum status rc = d == NULL ? err.code : split_random(d, 0.2, 0.0, 1, &err);
        if (rc == ST_OK) {
            d->missing = MISSING_MEDIAN;
            d->missing_flag = true;
            rc = dataset_rows(d, PART_TRAIN, &rows, &n, &err);
        }
        if (rc == ST_OK)
            rc = encoding_fit(d, rows, n, &e, NULL, &err);
        if (rc == ST_OK)
            rc = encode(&e, t, rows, n, true, &x, &err);
        if (rc == ST_OK && (json = encoding_to_json(&e, &err)) == NULL)
            rc = err.code;
        mem_fail_after_for_tests(0);
        ck_assert(rc == ST_OK || rc == ST_NOMEM);
        failures += rc != ST_OK;
        free(json);
        free(rows);
        encode_free(&x);
        encoding_free(&e);
        dataset_unref(d);
    }
    ck_assert_uint_gt(failures, 20);
    table_unref(t);
}
END_TEST

/* A value that is passed over has brackets that close each other. */
START_TEST(passed_over)
{
    static const char *const good[] = { "{\"a\":1}", "[]", "[{\"a\":[1,{\"b\":\"]}\"}]},2]", "7",
                                        " {\"a\": [ ] }" };
    static const char *const bad[] = { "{\"a\":1]", "[1}", "[{\"a\":1]}", "{\"a\":[1}", "[[1]", "]",
                                       "{\"a\":\"b}", "" };
    char deep[2002];

    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        struct json_reader r = { .p = good[i], .start = good[i] };
        ck_assert_int_eq(json_skip(&r), ST_OK);
        ck_assert_ptr_eq(r.p, good[i] + strlen(good[i]));
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct json_reader r = { .p = bad[i], .start = bad[i] };
        ck_assert_int_eq(json_skip(&r), ST_FORMAT);
    }
    for (size_t wrong = 0; wrong < 2; wrong++) {
        struct json_reader r = { .p = deep, .start = deep };
        memset(deep, '[', 1000);
        memset(deep + 1000, ']', 1000);
        strcpy(deep + 2000, "");
        deep[1700] = wrong ? '}' : ']';
        ck_assert_int_eq(json_skip(&r), wrong ? ST_FORMAT : ST_OK);
        ck_assert_uint_eq((size_t)(r.p - deep), wrong ? 1700 : 2000);
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("dataset");
    TCase *tc = tcase_create("dataset");
    tcase_set_timeout(tc, 120);
    const TTest *const tests[] = {
        names_come_from_paths, roles_are_guessed_and_said, patterns_choose_columns, several_targets,
        types_are_converted, splits_by_share, fewer_rows_train, folds_cover_every_row_once,
        masks_from_columns_and_files, official_masks, standardised_on_training_rows,
        constant_columns_cannot_blow_up, gas_is_bounded, missing_cells_follow_the_policy,
        targets_that_cannot_be, logarithms_and_back, new_tables_are_matched_by_name,
        encodings_are_stored_exactly, summaries_against_plain_formulas, leaks_are_suspected,
        exhaustion_is_an_error, passed_over,
    };
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
        tcase_add_test(tc, tests[i]);
    suite_add_tcase(s, tc);
    return support_run(s);
}
