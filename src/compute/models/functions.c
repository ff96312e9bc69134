/* compute/models/functions.c -- functions drawn from the posterior: see functions.h.  An exact
 * model draws by pathwise conditioning (Wilson et al. 2020; share/doc/methods.md 5.10 and 5.11), a
 * model on features by its factor (6.18); both also solve for functions beside the weights
 * (6.19). */
#include "compute/models/functions.h"

#include "base/mem.h"
#include "compute/features/slope.h"
#include "compute/linalg/blas.h"
#include "compute/models/exact.h"
#include "compute/models/model_impl.h"
#include "compute/rng.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The sequences of random numbers of a target; the last is the seed of the features of a prior
 * draw, which are thus never those of a model or of generated data. */
enum { NORMAL_WEIGHTS, NORMAL_NOISE, PRIOR_SEED, SEQUENCES };

enum {
    PRODUCTS_FROM = 4000, /* training rows: fewer are summed in double precision */
    PRODUCT_ROWS = 4096,  /* rows of new inputs that are in memory at once */
};

static uint64_t sequence(size_t target, unsigned which)
{
    return rng_stream(RNG_FUNCTION, (uint32_t)(SEQUENCES * target + which));
}

/* n standard normals for draw s of the set. */
static void normals(const struct functions *f, unsigned which, size_t s, size_t n, double *out)
{
    const uint64_t stream = sequence(f->key.target, which);

    for (size_t i = 0; i < n; i++)
        out[i] = rng_normal(f->key.seed, stream, (uint64_t)(f->key.first + s) << 32 | i);
}

/* What cannot draw these functions, and the fit that can. */
static enum status no_factor(const struct model *m, const struct functions_key *key,
                             struct err *err)
{
    const size_t want = key->first + key->count;

    if (m->S > 0)
        err_named(err, ST_STATE, "no-functions",
                  "this fit has solved for %zu functions, and %zu are asked for", m->S, want);
    else if (m->L == NULL)
        err_named(err, ST_STATE, "no-functions",
                  "functions are drawn with the factor of the variances, or solved for by the fit, "
                  "and this one has neither");
    else
        err_named(err, ST_STATE, "no-functions",
                  "functions are drawn with the factor of all %zu weights, and the variances of "
                  "this fit have %zu",
                  m->M, m->Mv);
    if (m->kind->exact)
        err_hint(err, "fit model=exact samples=%zu", want > 64 ? want : 64);
    else
        err_hint(err, "fit variance=all  |  fit samples=%zu", want > 64 ? want : 64);
    return ST_STATE;
}

/* Functions of a model on features. */

/* W_s = w + noise C'^-1 e, e ~ N(0, I): its covariance is noise^2 A1^-1 (share/doc/methods.md
 * 6.18). */
enum status functions_features(const struct model *m, struct functions *f, const struct tools *on,
                               struct err *err)
{
    const size_t M = m->M, S = f->key.count, j = f->key.target;

    if (m->L == NULL || m->Mv != M)
        return no_factor(m, &f->key, err);
    f->columns = M;
    f->seed = m->seed;
    f->W = mem_calloc(S, M * sizeof *f->W, "the functions", err);
    if (f->W == NULL)
        return ST_NOMEM;
    for (size_t s = 0; s < S; s++)
        normals(f, NORMAL_WEIGHTS, s, M, f->W + s * M);
    const enum status rc = blas_dtrsm(on->pool, true, M, S, m->L, M, f->W, M, err);
    for (size_t s = 0; rc == ST_OK && s < S; s++)
        for (size_t i = 0; i < M; i++)
            f->W[s * M + i] = m->w[j * M + i] + m->noises[j] * f->W[s * M + i];
    return rc;
}

/* Functions of an exact model. */

/* The features at the seed of the functions, over any rows. */
static enum status open_map(const struct functions *f, const struct source *src,
                            const struct tools *on, struct model_map *z, struct err *err)
{
    const struct fop_opts fo = {.pool = on->pool, .ctl = on->ctl, .precision = f->m->precision};
    struct model drawn;

    model_alias(f->m, &drawn);
    drawn.seed = f->seed;
    return model_open(&drawn, f->columns, src, &fo, on->be, z, err);
}

/* Row i of L L' has the diagonal k(x_i, x_i) + ratio / weight_i: noise[i] <- the square root of the
 * last term, at amplitude 1, with any jitter of the factor in it. */
static void noise_of_rows(const struct model *m, double *noise)
{
    const size_t n = m->M;

    memset(noise, 0, n * sizeof *noise);
    for (size_t j = 0; j < n; j++)
        for (size_t i = j; i < n; i++)
            noise[i] += m->L[i + j * n] * m->L[i + j * n];
    for (size_t i = 0; i < n; i++) {
        const double *x = m->X + i * m->d;
        noise[i] = sqrt(fmax(noise[i] - kernel_exact(&m->kernel, m->hp, m->d, x, x, NULL), 0.0));
    }
}

/* The training rows of an exact model as a source. */
static void train_rows(const struct model *m, struct source_array *to)
{
    struct row_layout *rows = &to->base.layout;

    source_array_init(to, m->X, m->M, m->d, m->d);
    for (size_t t = 0; t < m->kernel.nterms; t++) {
        const struct layer *l = &m->kernel.term[t].layer;
        if (!kterm_reads_windows(&m->kernel.term[t]))
            continue;
        rows->flat = l->flat;
        rows->nparts = l->parts ? l->parts : 1;
        rows->part[l->part] =
            (struct row_part){ layer_rows(l), l->channels, l->positions, l->others };
    }
}

/* W holds weights of prior draws at amplitude 1 and V their noise at the training rows; they become
 * those of posterior draws (share/doc/methods.md 5.7, 5.8). */
static enum status condition(const struct model *m, struct functions *f, const struct tools *on,
                             struct err *err)
{
    const size_t n = m->M, S = f->key.count, j = f->key.target;
    const double amplitude = m->amplitudes[j];
    struct source_array train;
    struct model_map z = { .f = NULL };
    double *f0 = mem_calloc(S, n * sizeof *f0, "the functions at the training rows", err);

    train_rows(m, &train);
    enum status rc = f0 ? open_map(f, &train.base, on, &z, err) : ST_NOMEM;
    if (rc == ST_OK)
        rc = fop_zp(z.f, S, f->W, f0, on->ctl, err);
    model_close(&z);
    for (size_t i = 0; rc == ST_OK && i < S * n; i++)
        f->V[i] += f0[i];
    free(f0);
    if (rc == ST_OK)
        rc = blas_dtrsm(on->pool, false, n, S, m->L, n, f->V, n, err);
    if (rc == ST_OK)
        rc = blas_dtrsm(on->pool, true, n, S, m->L, n, f->V, n, err);
    for (size_t s = 0; rc == ST_OK && s < S; s++)
        for (size_t i = 0; i < n; i++)
            f->V[s * n + i] = m->w[j * n + i] - amplitude * f->V[s * n + i];
    for (size_t i = 0; rc == ST_OK && i < S * f->columns; i++)
        f->W[i] *= amplitude;
    return rc;
}

static enum status exact_room(const struct model *m, struct functions *f, size_t columns,
                              struct err *err)
{
    if (m->L == NULL)
        return no_factor(m, &f->key, err);
    f->columns = columns;
    f->W = mem_calloc(f->key.count, columns * sizeof *f->W, "the functions", err);
    f->V = f->W ? mem_calloc(f->key.count, m->M * sizeof *f->V, "the functions", err) : NULL;
    return f->V ? ST_OK : ST_NOMEM;
}

/* Features of a prior draw. */
static size_t prior_columns(const struct model *m)
{
    const size_t least = featmap_least(&m->kernel, m->d), even = least + (least & 1);

    return even > FUNCTIONS_FEATURES ? even : FUNCTIONS_FEATURES;
}

enum status functions_exact(const struct model *m, struct functions *f, const struct tools *on,
                            struct err *err)
{
    const size_t n = m->M;
    enum status rc = exact_room(m, f, prior_columns(m), err);
    double *noise = rc == ST_OK ? mem_calloc(n, sizeof *noise, "the noise of rows", err) : NULL;

    if (noise == NULL)
        return rc != ST_OK ? rc : ST_NOMEM;
    f->seed = rng_u64(f->key.seed, sequence(f->key.target, PRIOR_SEED), 0);
    noise_of_rows(m, noise);
    for (size_t s = 0; s < f->key.count; s++) {
        normals(f, NORMAL_WEIGHTS, s, f->columns, f->W + s * f->columns);
        normals(f, NORMAL_NOISE, s, n, f->V + s * n);
        for (size_t i = 0; i < n; i++)
            f->V[s * n + i] *= noise[i];
    }
    free(noise);
    return condition(m, f, on, err);
}

/* A draw of the prior and of the points' values, q(u) = N(m, L (F F')^-1 L'): the prior draw is
 * corrected at the points (share/doc/methods.md 22.10). */
enum status functions_sparse(const struct model *m, struct functions *f, const struct tools *on,
                             struct err *err)
{
    const size_t n = m->M, S = f->key.count, j = f->key.target;
    const double amplitude = m->amplitudes[j];
    struct source_array points;
    struct model_map z = { .f = NULL };
    enum status rc = exact_room(m, f, prior_columns(m), err);
    double *L = rc == ST_OK ? model_sparse_factor(m, on->pool, err) : NULL;
    double *f0 = L ? mem_calloc(S, n * sizeof *f0, "the functions at the points", err) : NULL;

    if (rc == ST_OK && f0 == NULL)
        rc = err_status(err);
    f->seed = rng_u64(f->key.seed, sequence(j, PRIOR_SEED), 0);
    for (size_t s = 0; rc == ST_OK && s < S; s++) {
        normals(f, NORMAL_WEIGHTS, s, f->columns, f->W + s * f->columns);
        normals(f, NORMAL_NOISE, s, n, f->V + s * n);
    }
    source_array_init(&points, m->X, n, m->d, m->d);
    if (rc == ST_OK)
        rc = open_map(f, &points.base, on, &z, err);
    if (rc == ST_OK)
        rc = fop_zp(z.f, S, f->W, f0, on->ctl, err);
    model_close(&z);
    if (rc == ST_OK)
        rc = blas_dtrsm(on->pool, true, n, S, m->L, n, f->V, n, err);
    if (rc == ST_OK)
        rc = blas_dtrsm(on->pool, false, n, S, L, n, f0, n, err);
    for (size_t i = 0; rc == ST_OK && i < S * n; i++)
        f->V[i] -= f0[i];
    if (rc == ST_OK)
        rc = blas_dtrsm(on->pool, true, n, S, L, n, f->V, n, err);
    for (size_t i = 0; rc == ST_OK && i < S * n; i++)
        f->V[i] = m->w[j * n + i % n] + amplitude * f->V[i];
    for (size_t i = 0; rc == ST_OK && i < S * f->columns; i++)
        f->W[i] *= amplitude;
    free(f0);
    free(L);
    return rc;
}

/* Functions that a fit has solved for. */

/* Normals of functions that a fit solves for: those of its seed, for all targets. */
static struct functions own_key(const struct model *m)
{
    return (struct functions){ .key = { .seed = m->seed, .count = m->S } };
}

static uint64_t own_prior(const struct model *m)
{
    return rng_u64(m->seed, sequence(0, PRIOR_SEED), 0);
}

enum status functions_sides_exact(const struct model *m, const double *row_scale, double ratio,
                                  double *B, const struct tools *on, struct err *err)
{
    const size_t n = m->M;
    struct functions f = own_key(m);
    struct source_array train;
    struct model_map z = { .f = NULL };

    train_rows(m, &train);
    f.m = (struct model *)m;
    f.columns = prior_columns(m);
    f.seed = own_prior(m);
    f.W = mem_calloc(m->S, f.columns * sizeof *f.W, "the functions", err);
    double *e = f.W ? mem_calloc(n, sizeof *e, "the noise of rows", err) : NULL;
    enum status rc = e ? open_map(&f, &train.base, on, &z, err) : ST_NOMEM;
    for (size_t s = 0; rc == ST_OK && s < m->S; s++)
        normals(&f, NORMAL_WEIGHTS, s, f.columns, f.W + s * f.columns);
    if (rc == ST_OK)
        rc = fop_zp(z.f, m->S, f.W, B, on->ctl, err);
    for (size_t s = 0; rc == ST_OK && s < m->S; s++) {
        normals(&f, NORMAL_NOISE, s, n, e);
        for (size_t i = 0; i < n; i++)
            B[s * n + i] = (row_scale ? row_scale[i] : 1.0) * B[s * n + i] + sqrt(ratio) * e[i];
    }
    model_close(&z);
    free(f.W);
    free(e);
    return rc;
}

enum status functions_sides_features(const struct model *m, struct fop *z, double ratio, double *B,
                                     const struct ctl *ctl, struct err *err)
{
    const size_t n = fop_rows(z), M = m->M;
    const struct functions f = own_key(m);
    double *e = mem_calloc(m->S, n * sizeof *e, "the noise of rows", err),
           *u = e ? mem_calloc(M, sizeof *u, "the functions", err) : NULL;
    enum status rc = u ? ST_OK : ST_NOMEM;

    for (size_t s = 0; rc == ST_OK && s < m->S; s++)
        normals(&f, NORMAL_NOISE, s, n, e + s * n);
    if (rc == ST_OK)
        rc = fop_ztv(z, m->S, e, B, ctl, err);
    for (size_t s = 0; rc == ST_OK && s < m->S; s++) {
        normals(&f, NORMAL_WEIGHTS, s, M, u);
        for (size_t i = 0; i < M; i++)
            B[s * M + i] = ratio * u[i] - sqrt(ratio) * B[s * M + i];
    }
    free(e);
    free(u);
    return rc;
}

enum status functions_exact_solved(const struct model *m, struct functions *f, struct err *err)
{
    const size_t first = f->key.first, S = f->key.count, n = m->M;

    f->key.seed = m->seed;
    f->key.target = 0;
    f->columns = prior_columns(m);
    f->seed = own_prior(m);
    f->W = mem_calloc(S, f->columns * sizeof *f->W, "the functions", err);
    f->V = f->W ? mem_calloc(S, n * sizeof *f->V, "the functions", err) : NULL;
    if (f->V == NULL)
        return ST_NOMEM;
    for (size_t s = 0; s < S; s++)
        normals(f, NORMAL_WEIGHTS, s, f->columns, f->W + s * f->columns);
    for (size_t i = 0; i < S * n; i++)
        f->V[i] = -m->a[first * n + i];
    return ST_OK;
}

enum status functions_features_solved(const struct model *m, struct functions *f, struct err *err)
{
    f->columns = m->M;
    f->seed = m->seed;
    f->W = mem_calloc(f->key.count, m->M * sizeof *f->W, "the functions", err);
    if (f->W == NULL)
        return ST_NOMEM;
    memcpy(f->W, m->a + f->key.first * m->M, f->key.count * m->M * sizeof *f->W);
    return ST_OK;
}

/* Such functions at the amplitude of their target and around its mean. */
static enum status solved_at(const struct model *m, struct functions *f, struct err *err)
{
    const size_t j = f->key.target;
    double *mean = NULL;
    const enum status rc = m->kind->solved(m, f, err);

    if (rc != ST_OK)
        return rc;
    for (size_t i = 0; i < f->key.count * f->columns; i++)
        f->W[i] *= m->amplitudes[j];
    for (size_t i = 0; f->V && i < f->key.count * m->M; i++)
        f->V[i] *= m->amplitudes[j];
    mean = f->V ? f->V : f->W;
    for (size_t i = 0; i < f->key.count * m->M; i++)
        mean[i] += m->w[j * m->M + i % m->M];
    return ST_OK;
}

/* Any kind. */

static struct functions *empty(const struct model *m, const struct functions_key *key,
                               struct err *err)
{
    struct functions *f = mem_calloc(1, sizeof *f, "the functions", err);

    if (f != NULL) {
        f->m = model_ref((struct model *)m); /* the count alone changes */
        f->key = *key;
    }
    return f;
}

static enum status draw_map(struct functions *f, struct err *err)
{
    f->map = featmap_new(&f->m->kernel, f->m->d, f->columns, f->seed, err);
    return f->map ? ST_OK : ST_NOMEM;
}

enum status functions_new(const struct model *m, const struct functions_key *key,
                          const struct tools *on, struct functions **out, struct err *err)
{
    *out = NULL;
    if (m->kind->functions == NULL) {
        err_named(err, ST_STATE, "no-functions", "a model of kind %s draws no functions",
                  m->kind->name);
        err_hint(err, m->kind->local ? "fit model=features, or fit model=exact"
                                     : "fit variance=all");
        return ST_STATE;
    }
    struct functions *f = empty(m, key, err);
    if (f == NULL)
        return ST_NOMEM;
    const bool solved = (m->L == NULL || m->Mv != m->M) && m->S >= key->first + key->count;
    enum status rc = solved ? solved_at(m, f, err) : m->kind->functions(m, f, on, err);
    if (rc == ST_OK)
        rc = draw_map(f, err);
    if (rc == ST_OK)
        *out = f;
    else
        functions_free(f);
    return rc;
}

enum status functions_given_for_tests(const struct model *m, size_t columns, const double *w,
                                      const double *zeta, const struct tools *on,
                                      struct functions **out, struct err *err)
{
    struct functions *f = empty(m, &(struct functions_key){ .count = 1 }, err);
    enum status rc = f ? exact_room(m, f, columns, err) : ST_NOMEM;

    if (rc == ST_OK) {
        memcpy(f->W, w, columns * sizeof *w);
        memcpy(f->V, zeta, m->M * sizeof *zeta);
        rc = condition(m, f, on, err);
    }
    if (rc == ST_OK)
        rc = draw_map(f, err);
    *out = rc == ST_OK ? f : NULL;
    if (rc != ST_OK)
        functions_free(f);
    return rc;
}

void functions_free(struct functions *f)
{
    if (f == NULL)
        return;
    model_unref(f->m);
    featmap_free(f->map);
    free(f->W);
    free(f->V);
    free(f);
}

/* Values. */

struct values {
    struct prediction p; /* mean: F */
    const struct functions *f;
};

/* F += K1(x, X) V for a tile of rows. */
static enum status add_tile(const struct prediction *p, size_t r0, size_t r1, double *work,
                            struct err *err)
{
    const struct functions *f = ((const struct values *)p)->f;
    const struct model *m = f->m;
    const size_t n = m->M, rows = r1 - r0, S = f->key.count;
    const struct exact_rows train = { .k = &m->kernel, .hp = m->hp, .X = m->X, .n = n, .d = m->d };
    double *x = work, *C = x + MODEL_TILE * p->src->d, *sum = C + MODEL_TILE * n;
    const enum status rc = p->src->rows(p->src, r0, r1, x, err);

    if (rc != ST_OK)
        return rc;
    exact_cross_wide(&train, x, p->src->d, rows, C);
    memset(C + rows * n, 0, (MODEL_TILE - rows) * n * sizeof *C);
    blas_dgemm1(true, false, MODEL_TILE, S, n, 1.0, C, n, f->V, n, 0.0, sum, MODEL_TILE);
    for (size_t s = 0; s < S; s++)
        for (size_t i = 0; i < rows; i++)
            p->mean[s * p->n + r0 + i] += sum[s * MODEL_TILE + i];
    return ST_OK;
}

/* F += K1(x, X) V by products, for many training rows. */
static enum status add_products(const struct prediction *p, struct err *err)
{
    const struct functions *f = ((const struct values *)p)->f;
    const struct model *m = f->m;
    const size_t S = f->key.count, most = p->n < PRODUCT_ROWS ? p->n : PRODUCT_ROWS;
    const struct exact_rows rows = { .k = &m->kernel, .hp = m->hp, .X = m->X, .n = m->M, .d = m->d,
                                     .pool = p->on.pool };
    double *Y = mem_aligned(most * (m->d + S) + 1, sizeof *Y, "new rows", err);
    struct exact_op *op = NULL;
    enum status rc = Y ? exact_op_open(p->on.be, &rows, &op, err) : ST_NOMEM;

    for (size_t r0 = 0; rc == ST_OK && r0 < p->n; r0 += most) {
        const size_t k = p->n - r0 < most ? p->n - r0 : most;
        double *W = Y + most * m->d;
        rc = p->src->rows(p->src, r0, r0 + k, Y, err);
        if (rc == ST_OK)
            rc = exact_op_apply(op, k, Y, S, f->V, W, p->on.ctl, err);
        for (size_t i = 0; rc == ST_OK && i < S * k; i++)
            p->mean[i / k * p->n + r0 + i % k] += W[i];
    }
    exact_op_close(op);
    free(Y);
    return rc;
}

enum status functions_values(const struct functions *f, const struct source *src, double *F,
                             const struct tools *on, struct err *err)
{
    const struct model *m = f->m;
    struct phase_ctl phase;
    struct model_map z = { .f = NULL };
    struct values v = { .f = f,
                        .p = { .m = m, .src = src, .n = src->n, .mean = F, .tile = add_tile,
                               .work_len = MODEL_TILE * (src->d + m->M + f->key.count) + 8,
                               .on = { on->be, on->pool,
                                       model_phase(&phase, on->ctl, PHASE_PREDICT) } } };
    enum status rc = source_suits(src, &m->kernel, err);

    if (rc == ST_OK && !m->kind->suits(m, src, err))
        rc = ST_SHAPE;
    if (rc != ST_OK || src->n == 0)
        return rc;
    rc = open_map(f, src, &v.p.on, &z, err);
    if (rc == ST_OK)
        rc = fop_zp(z.f, f->key.count, f->W, F, v.p.on.ctl, err);
    model_close(&z);
    if (rc != ST_OK || f->V == NULL)
        return rc;
    return m->L == NULL && m->M > PRODUCTS_FROM ? add_products(&v.p, err) : model_tiles(&v.p, err);
}

/* Sets of rows, so that the values of all functions have a bounded size. */
enum status functions_spread(const struct model *m, const struct source *src, double *varf,
                             const struct tools *on, struct err *err)
{
    const size_t most = src->n < PRODUCT_ROWS ? src->n : PRODUCT_ROWS, S = m->S;
    struct functions *f = empty(m, &(struct functions_key){ .count = S }, err);
    double *F = f ? mem_calloc(S, most * sizeof *F, "values of functions", err) : NULL;
    size_t *at = F ? mem_calloc(most, sizeof *at, "rows", err) : NULL;
    enum status rc = at ? m->kind->solved(m, f, err) : ST_NOMEM;

    for (size_t r0 = 0; rc == ST_OK && r0 < src->n; r0 += most) {
        const size_t k = src->n - r0 < most ? src->n - r0 : most;
        struct source_subset some;
        for (size_t i = 0; i < k; i++)
            at[i] = r0 + i;
        source_subset_init(&some, src, at, k);
        rc = functions_values(f, &some.base, F, on, err);
        for (size_t i = 0; rc == ST_OK && i < k; i++) {
            double sum = 0.0;
            for (size_t s = 0; s < S; s++)
                sum += F[s * k + i] * F[s * k + i];
            for (size_t j = 0; j < m->t; j++)
                varf[j * src->n + r0 + i] = m->amplitudes[j] * m->amplitudes[j] * sum / (double)S;
        }
    }
    functions_free(f);
    free(F);
    free(at);
    return rc;
}

/* Values and gradients. */

bool functions_smooth(const struct model *m, struct err *err)
{
    const char *which;

    if (kernel_exact_slopes(&m->kernel, &which))
        return true;
    if (kernel_reads_windows(&m->kernel))
        err_set(err, ST_UNSUPPORTED, "functions of sequences have no gradient in their rows");
    else
        err_set(err, ST_UNSUPPORTED, "functions of the %s kernel with nu below 1 have no gradient",
                which);
    err_hint(err, "suggest pool=FILE takes the best of given rows");
    return false;
}

struct slopes {
    const struct functions *f;
    size_t work; /* doubles of scratch of a worker */
    const double *X;
    const size_t *which;
    double *F, *G, *scratch;
    const struct ctl *ctl;
};

/* One row: the prior's part by its features, then k1(x, X)'V. */
static void slope_task(void *ctx, size_t i, size_t worker)
{
    const struct slopes *p = ctx;
    const struct functions *f = p->f;
    const struct model *m = f->m;
    const size_t d = m->d, s = p->which[i];
    const double *x = p->X + i * d;
    double *work = p->scratch + worker * p->work, *own = work, *spare = work + d;
    double *G = p->G + i * d;

    if (ctl_stopped(p->ctl))
        return;
    p->F[i] = slope_row(f->map, m->hp, f->W + s * f->columns, x, G, work);
    for (size_t j = 0; f->V && j < m->M; j++) {
        const double v = f->V[s * m->M + j];
        p->F[i] += v * kernel_exact_slope(&m->kernel, m->hp, d, x, m->X + j * d, own, spare);
        for (size_t e = 0; e < d; e++)
            G[e] += v * own[e];
    }
}

enum status functions_slopes(const struct functions *f, size_t n, const double *X,
                                       const size_t *which, double *F, double *G,
                                       const struct tools *on, struct err *err)
{
    const size_t least = slope_work(f->map), d = f->m->d;
    struct slopes p = { .f = f, .work = least > 2 * d ? least : 2 * d, .X = X,
                        .which = which, .F = F, .G = G, .ctl = on->ctl };

    if (!functions_smooth(f->m, err))
        return ST_UNSUPPORTED;
    p.scratch = mem_aligned(pool_threads(on->pool) * p.work, sizeof *p.scratch,
                            "gradients of functions", err);
    if (!p.scratch)
        return ST_NOMEM;
    pool_run(on->pool, n, slope_task, &p);
    free(p.scratch);
    return ctl_stopped(on->ctl) ? err_set(err, ST_CANCELLED, "stopped") : ST_OK;
}
