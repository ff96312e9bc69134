/* compute/ranks/ranks_ops.c -- the functions of the backend of ranks, each one request (ask.h). */
#include "base/mem.h"
#include "compute/features/fop_rows.h"
#include "compute/linalg/blas.h"
#include "compute/ranks/ranks.h"
#include "compute/ranks/ranks_impl.h"

#include <stdlib.h>
#include <string.h>

/* n numbers, or columns of M, which are only read where they are asked with. */
static struct team_block block(const double *p, size_t rows, size_t cols)
{
    return (struct team_block){ (double *)p, p ? rows : 0, p ? cols : 0, p ? rows : 0 };
}

static struct team_rows rows_of(const double *p, size_t k)
{
    return (struct team_rows){ (double *)p, p ? k : 0 };
}

static enum status set(void *state, const double *hp, struct err *err)
{
    struct ranks_state *s = state;
    struct team_ask a = { .head = { .op = ASK_SET }, .all = { block(hp, s->nhp, 1) } };
    enum status rc = backend_cpu()->set(s->here, hp, err);

    if (rc == ST_OK && !s->hp) {
        s->hp = mem_calloc(s->nhp + 1, sizeof *s->hp, "hyperparameters", err);
        rc = s->hp ? ST_OK : ST_NOMEM;
    }
    if (rc != ST_OK)
        return rc;
    memcpy(s->hp, hp, s->nhp * sizeof *hp);
    return ranks_ask(s, &a, &s->stop, err);
}

static enum status pass_of(struct ranks_state *s, enum ask_op op, size_t k, const double *P,
                           double *W, const struct ctl *ctl, struct err *err)
{
    struct team_ask a = { .head = { .op = op, .arg = { k } }, .all = { block(P, s->M, k) },
                          .out = { block(W, s->M, k) } };

    return ranks_ask(s, &a, ctl, err);
}

static enum status pass(void *state, size_t k, const double *P, double *W, const struct ctl *ctl,
                        struct err *err)
{
    return pass_of(state, ASK_PASS, k, P, W, ctl, err);
}

static enum status pass_exact(void *state, size_t k, const double *P, double *W,
                              const struct ctl *ctl, struct err *err)
{
    return pass_of(state, ASK_PASS_EXACT, k, P, W, ctl, err);
}

static void unhalve(void *state)
{
    struct ranks_state *s = state;
    struct team_ask a = { .head = { .op = ASK_UNHALVE } };
    struct err err = { 0 };

    s->unhalved = true; /* a rank that is lost here is noticed by what is asked next */
    ranks_ask(s, &a, &s->stop, &err);
}

static enum status zp(void *state, size_t k, const double *P, double *T, const struct ctl *ctl,
                      struct err *err)
{
    struct ranks_state *s = state;
    struct team_ask a = { .head = { .op = ASK_ZP, .arg = { k } }, .all = { block(P, s->M, k) },
                          .out_rows = { rows_of(T, k) } };

    return ranks_ask(s, &a, ctl, err);
}

static enum status ztv(void *state, size_t k, const double *V, double *W, const struct ctl *ctl,
                       struct err *err)
{
    struct ranks_state *s = state;
    struct team_ask a = { .head = { .op = ASK_ZTV, .arg = { k } }, .rows = rows_of(V, k),
                          .out = { block(W, s->M, k) } };

    return ranks_ask(s, &a, ctl, err);
}

static enum status tile(void *state, size_t r0, size_t r1, float *z, size_t ld, struct err *err)
{
    const struct ranks_state *s = state;

    return backend_cpu()->tile(s->here, r0, r1, z, ld, err);
}

static enum status tile64(void *state, size_t r0, size_t r1, double *z, size_t ld, struct err *err)
{
    const struct ranks_state *s = state;

    return backend_cpu()->tile64(s->here, r0, r1, z, ld, err);
}

static enum status gram(void *state, size_t ny, const double *y, double *G, size_t ld, double *zty,
                        const struct ctl *ctl, struct err *err)
{
    struct ranks_state *s = state;
    const size_t k = y && zty ? ny : 0;
    struct team_ask a = { .head = { .op = ASK_GRAM, .arg = { k } }, .rows = rows_of(y, k),
                          .out = { { G, s->M, s->M, ld }, block(k ? zty : NULL, s->M, k) } };

    return ranks_ask(s, &a, ctl, err);
}

static enum status sketch(void *state, size_t L, const double *Omega, double *Y, bool rough,
                          const struct ctl *ctl, struct err *err)
{
    struct ranks_state *s = state;
    struct team_ask a = { .head = { .op = ASK_SKETCH, .arg = { L, rough } },
                          .all = { block(Omega, s->M, L) }, .out = { block(Y, s->M, L) } };

    return ranks_ask(s, &a, ctl, err);
}

static enum status dgram(void *state, size_t ihp, double *C, const struct ctl *ctl,
                         struct err *err)
{
    struct ranks_state *s = state;
    struct team_ask a = { .head = { .op = ASK_DGRAM, .arg = { ihp } },
                          .out = { block(C, s->M, s->M) } };

    if (!backend_cpu()->has_dtile(s->here))
        return ST_UNSUPPORTED;
    return ranks_ask(s, &a, ctl, err);
}

static enum status diagonal(void *state, double *diag, const struct ctl *ctl, struct err *err)
{
    struct ranks_state *s = state;
    struct team_ask a = { .head = { .op = ASK_DIAGONAL }, .out = { block(diag, s->M, 1) } };

    return ranks_ask(s, &a, ctl, err);
}

static enum status slope_form(void *state, size_t ihp, const double *r, const double *w,
                              double *out, struct err *err)
{
    struct ranks_state *s = state;
    struct team_ask a = { .head = { .op = ASK_SLOPE, .arg = { ihp } },
                          .all = { block(w, s->M, 1) }, .rows = rows_of(r, 1),
                          .out = { block(out, 1, 1) } };

    if (!backend_cpu()->has_dtile(s->here))
        return ST_UNSUPPORTED;
    return ranks_ask(s, &a, NULL, err);
}

/* What a request adds to `sum` (n numbers) comes apart, because it may be asked twice. */
static enum status added(struct ranks_state *s, struct team_ask *a, double *sum, size_t n,
                         const struct ctl *ctl, struct err *err)
{
    double *own = mem_calloc(n + 1, sizeof *own, "a sum of ranks", err);

    if (!own)
        return ST_NOMEM;
    a->out[0] = block(own, n, 1);
    const enum status rc = ranks_ask(s, a, ctl, err);
    if (rc == ST_OK)
        blas_daxpy(n, 1.0, own, sum);
    free(own);
    return rc;
}

static enum status back(void *state, const double *S, size_t k, const double *T, const double *V,
                        double *grad, const struct ctl *ctl, struct err *err)
{
    struct ranks_state *s = state;
    struct team_ask a = { .head = { .op = ASK_BACK, .arg = { k, S != NULL } },
                          .all = { block(S, s->M, s->M), block(V, s->M, k) },
                          .rows = rows_of(T, k) };

    return added(s, &a, grad, s->nhp, ctl, err);
}

static enum status forms(void *state, const struct fop_factors *of, double *q,
                         const struct ctl *ctl, struct err *err)
{
    struct ranks_state *s = state;
    struct team_ask a = { .head = { .op = ASK_FORMS, .arg = { of->count, of->precision } },
                          .all = { block(of->L, s->M, s->M * of->count) },
                          .out_rows = { rows_of(q, of->count) } };

    return ranks_ask(s, &a, ctl, err);
}

static enum status means(void *state, const struct fop_groups *of, double *C,
                         const struct ctl *ctl, struct err *err)
{
    struct ranks_state *s = state;
    struct team_ask a = { .head = { .op = ASK_MEANS,
                                    .arg = { of->groups, of->each, of->precision } } };

    return added(s, &a, C, s->M * of->groups, ctl, err);
}

static enum status dots(void *state, const float *v, double *dot, double *square,
                        const struct ctl *ctl, struct err *err)
{
    struct ranks_state *s = state;
    double *wide = mem_calloc(s->M, sizeof *wide, "a direction", err);
    struct team_ask a = { .head = { .op = ASK_DOTS }, .all = { block(wide, s->M, 1) },
                          .out_rows = { rows_of(dot, 1), rows_of(square, 1) } };

    for (size_t j = 0; wide && j < s->M; j++)
        wide[j] = (double)v[j];
    const enum status rc = wide ? ranks_ask(s, &a, ctl, err) : ST_NOMEM;
    free(wide);
    return rc;
}

static enum status softmax(void *state, const struct fop_softmax *of, double *sum, double *loss,
                           const struct ctl *ctl, struct err *err)
{
    struct ranks_state *s = state;
    const size_t C = of->classes;
    const uint64_t want = (sum ? ASK_WANT_SUM : 0) | ASK_WANT_LOSS | (of->h ? ASK_WANT_H : 0);
    double some[2 * TARGETS_MOST], unwanted;

    for (size_t c = 0; c < C; c++) {
        some[c] = of->offset[c];
        some[C + c] = of->weight ? of->weight[c] : 1.0;
    }
    struct team_ask a = { .head = { .op = ASK_SOFTMAX,
                                    .arg = { C, of->V != NULL, of->c, of->keep, want } },
                          .all = { block(some, 2 * C, 1), block(of->W, s->M, C),
                                   block(of->V, s->M, C) },
                          .rows = rows_of(of->labels, 1),
                          .out = { block(sum, s->M, C), block(loss ? loss : &unwanted, 1, 1) },
                          .out_rows = { rows_of(of->h, 1) } };
    return ranks_ask(s, &a, ctl, err);
}

static enum status blocks(void *state, const struct fop_chosen *at, size_t k, const double *P,
                          double *W, struct err *err)
{
    struct ranks_state *s = state;
    double *which = mem_calloc(at->per, sizeof *which, "blocks of rows", err);
    struct team_ask a = { .head = { .op = ASK_BLOCKS, .arg = { at->rows, at->per, k } },
                          .all = { block(P, s->M, k), block(which, at->per, 1) },
                          .out = { block(W, s->M, k) } };

    for (size_t i = 0; which && i < at->per; i++)
        which[i] = (double)at->at[i];
    const enum status rc = which ? ranks_ask(s, &a, NULL, err) : ST_NOMEM;
    free(which);
    return rc;
}

static void spent(struct backend_spent *sum)
{
    struct ranks_one one;

    *sum = (struct backend_spent){ .ranks = 0 };
    for (size_t i = 0; ranks_at(i, &one); i++) {
        sum->ranks += one.alive ? one.processes : 0;
        sum->work += one.work;
        sum->sums = one.sums > sum->sums ? one.sums : sum->sums;
    }
}

const struct backend_ops ranks_ops = {
    .abi = BACKEND_ABI,
    .name = "ranks",
    .summary = "processes that share the rows",
    .least = RANKS_ROWS,
    .open = ranks_open,
    .close = ranks_close,
    .set = set,
    .pass = pass,
    .pass_exact = pass_exact,
    .unhalve = unhalve,
    .zp = zp,
    .ztv = ztv,
    .tile = tile,
    .tile64 = tile64,
    .back = back,
    .gram = gram,
    .sketch = sketch,
    .dgram = dgram,
    .diagonal = diagonal,
    .slope_form = slope_form,
    .forms = forms,
    .means = means,
    .dots = dots,
    .softmax = softmax,
    .blocks = blocks,
    .spent = spent,
    .basis = basis_ops_give,
    .basis_add = basis_ops_add,
};
