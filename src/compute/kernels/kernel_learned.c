/* compute/kernels/kernel_learned.c -- expressions with maps that learn (share/doc/methods.md 23):
 * which they can be, the nets of their kernels, and the numbers that these put behind the inputs
 * of a row.  A product of maps has there the products of their features, row by row (23.10); a
 * kernel behind a map, mlp(rbf,out=4), has the coordinates that it reads. */
#include "compute/kernels/kernel.h"

#include "base/mem.h"
#include "compute/features/featmap.h"
#include "compute/kernels/kernels.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const kernel_learned_norms[] = { "none", "layer", "batch", NULL };
const char *const kernel_learned_lengths[] = { "plain", "unit", NULL };

/* The features of a product are made before, and copied. */
size_t kernel_learned_recipe(const double *params, bool alone, struct fm_step *out)
{
    (void)params, (void)alone;
    out[0] = (struct fm_step){ .op = FM_COPY };
    return 1;
}

bool kernel_learned_whole(double v)
{
    return v == floor(v);
}

bool kernel_learns(const struct kernel *k)
{
    bool some = false;

    for (size_t t = 0; t < k->nterms; t++)
        some |= kterm_learns(&k->term[t]);
    return some;
}

const struct kernel_ops *kernel_learned_map(const struct kernel *k)
{
    for (size_t t = 0; t < k->nterms; t++)
        if (kterm_learns(&k->term[t]))
            return kterm_map(&k->term[t]);
    return NULL;
}

struct net_shape kernel_learned_shape(const struct kernel *k, size_t t, size_t inputs)
{
    const struct kterm *term = &k->term[t];

    return kterm_map(term)->shape(term->map ? term->map_params : term->params, inputs);
}

/* The product of the features of the maps from kernel t on that are multiplied. */
static size_t columns_at(const struct kernel *k, size_t t)
{
    size_t n = 1;

    for (size_t i = t; i < k->nterms && (i == t || k->term[i].times); i++)
        n *= kterm_learns(&k->term[i]) ? kernel_learned_shape(k, i, 1).out : 1;
    return n;
}

/* The same with a column of zeros behind an odd number, because features come in pairs. */
static size_t pairs_at(const struct kernel *k, size_t t)
{
    const size_t n = columns_at(k, t);

    return n + n % 2;
}

static bool begins(const struct kernel *k, size_t t)
{
    return kterm_learns(&k->term[t]) && (t == 0 || !k->term[t].times);
}

struct kernel_block kernel_learned_block(const struct kernel *k, size_t t)
{
    struct kernel_block b = { 0, 0 };

    for (size_t i = 0; i <= t; i++) {
        if (!begins(k, i))
            continue;
        b.first += b.count;
        b.count = pairs_at(k, i);
    }
    return b;
}

size_t kernel_learned_numbers(const struct kernel *k)
{
    size_t n = 0;

    for (size_t t = 0; t < k->nterms; t++)
        n += begins(k, t) ? pairs_at(k, t) : 0;
    return n;
}

bool kernel_learned_zero(const struct kernel *k, size_t number)
{
    for (size_t t = 0; t < k->nterms; t++) {
        const struct kernel_block b = kernel_learned_block(k, t);
        if (begins(k, t) && b.count > columns_at(k, t) && number == b.first + b.count - 1)
            return true;
    }
    return false;
}

size_t kernel_learned_copied(const struct kernel *k, bool *all)
{
    size_t n = 0;

    *all = true;
    for (size_t t = 0; t < k->nterms; t++) {
        const bool own = k->term[t].ops->learns;
        n += own && begins(k, t) ? pairs_at(k, t) : 0;
        *all &= own;
    }
    return n;
}

size_t kernel_learned_features(const struct kernel *k)
{
    bool all;
    const size_t n = kernel_learned_copied(k, &all);

    return all ? n : 0;
}

enum status kernel_learned_ready(const struct kernel *k, size_t inputs, struct err *err)
{
    for (size_t t = 0; t < k->nterms; t++) {
        const struct net *net = k->term[t].net;
        if (!kterm_learns(&k->term[t]))
            continue;
        if (net && (inputs == 0 || net->shape.inputs == inputs))
            continue;
        const char *name = kterm_map(&k->term[t])->name;
        if (net)
            err_set(err, ST_SHAPE, "the weights of %s were learned for %zu inputs, the data have "
                    "%zu", name, net->shape.inputs, inputs);
        else
            err_named(err, ST_STATE, "learned", "%s has learned no weights yet", name);
        err_hint(err, "tune, then fit");
        return net ? ST_SHAPE : ST_STATE;
    }
    return ST_OK;
}

enum status kernel_learned_fits(const struct kernel *k, size_t inputs, struct err *err)
{
    enum status rc = ST_OK;

    for (size_t t = 0; rc == ST_OK && t < k->nterms; t++) {
        const struct kterm *term = &k->term[t];
        const struct kernel_ops *map = kterm_map(term);
        if (map && map->fits)
            rc = map->fits(term->map ? term->map_params : term->params, inputs, err);
    }
    return rc;
}

struct kernel_nets kernel_learned_nets(const struct kernel *k)
{
    struct kernel_nets nets = { { NULL } };

    for (size_t t = 0; t < k->nterms; t++)
        nets.of[t] = k->term[t].net;
    return nets;
}

void kernel_learned_take(struct kernel *k, const struct kernel_nets *nets)
{
    for (size_t t = 0; t < k->nterms; t++)
        k->term[t].net = nets->of[t];
}

bool kernel_learned_same(const struct kernel *a, const struct kernel *b)
{
    bool same = a->nterms == b->nterms;

    for (size_t t = 0; same && t < a->nterms; t++)
        same = a->term[t].net == b->term[t].net;
    return same;
}

void kernel_learned_multiply(size_t n, size_t had, double *block, size_t ld, size_t q,
                             const double *f)
{
    for (size_t r = 0; r < n; r++, block += ld, f += q)
        for (size_t i = had; i-- > 0;) /* from the last on, in place */
            for (size_t j = q; j-- > 0;)
                block[i * q + j] = block[i] * f[j];
}

enum status kernel_learned_rows(const struct kernel *k, size_t n, const double *x, size_t stride,
                                double *out, size_t ld, struct err *err)
{
    return kernel_learned_rows_by(k, NULL, n, x, stride, out, ld, err);
}

/* The place of the block of kernel t in n rows, whose column of zeros is written. */
static size_t start_block(const struct kernel *k, size_t t, size_t n, double *out, size_t ld)
{
    const struct kernel_block b = kernel_learned_block(k, t);

    for (size_t r = 0; b.count > columns_at(k, t) && r < n; r++)
        out[r * ld + b.first + b.count - 1] = 0.0;
    return b.first;
}

enum status kernel_learned_rows_by(const struct kernel *k, const struct kernel_maker *by, size_t n,
                                   const double *x, size_t stride, double *out, size_t ld,
                                   struct err *err)
{
    double *f = mem_aligned(n * NET_OUT_MOST, sizeof *f, "features of rows", err);
    enum status rc = f ? ST_OK : ST_NOMEM;
    size_t at = 0, had = 0;

    for (size_t t = 0; rc == ST_OK && t < k->nterms; t++) {
        if (!kterm_learns(&k->term[t]))
            continue;
        const size_t q = k->term[t].net->shape.out;
        const bool first = begins(k, t);
        if (first)
            at = start_block(k, t, n, out, ld);
        double *const to = first ? out + at : f;
        rc = by ? by->rows(by->ctx, t, n, x, stride, to, first ? ld : q, err)
                : net_rows(k->term[t].net, n, x, stride, to, first ? ld : q, err);
        if (rc == ST_OK && !first)
            kernel_learned_multiply(n, had, out + at, ld, q, f);
        had = first ? q : had * q;
    }
    free(f);
    return rc;
}

/* What stands beside maps. */

static enum status refuse(const char *name, const char *why, const char *hint, struct err *err)
{
    err_named(err, ST_UNSUPPORTED, "learned", "%s %s", name, why);
    err_hint(err, "%s", hint);
    return ST_UNSUPPORTED;
}

/* The kernel that learns, t, and those that it is multiplied with. */
static enum status check_map(const struct kernel *k, size_t t, struct err *err)
{
    const struct kterm *term = &k->term[t];
    const char *name = kterm_map(term)->name;
    const bool factor = (t > 0 && term->times) || (t + 1 < k->nterms && k->term[t + 1].times);
    bool maps = true;

    if (*term->on || term->count)
        return refuse(name, "learns from all inputs: \"on\" has no place behind it",
                      "cols NAME role=skip  (to leave inputs out)", err);
    for (size_t i = t; i > 0 && k->term[i].times; i--)
        maps &= k->term[i - 1].ops->learns;
    for (size_t i = t; i < k->nterms && (i == t || k->term[i].times); i++)
        maps &= k->term[i].ops->learns;
    if (factor && !maps)
        return refuse(name, "is multiplied with other maps alone", "kernel mlp + rbf  |  kernel "
                      "mlp(rbf,out=4)  |  kernel mlp(out=8) * mlp(out=8)", err);
    if (columns_at(k, t) > NET_OUT_MOST)
        return refuse(name, "has too many features in this product: at most 1024",
                      "kernel mlp(out=8) * mlp(out=8)", err);
    if (term->map && term->ard)
        return refuse(name, "scales its coordinates itself: ard has no place in it",
                      "kernel mlp(rbf,out=4)", err);
    if (!term->net)
        return ST_OK;
    const struct net_shape is = term->net->shape, says = kernel_learned_shape(k, t, is.inputs);
    return net_same_shape(&is, &says)
               ? ST_OK
               : err_set(err, ST_USAGE, "weights= belong to a net of another shape");
}

enum status kernel_learned_check(const struct kernel *k, struct err *err)
{
    enum status rc = ST_OK;

    if (!kernel_learns(k))
        return ST_OK;
    if (kernel_has_layer(k))
        return refuse(kernel_learned_map(k)->name, "learns from columns of numbers: no layer "
                      "stands beside it", "kernel mlp", err);
    for (size_t t = 0; rc == ST_OK && t < k->nterms; t++)
        if (kterm_learns(&k->term[t]))
            rc = check_map(k, t, err);
    return rc;
}
