/* app/runs/why.c -- the command why. See why.h.
 *
 * First comes what the run itself shows (its outcome, residuals, bounds). The rest is measured: on
 * the training rows (repeated rows, columns); on an exact GP over a sample of them with
 * leave-one-out predictions (noise, lengthscale, residuals that differ between regions); and on the
 * corrected spectrum of the fit's own features (rank, number of features, variances).
 *
 * A score is the weight of the kind of evidence, reduced if the case is weak. Measured outcomes
 * weigh more than properties of the data, and those more than what follows from either. */
#include "app/runs/why.h"
#include "app/runs/why_classes.h"

#include "app/shell/command.h"
#include "app/runs/fit_setup.h"
#include "app/runs/intervals.h"
#include "app/runs/scoring/repeats.h"
#include "app/core/ws_tell.h"
#include "base/mem.h"
#include "base/text.h"
#include "compute/stats/diagnose.h"
#include "compute/rng.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { SPECTRUM_ROWS = 1024, LOO_ROWS = 600, LOO_FEW = 150, SPREAD_BINS = 5, COLUMN_ROWS = 4096,
       BLOCK = 1024 };

/* A copy of what the run holds, because the job does not see the workspace. */
struct facts {
    char run[16];
    enum run_kind kind;
    enum run_state state;
    bool has_model, draws, bounds_known; /* draws: the model has random features */
    struct fit_info info;
    bool scale_kept;              /* amplitude and noise did not follow left-out rows */
    struct judged left_out, test; /* intervals on left-out rows and on test rows; n = 0: unknown */
    struct err failure;
    double noise, amplitude;      /* those of the model; without one, those that were to be used */
    size_t maxit;
    size_t nhp;
    unsigned at_lower, at_upper;
    char *fit, *tune;           /* the lines that would repeat them; NULL: not a fit, never tuned */
    char kernel[256];             /* the run's kernel, quoted, if another one is current */
};

struct search {
    struct fit_setup study;
    struct facts f;
    bool has_classes;
    struct why_classes classes;   /* of a model of classes, which has no linear system to examine */
    struct cause cause[CAUSES_MOST];
    size_t n;
    /* The sample.  Its first `few` rows are an even sample of their own, on which a search goes
     * over many settings; all of them judge those that are left. */
    size_t m, few, d;
    double *X, *y, *w, *e, *sd, *K; /* m x d, m, m (square roots of weights), m, m, m x m */
    double best_ratio, best_error, best_noise, own_error; /* leave-one-out results */
    double implied;               /* maximum-likelihood noise at the last ratio evaluated */
    /* Effective degrees of freedom of the sample at the last ratio; that of the run (0:
     * unknown). */
    double dof, own_dof;
    double z2;      /* mean squared ratio of errors to their predicted sd, at the run's amplitude */
    struct advice a;              /* no rows if there are no features */
    double seconds;
    const struct job *job;
};

/* Of one core: the exact GPs over LOO_ROWS rows, one for each noise and lengthscale tried. */
static const double left_out_seconds = 0.1;

/* The part of them that a dataset of fewer rows takes. */
static double left_out_share(const struct dataset *d)
{
    const double n = d->split.part ? (double)d->split.count[PART_TRAIN] : (double)d->table->n;
    const double part = fmin(1.0, n / LOO_ROWS);

    return part * part * part;
}

static void search_free(struct job *job)
{
    struct search *s = job->arg;

    if (!s)
        return;
    fit_setup_free(&s->study);
    diagnose_advice_free(&s->a);
    free(s->X), free(s->y), free(s->e), free(s->K);
    free(s->f.fit), free(s->f.tune);
    free(s);
    job->arg = NULL;
}

/* severity: 1 is just worth reporting; weight: of the kind of evidence. */
static struct cause *add(struct search *s, const char *name, double weight, double severity,
                         const char *fmt, ...) __attribute__((format(printf, 5, 6)));
static struct cause *add(struct search *s, const char *name, double weight, double severity,
                         const char *fmt, ...)
{
    va_list ap;

    if (s->n == CAUSES_MOST || !(severity >= 1.0))
        return NULL;
    struct cause *c = &s->cause[s->n++];
    *c = (struct cause){ .name = name, .score = weight - 0.1 / sqrt(severity) };
    va_start(ap, fmt);
    vsnprintf(c->evidence, sizeof c->evidence, fmt, ap);
    va_end(ap);
    return c;
}

static void way_out(struct cause *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void way_out(struct cause *c, const char *fmt, ...)
{
    va_list ap;

    if (!c)
        return;
    va_start(ap, fmt);
    vsnprintf(c->try, sizeof c->try, fmt, ap);
    va_end(ap);
}

/* Remedies: the line that was typed, with another value. */

/* True if `name` is one of the words of a list. */
static bool listed(const char *list, const char *name)
{
    const size_t n = strlen(name);

    for (const char *p = list; (p = strstr(p, name)); p += n)
        if ((p == list || p[-1] == ' ') && (p[n] == ' ' || p[n] == '\0'))
            return true;
    return false;
}

/* Rounds to two digits, as bounds are reported. */
static double round2(double x)
{
    char digits[32];

    snprintf(digits, sizeof digits, "%.2g", x);
    return strtod(digits, NULL);
}

static void put_hp(struct buf *b, const char *name, double lo, double hi)
{
    if (isnan(hi))
        buf_printf(b, " %s.min=%.12g", name, lo);
    else if (isnan(lo))
        buf_printf(b, " %s.max=%.12g", name, hi);
    else if (lo < hi)
        buf_printf(b, " %s=%.12g..%.12g", name, lo, hi);
    else
        buf_printf(b, " %s=%.12g", name, lo);
}

/* Writes the line without the arguments listed in `without` ("hp": every hyperparameter). */
static void again(struct buf *b, const char *line, const char *without)
{
    const struct command *cmd = NULL;
    struct args *a = NULL;

    if (command_parse(line, &cmd, &a, NULL) != ST_OK)
        return;
    buf_puts(b, cmd->name);
    for (const struct arg *g = cmd->args; g->name; g++) {
        if (!args_given(a, g->name) || listed(without, g->name))
            continue;
        buf_printf(b, " %s=", g->name);
        command_quote(b, args_text(a, g->name));
    }
    for (size_t i = 0; i < args_hp(a); i++) {
        double lo, hi;
        const double *list;
        const char *name = args_hp_at(a, i, &lo, &hi);
        if (listed(without, name) || listed(without, "hp"))
            continue;
        if (args_hp_list(a, i, &list) > 1)
            buf_printf(b, " %s=%s", name, args_hp_text(a, i));
        else
            put_hp(b, name, lo, hi);
    }
    args_free(a);
}

/* Suggests the tuning with other bounds of one hyperparameter, followed by the fit with its
 * result. */
static void tune_again(struct search *s, struct cause *c, const char *name, double lo, double hi)
{
    struct buf b = { 0 };
    char without[KERNEL_NAME_MAX + 16];

    if (!c)
        return;
    snprintf(without, sizeof without, "%s%s", name, s->f.kernel[0] ? " kernel" : "");
    again(&b, s->f.tune ? s->f.tune : "tune", without);
    if (s->f.kernel[0])
        buf_printf(&b, " kernel=%s", s->f.kernel);
    put_hp(&b, name, round2(lo), round2(hi));
    if (s->f.fit) {
        buf_puts(&b, "; ");
        again(&b, s->f.fit, "kernel hp from continue");
    }
    way_out(c, "%s", buf_str(&b));
    buf_free(&b);
}

/* Suggests both again from the start: after the command `before`, with another kernel (NULL: the
 * same). */
static void kernel_again(struct search *s, struct cause *c, const char *before, const char *kernel)
{
    struct buf b = { 0 };

    if (!c)
        return;
    buf_puts(&b, before);
    again(&b, s->f.tune ? s->f.tune : "tune", kernel || s->f.kernel[0] ? "kernel hp" : "hp");
    if (kernel) {
        buf_puts(&b, " kernel=");
        command_quote(&b, kernel);
    } else if (s->f.kernel[0]) {
        buf_printf(&b, " kernel=%s", s->f.kernel);
    }
    if (s->f.fit) {
        buf_puts(&b, "; ");
        again(&b, s->f.fit, "kernel hp from continue");
    }
    way_out(c, "%s", buf_str(&b));
    buf_free(&b);
}

/* Suggests the fit again: it continues if it was stopped on its way, otherwise it starts afresh. */
static void fit_again(struct search *s, struct cause *c, bool go_on, const char *without,
                      const char *fmt, ...) __attribute__((format(printf, 5, 6)));
static void fit_again(struct search *s, struct cause *c, bool go_on, const char *without,
                      const char *fmt, ...)
{
    struct buf b = { 0 };
    char with[96];
    va_list ap;

    if (!c)
        return;
    va_start(ap, fmt);
    vsnprintf(with, sizeof with, fmt, ap);
    va_end(ap);
    const bool chained = s->f.has_model && s->f.fit && strstr(s->f.fit, " continue=");
    if (go_on || chained || !s->f.fit) {
        buf_printf(&b, "fit continue=%s", s->f.run);
    } else {
        again(&b, s->f.fit, without);
        if (s->f.kernel[0])
            buf_printf(&b, " kernel=%s", s->f.kernel);
    }
    way_out(c, "%s %s", buf_str(&b), with);
    buf_free(&b);
}

/* What the run itself shows. */

static void look_failure(struct search *s)
{
    const struct err *e = &s->f.failure;

    if (s->f.state != RUN_FAILED)
        return;
    /* the failure is a cause by itself, unless the matrix failed because of its rows or its
     * noise */
    struct cause *c = add(s, e->name[0] ? e->name : "failure", e->code == ST_NOT_PD ? 0.6 : 1.05,
                          4.0, "it failed: %.230s", e->msg);
    const char *way = e->hint[0] ? e->hint : "summary", *more = strstr(way, ", ");
    size_t features = 0;
    if (s->f.fit && sscanf(way, "fit features=%zu", &features) == 1)
        fit_again(s, c, false, "features rank", "features=%zu", features);
    else
        way_out(c, "%.*s", (int)(more ? more - way : 120), way);
}

static void look_float(struct search *s)
{
    const struct fit_info *i = &s->f.info;

    if (!s->f.has_model || !(i->float_limit || i->why == OUT_BREAKDOWN))
        return;
    struct cause *c =
        i->float_limit
            ? add(s, "float32", 1.0, 4.0,
                  "the true residual stopped at %.2g while the recursive one continued to %.2g, "
                  "because the features are rounded to single precision",
                  i->true_residual, i->residual)
            : add(s, "float32", 1.0, 4.0,
                  "the solver broke down at iteration %zu: the matrix is not positive definite in "
                  "%s precision",
                  i->iterations, s->study.o.precision == PREC_DOUBLE ? "double" : "single");
    fit_again(s, c, true, "", "precision=double");
}

static void look_bounds(struct search *s)
{
    const size_t scales = s->f.nhp + !s->has_classes; /* classes have no noise */

    for (size_t i = 0; s->f.bounds_known && i < scales; i++) {
        /* The index of the noise, not that of the amplitude. */
        const size_t at = i < s->f.nhp ? i : s->f.nhp + 1;
        const bool lo = s->f.at_lower & tune_bit(s->f.nhp, at);
        const bool hi = s->f.at_upper & tune_bit(s->f.nhp, at);
        char name[KERNEL_NAME_MAX] = "noise";
        if (!lo && !hi)
            continue;
        const double v = i < s->f.nhp ? s->study.o.hp[i] : s->f.noise;
        if (i < s->f.nhp)
            kernel_hp_info(&s->study.o.kernel, i, name, NULL);
        struct cause *c = add(s, "bound", 0.96, 4.0, "tuned %s = %.3g is at its %s bound", name, v,
                              lo ? "lower" : "upper");
        tune_again(s, c, name, lo ? v / 100.0 : v / 1000.0,
                   lo ? v * 1000.0 : v * 100.0); /* and well inside them */
        return;
    }
}

/* Repeated rows. */

static enum status look_repeats(struct search *s, struct err *err)
{
    const struct encoded *e = &s->study.e;
    struct repeats r;
    const enum status rc = repeats_find(e, e->y, &r, err);

    if (rc != ST_OK || r.free_rows < 5.0 || (double)r.rows < 0.01 * (double)e->n)
        return rc;
    const double sd = sqrt(r.squares / r.free_rows);
    struct cause *c =
        add(s, "duplicates", 0.94, sd / (3.0 * s->f.noise),
            "%zu of %zu rows have the inputs of "
            "another row, and their targets differ by %.2g (sd, scaled); the noise is %.2g",
            r.rows, e->n, sd, s->f.noise);
    tune_again(s, c, "noise", sd / 10.0, sd * 10.0);
    return rc;
}

/* Columns. */

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* One input: examines its standardised values. v: n of them, sorted here; most: of all rows. */
static void look_column(struct search *s, const struct enc_col *col, double *v, size_t n,
                        double most)
{
    size_t unique = 1;
    struct cause *c = NULL;
    char name[64];
    struct buf b = { 0 };

    qsort(v, n, sizeof *v, ascending);
    for (size_t i = 1; i < n; i++)
        unique += v[i] != v[i - 1];
    text_safe(&b, col->column, 40);
    snprintf(name, sizeof name, "%s", buf_str(&b));
    buf_free(&b);
    const double middle = v[n - 1 - n / 20] - v[n / 20]; /* the range of nine tenths of the rows */
    const double limit = fmax(4.0, 0.4 * sqrt((double)s->study.e.n));
    if (col->sd < 1e-5 * fabs(col->mean) && unique > 2)
        c = add(s, "columns", 0.92, 1e-5 * fabs(col->mean) / col->sd,
                "column %s is nearly constant: %.6g, with an sd of %.2g, which standardising "
                "scales up to 1",
                name, col->mean, col->sd);
    else if (unique > 2 && most > limit && middle < 1.0)
        c = add(s, "columns", 0.92, most / limit / fmax(middle, 0.02),
                "column %s has extreme values: up to %.3g "
                "standard deviations, while nine tenths of the rows lie within %.2g",
                name, most, middle);
    buf_puts(&b, "cols ");
    command_quote(&b, col->column);
    buf_puts(&b, " role=skip; ");
    kernel_again(s, c, buf_str(&b), NULL);
    buf_free(&b);
}

static enum status look_columns(struct search *s, struct err *err)
{
    const struct encoded *e = &s->study.e;
    const struct encoding *enc = &s->study.enc;
    const size_t n = e->n < COLUMN_ROWS ? e->n : COLUMN_ROWS, before = s->n;
    double *x = NULL, *v = NULL, *most = NULL;
    enum status rc = ST_OK;
    size_t worst = SIZE_MAX;

    if (!enc->col) /* sequences have none */
        return ST_OK;
    x = mem_calloc(BLOCK * e->base.d, sizeof *x, "rows", err);
    v = x ? mem_calloc(n * enc->ncol, sizeof *v, "columns", err) : NULL;
    most = v ? mem_calloc(enc->ncol, sizeof *most, "columns", err) : NULL;
    rc = most ? ST_OK : ST_NOMEM;
    for (size_t r = 0, got = 0; rc == ST_OK && r < e->n; r += BLOCK) {
        const size_t k = e->n - r < BLOCK ? e->n - r : BLOCK;
        rc = e->base.rows(&e->base, r, r + k, x, err);
        for (size_t i = 0; rc == ST_OK && i < k; i++) {
            const bool take = got < n && (r + i) * n >= got * e->n;
            for (size_t j = 0; j < enc->ncol; j++) {
                most[j] = fmax(most[j], fabs(x[i * e->base.d + j]));
                if (take)
                    v[j * n + got] = x[i * e->base.d + j];
            }
            got += take;
        }
    }
    for (size_t j = 0; rc == ST_OK && j < enc->ncol && s->n + 2 < CAUSES_MOST; j++)
        if (enc->col[j].kind == ENC_REAL && !enc->col[j].constant)
            look_column(s, &enc->col[j], v + j * n, n, most[j]);
    for (size_t i = before; i < s->n; i++) /* the worst of them stands for all */
        if (worst == SIZE_MAX || s->cause[i].score > s->cause[worst].score)
            worst = i;
    if (worst != SIZE_MAX) {
        s->cause[before] = s->cause[worst];
        s->n = before + 1;
    }
    free(x), free(v), free(most);
    return rc;
}

/* Leave-one-out predictions. */

static enum status take_sample(struct search *s, struct err *err)
{
    const struct encoded *e = &s->study.e;
    const size_t n = e->n;

    s->m = n < LOO_ROWS ? n : LOO_ROWS;
    s->d = e->base.d;
    s->X = mem_aligned(s->m * s->d + 1, sizeof *s->X, "a sample", err);
    s->y = s->X ? mem_calloc(s->m, sizeof *s->y, "a sample", err) : NULL;
    s->e = s->y ? mem_calloc(3 * s->m, sizeof *s->e, "a sample", err) : NULL;
    s->sd = s->e ? s->e + s->m : NULL;
    s->w = s->e ? s->sd + s->m : NULL;
    s->K = s->e ? mem_aligned(s->m, s->m * sizeof *s->K, "a sample's kernel matrix", err) : NULL;
    enum status rc = s->K ? ST_OK : ST_NOMEM;
    const size_t step = s->m > LOO_FEW ? (s->m + LOO_FEW / 2) / LOO_FEW : 1;
    s->few = (s->m + step - 1) / step;
    for (size_t k = 0, i = 0; rc == ST_OK && k < s->m; k++, i += step) {
        if (i >= s->m) /* 0, step, 2 step ..; then 1, 1 + step .. */
            i = i % step + 1;
        const size_t lo = (size_t)((double)i * (double)n / (double)s->m);
        const size_t hi = (size_t)(((double)i + 1.0) * (double)n / (double)s->m);
        size_t r = lo + (size_t)(rng_uniform(2, rng_stream(RNG_SAMPLE, 13), i) * (double)(hi - lo));
        r = r < n ? r : n - 1;
        rc = e->base.rows(&e->base, r, r + 1, s->X + k * s->d, err);
        s->y[k] = e->y[r];
        s->w[k] = e->row_scale ? e->row_scale[r] : 1.0;
    }
    return rc;
}

/* Root (weighted) mean squared leave-one-out error of the first m rows. e keeps the residuals
 * multiplied by the square root of the weight, as sd is. NaN if the matrix cannot be factorised. */
static double error_of(struct search *s, size_t m, const double *hp, double ratio)
{
    double sum = 0.0, quad = 0.0, z2 = 0.0, trace = 0.0,
           weight = 0.0; /* quad = y'A^-1 y, where A^-1 y = e / sd^2 */

    const struct exact_rows rows = { .k = &s->study.o.kernel, .hp = hp, .X = s->X, .n = m,
                                     .d = s->d, .row_scale = s->w, .pool = s->job->pool };

    if (ctl_stopped(&s->job->ctl) ||
        diagnose_loo(&rows, s->y, ratio, s->e, s->sd, s->K, NULL, NULL) != ST_OK)
        return NAN;
    for (size_t i = 0; i < m; i++) {
        sum += s->e[i] * s->e[i];
        weight += s->w[i] * s->w[i];
        quad += s->w[i] * s->y[i] * s->e[i] / (s->sd[i] * s->sd[i]);
        z2 += s->e[i] * s->e[i] / (s->sd[i] * s->sd[i]);
        trace += 1.0 / (s->sd[i] * s->sd[i]);
    }
    s->z2 = z2 / (double)m / (s->f.amplitude * s->f.amplitude);
    s->dof = (double)m - ratio * trace;
    s->implied = sqrt(fmax(0.0, ratio * quad / (double)m));
    return sqrt(sum / weight);
}

static double error_at(struct search *s, const double *hp, double ratio)
{
    return error_of(s, s->m, hp, ratio);
}

static double own_ratio(const struct search *s)
{
    return s->f.noise * s->f.noise / (s->f.amplitude * s->f.amplitude);
}

static const double z2_sure = 4.0; /* errors are twice as large as the model predicts */

/* From a ratio of noise by factors of ten up and down, at least up to `near`, while the error of
 * the first m rows falls, and for `most` more steps; the best setting stands in best_error and its
 * like. */
static void descend_noise(struct search *s, size_t m, double from, double near, size_t most)
{
    for (int way = -1; way <= 1; way += 2) {
        size_t worse = 0;
        for (double r = from; r > 1e-12 && r < 1e6;) {
            /* 0.999: near is a product of tens, too */
            if (worse >= most && !(way < 0 ? near < 0.999 * r : near > 1.001 * r))
                break;
            r *= way < 0 ? 0.1 : 10.0;
            const double e = error_of(s, m, s->study.o.hp, r);
            worse = e < s->best_error ? 0 : worse + 1;
            if (e < s->best_error) {
                s->best_error = e;
                s->best_ratio = r;
                s->best_noise = s->implied;
            }
        }
    }
}

/* Where a few rows have their least error, starting at the run's own ratio. */
static double first_ratio(struct search *s, double own)
{
    s->best_error = error_of(s, s->few, s->study.o.hp, own);
    if (!isfinite(s->best_error))
        s->best_error = INFINITY;
    s->best_ratio = own;
    descend_noise(s, s->few, own, own, 3);
    return s->best_ratio;
}

/* The noise: errors at several ratios of noise, of a few rows first, then of all rows up to the
 * best of those and beside it. */
static void look_noise(struct search *s)
{
    const double own = own_ratio(s), near = s->few < s->m ? first_ratio(s, own) : own;

    s->own_error = s->best_error = error_at(s, s->study.o.hp, own);
    const double z2 = s->z2, dof = s->dof;
    s->best_ratio = own;
    s->best_noise = s->implied;
    if (!isfinite(s->own_error))
        s->best_error = INFINITY;
    descend_noise(s, s->m, own, near, s->few < s->m ? 1 : 3);
    s->own_dof = isfinite(s->own_error) ? dof : 0.0;
    const double gain = s->own_error / s->best_error, factor = s->best_noise / s->f.noise;
    /* If rows are sparse, too little noise hardly harms the predicted means, but it harms their
     * sd. */
    const bool sure = isfinite(z2) && z2 > z2_sure;
    if (factor < 5.0 || !(gain > 1.08 || sure || !isfinite(s->own_error)))
        return;
    if (sure && !(gain > 1.08)) {
        struct cause *c =
            add(s, "noise", 0.9, factor / 5.0,
                "the noise is %.2g; the leave-one-out errors of %zu rows are %.1f times their "
                "predicted sd (1 is right); the likeliest noise is %.2g",
                s->f.noise, s->m, sqrt(z2), s->best_noise);
        tune_again(s, c, "noise", s->best_noise / 10.0, s->best_noise * 10.0);
        return;
    }
    struct cause *c =
        add(s, "noise", 0.9, isfinite(gain) ? factor / 5.0 * gain : 4.0,
            "the noise is %.2g, but %zu rows have their least leave-one-out error with %.2g (%.2g "
            "instead of %.2g, scaled)",
            s->f.noise, s->m, s->best_noise, s->best_error, s->own_error);
    tune_again(s, c, "noise", s->best_noise / 10.0, s->best_noise * 10.0);
}

/* The error of the first m rows with all lengthscales multiplied by a factor, with the best of a
 * few noises; first: the first lengthscale, SIZE_MAX: there is none. */
static double error_scaled(struct search *s, size_t m, double by, size_t *first)
{
    const double ratio[] = {s->best_ratio, s->best_ratio / 30.0, s->best_ratio * 30.0, 0.1, 0.005};
    double hp[KERNEL_MAX_HP], best = INFINITY;

    *first = SIZE_MAX;
    memcpy(hp, s->study.o.hp, sizeof hp);
    for (size_t i = 0; i < kernel_nhp(&s->study.o.kernel); i++) {
        char name[KERNEL_NAME_MAX];
        kernel_hp_info(&s->study.o.kernel, i, name, NULL);
        if (!strstr(name, "lengthscale"))
            continue;
        hp[i] *= by;
        *first = *first == SIZE_MAX ? i : *first;
    }
    for (size_t j = 0; *first != SIZE_MAX && j < sizeof ratio / sizeof *ratio; j++)
        best = fmin(best, error_of(s, m, hp, ratio[j])); /* NaN counts as none */
    return best;
}

/* All lengthscales scaled by a common factor: where a few rows have an error that is smaller by
 * half of what would be told of, by all rows. */
static void look_lengthscale(struct search *s)
{
    static const double by[] = { 0.03, 0.1, 0.3, 3.0, 10.0, 30.0 }, hint = 1.18;
    double best = s->best_error, factor = 1.0;
    size_t first = SIZE_MAX;
    const bool screen = s->few < s->m;
    const double own = screen ? error_scaled(s, s->few, 1.0, &first) : INFINITY;

    for (size_t k = 0; k < sizeof by / sizeof *by; k++) {
        if (screen && !(own / error_scaled(s, s->few, by[k], &first) > hint))
            continue;
        const double e = error_scaled(s, s->m, by[k], &first);
        if (e < best) {
            best = e;
            factor = by[k];
        }
    }
    if (first == SIZE_MAX || !(s->best_error / best > 1.4))
        return;
    const double l = s->study.o.hp[first];
    struct cause *c = add(s, "bound", 0.88, s->best_error / best / 1.4,
                          "lengthscales of %.3g predict %zu rows with a leave-one-out error of "
                          "%.2g (scaled), those of %.3g with %.2g",
                          l, s->m, s->best_error, l * factor, best);
    tune_again(s, c, "lengthscale", l * fmin(factor, 1.0) / 10.0, l * fmax(factor, 1.0) * 10.0);
}

/* How much the residuals, relative to their predicted sd, differ between fifths of a variable: the
 * largest mean square over the smallest. */
static double spread(const struct search *s, const double *x, size_t stride, double *rank,
                     double *rising)
{
    struct pair { double x, e2; } *p = (struct pair *)rank;
    double sum[SPREAD_BINS] = { 0 }, count[SPREAD_BINS] = { 0 }, lo = INFINITY, hi = 0.0;

    for (size_t i = 0; i < s->m; i++)
        p[i] = (struct pair){ x[i * stride], pow(s->e[i] / s->sd[i], 2.0) };
    qsort(p, s->m, sizeof *p, ascending);
    if (!(p[s->m - 1].x > p[0].x))
        return 1.0;
    for (size_t i = 0, b = 0; i < s->m; i++) {
        if (i == 0 || p[i].x > p[i - 1].x) /* equal values get the same rank */
            b = i * SPREAD_BINS / s->m;
        sum[b] += p[i].e2;
        count[b] += 1.0;
    }
    size_t at_lo = 0, at_hi = 0;
    for (size_t b = 0; b < SPREAD_BINS; b++) {
        if (count[b] < 10.0)
            continue;
        if (sum[b] / count[b] < lo)
            lo = sum[b] / count[b], at_lo = b;
        if (sum[b] / count[b] > hi)
            hi = sum[b] / count[b], at_hi = b;
    }
    *rising = at_hi > at_lo ? 1.0 : -1.0;
    return lo > 0.0 ? hi / lo : 1.0;
}

static bool positive_target(const struct search *s)
{
    const struct encoded *e = &s->study.e;
    bool positive = e->yraw != NULL && s->study.enc.yscale != Y_LOG;

    for (size_t i = 0; positive && i < e->n; i++)
        positive = e->yraw[i] > 0.0;
    return positive;
}

static enum status look_spread(struct search *s, struct err *err)
{
    const double wanted = 8.0;
    double *room = mem_calloc(3 * s->m, sizeof *room, "residuals", err), *fitted = room + 2 * s->m;
    double rising, worst = 0.0, up = 1.0;
    size_t column = SIZE_MAX;

    if (!room)
        return ST_NOMEM;
    if (!isfinite(error_at(s, s->study.o.hp, s->best_ratio))) {
        free(room);
        return ST_OK;
    }
    for (size_t i = 0; i < s->m; i++)
        fitted[i] = s->y[i] - s->e[i] / s->w[i];
    const double by_level = spread(s, fitted, 1, room, &up);
    for (size_t j = 0; s->study.enc.col && j < s->study.enc.ncol && s->study.enc.d == s->d; j++) {
        const double r = spread(s, s->X + j, s->d, room, &rising);
        if (r > worst) {
            worst = r;
            column = j;
        }
    }
    const bool level = by_level > 0.7 * worst;
    struct cause *c = NULL;
    /* No kernel makes the noise depend on the place: multiplying the kernel by a linear one left
     * these errors as uneven as before, and NLPD did not improve either (tests/bench/mend.sh). */
    const bool log = up > 0.0 && positive_target(s);
    const char *rest =
        log ? ": one scale does not suit all"
            : ". If that is noise, weights (cols NAME role=weight) or calibrate method=local help";
    if (level && by_level >= wanted) {
        c = add(s, "nonstationary", 0.84, by_level / wanted,
                "relative to their predicted sd, leave-one-out errors are %.1f times larger where "
                "predictions are %s than elsewhere%s",
                sqrt(by_level), up > 0.0 ? "high" : "low", rest);
    } else if (column != SIZE_MAX && worst >= wanted) {
        struct buf b = { 0 };
        text_safe(&b, s->study.enc.col[column].column, 40);
        c = add(s, "nonstationary", 0.84, worst / wanted,
                "relative to their predicted sd, leave-one-out errors are %.1f times larger in one "
                "fifth of the rows by %s than in another%s",
                sqrt(worst), buf_str(&b), rest);
        buf_free(&b);
    }
    if (log)
        kernel_again(s, c, "scale y=log; ", NULL);
    else
        way_out(c, "explain nonstationary");
    free(room);
    return ST_OK;
}

/* Features, variances, rank: from the spectrum. */

static void look_features(struct search *s)
{
    const struct fit_info *i = &s->f.info;
    const double M = (double)s->a.M, D = s->a.kernel_dimension;

    if (s->a.M == 0 || !s->f.has_model || !s->f.draws || kernel_learns(&s->study.o.kernel))
        return;
    const double few = s->a.M < s->a.n * 2 ? D / (0.65 * M) : 0.0;
    const double rmse = i->why > 0 && s->study.o.targets < 2 && !s->study.e.row_scale
                            ? i->train_rmse / (1.3 * s->best_error)
                            : 0.0;
    /* if all features count, they do not show how many would be needed; the exact kernel on a
     * sample of rows does */
    const double kernel = 2.0 * s->own_dof * sqrt((double)s->a.n / (double)s->m);
    const size_t better =
        (size_t)fmax(D >= 0.99 * M ? 4.0 * M : 4.0 * D, D >= 0.99 * M ? kernel : 0.0);
    struct cause *c = NULL;
    if (rmse >= 1.0)
        c = add(s, "features", 0.88, fmax(rmse * rmse, few),
                "%zu features leave an error of %.2g on their own training rows; the kernel itself "
                "predicts %zu rows with a leave-one-out error of %.2g",
                s->a.M, i->train_rmse, s->m, s->best_error);
    else
        c = add(s, "features", 0.86, few, "the effective dimension is %.0f%s, of %zu features", D,
                D >= 0.99 * M ? " or more" : "", s->a.M);
    fit_again(s, c, false, "features rank continue", "features=%zu", (better + 127) / 128 * 128);
}

static void look_variances(struct search *s)
{
    const struct fit_info *i = &s->f.info;
    const double D = s->a.effective_dimension, Mv = (double)i->variance_features;

    if (s->a.M == 0 || !s->f.draws || i->variance_features == 0 || i->variance_features >= s->a.M)
        return;
    struct cause *c = add(s, "starved", 0.9, D / (0.6 * Mv),
                          "variances have %zu features for an effective dimension of "
                          "%.0f: the function's own sd is too small",
                          i->variance_features, D);
    fit_again(s, c, i->why != OUT_DIRECT, "variance", "variance=all");
}

/* True if these intervals hold too few rows or too many; where they are those of normal errors
 * although a fit may let them follow the errors, also if no scale would mend it. */
static bool intervals_off(const struct search *s, const struct judged *j)
{
    return j->n && (j->verdict == INTERVALS_NARROW || j->verdict == INTERVALS_WIDE ||
                    (s->f.scale_kept && j->coverage == JUDGED_WIDE));
}

/* Intervals that are too narrow or too wide.  Left-out rows show what a fit does to them; where
 * those bear the intervals out and test rows do not, the test rows are of another kind. */
static void look_intervals(struct search *s)
{
    const struct judged *out = &s->f.left_out, *test = &s->f.test;
    const bool off = intervals_off(s, out);
    const struct judged *j = off ? out : test;
    struct buf figures = { 0 };

    if (!off && !intervals_off(s, test))
        return;
    intervals_figures(&figures, j);
    struct cause *c = add(s, "intervals", 0.7, 2.0,
                          "on %s rows %s: the intervals %s%s", off ? "left-out" : "test",
                          buf_str(&figures), judgement_word(j->verdict),
                          off || !out->n ? "" : ", while those of left-out training rows hold");
    if (off && s->f.scale_kept && s->f.tune && s->f.fit && strstr(s->f.fit, "rescale="))
        fit_again(s, c, false, "rescale noise amplitude continue", "rescale=yes");
    else if (off && s->f.scale_kept)
        kernel_again(s, c, "", NULL);
    else if (!off && s->f.draws && s->f.info.variance_features < s->f.info.features)
        fit_again(s, c, s->f.info.why != OUT_DIRECT, "variance", "variance=all");
    else
        way_out(c, "check %s", s->f.run);
    buf_free(&figures);
}

static const struct rank_guess *row_of(const struct advice *a, size_t rank)
{
    for (size_t i = 0; i < a->rows; i++)
        if (a->row[i].rank == rank)
            return &a->row[i];
    return NULL;
}

/* "about 160", or "more than 160" where there is no upper end to the forecast. */
static const char *expected(const struct rank_guess *g, char *out, size_t len)
{
    snprintf(out, len, "%s %.0f", g->more ? "more than" : "about",
             g->more ? g->low : g->iterations);
    return out;
}

/* A limit of iterations that a forecast makes sure of, as far as it can. */
static double room_for(const struct rank_guess *g)
{
    return g->more ? 4.0 * g->iterations : 2.0 * g->high;
}

static const double ratio_wanted = 30.0; /* the paper's rule for a preconditioner */

static void look_rank(struct search *s)
{
    const struct fit_info *i = &s->f.info;
    const struct rank_guess *own = row_of(&s->a, i->rank),
                            *best = s->a.rows ? &s->a.row[s->a.best] : NULL;
    const struct solver_ops *solver = solver_find(i->solver, NULL);
    const bool ended = i->why == OUT_RTOL, krylov = solver && solver->krylov;
    char its[40];

    if (!best || !own || !s->f.draws || i->why == OUT_DIRECT || i->why == OUT_CANCELLED ||
        !s->f.has_model)
        return;
    if (!krylov) {
        if (ended || best->iterations > (double)s->f.maxit)
            return;
        struct cause *c =
            add(s, "solver", 0.8, 4.0,
                "%s stopped at a residual of %.2g after %.0f passes; pcg with rank %zu is "
                "expected to take %s iterations",
                i->solver, i->true_residual, i->passes, best->rank,
                expected(best, its, sizeof its));
        fit_again(s, c, true, "", "solver=pcg rank=%zu", best->rank);
        return;
    }
    const double took = own->build + (double)i->iterations * own->iteration;
    const double slow =
        ended ? took / (2.0 * best->seconds) : own->iterations / (2.0 * best->iterations);
    if ((ended && i->rank_chosen) || best->rank <= i->rank ||
        (!ended && own->ratio <= ratio_wanted))
        return;
    char now[40] = "no preconditioner";
    if (i->rank)
        snprintf(now, sizeof now, "rank %zu", i->rank);
    struct cause *c =
        add(s, "rank", ended ? 0.88 : 0.97, slow,
            "%s leaves a ratio of %.3g (30 is wanted): %zu "
            "iterations to %.2g; rank %zu leaves %.3g and is expected to take %s",
            now, isfinite(own->ratio) ? own->ratio : s->a.spectrum.lam[0] / s->a.ratio,
            i->iterations, i->true_residual, best->rank, best->ratio,
            expected(best, its, sizeof its));
    if (best->high > (double)s->f.maxit)
        fit_again(s, c, !ended, "solver rank maxit", "solver=pcg rank=%zu maxit=%.0f", best->rank,
                  room_for(best));
    else
        fit_again(s, c, !ended, "solver rank", "solver=pcg rank=%zu", best->rank);
}

/* A step was too long. */
static void look_step(struct search *s)
{
    const struct fit_info *i = &s->f.info;
    const bool given = s->f.fit && strstr(s->f.fit, "step=");

    if (!s->f.has_model || !i->halved)
        return;
    struct cause *c = add(s, "step", 0.97, 4.0, "its steps were too long: %zu time%s the residual "
                          "grew, and it went on from the best iterate with half of the step",
                          i->halved, i->halved == 1 ? "" : "s");
    fit_again(s, c, false, "solver", "solver=%s", given ? i->solver : "pcg");
}

static bool has_cause(const struct search *s, const char *name)
{
    for (size_t i = 0; i < s->n; i++)
        if (!strcmp(s->cause[i].name, name))
            return true;
    return false;
}

/* The solver stopped at its limit of iterations and no cause of slow convergence was found: then
 * the limit itself is the cause. */
static void look_rest(struct search *s)
{
    static const char *const slow[] = { "rank", "solver", "float32", "noise", "duplicates" };
    const struct fit_info *i = &s->f.info;
    const struct rank_guess *own = row_of(&s->a, i->rank);
    const double want = own ? own->iterations : NAN;
    char its[40];

    for (size_t k = 0; k < sizeof slow / sizeof *slow; k++)
        if (has_cause(s, slow[k]))
            return;
    if (!s->f.has_model || i->why != OUT_MAXIT)
        return;
    struct cause *c =
        isfinite(want) && want > (double)i->iterations
            ? add(s, "iterations", 0.95, 4.0,
                  "it stopped at its limit of %zu iterations, with a residual of %.2g; %s are "
                  "expected",
                  i->iterations, i->true_residual, expected(own, its, sizeof its))
            : add(s, "iterations", 0.95, 4.0,
                  "it stopped at its limit of %zu iterations, with a residual of %.2g",
                  i->iterations, i->true_residual);
    fit_again(s, c, true, "", "maxit=%.0f",
              isfinite(want) ? fmax(4.0 * (double)s->f.maxit, 2.0 * want)
                                 : 4.0 * (double)s->f.maxit);
}

/* True if the course of the iteration leaves something to ask of the table of ranks. */
static bool asks_ranks(const struct facts *f)
{
    const struct fit_info *i = &f->info;
    const struct solver_ops *solver = solver_find(i->solver, NULL);

    return f->kind == RUN_FIT && f->has_model && f->draws && i->why != OUT_DIRECT &&
           i->why != OUT_CANCELLED &&
           (i->why != OUT_RTOL || (solver && solver->krylov && !i->rank_chosen));
}

static enum status look_spectrum(struct search *s, struct err *err)
{
    size_t ranks[] = { 0, s->f.info.rank, 32, 64, 128, 256, 512, 1024, 2048 }, n = 0, use[9];

    if (!s->f.draws || s->f.kind != RUN_FIT || s->study.o.features < 64)
        ranks[0] = 0;
    for (size_t i = 0; i < 9; i++) {
        bool again = ranks[i] > s->study.o.features / 2 && i != 1;
        for (size_t j = 0; j < n; j++)
            again |= use[j] == ranks[i];
        if (!again)
            use[n++] = ranks[i];
    }
    s->study.o.mem_limit = s->job->limits.memory;
    model_on(&s->study.o, s->job->backend, pool_threads(s->job->pool));
    s->study.o.keep_scale = true;
    const struct diagnose_ask ask = { .rows = &s->study.e.base, .y = s->study.e.y,
                                      .opts = &s->study.o, .ranks = use, .count = n, .solves = 1,
                                      .sample = SPECTRUM_ROWS };
    const struct tools on = { s->job->backend, s->job->pool, &s->job->ctl };
    return asks_ranks(&s->f) ? diagnose_advise(&ask, &on, &s->a, err)
                             : diagnose_spectrum(&ask, &on, &s->a, err);
}

/* The job. */

static int by_score(const void *a, const void *b)
{
    const struct cause *p = a, *q = b;
    return (p->score < q->score) - (p->score > q->score);
}

/* Puts consequences after their causes. */
static void order(struct search *s)
{
    for (size_t i = 0; i < s->n; i++)
        if (!strcmp(s->cause[i].name, "float32") &&
            (has_cause(s, "noise") || has_cause(s, "duplicates")))
            s->cause[i].score = 0.7;
        else if (!strcmp(s->cause[i].name, "nonstationary") && has_cause(s, "bound"))
            s->cause[i].score = 0.7;
        else if (!strcmp(s->cause[i].name, "rank") &&
                 (has_cause(s, "noise") || has_cause(s, "duplicates")))
            s->cause[i].score = fmin(s->cause[i].score, 0.75);
    qsort(s->cause, s->n, sizeof *s->cause, by_score);
}

/* What there is to find where the targets are classes. */
static enum status look_classes(struct search *s, struct err *err)
{
    enum status rc = look_columns(s, err);

    if (rc == ST_OK)
        rc = why_classes_look(&s->classes, &s->study.e, s->study.enc.classes, s->cause, &s->n,
                              err);
    if (rc == ST_OK && ctl_stopped(&s->job->ctl))
        rc = err_set(err, ST_CANCELLED, "stopped");
    order(s);
    return rc;
}

static enum status search_work(struct job *job, struct err *err)
{
    struct search *s = job->arg;
    const double t0 = job_now();
    struct err ignored = { 0 };
    enum status rc = fit_setup_open(&s->study, s->f.state == RUN_FAILED ? &ignored : err);

    s->job = job;
    look_failure(s);
    look_float(s);
    look_bounds(s);
    if (rc != ST_OK && s->f.state == RUN_FAILED) { /* its rows are what failed */
        s->seconds = job_now() - t0;
        return ST_OK;
    }
    ctl_tell(&job->ctl, PHASE_ROWS, 0, 3, NAN);
    if (rc == ST_OK && s->has_classes) {
        rc = look_classes(s, err);
        s->seconds = job_now() - t0;
        return rc;
    }
    if (rc == ST_OK)
        rc = look_repeats(s, err);
    if (rc == ST_OK)
        rc = look_columns(s, err);
    ctl_tell(&job->ctl, PHASE_LEFT_OUT, 1, 3, NAN);
    if (rc == ST_OK)
        rc = take_sample(s, err);
    if (rc == ST_OK) {
        look_noise(s);
        if (!has_cause(s, "bound"))
            look_lengthscale(s);
        rc = look_spread(s, err);
    }
    if (rc == ST_OK && ctl_stopped(&job->ctl))
        rc = err_set(err, ST_CANCELLED, "stopped");
    ctl_tell(&job->ctl, PHASE_SPECTRUM, 2, 3, NAN);
    if (rc == ST_OK && s->f.draws && s->f.has_model)
        rc = look_spectrum(s, err);
    if (rc == ST_OK) {
        look_features(s);
        look_variances(s);
        look_intervals(s);
        look_rank(s);
        look_step(s);
        look_rest(s);
        order(s);
    }
    s->seconds = job_now() - t0;
    return rc;
}

static void causes_text(struct rec *rec, const struct search *s)
{
    const bool got = s->f.has_model || (s->f.kind == RUN_TUNE && s->f.bounds_known);

    if (s->n == 0 && s->has_classes)
        rec_text(rec, "  no problem was found; checked: rows, columns, labels%s",
                 s->classes.scored ? ", probabilities, classes"
                                   : "; once it is scored, its probabilities can be checked, too");
    else if (s->n == 0)
        rec_text(
            rec,
            got ? "  no problem was found; checked: rows, columns, noise%s%s"
                : "  no problem was found in rows, columns, noise%s%s; the run ended before a\n"
                  "  first result, so its iterations could not be checked",
            kernel_has_lengthscales(&s->study.o.kernel) ? ", lengthscales" : "",
            s->a.M ? ", features, rank" : "");
    for (size_t i = 0; i < s->n; i++) {
        const struct cause *c = &s->cause[i];
        char first[40];
        snprintf(first, sizeof first, "%2zu %-14s ", i + 1, c->name);
        rec_text(rec, "%s", i ? "\n" : "");
        text_wrap(&rec->text, c->evidence, 78, first, "                  ");
        rec_text(rec, "\n%stry  %s", strlen(c->try) <= 56 ? "                  " : "    ", c->try);
    }
}

static void search_record(struct workspace *ws, const struct search *s)
{
    struct rec rec;
    char sec[32];

    rec_init(&rec, REC_RESULT, "why");
    snprintf(rec.run, sizeof rec.run, "%s", s->f.run);
    rec_str(&rec, "run", s->f.run);
    rec_array(&rec, "causes");
    for (size_t i = 0; i < s->n; i++) {
        rec_item(&rec);
        rec_str(&rec, "name", s->cause[i].name);
        rec_num(&rec, "score", s->cause[i].score);
        rec_str(&rec, "evidence", s->cause[i].evidence);
        rec_str(&rec, "try", s->cause[i].try);
        rec_close(&rec);
    }
    rec_array_close(&rec);
    rec_num(&rec, "seconds", s->seconds);
    text_seconds(sec, sizeof sec, s->seconds);
    rec_text(&rec, "%s  ", s->f.run);
    if (s->n)
        rec_text(&rec, "%zu cause%s, the likeliest first (%s)\n", s->n, s->n == 1 ? "" : "s", sec);
    else
        rec_text(&rec, "(%s)\n", sec);
    causes_text(&rec, s);
    ws_emit(ws, &rec);
}

static void search_done(struct workspace *ws, struct job *job, enum status rc,
                        const struct err *err)
{
    const struct search *s = job->arg;

    if (rc == ST_OK && job->discard)
        rc = ST_CANCELLED;
    if (rc == ST_CANCELLED) {
        ws_note(ws, "stopped", "why was stopped before it had an answer");
        ws->unconverged = true;
    } else if (rc != ST_OK) {
        ws_error(ws, err, job->line);
    } else {
        search_record(ws, s);
    }
}

static const struct job_ops why_ops = { .verb = "why", .work = search_work, .done = search_done,
                                        .free = search_free };

static void take_lines(struct facts *f, const struct workspace *ws, const struct run *r,
                       const struct run *tuned)
{
    struct buf now = { 0 }, quoted = { 0 };

    if (r->kind == RUN_FIT && r->command)
        f->fit = mem_strdup(r->command, NULL);
    if (tuned && tuned->command)
        f->tune = mem_strdup(tuned->command, NULL);
    kernel_print(&ws->kernel, &now);
    if (r->kernel_text && strcmp(buf_str(&now), r->kernel_text)) {
        command_quote(&quoted, r->kernel_text);
        snprintf(f->kernel, sizeof f->kernel, "%s", buf_str(&quoted));
    }
    buf_free(&now);
    buf_free(&quoted);
}

static void take_facts(struct facts *f, const struct workspace *ws, const struct run *r)
{
    const struct run *t = r->kind == RUN_TUNE ? r : ws_tuning_of(ws, r);

    *f = (struct facts){ .kind = r->kind, .state = r->state, .failure = r->failure,
                         .noise = r->fit.noise, .amplitude = r->fit.amplitude,
                         .draws = r->kind == RUN_TUNE || run_model_kind(r)->draws,
                         .maxit = r->fit.maxit ? r->fit.maxit : 500 };
    snprintf(f->run, sizeof f->run, "%s", r->id);
    take_lines(f, ws, r, t);
    if (r->kind == RUN_FIT && r->model) {
        f->has_model = true;
        f->info = r->info;
        if (!r->fit.maxit && r->info.iterations > f->maxit) /* the solver's own limit */
            f->maxit = r->info.iterations;
        f->noise = r->model->noise;
        f->amplitude = r->model->amplitude;
        f->scale_kept = r->fit.keep_scale || r->fit.scale != SCALE_LEFT_OUT;
        f->left_out = intervals_left_out(r);
        if (r->has_score && r->score_part == PART_TEST && isfinite(r->score_scaled.coverage95))
            f->test = judgement_score(&r->score_scaled);
    }
    if (r->kind == RUN_TUNE && r->tune.evaluations) {
        f->noise = r->tune.best.noise;
        f->amplitude = r->tune.best.amplitude;
    }
    if (t && t->tune.evaluations) {
        f->bounds_known = true;
        f->nhp = t->tune.nhp;
        f->at_lower = t->tune.at_lower;
        f->at_upper = t->tune.at_upper;
    }
}

enum status why_start(struct workspace *ws, const struct run *r, const char *line, struct err *err)
{
    if (r->state == RUN_QUEUED || r->state == RUN_RUNNING) {
        err_set(err, ST_STATE, "%s is still running", r->id);
        err_hint(err, "stop %s, then why %s", r->id, r->id);
        return ST_STATE;
    }
    struct search *s = mem_calloc(1, sizeof *s, "job", err);
    enum status rc = s ? fit_setup_of_any(&s->study, r, err) : ST_NOMEM;

    if (rc != ST_OK) {
        struct job tmp = { .arg = s };
        search_free(&tmp);
        return rc;
    }
    take_facts(&s->f, ws, r);
    if (r->kind == RUN_TUNE && r->tune.evaluations) {
        memcpy(s->study.o.hp, r->tune.best.hp, sizeof s->study.o.hp);
        s->study.o.features = run_model_kind(r)->draws ? r->topt.features : 8192;
    }
    s->study.o.amplitude = s->f.amplitude;
    s->study.o.noise = s->f.noise;
    s->has_classes = run_model_kind(r)->classes;
    if (s->has_classes)
        why_classes_take(&s->classes, r);
    const bool spectral = s->f.has_model && s->f.draws;
    if (!s->has_classes)
        fit_setup_cost(ws, &s->study,
                       &(struct diagnose_ask){ .sample = spectral ? SPECTRUM_ROWS : 16,
                                               .count = 6 },
                       asks_ranks(&s->f), left_out_seconds * left_out_share(s->study.data));
    return ws_submit(ws, &why_ops, NULL, s, line, err);
}
