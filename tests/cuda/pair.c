/* tests/cuda/pair.c -- the pairs of operators of pair.h. */
#include "pair.h"

#include "base/mem.h"
#include "compute/rng.h"

#include <math.h>
#include <stdlib.h>

struct err fail;

double normal(uint64_t stream, size_t i)
{
    return rng_normal(7, rng_stream(RNG_TEST, (uint32_t)stream), i);
}

double *normals(uint64_t stream, size_t n)
{
    double *v = mem_calloc(n, sizeof *v, "numbers", NULL);

    for (size_t i = 0; i < n; i++)
        v[i] = normal(stream, i);
    return v;
}

/* A sequence in d numbers of each row, from `first` on. */
static void sequence_rows(double *x, size_t n, size_t ld, size_t first, size_t d, size_t channels)
{
    for (size_t i = 0; i < n; i++) {
        double *row = x + i * ld + first;
        row[0] = (double)(i % 4 == 3 ? 2 : d / 2 + rng_below(9, RNG_TEST, i, d / 2));
        for (size_t p = 1; p < d; p++)
            row[p] = (double)rng_below(9, RNG_TEST + 1, i * ld + p, channels + 1);
    }
}

/* Nets of random weights, as if they had been learned. */
static void give_weights(struct kernel *k, size_t inputs)
{
    struct net_layer layer[NET_DEPTH_MOST + 1];

    for (size_t t = 0; t < k->nterms; t++) {
        if (!kterm_learns(&k->term[t]))
            continue;
        const struct net_shape s = kernel_learned_shape(k, t, inputs);
        const size_t n = net_layers(&s, layer);
        float *w = mem_calloc(n, sizeof *w, "weights", NULL);
        for (size_t i = 0; i < n; i++)
            w[i] = (float)(0.3 * normal(60 + t, i));
        k->term[t].net = net_keep(&s, w, NULL);
        ck_assert_ptr_nonnull(k->term[t].net);
        free(w);
    }
}

struct pair pair_open(const struct job *j)
{
    struct pair p = { .n = j->n, .M = j->M };
    struct err err = { 0 };
    size_t from[KERNEL_MAX_HP];
    const size_t parts = j->two ? 2 : 1;
    const struct row_layout rows = { .flat = j->flat, .nparts = parts,
                                     .part = { { ROWS_SYMBOLS, j->channels, j->d },
                                               { ROWS_SYMBOLS, j->channels, j->d } } };
    const size_t head = row_layout_head(&rows), own = (j->d - head) / parts;
    size_t part[KERNEL_MAX_TERMS] = { 0 }, reads = 0;

    ck_assert_msg(kernel_parse(j->kernel, &p.k, NULL, &err) == ST_OK, "%s: %s", j->kernel, err.msg);
    for (size_t t = 0; t < p.k.nterms; t++)
        part[t] = kterm_reads_windows(&p.k.term[t]) ? reads++ % parts : 0;
    if (j->channels)
        ck_assert_int_eq(kernel_bind_rows(&p.k, &rows, part, &err), ST_OK);
    else
        ck_assert_int_eq(kernel_bind(&p.k, j->d, from, &err), ST_OK);
    give_weights(&p.k, j->d);
    p.x = normals(1, j->n * j->d);
    for (size_t q = 0; j->channels && q < parts; q++) {
        sequence_rows(p.x, j->n, j->d, head + q * own, own, j->channels);
        for (size_t i = 0; j->two && i < j->n; i++)
            p.x[i * j->d + j->flat + q] = (double)(head + q * own);
    }
    p.src = mem_calloc(1, sizeof *p.src, "rows", NULL);
    source_array_init(p.src, p.x, j->n, j->d, j->d);
    if (j->channels)
        p.src->base.layout = rows;
    p.factor = normals(2, j->n);
    for (size_t i = 0; i < j->n; i++)
        p.factor[i] = exp(0.3 * p.factor[i]);
    p.pool = pool_new(2, &err);
    p.fm = featmap_new(&p.k, j->d, j->M, 11, &err);
    ck_assert_msg(p.fm != NULL, "%s: %s", j->kernel, err.msg);
    const struct fop_opts o = { .pool = p.pool, .precision = j->precision, .store = j->store,
                                .half = j->half, .row_scale = j->weighted ? p.factor : NULL };
    p.cpu = fop_new(backend_cpu(), p.fm, &p.src->base, &o, &err);
    ck_assert_msg(p.cpu != NULL, "%s: %s", j->kernel, err.msg);
    p.dev = fop_new(gpdesk_backend(), p.fm, &p.src->base, &o, &err);
    ck_assert_msg(p.dev != NULL, "%s: %s", j->kernel, err.msg);
    for (size_t i = 0; i < kernel_nhp(&p.k); i++) {
        char name[KERNEL_NAME_MAX];
        struct hparam h;
        kernel_hp_info(&p.k, i, name, &h);
        p.hp[i] = h.init * exp(0.2 * normal(3, i)) * (j->d > 2 ? sqrt((double)j->d / 2) : 1.0);
        p.hp[i] = fmin(fmax(p.hp[i], h.lo), h.hi);
    }
    ck_assert_int_eq(fop_set(p.cpu, p.hp, &err), ST_OK);
    ck_assert_msg(fop_set(p.dev, p.hp, &err) == ST_OK, "%s", err.msg);
    return p;
}

void pair_close(struct pair *p)
{
    fop_free(p->cpu);
    fop_free(p->dev);
    featmap_free(p->fm);
    pool_free(p->pool);
    free(p->src);
    free(p->x);
    free(p->factor);
}

double norm(size_t n, const double *v)
{
    double s = 0.0;

    for (size_t i = 0; i < n; i++)
        s += v[i] * v[i];
    return sqrt(s);
}

double apart(size_t n, const double *a, const double *b)
{
    double s = 0.0;

    for (size_t i = 0; i < n; i++)
        s += (a[i] - b[i]) * (a[i] - b[i]);
    ck_assert(isfinite(s));
    return sqrt(s) / fmax(norm(n, b), 1e-300);
}
