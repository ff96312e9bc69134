/* compute/featmap.c -- drawing a kernel: Rademacher signs, chi row lengths and radial factors of
 * structured orthogonal random features (Yu et al. 2016; methods.md A.1 to A.3 of the project's
 * notes give the normalisation used here: z.z = 1). */
#include "compute/featmap.h"

#include "base/mem.h"
#include "compute/rng.h"

#include <math.h>
#include <stdlib.h>

/* Narrower transforms make a biased kernel in few dimensions (up to 0.30 at D = 2). */
enum { DRAWN_WIDTH_MIN = 32 };

/* The paired SORF chain every stationary kernel uses; hyperparameter and scale are per term. */
static struct fm_step *sorf_steps(size_t hp0, double out, size_t *n, struct err *err)
{
    const struct fm_step steps[] = {
        { FM_SCALE_IN, hp0, 0.0 }, { FM_SIGN, 0, 0.0 },  { FM_FHT, 0, 0.0 },
        { FM_SIGN, 1, 0.0 },       { FM_FHT, 0, 0.0 },   { FM_SIGN, 2, 0.0 },
        { FM_FHT, 0, 0.0 },        { FM_SCALE, 0, 0.0 }, { FM_SINCOS, 0, out },
    };
    struct fm_step *s = mem_calloc(sizeof steps / sizeof steps[0], sizeof *s, "feature map", err);

    *n = sizeof steps / sizeof steps[0];
    for (size_t i = 0; s && i < *n; i++)
        s[i] = steps[i];
    return s;
}

static size_t pow2_at_least(size_t n)
{
    size_t p = 1;

    while (p < n)
        p *= 2;
    return p;
}

static struct featmap *map_alloc(const struct kernel *k, size_t d, size_t M, struct err *err)
{
    struct featmap *fm = mem_calloc(1, sizeof *fm, "feature map", err);

    if (!fm)
        return NULL;
    fm->term = mem_calloc(k->nterms, sizeof *fm->term, "feature map", err);
    if (!fm->term) {
        free(fm);
        return NULL;
    }
    fm->d = d;
    fm->M = M;
    fm->nterms = k->nterms;
    fm->kernel = *k;
    return fm;
}

static enum status term_alloc(struct fm_term *t, const struct kterm *k, size_t d, size_t D,
                              size_t mf, size_t col0, size_t hp0, struct err *err)
{
    *t = (struct fm_term){ .d = d, .D = D, .nb = (mf + D - 1) / D, .mf = mf, .col0 = col0,
                           .cols = 2 * mf, .hp0 = hp0, .nl = k->ard ? d : 1, .out = sqrt(1.0 / (double)mf),
                           .phase64 = k->ops->heavy && k->ops->heavy(k->params) };
    t->steps = sorf_steps(hp0, t->out, &t->nsteps, err);
    t->signs = mem_calloc(3 * t->nb, D, "feature signs", err);
    t->scale = mem_calloc(t->nb, D * sizeof *t->scale, "feature scales", err);
    return t->steps && t->signs && t->scale ? ST_OK : ST_NOMEM;
}

static double fht_norm(size_t D)
{
    return 1.0 / ((double)D * sqrt((double)D)); /* three transforms, 1/sqrt(D) each */
}

static void term_draw(struct fm_term *t, const struct kterm *k, size_t index, uint64_t seed)
{
    const uint32_t sub = (uint32_t)index;
    const size_t n = t->nb * t->D;

    for (size_t i = 0; i < 3 * n; i += 128) { /* 128 signs per block of random bits */
        uint32_t bits[4];
        rng_u32x4(seed, rng_stream(RNG_SIGNS, sub), i / 128, bits);
        for (size_t j = 0; j < 128 && i + j < 3 * n; j++)
            t->signs[i + j] = bits[j / 32] >> (j % 32) & 1 ? -1 : 1;
    }
    for (size_t j = 0; j < n; j++) {
        const double chi = sqrt(rng_chi2(seed, rng_stream(RNG_CHI, sub), j, (double)t->D));
        t->scale[j] = chi * fht_norm(t->D);
        if (k->ops->radial)
            t->scale[j] *= k->ops->radial(k->params, seed, rng_stream(RNG_RADIAL, sub), j);
    }
}

struct featmap *featmap_new(const struct kernel *k, size_t d, size_t M, uint64_t seed,
                            struct err *err)
{
    if (k->nterms == 0 || d == 0 || M < 2 * k->nterms || M % 2 != 0) {
        err_set(err, ST_RANGE, "features=%zu: the number must be even and at least %zu", M,
                2 * k->nterms);
        return NULL;
    }
    for (size_t i = 0; i < k->nterms; i++)
        if (k->term[i].ard != 0 && k->term[i].ard != d) {
            err_set(err, ST_SHAPE, "a kernel with a lengthscale for each input is drawn for as many "
                    "inputs as it has, not %zu", d);
            return NULL;
        }
    const size_t D = pow2_at_least(d < DRAWN_WIDTH_MIN ? DRAWN_WIDTH_MIN : d);
    struct featmap *fm = map_alloc(k, d, M, err);
    size_t col = 0, hp = 0, left = M / 2;

    if (!fm)
        return NULL;
    fm->seed = seed;
    for (size_t i = 0; i < k->nterms; i++) { /* equal shares; the first terms take the remainder */
        const size_t rest = k->nterms - i, mf = (left + rest - 1) / rest;
        if (term_alloc(&fm->term[i], &k->term[i], d, D, mf, col, hp, err) != ST_OK) {
            featmap_free(fm);
            return NULL;
        }
        term_draw(&fm->term[i], &k->term[i], i, seed);
        col += 2 * mf;
        left -= mf;
        hp += fm->term[i].nl - 1;
        for (const struct hparam *h = k->term[i].ops->hparams; h && h->name; h++)
            hp++;
    }
    return fm;
}

struct featmap *featmap_given(const struct kernel *k, size_t d, size_t D, size_t mf,
                              const int8_t *signs, const double *chi, struct err *err)
{
    if (k->nterms != 1 || D < d || D < 2 || D != pow2_at_least(D) || mf == 0) {
        err_set(err, ST_SHAPE, "a given feature map needs one term and a power of two D >= d=%zu",
                d);
        return NULL;
    }
    struct featmap *fm = map_alloc(k, d, 2 * mf, err);
    if (!fm)
        return NULL;
    if (term_alloc(&fm->term[0], &k->term[0], d, D, mf, 0, 0, err) != ST_OK) {
        featmap_free(fm);
        return NULL;
    }
    struct fm_term *t = &fm->term[0];
    for (size_t i = 0; i < 3 * t->nb * D; i++)
        t->signs[i] = signs[i];
    for (size_t j = 0; j < mf; j++)
        t->scale[j] = chi[j] * fht_norm(D);
    return fm;
}

void featmap_free(struct featmap *fm)
{
    if (!fm)
        return;
    for (size_t i = 0; i < fm->nterms; i++) {
        free((void *)fm->term[i].steps);
        free(fm->term[i].signs);
        free(fm->term[i].scale);
    }
    free(fm->term);
    free(fm);
}
