/* compute/kernels/kernel_bind.c -- binding an expression to data: what a position of a sequence is,
 * which inputs each kernel reads, and lengthscales for each input or group. */
#include "compute/kernels/kernel.h"

#include "compute/kernels/kernels.h"

#include <string.h>

bool kernel_reads_parts(const struct kernel *k)
{
    bool some = false, all = true;

    for (size_t t = 0; t < k->nterms; t++) {
        if (*k->term[t].on)
            return true;
        *(k->term[t].layer.ops ? &some : &all) = k->term[t].layer.ops != NULL;
    }
    return some && !all;
}

const struct layer_ops *kernel_drawn_none(const struct kernel *k)
{
    for (size_t t = 0; t < k->nterms; t++)
        if (k->term[t].layer.ops != NULL && k->term[t].layer.ops->drawn_none)
            return k->term[t].layer.ops;
    return NULL;
}

bool kernel_counts_words(const struct kernel *k)
{
    bool some = false;

    for (size_t t = 0; t < k->nterms; t++)
        some |= k->term[t].layer.ops != NULL && k->term[t].layer.ops->words != NULL;
    return some;
}

bool kernel_draws_none(const struct kernel *k)
{
    bool none = kernel_drawn_none(k) != NULL;

    for (size_t t = 0, windows = 0; t < k->nterms; t++) { /* two sums over windows multiplied */
        windows = (k->term[t].times ? windows : 0) + kterm_reads_windows(&k->term[t]);
        none |= windows > 1;
    }
    return none;
}

bool kernel_is_flat(const struct kernel *k)
{
    bool flat = false;

    for (size_t t = 0; t < k->nterms; t++)
        flat |= k->term[t].layer.ops != NULL && k->term[t].layer.ops->rows == ROWS_COUNTS;
    return flat;
}

bool kernel_reads_input(const struct kernel *k, size_t t, size_t i)
{
    const struct kterm *term = &k->term[t];

    return !kterm_reads_windows(term) &&
           (term->count == 0 || (i >= term->first && i < term->first + term->count));
}

size_t kernel_lengthscale_of(const struct kernel *k, size_t t, size_t i)
{
    const struct kterm *term = &k->term[t];
    const struct hparam *h = term->ops->hparams;

    if (!h || !h->name || strcmp(h->name, kernel_lengthscale[0].name) != 0)
        return SIZE_MAX;
    if (!kernel_reads_input(k, t, i) || term->map)
        return SIZE_MAX;
    const struct kernel_place p = kernel_place(k, t);
    return p.hp0 + (p.nl < 2 ? 0 : term->grouped ? k->group[i] : i - term->first);
}

static enum status rows_differ(const char *what, size_t had, size_t has, struct err *err)
{
    return err_set(err, ST_SHAPE, "the kernel was made for rows with %zu %s, the data have %zu",
                   had, what, has);
}

size_t kernel_choose_filters(struct kernel *k)
{
    size_t n = 0;

    for (size_t t = 0; t < k->nterms; t++) {
        struct layer *l = &k->term[t].layer;
        const struct layer_ops *cheaper = l->ops && l->ops->cheaper ? l->ops->cheaper(l) : NULL;
        if (!cheaper)
            continue;
        l->ops = cheaper;
        l->chosen = true;
        n++;
    }
    return n;
}

unsigned kernel_rows(const struct kernel *k)
{
    unsigned rows = k->nterms > 0 ? ~0u : ROWS_NUMBERS;

    for (size_t t = 0; t < k->nterms; t++)
        rows &= k->term[t].ops->rows != 0 ? k->term[t].ops->rows : ROWS_NUMBERS;
    return rows;
}

static enum status too_wide(const struct layer *l, struct err *err)
{
    const size_t most = l->ops->widest(l);

    err_set(err, ST_LIMIT, "%s: with %zu letters, words have at most %zu of them, not %zu",
            l->ops->name, l->channels - l->others, most, l->width);
    err_hint(err, "kernel %s(n=%zu)", l->ops->name, most);
    return ST_LIMIT;
}

/* Binds a layer over windows to part p of rows. */
static enum status bind_layer(struct layer *l, const struct row_layout *rows, size_t p,
                              struct err *err)
{
    const struct row_part *part = &rows->part[p];
    const size_t parts = rows->nparts > 1 ? rows->nparts : 0;
    const bool symbols = part->rows == ROWS_SYMBOLS;

    if (l->channels != 0 && (l->channels != part->channels || l->symbols != symbols))
        return err_set(err, ST_SHAPE,
                       "the kernel was made for positions of %zu %s, the data have %zu "
                       "%s",
                       l->channels, l->symbols ? "letters" : "numbers", part->channels,
                       symbols ? "letters" : "numbers");
    if (l->flat != 0 && l->flat != rows->flat)
        return rows_differ("numbers beside the sequence", l->flat, rows->flat, err);
    if (l->parts != 0 && l->parts != parts)
        return rows_differ("sequences", l->parts, rows->nparts, err);
    if (l->parts != 0 && l->part != p)
        return rows_differ("sequences before the one that it reads", l->part, p, err);
    if (l->channels == 0) /* bound by sessions of earlier versions, other letters are one more */
        l->others = l->ops->words ? part->others : 0;
    l->channels = part->channels;
    l->symbols = symbols;
    l->positions = part->positions;
    l->flat = rows->flat;
    l->part = p;
    l->parts = parts;
    return l->ops->widest && l->width > l->ops->widest(l) ? too_wide(l, err) : ST_OK;
}

enum status kernel_bind_rows(struct kernel *k, const struct row_layout *rows, const size_t *part,
                             struct err *err)
{
    enum status rc = ST_OK;

    for (size_t t = 0; rc == ST_OK && t < k->nterms; t++)
        if (kterm_reads_windows(&k->term[t]))
            rc = bind_layer(&k->term[t].layer, rows, part ? part[t] : 0, err);
    return rc;
}

enum status kernel_bind_inputs(struct kernel *k, size_t t, size_t first, size_t count,
                               struct err *err)
{
    struct kterm *term = &k->term[t];

    if (term->count != 0 && term->count != count)
        return rows_differ("inputs of a kernel", term->count, count, err);
    if (term->count != 0 && term->first != first)
        return rows_differ("inputs before those of a kernel", term->first, first, err);
    term->first = first;
    term->count = count;
    return ST_OK;
}

void kernel_unbind(struct kernel *k)
{
    for (size_t t = 0; t < k->nterms; t++) {
        struct layer *l = &k->term[t].layer;
        l->largest = l->zeta = 0.0;
        l->channels = l->others = l->flat = l->part = l->parts = 0;
        k->term[t].first = k->term[t].count = 0;
        if (l->chosen)
            l->ops = layer_family(l);
        l->chosen = false;
    }
}

/* The error of a kernel bound to other inputs, with the unbound expression as a hint. */
static enum status bind_fail(const struct kernel *k, struct err *err)
{
    struct kernel open = *k;
    struct buf text = { 0 };

    for (size_t t = 0; t < k->nterms; t++)
        if (open.term[t].ard != 0)
            open.term[t].ard = KERNEL_ARD;
    kernel_print(&open, &text);
    err_hint(err, "kernel %s", buf_str(&text));
    buf_free(&text);
    return ST_SHAPE;
}

/* Numbers the groups in order of appearance; *n: how many there are. */
static enum status bind_map(struct kernel *k, size_t d, const size_t *group, size_t *n,
                            struct err *err)
{
    size_t first[KERNEL_MAX_HP]; /* an input of each group */

    *n = 0;
    if (d > KERNEL_MAX_GROUPED) {
        err_set(err, ST_LIMIT, "ard=group: %zu inputs, at most %d are possible", d,
                KERNEL_MAX_GROUPED);
        err_hint(err, "cols NAME role=skip");
        return ST_LIMIT;
    }
    k->ngrouped = d;
    for (size_t i = 0; i < d; i++) {
        size_t g = 0;
        while (g < *n && (group ? group[first[g]] != group[i] : true))
            g++;
        if (g == *n && *n == KERNEL_MAX_HP - 8) {
            err_set(err, ST_LIMIT, "ard=group: more than %d groups of inputs", KERNEL_MAX_HP - 8);
            err_hint(err, "cols x1,x2* group=NAME");
            return ST_LIMIT;
        }
        if (g == *n)
            first[(*n)++] = i;
        k->group[i] = (uint8_t)g;
    }
    return ST_OK;
}

/* Compares the groups of a bound kernel with those of the data. */
static enum status bind_groups(struct kernel *k, size_t d, const size_t *group, struct err *err)
{
    const size_t had = k->ngrouped;
    struct kernel now = *k;
    size_t n;

    if (had > 0 && !group && had == d)
        return ST_OK;
    const enum status rc = bind_map(&now, d, group, &n, err);
    if (rc != ST_OK)
        return rc;
    if (had > 0 && (had != d || memcmp(now.group, k->group, d) != 0)) {
        err_set(err, ST_SHAPE,
                "the kernel has a lengthscale for each of the groups that %zu inputs "
                "were in; the data have %zu inputs or other groups",
                had, d);
        return bind_fail(k, err);
    }
    for (size_t t = 0; t < k->nterms; t++)
        if (k->term[t].grouped)
            now.term[t].ard = n;
    *k = now;
    return ST_OK;
}

enum status kernel_bind(struct kernel *k, size_t d, size_t from[KERNEL_MAX_HP], struct err *err)
{
    return kernel_bind_groups(k, d, NULL, from, err);
}

enum status kernel_bind_groups(struct kernel *k, size_t d, const size_t *group,
                               size_t from[KERNEL_MAX_HP], struct err *err)
{
    struct kernel bound = *k;
    size_t old = 0, n = 0;

    if (kernel_has_groups(k) && kernel_reads_parts(k)) {
        err_set(err, ST_UNSUPPORTED, "ard=group reads all inputs: not beside conv, or with \"on\"");
        err_hint(err, "kernel rbf(ard)  has a lengthscale for each input");
        return ST_UNSUPPORTED;
    }
    const enum status rc = kernel_has_groups(k) ? bind_groups(&bound, d, group, err) : ST_OK;
    if (rc != ST_OK)
        return rc;
    for (size_t t = 0; t < k->nterms; t++) {
        struct kterm *term = &bound.term[t];
        const size_t own = kterm_reads_windows(term) ? d : kernel_inputs(k, t, d);
        if (term->ard == KERNEL_ARD)
            term->ard = own;
        if (term->ard != 0 && term->ard != own && !term->grouped) {
            err_set(err, ST_SHAPE, "the kernel has a lengthscale for each of %zu inputs, the data "
                    "have %zu", term->ard, own);
            return bind_fail(&bound, err);
        }
    }
    if (kernel_nhp(&bound) > KERNEL_MAX_HP - 2) {
        err_set(err, ST_LIMIT,
                "%zu hyperparameters for %zu inputs; at most %d are possible: one lengthscale for "
                "all inputs, or one for each group of them, needs fewer",
                kernel_nhp(&bound), d, KERNEL_MAX_HP - 2);
        err_hint(err, "cols x* group=NAME; kernel rbf(ard=group)");
        return ST_LIMIT;
    }
    for (size_t t = 0; t < k->nterms; t++) {
        const size_t had = kernel_term_nhp(&k->term[t]), has = kernel_term_nhp(&bound.term[t]);
        for (size_t i = 0; i < has; i++) /* a single value becomes that of all lengthscales */
            from[n + i] = old + (has == had              ? i
                                 : i < bound.term[t].ard ? 0
                                                         : i - bound.term[t].ard + 1);
        old += had;
        n += has;
        if (kernel_weight_after(k, t))
            from[n++] = old++;
    }
    *k = bound;
    return ST_OK;
}
