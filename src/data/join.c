/* data/join.c -- see join.h. */
#include "data/join.h"

#include "data/formats/format.h"
#include "base/mem.h"
#include "base/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct join {
    struct table *t;       /* the table of records */
    const struct table *of; /* the table that is joined */
    const struct import_opts *opts;
    /* Its column of names; the index of the name of each record, SIZE_MAX: not found. */
    size_t key, *row;
    size_t names, *first;  /* number of distinct names; the first row of each */
    uint32_t *name;        /* the name of each row */
    struct intern ids;
    struct buf notes;
    const char *file;
    struct err *err;
};

/* True if twice= has this value. */
static bool twice(const struct join *k, const char *how)
{
    return k->opts->twice != NULL && strcmp(k->opts->twice, how) == 0;
}

/* The column with the line on which each record begins. */
static const struct column *records_of(const struct join *k)
{
    size_t j = 0;

    while (k->t->col[j].type != COL_HELD)
        j++;
    return &k->t->col[j];
}

static size_t key_column(const struct table *t)
{
    static const char *const names[] = { "name", "id", "key", "record", "accession", "seq_id",
                                         "sequence_id", "protein", "protein_id", "mutant" };

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        for (size_t j = 0; j < t->ncols; j++)
            if (strcasecmp(t->col[j].name, names[i]) == 0)
                return j;
    for (size_t j = 0; j < t->ncols; j++)
        if (t->col[j].type == COL_TEXT || t->col[j].type == COL_CATEGORY)
            return j;
    return SIZE_MAX;
}

/* Reports that row i of the joined table repeats a name. */
static enum status name_again(struct join *k, size_t i, const char *word)
{
    struct buf safe = { 0 };

    text_safe(&safe, word, 40);
    err_named(k->err, ST_FORMAT, "join",
              "%s: '%s' stands in column '%.40s' twice (rows %zu and %zu)", k->file, buf_str(&safe),
              k->of->col[k->key].name, k->first[k->name[i]] + 1, i + 1);
    err_hint(k->err, "twice=first takes the first row, twice=mean the mean of the numbers");
    buf_free(&safe);
    return ST_FORMAT;
}

/* Reads the names of the joined table: each must be unique, unless the user has said what to do. */
static enum status take_names(struct join *k)
{
    const bool may = twice(k, "first") || twice(k, "mean");
    const size_t m = k->of->n;
    struct buf cell = { 0 };
    size_t again = 0, where = 0;

    k->name = mem_calloc(m + 1, sizeof *k->name, "a join", k->err);
    k->first = k->name ? mem_calloc(m + 1, sizeof *k->first, "a join", k->err) : NULL;
    enum status rc = k->first ? ST_OK : ST_NOMEM;
    for (size_t i = 0; i < m && rc == ST_OK; i++) {
        buf_clear(&cell);
        table_cell(k->of, i, k->key, &cell);
        rc = table_intern_code(&k->ids, buf_str(&cell), cell.len, &k->name[i], k->err);
        if (rc == ST_OK && k->name[i] == k->names)
            k->first[k->names++] = i;
        else if (rc == ST_OK && !may)
            rc = name_again(k, i, buf_str(&cell));
        else if (rc == ST_OK && again++ == 0)
            where = i;
    }
    if (rc == ST_OK && again > 0) {
        buf_clear(&cell);
        table_cell(k->of, where, k->key, &cell);
        buf_printf(&k->notes,
                   "warning[twice]: %zu row%s of the table repeat%s a name, first row %zu ('",
                   again, again == 1 ? "" : "s", again == 1 ? "s" : "", where + 1);
        text_safe(&k->notes, buf_str(&cell), 40);
        buf_printf(&k->notes, "', of row %zu): %s\n", k->first[k->name[where]] + 1,
                   twice(k, "mean") ? "their numbers are averaged"
                                    : "the first of each name counts");
    }
    buf_free(&cell);
    return rc;
}

struct tally { size_t alone, first_alone, left, first_left, again, first_again, matched; };

/* Finds the name of each record; counts records without a partner and repeated names. */
static enum status find_rows(struct join *k, struct tally *y)
{
    bool *met = mem_calloc(k->names + 1, sizeof *met, "a join", k->err);
    enum status rc = met != NULL ? ST_OK : ST_NOMEM;

    for (size_t i = 0; i < k->t->n && rc == ST_OK; i++) {
        const char *name = column_word(&k->t->col[0], i);
        uint32_t code = UINT32_MAX;
        k->row[i] = SIZE_MAX;
        if (name != NULL)
            rc = table_intern_code(&k->ids, name, strlen(name), &code, k->err);
        if (rc != ST_OK)
            break;
        if (code >= k->names) {
            y->first_alone = y->alone++ == 0 ? i : y->first_alone;
            continue;
        }
        if (met[code])
            y->first_again = y->again++ == 0 ? i : y->first_again;
        if (!met[code] || !twice(k, "first"))
            k->row[i] = code;
        met[code] = true;
        y->matched++;
    }
    for (size_t i = 0; i < k->names && rc == ST_OK; i++)
        if (!met[i])
            y->first_left = y->left++ == 0 ? k->first[i] : y->first_left;
    free(met);
    return rc;
}

/* Describes a record, or a row of the table. */
static void words_of(const struct join *k, bool record, size_t i, struct buf *out)
{
    struct buf cell = { 0 };

    if (record) {
        table_where(k->t, records_of(k), i, out);
        return;
    }
    table_cell(k->of, i, k->key, &cell);
    buf_printf(out, "row %zu ('", i + 1);
    text_safe(out, buf_str(&cell), 40);
    buf_puts(out, "')");
    buf_free(&cell);
}

/* Handles n records or rows without a partner: a note or an error. */
static enum status tell_alone(struct join *k, bool record, size_t n, size_t first)
{
    const char *one = k->opts->graph != NULL ? "graph" : "record";
    const bool stop = k->opts->unmatched != NULL && strcmp(k->opts->unmatched, "stop") == 0;
    struct buf b = { 0 };

    if (n == 0)
        return ST_OK;
    if (record)
        buf_printf(&b, "%zu %s%s no row in the table, first ", n, one, n == 1 ? " has" : "s have");
    else
        buf_printf(&b, "%zu row%s of the table ha%s no %s, first ", n, n == 1 ? "" : "s",
                   n == 1 ? "s" : "ve", k->opts->graph != NULL ? "nodes" : "record");
    words_of(k, record, first, &b);
    if (stop) {
        err_named(k->err, ST_FORMAT, "unmatched", "%s", buf_str(&b));
        err_hint(k->err, "unmatched=tell continues: %s",
                 record ? "missing drop leaves them out" : "they are left out");
    } else {
        buf_printf(&k->notes, "warning[unmatched]: %s: %s\n", buf_str(&b),
                   record ? "their cells are missing (missing drop leaves them out)"
                          : "they are left out");
    }
    buf_free(&b);
    return stop ? ST_FORMAT : ST_OK;
}

/* Handles records with the same name: each takes the row of that name, unless the user has said
 * otherwise. */
static enum status tell_again(struct join *k, size_t n, size_t first)
{
    struct buf b = { 0 };

    if (n == 0)
        return ST_OK;
    buf_printf(&b, "%zu record%s a name that stood before, first ", n, n == 1 ? " has" : "s have");
    words_of(k, true, first, &b);
    if (twice(k, "stop")) {
        err_named(k->err, ST_FORMAT, "twice", "%s", buf_str(&b));
        err_hint(
            k->err,
            "without twice= each takes the row of its name, with twice=first later ones have none");
    } else {
        buf_printf(&k->notes, "warning[twice]: %s: %s\n", buf_str(&b),
                   twice(k, "first") ? "their cells are missing (missing drop leaves them out)"
                                     : "each takes the row of that name");
    }
    buf_free(&b);
    return twice(k, "stop") ? ST_FORMAT : ST_OK;
}

static enum status match_rows(struct join *k)
{
    struct tally y = { 0 };
    enum status rc;

    k->row = mem_calloc(k->t->n + 1, sizeof *k->row, "a join", k->err);
    rc = k->row != NULL ? find_rows(k, &y) : ST_NOMEM;
    if (rc == ST_OK && y.matched == 0) {
        rc = err_named(k->err, ST_FORMAT, "join",
                       "no record has a name that stands in column '%.40s' of %s",
                       k->of->col[k->key].name, k->file);
        err_hint(k->err, "the column of names is called name or id, or is the first one of words");
    }
    if (rc == ST_OK)
        rc = tell_alone(k, true, y.alone, y.first_alone);
    if (rc == ST_OK)
        rc = tell_alone(k, false, y.left, y.first_left);
    return rc == ST_OK ? tell_again(k, y.again, y.first_again) : rc;
}

/* For numbers, combines the rows of one name: the mean of those present, missing if there are
 * none. */
static enum status take_means(const struct join *k, const struct column *c, double *out)
{
    double *sum = mem_calloc(k->names + 1, sizeof *sum, "means", k->err);
    size_t *n = sum ? mem_calloc(k->names + 1, sizeof *n, "means", k->err) : NULL;

    for (size_t i = 0; n && i < k->of->n; i++) {
        const double v = column_at(c, i);
        if (!isnan(v)) {
            sum[k->name[i]] += v;
            n[k->name[i]]++;
        }
    }
    for (size_t i = 0; n && i < k->t->n; i++) {
        const size_t r = k->row[i];
        out[i] = r == SIZE_MAX || n[r] == 0 ? (double)NAN : sum[r] / (double)n[r];
    }
    const bool done = n != NULL;
    free(sum);
    free(n);
    return done ? ST_OK : ST_NOMEM;
}

/* A column of the joined table in the order of the records. */
static enum status take_column(const struct join *k, const struct column *c, struct column *to)
{
    const size_t n = k->t->n;
    struct grow g = { .type = c->type == COL_HELD ? COL_TEXT : c->type };
    struct buf room = { 0 };
    const bool mean = c->type == COL_REAL && twice(k, "mean");
    enum status rc = table_grow_reserve(&g, n + 1, k->err);

    if (rc == ST_OK && mean)
        rc = take_means(k, c, g.v);
    for (size_t i = 0; i < n && rc == ST_OK && !mean; i++) {
        const size_t r = k->row[i] == SIZE_MAX ? SIZE_MAX : k->first[k->row[i]];
        const bool words = r != SIZE_MAX && c->type != COL_REAL;
        const char *w = words ? table_column_text(c, r, &room) : NULL;
        if (c->type == COL_REAL)
            g.v[i] = r == SIZE_MAX ? (double)NAN : column_at(c, r);
        else if (g.type == COL_CATEGORY && w == NULL)
            g.code[i] = UINT32_MAX;
        else if (g.type == COL_CATEGORY)
            rc = table_intern_code(&g.levels, w, strlen(w), &g.code[i], k->err);
        else if (w == NULL)
            g.off[i] = SIZE_MAX;
        else
            rc = table_grow_text(&g, i, w, strlen(w), k->err);
    }
    buf_free(&room);
    if (rc == ST_OK)
        rc = table_grow_finish(&g, n, to, k->err);
    table_grow_free(&g);
    if (rc == ST_OK)
        to->name = mem_strdup(c->name, k->err);
    if (rc == ST_OK && to->name == NULL)
        rc = ST_NOMEM;
    to->date = c->date;
    return rc;
}

static enum status add_columns(struct join *k)
{
    struct table *t = k->t;
    struct column *all = mem_calloc(t->ncols + k->of->ncols, sizeof *all, "columns", k->err);
    const size_t had = t->ncols;
    enum status rc = ST_OK;

    if (all == NULL)
        return ST_NOMEM;
    memcpy(all, t->col, had * sizeof *all);
    free(t->col);
    t->col = all;
    for (size_t j = 0; j < k->of->ncols && rc == ST_OK; j++) {
        if (j == k->key || table_find(t, k->of->col[j].name) != SIZE_MAX)
            continue;
        rc = take_column(k, &k->of->col[j], &t->col[t->ncols++]);
        t->missing += rc == ST_OK ? t->col[t->ncols - 1].missing : 0;
    }
    return rc;
}

enum status join_suits(const struct table *t, const struct import_opts *opts, struct err *err)
{
    if (t->ncols >= 2 && (format_of_records(t) != NULL || opts->graph != NULL))
        return ST_OK;
    err_set(err, ST_USAGE,
            "targets= joins a table to the records of a FASTA file, or to graphs; this is another "
            "file");
    err_hint(err, "open FILE target=NAME  |  open NODES graph=COLUMN targets=FILE");
    return ST_USAGE;
}

enum status join_table(struct table *t, const struct table *of, const struct import_opts *opts,
                       struct err *err)
{
    struct join k = { .t = t, .of = of, .file = opts->targets, .opts = opts, .err = err };
    enum status rc = ST_OK;

    k.key = opts->graph != NULL ? table_find(of, opts->graph) : SIZE_MAX;
    if (k.key == SIZE_MAX && (k.key = key_column(of)) == SIZE_MAX) {
        rc = err_named(err, ST_FORMAT, "join", "%.200s has no column of names", k.file);
        err_hint(err, "a column name, id, or one of words");
    }
    if (rc == ST_OK)
        rc = take_names(&k);
    if (rc == ST_OK)
        rc = match_rows(&k);
    if (rc == ST_OK)
        rc = add_columns(&k);
    if (rc == ST_OK)
        rc = table_add_notes(t, &k.notes, err);
    table_intern_free(&k.ids);
    buf_free(&k.notes);
    free(k.row);
    free(k.first);
    free(k.name);
    return rc;
}

const struct import_option join_options[] = {
    { .name = "targets", .type = IMPORT_PATH, .place = 1,
      .field = offsetof(struct import_opts, targets),
      .help = "for FASTA or graphs: a table with the targets of the records, joined by name" },
    { .name = "twice", .type = IMPORT_CHOICE, .flags = IMPORT_CELLS, .place = 17,
      .choices = "stop|first|mean", .field = offsetof(struct import_opts, twice),
      .help = "a name that occurs twice in targets=: stop, take the first row, or take the mean of "
              "the numbers (default: stop)" },
    { .name = "unmatched", .type = IMPORT_CHOICE, .flags = IMPORT_CELLS, .place = 18,
      .choices = "tell|stop", .field = offsetof(struct import_opts, unmatched),
      .help = "records without a row in targets=, or rows without a record: report them, or stop "
              "(default: tell)" },
    { .name = NULL },
};
