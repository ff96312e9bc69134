/* compute/models/propose.c -- see propose.h. */
#include "compute/models/propose.h"

#include "base/mem.h"
#include "compute/models/functions.h"
#include "compute/models/joint.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const propose_words[] = { "thompson", "ei", "ucb", "mean", "sd", NULL };

enum {
    SET = 128,   /* functions that are drawn at a time */
    BLOCK = 4096, /* rows at which they are evaluated at a time */
    FURTHER = 8,  /* functions with long lists at a time, */
    LONGEST = 100000
};

/* A row and what it promises.  `second` decides between rows of the same value, as where the
 * expected improvement has underflowed. */
struct entry { double value, second; size_t row; };

static bool better(const struct entry *a, const struct entry *b)
{
    if (a->value != b->value)
        return a->value > b->value;
    return a->second != b->second ? a->second > b->second : a->row < b->row;
}

static int best_first(const void *a, const void *b)
{
    return better(a, b) ? -1 : better(b, a) ? 1 : 0;
}

/* The best entries of a list, as a heap whose first is the worst of them. */
struct list { struct entry *at; size_t n, most; };

static void sift(struct list *l, size_t i)
{
    for (;;) {
        size_t worst = i;
        for (size_t k = 2 * i + 1; k <= 2 * i + 2 && k < l->n; k++)
            if (better(&l->at[worst], &l->at[k]))
                worst = k;
        if (worst == i)
            return;
        const struct entry e = l->at[i];
        l->at[i] = l->at[worst];
        l->at[worst] = e;
        i = worst;
    }
}

static void offer(struct list *l, struct entry e)
{
    if (l->n < l->most) {
        size_t i = l->n++;
        l->at[i] = e;
        while (i > 0 && better(&l->at[(i - 1) / 2], &l->at[i])) {
            const struct entry up = l->at[(i - 1) / 2];
            l->at[(i - 1) / 2] = l->at[i];
            l->at[i] = up;
            i = (i - 1) / 2;
        }
    } else if (better(&e, &l->at[0])) {
        l->at[0] = e;
        sift(l, 0);
    }
}

/* Rows that were chosen, with their inputs, so that others keep away; hp: hyperparameters by which
 * that is judged. */
struct choice {
    const struct model *m;
    const struct source *src;
    double apart, hp[KERNEL_MAX_HP];
    double *x, *own; /* inputs (count x d) and k(x, x) of the chosen; then those of a candidate */
    size_t *row, n;
};

/* True if the row may join: it is another one, and far enough (share/doc/methods.md 15.7). */
static enum status may_join(struct choice *c, size_t row, bool *may, struct err *err)
{
    const size_t d = c->src->d;
    double *x = c->x + c->n * d;

    *may = true;
    for (size_t i = 0; i < c->n; i++)
        *may = *may && c->row[i] != row;
    if (!*may || !(c->apart > 0.0))
        return ST_OK;
    const enum status rc = c->src->rows(c->src, row, row + 1, x, err);
    if (rc != ST_OK)
        return rc;
    const double own = kernel_exact(&c->m->kernel, c->hp, d, x, x, NULL);
    c->own[c->n] = own;
    for (size_t i = 0; *may && i < c->n; i++) {
        const double k = kernel_exact(&c->m->kernel, c->hp, d, c->x + i * d, x, NULL);
        *may = 2.0 * k <= (1.0 - c->apart) * (own + c->own[i]);
    }
    return ST_OK;
}

/* Takes the first of the sorted entries that may join, if there is one. */
static enum status take(struct choice *c, const struct entry *at, size_t n, size_t *from,
                        struct err *err)
{
    for (; *from < n; ++*from) {
        bool may;
        const enum status rc = may_join(c, at[*from].row, &may, err);
        if (rc != ST_OK)
            return rc;
        if (may) {
            c->row[c->n++] = at[(*from)++].row;
            return ST_OK;
        }
    }
    return ST_OK;
}

static double promise(const struct propose_opts *o, double mean, double sd)
{
    switch (o->by) {
    case PROPOSE_IMPROVEMENT: return acquisition_improvement(&o->goal, mean, sd);
    case PROPOSE_BOUND: return acquisition_bound(&o->goal, mean, sd);
    case PROPOSE_SD: return sd;
    default: return acquisition_utility(&o->goal, mean);
    }
}

/* One list for all proposals. */
static enum status by_value(struct choice *c, const struct propose_opts *o, const double *mean,
                            const double *varf, struct err *err)
{
    const size_t n = c->src->n;
    struct entry *at = mem_calloc(n, sizeof *at, "candidates", err);
    size_t kept = 0, from = 0;
    enum status rc = at ? ST_OK : ST_NOMEM;

    for (size_t i = 0; rc == ST_OK && i < n; i++) {
        if (o->left && o->left[i])
            continue;
        const double sd = varf ? sqrt(varf[i]) : 0.0;
        at[kept++] = (struct entry){ promise(o, mean[i], sd),
                                     acquisition_utility(&o->goal, mean[i]) / fmax(sd, 1e-12), i };
    }
    if (rc == ST_OK)
        qsort(at, kept, sizeof *at, best_first);
    for (size_t before = SIZE_MAX; rc == ST_OK && c->n < o->count && c->n != before;) {
        before = c->n;
        rc = take(c, at, kept, &from, err);
    }
    free(at);
    return rc;
}

/* The lists of S functions over all rows, block by block. */
static enum status fill_lists(const struct functions *f, const struct source *src,
                              const struct propose_opts *o, size_t S, struct list *l,
                              const struct tools *on, struct err *err)
{
    const size_t most = src->n < BLOCK ? src->n : BLOCK;
    double *F = mem_calloc(S, most * sizeof *F, "values of functions", err);
    size_t *idx = F ? mem_calloc(most, sizeof *idx, "rows", err) : NULL;
    enum status rc = idx ? ST_OK : ST_NOMEM;

    for (size_t r0 = 0; rc == ST_OK && r0 < src->n; r0 += BLOCK) {
        const size_t rows = src->n - r0 < BLOCK ? src->n - r0 : BLOCK;
        const struct ctl quiet = { .cancel = on->ctl ? on->ctl->cancel : NULL };
        const struct tools still = { on->be, on->pool, &quiet };
        struct source_subset sub;
        for (size_t i = 0; i < rows; i++)
            idx[i] = r0 + i;
        source_subset_init(&sub, src, idx, rows);
        rc = functions_values(f, &sub.base, F, &still, err);
        for (size_t s = 0; rc == ST_OK && s < S; s++)
            for (size_t i = 0; i < rows; i++)
                if (!(o->left && o->left[r0 + i]))
                    offer(&l[s], (struct entry){ acquisition_utility(&o->goal, F[s * rows + i]),
                                                 0.0, r0 + i });
        ctl_tell(on->ctl, PHASE_PREDICT, r0 + rows, src->n, NAN);
        if (rc == ST_OK && ctl_stopped(on->ctl))
            rc = err_set(err, ST_CANCELLED, "stopped while functions were drawn");
    }
    free(F);
    free(idx);
    return rc;
}

/* Climbs. */

enum { STEPS = 60 };

/* Points that climb, each a function of its own: n x d inputs, gradients, and the two averages of
 * Adam (Kingma & Ba 2015). */
struct climb { size_t n, d; double *x, *at, *g, *m, *v, *f, *top; size_t *which; };

static enum status climb_room(struct climb *c, size_t n, size_t d, struct err *err)
{
    double *room = mem_calloc(n + 1, (5 * d + 2) * sizeof *room, "climbs", err);

    *c = (struct climb){ .n = 0, .d = d, .x = room };
    c->which = room ? mem_calloc(n + 1, sizeof *c->which, "climbs", err) : NULL;
    if (!c->which) {
        free(room);
        c->x = NULL;
        return ST_NOMEM;
    }
    c->at = room + n * d;
    c->g = c->at + n * d;
    c->m = c->g + n * d;
    c->v = c->m + n * d;
    c->f = c->v + n * d;
    c->top = c->f + n;
    return ST_OK;
}

/* A step of point i up the utility; inputs stay in their ranges.  Steps shrink from a hundredth of
 * a range to a thousandth. */
static void climb_step(struct climb *c, size_t i, size_t step, const struct propose_opts *o)
{
    const double t = (double)step + 1.0, rate = 0.01 * pow(0.1, (double)step / STEPS);
    const double sign = o->goal.goal == GOAL_MAX   ? 1.0
                        : o->goal.goal == GOAL_MIN ? -1.0
                        : c->f[i] < o->goal.value  ? 1.0
                                                   : -1.0;

    for (size_t j = 0; j < c->d; j++) {
        const size_t k = i * c->d + j;
        const double range = o->hi[j] - o->lo[j], g = sign * c->g[k] * range;
        if (!(range > 0.0))
            continue;
        c->m[k] = 0.9 * c->m[k] + 0.1 * g;
        c->v[k] = 0.99 * c->v[k] + 0.01 * g * g;
        const double up = c->m[k] / (1.0 - pow(0.9, t)),
                     size = sqrt(c->v[k] / (1.0 - pow(0.99, t))) + 1e-12;
        c->at[k] = fmin(fmax(c->at[k] + rate * range * up / size, o->lo[j]), o->hi[j]);
    }
}

/* x becomes the best input on the way of each point. */
static enum status climb(struct climb *c, const struct functions *f, const struct propose_opts *o,
                         const struct tools *on, struct err *err)
{
    const struct ctl quiet = { .cancel = on->ctl ? on->ctl->cancel : NULL };
    const struct tools still = { on->be, on->pool, &quiet };
    enum status rc = ST_OK;

    memcpy(c->at, c->x, c->n * c->d * sizeof *c->at);
    for (size_t step = 0; rc == ST_OK && step <= STEPS; step++) {
        rc = functions_slopes(f, c->n, c->at, c->which, c->f, c->g, &still, err);
        for (size_t i = 0; rc == ST_OK && i < c->n; i++) {
            const double u = acquisition_utility(&o->goal, c->f[i]);
            if (step == 0 || u > c->top[i]) {
                c->top[i] = u;
                memcpy(c->x + i * c->d, c->at + i * c->d, c->d * sizeof *c->x);
            }
            climb_step(c, i, step, o);
        }
    }
    return rc;
}

/* Moves the proposals from number `first` on, whose functions are `which`, to where these lead,
 * unless that is too near to another proposal. */
static enum status climb_all(struct choice *c, size_t first, const size_t *which,
                             const struct functions *f, const struct propose_opts *o,
                             const struct tools *on, struct err *err)
{
    const size_t d = c->src->d, n = c->n - first;
    struct climb up;
    enum status rc = climb_room(&up, n, d, err);

    up.n = rc == ST_OK ? n : 0;
    for (size_t i = 0; rc == ST_OK && i < n; i++) {
        up.which[i] = which[i];
        rc = c->src->rows(c->src, c->row[first + i], c->row[first + i] + 1, up.x + i * d, err);
        memcpy(c->x + (first + i) * d, up.x + i * d, d * sizeof *up.x);
    }
    if (rc == ST_OK && n > 0 && functions_smooth(c->m, NULL))
        rc = climb(&up, f, o, on, err);
    for (size_t i = 0; rc == ST_OK && i < n; i++) {
        const double *x = up.x + i * d;
        const double own = kernel_exact(&c->m->kernel, c->hp, d, x, x, NULL);
        bool may = true;
        for (size_t k = 0; may && k < c->n; k++) {
            const double *z = c->x + k * d;
            may = k == first + i ||
                  2.0 * kernel_exact(&c->m->kernel, c->hp, d, z, x, NULL) <=
                      (1.0 - c->apart) *
                          (own + kernel_exact(&c->m->kernel, c->hp, d, z, z, NULL));
            may = may && (k == first + i || memcmp(z, x, d * sizeof *x));
        }
        if (may)
            memcpy(c->x + (first + i) * d, x, d * sizeof *x);
        c->own[first + i] = kernel_exact(&c->m->kernel, c->hp, d, c->x + (first + i) * d,
                                         c->x + (first + i) * d, NULL);
    }
    free(up.x);
    free(up.which);
    return rc;
}

/* A list of `most` rows for each of the functions from number `first` on, `sets` at a time, and a
 * proposal from each. */
static enum status from_lists(struct choice *c, const struct propose_opts *o, size_t first,
                              size_t sets, size_t most, const struct tools *on, struct err *err)
{
    const size_t end = first + o->count - c->n;
    struct list l[SET];
    struct entry *all = mem_calloc(sets * most, sizeof *all, "candidates", err);
    enum status rc = all ? ST_OK : ST_NOMEM;

    for (; rc == ST_OK && first < end; first += sets) {
        const size_t S = end - first < sets ? end - first : sets;
        const struct functions_key key = { .seed = o->seed, .target = o->target, .first = first,
                                           .count = S };
        struct functions *f = NULL;
        for (size_t s = 0; s < S; s++)
            l[s] = (struct list){ .at = all + s * most, .most = most };
        rc = functions_new(c->m, &key, on, &f, err);
        if (rc == ST_OK)
            rc = fill_lists(f, c->src, o, S, l, on, err);
        const size_t before = c->n;
        size_t which[SET];
        for (size_t s = 0; rc == ST_OK && s < S; s++) {
            size_t from = 0;
            which[c->n - before] = s;
            qsort(l[s].at, l[s].n, sizeof *l[s].at, best_first);
            rc = take(c, l[s].at, l[s].n, &from, err);
        }
        if (rc == ST_OK && o->lo)
            rc = climb_all(c, before, which, f, o, on, err);
        functions_free(f);
    }
    free(all);
    return rc;
}

/* A list is long enough for a proposal that only has to differ from the others, and leaves room for
 * rows that are too near.  Where all of a list are too near, a further function with a long list
 * takes its place; where the fit has neither a factor to draw it nor solved for it, the next row of
 * one of the first functions does. */
static enum status by_functions(struct choice *c, const struct propose_opts *o,
                                const struct tools *on, struct err *err)
{
    const size_t n = c->src->n, near = 4 * o->count + 64, most = n < LONGEST ? n : LONGEST;
    enum status rc = from_lists(c, o, 0, o->count < SET ? o->count : SET, near < n ? near : n, on,
                                err);
    const bool drawn = c->m->L && c->m->Mv == c->m->M,
               solved = c->m->S >= 2 * o->count - c->n;

    if (rc == ST_OK && c->n < o->count && near < n)
        rc = from_lists(c, o, drawn || solved ? o->count : 0, FURTHER, most, on, err);
    return rc;
}

/* The best row of each of the joint draws at all rows that are not left out. */
static enum status by_joint(struct choice *c, const struct propose_opts *o, const struct tools *on,
                            struct err *err)
{
    const size_t most = c->src->n + 1;
    size_t *at = mem_calloc(most, sizeof *at, "candidates", err), n = 0;
    struct entry *list = at ? mem_calloc(most, sizeof *list, "candidates", err) : NULL;
    double *F = list ? mem_calloc(o->count, most * sizeof *F, "values of draws", err) : NULL;
    const struct functions_key key = { .seed = o->seed, .target = o->target, .count = o->count };
    struct source_subset some;
    enum status rc = F ? ST_OK : ST_NOMEM;

    for (size_t i = 0; rc == ST_OK && i < c->src->n; i++)
        if (!(o->left && o->left[i]))
            at[n++] = i;
    if (rc == ST_OK && n > 0) {
        source_subset_init(&some, c->src, at, n);
        rc = joint_values(c->m, &some.base, &key, on, F, err);
    }
    for (size_t s = 0; rc == ST_OK && n > 0 && s < o->count; s++) {
        size_t from = 0;
        for (size_t i = 0; i < n; i++)
            list[i] = (struct entry){ acquisition_utility(&o->goal, F[s * n + i]), 0.0, at[i] };
        qsort(list, n, sizeof *list, best_first);
        rc = take(c, list, n, &from, err);
    }
    free(at);
    free(list);
    free(F);
    return rc;
}

/* Draws of an exact model are joint ones where asked for and the rows are few enough. */
static enum status by_draws(struct choice *c, const struct propose_opts *o, const struct tools *on,
                            struct err *err)
{
    return o->joint && joint_can(c->m, c->src->n) ? by_joint(c, o, on, err)
                                                  : by_functions(c, o, on, err);
}

/* The hyperparameters with lengthscales that are divided by the shortest of them where that is more
 * than 1, of rows of numbers (share/doc/methods.md 15.12). */
static void judge_by(struct choice *c)
{
    const struct kernel *k = &c->m->kernel;
    bool scales[KERNEL_MAX_HP] = { false };
    double least = INFINITY;

    for (size_t t = 0; t < k->nterms; t++) {
        if (kterm_reads_windows(&k->term[t]) || kterm_learns(&k->term[t]))
            return;
        for (size_t i = 0; i < kernel_inputs(k, t, c->src->d); i++) {
            const size_t at = kernel_lengthscale_of(k, t, k->term[t].first + i);
            if (at != SIZE_MAX) {
                scales[at] = true;
                least = fmin(least, c->hp[at]);
            }
        }
    }
    for (size_t i = 0; i < kernel_nhp(k); i++)
        if (scales[i])
            c->hp[i] /= fmax(1.0, least);
}

enum status propose(const struct model *m, const struct source *src, const struct propose_opts *o,
                    const struct tools *on, struct proposed *out, struct err *err)
{
    struct choice c = { .m = m, .src = src, .apart = o->apart, .row = out->row };
    const size_t at = o->target * src->n;
    enum status rc = model_predict(m, src, out->mean, out->varf, on, err);

    memcpy(c.hp, m->hp, sizeof c.hp);
    if (o->by_inputs)
        judge_by(&c);
    out->n = 0;
    if (rc != ST_OK || src->n == 0 || o->count == 0)
        return rc;
    c.x = mem_calloc(o->count + 1, src->d * sizeof *c.x, "inputs of proposals", err);
    c.own = c.x ? mem_calloc(o->count + 1, sizeof *c.own, "inputs of proposals", err) : NULL;
    const double *varf = out->varf ? out->varf + at : NULL;
    rc = !c.own                      ? ST_NOMEM
         : o->by == PROPOSE_THOMPSON ? by_draws(&c, o, on, err)
                                     : by_value(&c, o, out->mean + at, varf, err);
    if (rc == ST_OK && o->lo && out->x && o->by == PROPOSE_THOMPSON)
        memcpy(out->x, c.x, c.n * src->d * sizeof *c.x);
    free(c.x);
    free(c.own);
    out->n = c.n;
    return rc;
}
