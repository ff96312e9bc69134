/* data/split.c -- which rows are for training, validation and test: random with a seed, in file
 * order, in k folds, or given by a mask in the data or in another file. */
#include "data/dataset.h"
#include "data/split_by.h"

#include "base/mem.h"
#include "base/text.h"
#include "compute/rng.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

const char *const split_by_words[] = { "rows", "group", "time", NULL };

static void install(struct dataset *d, uint8_t *part, char *how)
{
    dataset_split_none(d);
    d->split.part = part;
    d->split.how = how;
    d->split.count[PART_TRAIN] = 0;
    for (size_t i = 0; i < d->table->n; i++)
        d->split.count[part[i]]++;
}

/* The numbers of validation and test rows: at least one for each share that is not 0, and at least
 * one row remains for training. */
static enum status shares(const struct dataset *d, double test, double valid, size_t *ntest,
                          size_t *nvalid, struct err *err)
{
    const size_t n = d->table->n;
    if (!(test >= 0.0 && valid >= 0.0 && test + valid < 1.0) || test + valid == 0.0) {
        err_set(err, ST_RANGE, "test and valid are shares of the rows: above 0 and together below "
                "100%%");
        err_hint(err, "split test=20%%");
        return ST_RANGE;
    }
    *ntest = (size_t)llround(test * (double)n);
    *nvalid = (size_t)llround(valid * (double)n);
    *ntest += test > 0.0 && *ntest == 0;
    *nvalid += valid > 0.0 && *nvalid == 0;
    if (*ntest + *nvalid >= n) {
        err_set(err, ST_RANGE, "%zu rows are too few to be split so", n);
        err_hint(err, "split test=20%%  |  split folds=5");
        return ST_RANGE;
    }
    return ST_OK;
}

static void say_shares(struct buf *how, double test, double valid)
{
    if (test > 0.0)
        buf_printf(how, "test=%.10g%%", 100.0 * test);
    if (valid > 0.0)
        buf_printf(how, "%svalid=%.10g%%", test > 0.0 ? " " : "", 100.0 * valid);
}

enum status split_random(struct dataset *d, double test, double valid, uint64_t seed,
                         struct err *err)
{
    const size_t n = d->table->n;
    size_t ntest, nvalid;
    enum status rc = shares(d, test, valid, &ntest, &nvalid, err);
    if (rc != ST_OK)
        return rc;
    size_t *order = mem_calloc(n, sizeof *order, "a split", err);
    uint8_t *part = mem_calloc(n, 1, "a split", err);
    struct buf how = { 0 };
    say_shares(&how, test, valid);
    buf_printf(&how, " seed=%llu", (unsigned long long)seed);
    char *words = buf_take(&how);
    if (order == NULL || part == NULL || words == NULL) {
        free(order);
        free(part);
        free(words);
        return err_nomem(err, n, "a split");
    }
    rng_permutation(seed, rng_stream(RNG_SPLIT, 0), n, order);
    for (size_t k = 0; k < ntest + nvalid; k++)
        part[order[k]] = k < ntest ? PART_TEST : PART_VALID;
    free(order);
    install(d, part, words);
    return ST_OK;
}

enum status split_ordered(struct dataset *d, double test, double valid, struct err *err)
{
    const size_t n = d->table->n;
    size_t ntest, nvalid;
    enum status rc = shares(d, test, valid, &ntest, &nvalid, err);
    if (rc != ST_OK)
        return rc;
    uint8_t *part = mem_calloc(n, 1, "a split", err);
    struct buf how = { 0 };
    say_shares(&how, test, valid);
    buf_puts(&how, " ordered");
    char *words = buf_take(&how);
    if (part == NULL || words == NULL) {
        free(part);
        free(words);
        return err_nomem(err, n, "a split");
    }
    for (size_t i = 0; i < ntest + nvalid; i++)
        part[n - 1 - i] = i < ntest ? PART_TEST : PART_VALID;
    install(d, part, words);
    return ST_OK;
}

enum status split_folds(struct dataset *d, size_t k, uint64_t seed, struct err *err)
{
    const size_t n = d->table->n;
    if (k < 2 || k > n) {
        err_set(err, ST_RANGE, "folds=%zu: at least 2, at most the %zu rows", k, n);
        return ST_RANGE;
    }
    size_t *order = mem_calloc(n, sizeof *order, "folds", err);
    uint32_t *fold = mem_calloc(n, sizeof *fold, "folds", err);
    struct buf how = { 0 };
    buf_printf(&how, "folds=%zu seed=%llu", k, (unsigned long long)seed);
    char *words = buf_take(&how);
    if (order == NULL || fold == NULL || words == NULL) {
        free(order);
        free(fold);
        free(words);
        return err_nomem(err, n, "folds");
    }
    rng_permutation(seed, rng_stream(RNG_FOLDS, 0), n, order);
    for (size_t i = 0; i < n; i++)
        fold[order[i]] = (uint32_t)(i % k); /* sizes differ by at most one */
    free(order);
    dataset_split_none(d);
    d->split.fold = fold;
    d->split.nfolds = k;
    d->split.how = words;
    return ST_OK;
}

/* The rows by the value of the target, those of one value in random order; the caller frees it. */
static size_t *by_class(const struct dataset *d, uint64_t seed, enum rng_purpose purpose,
                        struct err *err)
{
    const size_t n = d->table->n, col = dataset_target(d);
    uint32_t *group = NULL;
    size_t groups = 0;
    char name[64];

    if (dataset_targets(d) != 1) {
        err_set(err, ST_STATE, "stratify=yes follows the one target, and there are %zu",
                dataset_targets(d));
        err_hint(err, "split test=20%%  |  cols NAME role=target");
        return NULL;
    }
    if (split_groups(d->table, col, &group, &groups, NULL, err) != ST_OK)
        return NULL;
    /* Words repeat less often than numbers that are classes. */
    if (groups > n / (d->table->col[col].type == COL_REAL ? 10 : 2) + 1) {
        err_set(err, ST_STATE, "stratify=yes keeps the shares of classes, and %s has %zu different "
                "values in %zu rows", text_quoted(d->table->col[col].name, name, sizeof name),
                groups, n);
        err_hint(err, "split test=20%%");
        free(group);
        return NULL;
    }
    size_t *order = mem_calloc(n, sizeof *order, "a split", err);
    size_t *random = mem_calloc(n, sizeof *random, "a split", err);
    size_t *place = random ? mem_calloc(groups + 1, sizeof *place, "a split", err) : NULL;
    if (order != NULL && place != NULL) {
        rng_permutation(seed, rng_stream(purpose, 0), n, random);
        for (size_t i = 0; i < n; i++)
            place[group[i] + 1]++;
        for (size_t g = 0; g < groups; g++)
            place[g + 1] += place[g];
        for (size_t i = 0; i < n; i++)
            order[place[group[random[i]]]++] = random[i];
    } else {
        free(order);
        order = NULL;
    }
    free(place);
    free(random);
    free(group);
    return order;
}

/* True where a share of the places 0..k is one more than that of 0..k-1, so that any stretch of
 * places has it to within one. */
static bool drawn(double share, size_t k)
{
    return floor(share * (double)(k + 1)) > floor(share * (double)k);
}

/* Installs folds or parts of rows that are in order. */
static enum status cut_by_class(struct dataset *d, double test, double valid, size_t folds,
                                const size_t *order, char *words, struct err *err)
{
    const size_t n = d->table->n;
    uint8_t *part = folds ? NULL : mem_calloc(n, 1, "a split", err);
    uint32_t *fold = folds ? mem_calloc(n, sizeof *fold, "folds", err) : NULL;
    size_t kept = 0;

    if (part == NULL && fold == NULL)
        return ST_NOMEM;
    for (size_t k = 0; folds && k < n; k++)
        fold[order[k]] = (uint32_t)(k % folds);
    for (size_t k = 0; !folds && k < n; k++) {
        if (drawn(test, k))
            part[order[k]] = PART_TEST;
        else if (drawn(valid / (1.0 - test), kept++))
            part[order[k]] = PART_VALID;
    }
    if (folds) {
        dataset_split_none(d);
        d->split.fold = fold;
        d->split.nfolds = folds;
        d->split.how = words;
    } else {
        install(d, part, words);
    }
    return ST_OK;
}

enum status split_stratified(struct dataset *d, double test, double valid, size_t folds,
                             uint64_t seed, struct err *err)
{
    size_t ntest, nvalid;
    struct buf how = { 0 };
    enum status rc = folds ? ST_OK : shares(d, test, valid, &ntest, &nvalid, err);

    if (rc == ST_OK && folds && (folds < 2 || folds > d->table->n))
        rc = err_set(err, ST_RANGE, "folds=%zu: at least 2, at most the %zu rows", folds,
                     d->table->n);
    size_t *order = rc == ST_OK ? by_class(d, seed, folds ? RNG_FOLDS : RNG_SPLIT, err) : NULL;
    if (order == NULL)
        return rc != ST_OK ? rc : err_status(err);
    if (folds)
        buf_printf(&how, "folds=%zu", folds);
    else
        say_shares(&how, test, valid);
    buf_printf(&how, " stratify=yes seed=%llu", (unsigned long long)seed);
    char *words = buf_take(&how);
    rc = words ? cut_by_class(d, test, valid, folds, order, words, err)
               : err_nomem(err, 64, "a split");
    if (rc != ST_OK)
        free(words);
    free(order);
    return rc;
}

/* Writes "test=20% seed=7" with the number of training rows, or without it if that is 0. */
static char *train_words(const char *how, size_t rows)
{
    const char *before = how ? strstr(how, "train=") : NULL;
    struct buf b = { 0 };
    size_t len = before ? (size_t)(before - how) : how ? strlen(how) : 0;

    while (len > 0 && how[len - 1] == ' ')
        len--;
    buf_printf(&b, "%.*s", (int)len, how ? how : "");
    if (rows)
        buf_printf(&b, "%strain=%zu", len ? " " : "", rows);
    return buf_take(&b);
}

enum status split_train(struct dataset *d, size_t rows, uint64_t seed, struct err *err)
{
    const size_t n = d->table->n;

    if (d->split.nfolds) {
        err_set(err, ST_STATE, "the data is split into folds: each of them trains on all others");
        err_hint(err, "split test=20%%");
        return ST_STATE;
    }
    size_t *order = mem_calloc(n, sizeof *order, "a split", err), kept = 0;
    uint8_t *part = mem_calloc(n, 1, "a split", err);
    char *words = part ? train_words(d->split.how, rows) : NULL;
    if (order == NULL || words == NULL) {
        free(order);
        free(part);
        free(words);
        return err_nomem(err, n, "a split");
    }
    if (d->split.part != NULL)
        memcpy(part, d->split.part, n);
    const enum split_by by = d->split.by; /* test rows stay, and so does what they follow */
    char *column = d->split.column;
    rng_permutation(seed, rng_stream(RNG_SPLIT, 1), n, order);
    for (size_t i = 0; i < n; i++) {
        uint8_t *p = &part[order[i]];
        if (*p != PART_TRAIN && *p != PART_LEFT)
            continue;
        *p = rows == 0 || kept < rows ? PART_TRAIN : PART_LEFT;
        kept++;
    }
    free(order);
    d->split.column = NULL;
    install(d, part, words);
    d->split.by = by;
    d->split.column = column;
    return ST_OK;
}

/* Writes "test=20% seed=7 aside=1000". */
static char *aside_words(const char *how, size_t rows)
{
    struct buf b = { 0 };

    buf_printf(&b, "%s%saside=%zu", how ? how : "", how ? " " : "", rows);
    return buf_take(&b);
}

enum status split_aside(struct dataset *d, size_t rows, uint64_t seed, struct err *err)
{
    const size_t n = d->table->n, have = d->split.part ? d->split.count[PART_TRAIN] : n;

    if (d->split.nfolds) {
        err_set(err, ST_STATE, "the data is split into folds: no rows can be kept aside");
        err_hint(err, "split test=20%%");
        return ST_STATE;
    }
    if (rows == 0 || rows + 2 > have) {
        err_set(err, ST_RANGE, "%zu of %zu training rows cannot be kept aside", rows, have);
        err_hint(err, "calibrate share=0.1");
        return ST_RANGE;
    }
    size_t *order = mem_calloc(n, sizeof *order, "a split", err), taken = 0;
    uint8_t *part = mem_calloc(n, 1, "a split", err);
    char *words = part ? aside_words(d->split.how, rows) : NULL;
    if (order == NULL || words == NULL) {
        free(order);
        free(part);
        free(words);
        return err_nomem(err, n, "a split");
    }
    if (d->split.part != NULL)
        memcpy(part, d->split.part, n);
    const enum split_by by = d->split.by;
    char *column = d->split.column;
    rng_permutation(seed, rng_stream(RNG_SPLIT, 2), n, order);
    for (size_t i = 0; i < n; i++) {
        uint8_t *p = &part[order[i]];
        if (*p == PART_VALID) /* rows that were kept aside before are not among these */
            *p = PART_LEFT;
        if (*p == PART_TRAIN && taken < rows) {
            *p = PART_VALID;
            taken++;
        }
    }
    free(order);
    d->split.column = NULL;
    install(d, part, words);
    d->split.by = by;
    d->split.column = column;
    return ST_OK;
}

/* Splitting by a mask. */

static bool part_of_word(const char *s, uint8_t *part)
{
    static const struct {
        const char *word;
        enum part part;
    } words[] = { { "train", PART_TRAIN }, { "training", PART_TRAIN }, { "valid", PART_VALID },
                  { "val", PART_VALID },   { "validation", PART_VALID }, { "test", PART_TEST } };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcasecmp(s, words[i].word) == 0) {
            *part = (uint8_t)words[i].part;
            return true;
        }
    return false;
}

static enum status bad_mask(const struct table *t, size_t col, size_t row, struct err *err)
{
    struct buf value = { 0 }, name = { 0 }, cell = { 0 };
    table_cell(t, row, col, &cell);
    text_safe(&value, buf_str(&cell), 40);
    text_safe(&name, t->col[col].name, 40);
    err_named(err, ST_FORMAT, "mask",
              "column '%s', row %zu: '%s' is neither 0 nor 1 (1 = test), nor "
              "train, valid or test",
              buf_str(&name), row + 1, buf_str(&value));
    buf_free(&cell);
    buf_free(&name);
    buf_free(&value);
    return ST_FORMAT;
}

static enum status read_mask(const struct table *t, size_t col, uint8_t *part, struct err *err)
{
    const struct column *c = &t->col[col];
    size_t train = 0;
    for (size_t i = 0; i < t->n; i++) {
        bool good = false;
        if (c->type == COL_REAL) {
            good = column_at(c, i) == 0.0 || column_at(c, i) == 1.0;
            part[i] = column_at(c, i) == 1.0 ? PART_TEST : PART_TRAIN;
        } else {
            const char *s = column_word(c, i);
            good = s != NULL && part_of_word(s, &part[i]);
        }
        if (!good)
            return bad_mask(t, col, i, err);
        train += part[i] == PART_TRAIN;
    }
    if (train > 0)
        return ST_OK;
    struct buf name = { 0 };
    text_safe(&name, c->name, 40);
    err_named(err, ST_FORMAT, "mask", "column '%s' leaves no row for training", buf_str(&name));
    buf_free(&name);
    return ST_FORMAT;
}

static enum status find_mask(const struct dataset *d, const struct table *t, const char *column,
                             size_t *col, struct err *err)
{
    *col = column != NULL ? table_find(t, column) : t->ncols == 1 ? 0 : SIZE_MAX;
    if (*col == SIZE_MAX) {
        struct buf name = { 0 };
        text_safe(&name, column != NULL ? column : "", 40);
        if (column != NULL)
            err_set(err, ST_NOT_FOUND, "there is no column '%s' to split by", buf_str(&name));
        else
            err_set(err, ST_USAGE, "the file has %zu columns: name one, column=NAME", t->ncols);
        buf_clear(&name);
        for (size_t j = 0; j < t->ncols && j < 6; j++) {
            buf_puts(&name, j > 0 ? ", " : "");
            text_safe(&name, t->col[j].name, 20);
        }
        err_hint(err, "its columns are %s%s", buf_str(&name), t->ncols > 6 ? ", ..." : "");
        buf_free(&name);
        return column != NULL ? ST_NOT_FOUND : ST_USAGE;
    }
    if (t == d->table && d->role[*col] == ROLE_TARGET)
        return err_set(err, ST_STATE, "the target cannot be the column to split by");
    if (t->n == d->table->n)
        return ST_OK;
    char a[32], b[32];
    text_count(a, sizeof a, t->n);
    text_count(b, sizeof b, d->table->n);
    err_named(err, ST_FORMAT, "rows", "the mask has %s rows, the data %s: they must agree",
                     a, b);
    err_hint(err, "split file=MASK.csv column=NAME  with a line for each row, or split test=20%%");
    return ST_FORMAT;
}

static char *mask_words(const struct table *t, bool own, size_t col, struct err *err)
{
    struct buf b = { 0 };
    if (!own) {
        buf_puts(&b, "file=");
        buf_json_string(&b, t->path);
        buf_putc(&b, ' ');
    }
    buf_puts(&b, "column=");
    buf_json_string(&b, t->col[col].name);
    char *words = buf_take(&b);
    if (words == NULL)
        err_nomem(err, 64, "a split");
    return words;
}

enum status split_column(struct dataset *d, const char *path, const char *column, struct err *err)
{
    struct table *t = NULL;
    size_t col;
    enum status rc = path != NULL ? import_file(path, NULL, NULL, &t, err) : ST_OK;
    if (rc != ST_OK)
        return rc;
    const struct table *from = t != NULL ? t : d->table;
    uint8_t *part = NULL;
    char *how = NULL;
    rc = find_mask(d, from, column, &col, err);
    if (rc == ST_OK) {
        part = mem_calloc(from->n, 1, "a split", err);
        how = part != NULL ? mask_words(from, t == NULL, col, err) : NULL;
        rc = how == NULL ? ST_NOMEM : read_mask(from, col, part, err);
    }
    if (rc == ST_OK) {
        for (size_t j = 0; j < d->table->ncols; j++)
            if (d->role[j] == ROLE_SPLIT)
                d->role[j] = ROLE_SKIP; /* the mask of an earlier split is still no input */
        if (t == NULL)
            d->role[col] = ROLE_SPLIT;
        install(d, part, how);
    } else {
        free(part);
        free(how);
    }
    table_unref(t);
    return rc;
}
