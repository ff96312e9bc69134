/* tests/check_sequence.c -- columns of sequences: alphabets, guesses, FASTA and the table joined to
 * it, and what the encodings make of a sequence. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "tests/support.h"

#include "data/dataset.h"
#include "data/formats/import.h"
#include "data/kinds/letters.h"
#include "data/kinds/nodes.h"
#include "data/kinds/distance.h"
#include "data/kinds/sequence.h"
#include "base/mem.h"
#include "compute/kernels/layers/fastconv.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct err err;

/* A table as `open` reads it. */
static struct table *opened_with(const char *text, struct import_opts o, enum status want)
{
    char *dir = support_tmpdir();
    const char *path = support_path(dir, "t.csv");
    struct table *t = NULL;

    o.header = -1;
    support_write(path, text, strlen(text));
    err = (struct err){ 0 };
    const enum status rc = import_file(path, &o, NULL, &t, &err);
    ck_assert_msg(rc == want, "%d: %s", (int)rc, err.msg);
    ck_assert((t != NULL) == (rc == ST_OK));
    support_rmdir(dir);
    return t;
}

static struct table *opened_as(const char *text, const char *types, const char *targets,
                               enum status want)
{
    return opened_with(text, (struct import_opts){ .types = types, .targets = targets }, want);
}

static struct table *opened(const char *text)
{
    return opened_as(text, NULL, NULL, ST_OK);
}

static const void *held(const struct table *t, const char *name)
{
    const size_t j = table_find(t, name);

    ck_assert_uint_ne(j, SIZE_MAX);
    ck_assert_int_eq(t->col[j].type, COL_HELD);
    return t->col[j].held;
}

/* Guesses. */

START_TEST(alphabets)
{
    static const struct {
        const char *csv;
        enum alphabet kind;
        const char *order;
        size_t least, most, unknown;
    } good[] = {
        {"sequence,y\nMKVLA,1\nMKV*AGG,2\nMWW,3\n", ALPHABET_PROTEIN, "ACDEFGHIKLMNPQRSTVWY", 3, 7,
         1},
        {"sequence,y\nACGTACGTAA,1\nacgtnacgtaacgtaa,2\n", ALPHABET_DNA, "ACGT", 10, 16, 1},
        {"seq,y\nACGUUUGCA,1\nACGU,2\n", ALPHABET_RNA, "ACGU", 4, 9, 0},
    };

    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        struct table *t = opened(good[i].csv);
        const struct sequences *s = held(t, t->col[0].name);
        size_t len;
        ck_assert_int_eq(s->kind, good[i].kind);
        ck_assert_str_eq(s->order, good[i].order);
        ck_assert_uint_eq(s->shortest, good[i].least);
        ck_assert_uint_eq(s->longest, good[i].most);
        ck_assert_uint_eq(s->unknown_rows, good[i].unknown);
        ck_assert(strstr(t->notes, "note[sequence]") != NULL);
        ck_assert((strstr(t->notes, "note[letters]") != NULL) == (good[i].unknown > 0));
        if (i == 1) /* capitals */
            ck_assert_str_eq(sequence_at(s, 1, &len), "ACGTNACGTAACGTAA");
        table_unref(t);
    }
}
END_TEST

START_TEST(guesses)
{
    /* long words of the letters of proteins are sequences whatever the name; short ones, words of
     * other letters, sentences and names are not */
    static const struct { const char *csv; bool is;
    } cases[] = {
        {"x,y\nMKVLAAGIVGMKVLAAGIVGMKVLA,1\nMKVLAAGIVGMKVLAAGIVGMKVLC,2\nMKVLAAGIVGMKVLAAGIVGMKVLD,"
         "3\n",
         true},
        {"x,y\nMKVLA,1\nMKVLC,2\nMKVLD,3\n", false},
        {"sequence,y\nfirst one,1\nsecond one,2\nthird one,3\n", false},
        {"sequence,y\n0x11,1\n0x12,2\n0x13,3\n", false},
        {"sequence,y\n1,1\n2,2\n3,3\n", false},
        {"x,y\nhttp://abcdefghijklmnopqrstu,1\nhttp://abcdefghijklmnopqrstv,2\nhttp://b,3\n",
         false},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct table *t = opened(cases[i].csv);
        ck_assert_int_eq(t->col[0].type == COL_HELD, cases[i].is);
        table_unref(t);
    }
    /* said: any letters, an alphabet of their own */
    struct table *t = opened_as("w,y\nabba,1\nabc,2\nbcd,3\n", "w=sequence", NULL, ST_OK);
    ck_assert_int_eq(((const struct sequences *)held(t, "w"))->kind, ALPHABET_OTHER);
    ck_assert_str_eq(((const struct sequences *)held(t, "w"))->order, "abcd");
    table_unref(t);
    t = opened_as("sequence,y\nMKVLA,1\nMKVLC,2\n", "sequence=text", NULL, ST_OK);
    ck_assert_int_eq(t->col[0].type, COL_TEXT);
    table_unref(t);
    /* a few blanks in DNA are mistakes; those of texts are letters, as all bytes are */
    opened_as("w,y\nACGT,1\nACGTACGTACGTACGTACGT AC,2\n", "w=sequence", NULL, ST_FORMAT);
    ck_assert(strstr(err.msg, "row 2") != NULL);
    t = opened_as("w,y\nab b,1\nab\xc3\xa9 c,2\n", "w=sequence", NULL, ST_OK);
    ck_assert_int_eq(((const struct sequences *)held(t, "w"))->kind, ALPHABET_OTHER);
    ck_assert_str_eq(((const struct sequences *)held(t, "w"))->order, " abc\xa9\xc3");
    ck_assert_ptr_nonnull(strstr(t->notes, "6 letters ( abc and 2 other bytes), length 4 to 6"));
    table_unref(t);
    /* labels of nodes */
    t = opened_as("w,y\n0 0 1,1\n2,2\n1 2 0 0,3\n", "w=sequence", NULL, ST_OK);
    size_t len;
    ck_assert_str_eq(((const struct sequences *)held(t, "w"))->order, "012");
    ck_assert_str_eq(sequence_at(held(t, "w"), 2, &len), "1200");
    table_unref(t);
    t = opened("node_labels,n_nodes,y\n0 0 1,3,1\n2,1,2\n1 2 0 0,4,3\n"); /* by name, every cell and
                                                                             their number */
    ck_assert_str_eq(((const struct sequences *)held(t, "node_labels"))->order, "012");
    table_unref(t);
    t = opened("node_labels,n_nodes,y\n0 0 1,3,1\n2,1,2\n1 2 0 0,5,3\n");
    ck_assert_int_ne(t->col[0].type, COL_HELD);
    table_unref(t);
    t = opened("node_labels,y\n0 0  1,1\n2,2\n1 2 0 0,3\n");
    ck_assert_int_ne(t->col[0].type, COL_HELD);
    table_unref(t);
    t = opened("node_labels,y\nC Cl O,1\nCl,2\nO C O 12,3\n"); /* words: a number for each */
    const struct nodes *o = held(t, "node_labels");
    ck_assert_ptr_nonnull(o);
    ck_assert_uint_eq(o->n, 8);
    ck_assert_uint_eq(o->d, 4);
    ck_assert_str_eq(o->name[2], "label=Cl");
    const double *v = nodes_at(o, 2);
    for (size_t k = 0; k < 16; k++) /* 12 C Cl O */
        ck_assert(v[k] == (k == 3 || k == 5 || k == 11 || k == 12 ? 1.0 : 0.0));
    table_unref(t);
}
END_TEST

START_TEST(roles)
{
    struct table *t =
        opened("id,sequence,count,target,split\n1,MKVLA,3,0.5,train\n2,MKVLC,4,1.5,test\n"
               "3,MKVLD,4,2.5,train\n4,MKVLE,4,3.5,train\n");
    struct dataset *d = dataset_new(t, "d", NULL, &err);
    size_t n;

    ck_assert_ptr_nonnull(d);
    static const enum col_role want[] = { ROLE_ID, ROLE_INPUT, ROLE_SKIP, ROLE_TARGET, ROLE_SKIP };
    for (size_t j = 0; j < 5; j++)
        ck_assert_int_eq(d->role[j], want[j]);
    ck_assert(strstr(d->notes, "note[cols]") != NULL && strstr(d->notes, "'count'") != NULL);
    /* another target does not let the first one in */
    ck_assert_int_eq(dataset_set_role(d, "count", ROLE_TARGET, &n, &err), ST_OK);
    ck_assert_int_eq(d->role[3], ROLE_SKIP);
    ck_assert_int_eq(dataset_set_role(d, "sequence", ROLE_TARGET, &n, &err), ST_STATE);
    /* there and back */
    ck_assert_int_eq(dataset_set_type(d, "sequence", "text", &n, &err), ST_OK);
    ck_assert_int_eq(d->table->col[1].type, COL_TEXT);
    ck_assert_int_eq(dataset_set_type(d, "sequence", "sequence", &n, &err), ST_OK);
    ck_assert_uint_eq(((const struct sequences *)held(d->table, "sequence"))->longest, 5);
    ck_assert_int_eq(dataset_set_type(d, "count", "sequence", &n, &err), ST_STATE);
    dataset_unref(d);
    table_unref(t);
}
END_TEST

/* FASTA. */

static const char records[] =
    ">a first of all\r\nMKV\r\nLAA\r\n\r\n>b\nMK VL\n;comment\nC\n>c\n>d none\nMKWW";

START_TEST(fasta)
{
    struct table *t = opened(records);
    const struct sequences *s = held(t, "sequence");
    size_t len;

    ck_assert_uint_eq(t->n, 4);
    ck_assert_uint_eq(t->ncols, 3);
    ck_assert_str_eq(t->col[0].text[0], "a");
    ck_assert_str_eq(t->col[1].text[0], "first of all");
    ck_assert_ptr_null(t->col[1].text[1]);
    ck_assert_str_eq(sequence_at(s, 0, &len), "MKVLAA");
    ck_assert_str_eq(sequence_at(s, 1, &len), "MKVLC");
    ck_assert_str_eq(sequence_at(s, 2, &len), "");
    ck_assert_str_eq(sequence_at(s, 3, &len), "MKWW");
    ck_assert_uint_eq(t->col[2].missing, 1);
    ck_assert(strstr(t->notes,
                     "warning[empty]: 1 record is without a letter, first row 3 ('c', line 9)") !=
              NULL);
    table_unref(t);
    opened_as(">a\nMK\n>bad\nM\n7K\n", NULL, NULL, ST_FORMAT);
    ck_assert(strstr(err.msg, "line 5") != NULL && strstr(err.msg, "'bad'") != NULL);
}
END_TEST

START_TEST(fasta_with_targets)
{
    char *dir = support_tmpdir();
    const char *csv = support_path(dir, "y.csv");
    static const char table[] = "name,y,kind\nd,4,u\nnobody,9,u\na,1,v\nb,2,v\n";
    static const char twice[] = "name,y\na,4\na,5\n", others[] = "name,y\nq,4\nr,5\n";

    support_write(csv, table, sizeof table - 1);
    struct table *t = opened_as(records, NULL, csv, ST_OK);
    const size_t y = table_find(t, "y"), k = table_find(t, "kind");
    ck_assert_uint_eq(t->ncols, 5);
    ck_assert(t->col[y].v[0] == 1.0 && t->col[y].v[1] == 2.0 && isnan(t->col[y].v[2]) &&
              t->col[y].v[3] == 4.0);
    ck_assert_str_eq(column_word(&t->col[k], 3), "u");
    ck_assert_ptr_null(column_word(&t->col[k], 2));
    ck_assert(strstr(t->notes, "1 record has no row in the table, first row 3 ('c', line 9)") !=
              NULL);
    ck_assert(strstr(t->notes, "1 row of the table has no record, first row 2 ('nobody')") != NULL);
    table_unref(t);
    support_write(csv, twice, sizeof twice - 1);
    opened_as(records, NULL, csv, ST_FORMAT);
    ck_assert(strstr(err.msg, "'a'") != NULL && strstr(err.msg, "twice") != NULL);
    support_write(csv, others, sizeof others - 1);
    opened_as(records, NULL, csv, ST_FORMAT);
    opened_as("a,y\n1,2\n", NULL, csv, ST_USAGE);
    support_rmdir(dir);
}
END_TEST

/* Letters outside the alphabet: as they are, as missing, or not at all. */
START_TEST(unknown_letters)
{
    static const char text[] = "sequence,y\nMKVLA,1\nMXVLA,2\nMKVLAWY,3\nMK-LA,4\nMKV,5\n";
    static const char *const left[] = { "MKVLA", "", "MKVLAWY", "", "MKV" };
    struct table *t = opened(text);
    size_t len;

    ck_assert_uint_eq(((const struct sequences *)held(t, "sequence"))->unknown_rows, 2);
    ck_assert_uint_eq(t->missing, 0);
    ck_assert_ptr_nonnull(
        strstr(t->notes,
               "note[letters]: 2 sequences hold letters outside the alphabet (X-), first row 2:"));
    table_unref(t);
    t = opened_with(text, (struct import_opts){ .unknown = "missing" }, ST_OK);
    const struct sequences *s = held(t, "sequence");
    for (size_t i = 0; i < 5; i++) {
        ck_assert_str_eq(sequence_at(s, i, &len), left[i]);
        ck_assert_uint_eq(len, strlen(left[i]));
    }
    ck_assert(s->unknown_rows == 0 && s->shortest == 3 && s->longest == 7 && s->common == 3);
    ck_assert(t->missing == 2 && t->col[0].missing == 2);
    ck_assert_ptr_nonnull(
        strstr(t->notes,
               "warning[letters]: 2 sequences with letters outside the alphabet count as missing"));
    table_unref(t);
    opened_with(text, (struct import_opts){ .unknown = "stop" }, ST_FORMAT);
    ck_assert_ptr_nonnull(
        strstr(err.msg, "row 2: letter 2 of column 'sequence', 'X', is not one of protein"));
    ck_assert_ptr_nonnull(strstr(err.msg, "2 rows have such"));
    t = opened_with("sequence,y\nMKVLA,1\nMKWW,2\n", (struct import_opts){.unknown = "stop"},
                    ST_OK);
    table_unref(t);
}
END_TEST

/* Names that repeat, in the table and among the records; partners that lack. */
START_TEST(repeated_names)
{
    static const char two[] = ">a\nMKV\n>b\nMKL\n>a\nMKI\n>c\nMKA\n";
    static const char table[] = "name,y,z,kind\nb,1,2,u\nb,3,,v\nb,8,7,w\na,5,5,x\nc,,,y\nc,,,z\n";
    char *dir = support_tmpdir();
    const char *csv = support_path(dir, "y.csv");

    support_write(csv, table, sizeof table - 1);
    opened_with(two, (struct import_opts){ .targets = csv }, ST_FORMAT);
    ck_assert_ptr_nonnull(strstr(err.msg, "'b' stands in column 'name' twice (rows 1 and 2)"));
    struct table *t =
        opened_with(two, (struct import_opts){.targets = csv, .twice = "mean"}, ST_OK);
    const size_t y = table_find(t, "y"), z = table_find(t, "z"), kind = table_find(t, "kind");
    ck_assert(t->col[y].v[0] == 5.0 && t->col[y].v[1] == 4.0 && t->col[y].v[2] == 5.0 &&
              isnan(t->col[y].v[3]));
    ck_assert(t->col[z].v[1] == 4.5 && isnan(t->col[z].v[3])); /* of those that are there */
    ck_assert_str_eq(column_word(&t->col[kind], 1), "u");
    ck_assert_uint_eq(t->missing, 2);
    ck_assert_ptr_nonnull(
        strstr(t->notes,
               "warning[twice]: 3 rows of the table repeat a name, first row 2 ('b', of row 1)"));
    ck_assert_ptr_nonnull(
        strstr(t->notes,
               "warning[twice]: 1 record has a name that stood before, first row 3 ('a', line 5)"));
    table_unref(t);
    t = opened_with(two, (struct import_opts){ .targets = csv, .twice = "first" }, ST_OK);
    ck_assert(t->col[y].v[0] == 5.0 && t->col[y].v[1] == 1.0 && isnan(t->col[y].v[2]) &&
              isnan(t->col[y].v[3]));
    ck_assert_ptr_null(column_word(&t->col[kind], 2));
    table_unref(t);
    support_write(csv, "name,y\na,1\nb,2\nc,3\n", 19);
    opened_with(two, (struct import_opts){ .targets = csv, .twice = "stop" }, ST_FORMAT);
    ck_assert_ptr_nonnull(strstr(err.msg, "first row 3 ('a', line 5)"));
    support_write(csv, "name,y\na,1\nb,2\nd,3\n", 19);
    opened_with(two, (struct import_opts){ .targets = csv, .unmatched = "stop" }, ST_FORMAT);
    ck_assert_ptr_nonnull(
        strstr(err.msg, "1 record has no row in the table, first row 4 ('c', line 7)"));
    t = opened_with(two, (struct import_opts){ .targets = csv, .unmatched = "tell" }, ST_OK);
    table_unref(t);
    opened_with(two, (struct import_opts){ .unmatched = "stop" }, ST_USAGE);
    support_rmdir(dir);
}
END_TEST

/* Encodings. */

static const char five[] =
    "sequence,extra,y\nMKVLAM,1,1\nMRVLAMX,2,2\nMKVIA,3,3\nMKVLAC,4,5\nMR*LAM,5,4\n";

static struct dataset *dataset_of(const char *csv, const char *kernel)
{
    struct table *t = opened(csv);
    struct dataset *d = dataset_new(t, "d", NULL, &err);
    struct kernel k;

    ck_assert_int_eq(kernel_parse(kernel, &k, NULL, &err), ST_OK);
    d->kernel = k;
    table_unref(t);
    return d;
}

/* Through the session's JSON and back: the same rows. */
static void same_after_json(const struct encoding *e, const struct dataset *d,
                            const struct encoded *x)
{
    char *json = encoding_to_json(e, &err);
    struct encoding back;
    struct encoded y;
    double a[600], b[600];

    ck_assert_msg(encoding_from_json(json, &back, &err) == ST_OK, "%s: %s", err.msg, json);
    ck_assert_int_eq(encode(&back, d->table, NULL, 0, true, &y, &err), ST_OK);
    ck_assert_uint_eq(y.base.d, x->base.d);
    ck_assert_mem_eq(&y.base.layout, &x->base.layout, sizeof y.base.layout);
    ck_assert_uint_le(x->base.d, 600);
    for (size_t i = 0; i < x->n; i++) {
        memset(a, 0, sizeof a); /* what follows the last position is not written */
        memset(b, 0, sizeof b);
        ck_assert_int_eq(x->base.rows(&x->base, i, i + 1, a, &err), ST_OK);
        ck_assert_int_eq(y.base.rows(&y.base, i, i + 1, b, &err), ST_OK);
        ck_assert_int_eq(memcmp(a, b, x->base.d * sizeof *a), 0);
    }
    free(json);
    encode_free(&y);
    encoding_free(&back);
}

START_TEST(letters_that_vary)
{
    struct dataset *d = dataset_of(five, "rbf");
    const size_t rows[] = { 0, 1, 2, 3, 4 };
    struct encoding e;
    struct encoded x;
    struct buf notes = { 0 };
    /* positions 2 K R, 3 * V, 4 I L, 6 C M, 7 X; position 6 is empty in row 3, 7 in all but row 2
     */
    static const char *const want[] = { "2K", "2R", "3*", "3V", "4I", "4L", "6C", "6M", "7X" };
    static const double values[5][9] = {{1, 0, 0, 1, 0, 1, 0, 1, 0},
                                        {0, 1, 0, 1, 0, 1, 0, 1, 1},
                                        {1, 0, 0, 1, 1, 0, 0, 0, 0},
                                        {1, 0, 0, 1, 0, 1, 1, 0, 0},
                                        {0, 1, 1, 0, 0, 1, 0, 1, 0}};

    ck_assert_int_eq(encoding_fit(d, rows, 5, &e, &notes, &err), ST_OK);
    ck_assert_uint_eq(e.d, 9);
    for (size_t j = 0; j < 9; j++) {
        ck_assert_int_eq(e.col[j].kind, ENC_CELL);
        ck_assert_str_eq(e.col[j].level, want[j]);
    }
    ck_assert(strstr(buf_str(&notes), "5 of 7 positions") != NULL);
    ck_assert(strstr(buf_str(&notes), "warning[lengths]: 4 of 5") != NULL);
    ck_assert_int_eq(encode(&e, d->table, NULL, 0, true, &x, &err), ST_OK);
    for (size_t i = 0; i < 5; i++)
        for (size_t j = 0; j < 9; j++)
            ck_assert(x.x[i * 9 + j] == values[i][j]);
    same_after_json(&e, d, &x);
    encode_free(&x);
    /* beside a number; and of new rows that were read as text */
    size_t n;
    encoding_free(&e);
    ck_assert_int_eq(dataset_set_role(d, "extra", ROLE_INPUT, &n, &err), ST_OK);
    ck_assert_int_eq(encoding_fit(d, rows, 5, &e, NULL, &err), ST_OK);
    ck_assert_uint_eq(e.d, 10);
    struct table *t = opened_as("extra,sequence\n3,mrvlam\n3,M\n", "sequence=text", NULL, ST_OK);
    ck_assert_int_eq(encode(&e, t, NULL, 0, false, &x, &err), ST_OK);
    for (size_t j = 0; j < 8; j++)
        ck_assert(x.x[j] == values[1][j] && x.x[10 + j] == 0.0);
    ck_assert(x.x[9] == 0.0); /* 3 is the mean */
    encode_free(&x);
    table_unref(t);
    encoding_free(&e);
    buf_free(&notes);
    dataset_unref(d);
}
END_TEST

START_TEST(rows_of_symbols)
{
    struct dataset *d = dataset_of(five, "conv(rbf,width=3)");
    const size_t rows[] = { 0, 1, 2, 3, 4 };
    struct encoding e;
    struct encoded x;
    double row[16];
    size_t n;

    ck_assert_int_eq(encoding_fit(d, rows, 5, &e, NULL, &err), ST_OK);
    ck_assert_uint_eq(e.d, 8);
    ck_assert_int_eq(encode(&e, d->table, NULL, 0, true, &x, &err), ST_OK);
    ck_assert_uint_eq(x.base.layout.part[0].rows, ROWS_SYMBOLS);
    ck_assert_uint_eq(x.base.layout.part[0].channels, 21);
    ck_assert_ptr_null(x.x); /* made anew */
    ck_assert_int_eq(x.base.rows(&x.base, 1, 2, row, &err), ST_OK);
    static const double want[] = {7, 10, 14, 17,
                                  9, 0,  10, 20}; /* MRVLAMX in ACDEFGHIKLMNPQRSTVWY */
    for (size_t j = 0; j < 8; j++)
        ck_assert(row[j] == want[j]);
    same_after_json(&e, d, &x);
    encode_free(&x);
    /* longer than any of training: the rows are wider */
    struct table *t = opened("sequence\nMKVLAMKVLAMKV\nMKVL\n");
    ck_assert_int_eq(encode(&e, t, NULL, 0, false, &x, &err), ST_OK);
    ck_assert_uint_eq(x.base.d, 14);
    encode_free(&x);
    table_unref(t);
    /* new rows read as text, in small letters, or as lists of letters */
    t = opened_as("sequence\nm r v l a m x\n", "sequence=text", NULL, ST_OK);
    ck_assert_int_eq(encode(&e, t, NULL, 0, false, &x, &err), ST_OK);
    ck_assert_int_eq(x.base.rows(&x.base, 0, 1, row, &err), ST_OK);
    for (size_t j = 0; j < 8; j++)
        ck_assert(row[j] == want[j]);
    encode_free(&x);
    table_unref(t);
    /* shorter than a window: told with its row, or left out */
    t = opened("sequence\nMKVLAMKVLAMKV\nMK\n");
    ck_assert_int_eq(encode(&e, t, NULL, 0, false, &x, &err), ST_STATE);
    ck_assert(strstr(err.msg, "row 2") != NULL && strstr(err.msg, "2 letters, a window 3") != NULL);
    e.missing = MISSING_DROP;
    ck_assert_int_eq(encode(&e, t, NULL, 0, false, &x, &err), ST_OK);
    ck_assert_uint_eq(x.n, 1);
    ck_assert_uint_eq(x.dropped, 1);
    encode_free(&x);
    table_unref(t);
    encoding_free(&e);
    /* in training too; beside other inputs windows are refused */
    d->kernel.term[0].layer.width = 6;
    ck_assert_int_eq(encoding_fit(d, rows, 5, &e, NULL, &err), ST_STATE);
    d->missing = MISSING_DROP;
    ck_assert_int_eq(encoding_fit(d, rows, 5, &e, NULL, &err), ST_OK);
    encoding_free(&e);
    ck_assert_int_eq(dataset_set_role(d, "extra", ROLE_INPUT, &n, &err), ST_OK);
    ck_assert_int_eq(encoding_fit(d, rows, 5, &e, NULL, &err), ST_STATE);
    ck_assert(strstr(err.msg, "'extra'") != NULL);
    ck_assert_int_eq(dataset_set_role(d, "extra", ROLE_SKIP, &n, &err), ST_OK);
    ck_assert_int_eq(dataset_set_type(d, "sequence", "text", &n, &err), ST_OK);
    ck_assert_int_eq(encoding_fit(d, rows, 5, &e, NULL, &err), ST_STATE);
    ck_assert_str_eq(err.name, "sequence");
    dataset_unref(d);
}
END_TEST

START_TEST(values_of_filters)
{
    struct dataset *d = dataset_of(five, "fastconv(rbf,width=3,filters=40)");
    const size_t rows[] = { 0, 1, 2, 3, 4 };
    struct encoding e;
    struct encoded x;
    size_t n;

    ck_assert_int_eq(dataset_set_role(d, "extra", ROLE_INPUT, &n, &err), ST_OK);
    ck_assert_int_eq(encoding_fit(d, rows, 5, &e, NULL, &err), ST_OK);
    ck_assert_uint_eq(e.d, 41);
    ck_assert_int_eq(encode(&e, d->table, NULL, 0, true, &x, &err), ST_OK);
    /* standardised values of the layer itself */
    struct fastconv *f = fastconv_new(&e.held[0].layer, e.held[0].seed, &err);
    static const double row1[] = { 6, 10, 8, 17, 9, 0, 10 };
    double phi[40], sum = 0.0, square = 0.0;
    ck_assert_int_eq(fastconv_row(f, row1, phi, &err), ST_OK);
    for (size_t j = 0; j < 40; j++) {
        const struct enc_col *c = &e.col[j];
        ck_assert(c->constant ? x.x[j] == 0.0 : fabs(x.x[j] * c->sd + c->mean - phi[j]) < 1e-12);
        for (size_t i = 0; i < 5; i++) {
            sum += x.x[i * 41 + j];
            square += c->constant ? 1.0 : x.x[i * 41 + j] * x.x[i * 41 + j];
        }
    }
    ck_assert_double_le(fabs(sum), 1e-10);
    ck_assert_double_le(fabs(square / 200.0 - 0.0), 1.0 + 1e-10);
    same_after_json(&e, d, &x);
    fastconv_free(f);
    encode_free(&x);
    encoding_free(&e);
    dataset_unref(d);
}
END_TEST

/* Numbers for letters. */

static const double *of(const struct letters *l, char c)
{
    return l->value + (size_t)(strchr(l->order, c) - l->order) * l->channels;
}

/* Published scores and scales, up to the one factor that makes letters differ by 2 on average. */
START_TEST(letters_built_in)
{
    struct letters b, s;

    ck_assert_int_eq(letters_find("blosum62", &b, &err), ST_OK);
    ck_assert_uint_eq(b.channels, 20);
    const double unit = of(&b, 'W')[strchr(b.order, 'W') - b.order] / 11.0;
    static const struct {
        char a, b;
        int score;
    } known[] = {{'A', 'A', 4}, {'C', 'C', 9}, {'W', 'Y', 2},  {'I', 'V', 3},  {'D', 'E', 2},
                 {'K', 'R', 2}, {'F', 'Y', 3}, {'C', 'E', -4}, {'W', 'D', -4}, {'P', 'P', 7},
                 {'L', 'M', 2}, {'H', 'Y', 2}, {'G', 'I', -4}, {'S', 'T', 1}};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        const double v = of(&b, known[i].a)[strchr(b.order, known[i].b) - b.order];
        ck_assert_double_le(fabs(v - unit * known[i].score), 1e-12);
    }
    ck_assert_int_eq(letters_find("scales", &s, &err), ST_OK);
    ck_assert_uint_eq(s.channels, 5);
    /* hydropathy is affine in the published values: 4.5, -4.5, -0.4 */
    const double slope = (of(&s, 'I')[0] - of(&s, 'R')[0]) / 9.0;
    ck_assert_double_le(fabs(of(&s, 'G')[0] - of(&s, 'R')[0] - slope * 4.1), 1e-12);
    for (int k = 0; k < 2; k++) {
        const struct letters *l = k ? &s : &b;
        double sum = 0.0;
        for (size_t i = 0; i < 20; i++)
            for (size_t j = 0; j < 20; j++)
                for (size_t c = 0; c < l->channels; c++)
                    sum += pow(l->value[i * l->channels + c] - l->value[j * l->channels + c], 2.0);
        ck_assert_double_le(fabs(sum / (20.0 * 19.0) - 2.0), 1e-12);
    }
    letters_free(&b);
    letters_free(&s);
    ck_assert_int_eq(letters_find("nothing", &s, &err), ST_NOT_FOUND);
}
END_TEST

START_TEST(letters_of_a_file)
{
    char *dir = support_tmpdir();
    const char *path = support_path(dir, "l.csv");
    static const char good[] = "letter,a,b\nC,0,3\nG,4,0\nA,0,0\n";
    static const char *const bad[] = {"letter,a\nC,1\nC,2\n", "letter,a\nCG,1\nA,2\n",
                                      "letter,a\nC,1\nA,\n", "a,b\n1,2\n3,4\n",
                                      "letter,a\nC,1\nA,1\n"};
    struct letters l;

    support_write(path, good, sizeof good - 1);
    ck_assert_msg(letters_find(path, &l, &err) == ST_OK, "%s", err.msg);
    ck_assert_str_eq(l.order, "CGA");
    /* squared distances 25, 9, 16: their mean 50/3 becomes 2 */
    ck_assert_double_le(fabs(l.value[1] - 3.0 * sqrt(2.0 / (50.0 / 3.0))), 1e-12);
    letters_free(&l);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        support_write(path, bad[i], strlen(bad[i]));
        ck_assert_msg(letters_find(path, &l, &err) == ST_FORMAT, "%zu", i);
    }
    support_rmdir(dir);
}
END_TEST

/* What each kernel reads with numbers for letters; through JSON the same. */
START_TEST(coded_rows)
{
    static const char *const kernels[] = {"rbf", "conv(rbf,width=3)",
                                          "fastconv(rbf,width=3,filters=10)"};
    struct dataset *d = dataset_of(five, kernels[_i]);
    const size_t rows[] = { 0, 1, 2, 3, 4 };
    struct letters l;
    struct encoding e;
    struct encoded x;
    double row[600];

    ck_assert_int_eq(letters_find("scales", &l, &err), ST_OK);
    ck_assert_int_eq(dataset_set_coding(d, "scales", &err), ST_OK);
    ck_assert_int_eq(encoding_fit(d, rows, 5, &e, NULL, &err), ST_OK);
    ck_assert_int_eq(encode(&e, d->table, NULL, 0, true, &x, &err), ST_OK);
    ck_assert_int_eq(x.base.rows(&x.base, 1, 2, row, &err), ST_OK); /* MRVLAMX */
    if (_i == 0) { /* positions 2 3 4 6 7 */
        ck_assert_uint_eq(x.base.d, 25);
        ck_assert_str_eq(e.col[7].level, "3#3");
        for (size_t c = 0; c < 5; c++)
            ck_assert(row[c] == of(&l, 'R')[c] && row[15 + c] == of(&l, 'M')[c] &&
                      row[20 + c] == 0.0);
    } else if (_i == 1) {
        ck_assert_uint_eq(x.base.layout.part[0].rows, ROWS_VECTORS);
        ck_assert_uint_eq(x.base.layout.part[0].channels, 5);
        ck_assert_uint_eq(x.base.d, 36);
        ck_assert(row[0] == 7.0);
        for (size_t c = 0; c < 5; c++)
            ck_assert(row[1 + c] == of(&l, 'M')[c] && row[6 + c] == of(&l, 'R')[c] &&
                      row[31 + c] == 0.0);
    } else {
        ck_assert_uint_eq(x.base.d, 10);
        ck_assert_uint_eq(e.held[0].layer.channels, 5);
    }
    same_after_json(&e, d, &x);
    struct encoding copy;
    ck_assert_int_eq(encoding_copy(&copy, &e, &err), ST_OK);
    same_after_json(&copy, d, &x);
    encoding_free(&copy);
    encode_free(&x);
    encoding_free(&e);
    letters_free(&l);
    ck_assert_int_eq(dataset_set_coding(d, "onehot", &err), ST_OK);
    ck_assert_ptr_null(d->coding);
    dataset_unref(d);
    /* amino acids' numbers are not for bases */
    struct dataset *dna =
        dataset_of("sequence,y\nACGTNACGTA,1\nACGGACGTTT,2\nACGGACGTTA,3\n", "rbf");
    ck_assert_int_eq(dataset_set_coding(dna, "blosum62", &err), ST_STATE);
    dataset_unref(dna);
}
END_TEST

/* What a session might hold is not believed. */
START_TEST(damaged_encodings)
{
    static const char *const bad[] = {
        "{\"target\":\"y\",\"ysd\":1,\"sequence\":{\"column\":\"s\"},\"columns\":[]}",
        "{\"target\":\"y\",\"ysd\":1,\"sequence\":{\"column\":\"s\",\"alphabet\":\"ACGT\","
        "\"layer\":\"conv\",\"width\":3,"
        "\"filters\":0,\"channels\":9,\"positions\":5,\"seed\":0,\"inputs\":6},\"columns\":[]}",
        "{\"target\":\"y\",\"ysd\":1,\"sequence\":{\"column\":\"s\",\"alphabet\":\"ACGT\","
        "\"layer\":\"fastconv\",\"width\":3,"
        "\"filters\":2,\"channels\":4,\"positions\":5,\"seed\":0,\"inputs\":0},\"columns\":[]}",
        "{\"target\":\"y\",\"ysd\":1,\"columns\":[{\"column\":\"s\",\"kind\":\"letter\",\"level\":"
        "\"V\",\"mean\":0,\"sd\":1,"
        "\"fill\":0,\"limit\":0,\"constant\":false}]}",
        "{\"target\":\"y\",\"ysd\":1,\"columns\":[{\"column\":\"s\",\"kind\":\"filter\",\"mean\":0,"
        "\"sd\":1,\"fill\":0,"
        "\"limit\":0,\"constant\":false}]}",
    };

    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct encoding e;
        ck_assert_int_eq(encoding_from_json(bad[i], &e, &err), ST_FORMAT);
    }
}
END_TEST

/* Letters between rows by hand: consensus MKVLA of the training rows, whose lengths differ too. */
START_TEST(letters_between_rows)
{
    static const char csv[] =
        "sequence,y,part\n"
        "MKVLA,1,train\nMKVLC,2,train\nMKV,3,train\nMRVLA,4,train\nMKVLA,5,train\n"
        "MKVLA,6,test\nWWWWW,7,test\nMRVLCWW,8,test\n";
    static const size_t changes[] = {0, 1, 2, 1, 0, 0, 5, 4}, nearest[] = {0, 1, 2, 1, 0, 0, 5, 3};
    struct dataset *d = dataset_of(csv, "rbf");
    struct row_distance v;
    struct row_drift look;
    const size_t test[] = { 5, 6, 7 };

    ck_assert_int_eq(split_column(d, NULL, "part", &err), ST_OK);
    ck_assert_int_eq(distance_open(d, distance_first(d), &v, &err), ST_OK);
    ck_assert_uint_eq(v.ntrain, 5);
    ck_assert_str_eq(v.own, "MKVLA");
    ck_assert(v.related && v.median == 1 && v.most == 2);
    for (size_t i = 0; i < 8; i++) {
        ck_assert_uint_eq(v.kind->distance->changes(&v, i), changes[i]);
        ck_assert_uint_eq(v.kind->distance->nearest(&v, i), nearest[i]);
    }
    /* equal letters over the longer of both */
    static const double alike[] = { 1.0, 0.8, 0.6, 0.8, 1.0, 1.0, 0.0, 4.0 / 7.0 };
    for (size_t i = 0; i < 8; i++)
        ck_assert(fabs(v.kind->distance->alike(&v, i) - alike[i]) < 1e-12);
    distance_close(&v);
    ck_assert_int_eq(distance_drift(d, distance_first(d), test, 3, &look, &err), ST_OK);
    ck_assert_str_eq(look.column, "sequence");
    ck_assert(look.related && look.median == 4 && look.most == 5 && look.nearest == 3);
    ck_assert(look.train_nearest == 1 && fabs(look.beyond - 2.0 / 3.0) < 1e-12 &&
              !look.same);
    ck_assert_int_eq(distance_drift(d, distance_first(d), test, 1, &look, &err), ST_OK);
    ck_assert(look.beyond == 0.0 && look.same);
    dataset_unref(d);

    struct table *numbers;
    ck_assert_int_eq(demo_make("toy", NULL, &numbers, &err), ST_OK);
    d = dataset_new(numbers, "toy", NULL, &err);
    table_unref(numbers);
    ck_assert_uint_eq(distance_first(d), d->table->ncols);
    ck_assert_int_eq(distance_open(d, 0, &v, &err), ST_NOT_FOUND);
    ck_assert_int_eq(distance_drift(d, 0, test, 3, &look, &err), ST_NOT_FOUND);
    dataset_unref(d);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("sequence");
    TCase *t = tcase_create("sequence");

    tcase_add_test(t, alphabets);
    tcase_add_test(t, guesses);
    tcase_add_test(t, roles);
    tcase_add_test(t, fasta);
    tcase_add_test(t, fasta_with_targets);
    tcase_add_test(t, unknown_letters);
    tcase_add_test(t, repeated_names);
    tcase_add_test(t, letters_that_vary);
    tcase_add_test(t, rows_of_symbols);
    tcase_add_test(t, values_of_filters);
    tcase_add_test(t, letters_built_in);
    tcase_add_test(t, letters_of_a_file);
    tcase_add_loop_test(t, coded_rows, 0, 3);
    tcase_add_test(t, damaged_encodings);
    tcase_add_test(t, letters_between_rows);
    suite_add_tcase(s, t);
    return support_run(s);
}
