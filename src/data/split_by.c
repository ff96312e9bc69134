/* data/split_by.c -- splits that follow a column: by whole groups, or by time. See split_by.h. */
#include "data/split_by.h"

#include "data/kinds/kind.h"
#include "data/radix_sort.h"
#include "base/mem.h"
#include "base/spill.h"
#include "base/text.h"
#include "compute/rng.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Groups of rows. */

struct cell { double number; const char *word; uint32_t row, group; };

static int by_number(const void *a, const void *b)
{
    const struct cell *x = a, *y = b;
    const bool p = isnan(x->number), q = isnan(y->number); /* missing cells come last */

    return p || q ? p - q : (x->number > y->number) - (x->number < y->number);
}

static int by_word(const void *a, const void *b)
{
    const struct cell *x = a, *y = b;

    return !x->word || !y->word ? !x->word - !y->word : strcmp(x->word, y->word);
}

static enum status not_groups(const struct column *c, struct err *err)
{
    char name[64];

    err_set(err, ST_USAGE, "column %s holds %s: rows are grouped by numbers, words or dates",
            text_quoted(c->name, name, sizeof name), kind_of(c)->several);
    err_hint(err, "cols lists the columns");
    return ST_USAGE;
}

/* Numbers the groups in the order of appearance: group[i] is a code of any order below n, and
 * first[code] is room for n numbers. */
static size_t renumber(size_t n, uint32_t *group, uint32_t *first)
{
    size_t groups = 0;

    memset(first, 0xff, n * sizeof *first);
    for (size_t i = 0; i < n; i++) {
        uint32_t *to = &first[group[i]];
        if (*to == UINT32_MAX)
            *to = (uint32_t)groups++;
        group[i] = *to;
    }
    return groups;
}

enum status split_groups(const struct table *t, size_t col, uint32_t **group, size_t *ngroups,
                         size_t *missing, struct err *err)
{
    const struct column *c = &t->col[col];
    const bool real = c->type == COL_REAL;
    int (*const order)(const void *, const void *) = real ? by_number : by_word;

    *group = NULL;
    if (c->type == COL_HELD && c->cells->word == NULL)
        return not_groups(c, err);
    if (t->n >= UINT32_MAX)
        return err_set(err, ST_LIMIT, "%zu rows are too many to be grouped", t->n);
    struct cell *cell = mem_calloc(t->n, sizeof *cell, "groups of rows", err);
    uint32_t *out = mem_calloc(t->n, sizeof *out, "groups of rows", err);
    uint32_t *first = mem_calloc(t->n, sizeof *first, "groups of rows", err);
    if (cell == NULL || out == NULL || first == NULL) {
        free(cell);
        free(out);
        free(first);
        return ST_NOMEM;
    }
    for (size_t i = 0; i < t->n; i++)
        cell[i] = (struct cell){ .number = real ? column_at(c, i) : 0.0,
                                 .word = real ? NULL : column_word(c, i), .row = (uint32_t)i };
    spill_used(t->n * sizeof(double));
    qsort(cell, t->n, sizeof *cell, order);
    for (size_t i = 0; i < t->n; i++) {
        const bool same = i > 0 && order(&cell[i - 1], &cell[i]) == 0;
        cell[i].group = (uint32_t)(same ? cell[i - 1].group : i);
        out[cell[i].row] = cell[i].group;
    }
    free(cell);
    *ngroups = renumber(t->n, out, first);
    free(first);
    if (missing != NULL)
        *missing = c->missing;
    *group = out;
    return ST_OK;
}

/* What both ways share. */

static enum status find_column(const struct dataset *d, const char *name, size_t *col,
                               struct err *err)
{
    const enum status rc = dataset_find_column(d->table, name, err);

    if (rc != ST_OK)
        return rc;
    *col = table_find(d->table, name);
    if (d->role[*col] != ROLE_TARGET)
        return ST_OK;
    err_set(err, ST_STATE, "the target cannot be the column to split by");
    err_hint(err, "split test=20%%");
    return ST_STATE;
}

/* "test=20% valid=10% group="id" seed=7", or "folds=5 ..." */
static char *words_of(const struct split_ask *ask, enum split_by by, struct err *err)
{
    struct buf b = { 0 };

    if (ask->folds > 0)
        buf_printf(&b, "folds=%zu ", ask->folds);
    if (ask->folds == 0 && ask->test > 0.0)
        buf_printf(&b, "test=%.10g%% ", 100.0 * ask->test);
    if (ask->folds == 0 && ask->valid > 0.0)
        buf_printf(&b, "valid=%.10g%% ", 100.0 * ask->valid);
    buf_printf(&b, "%s=", split_by_words[by]);
    buf_json_string(&b, ask->column);
    if (by == SPLIT_BY_GROUP && ask->seeded)
        buf_printf(&b, " seed=%llu", (unsigned long long)ask->seed);
    char *words = buf_take(&b);
    if (words == NULL)
        err_nomem(err, 64, "a split");
    return words;
}

/* Takes over the parts or the folds of the rows (the other is NULL); frees all on failure. */
static enum status install(struct dataset *d, const struct split_ask *ask, enum split_by by,
                           uint8_t *part, uint32_t *fold, struct err *err)
{
    struct split s = { .part = part, .fold = fold, .nfolds = fold ? ask->folds : 0, .by = by };

    s.how = words_of(ask, by, err);
    s.column = s.how != NULL ? mem_strdup(ask->column, err) : NULL;
    if (s.column == NULL) {
        free(s.how);
        free(part);
        free(fold);
        return ST_NOMEM;
    }
    for (size_t i = 0; part != NULL && i < d->table->n; i++)
        s.count[part[i]]++;
    if (part == NULL)
        s.count[PART_TRAIN] = d->table->n;
    dataset_split_none(d);
    d->split = s;
    return ST_OK;
}

/* How many rows a share is: at least one of a share that is not 0. */
static size_t rows_of(double share, size_t n)
{
    const size_t rows = (size_t)llround(share * (double)n);

    return share > 0.0 && rows == 0 ? 1 : rows;
}

static enum status check_shares(const struct split_ask *ask, struct err *err)
{
    if (ask->folds > 0 || (ask->test >= 0.0 && ask->valid >= 0.0 &&
                           ask->test + ask->valid < 1.0 && ask->test + ask->valid > 0.0))
        return ST_OK;
    err_set(err, ST_RANGE,
            "test and valid are shares of the rows: above 0 and together below 100%%");
    err_hint(err, "split test=20%%");
    return ST_RANGE;
}

/* Groups to parts and folds. */

struct group { size_t rows, at; }; /* its rows, its place in the order of appearance */

static int smaller_first(const void *a, const void *b)
{
    const struct group *x = a, *y = b;

    return x->rows != y->rows ? (x->rows > y->rows) - (x->rows < y->rows)
                              : (x->at < y->at) - (x->at > y->at); /* of equal ones the later */
}

/* The groups with their rows, in the order in which they are taken for testing. */
static enum status take_order(const struct split_ask *ask, size_t n, const uint32_t *group,
                              size_t ngroups, struct group **out, struct err *err)
{
    struct group *g = mem_calloc(ngroups, sizeof *g, "groups of rows", err);
    size_t *rows = mem_calloc(ngroups, sizeof *rows, "groups of rows", err);
    size_t *random = mem_calloc(ngroups, sizeof *random, "groups of rows", err);

    if (g == NULL || rows == NULL || random == NULL) {
        free(g);
        free(rows);
        free(random);
        return ST_NOMEM;
    }
    for (size_t i = 0; i < n; i++)
        rows[group[i]]++;
    if (ask->seeded)
        rng_permutation(ask->seed, rng_stream(RNG_SPLIT, 2), ngroups, random);
    for (size_t k = 0; k < ngroups; k++) {
        g[k].at = ask->seeded ? random[k] : k;
        g[k].rows = rows[g[k].at];
    }
    free(rows);
    free(random);
    if (!ask->seeded)
        qsort(g, ngroups, sizeof *g, smaller_first);
    *out = g;
    return ST_OK;
}

/* Gives whole groups that no part has taken (of[] PART_TRAIN) to a part: each that brings its rows
 * nearer to `want`, and at least the smallest one. `keep` groups stay for other parts. */
static void take_groups(const struct group *g, size_t n, size_t keep, size_t want, enum part part,
                        uint8_t *of)
{
    size_t rows = 0, left = 0, least = SIZE_MAX;

    for (size_t k = 0; k < n; k++)
        left += of[g[k].at] == PART_TRAIN;
    for (size_t k = 0; k < n && left > keep && rows < want; k++) {
        const size_t sum = rows + g[k].rows;
        if (of[g[k].at] != PART_TRAIN)
            continue;
        if (least == SIZE_MAX || g[k].rows < g[least].rows)
            least = k;
        if (sum > want && sum - want >= want - rows)
            continue;
        of[g[k].at] = (uint8_t)part;
        rows = sum;
        left--;
    }
    if (rows == 0 && least != SIZE_MAX)
        of[g[least].at] = (uint8_t)part;
}

static enum status too_few_groups(const struct split_ask *ask, size_t groups, size_t need,
                                  struct err *err)
{
    char name[64];

    err_named(err, ST_RANGE, "too-few-groups",
              "column %s has %zu group%s, and this split needs at least %zu",
              text_quoted(ask->column, name, sizeof name), groups, groups == 1 ? "" : "s", need);
    err_hint(err, "split test=20%%  splits single rows");
    return ST_RANGE;
}

/* The part of each row from that of its group. */
static enum status parts_of_groups(struct dataset *d, const struct split_ask *ask,
                                   const struct group *g, const uint32_t *group,
                                   struct split_told *told, struct err *err)
{
    const size_t n = d->table->n, parts = 1 + (ask->test > 0.0) + (ask->valid > 0.0);
    uint8_t *of, *part;

    if (told->groups < parts)
        return too_few_groups(ask, told->groups, parts, err);
    of = mem_calloc(told->groups, 1, "groups of rows", err);
    part = mem_calloc(n, 1, "a split", err);
    if (of == NULL || part == NULL) {
        free(of);
        free(part);
        return ST_NOMEM;
    }
    if (ask->test > 0.0)
        take_groups(g, told->groups, parts - 1, rows_of(ask->test, n), PART_TEST, of);
    if (ask->valid > 0.0)
        take_groups(g, told->groups, 1, rows_of(ask->valid, n), PART_VALID, of);
    for (size_t k = 0; k < told->groups; k++)
        told->count[of[k]]++;
    for (size_t i = 0; i < n; i++)
        part[i] = of[group[i]];
    free(of);
    return install(d, ask, SPLIT_BY_GROUP, part, NULL, err);
}

/* The fold of each row: groups go one after the other into the fold with the fewest rows. */
static enum status folds_of_groups(struct dataset *d, const struct split_ask *ask,
                                   const struct group *g, const uint32_t *group, size_t ngroups,
                                   struct err *err)
{
    const size_t n = d->table->n;

    if (ngroups < ask->folds)
        return too_few_groups(ask, ngroups, ask->folds, err);
    size_t *rows = mem_calloc(ask->folds, sizeof *rows, "folds", err);
    uint32_t *of = mem_calloc(ngroups, sizeof *of, "folds", err);
    uint32_t *fold = mem_calloc(n, sizeof *fold, "folds", err);
    if (rows == NULL || of == NULL || fold == NULL) {
        free(rows);
        free(of);
        free(fold);
        return ST_NOMEM;
    }
    for (size_t k = ngroups; k-- > 0;) { /* the largest first */
        size_t least = 0;
        for (size_t f = 1; f < ask->folds; f++)
            least = rows[f] < rows[least] ? f : least;
        of[g[k].at] = (uint32_t)least;
        rows[least] += g[k].rows;
    }
    for (size_t i = 0; i < n; i++)
        fold[i] = of[group[i]];
    free(rows);
    free(of);
    return install(d, ask, SPLIT_BY_GROUP, NULL, fold, err);
}

enum status split_grouped(struct dataset *d, const struct split_ask *ask, struct split_told *told,
                          struct err *err)
{
    struct group *g = NULL;
    uint32_t *group = NULL;
    size_t col = 0;
    enum status rc = check_shares(ask, err);

    *told = (struct split_told){ 0 };
    if (rc == ST_OK)
        rc = find_column(d, ask->column, &col, err);
    if (rc == ST_OK)
        rc = split_groups(d->table, col, &group, &told->groups, &told->missing, err);
    if (rc == ST_OK)
        rc = take_order(ask, d->table->n, group, told->groups, &g, err);
    if (rc == ST_OK)
        rc = ask->folds ? folds_of_groups(d, ask, g, group, told->groups, err)
                        : parts_of_groups(d, ask, g, group, told, err);
    if (rc == ST_OK && d->table->col[col].type != COL_REAL && d->role[col] == ROLE_INPUT) {
        d->role[col] = ROLE_SPLIT;
        told->left_out = true;
    }
    free(g);
    free(group);
    return rc;
}

/* Time. */

/* A sorted copy of a column of times. */
static enum status times_of(const struct table *t, const struct column *c, double **out,
                            struct err *err)
{
    char name[64];
    double least = INFINITY;

    *out = NULL;
    text_quoted(c->name, name, sizeof name);
    if (c->type != COL_REAL) {
        err_set(err, ST_USAGE, "column %s holds %s: the rows of a split by time have numbers or "
                "dates", name, c->type == COL_HELD ? kind_of(c)->several : "words");
        err_hint(err, "cols %s type=date", name);
        return ST_USAGE;
    }
    double *v = mem_calloc(t->n + 1, sizeof *v, "times", err);
    if (v == NULL)
        return ST_NOMEM;
    for (size_t i = 0; i < t->n; i++) {
        v[i] = column_at(c, i);
        least = v[i] < least ? v[i] : least;
    }
    spill_used(t->n * sizeof *v);
    if (c->missing > 0) {
        free(v);
        err_named(err, ST_RANGE, "no-time", "column %s has %zu missing cell%s, which have no place "
                  "in time", name, c->missing, c->missing == 1 ? "" : "s");
        err_hint(err, "where %s >= %.10g  leaves those rows out", name, least);
        return ST_RANGE;
    }
    const enum status rc = radix_sort(v, t->n, err);
    if (rc != ST_OK)
        free(v);
    else
        *out = v;
    return rc;
}

/* Where the last `want` of n sorted times begin. Equal times stay on one side, the one that brings
 * the number nearer to `want`, and both sides have rows; n if that is impossible. */
static size_t border(const double *v, size_t n, size_t want, struct split_told *told)
{
    size_t lo = n > want ? n - want : 0, hi = lo;
    const size_t at = lo;

    while (lo > 0 && v[lo - 1] == v[at])
        lo--;
    while (hi < n && v[hi] == v[at])
        hi++;
    if (lo == at)
        return at > 0 ? at : hi;
    told->ties += hi - lo;
    told->nties++;
    return lo > 0 && (hi == n || at - lo <= hi - at) ? lo : hi;
}

static enum status one_time(const char *column, struct err *err)
{
    char name[64];

    err_named(err, ST_RANGE, "too-few-times",
              "column %s has too few different times for this split",
              text_quoted(column, name, sizeof name));
    err_hint(err, "split test=20%%");
    return ST_RANGE;
}

static enum status parts_of_times(struct dataset *d, const struct split_ask *ask,
                                  const struct column *c, const double *v, struct split_told *told,
                                  struct err *err)
{
    const size_t n = d->table->n;
    const size_t test = ask->test > 0.0 ? border(v, n, rows_of(ask->test, n), told) : n;

    if (ask->test > 0.0 && test >= n)
        return one_time(ask->column, err);
    const size_t valid = ask->valid > 0.0 ? border(v, test, rows_of(ask->valid, n), told) : test;
    if (valid == 0 || (ask->valid > 0.0 && valid >= test))
        return one_time(ask->column, err);
    uint8_t *part = mem_calloc(n, 1, "a split", err);
    if (part == NULL)
        return ST_NOMEM;
    for (size_t i = 0; i < n; i++) {
        const double x = column_at(c, i);
        part[i] = test < n && x >= v[test]      ? PART_TEST
                  : valid < test && x >= v[valid] ? PART_VALID
                                                  : PART_TRAIN;
    }
    return install(d, ask, SPLIT_BY_TIME, part, NULL, err);
}

/* The block of a time among those that begin at first[0] = 0, first[1] .. first[blocks - 1]. */
static size_t block_of(const double *v, const size_t *first, size_t blocks, double x)
{
    size_t lo = 0, hi = blocks;

    while (hi - lo > 1) {
        const size_t mid = (lo + hi) / 2;
        if (x >= v[first[mid]])
            lo = mid;
        else
            hi = mid;
    }
    return lo;
}

/* Block b > 0 is fold b - 1; block 0, which only trains, has the number of folds. */
static enum status folds_of_times(struct dataset *d, const struct split_ask *ask,
                                  const struct column *c, const double *v, struct split_told *told,
                                  struct err *err)
{
    const size_t n = d->table->n, blocks = ask->folds + 1;
    size_t *first = mem_calloc(blocks, sizeof *first, "folds", err);
    uint32_t *fold = mem_calloc(n, sizeof *fold, "folds", err);
    enum status rc = first == NULL || fold == NULL ? ST_NOMEM : ST_OK;

    for (size_t b = 1; rc == ST_OK && b < blocks; b++) {
        first[b] = border(v, n, n - b * n / blocks, told);
        if (first[b] <= first[b - 1] || first[b] >= n)
            rc = one_time(ask->column, err);
    }
    for (size_t i = 0; rc == ST_OK && i < n; i++) {
        const size_t b = block_of(v, first, blocks, column_at(c, i));
        fold[i] = (uint32_t)(b > 0 ? b - 1 : ask->folds);
    }
    free(first);
    if (rc != ST_OK) {
        free(fold);
        return rc;
    }
    return install(d, ask, SPLIT_BY_TIME, NULL, fold, err);
}

enum status split_timed(struct dataset *d, const struct split_ask *ask, struct split_told *told,
                        struct err *err)
{
    double *v = NULL;
    size_t col = 0;
    enum status rc = check_shares(ask, err);

    *told = (struct split_told){ 0 };
    if (rc == ST_OK)
        rc = find_column(d, ask->column, &col, err);
    const struct column *c = rc == ST_OK ? &d->table->col[col] : NULL;
    if (rc == ST_OK)
        rc = times_of(d->table, c, &v, err);
    if (rc == ST_OK)
        rc = ask->folds ? folds_of_times(d, ask, c, v, told, err)
                        : parts_of_times(d, ask, c, v, told, err);
    free(v);
    return rc;
}
