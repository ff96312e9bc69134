/* compute/models/exact_form.c -- kernel expressions for loops over pairs of rows: closed forms,
 * tables of cubics, and the entries of rows (share/doc/methods.md 5.8, 5.9). */
#include "compute/models/exact_form.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* An entry u has an error of up to |u| 2^-24: up to here it is below 2e-6, and so is that of a
 * difference of two but for a few. */
static const double SPLIT_FROM = 32.0;
/* What exceeds this is infinitely far from all else; the squares of differences stay finite. */
static const double ENTRY_MOST = 1e17;

/* Tables. */

/* The distance r = v / (1 - v) (in lengthscales) at v in [0, 1]: a table evenly spaced in v reaches
 * from 0 to far away.  v = 1 stands for r = 1e12. */
static double distance_at(double v)
{
    return v < 1.0 ? v / (1.0 - v) : 1e12;
}

/* A table of the kernel of one factor over v: on each of BACKEND_TABLE parts the cubic
 * c0 + x (c1 + x (c2 + x c3)), x in [0, 1], through the four points x = 0, 1/3, 2/3, 1 (Lagrange
 * interpolation).  Its error is tested at twelve points between them.  False where it exceeds 2e-7,
 * about the rounding of single precision. */
static bool fill_table(const struct kterm *t, float *table)
{
    const double h = 1.0 / BACKEND_TABLE;

    for (size_t i = 0; i < BACKEND_TABLE; i++) {
        double y[4], worst = 0.0;
        for (int q = 0; q < 4; q++)
            y[q] = t->ops->exact(t->params, distance_at(((double)i + (double)q / 3.0) * h));
        const double c1 = -5.5 * y[0] + 9.0 * y[1] - 4.5 * y[2] + y[3];
        const double c2 = 9.0 * y[0] - 22.5 * y[1] + 18.0 * y[2] - 4.5 * y[3];
        const double c3 = -4.5 * y[0] + 13.5 * y[1] - 13.5 * y[2] + 4.5 * y[3];
        for (int q = 0; q < 12; q++) {
            const double x = ((double)q + 0.5) / 12.0, p = y[0] + x * (c1 + x * (c2 + x * c3));
            const double e = fabs(p - t->ops->exact(t->params, distance_at(((double)i + x) * h)));
            worst = e <= worst ? worst : e;
        }
        if (!(worst <= 2e-7))
            return false;
        float *to = table + 4 * i;
        to[0] = (float)y[0], to[1] = (float)c1, to[2] = (float)c2, to[3] = (float)c3;
    }
    return true;
}

/* The inverse lengthscale of input i of those that factor f reads; 1 where it has none. */
static double inverse_of(const struct kernel *k, size_t f, const double *hp, size_t i)
{
    const size_t l = kernel_lengthscale_of(k, f, k->term[f].first + i);

    return l == SIZE_MAX ? 1.0 : 1.0 / hp[l];
}

/* The squared weight of the product that factor f begins. */
static double weight_of(const struct kernel *k, size_t f, const double *hp)
{
    const size_t at = kernel_place(k, f).weight;

    return at == SIZE_MAX ? 1.0 : hp[at] * hp[at];
}

/* True if the factor reads the inputs themselves: no windows, and not what a map makes of them. */
static bool reads_inputs(const struct kernel *k, size_t f, size_t d)
{
    const struct kterm *t = &k->term[f];

    return !kterm_reads_windows(t) && !kterm_learns(t) && t->first + kernel_inputs(k, f, d) <= d;
}

/* Factor f of the kernel in the form of struct backend_radial: inverse lengthscales of its inputs
 * (inv), its table, and the weight of its term (0 for a factor that multiplies the one before).
 * False when the factor is not a function of one distance. */
static bool fill_factor(const struct kernel *k, size_t f, const double *hp, size_t d, float *inv,
                        float *table, float *weight)
{
    const struct kterm *t = &k->term[f];
    const size_t inputs = kernel_inputs(k, f, d);

    if (!t->ops->exact || !reads_inputs(k, f, d))
        return false;
    for (size_t i = 0; i < inputs; i++)
        inv[t->first + i] = (float)inverse_of(k, f, hp, i);
    *weight = f > 0 && t->times ? 0.0F : (float)weight_of(k, f, hp);
    return fill_table(t, table);
}

/* Closed forms. */

/* The closed form of a factor on plain inputs; KERNEL_NONE: there is none. */
static struct kernel_closed closed_form(const struct kernel *k, size_t f, size_t d)
{
    const struct kterm *t = &k->term[f];

    if (!reads_inputs(k, f, d) || !t->ops->closed)
        return (struct kernel_closed){ .form = KERNEL_NONE };
    return t->ops->closed(t->params);
}

/* True if the factor needs a table, and can have one unless that is too coarse. */
static bool wants_table(const struct kernel *k, size_t f, size_t d)
{
    const struct kterm *t = &k->term[f];

    return closed_form(k, f, d).form == KERNEL_NONE && t->ops->exact && reads_inputs(k, f, d);
}

bool exact_form_has(const struct kernel *k, size_t d)
{
    for (size_t f = 0; f < k->nterms; f++)
        if (closed_form(k, f, d).form == KERNEL_NONE && !wants_table(k, f, d))
            return false;
    return true;
}

/* The closed form of factor f for a device (backend_closed), whose derivative at s = 0 is finite
 * where that in the distance is 0; all of these are steepest there. */
static struct backend_closed device_form(const struct kernel *k, size_t f, size_t d)
{
    const struct kernel_closed form = closed_form(k, f, d);
    struct backend_closed c = { .form = BACKEND_NONE };
    const struct pairs_value v = pairs_value(&form, &c.scale);

    if (form.circle)
        return c;
    c.p1 = (double)v.p1;
    c.p2 = (double)v.p2;
    if (form.form == KERNEL_GAUSS) {
        c.form = BACKEND_GAUSS;
        c.slope = M_LN2;
    } else if (form.form == KERNEL_POWER) {
        c.form = BACKEND_POWER;
        c.slope = c.p1;
    } else if (form.form == KERNEL_DECAY) {
        c.form = BACKEND_DECAY;
        c.slope = fabs(c.p1 - M_LN2) < 1e-6 ? fabs(c.p2 - 0.5 * M_LN2 * M_LN2) : 0.0;
    }
    return c;
}

bool exact_form_radial(const struct kernel *k, const double *hp, size_t d, float *inv,
                       float *tables, float *weights, struct backend_closed *closed)
{
    for (size_t f = 0; f < k->nterms; f++) {
        if (!fill_factor(k, f, hp, d, inv + f * d, tables + f * 4 * BACKEND_TABLE, weights + f))
            return false;
        closed[f] = device_form(k, f, d);
    }
    return true;
}

/* Entries. */

static void swap_inputs(struct exact_factor *f, size_t a, size_t b)
{
    const size_t place = f->place[a];
    const double inv = f->inv[a], centre = f->centre[a];

    f->place[a] = f->place[b], f->inv[a] = f->inv[b], f->centre[a] = f->centre[b];
    f->place[b] = place, f->inv[b] = inv, f->centre[b] = centre;
}

/* The largest entry of input i of a factor. */
static double largest(const struct exact_factor *f, const struct exact_rows *r, size_t i)
{
    double most = 0.0;

    if (f->turn > 0.0)
        return f->inv[i];
    for (size_t j = 0; j < r->n; j++)
        most = fmax(most, fabs(r->X[j * r->d + f->place[i]] - f->centre[i]));
    return most * f->inv[i];
}

/* Centres, and which inputs have two entries; those come last. */
static void divide_inputs(struct exact_factor *f, const struct exact_rows *r)
{
    const size_t each = f->turn > 0.0 ? 2 : 1;
    size_t split = 0;

    for (size_t i = 0; i < f->inputs && !f->entries.dot && each == 1; i++) {
        double sum = 0.0;
        for (size_t j = 0; j < r->n; j++)
            sum += r->X[j * r->d + f->place[i]];
        f->centre[i] = r->n ? sum / (double)r->n : 0.0;
    }
    for (size_t i = f->inputs; i-- > 0 && !f->entries.dot;)
        if (largest(f, r, i) > SPLIT_FROM)
            swap_inputs(f, i, f->inputs - ++split);
    f->entries.plain = each * (f->inputs - split);
    f->entries.split = each * split;
}

/* Writes a number as entry e of a row, and its rest where it has two. */
static void put_entry(const struct pairs_entries *n, double u, size_t e, float *to, size_t stride)
{
    const double bound = fmin(fmax(u, -ENTRY_MOST), ENTRY_MOST);
    const float near = (float)bound;

    to[e * stride] = near;
    if (e >= n->plain)
        to[(e + n->split) * stride] = (float)(bound - (double)near);
}

static void put_row(const struct exact_factor *f, const double *x, float *to, size_t stride)
{
    size_t e = 0;

    for (size_t i = 0; i < f->inputs; i++) {
        const double v = x[f->place[i]];
        if (f->turn > 0.0) {
            put_entry(&f->entries, cos(f->turn * v) * f->inv[i], e++, to, stride);
            put_entry(&f->entries, sin(f->turn * v) * f->inv[i], e++, to, stride);
        } else {
            put_entry(&f->entries, (v - f->centre[i]) * f->inv[i], e++, to, stride);
        }
    }
}

static size_t factor_entries(const struct exact_factor *f)
{
    return f->entries.plain + 2 * f->entries.split;
}

size_t exact_form_entries(const struct exact_form *form)
{
    size_t all = 0;

    for (size_t f = 0; f < form->factors; f++)
        all += factor_entries(&form->factor[f]);
    return all;
}

void exact_form_row(const struct exact_form *form, const double *x, size_t r, float *group)
{
    for (size_t f = 0; f < form->factors; f++) {
        put_row(&form->factor[f], x, group + r, PAIRS_GROUP);
        group += factor_entries(&form->factor[f]) * PAIRS_GROUP;
    }
}

/* Making. */

struct pack_job {
    const struct exact_form *form;
    const struct exact_rows *r;
};

/* The panels of PAIRS_COLS rows; what stands for rows past the last is 0. */
static void pack_task(void *ctx, size_t task, size_t worker)
{
    const struct pack_job *p = ctx;
    const size_t j0 = task * PAIRS_COLS, j1 = j0 + PAIRS_COLS;

    (void)worker;
    for (size_t f = 0; f < p->form->factors; f++) {
        const struct exact_factor *factor = &p->form->factor[f];
        const size_t size = factor_entries(factor);
        float *to = factor->panels + j0 * size;
        if (j1 > p->r->n)
            memset(to, 0, PAIRS_COLS * size * sizeof *to);
        for (size_t j = j0; j < j1 && j < p->r->n; j++)
            put_row(factor, p->r->X + j * p->r->d,
                    to + (j - j0) / PAIRS_PANEL * PAIRS_PANEL * size + j % PAIRS_PANEL,
                    PAIRS_PANEL);
    }
}

/* Factor f without its panels.  *good becomes false where it has no form. */
static enum status make_factor(struct exact_form *form, const struct exact_rows *r, size_t f,
                               bool *good, struct err *err)
{
    const struct kernel_place p = kernel_place(r->k, f);
    const struct kernel_closed c = closed_form(r->k, f, r->d);
    struct exact_factor *to = &form->factor[f];
    double scale;

    *to = (struct exact_factor){
        .value = pairs_value(&c, &scale),
        .entries = { .dot = c.form == KERNEL_DOT },
        .first = f == 0 || !r->k->term[f].times,
        .turn = c.circle ? 2.0 * M_PI / r->hp[p.hp0 + p.nl] : 0.0,
        .inputs = c.form == KERNEL_ONE ? 0 : kernel_inputs(r->k, f, r->d) };
    if (to->first)
        to->value.weight = (float)weight_of(r->k, f, r->hp);
    if (wants_table(r->k, f, r->d)) {
        to->value.table = form->tables + f * 4 * BACKEND_TABLE;
        *good &= fill_table(&r->k->term[f], form->tables + f * 4 * BACKEND_TABLE);
    }
    to->place = mem_calloc(to->inputs + 1, sizeof *to->place, "an exact kernel", err);
    to->inv = mem_calloc(2 * to->inputs + 1, sizeof *to->inv, "an exact kernel", err);
    if (!to->place || !to->inv)
        return ST_NOMEM;
    to->centre = to->inv + to->inputs;
    for (size_t i = 0; i < to->inputs; i++) {
        to->place[i] = r->k->term[f].first + i;
        to->inv[i] = scale * inverse_of(r->k, f, r->hp, i);
    }
    divide_inputs(to, r);
    return ST_OK;
}

/* Makes all factors, then their panels. */
static enum status make_form(struct exact_form *form, const struct exact_rows *r, bool *good,
                             struct err *err)
{
    const size_t tiles = (r->n + PAIRS_COLS - 1) / PAIRS_COLS;
    bool table = false;
    enum status rc = ST_OK;

    for (size_t f = 0; f < form->factors; f++)
        table |= wants_table(r->k, f, r->d);
    if (table)
        form->tables = mem_calloc(form->factors * 4 * BACKEND_TABLE, sizeof *form->tables,
                                  "an exact kernel", err);
    if (table && !form->tables)
        return ST_NOMEM;
    for (size_t f = 0; f < form->factors && rc == ST_OK && *good; f++)
        rc = make_factor(form, r, f, good, err);
    for (size_t f = 0; f < form->factors && rc == ST_OK && *good; f++) {
        struct exact_factor *to = &form->factor[f];
        to->panels = mem_aligned(tiles * PAIRS_COLS * factor_entries(to) + 1, sizeof *to->panels,
                                 "the rows of an exact kernel", err);
        rc = to->panels ? ST_OK : ST_NOMEM;
    }
    if (rc == ST_OK && *good)
        pool_run(r->pool, tiles, pack_task, &(struct pack_job){ form, r });
    return rc;
}

enum status exact_form_new(const struct exact_rows *r, struct exact_form **out, struct err *err)
{
    bool good = true;

    *out = NULL;
    if (!exact_form_has(r->k, r->d))
        return ST_OK;
    struct exact_form *form = mem_calloc(1, sizeof *form, "an exact kernel", err);
    if (!form)
        return ST_NOMEM;
    form->n = r->n;
    form->d = r->d;
    form->factors = r->k->nterms;
    const enum status rc = make_form(form, r, &good, err);
    if (rc == ST_OK && good)
        *out = form;
    else
        exact_form_free(form);
    return rc;
}

void exact_form_free(struct exact_form *form)
{
    for (size_t f = 0; form && f < form->factors; f++) {
        free(form->factor[f].place);
        free(form->factor[f].inv);
        free(form->factor[f].panels);
    }
    if (form)
        free(form->tables);
    free(form);
}

/* Values. */

/* A product of one factor goes to K; one of several to P, unless it is the first of the sum, and
 * from there to K. */
void exact_form_values(const struct exact_form *form, const struct pairs_loops *loops, size_t t,
                       const float *group, size_t rows, const struct exact_scratch *to)
{
    static const struct pairs_value as_it_is = { KERNEL_DOT, 0.0F, 1.0F, 0.0F, 1.0F, NULL };
    const size_t j0 = t * PAIRS_COLS, cols = exact_form_cols(form, t);
    size_t product = 0;

    for (size_t f = 0; f < form->factors; f++) {
        const struct exact_factor *factor = &form->factor[f];
        const size_t size = factor_entries(factor);
        const bool last = f + 1 == form->factors || form->factor[f + 1].first,
                   alone = factor->first && last;
        product += f > 0 && factor->first;
        float *K = product == 0 || alone ? to->K : to->P;
        const enum pairs_mode mode = !factor->first                ? PAIRS_TIMES
                                     : product == 0 || K == to->P ? PAIRS_STORE
                                                                  : PAIRS_ADD;
        if (size > 0)
            loops->numbers(factor->entries, factor->panels + j0 * size, cols, group, rows, to->S);
        loops->values(&factor->value, mode, rows, cols, to->S, K);
        if (last && K == to->P)
            loops->values(&as_it_is, PAIRS_ADD, rows, cols, to->P, to->K);
        group += size * PAIRS_GROUP;
    }
}

bool exact_form_falls(const struct exact_form *form)
{
    return form->factors == 1 && !form->factor[0].entries.dot &&
           factor_entries(&form->factor[0]) > 0;
}

void exact_form_numbers(const struct exact_form *form, const struct pairs_loops *loops, size_t t,
                        const float *group, size_t rows, float *S)
{
    const struct exact_factor *factor = &form->factor[0];

    loops->numbers(factor->entries, factor->panels + t * PAIRS_COLS * factor_entries(factor),
                   exact_form_cols(form, t), group, rows, S);
}
