/* data/kinds/letters.c -- see letters.h. */
#include "data/kinds/letters.h"

#include "data/formats/import.h"
#include "base/mem.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Henikoff & Henikoff 1992, half bits: the lower triangle, in this order of the amino acids. */
static const char blosum_order[] = "ARNDCQEGHILKMFPSTWYV";
static const signed char blosum[] = {
     4,
    -1,  5,
    -2,  0,  6,
    -2, -2,  1,  6,
     0, -3, -3, -3,  9,
    -1,  1,  0,  0, -3,  5,
    -1,  0,  0,  2, -4,  2,  5,
     0, -2,  0, -1, -3, -2, -2,  6,
    -2,  0,  1, -1, -3,  0,  0, -2,  8,
    -1, -3, -3, -3, -1, -3, -3, -4, -3,  4,
    -1, -2, -3, -4, -1, -2, -3, -4, -3,  2,  4,
    -1,  2,  0, -1, -3,  1,  1, -2, -1, -3, -2,  5,
    -1, -1, -2, -3, -1,  0, -2, -3, -2,  1,  2, -1,  5,
    -2, -3, -3, -3, -2, -3, -3, -3, -1,  0,  0, -3,  0,  6,
    -1, -2, -2, -1, -3, -1, -1, -2, -2, -3, -3, -1, -2, -4,  7,
     1, -1,  1,  0, -1,  0,  0,  0, -1, -2, -2,  0, -1, -2, -1,  4,
     0, -1,  0, -1, -1, -1, -1, -2, -2, -1, -1, -1, -1, -2, -1,  1,  5,
    -3, -3, -4, -4, -2, -2, -3, -2, -2, -3, -2, -3, -1,  1, -4, -3, -2, 11,
    -2, -2, -2, -3, -2, -1, -2, -3,  2, -1, -1, -2, -1,  3, -3, -2, -2,  2,  7,
     0, -3, -3, -3, -1, -2, -2, -3, -3,  3,  1, -2,  1, -1, -2, -2,  0, -3, -1,  4,
};

/* Hydropathy (Kyte & Doolittle 1982); composition, polarity and volume (Grantham 1974); charge of
 * the side chain at pH 7. */
static const struct { char letter; double v[5]; } scales[] = {
    { 'A', {  1.8, 0.00,  8.1,  31.0,  0.0 } }, { 'C', {  2.5, 2.75,  5.5,  55.0,  0.0 } },
    { 'D', { -3.5, 1.38, 13.0,  54.0, -1.0 } }, { 'E', { -3.5, 0.92, 12.3,  83.0, -1.0 } },
    { 'F', {  2.8, 0.00,  5.2, 132.0,  0.0 } }, { 'G', { -0.4, 0.74,  9.0,   3.0,  0.0 } },
    { 'H', { -3.2, 0.58, 10.4,  96.0,  0.0 } }, { 'I', {  4.5, 0.00,  5.2, 111.0,  0.0 } },
    { 'K', { -3.9, 0.33, 11.3, 119.0,  1.0 } }, { 'L', {  3.8, 0.00,  4.9, 111.0,  0.0 } },
    { 'M', {  1.9, 0.00,  5.7, 105.0,  0.0 } }, { 'N', { -3.5, 1.33, 11.6,  56.0,  0.0 } },
    { 'P', { -1.6, 0.39,  8.0,  32.5,  0.0 } }, { 'Q', { -3.5, 0.89, 10.5,  85.0,  0.0 } },
    { 'R', { -4.5, 0.65, 10.5, 124.0,  1.0 } }, { 'S', { -0.8, 1.42,  9.2,  32.0,  0.0 } },
    { 'T', { -0.7, 0.71,  8.6,  61.0,  0.0 } }, { 'V', {  4.2, 0.00,  5.9,  84.0,  0.0 } },
    { 'W', { -0.9, 0.13,  5.4, 170.0,  0.0 } }, { 'Y', { -1.3, 0.20,  6.2, 136.0,  0.0 } },
};

static const char *const names[] = { "blosum62", "scales", "kmer3" };

size_t letters_kmer(const char *word)
{
    size_t k;

    return word != NULL && sscanf(word, "kmer%1zu", &k) == 1 && word[5] == '\0' &&
                   k <= LETTERS_KMER_MOST
               ? k
               : 0;
}

void letters_free(struct letters *l)
{
    free(l->value);
    *l = (struct letters){ 0 };
}

static enum status room(struct letters *l, size_t n, size_t channels, struct err *err)
{
    l->channels = channels;
    l->value = mem_calloc(n, channels * sizeof *l->value, "letters", err);
    return l->value != NULL ? ST_OK : ST_NOMEM;
}

static enum status take_blosum(struct letters *l, struct err *err)
{
    const size_t n = strlen(blosum_order);
    const enum status rc = room(l, n, n, err);

    l->source = "Henikoff & Henikoff 1992";
    strcpy(l->order, blosum_order);
    for (size_t i = 0, k = 0; rc == ST_OK && i < n; i++)
        for (size_t j = 0; j <= i; j++, k++)
            l->value[i * n + j] = l->value[j * n + i] = blosum[k];
    return rc;
}

/* Scales each property to variance one over the amino acids. */
static enum status take_scales(struct letters *l, struct err *err)
{
    enum { N = sizeof scales / sizeof scales[0], C = 5 };
    const enum status rc = room(l, N, C, err);

    l->source = "Kyte & Doolittle 1982, Grantham 1974";
    for (size_t c = 0; rc == ST_OK && c < C; c++) {
        double mean = 0.0, square = 0.0;
        for (size_t i = 0; i < N; i++)
            mean += scales[i].v[c] / N;
        for (size_t i = 0; i < N; i++)
            square += (scales[i].v[c] - mean) * (scales[i].v[c] - mean) / N;
        for (size_t i = 0; i < N; i++)
            l->value[i * C + c] = (scales[i].v[c] - mean) / sqrt(square);
    }
    for (size_t i = 0; i < N; i++)
        l->order[i] = scales[i].letter;
    l->order[N] = '\0';
    return rc;
}

static enum status bad_table(const char *path, const char *what, struct err *err)
{
    err_named(err, ST_FORMAT, "letters", "%.200s: %s", path, what);
    err_hint(
        err,
        "a table of letters has a column of single letters, each once, and columns of numbers");
    return ST_FORMAT;
}

static enum status fill_table(const struct table *t, const char *path, size_t key,
                              struct letters *l, struct err *err)
{
    size_t c = 0;

    for (size_t i = 0; i < t->n; i++) {
        const char *w = column_word(&t->col[key], i);
        if (w == NULL || strlen(w) != 1 || strchr(l->order, *w) != NULL)
            return bad_table(path, "a row has no letter of its own", err);
        l->order[i] = *w;
        l->order[i + 1] = '\0';
    }
    for (size_t j = 0; j < t->ncols; j++) {
        if (j == key)
            continue;
        for (size_t i = 0; i < t->n; i++) {
            const double v = t->col[j].type == COL_REAL ? column_at(&t->col[j], i) : (double)NAN;
            if (!isfinite(v))
                return bad_table(path, "a cell is not a number", err);
            l->value[i * l->channels + c] = v;
        }
        c++;
    }
    return ST_OK;
}

static enum status take_file(const char *path, struct letters *l, struct err *err)
{
    struct table *t = NULL;
    size_t key = 0;
    enum status rc = import_table(path, NULL, NULL, &t, err);

    if (rc != ST_OK)
        return rc;
    while (key < t->ncols && t->col[key].type == COL_REAL)
        key++;
    if (key == t->ncols || t->ncols < 2 || t->n > 64 || t->ncols - 1 > LETTERS_CHANNELS_MOST)
        rc = bad_table(path, "no column of letters, no column of numbers, or too many", err);
    if (rc == ST_OK)
        rc = room(l, t->n, t->ncols - 1, err);
    if (rc == ST_OK)
        rc = fill_table(t, path, key, l, err);
    l->source = "";
    table_unref(t);
    return rc;
}

static enum status one_scale(struct letters *l, const char *word, struct err *err)
{
    const size_t n = strlen(l->order), C = l->channels;
    double sum = 0.0;

    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            for (size_t c = 0; c < C; c++)
                sum += (l->value[i * C + c] - l->value[j * C + c]) *
                       (l->value[i * C + c] - l->value[j * C + c]);
    if (n < 2 || !(sum > 0.0) || !isfinite(sum))
        return bad_table(word, "its letters have the same numbers", err);
    const double factor = sqrt(2.0 * (double)(n * (n - 1)) / sum);
    for (size_t i = 0; i < n * C; i++)
        l->value[i] *= factor;
    return ST_OK;
}

enum status letters_find(const char *word, struct letters *l, struct err *err)
{
    enum status rc;

    *l = (struct letters){ 0 };
    if (strcmp(word, names[0]) == 0) {
        rc = take_blosum(l, err);
    } else if (strcmp(word, names[1]) == 0) {
        rc = take_scales(l, err);
    } else if (access(word, F_OK) != 0) {
        rc = err_set(
            err, ST_NOT_FOUND,
            "encoding=%.100s is neither onehot, blosum62, scales, kmer1 to kmer8 nor a file", word);
    } else {
        rc = take_file(word, l, err);
    }
    if (rc == ST_OK)
        rc = one_scale(l, word, err);
    if (rc != ST_OK)
        letters_free(l);
    return rc;
}
