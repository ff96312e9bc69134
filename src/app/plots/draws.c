/* app/plots/draws.c -- functions drawn from a Gaussian process of one input, and pictures of
 * kernels. See draws.h. */
#include "app/plots/draws.h"

#include "app/plots/plot_rows.h"

#include "app/runs/fitting.h"
#include "app/runs/row_inspect.h"
#include "app/session/store.h"
#include "app/core/workspace_exec.h"
#include "app/core/ws_tell.h"
#include "figure/figure.h"
#include "base/mem.h"
#include "base/text.h"
#include "compute/rng.h"
#include "compute/stats/process.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { STREAM_POINT = 200, CURVE_POINTS = 201, IMAGE_SIDE = 49 };

struct draw_state draw_state_default(const struct workspace *ws)
{
    return (struct draw_state){ .functions = 3, .points = 160, .lo = NAN, .hi = NAN,
                                .seed = ws->opt.seed };
}

/* The rows. */

/* Scaled inputs and targets of the current data, and the scaling to undo. */
struct rows {
    struct encoding enc;
    bool has_enc;
    size_t n;
    double *x, *y;
    double xmean, xsd;
    char *xname, *yname;
};

static void rows_free(struct rows *r)
{
    if (r->has_enc)
        encoding_free(&r->enc);
    free(r->x), free(r->y), free(r->xname), free(r->yname);
}

static double rows_y(const struct rows *r, double scaled)
{
    return r->has_enc ? encoding_value(&r->enc, scaled) : scaled;
}

/* Finds the one input and the one target of a dataset. Returns false if there are more, or
 * others. */
static bool one_input(const struct dataset *d, size_t *x, size_t *y)
{
    size_t nx = 0, ny = 0;

    for (size_t j = 0; j < d->table->ncols; j++) {
        if (d->role[j] == ROLE_INPUT)
            *x = j, nx++;
        if (d->role[j] == ROLE_TARGET)
            *y = j, ny++;
    }
    return nx == 1 && ny == 1 && d->table->col[*x].type == COL_REAL &&
           d->table->col[*y].type == COL_REAL && dataset_weight(d) == SIZE_MAX;
}

/* True where the current data and kernel can be drawn over one input. */
static bool over_one_input(struct workspace *ws)
{
    const struct dataset *d = ws_dataset(ws, NULL, NULL);
    size_t x, y;

    return d && one_input(d, &x, &y) && d->table->n <= DRAW_ROWS_MOST &&
           !kernel_reads_windows(&ws->kernel);
}

/* Takes the rows unscaled: this also works for a single row, which has no standard deviation. */
static enum status rows_raw(const struct dataset *d, size_t x, size_t y, struct rows *r,
                            struct err *err)
{
    const struct table *t = d->table;

    r->x = mem_calloc(t->n, sizeof *r->x, "a draw", err);
    r->y = mem_calloc(t->n, sizeof *r->y, "a draw", err);
    if (!r->x || !r->y)
        return ST_NOMEM;
    for (size_t i = 0; i < t->n; i++) {
        const double a = column_at(&t->col[x], i), b = column_at(&t->col[y], i);
        if (isfinite(a) && isfinite(b) && (!d->split.part || d->split.part[i] == PART_TRAIN))
            r->x[r->n] = a, r->y[r->n++] = b;
    }
    r->xsd = 1.0;
    return ST_OK;
}

static enum status rows_encoded(const struct dataset *d, struct rows *r, struct err *err)
{
    struct encoded e = { 0 };
    struct buf notes = { 0 };
    enum status rc = fitting_rows(d, PART_TRAIN, true, &r->enc, &e, &notes, err);

    buf_free(&notes);
    if (rc != ST_OK)
        return rc;
    r->has_enc = true;
    r->n = e.n;
    r->xmean = r->enc.col[0].mean;
    r->xsd = r->enc.col[0].sd;
    r->x = mem_calloc(e.n, sizeof *r->x, "a draw", err);
    r->y = mem_calloc(e.n, sizeof *r->y, "a draw", err);
    if (!r->x || !r->y || !e.x || !e.y)
        rc = ST_NOMEM;
    for (size_t i = 0; rc == ST_OK && i < e.n; i++)
        r->x[i] = e.x[i], r->y[i] = e.y[i];
    encode_free(&e);
    return rc;
}

static enum status rows_of(const struct dataset *d, struct rows *r, struct err *err)
{
    size_t x, y;

    if (!one_input(d, &x, &y)) {
        err_set(err, ST_UNSUPPORTED, "functions are drawn over one numeric input, and %.60s has "
                "another shape", d->name);
        err_hint(err, "draw prior   |   demo toy   |   plot slice   (after a fit)");
        return ST_UNSUPPORTED;
    }
    if (d->table->n > DRAW_ROWS_MOST) {
        err_set(err, ST_LIMIT, "%zu rows: functions are drawn through at most %d", d->table->n,
                DRAW_ROWS_MOST);
        err_hint(err, "fit, then plot slice   |   draw prior");
        return ST_LIMIT;
    }
    enum status rc = d->xscale == X_NONE && d->yscale == Y_NONE ? rows_raw(d, x, y, r, err)
                                                                 : rows_encoded(d, r, err);
    if (rc == ST_OK && r->n == 0)
        rc = err_named(err, ST_STATE, "no-rows", "%.60s has no training rows with both cells",
                       d->name);
    if (rc == ST_OK && !(r->xname = mem_strdup(d->table->col[x].name, err)))
        rc = ST_NOMEM;
    if (rc == ST_OK && !(r->yname = mem_strdup(d->table->col[y].name, err)))
        rc = ST_NOMEM;
    return rc;
}

/* The Gaussian process. */

void draws_free(struct draws *w)
{
    free(w->x), free(w->y), free(w->at), free(w->mean), free(w->lo), free(w->hi), free(w->sample);
    free(w->sd), free(w->xname), free(w->yname);
    *w = (struct draws){ 0 };
}

/* The current kernel for one input, with the values in use. */
static enum status kernel_of(const struct workspace *ws, struct kernel *k,
                             double hp[KERNEL_MAX_HP], struct err *err)
{
    size_t from[KERNEL_MAX_HP];

    *k = ws->kernel;
    if (kernel_has_layer(k)) {
        err_set(err, ST_UNSUPPORTED,
                "a kernel of sequences has no functions of one number to draw");
        err_hint(err, "kernel matern(nu=5/2), then draw");
        return ST_UNSUPPORTED;
    }
    if (kernel_learned_ready(k, 1, err) != ST_OK)
        return err->code;
    for (size_t i = 0; i < KERNEL_MAX_HP; i++)
        from[i] = i;
    if (kernel_has_ard(k)) {
        const enum status rc = kernel_bind(k, 1, from, err);
        if (rc != ST_OK) {
            err_hint(err, "kernel NAME   (without ard), then draw");
            return rc;
        }
    }
    for (size_t i = 0; i < kernel_nhp(k); i++)
        hp[i] = ws->hp[from[i]];
    return ST_OK;
}

/* The places: the range of the rows with a margin, or the range that was asked for. */
static void places(const struct draw_state *s, const struct rows *r, struct draws *w)
{
    double lo = -3.0, hi = 3.0;

    if (r && r->has_enc) {
        lo = INFINITY, hi = -INFINITY;
        for (size_t i = 0; i < r->n; i++)
            lo = fmin(lo, r->x[i]), hi = fmax(hi, r->x[i]);
        const double margin = 0.12 * (hi - lo) + 1e-9;
        lo -= margin, hi += margin;
    } else if (r) {
        for (size_t i = 0; i < r->n; i++)
            lo = fmin(lo, r->x[i] - 0.5), hi = fmax(hi, r->x[i] + 0.5);
    }
    const double m = r ? r->xmean : 0.0, sd = r ? r->xsd : 1.0;
    if (isfinite(s->lo) && isfinite(s->hi))
        lo = (s->lo - m) / sd, hi = (s->hi - m) / sd;
    for (size_t j = 0; j < w->g; j++)
        w->at[j] = lo + (hi - lo) * (double)j / (double)(w->g - 1);
}

/* Conditions the function on the rows, and computes the figures that are shown beside the
 * picture. */
static enum status condition(const struct process *gp, const struct rows *r, struct draws *w,
                             double *cov, struct err *err)
{
    const struct process_rows rows = { .x = r->x, .y = r->y, .n = r->n };
    struct process_fit fit;
    const enum status rc = process_condition(gp, &rows, w->g, w->at, w->mean, cov, &fit, err);

    w->nmll = fit.nmll;
    w->jitter = fit.jitter;
    w->inside = fit.inside;
    return rc;
}

static enum status room(struct draws *w, const struct draw_state *s, struct err *err)
{
    w->g = s->points < 2 ? 2 : s->points;
    w->f = s->functions;
    w->nmll = w->half = NAN;
    w->at = mem_calloc(w->g, sizeof *w->at, "a draw", err);
    w->mean = mem_calloc(w->g, sizeof *w->mean, "a draw", err);
    w->lo = mem_calloc(w->g, sizeof *w->lo, "a draw", err);
    w->hi = mem_calloc(w->g, sizeof *w->hi, "a draw", err);
    w->sd = mem_calloc(w->g, sizeof *w->sd, "a draw", err);
    w->sample = mem_calloc(w->f ? w->f * w->g : 1, sizeof *w->sample, "a draw", err);
    return w->at && w->mean && w->lo && w->hi && w->sd && w->sample ? ST_OK : ST_NOMEM;
}

/* Converts from scaled units to those of the columns. */
static enum status in_units(struct rows *r, struct draws *w, struct err *err)
{
    for (size_t j = 0; j < w->g; j++) {
        w->lo[j] = rows_y(r, w->mean[j] - reach_at(NULL, 0.95) * w->sd[j]);
        w->hi[j] = rows_y(r, w->mean[j] + reach_at(NULL, 0.95) * w->sd[j]);
        w->mean[j] = rows_y(r, w->mean[j]);
        w->at[j] = w->at[j] * r->xsd + r->xmean;
    }
    for (size_t j = 0; j < w->f * w->g; j++)
        w->sample[j] = rows_y(r, w->sample[j]);
    w->half *= r->xsd;
    if (w->given) {
        w->n = r->n;
        w->x = mem_calloc(r->n, sizeof *w->x, "a draw", err);
        w->y = mem_calloc(r->n, sizeof *w->y, "a draw", err);
        for (size_t i = 0; w->x && w->y && i < r->n; i++)
            w->x[i] = r->x[i] * r->xsd + r->xmean, w->y[i] = rows_y(r, r->y[i]);
        if (!w->x || !w->y)
            return ST_NOMEM;
    }
    w->xname = mem_strdup(r->xname ? r->xname : "x", err);
    w->yname = mem_strdup(r->yname ? r->yname : "f", err);
    return w->xname && w->yname ? ST_OK : ST_NOMEM;
}

enum status draws_make(struct workspace *ws, const struct draw_state *s, struct draws *w,
                       struct err *err)
{
    struct process gp = { .amplitude = ws->amplitude, .noise = ws->noise };
    struct dataset *d =
        s->on == DRAW_PRIOR ? NULL : ws_dataset(ws, NULL, s->on == DRAW_DATA ? err : NULL);
    struct rows r = { .xsd = 1.0 };
    double *cov = NULL;

    *w = (struct draws){ 0 };
    if (s->on == DRAW_DATA && !d)
        return err->code;
    w->given = d && (s->on == DRAW_DATA || over_one_input(ws));
    enum status rc = kernel_of(ws, &gp.k, gp.hp, err);
    if (rc == ST_OK && w->given)
        rc = rows_of(d, &r, err);
    if (rc == ST_OK)
        rc = room(w, s, err);
    if (rc == ST_OK) {
        places(s, w->given ? &r : NULL, w);
        w->half = process_half_distance(&gp.k, gp.hp);
        cov = mem_calloc(w->g * w->g, sizeof *cov, "a draw", err);
        rc = cov ? ST_OK : ST_NOMEM;
    }
    if (rc == ST_OK) {
        process_prior(&gp, w->g, w->at, cov);
        rc = w->given ? condition(&gp, &r, w, cov, err) : ST_OK;
    }
    for (size_t j = 0; rc == ST_OK && j < w->g; j++)
        w->sd[j] = gp.amplitude * sqrt(fmax(0.0, cov[j * w->g + j]));
    if (rc == ST_OK)
        rc = process_sample(&gp, w->g, w->mean, cov, s->seed, w->f, w->sample, err);
    if (rc == ST_OK)
        rc = in_units(&r, w, err);
    free(cov);
    rows_free(&r);
    if (rc != ST_OK)
        draws_free(w);
    return rc;
}

/* Pictures. */

static void settings_words(const struct workspace *ws, struct buf *b)
{
    char num[32], name[KERNEL_NAME_MAX];
    struct hparam h;

    for (size_t i = 0; i < kernel_nhp(&ws->kernel) && i < 4; i++) {
        kernel_hp_info(&ws->kernel, i, name, &h);
        text_number(num, sizeof num, ws->hp[i]);
        buf_printf(b, "%s%s %s", b->len ? ", " : "", name, num);
    }
    text_number(num, sizeof num, ws->amplitude);
    buf_printf(b, "%samplitude %s", b->len ? ", " : "", num);
    text_number(num, sizeof num, ws->noise);
    buf_printf(b, ", noise %s", num);
}

static enum status draws_verdict(const struct workspace *ws, const struct draws *w,
                                 struct figure *f, struct err *err)
{
    struct buf set = { 0 };
    double least = INFINITY, most = 0.0;
    enum status rc;

    settings_words(ws, &set);
    for (size_t j = 0; j < w->g; j++)
        least = fmin(least, w->sd[j]), most = fmax(most, w->sd[j]);
    if (w->given)
        rc = figure_verdict(f, err, "NMLL %.2f; %zu of %zu points in their 95 %% band; %s; "
                            "sd of the function %.2g to %.2g (scaled)", w->nmll, w->inside, w->n,
                            buf_str(&set), least, most);
    else if (isfinite(w->half))
        rc = figure_verdict(f, err,
                            "%s: values %.3g apart have a correlation of one half", buf_str(&set),
                            w->half);
    else
        rc = figure_verdict(f, err, "%s: sd of the function %.2g to %.2g", buf_str(&set), least,
                            most);
    buf_free(&set);
    return rc;
}

static struct figure *draws_panel(const struct workspace *ws, const struct draws *w,
                                  struct err *err)
{
    struct buf title = { 0 }, x = { 0 }, y = { 0 };

    kernel_print(&ws->kernel, &title);
    struct buf t = { 0 };
    buf_puts(&t, buf_str(&title));
    if (w->f)
        buf_printf(&t, ": %zu function%s", w->f, w->f == 1 ? "" : "s");
    buf_puts(&t, w->given ? " given the points" : " before any data");
    text_safe(&x, w->xname, 40);
    text_safe(&y, w->yname, 40);
    struct figure *f = figure_new("draws", buf_str(&t), err);
    bool ok = f && figure_label(f, buf_str(&x), buf_str(&y), err) == ST_OK;
    struct series *s = ok ? figure_add_band(f, "95 % of functions", w->g, w->at, w->lo, w->hi, err)
                          : NULL;
    ok = s != NULL;
    for (size_t i = 0; ok && i < w->f; i++) {
        char name[32];
        snprintf(name, sizeof name, "draw %zu", i + 1);
        ok = figure_add(f, w->f <= 4 ? name : i == 0 ? "functions drawn" : "", MARK_LINE, w->g,
                        w->at, w->sample + i * w->g, err) != NULL;
    }
    if (ok && (s = figure_add(f, w->given ? "mean" : "", MARK_LINE, w->g, w->at, w->mean, err)))
        s->dashed = !w->given, s->faint = !w->given;
    ok = ok && s;
    if (ok && w->given)
        ok = figure_add(f, "points", MARK_POINTS, w->n, w->x, w->y, err) != NULL;
    ok = ok && draws_verdict(ws, w, f, err) == ST_OK;
    buf_free(&title), buf_free(&t), buf_free(&x), buf_free(&y);
    if (!ok)
        figure_free(f);
    return ok ? f : NULL;
}

static struct figure *path_figure(struct workspace *ws, struct run *r, const struct args *a,
                                  struct err *err)
{
    const struct draw_state s = draws_state_of(ws) ? *draws_state_of(ws) : draw_state_default(ws);
    struct draws w;

    (void)r, (void)a;
    if (draws_make(ws, &s, &w, err) != ST_OK)
        return NULL;
    struct figure *f = draws_panel(ws, &w, err);
    draws_free(&w);
    return f;
}

const struct plot_ops plots_draws_row = {
    .name = "draws",
    .title = "Functions drawn from the Gaussian process",
    .axes = "x, f",
    .help = "Functions that the kernel makes likely, before any data or given the points: curves "
            "drawn at random, their mean, and the band that holds 95 % of them. The picture "
            "follows set l=..; see draw.",
    .make = path_figure,
    .of_kernel = true,
};

/* Kernels as pictures. */

/* A kernel to show: the current one, or one that was named. */
struct shown { struct kernel k; double hp[KERNEL_MAX_HP]; char name[64]; };

static enum status shown_named(const char *text, struct shown *s, struct err *err)
{
    double set[KERNEL_MAX_HP];
    struct buf b = { 0 };
    size_t from[KERNEL_MAX_HP];
    enum status rc = kernel_parse(text, &s->k, set, err);

    if (rc == ST_OK && kernel_has_layer(&s->k)) {
        err_set(err, ST_UNSUPPORTED, "%.60s reads sequences: it is not a function of a distance",
                text);
        err_hint(err, "plot kernel rbf");
        return ST_UNSUPPORTED;
    }
    if (rc == ST_OK)
        rc = kernel_learned_ready(&s->k, 1, err);
    for (size_t i = 0; i < KERNEL_MAX_HP; i++)
        from[i] = i;
    if (rc == ST_OK)
        rc = kernel_bind(&s->k, 1, from, err);
    if (rc != ST_OK)
        return rc;
    for (size_t i = 0; i < kernel_nhp(&s->k); i++) {
        char name[KERNEL_NAME_MAX];
        struct hparam h;
        kernel_hp_info(&s->k, i, name, &h);
        s->hp[i] = isfinite(set[from[i]]) ? set[from[i]] : h.init;
    }
    kernel_print(&s->k, &b);
    snprintf(s->name, sizeof s->name, "%.60s", text);
    buf_free(&b);
    return ST_OK;
}

/* k against the distance for stationary kernels; otherwise against x, with x' fixed. */
static bool kernel_curves(struct figure *f, const struct shown *s, bool distance, double from,
                          double to, struct err *err)
{
    static const double fixed[] = { -1.0, 0.5, 1.5 };
    double x[CURVE_POINTS], y[CURVE_POINTS];

    for (size_t c = 0; c < (distance ? 1 : sizeof fixed / sizeof *fixed); c++) {
        const double at = distance ? 0.0 : fixed[c];
        char name[100];
        for (size_t i = 0; i < CURVE_POINTS; i++) {
            x[i] = from + (to - from) * (double)i / (CURVE_POINTS - 1);
            y[i] = kernel_exact(&s->k, s->hp, 1, &at, &x[i], NULL);
        }
        snprintf(name, sizeof name, distance ? "%s" : "%s, x' = %.1f", s->name, at);
        if (!figure_add(f, name, MARK_LINE, CURVE_POINTS, x, y, err))
            return false;
    }
    return true;
}

static enum status kernel_verdict(struct figure *f, const struct shown *s, size_t n, bool distance,
                                  struct err *err)
{
    struct buf b = { 0 };

    for (size_t i = 0; i < n; i++) {
        const double half = process_half_distance(&s[i].k, s[i].hp);
        if (!distance)
            continue;
        buf_printf(&b, "%s%s", b.len ? "; " : "", s[i].name);
        if (isfinite(half))
            buf_printf(&b, " falls to a half at %.3g", half);
        else
            buf_puts(&b, " never falls to a half");
    }
    if (!distance)
        buf_printf(&b, "%s depends on where x and x' are, not only on how far apart: it is not "
                   "stationary", s[0].name);
    const enum status rc = figure_verdict(f, err, "%s", buf_str(&b));
    buf_free(&b);
    return rc;
}

static struct figure *kernel_panel(const struct shown *s, size_t n, struct err *err)
{
    bool distance = true;
    double reach = 0.0;

    for (size_t i = 0; i < n; i++) {
        distance &= kernel_of_distance(&s[i].k);
        for (size_t h = 0; h < kernel_nhp(&s[i].k); h++) {
            char name[KERNEL_NAME_MAX];
            struct hparam info;
            kernel_hp_info(&s[i].k, h, name, &info);
            if (strstr(name, "lengthscale") || strstr(name, "period"))
                reach = fmax(reach, s[i].hp[h]);
        }
    }
    reach = reach > 0.0 ? fmin(3.0 * reach, 50.0) : 3.0;
    struct figure *f = figure_new("kernel", distance ? "Covariance against distance"
                                                     : "Covariance k(x, x')", err);
    bool ok = f && figure_label(f, distance ? "distance |x - x'|, standardised inputs"
                                            : "x, standardised", "covariance at amplitude 1", err)
                       == ST_OK;
    for (size_t i = 0; ok && i < n; i++)
        ok = kernel_curves(f, &s[i], distance, distance ? 0.0 : -3.0, distance ? reach : 3.0, err);
    ok = ok && kernel_verdict(f, s, n, distance, err) == ST_OK;
    if (!ok)
        figure_free(f);
    return ok ? f : NULL;
}

/* The kernels that were named, at most `most`, or else the current one. The caller frees them. */
static struct shown *shown_all(struct workspace *ws, const struct args *a, size_t most, size_t *n,
                               struct err *err)
{
    const size_t asked = a ? args_many(a, "runs") : 0;
    enum status rc = ST_OK;

    *n = asked ? asked : 1;
    if (*n > most) {
        err_set(err, ST_LIMIT, "at most %zu kernel%s in one picture", most, most == 1 ? "" : "s");
        return NULL;
    }
    struct shown *s = mem_calloc(*n, sizeof *s, "plot", err);
    if (!s)
        return NULL;
    for (size_t i = 0; i < asked && rc == ST_OK; i++)
        rc = shown_named(args_many_at(a, "runs", i), &s[i], err);
    if (!asked) {
        struct buf b = { 0 };
        rc = kernel_of(ws, &s->k, s->hp, err);
        kernel_print(&ws->kernel, &b);
        snprintf(s->name, sizeof s->name, "%.60s", buf_str(&b));
        buf_free(&b);
    }
    if (rc == ST_OK)
        return s;
    free(s);
    return NULL;
}

static struct figure *kernel_figure(struct workspace *ws, struct run *r, const struct args *a,
                              struct err *err)
{
    size_t n;
    struct shown *s = shown_all(ws, a, 6, &n, err);
    struct figure *f = s ? kernel_panel(s, n, err) : NULL;

    (void)r;
    free(s);
    return f;
}

const struct plot_ops plots_kernel_row = {
    .name = "kernel",
    .title = "Covariance against distance, one input",
    .axes = "distance, covariance",
    .help = "The covariance of the function's values at two places, against the distance of the "
            "places: of the current kernel, or of those named (plot kernel rbf matern(nu=1/2)). "
            "Where it is zero, the values are independent.",
    .make = kernel_figure,
    .columns = true,
    .of_kernel = true,
};

/* k(x, x') for all pairs of places. */
static struct figure *covariance_figure(struct workspace *ws, struct run *r, const struct args *a,
                                  struct err *err)
{
    double at[IMAGE_SIDE], z[IMAGE_SIDE * IMAGE_SIDE], least = INFINITY, most = -INFINITY;
    char title[120];
    size_t n;
    struct shown *s = shown_all(ws, a, 1, &n, err);

    (void)r;
    if (!s)
        return NULL;
    for (size_t i = 0; i < IMAGE_SIDE; i++)
        at[i] = -3.0 + 6.0 * (double)i / (IMAGE_SIDE - 1);
    for (size_t i = 0; i < IMAGE_SIDE; i++)
        for (size_t j = 0; j < IMAGE_SIDE; j++) {
            const double k = kernel_exact(&s->k, s->hp, 1, &at[j], &at[i], NULL);
            z[i * IMAGE_SIDE + j] = k;
            least = fmin(least, k), most = fmax(most, k);
        }
    snprintf(title, sizeof title, "Covariance k(x, x') of %s", s->name);
    struct figure *f = figure_new("covariance", title, err);
    const struct figure_surface image = { IMAGE_SIDE, IMAGE_SIDE, at, at, z };
    bool ok = f && figure_label(f, "x, standardised", "x'", err) == ST_OK
              && figure_add_cells(f, "covariance", &image, err);
    if (ok) {
        f->square = true;
        ok = figure_verdict(f, err, "%s: from %.3g to %.3g; %s", s->name, least, most,
                            kernel_of_distance(&s->k)
                                ? "the same along each diagonal: stationary"
                                : "it depends on where x and x' are") == ST_OK;
    }
    free(s);
    if (!ok)
        figure_free(f);
    return ok ? f : NULL;
}

const struct plot_ops plots_covariance_row = {
    .name = "covariance",
    .title = "Covariance of every pair of places",
    .axes = "x, x'",
    .help = "The covariance of the function's values at every pair of places along one input; the "
            "diagonal is the variance, where x = x'. A kernel may be named.",
    .make = covariance_figure,
    .columns = true,
    .of_kernel = true,
};

/* The commands draw and point. */

const struct owner draws_owner = { .name = "draw", .free = free };

const struct draw_state *draws_state_of(const struct workspace *ws)
{
    return owner_state(ws, &draws_owner);
}

static enum status keep_state(struct workspace *ws, const struct draw_state *s, struct err *err)
{
    struct draw_state *kept = mem_calloc(1, sizeof *kept, "a draw", err);

    if (!kept)
        return ST_NOMEM;
    *kept = *s;
    owner_take(ws, &draws_owner, kept);
    ws->serial++;
    return ST_OK;
}

/* Reads the arguments of draw. Kernel and hyperparameters become the current ones. */
static enum status draw_settings(struct workspace *ws, const struct args *a, struct draw_state *s,
                                 struct err *err)
{
    const char *on = args_text(a, "on");
    double lo, hi;
    enum status rc = ST_OK;

    *s = draw_state_default(ws);
    s->on = !on ? DRAW_AUTO : *on == 'p' && on[1] == 'r' ? DRAW_PRIOR : *on == 'a' ? DRAW_AUTO
                                                                                   : DRAW_DATA;
    s->functions = (size_t)args_int(a, "n", 3);
    s->points = (size_t)args_int(a, "points", 160);
    if (args_given(a, "seed"))
        s->seed = (uint64_t)args_int(a, "seed", 0);
    if (args_bound(a, "x", &lo, &hi)) {
        if (!(lo < hi))
            return err_set(err, ST_RANGE, "x=%g is one value; give an interval: x=-3..3", lo);
        s->lo = lo, s->hi = hi;
    }
    if (args_given(a, "kernel")) {
        struct kernel k;
        double set[KERNEL_MAX_HP];
        rc = kernel_parse(args_text(a, "kernel"), &k, set, err);
        if (rc == ST_OK)
            ws_kernel_take(ws, &k, set);
    }
    if (rc == ST_OK)
        rc = hyper_args_merge(&ws->kernel, a,
                         &(struct ws_hyper){ ws->hp, &ws->amplitude, &ws->noise }, NULL, err);
    return rc;
}

static void draw_record(struct workspace *ws, const struct draws *w)
{
    double least = INFINITY, most = 0.0;
    struct buf kernel = { 0 };
    struct rec r;

    for (size_t j = 0; j < w->g; j++)
        least = fmin(least, w->sd[j]), most = fmax(most, w->sd[j]);
    kernel_print(&ws->kernel, &kernel);
    rec_init(&r, REC_RESULT, "draw");
    rec_str(&r, "on", w->given ? "data" : "prior");
    rec_str(&r, "kernel", buf_str(&kernel));
    fitting_hp_json(&r, &ws->kernel, ws->hp, ws->amplitude, ws->noise);
    rec_int(&r, "functions", (int64_t)w->f);
    rec_int(&r, "rows", (int64_t)w->n);
    rec_num(&r, "nmll", w->nmll);
    rec_num(&r, "inside95", w->given ? (double)w->inside : NAN);
    rec_num(&r, "sd_least", least);
    rec_num(&r, "sd_most", most);
    rec_num(&r, "half_distance", w->half);
    rec_text(&r, "%s %s", w->given ? "given the points," : "before any data,", buf_str(&kernel));
    if (w->f)
        rec_text(&r, " draws %zu function%s", w->f, w->f == 1 ? "" : "s");
    rec_text(&r, ": ");
    fitting_hp_text(&r.text, &ws->kernel, ws->hp, ws->amplitude, ws->noise);
    buf_free(&kernel);
    ws_emit(ws, &r);
}

/* draw posterior along=x3 row:12: functions of the last fit, which plot posterior draws. */
static enum status draw_along(struct workspace *ws, const struct args *a, struct err *err)
{
    const char *along = args_text(a, "along"), *on = args_text(a, "on");
    const struct run *r = ws_run(ws, NULL, err);
    struct buf line = { 0 };
    struct draw_state s;
    struct rec rec;
    size_t row = 0;
    enum status rc = r ? ST_OK : err->code;

    if (rc == ST_OK && (args_given(a, "kernel") || args_hp(a) || (on && !strcmp(on, "prior")))) {
        rc = err_set(err, ST_USAGE, "along= draws functions of the last fit, at its kernel and "
                                    "hyperparameters");
        err_hint(err, "draw posterior along=%s", along);
    }
    if (rc == ST_OK && args_given(a, "row"))
        rc = row_inspect_number(args_text(a, "row"), &row, err);
    if (rc == ST_OK)
        rc = draw_settings(ws, a, &s, err);
    if (rc == ST_OK && strlen(along) < sizeof s.along) {
        snprintf(s.along, sizeof s.along, "%s", along);
        s.row = args_given(a, "row") ? row + 1 : 0;
    }
    if (rc == ST_OK)
        rc = keep_state(ws, &s, err);
    if (rc != ST_OK)
        return rc;
    buf_puts(&line, "plot posterior ");
    command_quote(&line, along);
    rec_init(&rec, REC_RESULT, "draw");
    rec_str(&rec, "on", "posterior");
    rec_str(&rec, "run", r->id);
    rec_str(&rec, "along", along);
    if (args_given(a, "row")) {
        buf_printf(&line, " row:%zu", row + 1);
        rec_int(&rec, "row", (int64_t)row + 1);
    }
    rec_int(&rec, "functions", (int64_t)s.functions);
    rec_text(&rec, "%zu function%s of %s along %s", s.functions, s.functions == 1 ? "" : "s", r->id,
             along);
    if (args_given(a, "row"))
        rec_text(&rec, ", through row %zu", row + 1);
    ws_emit(ws, &rec);
    rc = workspace_exec_apart(ws, buf_str(&line), NULL);
    buf_free(&line);
    return rc;
}

enum status cmd_draw(struct workspace *ws, const struct args *a, struct err *err)
{
    struct draw_state s;
    struct draws w;

    if (args_given(a, "along"))
        return draw_along(ws, a, err);
    enum status rc = draw_settings(ws, a, &s, err);
    if (rc == ST_OK && args_given(a, "row")) {
        rc = err_set(err, ST_USAGE, "a row is one of a fit, whose functions go along an input");
        err_hint(err, "draw posterior along=COLUMN %s", args_text(a, "row"));
    }
    if (rc == ST_OK)
        rc = draws_make(ws, &s, &w, err);
    if (rc != ST_OK)
        return rc;
    draw_record(ws, &w);
    draws_free(&w);
    rc = keep_state(ws, &s, err);
    return rc == ST_OK ? workspace_exec_apart(ws, "plot draws", NULL) : rc;
}

/* The place where the function is most uncertain, and a value there drawn from the posterior. */
static enum status point_place(struct workspace *ws, double *x, struct err *err)
{
    struct draw_state s = draws_state_of(ws) ? *draws_state_of(ws) : draw_state_default(ws);
    struct draws w;

    s.functions = 0;
    s.on = DRAW_AUTO;
    const enum status rc = draws_make(ws, &s, &w, err);
    if (rc != ST_OK)
        return rc;
    size_t best = w.g / 2;
    double most = -1.0;
    /* Without the ends, where the uncertainty is always largest. */
    for (size_t j = w.g / 10; j < w.g - w.g / 10; j++)
        if (w.sd[j] > most * (1.0 + 1e-9))
            most = w.sd[j], best = j;
    *x = w.given ? w.at[best] : 0.0;
    draws_free(&w);
    return ST_OK;
}

static enum status point_value(struct workspace *ws, double x, size_t index, double *y,
                               struct err *err)
{
    struct draw_state s = draw_state_default(ws);
    const uint64_t stream = rng_stream(RNG_DRAW, STREAM_POINT);
    struct draws w;

    s.functions = 0;
    s.points = 2;
    s.lo = x, s.hi = x + 1.0;
    const enum status rc = draws_make(ws, &s, &w, err);
    if (rc != ST_OK)
        return rc;
    *y = w.mean[0] + w.sd[0] * rng_normal(s.seed, stream, 2 * index)
         + ws->noise * rng_normal(s.seed, stream, 2 * index + 1);
    *y = round(*y * 1e4) / 1e4;
    draws_free(&w);
    return ST_OK;
}

/* A dataset with the earlier points and one more, in the form that demo points has. */
static enum status point_add(struct workspace *ws, struct dataset *old, double x, double y,
                             struct err *err)
{
    struct buf xy = { 0 };
    struct table *t = NULL;

    for (size_t i = 0; old && i < old->table->n; i++)
        buf_printf(&xy, "%.17g:%.17g,", column_at(&old->table->col[0], i),
                   column_at(&old->table->col[1], i));
    buf_printf(&xy, "%.17g:%.17g", x, y);
    const struct demo_opts o = { .noise = NAN, .xy = buf_str(&xy) };
    enum status rc =
        xy.failed ? err_nomem(err, xy.cap, "points") : demo_make("points", &o, &t, err);
    struct dataset *d = rc == ST_OK ? dataset_new(t, "points", "y", err) : NULL;
    table_unref(t);
    buf_free(&xy);
    if (!d)
        return rc == ST_OK ? err->code : rc;
    d->xscale = X_NONE;
    d->yscale = Y_NONE;
    for (size_t i = 0; i < ws->ndata; i++)
        if (ws->data[i] == old) {
            dataset_unref(old);
            ws->data[i] = d;
            ws->cur = i;
            return ST_OK;
        }
    struct dataset **grown = realloc(ws->data, (ws->ndata + 1) * sizeof *grown);
    if (!grown) {
        dataset_unref(d);
        return err_nomem(err, sizeof *grown, "the list of datasets");
    }
    ws->data = grown;
    ws->cur = ws->ndata;
    ws->data[ws->ndata++] = d;
    return ST_OK;
}

enum status cmd_point(struct workspace *ws, const struct args *a, struct err *err)
{
    struct dataset *d = ws_dataset(ws, NULL, NULL);
    double x = args_num(a, "x"), y = args_num(a, "y");
    enum status rc = ST_OK;
    struct rec r;

    if (d && strcmp(d->name, "points") != 0) { /* other data stays as it is */
        d = ws_dataset(ws, "points", NULL);
        ws->cur = d ? ws->cur : SIZE_MAX;
        for (size_t i = 0; d && i < ws->ndata; i++)
            ws->cur = ws->data[i] == d ? i : ws->cur;
    }
    const size_t n = d ? d->table->n : 0;
    if (n >= 200)
        return err_set(err, ST_LIMIT,
                       "draw takes at most 200 points by hand; open a file for more");
    if (isnan(x))
        rc = point_place(ws, &x, err);
    x = round(x * 1e4) / 1e4;
    if (rc == ST_OK && isnan(y))
        rc = point_value(ws, x, n, &y, err);
    if (rc == ST_OK)
        rc = point_add(ws, d, x, y, err);
    if (rc != ST_OK)
        return rc;
    struct draw_state s = draws_state_of(ws) ? *draws_state_of(ws) : draw_state_default(ws);
    s.on = DRAW_AUTO;           /* functions drawn from the prior would not show the new point */
    if ((rc = keep_state(ws, &s, err)) != ST_OK)
        return rc;
    rec_init(&r, REC_RESULT, "point");
    rec_num(&r, "x", x);
    rec_num(&r, "y", y);
    rec_int(&r, "points", (int64_t)n + 1);
    rec_text(&r, "point %zu at x = %.5g, y = %.5g%s", n + 1, x, y,
             args_given(a, "y") ? "" : " (drawn from what is known so far)");
    ws_emit(ws, &r);
    return ST_OK;
}
