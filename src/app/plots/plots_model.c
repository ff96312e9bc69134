/* app/plots/plots_model.c -- plots that need the model again: slices through the inputs, the parts
 * of a sum of kernels, the error of random features. Each collects what it needs on the main thread
 * and computes on the worker (plots.h).
 *
 * Slices, functions and parts vary one or two inputs and keep all others at typical values, numbers
 * at their median and categories at their most frequent level, or at those of a row. */
#include "app/plots/draws.h"
#include "app/plots/plots.h"
#include "app/plots/plots_boundary.h"
#include "app/plots/plots_learned.h"

#include "app/shell/args.h"
#include "app/core/job.h"
#include "app/runs/row_inspect.h"
#include "app/runs/scoring/scoring.h"
#include "app/runs/fit_setup.h"
#include "base/mem.h"
#include "base/text.h"
#include "compute/models/functions.h"
#include "compute/stats/accuracy.h"
#include "compute/stats/parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SAMPLE_ROWS = 4000, LINE = 201, GRID = 41, PLANE = 61, LEVELS_MOST = 40 };

struct slice {
    struct model *m;
    struct encoding enc;
    struct dataset *data;
    char run[16];
    char *column[2];
    size_t ncolumn, target;
    size_t row;       /* of the table, from 1: the place of the other inputs; 0: typical values */
    size_t functions; /* drawn from the posterior beside the mean */
    uint64_t seed;
};

static void slice_free(void *in)
{
    struct slice *s = in;

    if (!s)
        return;
    model_unref(s->m);
    encoding_free(&s->enc);
    dataset_unref(s->data);
    free(s->column[0]), free(s->column[1]);
    free(s);
}

/* Typical values of the other inputs. */

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Encodes an evenly spaced sample of the training rows. */
static enum status open_rows(const struct slice *s, struct encoded *e, struct err *err)
{
    size_t *rows = NULL, n = 0;
    enum status rc = dataset_rows(s->data, PART_TRAIN, &rows, &n, err);
    const size_t k = n < SAMPLE_ROWS ? n : SAMPLE_ROWS;

    for (size_t i = 0; rc == ST_OK && i < k; i++)
        rows[i] = rows[(size_t)((double)i * (double)n / (double)k)];
    if (rc == ST_OK)
        rc = encode(&s->enc, s->data->table, rows, k, true, e, err);
    free(rows);
    if (rc == ST_OK && e->n == 0)
        rc = err_set(err, ST_STATE, "no training row is complete");
    return rc;
}

static bool same_column(const struct enc_col *a, const struct enc_col *b)
{
    return !strcmp(a->column, b->column);
}

/* The typical value of one input of a column. */
static enum status typical(const struct encoded *e, const double *x, const struct encoding *enc,
                           double *base, struct err *err)
{
    double *v = mem_calloc(e->n, sizeof *v, "plot", err);

    if (!v)
        return ST_NOMEM;
    for (size_t j = 0; j < enc->d; j++) {
        const struct enc_col *c = &enc->col[j];
        for (size_t i = 0; i < e->n; i++)
            v[i] = x[i * enc->d + j];
        qsort(v, e->n, sizeof *v, by_value);
        base[j] = c->kind == ENC_REAL ? v[e->n / 2] : c->constant ? 0 : (0 - c->mean) / c->sd;
    }
    /* the most frequent level: the mean of its input is its share */
    for (size_t j = 0; j < enc->d; j++) {
        size_t most = j;
        if (enc->col[j].kind != ENC_LEVEL || (j && enc->col[j - 1].kind == ENC_LEVEL &&
                                              same_column(&enc->col[j], &enc->col[j - 1])))
            continue;
        for (size_t k = j;
             k < enc->d && enc->col[k].kind == ENC_LEVEL && same_column(&enc->col[j], &enc->col[k]);
             k++)
            most = enc->col[k].mean > enc->col[most].mean ? k : most;
        if (!enc->col[most].constant)
            base[most] = (1 - enc->col[most].mean) / enc->col[most].sd;
    }
    free(v);
    return ST_OK;
}

static double encoded_value(const struct enc_col *c, double raw)
{
    const double v = c->constant ? 0 : (raw - c->mean) / c->sd;
    return c->limit > 0 ? fmin(fmax(v, -c->limit), c->limit) : v;
}

static double raw_value(const struct enc_col *c, double v)
{
    return c->constant ? c->mean : v * c->sd + c->mean;
}

/* An axis of a slice: a numeric column over slightly more than its range, or the levels of a
 * categorical one. */
struct axis_of {
    const char *name;
    size_t input, n; /* first input of the encoding; number of places */
    bool levels;
    double *raw;     /* n values; for levels 0..n-1 */
};

static size_t input_of(const struct encoding *enc, const char *column)
{
    for (size_t j = 0; j < enc->d; j++)
        if (!strcmp(enc->col[j].column, column))
            return j;
    return SIZE_MAX;
}

static enum status axis_open(const struct encoding *enc, const struct encoded *e, const double *x,
                             const char *column, size_t places, struct axis_of *a, struct err *err)
{
    const size_t j = input_of(enc, column);

    *a = (struct axis_of){ .name = column, .input = j, .n = places };
    if (j == SIZE_MAX) {
        err_set(err, ST_NOT_FOUND, "%s is not an input of this model", column);
        err_hint(err, "show run:NAME lists them");
        return ST_NOT_FOUND;
    }
    a->levels = enc->col[j].kind == ENC_LEVEL;
    for (size_t k = j; a->levels && k < enc->d && same_column(&enc->col[j], &enc->col[k]); k++)
        a->n = enc->col[k].kind == ENC_LEVEL ? k - j + 1 : a->n;
    if (a->levels && a->n > LEVELS_MOST)
        a->n = LEVELS_MOST;
    a->raw = mem_calloc(a->n, sizeof *a->raw, "plot", err);
    if (!a->raw)
        return ST_NOMEM;
    double lo = INFINITY, hi = -INFINITY;
    for (size_t i = 0; i < e->n; i++) {
        lo = fmin(lo, raw_value(&enc->col[j], x[i * enc->d + j]));
        hi = fmax(hi, raw_value(&enc->col[j], x[i * enc->d + j]));
    }
    const double more = 0.05 * (hi - lo);
    for (size_t i = 0; i < a->n; i++)
        a->raw[i] = a->levels ? (double)i
                              : lo - more + (hi - lo + 2 * more) * (double)i / (double)(a->n - 1);
    return ST_OK;
}

/* Sets a row of inputs to place i of an axis. */
static void axis_put(const struct encoding *enc, const struct axis_of *a, size_t i, double *row)
{
    if (!a->levels) {
        row[a->input] = encoded_value(&enc->col[a->input], a->raw[i]);
        return;
    }
    for (size_t k = 0;
         a->input + k < enc->d && same_column(&enc->col[a->input], &enc->col[a->input + k]) &&
         enc->col[a->input + k].kind == ENC_LEVEL;
         k++)
        row[a->input + k] = encoded_value(&enc->col[a->input + k], k == i);
}

/* What slices and parts both begin with. */
struct opened {
    struct encoded e;
    double *x, *base; /* e.n x d; d */
};

static void opened_free(struct opened *o)
{
    encode_free(&o->e);
    free(o->x), free(o->base);
}

/* The inputs of a row of the table. */
static enum status at_row(const struct slice *s, double *base, struct err *err)
{
    const size_t row = s->row - 1;
    struct encoded e = { 0 };

    if (row >= s->data->table->n) {
        err_set(err, ST_RANGE, "row:%zu: %.60s has %zu rows", s->row, s->data->name,
                s->data->table->n);
        err_hint(err, "plot slice %s row:1", s->column[0]);
        return ST_RANGE;
    }
    enum status rc = encode(&s->enc, s->data->table, &row, 1, false, &e, err);
    if (rc == ST_OK && e.n == 0) {
        rc = err_set(err, ST_STATE, "row:%zu has empty cells", s->row);
        err_hint(err, "missing mean, then fit; or another row");
    }
    if (rc == ST_OK)
        rc = e.base.rows(&e.base, 0, 1, base, err);
    encode_free(&e);
    return rc;
}

/* Bands need the factor for variances, which a session does not always keep. */
static enum status slice_open(struct slice *s, struct opened *o, struct job *job, struct err *err)
{
    const size_t d = s->enc.d;

    *o = (struct opened){ 0 };
    enum status rc = s->m->Mv > 0 || s->m->kind->several
                         ? scoring_factor(s->m, s->data, &s->enc, job, err) : ST_OK;
    if (rc == ST_OK)
        rc = open_rows(s, &o->e, err);
    if (rc != ST_OK)
        return rc;
    o->x = mem_calloc(o->e.n * d, sizeof *o->x, "plot", err);
    o->base = mem_calloc(d, sizeof *o->base, "plot", err);
    rc = o->x && o->base ? o->e.base.rows(&o->e.base, 0, o->e.n, o->x, err) : ST_NOMEM;
    if (rc == ST_OK)
        rc = s->row ? at_row(s, o->base, err) : typical(&o->e, o->x, &s->enc, o->base, err);
    return rc;
}

/* Mean and variance of the function, in scaled units, at n rows of d inputs. var stays NULL if
 * there are no variances. */
/* The plot slice. */

/* The function is a Gaussian process whatever the errors of measurements are like: its band is that
 * of the normal distribution, while that of new values reaches as far as intervals do. */
static double band_sd(const struct reach *r)
{
    return reach_at(r, 0.95);
}

/* Draws the mean and the bands of the function and of new measurements along one axis.  local: the
 * sd of new measurements where they are calibrated row by row; NULL: of the function and the noise.
 */
static bool slice_curves(struct figure *f, const struct slice *s, const struct axis_of *a,
                         double *mean, const double *var, const double *local, struct err *err)
{
    const struct encoding one = encoding_for(&s->enc, s->target);
    const double noise2 = s->m->noises[s->target] * s->m->noises[s->target];
    double *lo = mem_calloc(3 * a->n, sizeof *lo, "plot", err), *hi = lo + a->n, *unit = hi + a->n;
    bool ok = lo != NULL;

    for (int inner = 0; ok && var && inner < 2; inner++) {
        const double band = band_sd(inner ? NULL : &s->m->reach[s->target]);
        for (size_t i = 0; i < a->n; i++) {
            const double sd = local && !inner ? local[i] : sqrt(var[i] + (inner ? 0 : noise2));
            lo[i] = encoding_value(&one, mean[i] - band * sd);
            hi[i] = encoding_value(&one, mean[i] + band * sd);
        }
        const char *words = inner ? "95 % of the function" : "95 % of new values";
        if (a->levels)
            for (int side = 0; ok && side < 2; side++) {
                struct series *p = figure_add(f, side ? "" : words, MARK_POINTS, a->n, a->raw,
                                              side ? hi : lo, err);
                ok = p != NULL;
                if (p)
                    p->color = inner + 1;
            }
        else
            ok = figure_add_band(f, words, a->n, a->raw, lo, hi, err);
    }
    if (ok) {
        encoding_unscale(&one, a->n, mean, var, unit, var ? lo : NULL);
        struct series *p =
            figure_add(f, "mean", a->levels ? MARK_POINTS : MARK_LINE, a->n, a->raw, unit, err);
        ok = p != NULL;
        if (p)
            p->color = 0;
    }
    free(lo);
    return ok;
}

/* With one input, the rows themselves are drawn beside the curve. */
static bool slice_rows(struct figure *f, const struct slice *s, const struct opened *o,
                       const struct axis_of *a, struct err *err)
{
    for (size_t j = 0; j < s->enc.d; j++)
        if (!same_column(&s->enc.col[j], &s->enc.col[a->input]))
            return true;
    if (a->levels || !o->e.yraw)
        return true;
    double *x = mem_calloc(o->e.n, sizeof *x, "plot", err);
    for (size_t i = 0; x && i < o->e.n; i++)
        x[i] = raw_value(&s->enc.col[a->input], o->x[i * s->enc.d + a->input]);
    struct series *p = x ? figure_add(f, "training rows", MARK_POINTS, o->e.n, x,
                                      o->e.yraw + s->target * o->e.n, err)
                         : NULL;
    if (p)
        p->color = 3;
    free(x);
    return p != NULL;
}

/* Functions from the posterior at the places of an axis, each one through all of them. */
static enum status slice_functions(struct figure *f, const struct slice *s,
                                   const struct axis_of *a, const double *x,
                                   const struct tools *on, struct err *err)
{
    const struct encoding one = encoding_for(&s->enc, s->target);
    const struct functions_key key = { .seed = s->seed, .target = s->target,
                                       .count = s->functions };
    struct functions *drawn = NULL;
    struct source_array src;
    double *F = mem_calloc(s->functions, a->n * sizeof *F, "functions", err);
    enum status rc = F ? functions_new(s->m, &key, on, &drawn, err) : ST_NOMEM;

    source_array_init(&src, x, a->n, s->enc.d, s->enc.d);
    if (rc == ST_OK)
        rc = functions_values(drawn, &src.base, F, on, err);
    for (size_t i = 0; rc == ST_OK && i < s->functions * a->n; i++)
        F[i] = encoding_value(&one, F[i]);
    for (size_t i = 0; rc == ST_OK && i < s->functions; i++) {
        char name[32];
        snprintf(name, sizeof name, "draw %zu", i + 1);
        if (!figure_add(f, s->functions <= 4 ? name : i == 0 ? "functions drawn" : "",
                        a->levels ? MARK_POINTS : MARK_LINE, a->n, a->raw, F + i * a->n, err))
            rc = ST_NOMEM;
    }
    functions_free(drawn);
    free(F);
    return rc;
}

static bool slice_words(struct figure *f, const struct slice *s, const struct axis_of *a,
                        const double *mean, const double *var, struct err *err)
{
    const struct encoding one = encoding_for(&s->enc, s->target);
    size_t lo = 0, hi = 0, wide = 0;
    struct buf name = { 0 };
    double sd[1], at[1];

    for (size_t i = 0; i < a->n; i++) {
        lo = mean[i] < mean[lo] ? i : lo;
        hi = mean[i] > mean[hi] ? i : hi;
        wide = var && var[i] > var[wide] ? i : wide;
    }
    text_safe(&name, a->name, 24);
    bool ok;
    if (a->levels)
        ok = figure_verdict(f, err, "least at %s, most at %s", s->enc.col[a->input + lo].level,
                            s->enc.col[a->input + hi].level) == ST_OK;
    else if (var) {
        encoding_unscale(&one, 1, mean + wide, var + wide, at, sd);
        ok = figure_verdict(
                 f, err,
                 "least near %s = %.4g, most near %.4g; the function's sd is at most %.3g, "
                 "near %.4g",
                 buf_str(&name), a->raw[lo], a->raw[hi], sd[0], a->raw[wide]) == ST_OK;
    } else
        ok = figure_verdict(f, err,
                            "least near %s = %.4g, most near %.4g; this fit has no variances",
                            buf_str(&name), a->raw[lo], a->raw[hi]) == ST_OK;
    buf_free(&name);
    return ok;
}

static bool slice_labels(struct figure *f, const struct slice *s, const char *x, const char *y,
                         struct err *err)
{
    struct buf bx = { 0 }, by = { 0 };

    text_safe(&bx, x, 40);
    text_safe(&by, y ? y : encoding_for(&s->enc, s->target).target, 40);
    const bool ok = figure_label(f, buf_str(&bx), buf_str(&by), err) == ST_OK;
    buf_free(&bx), buf_free(&by);
    return ok;
}

static struct figure *slice_line(const struct slice *s, struct opened *o, struct job *job,
                                 struct err *err)
{
    const struct tools tools = { job->backend, job->pool, &job->ctl };
    const size_t d = s->enc.d;
    struct axis_of a = { 0 };
    struct figure *f = NULL;
    char title[120];
    enum status rc = axis_open(&s->enc, &o->e, o->x, s->column[0], LINE, &a, err);
    double *x = rc == ST_OK ? mem_calloc(a.n * (d + 2), sizeof *x, "plot", err) : NULL;

    if (x) {
        double *mean = x + a.n * d, *var = model_has_variance(s->m) ? mean + a.n : NULL;
        for (size_t i = 0; i < a.n; i++) {
            memcpy(x + i * d, o->base, d * sizeof *x);
            axis_put(&s->enc, &a, i, x + i * d);
        }
        double *local = NULL;
        struct source_array src;
        source_array_init(&src, x, a.n, d, d);
        rc = parts_whole(s->m, s->target, a.n, x, mean, var, &tools, err);
        if (rc == ST_OK && var)
            rc = scoring_local(s->m, &src.base, NULL, &tools, &local, err);
        char where[64] = "";
        if (s->row)
            snprintf(where, sizeof where, ", through row %zu", s->row);
        else if (d > 1)
            snprintf(where, sizeof where, ", other inputs at typical values");
        snprintf(title, sizeof title, "%s of %s%s", s->functions ? "Functions" : "Slice", s->run,
                 where);
        f = rc == ST_OK ? figure_new(s->functions ? "posterior" : "slice", title, err) : NULL;
        bool ok = f && slice_labels(f, s, a.name, NULL, err) &&
                  slice_curves(f, s, &a, mean, var, local ? local + s->target * a.n : NULL,
                               err) &&
                  (!s->functions || slice_functions(f, s, &a, x, &tools, err) == ST_OK) &&
                  slice_rows(f, s, o, &a, err) &&
                  slice_words(f, s, &a, mean, var, err);
        if (ok && a.levels) {
            const char *name[LEVELS_MOST];
            for (size_t i = 0; i < a.n; i++)
                name[i] = s->enc.col[a.input + i].level;
            ok = figure_names(&f->x, a.n, name, err) == ST_OK;
        }
        free(local);
        f = plots_finish(f, ok);
    }
    free(x);
    free(a.raw);
    return f;
}

/* One panel of a surface. */
static struct figure *surface(const struct slice *s, const struct axis_of *a,
                              const struct axis_of *b, const char *title, const char *of,
                              const double *z, struct err *err)
{
    struct figure *f = figure_new("slice", title, err);
    struct buf key = { 0 };

    buf_printf(&key, "%s, ", of); /* in units of the target */
    text_safe(&key, encoding_for(&s->enc, s->target).target, 40);
    const struct figure_surface heights = { a->n, b->n, a->raw, b->raw, z };
    const bool ok = f && slice_labels(f, s, a->name, b->name, err)
                    && figure_add_cells(f, buf_str(&key), &heights, err);
    buf_free(&key);
    return plots_finish(f, ok);
}

static struct figure *slice_plane(const struct slice *s, struct opened *o, struct job *job,
                                  struct err *err)
{
    const struct tools tools = { job->backend, job->pool, &job->ctl };
    const struct encoding one = encoding_for(&s->enc, s->target);
    const size_t d = s->enc.d;
    struct axis_of a = { 0 }, b = { 0 };
    struct figure *f = NULL;
    enum status rc = axis_open(&s->enc, &o->e, o->x, s->column[0], GRID, &a, err);

    if (rc == ST_OK)
        rc = axis_open(&s->enc, &o->e, o->x, s->column[1], GRID, &b, err);
    if (rc == ST_OK && (a.levels || b.levels)) {
        rc = err_set(err, ST_USAGE, "a slice along two inputs needs numbers: %s has categories",
                     a.levels ? a.name : b.name);
        err_hint(err, "plot slice %s", a.levels ? a.name : b.name);
    }
    const size_t n = a.n * b.n;
    double *x = rc == ST_OK ? mem_calloc(n * (d + 4), sizeof *x, "plot", err) : NULL;
    if (x) {
        double *mean = x + n * d, *var = model_has_variance(s->m) ? mean + n : NULL,
               *unit = mean + 2 * n,
               *sd = mean + 3 * n;
        for (size_t i = 0; i < n; i++) {
            memcpy(x + i * d, o->base, d * sizeof *x);
            axis_put(&s->enc, &a, i % a.n, x + i * d);
            axis_put(&s->enc, &b, i / a.n, x + i * d);
        }
        rc = parts_whole(s->m, s->target, n, x, mean, var, &tools, err);
        encoding_unscale(&one, n, mean, var, unit, var ? sd : NULL);
        char title[120];
        snprintf(title, sizeof title, "Slice of %s: mean", s->run);
        f = rc == ST_OK ? surface(s, &a, &b, title, "mean", unit, err) : NULL;
        if (f && var) {
            f->next = surface(s, &a, &b, "sd of the function", "sd", sd, err);
            f->across = 2;
        }
        size_t hi = 0;
        for (size_t i = 0; i < n; i++)
            hi = mean[i] > mean[hi] ? i : hi;
        const bool ok =
            f && (!var || f->next) &&
            figure_verdict(f, err, "highest near %.4g, %.4g%s", a.raw[hi % a.n], b.raw[hi / a.n],
                           d > 2 ? "; all other inputs at typical values" : "") == ST_OK;
        f = plots_finish(f, ok);
    }
    free(x);
    free(a.raw), free(b.raw);
    return f;
}

static struct figure *slice_make(void *in, struct job *job, struct err *err)
{
    struct slice *s = in;
    struct opened o;
    struct figure *f = NULL;

    if (slice_open(s, &o, job, err) == ST_OK)
        f = s->ncolumn == 2 ? slice_plane(s, &o, job, err) : slice_line(s, &o, job, err);
    opened_free(&o);
    return f;
}

/* The plot boundary. */

/* The training rows on the two axes, in their units: 2 n values. */
static double *rows_on(const struct slice *s, const struct opened *o, const struct axis_of *a,
                       const struct axis_of *b, struct err *err)
{
    const size_t n = o->e.n, d = s->enc.d;
    double *at = mem_calloc(2 * n + 1, sizeof *at, "plot", err);

    for (size_t i = 0; at && i < n; i++) {
        at[i] = raw_value(&s->enc.col[a->input], o->x[i * d + a->input]);
        at[n + i] = raw_value(&s->enc.col[b->input], o->x[i * d + b->input]);
    }
    return at;
}

static struct figure *boundary_plane(const struct slice *s, const struct opened *o,
                                     const struct axis_of *a, const struct axis_of *b,
                                     struct job *job, struct err *err)
{
    const size_t d = s->enc.d, n = a->n * b->n;
    double *x = mem_calloc(n, d * sizeof *x, "plot", err);
    double *at = x ? rows_on(s, o, a, b, err) : NULL;
    struct figure *f = NULL;

    for (size_t i = 0; at && i < n; i++) {
        memcpy(x + i * d, o->base, d * sizeof *x);
        axis_put(&s->enc, a, i % a->n, x + i * d);
        axis_put(&s->enc, b, i / a->n, x + i * d);
    }
    if (at && o->e.yraw)
        f = plots_boundary_figure(
            &(struct plots_boundary_plane){
                .m = s->m, .enc = &s->enc, .run = s->run, .name = { a->name, b->name },
                .nx = a->n, .ny = b->n, .x = a->raw, .y = b->raw, .inputs = x, .n = o->e.n,
                .at = { at, at + o->e.n }, .label = o->e.yraw },
            job, err);
    free(x);
    free(at);
    return f;
}

static struct figure *boundary_make(void *in, struct job *job, struct err *err)
{
    struct slice *s = in;
    struct axis_of a = { 0 }, b = { 0 };
    struct opened o;
    struct figure *f = NULL;
    enum status rc = slice_open(s, &o, job, err);

    if (rc == ST_OK)
        rc = axis_open(&s->enc, &o.e, o.x, s->column[0], PLANE, &a, err);
    if (rc == ST_OK)
        rc = axis_open(&s->enc, &o.e, o.x, s->column[1], PLANE, &b, err);
    if (rc == ST_OK)
        f = boundary_plane(s, &o, &a, &b, job, err);
    free(a.raw), free(b.raw);
    opened_free(&o);
    return f;
}

/* The plot features-learned. */

static struct figure *learned_view(const struct slice *s, const struct opened *o,
                                   const struct axis_of *a, const struct axis_of *b,
                                   struct job *job, struct err *err)
{
    const size_t d = s->enc.d, n = a->n * b->n;
    double *x = mem_calloc(n, d * sizeof *x, "plot", err);
    const char *level[LEVELS_MOST];
    struct figure *f = NULL;

    for (size_t i = 0; x && i < n; i++) {
        memcpy(x + i * d, o->base, d * sizeof *x);
        axis_put(&s->enc, a, i % a->n, x + i * d);
        if (s->ncolumn == 2)
            axis_put(&s->enc, b, i / a->n, x + i * d);
    }
    for (size_t i = 0; a->levels && i < a->n; i++)
        level[i] = s->enc.col[a->input + i].level;
    if (x)
        f = plots_learned_figure(
            &(struct plots_learned_view){
                .kernel = &s->m->kernel, .run = s->run, .name = { a->name, b->name },
                .level = a->levels ? level : NULL, .nx = a->n, .ny = b->n, .d = d, .row = s->row,
                .x = a->raw, .y = b->raw, .inputs = x },
            job, err);
    free(x);
    return f;
}

static struct figure *learned_make(void *in, struct job *job, struct err *err)
{
    struct slice *s = in;
    struct axis_of a = { 0 }, b = { .n = 1 };
    struct opened o;
    struct figure *f = NULL;
    enum status rc = slice_open(s, &o, job, err);

    if (rc == ST_OK)
        rc = axis_open(&s->enc, &o.e, o.x, s->column[0], s->ncolumn == 2 ? GRID : LINE, &a, err);
    if (rc == ST_OK && s->ncolumn == 2)
        rc = axis_open(&s->enc, &o.e, o.x, s->column[1], GRID, &b, err);
    if (rc == ST_OK && s->ncolumn == 2 && (a.levels || b.levels)) {
        rc = err_set(err, ST_USAGE, "features over two inputs need numbers: %s has categories",
                     a.levels ? a.name : b.name);
        err_hint(err, "plot features-learned %s", a.levels ? a.name : b.name);
    }
    if (rc == ST_OK)
        f = learned_view(s, &o, &a, &b, job, err);
    free(a.raw), free(b.raw);
    opened_free(&o);
    return f;
}

/* The plot parts. */

/* The name of a part: "poly", or "rbf * periodic" for a product. */
static void part_name(const struct kernel *k, size_t t, struct buf *out)
{
    for (size_t i = t; i < k->nterms && (i == t || k->term[i].times); i++)
        buf_printf(out, "%s%s", i > t ? " * " : "", k->term[i].ops->name);
}

static struct figure *part_panel(const struct slice *s, const struct axis_of *a,
                                 const struct kernel *k, size_t term, size_t number,
                                 const double *mean, const double *var, struct err *err)
{
    const struct encoding one = encoding_for(&s->enc, s->target);
    double *lo = mem_calloc(3 * a->n, sizeof *lo, "plot", err), *hi = lo + a->n, *unit = hi + a->n;
    struct buf title = { 0 };

    if (!lo)
        return NULL;
    part_name(k, term, &title);
    char words[120];
    snprintf(words, sizeof words, "part %zu: %s", number, buf_str(&title));
    buf_free(&title);
    struct figure *f = figure_new("parts", words, err);
    /* the parts add up to the mean of the model less the mean of the targets */
    for (size_t i = 0; i < a->n; i++) {
        unit[i] = mean[i] * one.ysd;
        lo[i] = unit[i] - band_sd(NULL) * one.ysd * sqrt(var ? var[i] : 0);
        hi[i] = unit[i] + band_sd(NULL) * one.ysd * sqrt(var ? var[i] : 0);
    }
    const bool ok = f && slice_labels(f, s, a->name, NULL, err)
                    && (!var || figure_add_band(f, "95 %", a->n, a->raw, lo, hi, err))
                    && figure_add(f, "mean", MARK_LINE, a->n, a->raw, unit, err);
    free(lo);
    return plots_finish(f, ok);
}

static double spread(size_t n, const double *v)
{
    double m = 0, q = 0;

    for (size_t i = 0; i < n; i++)
        m += v[i] / (double)n;
    for (size_t i = 0; i < n; i++)
        q += (v[i] - m) * (v[i] - m) / (double)n;
    return sqrt(q);
}

static struct figure *parts_panels(const struct slice *s, const struct axis_of *a, const double *x,
                                   double *mean, double *var, struct job *job, struct err *err)
{
    const struct tools tools = { job->backend, job->pool, &job->ctl };
    const struct kernel *k = &s->m->kernel;
    size_t first[KERNEL_MAX_TERMS];
    const size_t n = parts_count(k, first);
    struct figure *head = NULL, **tail = &head;
    struct buf words = { 0 };
    bool ok = true;

    for (size_t i = 0; ok && i < n; i++) {
        struct model_part *p = mem_calloc(1, sizeof *p, "plot", err);
        struct buf name = { 0 };
        if (p)
            parts_of(s->m, first, n, i, p);
        ok = p && parts_predict(p, s->target, a->n, x, mean, var, &tools, err) == ST_OK;
        free(p);
        *tail = ok ? part_panel(s, a, k, first[i], i + 1, mean, var, err) : NULL;
        ok = *tail != NULL;
        part_name(k, first[i], &name);
        buf_printf(&words, "%s%s %.3g", i ? ", " : "", buf_str(&name),
                   spread(a->n, mean) * encoding_for(&s->enc, s->target).ysd);
        buf_free(&name);
        if (ok)
            tail = &(*tail)->next;
    }
    ok =
        ok && figure_verdict(head, err,
                             "sd of each part over this range: %s; the parts and the constant %.4g "
                             "add up to the mean",
                             buf_str(&words), encoding_for(&s->enc, s->target).ymean) == ST_OK;
    buf_free(&words);
    return plots_finish(head, ok);
}

static struct figure *parts_make(void *in, struct job *job, struct err *err)
{
    struct slice *s = in;
    const size_t d = s->enc.d;
    struct axis_of a = { 0 };
    struct opened o;
    struct figure *f = NULL;
    enum status rc = slice_open(s, &o, job, err);

    if (rc == ST_OK)
        rc = axis_open(&s->enc, &o.e, o.x, s->column[0], 2 * LINE, &a, err);
    double *x = rc == ST_OK ? mem_calloc(a.n * (d + 2), sizeof *x, "plot", err) : NULL;
    if (x) {
        for (size_t i = 0; i < a.n; i++) {
            memcpy(x + i * d, o.base, d * sizeof *x);
            axis_put(&s->enc, &a, i, x + i * d);
        }
        f = parts_panels(s, &a, x, x + a.n * d, s->m->L ? x + a.n * (d + 1) : NULL, job, err);
    }
    free(x), free(a.raw);
    opened_free(&o);
    return f;
}

/* Helpers of both. */

/* Accepts only numbers and categories: letters, windows and filters have no axis. */
static enum status plain_inputs(const struct run *r, const char *plot, struct err *err)
{
    bool plain = r->enc.nheld == 0 && !kernel_has_layer(&r->model->kernel);

    for (size_t j = 0; plain && j < r->enc.d; j++)
        plain = r->enc.col[j].kind <= ENC_MISSING;
    if (plain)
        return ST_OK;
    err_set(err, ST_UNSUPPORTED,
            "%s moves inputs of numbers and categories, and %s reads sequences", plot, r->id);
    err_hint(err, "explain-row row:1 changes each letter of a row; predict FILE.csv takes "
                  "sequences of your choice");
    return ST_UNSUPPORTED;
}

/* The words of the line are columns of the model's data; one that is a run has already been
 * taken. */
static enum status take_columns(struct slice *s, const struct run *r, const struct args *a,
                                size_t most, const char *plot, struct err *err)
{
    for (size_t i = 0; i < args_many(a, "runs"); i++) {
        const char *w = args_many_at(a, "runs", i);
        if (input_of(&r->enc, w) == SIZE_MAX && args_looks_like_run(w))
            continue;
        if (input_of(&r->enc, w) == SIZE_MAX && !strncmp(w, "row:", 4)) {
            const enum status rc = row_inspect_number(w, &s->row, err);
            if (rc != ST_OK)
                return rc;
            s->row++;
            continue;
        }
        if (s->ncolumn == most)
            return err_set(err, ST_USAGE, "plot %s takes at most %zu input%s", plot, most,
                           most > 1 ? "s" : "");
        if (input_of(&r->enc, w) == SIZE_MAX) {
            err_set(err, ST_NOT_FOUND, "%s is not an input of %s", w, r->id);
            err_hint(err, "plot %s %s", plot, r->enc.col[0].column);
            return ST_NOT_FOUND;
        }
        s->column[s->ncolumn] = mem_strdup(w, err);
        if (!s->column[s->ncolumn++])
            return ST_NOMEM;
    }
    if (!s->ncolumn) {
        s->column[0] = mem_strdup(r->enc.col[0].column, err);
        s->ncolumn = 1;
    }
    return s->column[0] ? ST_OK : ST_NOMEM;
}

static enum status prepare(struct run *r, const struct args *a, const char *plot, size_t columns,
                           struct figure *(*make)(void *, struct job *, struct err *),
                           struct plot_work *out, struct err *err)
{
    struct slice *s;

    if (!r || !r->model || !r->has_enc) {
        err_set(err, ST_STATE, "there is no finished fit yet");
        err_hint(err, "fit");
        return ST_STATE;
    }
    if (!r->data) {
        err_set(err, ST_STATE, "the data of %s is no longer loaded", r->id);
        err_hint(err, "open FILE, then fit");
        return ST_STATE;
    }
    enum status rc = plain_inputs(r, plot, err);
    if (rc != ST_OK)
        return rc;
    s = mem_calloc(1, sizeof *s, "plot", err);
    if (!s)
        return ST_NOMEM;
    *out = (struct plot_work){ s, make, slice_free };
    s->m = model_ref(r->model);
    s->data = dataset_ref(r->data);
    snprintf(s->run, sizeof s->run, "%s", r->id);
    rc = encoding_copy(&s->enc, &r->enc, err);
    if (rc == ST_OK)
        rc = run_target(r, args_text(a, "target"), &s->target, err);
    return rc == ST_OK ? take_columns(s, r, a, columns, plot, err) : rc;
}

enum status plots_slice(struct workspace *ws, struct run *r, const struct args *a,
                        struct plot_work *out, struct err *err)
{
    (void)ws;
    if (r && run_one_function(r, err) != ST_OK)
        return ST_UNSUPPORTED;
    return prepare(r, a, "slice", 2, slice_make, out, err);
}

/* Fills the axes that the line does not name by the first numeric inputs. */
static enum status two_numbers(struct slice *s, bool named, struct err *err)
{
    const struct encoding *e = &s->enc;

    if (!named) {
        free(s->column[0]);
        s->column[0] = NULL;
        s->ncolumn = 0;
    }
    for (size_t k = 0; k < s->ncolumn; k++)
        if (e->col[input_of(e, s->column[k])].kind != ENC_REAL) {
            err_set(err, ST_USAGE, "plot boundary needs two inputs of numbers, and %s is none",
                    s->column[k]);
            err_hint(err, "plot boundary");
            return ST_USAGE;
        }
    for (size_t j = 0; s->ncolumn < 2 && j < e->d; j++) {
        if (e->col[j].kind != ENC_REAL ||
            (s->ncolumn == 1 && !strcmp(s->column[0], e->col[j].column)))
            continue;
        s->column[s->ncolumn] = mem_strdup(e->col[j].column, err);
        if (!s->column[s->ncolumn++])
            return ST_NOMEM;
    }
    if (s->ncolumn == 2 && strcmp(s->column[0], s->column[1]))
        return ST_OK;
    err_set(err, ST_USAGE, "plot boundary needs two different inputs of numbers");
    err_hint(err, "plot effects  |  cols NAME role=input, then fit");
    return ST_USAGE;
}

enum status plots_boundary(struct workspace *ws, struct run *r, const struct args *a,
                           struct plot_work *out, struct err *err)
{
    (void)ws;
    if (r && r->has_enc && r->enc.nclasses == 0) {
        err_set(err, ST_UNSUPPORTED, "plot boundary is of classes, and %s predicts numbers", r->id);
        err_hint(err, "plot slice COLUMN COLUMN  |  likelihood dirichlet, then fit");
        return ST_UNSUPPORTED;
    }
    enum status rc = prepare(r, a, "boundary", 2, boundary_make, out, err);
    if (rc != ST_OK)
        return rc;
    bool named = false;
    for (size_t i = 0; i < args_many(a, "runs"); i++)
        named = named || input_of(&r->enc, args_many_at(a, "runs", i)) != SIZE_MAX;
    return two_numbers(out->in, named, err);
}

enum status plots_learned_features(struct workspace *ws, struct run *r, const struct args *a,
                                   struct plot_work *out, struct err *err)
{
    (void)ws;
    if (r && r->model && !kernel_learns(&r->model->kernel)) {
        err_named(err, ST_UNSUPPORTED, "learned", "plot features-learned is of kernels that learn "
                  "their features, and that of %s is drawn", r->id);
        err_hint(err, "plot features  |  kernel mlp, then tune, fit");
        return ST_UNSUPPORTED;
    }
    return prepare(r, a, "features-learned", 2, learned_make, out, err);
}

/* Without words of its own it is the line of the last draw. */
enum status plots_posterior(struct workspace *ws, struct run *r, const struct args *a,
                            struct plot_work *out, struct err *err)
{
    const struct draw_state *kept = draws_state_of(ws), own = draw_state_default(ws);
    const struct draw_state *draw = kept && kept->functions ? kept : &own;
    if (r && run_one_function(r, err) != ST_OK)
        return ST_UNSUPPORTED;
    const enum status rc = prepare(r, a, "posterior", 1, slice_make, out, err);

    if (rc != ST_OK)
        return rc;
    struct slice *s = out->in;
    s->functions = draw->functions;
    s->seed = draw->seed;
    if (*draw->along && args_many(a, "runs") == 0 && input_of(&r->enc, draw->along) != SIZE_MAX) {
        free(s->column[0]);
        s->column[0] = mem_strdup(draw->along, err);
        s->row = draw->row;
    }
    return s->column[0] ? ST_OK : ST_NOMEM;
}

enum status plots_parts(struct workspace *ws, struct run *r, const struct args *a,
                        struct plot_work *out, struct err *err)
{
    size_t first[KERNEL_MAX_TERMS];

    (void)ws;
    if (r && run_one_function(r, err) != ST_OK)
        return ST_UNSUPPORTED;
    if (r && r->model && parts_count(&r->model->kernel, first) < 2) {
        err_set(err, ST_UNSUPPORTED, "the kernel of %s is not a sum, so it has no parts", r->id);
        err_hint(err, "kernel rbf(l=3) + rbf(l=0.3), then fit");
        return ST_UNSUPPORTED;
    }
    if (r && r->model && r->model->kind->local) {
        err_set(err, ST_UNSUPPORTED,
                "%s chooses the nearest rows by the whole kernel: it has no parts", r->id);
        err_hint(err, "fit model=features, or fit model=exact");
        return ST_UNSUPPORTED;
    }
    if (r && r->has_enc && r->enc.yscale == Y_LOG) {
        err_set(err, ST_UNSUPPORTED,
                "the target of %s is a logarithm: its parts multiply, they do not add", r->id);
        err_hint(err, "plot slice");
        return ST_UNSUPPORTED;
    }
    return prepare(r, a, "parts", 1, parts_make, out, err);
}

/* The plot features. */

enum { KERNEL_ROWS = 256, SEEDS = 3, SIZES = 9, FIRST_SIZE = 64 };

struct features_plot {
    struct fit_setup study;
    char run[16];
    size_t features; /* those of the run; 0: none */
};

static void features_free(void *in)
{
    struct features_plot *s = in;

    if (s)
        fit_setup_free(&s->study);
    free(s);
}

static struct figure *accuracy_figure(const struct features_plot *s, size_t n, const double *M,
                                      const double *mean, const double *lo, const double *hi,
                                      struct err *err)
{
    double root[SIZES], at = NAN;
    struct figure *f = figure_new("features", "Error of the kernel by random features", err);
    bool ok = f && figure_label(f, "features", "|ZZ' - K| / |K|", err) == ST_OK;

    for (size_t i = 0; i < n; i++)
        root[i] = mean[0] * sqrt(M[0] / M[i]);
    if (ok)
        f->x.log = f->y.log = true, f->x.lo = M[0], f->x.hi = M[n - 1];
    ok = ok && figure_add_band(f, "three draws", n, M, lo, hi, err)
         && figure_add(f, "mean", MARK_LINEPOINTS, n, M, mean, err);
    struct series *r =
        ok ? figure_add(f, "1 / sqrt(features)", MARK_LINE, n, M, root, err) : NULL;
    ok = r != NULL;
    if (r)
        r->faint = true;
    if (ok && s->features)
        ok = figure_add_vline(f, s->run, (double)s->features, err) != NULL;
    for (size_t i = 0; i + 1 < n; i++)
        if (s->features >= (size_t)M[i] && s->features <= (size_t)M[i + 1])
            at = exp(log(mean[i]) + log((double)s->features / M[i]) / log(M[i + 1] / M[i]) *
                                        log(mean[i + 1] / mean[i]));
    char here[80] = "";
    if (isfinite(at))
        snprintf(here, sizeof here, "; the %zu of %s to %.2g %%", s->features, s->run, 100 * at);
    ok = ok && figure_verdict(f, err,
                              "%.0f features approximate the kernel to %.2g %%, %.0f to %.2g %%%s",
                              M[0], 100 * mean[0], M[n - 1], 100 * mean[n - 1], here) == ST_OK;
    return plots_finish(f, ok);
}

static struct figure *accuracy_make(void *in, struct job *job, struct err *err)
{
    struct features_plot *s = in;
    double M[SIZES], mean[SIZES] = { 0 }, lo[SIZES], hi[SIZES];
    size_t sizes = 0;
    enum status rc = fit_setup_open(&s->study, err);
    struct accuracy *of = NULL;

    if (rc == ST_OK) {
        of = accuracy_new(&s->study.o.kernel, s->study.o.hp, &s->study.e.base, KERNEL_ROWS,
                          job->pool, &job->ctl, err);
        rc = of ? ST_OK : err->code;
    }
    for (size_t m = FIRST_SIZE; rc == ST_OK && sizes < SIZES; m *= 2, sizes++) {
        lo[sizes] = INFINITY, hi[sizes] = 0, M[sizes] = (double)m;
        for (uint64_t seed = 1; rc == ST_OK && seed <= SEEDS; seed++) {
            double e;
            ctl_tell(&job->ctl, PHASE_FEATURES, sizes * SEEDS + seed - 1, SIZES * SEEDS, NAN);
            if (ctl_stopped(&job->ctl))
                rc = err_set(err, ST_CANCELLED, "stopped");
            if (rc == ST_OK)
                rc = accuracy_error(of, m, s->study.o.seed + seed - 1, job->backend, &e, err);
            if (rc == ST_OK)
                mean[sizes] += e / SEEDS, lo[sizes] = fmin(lo[sizes], e),
                                          hi[sizes] = fmax(hi[sizes], e);
        }
    }
    struct figure *f = rc == ST_OK ? accuracy_figure(s, sizes, M, mean, lo, hi, err) : NULL;
    accuracy_free(of);
    return f;
}

enum status plots_features(struct workspace *ws, struct run *r, const struct args *a,
                           struct plot_work *out, struct err *err)
{
    struct features_plot *s = mem_calloc(1, sizeof *s, "plot", err);
    enum status rc = s ? ST_OK : ST_NOMEM;

    (void)a;
    if (rc != ST_OK)
        return rc;
    *out = (struct plot_work){ s, accuracy_make, features_free };
    if (r && r->model && r->data) {
        rc = fit_setup_of_run(&s->study, r, err);
        snprintf(s->run, sizeof s->run, "%s", r->id);
        s->features = r->model->kind->draws ? r->info.features : 0;
    } else {
        struct dataset *d = ws_dataset(ws, NULL, err);
        struct fit_opts o = {
            .kernel = ws->kernel, .seed = ws->opt.seed, .amplitude = 1, .noise = 0.1};
        memcpy(o.hp, ws->hp, sizeof o.hp);
        rc = d ? fit_setup_of_data(&s->study, d, &o, err) : err->code;
    }
    if (rc == ST_OK && kernel_layer(&s->study.o.kernel, LAYER_NUMBERS) != NULL) {
        err_set(err, ST_UNSUPPORTED,
                "the filters of fastconv define its kernel, so there is no exact kernel to compare "
                "features with");
        err_hint(err, "kernel conv(rbf,width=9), then plot features");
        rc = ST_UNSUPPORTED;
    }
    return rc;
}
