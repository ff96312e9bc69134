/* compute/tuners/learn_maps.c -- see learn_maps.h. */
#include "compute/tuners/learn_maps.h"

#include "base/mem.h"
#include "compute/features/slope.h"
#include "compute/kernels/net.h"
#include "compute/rng.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What the way back needs of all rows is kept where it takes at most KEPT_MOST bytes, or a net has
 * batch norms; else each group makes it again. */
enum { SLICE = 4096, KEPT_MOST = 128 << 20 };

/* term: its kernel; at: its first weight; block: where the numbers of its product begin behind the
 * inputs, of which it has `left` times its outputs times `right`. */
struct learn_net {
    struct net_shape s;
    size_t term, count, at, block, left, right;
    size_t widest;              /* with batch norm: the most numbers that a layer makes of a row */
    float *f, *df, *hat, *rstd; /* of all rows, groups after each other */
    float *dz[2];               /* with batch norm: derivatives of all rows in a layer's numbers */
};

static size_t groups_of(const struct learn_maps *m, size_t n)
{
    return (n + m->group - 1) / m->group;
}

static size_t group_rows(const struct learn_maps *m, size_t g)
{
    return m->n - g * m->group < m->group ? m->n - g * m->group : m->group;
}

/* Sizes. */

static void plan_nets(struct learn_maps *m)
{
    struct net_layer layer[NET_DEPTH_MOST + 1];

    for (size_t t = 0; t < m->k->nterms; t++) {
        struct learn_net *net = &m->net[m->nnets];
        if (!kterm_learns(&m->k->term[t]))
            continue;
        *net = (struct learn_net){ .s = kernel_learned_shape(m->k, t, m->d), .term = t,
                                   .at = m->weights, .left = 1, .right = 1,
                                   .block = kernel_learned_block(m->k, t).first };
        net->count = net_layers(&net->s, layer);
        for (size_t i = 0; i < m->nnets; i++) {
            if (m->net[i].block != net->block)
                continue;
            net->left *= m->net[i].s.out;
            m->net[i].right *= net->s.out;
        }
        for (size_t i = 0; net->s.norm == NET_BATCH && i < net->s.depth; i++) {
            m->sums_each = 2 * layer[i].out > m->sums_each ? 2 * layer[i].out : m->sums_each;
            net->widest = layer[i].makes > net->widest ? layer[i].makes : net->widest;
        }
        m->group = net_group(&net->s) < m->group ? net_group(&net->s) : m->group;
        m->weights += net->count;
        m->nnets++;
    }
}

enum status learn_maps_open(struct learn_maps *m, const struct kernel *k, size_t d, size_t features,
                            uint64_t seed, struct err *err)
{
    const size_t own = kernel_learned_features(k);

    *m = (struct learn_maps){ .k = k, .d = d, .nhp = kernel_nhp(k), .group = NET_GROUP,
                              .kept_most = KEPT_MOST,
                              .numbers = kernel_learned_numbers(k) };
    m->net = mem_calloc(KERNEL_MAX_TERMS, sizeof *m->net, "maps that learn", err);
    if (!m->net)
        return ST_NOMEM;
    plan_nets(m);
    m->count = m->weights + m->nhp;
    m->wide = d + m->numbers;
    const size_t least = featmap_least(k, d);
    m->q = own ? own : features > least ? features + (features & 1) : least;
    if (k->nterms == 1 && !k->term[0].map && m->net[0].s.out == m->q)
        return ST_OK;
    m->fm = featmap_new(k, d, m->q, seed, err);
    if (!m->fm)
        return err_status(err);
    m->room_each = m->wide + slope_work(m->fm);
    return ST_OK;
}

/* How many rows have kept what the way back needs: all, or those of the groups of a wave. */
static size_t kept_rows(const struct learn_maps *m, size_t most, size_t threads)
{
    size_t bytes = 0;
    bool all = false;

    for (size_t i = 0; i < m->nnets; i++) {
        bytes += net_hat_size(&m->net[i].s, most) * sizeof(float);
        all |= m->net[i].s.norm == NET_BATCH;
    }
    return all || bytes <= m->kept_most || most < threads * m->group ? most : threads * m->group;
}

/* Numbers in single precision, and in double. */
static size_t singles(const struct learn_maps *m, size_t most, size_t threads, size_t *work)
{
    const size_t groups = groups_of(m, most) < threads ? groups_of(m, most) : threads;
    const size_t kept = kept_rows(m, most, threads);
    size_t n = m->weights + groups * m->weights;

    *work = 0;
    for (size_t i = 0; i < m->nnets; i++) {
        const struct net_shape *s = &m->net[i].s;
        const size_t each = net_work_size(s, m->group);
        n += net_hat_size(s, kept) + net_rstd_size(s, kept) + 2 * most * s->out;
        n += 2 * most * m->net[i].widest;
        *work = each > *work ? each : *work;
    }
    return n + threads * *work;
}

static size_t doubles(const struct learn_maps *m, size_t most, size_t threads)
{
    const size_t batch = groups_of(m, most) * m->sums_each;

    return batch + (m->fm ? most * m->wide + threads * (m->room_each + m->nhp) + m->nhp : 0);
}

double learn_maps_bytes(const struct learn_maps *m, size_t most, size_t threads)
{
    size_t work;

    return (double)singles(m, most, threads, &work) * sizeof(float) +
           (double)doubles(m, most, threads) * sizeof(double) +
           (m->fm ? featmap_bytes(m->k, m->d, m->q) : 0.0);
}

enum status learn_maps_room(struct learn_maps *m, size_t most, struct pool *pool, struct err *err)
{
    const size_t threads = pool_threads(pool);
    const size_t groups = groups_of(m, most) < threads ? groups_of(m, most) : threads;
    const size_t kept = kept_rows(m, most, threads);

    m->most = most;
    m->whole = kept == most;
    m->pool = pool;
    m->w = mem_aligned(singles(m, most, threads, &m->work_each), sizeof *m->w, "a net that learns",
                       err);
    m->rc = m->w ? mem_calloc(groups_of(m, most) + 1, sizeof *m->rc, "groups of rows", err) : NULL;
    m->X = m->rc ? mem_aligned(doubles(m, most, threads) + 1, sizeof *m->X, "rows of features", err)
                 : NULL;
    if (!m->X)
        return ST_NOMEM;
    m->parts = m->w + m->weights;
    m->work = m->parts + groups * m->weights;
    float *at = m->work + threads * m->work_each;
    for (size_t i = 0; i < m->nnets; i++) {
        struct learn_net *net = &m->net[i];
        net->hat = at;
        net->rstd = net->hat + net_hat_size(&net->s, kept);
        net->f = net->rstd + net_rstd_size(&net->s, kept);
        net->df = net->f + most * net->s.out;
        at = net->df + most * net->s.out;
        for (size_t k = 0; net->s.norm == NET_BATCH && k < 2; k++) {
            net->dz[k] = at;
            at += most * net->widest;
        }
    }
    m->sums = m->X + doubles(m, most, threads) - groups_of(m, most) * m->sums_each;
    if (!m->fm)
        return ST_OK;
    m->room = m->X + most * m->wide;
    m->hpart = m->room + threads * m->room_each;
    m->hp = m->hpart + threads * m->nhp;
    memset(m->X, 0, most * m->wide * sizeof *m->X);
    source_array_init(&m->rows, m->X, most, m->wide, m->wide);
    const struct fop_opts fo = { .pool = pool, .precision = PREC_DOUBLE };
    m->head = fop_new(backend_cpu(), m->fm, &m->rows.base, &fo, err);
    return m->head ? ST_OK : err_status(err);
}

void learn_maps_close(struct learn_maps *m)
{
    fop_free(m->head);
    featmap_free(m->fm);
    free(m->net);
    free(m->w);
    free(m->rc);
    free(m->X);
    *m = (struct learn_maps){ .k = NULL };
}

/* Parameters. */

static void begin_net(const struct learn_net *net, const struct tune_opts *o, double *theta)
{
    struct net_layer layer[NET_DEPTH_MOST + 1];

    net_layers(&net->s, layer);
    for (size_t i = 0; i <= net->s.depth; i++) {
        const struct net_layer *p = &layer[i];
        const double most = 1.0 / sqrt((double)p->in);
        const size_t sub = (o->restart * KERNEL_MAX_TERMS + net->term) * 16 + i;
        const uint64_t stream = rng_stream(RNG_NET, (uint32_t)sub);
        for (size_t j = 0; j < (p->in + 1) * p->out; j++)
            theta[p->w + j] = most * (2.0 * rng_uniform(o->seed, stream, j) - 1.0);
        for (size_t j = 0; p->gain != SIZE_MAX && j < p->out; j++)
            theta[p->gain + j] = 1.0, theta[p->shift + j] = 0.0;
        for (size_t j = 0; p->mean != SIZE_MAX && j < p->out; j++)
            theta[p->mean + j] = 0.0, theta[p->rstd + j] = 1.0;
    }
}

void learn_maps_begin(const struct learn_maps *m, const struct tune_opts *o, double *theta)
{
    for (size_t i = 0; i < m->nnets; i++) {
        const struct learn_net *net = &m->net[i];
        const struct net *from = o->from.of[net->term];
        begin_net(net, o, theta + net->at);
        for (size_t j = 0; from && j < net->count; j++)
            theta[net->at + j] = (double)from->w[j];
    }
    for (size_t h = 0; h < m->nhp; h++) {
        char name[KERNEL_NAME_MAX];
        struct hparam info;
        kernel_hp_info(m->k, h, name, &info);
        const double start = o->goes_on                       ? o->from_hp[h]
                             : o->start && o->start[h] > 0.0 ? o->start[h]
                                                              : info.init;
        theta[m->weights + h] = log(start);
    }
    learn_maps_hold(m, o, theta);
}

void learn_maps_hold(const struct learn_maps *m, const struct tune_opts *o, double *theta)
{
    for (size_t h = 0; h < m->nhp; h++) {
        const struct tune_bound *b = &o->hp[h];
        double *v = &theta[m->weights + h];
        char name[KERNEL_NAME_MAX];
        struct hparam info;
        kernel_hp_info(m->k, h, name, &info);
        const double lo = b->fixed ? b->value : b->lo > 0.0 ? b->lo : info.lo;
        const double hi = b->fixed ? b->value : b->hi > 0.0 ? b->hi : info.hi;
        *v = fmin(fmax(*v, log(lo)), log(hi));
    }
}

/* Random features have length 1; those of maps grow with their number, unless rows are of unit
 * length. */
double learn_maps_size(const struct learn_maps *m)
{
    double size = 0.0, product = 1.0;

    for (size_t t = 0; t < m->k->nterms; t++) {
        const struct kterm *term = &m->k->term[t];
        const struct net_shape s = term->ops->learns ? kernel_learned_shape(m->k, t, m->d)
                                                     : (struct net_shape){ .out = 1 };
        size += term->times ? 0.0 : t ? product : 0.0;
        product = (term->times ? product : 1.0) * (s.unit_rows ? 1.0 : (double)s.out);
    }
    return size + product;
}

enum status learn_maps_nets(const struct learn_maps *m, const double *theta,
                            struct kernel_nets *nets, struct err *err)
{
    *nets = (struct kernel_nets){ { NULL } };
    for (size_t i = 0; i < m->nnets; i++) {
        const struct learn_net *net = &m->net[i];
        for (size_t j = 0; j < net->count; j++)
            m->w[net->at + j] = (float)theta[net->at + j];
        nets->of[net->term] = net_keep(&net->s, m->w + net->at, err);
        if (!nets->of[net->term])
            return ST_NOMEM;
    }
    return ST_OK;
}

/* Forward. */

/* The rows of a group on their way through a net; `slot` of those that a wave has. */
static struct net_pass pass_of(const struct learn_maps *m, const struct learn_net *net, size_t g,
                               size_t slot, size_t worker)
{
    const size_t r0 = g * m->group, kept = m->whole ? r0 : slot * m->group;

    return (struct net_pass){ .x = m->x + r0 * m->d, .f = net->f + r0 * net->s.out,
                              .hat = m->keep ? net->hat + net_hat_size(&net->s, kept) : NULL,
                              .rstd = m->keep ? net->rstd + net_rstd_size(&net->s, kept) : NULL,
                              .work = m->work + worker * m->work_each };
}

/* Row r as the head reads it: its inputs, and what the maps make of them. */
static void fill_row(const struct learn_maps *m, size_t r)
{
    double *x = m->X + r * m->wide, f[NET_OUT_MOST];

    for (size_t j = 0; j < m->d; j++)
        x[j] = (double)m->x[r * m->d + j];
    for (size_t i = 0; i < m->nnets; i++) {
        const struct learn_net *net = &m->net[i];
        const size_t q = net->s.out;
        for (size_t j = 0; j < q; j++)
            f[j] = (double)net->f[r * q + j];
        if (net->left == 1)
            memcpy(x + m->d + net->block, f, q * sizeof *f);
        else
            kernel_learned_multiply(1, net->left, x + m->d + net->block, q, q, f);
    }
}

/* Batch norms: the layers of one net, each over all groups before the next. */
struct layer_work {
    struct learn_maps *m;
    const struct learn_net *net;
    size_t i;
    const double *grad;
};

static void sums_task(void *ctx, size_t g, size_t worker)
{
    const struct layer_work *b = ctx;
    const struct net_pass p = pass_of(b->m, b->net, g, 0, worker);

    net_batch_sums(&b->net->s, b->m->w + b->net->at, b->i, group_rows(b->m, g), &p,
                   b->m->sums + g * b->m->sums_each);
}

static void take_statistics(struct learn_maps *m, const struct learn_net *net, double *theta)
{
    struct net_layer layer[NET_DEPTH_MOST + 1];

    net_layers(&net->s, layer);
    for (size_t i = 0; i < net->s.depth; i++) {
        struct layer_work b = { .m = m, .net = net, .i = i };
        pool_run(m->pool, groups_of(m, m->n), sums_task, &b);
        for (size_t g = 1; g < groups_of(m, m->n); g++) /* in the order of the groups */
            for (size_t j = 0; j < 2 * layer[i].out; j++)
                m->sums[j] += m->sums[g * m->sums_each + j];
        net_batch_set(&net->s, i, m->n, m->sums, m->w + net->at);
        for (size_t j = layer[i].mean; j < layer[i].mean + 2 * layer[i].out; j++)
            theta[net->at + j] = (double)m->w[net->at + j];
    }
}

static void forward_task(void *ctx, size_t g, size_t worker)
{
    struct learn_maps *m = ctx;
    const size_t r0 = g * m->group, n = group_rows(m, g);

    for (size_t i = 0; i < m->nnets; i++) {
        struct net_pass p = pass_of(m, &m->net[i], g, 0, worker);
        if (!m->whole)
            p.hat = p.rstd = NULL;
        net_forward(&m->net[i].s, m->w + m->net[i].at, n, &p);
    }
    for (size_t i = r0 * m->q; !m->fm && i < (r0 + n) * m->q; i++)
        m->F[i] = (double)m->net[0].f[i];
    for (size_t r = r0; m->fm && r < r0 + n; r++)
        fill_row(m, r);
    m->rc[g] = m->fm ? fop_tile64(m->head, r0, r0 + n, m->F + r0 * m->q, m->q, NULL) : ST_OK;
}

static enum status all_well(const struct learn_maps *m, struct err *err)
{
    for (size_t g = 0; g < groups_of(m, m->n); g++)
        if (m->rc[g] != ST_OK)
            return err_set(err, m->rc[g], "the features of a group of rows could not be made");
    return ST_OK;
}

enum status learn_maps_forward(struct learn_maps *m, double *theta, size_t n, const float *x,
                               bool keep, double *F, struct err *err)
{
    enum status rc = ST_OK;

    m->n = n;
    m->x = x;
    m->keep = keep;
    m->F = F;
    for (size_t i = 0; i < m->weights; i++)
        m->w[i] = (float)theta[i];
    for (size_t h = 0; m->fm && h < m->nhp; h++)
        m->hp[h] = exp(theta[m->weights + h]);
    if (m->fm)
        rc = fop_set(m->head, m->hp, err);
    if (rc != ST_OK)
        return rc;
    for (size_t i = 0; keep && i < m->nnets; i++)
        if (m->net[i].s.norm == NET_BATCH)
            take_statistics(m, &m->net[i], theta);
    pool_run(m->pool, groups_of(m, n), forward_task, m);
    return all_well(m, err);
}

/* Back. */

/* The products of one row's features of the nets of a product from `from` to `to` - 1. */
static void kron(const struct learn_maps *m, const struct learn_net *of, size_t r, bool before,
                 double *v)
{
    size_t had = 1;
    double f[NET_OUT_MOST];

    v[0] = 1.0;
    for (size_t i = 0; i < m->nnets; i++) {
        const struct learn_net *net = &m->net[i];
        const size_t q = net->s.out;
        if (net->block != of->block || (before ? net >= of : net <= of))
            continue;
        for (size_t j = 0; j < q; j++)
            f[j] = (double)net->f[r * q + j];
        kernel_learned_multiply(1, had, v, q, q, f);
        had *= q;
    }
}

/* The derivatives in the features of a net, from those in the numbers of its product (23.10). */
static void split(const struct learn_maps *m, const struct learn_net *net, size_t r,
                  const double *dblock)
{
    const size_t q = net->s.out;
    double left[NET_OUT_MOST], right[NET_OUT_MOST];
    float *df = net->df + r * q;

    kron(m, net, r, true, left);
    kron(m, net, r, false, right);
    for (size_t a = 0; a < q; a++) {
        double sum = 0.0;
        for (size_t i = 0; i < net->left; i++)
            for (size_t j = 0; j < net->right; j++)
                sum += dblock[(i * q + a) * net->right + j] * left[i] * right[j];
        df[a] = (float)sum;
    }
}

static void back_task(void *ctx, size_t task, size_t worker)
{
    struct learn_maps *m = ctx;
    const size_t g = m->wave + task, r0 = g * m->group, n = group_rows(m, g);
    double *dx = m->room + worker * m->room_each, *hpart = m->hpart + task * m->nhp;

    for (size_t i = r0 * m->q; !m->fm && i < (r0 + n) * m->q; i++)
        m->net[0].df[i] = (float)m->dF[i];
    for (size_t r = r0; m->fm && r < r0 + n; r++) {
        memset(dx, 0, m->wide * sizeof *dx);
        slope_row(m->fm, m->hp, m->dF + r * m->q, m->X + r * m->wide, dx, dx + m->wide);
        for (size_t i = 0; i < m->nnets; i++)
            split(m, &m->net[i], r, dx + m->d + m->net[i].block);
    }
    for (size_t h = 0; m->fm && h < m->nhp; h++)
        hpart[h] = 0.0;
    m->rc[g] = m->fm && m->nhp ? fop_grad(m->head, r0, r0 + n, m->F + r0 * m->q, m->dF + r0 * m->q,
                                          m->q, hpart, NULL)
                               : ST_OK;
    for (size_t i = 0; i < m->nnets; i++) {
        const struct learn_net *net = &m->net[i];
        const struct net_pass p = pass_of(m, net, g, task, worker);
        if (!m->whole) /* the same features again, and what was not kept of them */
            net_forward(&net->s, m->w + net->at, n, &p);
        if (net->s.norm == NET_BATCH) {
            net_batch_unit(&net->s, n, &p, net->df + r0 * net->s.out);
            continue;
        }
        net_back(&net->s, m->w + net->at, n, &p, net->df + r0 * net->s.out,
                 m->parts + task * m->weights + net->at);
    }
}

/* Groups go back in waves of as many as there are threads, which bounds the memory.  The number of
 * groups of a wave does not matter: their gradients are added in the order of the groups. */
static size_t wave_groups(const struct learn_maps *m)
{
    const size_t left = groups_of(m, m->n) - m->wave, most = pool_threads(m->pool);

    return left < most ? left : most;
}

/* Adds numbers from `first` to `end` - 1 of the groups of a wave to grad, per row. */
struct merge { struct learn_maps *m; double *grad; size_t first, end; };

static void merge_task(void *ctx, size_t task, size_t worker)
{
    const struct merge *e = ctx;
    const struct learn_maps *m = e->m;
    const size_t from = e->first + task * SLICE, to = from + SLICE < e->end ? from + SLICE : e->end;

    (void)worker;
    for (size_t i = from; m->wave == 0 && i < to; i++)
        e->grad[i] = 0.0;
    for (size_t g = 0; g < wave_groups(m); g++)
        for (size_t i = from; i < to; i++)
            e->grad[i] += (double)m->parts[g * m->weights + i] / (double)m->n;
}

static void merge_part(struct learn_maps *m, double *grad, size_t first, size_t end)
{
    struct merge merge = { m, grad, first, end };

    pool_run(m->pool, (end - first + SLICE - 1) / SLICE, merge_task, &merge);
}

/* Layer i of a net with batch norms, which takes dz[i % 2] and leaves dz[(i + 1) % 2]. */
static struct net_step step_of(const struct layer_work *b, size_t g, const struct net_pass *p)
{
    const size_t r0 = g * b->m->group, width = b->net->widest;
    const bool last = b->i == b->net->s.depth;

    return (struct net_step){ .i = b->i, .n = group_rows(b->m, g), .p = p,
                              .dz = last ? b->net->df + r0 * b->net->s.out
                                         : b->net->dz[b->i % 2] + r0 * width,
                              .e = b->net->dz[(b->i + 1) % 2] + r0 * width };
}

static void layer_task(void *ctx, size_t task, size_t worker)
{
    const struct layer_work *b = ctx;
    const struct learn_maps *m = b->m;
    const struct net_pass p = pass_of(m, b->net, m->wave + task, 0, worker);
    const struct net_step step = step_of(b, m->wave + task, &p);

    net_batch_back(&b->net->s, m->w + b->net->at, &step,
                   m->parts + task * m->weights + b->net->at);
}

static void centre_task(void *ctx, size_t g, size_t worker)
{
    const struct layer_work *b = ctx;
    const struct net_pass p = pass_of(b->m, b->net, g, 0, worker);
    const struct net_step step = step_of(b, g, &p);

    net_batch_centre(&b->net->s, b->m->w + b->net->at, &step, b->grad);
}

/* The way back through batch norms (23.12): the sums that they need of a layer are the derivatives
 * in its gains and shifts. */
static void back_layers(struct learn_maps *m, const struct learn_net *net, double *grad)
{
    struct net_layer layer[NET_DEPTH_MOST + 1];

    net_layers(&net->s, layer);
    for (size_t i = net->s.depth + 1; i-- > 0;) {
        struct layer_work b = { .m = m, .net = net, .i = i, .grad = grad + net->at };
        const struct net_layer *l = &layer[i], *below = &layer[i - (i > 0)];
        for (m->wave = 0; m->wave < groups_of(m, m->n); m->wave += pool_threads(m->pool)) {
            pool_run(m->pool, wave_groups(m), layer_task, &b);
            merge_part(m, grad, net->at + l->w, net->at + l->b + l->out);
            if (i > 0)
                merge_part(m, grad, net->at + below->gain, net->at + below->shift + below->out);
        }
        if (i == 0)
            break;
        for (size_t j = below->mean; j < below->rstd + below->out; j++)
            grad[net->at + j] = 0.0; /* statistics are no parameters */
        pool_run(m->pool, groups_of(m, m->n), centre_task, &b);
    }
}

enum status learn_maps_back(struct learn_maps *m, double *dF, double *grad, struct err *err)
{
    size_t n;

    m->dF = dF;
    for (size_t h = 0; h < m->nhp; h++)
        grad[m->weights + h] = 0.0;
    for (m->wave = 0; m->wave < groups_of(m, m->n); m->wave += n) {
        n = wave_groups(m);
        pool_run(m->pool, n, back_task, m);
        for (size_t i = 0; i < m->nnets; i++)
            if (m->net[i].s.norm != NET_BATCH)
                merge_part(m, grad, m->net[i].at, m->net[i].at + m->net[i].count);
        for (size_t g = 0; g < n; g++)
            for (size_t h = 0; m->fm && h < m->nhp; h++)
                grad[m->weights + h] += m->hpart[g * m->nhp + h] / (double)m->n;
    }
    for (size_t i = 0; i < m->nnets; i++)
        if (m->net[i].s.norm == NET_BATCH)
            back_layers(m, &m->net[i], grad);
    return all_well(m, err);
}
