/* compute/inducing/word_counts.c -- see word_counts.h.  C (n x p) is kept by rows, each with its
 * words and their weights.  Products go through the p words: O(n L) for rows of L different
 * words. */
#include "compute/inducing/word_counts.h"

#include "base/mem.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS_MOST = 4096, BLOCK = 256 }; /* different words; rows of a task */

struct word_counts {
    struct columns_of of;
    size_t p, *start; /* words; n + 1 places: where each row begins */
    uint32_t *word;
    double *times;
    double *sum; /* 2 x p */
};

void word_counts_free(struct word_counts *c)
{
    if (c == NULL)
        return;
    free(c->start);
    free(c->word);
    free(c->times);
    free(c->sum);
    free(c);
}

/* The words of a row of kernel t, added up; those that occur are noted. */
struct row { double *sum; uint32_t *seen; size_t nseen, first; };

static void add(void *ctx, uint64_t word, double weight)
{
    struct row *r = ctx;
    const size_t at = r->first + (size_t)word;

    if (r->sum[at] == 0.0)
        r->seen[r->nseen++] = (uint32_t)at;
    r->sum[at] += weight;
}

/* How many different words the kernel can have, 0: it is no sum of kernels of words, or too
 * many. */
static size_t words_of(const struct kernel *k)
{
    double all = 0.0;

    for (size_t t = 0; t < k->nterms; t++) {
        const struct layer *l = &k->term[t].layer;
        const double kinds = kterm_reads_windows(&k->term[t]) && l->ops->words && !k->term[t].times
                                 ? l->ops->words->kinds(l) : 0.0;
        if (kinds == 0.0)
            return 0;
        all += kinds;
    }
    return all <= WORDS_MOST ? (size_t)all : 0;
}

/* Row i behind those before it. */
static enum status take_row(struct word_counts *c, size_t i, double *sum, uint32_t *seen,
                            size_t room[2], struct err *err)
{
    const struct kernel *k = c->of.k;
    const double *x = c->of.X + i * c->of.d;
    struct row r = { .sum = sum, .seen = seen };

    for (size_t t = 0; t < k->nterms; t++) {
        const struct layer *l = &k->term[t].layer;
        const struct layer_word_ops *words = l->ops->words;
        const double *part = x + layer_first(l, x);
        const size_t weight = kernel_place(k, t).weight, from = r.nseen;
        words->each(l, part, true, add, &r);
        const double by = (weight == SIZE_MAX ? 1.0 : c->of.hp[weight]) / words->length(l, part);
        if (!isfinite(by))
            return err_set(err, ST_NOMEM, "out of memory for counts of words");
        for (size_t j = from; j < r.nseen; j++)
            sum[seen[j]] *= by;
        r.first += (size_t)words->kinds(l);
    }
    const size_t at = c->start[i], need = at + r.nseen;
    enum status rc = mem_grow((void **)&c->word, &room[0], need, sizeof *c->word, "words", err);
    if (rc == ST_OK)
        rc = mem_grow((void **)&c->times, &room[1], need, sizeof *c->times, "words", err);
    for (size_t j = 0; j < r.nseen; j++) {
        if (rc == ST_OK) {
            c->word[at + j] = seen[j];
            c->times[at + j] = sum[seen[j]];
        }
        sum[seen[j]] = 0.0;
    }
    c->start[i + 1] = need;
    return rc;
}

enum status word_counts_new(const struct columns_of *of, double bytes, struct word_counts **out,
                            struct err *err)
{
    const size_t p = words_of(of->k);
    size_t room[2] = { 0 };

    *out = NULL;
    if (p == 0 || 8.0 * (double)p * (double)p > bytes)
        return ST_OK;
    struct word_counts *c = mem_calloc(1, sizeof *c, "counts of words", err);
    if (c == NULL)
        return ST_NOMEM;
    c->of = *of;
    c->p = p;
    c->start = mem_calloc(of->n + 1, sizeof *c->start, "counts of words", err);
    c->sum = c->start ? mem_calloc(2 * p, sizeof *c->sum, "counts of words", err) : NULL;
    uint32_t *seen = c->sum ? mem_calloc(p, sizeof *seen, "counts of words", err) : NULL;
    enum status rc = seen ? ST_OK : ST_NOMEM;
    for (size_t i = 0; rc == ST_OK && i < of->n; i++)
        rc = take_row(c, i, c->sum, seen, room, err);
    free(seen);
    if (rc == ST_OK)
        *out = c;
    else
        word_counts_free(c);
    return rc;
}

static double scale_of(const struct word_counts *c, size_t i)
{
    return c->of.row_scale ? c->of.row_scale[i] : 1.0;
}

void word_counts_column(const struct word_counts *c, size_t row, double *out)
{
    double *dense = c->sum;

    memset(dense, 0, c->p * sizeof *dense);
    for (size_t k = c->start[row]; k < c->start[row + 1]; k++)
        dense[c->word[k]] = c->times[k];
    for (size_t i = 0; i < c->of.n; i++) {
        double sum = 0.0;
        for (size_t k = c->start[i]; k < c->start[i + 1]; k++)
            sum += c->times[k] * dense[c->word[k]];
        out[i] = scale_of(c, i) * sum;
    }
}

struct products_job { const struct word_counts *c; double *out; };

static void products_task(void *ctx, size_t task, size_t worker)
{
    const struct products_job *job = ctx;
    const struct word_counts *c = job->c;
    const size_t n = c->of.n, i0 = task * BLOCK, i1 = i0 + BLOCK < n ? i0 + BLOCK : n;

    (void)worker;
    for (size_t i = i0; i < i1; i++) {
        double a = 0.0, b = 0.0;
        for (size_t k = c->start[i]; k < c->start[i + 1]; k++) {
            a += c->times[k] * c->sum[2 * c->word[k]];
            b += c->times[k] * c->sum[2 * c->word[k] + 1];
        }
        job->out[i] = a;
        job->out[i + n] = b;
    }
}

void word_counts_products(const struct word_counts *c, const double *x, double *out)
{
    struct products_job job = { c, out };
    const size_t n = c->of.n;

    memset(c->sum, 0, 2 * c->p * sizeof *c->sum);
    for (size_t i = 0; i < n; i++) { /* in the order of rows, whatever the threads */
        const double a = scale_of(c, i) * x[i], b = scale_of(c, i) * x[i + n];
        for (size_t k = c->start[i]; k < c->start[i + 1]; k++) {
            c->sum[2 * c->word[k]] += c->times[k] * a;
            c->sum[2 * c->word[k] + 1] += c->times[k] * b;
        }
    }
    pool_run(c->of.pool, (n + BLOCK - 1) / BLOCK, products_task, &job);
}

/* |S K1 e_j|^2 = c_j' (C' S^2 C) c_j. */
enum status word_counts_norms(const struct word_counts *c, double *out, struct err *err)
{
    const size_t p = c->p;
    double *G = mem_calloc(p * p, sizeof *G, "products of words", err);

    if (G == NULL)
        return ST_NOMEM;
    for (size_t i = 0; i < c->of.n; i++)
        for (size_t k = c->start[i]; k < c->start[i + 1]; k++) {
            const double t = scale_of(c, i) * scale_of(c, i) * c->times[k];
            for (size_t l = c->start[i]; l < c->start[i + 1]; l++)
                G[c->word[k] * p + c->word[l]] += t * c->times[l];
        }
    for (size_t i = 0; i < c->of.n; i++) {
        out[i] = 0.0;
        for (size_t k = c->start[i]; k < c->start[i + 1]; k++) {
            const double *g = G + c->word[k] * p;
            double sum = 0.0;
            for (size_t l = c->start[i]; l < c->start[i + 1]; l++)
                sum += c->times[l] * g[c->word[l]];
            out[i] += c->times[k] * sum;
        }
    }
    free(G);
    return ST_OK;
}
