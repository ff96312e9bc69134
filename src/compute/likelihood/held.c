/* compute/likelihood/held.c -- see held.h. */
#include "compute/likelihood/held.h"

#include "base/mem.h"
#include "compute/rng.h"

#include <math.h>
#include <stdlib.h>

static const double least_p = 1e-15; /* as scores clip it */

size_t held_folds(size_t n)
{
    return n < HELD_FOLDS_BELOW ? HELD_FOLDS : 1;
}

/* The left-out rows first, then the others; their number. */
static size_t leave_out(struct held *h, const struct dirichlet_rows *r, size_t fold, uint64_t seed,
                        bool *in)
{
    const size_t n = r->src->n, folds = held_folds(n);
    size_t *const drawn = h->order + n, from = 0, out = n / HELD_FOLDS, at = 0;

    rng_permutation(seed, rng_stream(RNG_HELD, 0), n, drawn);
    if (folds > 1) {
        from = fold * n / folds;
        out = (fold + 1) * n / folds - from;
    }
    const size_t *rows = drawn + from;
    if (r->nunseen > 0) {
        rows = r->unseen;
        out = r->nunseen;
    }
    out = out < HELD_ROWS ? out : HELD_ROWS;
    for (size_t i = 0; i < out; i++) {
        h->order[at++] = rows[i];
        in[rows[i]] = true;
    }
    for (size_t i = 0; i < n; i++)
        if (!in[drawn[i]])
            h->order[at++] = drawn[i];
    return out;
}

enum status held_make(struct held *h, const struct dirichlet_rows *r, size_t fold, uint64_t seed,
                      struct err *err)
{
    const size_t n = r->src->n;

    *h = (struct held){ .train = *r, .out = *r };
    h->order = mem_calloc(2 * n + 1, sizeof *h->order, "rows left out", err);
    h->labels = h->order ? mem_calloc(n + 1, sizeof *h->labels, "labels", err) : NULL;
    bool *in = h->labels ? mem_calloc(n + 1, sizeof *in, "rows left out", err) : NULL;
    if (in == NULL)
        return ST_NOMEM;
    const size_t out = leave_out(h, r, fold, seed, in);
    const size_t left = n - out < HELD_TRAIN_ROWS ? n - out : HELD_TRAIN_ROWS;
    free(in);
    for (size_t i = 0; i < n; i++)
        h->labels[i] = r->labels[h->order[i]];
    source_subset_init(&h->rows, r->src, h->order, out);
    source_subset_init(&h->train_rows, r->src, h->order + out, left);
    h->out.src = &h->rows.base;
    h->out.labels = h->labels;
    h->train.src = &h->train_rows.base;
    h->train.labels = h->labels + out;
    return ST_OK;
}

void held_free(struct held *h)
{
    free(h->order);
    free(h->labels);
    h->order = NULL;
    h->labels = NULL;
}

double held_loss(const struct held *h, const double *p, double *weight)
{
    const struct dirichlet_rows *r = &h->out;
    const size_t n = r->src->n;
    double loss = 0.0;

    *weight = 0.0;
    for (size_t i = 0; i < n; i++) {
        const size_t c = (size_t)r->labels[i];
        const double u = r->weight ? r->weight[c] : 1.0;
        loss -= u * log(fmax(p[c * n + i], least_p));
        *weight += u;
    }
    return loss;
}

void held_softmax(size_t n, size_t C, const double *f, double scale, const double *offset,
                  double *p)
{
    for (size_t i = 0; i < n; i++) {
        double most = -INFINITY, sum = 0.0;
        for (size_t c = 0; c < C; c++) {
            p[c * n + i] = scale * f[c * n + i] + offset[c];
            most = fmax(most, p[c * n + i]);
        }
        for (size_t c = 0; c < C; c++)
            sum += p[c * n + i] = exp(p[c * n + i] - most);
        for (size_t c = 0; c < C; c++)
            p[c * n + i] /= sum;
    }
}
