/* compute/models/truth.c -- see truth.h. */
#include "compute/models/truth.h"

#include "base/mem.h"
#include "compute/features/featmap.h"
#include "compute/features/fop.h"
#include "compute/rng.h"

#include <stdlib.h>
#include <string.h>

/* The sequences of random numbers; the first is the seed of the features. */
enum { TRUTH_SEED, TRUTH_WEIGHTS, TRUTH_NOISE };

struct truth {
    struct featmap *map;
    double hp[KERNEL_MAX_HP];
    double *w; /* map->M */
};

enum status truth_new(const struct kernel *k, const double *hp, size_t d, uint64_t seed,
                      struct truth **out, struct err *err)
{
    struct truth *t = mem_calloc(1, sizeof *t, "a function", err);
    const size_t least = featmap_least(k, d) + 1,
                 columns = least > TRUTH_FEATURES ? least & ~(size_t)1 : TRUTH_FEATURES;

    *out = NULL;
    if (!t)
        return ST_NOMEM;
    memcpy(t->hp, hp, kernel_nhp(k) * sizeof *hp);
    t->map = featmap_new(k, d, columns, rng_u64(seed, rng_stream(RNG_TRUTH, TRUTH_SEED), 0), err);
    t->w = t->map ? mem_calloc(columns, sizeof *t->w, "a function", err) : NULL;
    if (!t->w) {
        truth_free(t);
        return err_status(err);
    }
    for (size_t i = 0; i < columns; i++)
        t->w[i] = rng_normal(seed, rng_stream(RNG_TRUTH, TRUTH_WEIGHTS), i);
    *out = t;
    return ST_OK;
}

void truth_free(struct truth *t)
{
    if (!t)
        return;
    featmap_free(t->map);
    free(t->w);
    free(t);
}

enum status truth_values(const struct truth *t, const struct source *src, double *f,
                         const struct tools *on, struct err *err)
{
    const struct fop_opts o = {.pool = on->pool, .ctl = on->ctl, .precision = PREC_DOUBLE};
    struct fop *z = src->n ? fop_new(on->be, t->map, src, &o, err) : NULL;
    enum status rc = src->n == 0 ? ST_OK
                     : z         ? fop_set(z, t->hp, err)
                     : err_status(err);

    if (rc == ST_OK && z)
        rc = fop_zp(z, 1, t->w, f, on->ctl, err);
    fop_free(z);
    return rc;
}

double truth_noise(uint64_t seed, size_t i)
{
    return rng_normal(seed, rng_stream(RNG_TRUTH, TRUTH_NOISE), i);
}
