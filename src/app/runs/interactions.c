/* app/runs/interactions.c -- see interactions.h. */
#include "app/runs/interactions.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The partial dependence on the columns of a mask, at the values that each row of the sample has
 * (places, averaged over the same rows). */
static enum status dependence(const struct effects_ask *q, const bool *mask, double *each,
                              double *out, struct err *err)
{
    const size_t n = q->rows.n;
    size_t *from = mem_calloc(n, sizeof *from, "places", err);
    enum status rc = from ? ST_OK : ST_NOMEM;

    for (size_t p = 0; from && p < n; p++)
        from[p] = p;
    if (rc == ST_OK)
        rc = effects_curve(q, mask, q->rows.x, from, n, each, NULL, err);
    for (size_t p = 0; rc == ST_OK && p < n; p++) {
        out[p] = 0.0;
        for (size_t i = 0; i < n; i++)
            out[p] += each[p * n + i] / (double)n;
    }
    free(from);
    return rc;
}

/* The masks of the columns, one after the other; NULL when memory is short. */
static bool *masks_of(const struct movable *m, size_t n, const size_t *col, size_t d,
                      struct err *err)
{
    bool *all = mem_calloc((n + 1) * d, sizeof *all, "inputs", err);

    for (size_t k = 0; all && k < n; k++) {
        bool *one = movable_mask(m, col[k], d, err);
        if (!one) {
            free(all);
            return NULL;
        }
        memcpy(all + k * d, one, d * sizeof *one);
        free(one);
    }
    return all;
}

enum status interactions_measure(const struct movable *m, size_t n, const size_t *col,
                                 struct interaction *out, const struct effects_ask *of,
                                 struct err *err)
{
    struct effects_ask q = *of;
    const size_t d = q.rows.like->d;

    const size_t all = q.rows.n, rows = all < INTERACTIONS_ROWS ? all : INTERACTIONS_ROWS;
    double *x = mem_calloc(rows * d, sizeof *x, "rows", err);
    for (size_t i = 0; x && i < rows; i++) /* evenly from the sample */
        memcpy(x + i * d, q.rows.x + i * all / rows * d, d * sizeof *x);
    q.rows.x = x;
    q.rows.n = rows;
    bool *mask = x ? masks_of(m, n, col, d, err) : NULL, *both = mask ? mask + n * d : NULL;
    double *each = mask ? mem_calloc(rows * rows + (n + 1) * rows, sizeof *each, "predictions", err)
                        : NULL,
           *alone = each ? each + rows * rows : NULL, *joint = each ? alone + n * rows : NULL;
    enum status rc = each ? ST_OK : ST_NOMEM;

    for (size_t k = 0; rc == ST_OK && k < n; k++)
        rc = dependence(&q, mask + k * d, each, alone + k * rows, err);
    for (size_t k = 0; rc == ST_OK && k < n; k++)
        for (size_t l = k + 1; rc == ST_OK && l < n; l++) {
            for (size_t j = 0; j < d; j++)
                both[j] = mask[k * d + j] || mask[l * d + j];
            rc = dependence(&q, both, each, joint, err);
            if (rc != ST_OK)
                break;
            *out = (struct interaction){ .a = col[k], .b = col[l] };
            effects_interaction(rows, joint, alone + k * rows, alone + l * rows, &out->h,
                                &out->part);
            out++;
        }
    free(each);
    free(mask);
    free(x);
    return rc;
}

size_t interactions_predictions(size_t rows, size_t n)
{
    const size_t some = rows < INTERACTIONS_ROWS ? rows : INTERACTIONS_ROWS;

    return (n + n * (n - 1) / 2) * some * some;
}

static int by_h(const void *a, const void *b)
{
    const struct interaction *x = a, *y = b;
    const double u = isnan(x->h) ? -1.0 : x->h, v = isnan(y->h) ? -1.0 : y->h;

    return (u < v) - (u > v);
}

void interactions_sort(struct interaction *p, size_t n)
{
    qsort(p, n, sizeof *p, by_h);
}
