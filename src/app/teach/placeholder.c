/* app/teach/placeholder.c -- see placeholder.h. */
#include "app/teach/placeholder.h"

#include "app/runs/advise.h"
#include "app/plots/draws.h"
#include "app/runs/spectrum_run.h"
#include "app/core/kept.h"
#include "app/core/measures.h"
#include "app/core/ws_screen.h"
#include "app/runs/clustering.h"
#include "base/mem.h"
#include "base/text.h"
#include "compute/stats/judgement.h"

#include <ctype.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Where the numbers come from. */

static struct run *fit_of(struct workspace *ws)
{
    struct run *r = ws_run(ws, NULL, NULL);

    return r && r->kind == RUN_FIT ? r : NULL;
}

static struct run *tune_of(struct workspace *ws)
{
    for (size_t i = ws->nrun; i-- > 0;)
        if (ws->run[i]->kind == RUN_TUNE && ws->run[i]->tune.evaluations)
            return ws->run[i];
    return NULL;
}

static struct dataset *data_of(struct workspace *ws)
{
    return ws_dataset(ws, NULL, NULL);
}

typedef double number_fn(struct workspace *, size_t at);
typedef bool text_fn(struct workspace *, struct buf *);

static double of_score_rows(struct workspace *ws, size_t at)
{
    const struct run *r = fit_of(ws);
    (void)at;
    return r && r->has_score ? (double)r->score_rows : NAN;
}

/* The judgement of the last score: 0 the verdict, 1 the error of the coverage, 2 that of mean z^2,
 * 3 the side of mean z^2 (-1 too narrow, 0 right, 1 too wide). */
static double of_judgement(struct workspace *ws, size_t at)
{
    const struct run *r = fit_of(ws);

    if (!r || !r->has_score || !isfinite(r->score_scaled.coverage95))
        return NAN;
    const struct judged j = judgement_score(&r->score_scaled);
    const double what[] = { (double)judgement_side(&j), j.coverage95_se, j.z2_se,
                            (double)j.spread };
    return what[at];
}

static double of_iterations(struct workspace *ws, size_t at)
{
    const struct run *r = fit_of(ws);
    (void)at;
    return r && r->info.solver[0] && r->info.why != OUT_DIRECT ? (double)r->info.iterations : NAN;
}

static double of_converged(struct workspace *ws, size_t at)
{
    const struct run *r = fit_of(ws);
    (void)at;
    return r && r->info.solver[0] ? (double)(r->info.why >= 0) : NAN;
}

static double of_rtol(struct workspace *ws, size_t at)
{
    const struct run *r = fit_of(ws);
    (void)at;
    return r && r->info.solver[0] && r->info.why != OUT_DIRECT ? r->fit.rtol : NAN;
}

static double of_tuned_scale(struct workspace *ws, size_t noise)
{
    const struct run *r = tune_of(ws);
    return !r ? NAN : noise ? r->tune.best.noise : r->tune.best.amplitude;
}

static double of_fit_rows(struct workspace *ws, size_t at)
{
    const struct run *r = fit_of(ws);
    (void)at;
    return r && r->info.solver[0] ? (double)r->info.rows : NAN;
}

static double of_fit_seconds(struct workspace *ws, size_t at)
{
    const struct run *r = fit_of(ws);
    (void)at;
    return r && r->info.solver[0] ? r->info.seconds.total : NAN;
}

/* A figure of the last fit or of the last tuning (measures.h). */
static const struct measure *measure_named(const char *name)
{
    const struct measure *m = measure_find(name, RUN_FIT);
    return m ? m : measure_find(name, RUN_TUNE);
}

static double of_measure(struct workspace *ws, const struct measure *m)
{
    const bool fit = measure_find(m->name, RUN_FIT) == m;
    const struct run *r = fit ? fit_of(ws) : tune_of(ws);
    if (!r || (m->of == MEASURE_OF_INFO && !r->info.solver[0]) ||
        (m->of == MEASURE_OF_RUN && r->ntrace < 3))
        return NAN;
    return measure_number(m, r, 0);
}

static double of_bounds(struct workspace *ws, size_t at)
{
    const struct run *r = tune_of(ws);
    (void)at;
    return r ? (double)(r->tune.at_lower || r->tune.at_upper || r->tune.nlower || r->tune.nupper)
             : NAN;
}

static double of_hp(struct workspace *ws, size_t at)
{
    static const char *const names[] = { "lengthscale", "period", "alpha" };
    size_t slot, count;
    const bool there = hyper_args_slot(&ws->kernel, names[at], &slot, &count, NULL) == ST_OK &&
                       count && slot < kernel_nhp(&ws->kernel);
    return there ? ws->hp[slot] : NAN;
}

static double of_scale(struct workspace *ws, size_t at)
{
    return at == 0 ? ws->amplitude : at == 1 ? ws->noise
         : ws->noise * ws->noise / (ws->amplitude * ws->amplitude);
}

static double of_data(struct workspace *ws, size_t what)
{
    const struct dataset *d = data_of(ws);
    size_t inputs = 0;

    if (!d)
        return NAN;
    for (size_t j = 0; j < d->table->ncols; j++)
        inputs += d->role[j] == ROLE_INPUT;
    switch (what) {
    case 0: return (double)d->table->n;
    case 1: return (double)inputs;
    case 2: return d->split.part ? (double)d->split.count[PART_TRAIN] : (double)d->table->n;
    case 3: return d->split.part ? (double)d->split.count[PART_TEST] : 0.0;
    default: return (double)d->table->missing;
    }
}

static double of_target_sd(struct workspace *ws, size_t at)
{
    const struct run *r = fit_of(ws);
    (void)at;
    return r && r->has_enc ? r->enc.ysd : NAN;
}

static double of_options(struct workspace *ws, size_t what)
{
    return what == 0 ? (double)ws->opt.seed : what == 1 ? (double)ws->opt.threads
                                                          : (double)ws->opt.mem / 1e9;
}

static double of_counts(struct workspace *ws, size_t what)
{
    return what == 0 ? (double)ws->nfit : what == 1 ? (double)ws->ntune
         : what == 2 ? (double)ws->warnings : (double)ws->errors;
}

/* Of the plot bo: 0 and 1 the first and the last value of its first curve, 2 the last of random. */
static double of_search(struct workspace *ws, size_t what)
{
    struct figure *f = kept_copy(ws, "bo", "", NULL);
    double v = NAN;

    for (size_t i = 0; f && i < f->ns && isnan(v); i++) {
        const struct series *s = &f->s[i];
        if (s->mark == MARK_LINEPOINTS && s->n && s->title &&
            (what < 2 || !strcmp(s->title, "random")))
            v = s->y[what ? s->n - 1 : 0];
    }
    figure_free(f);
    return v;
}

/* A number of the picture that draws currently shows. */
static double of_draws(struct workspace *ws, size_t what)
{
    struct draw_state s = draws_state_of(ws) ? *draws_state_of(ws) : draw_state_default(ws);
    struct draws w;
    double least = INFINITY, most = 0.0, x = NAN;

    s.functions = 0;
    if (!draws_state_of(ws) || draws_make(ws, &s, &w, NULL) != ST_OK)
        return NAN;
    for (size_t j = 0; j < w.g; j++)
        least = fmin(least, w.sd[j]), most = fmax(most, w.sd[j]);
    switch (what) {
    case 0: x = w.nmll; break;
    case 1: x = w.given ? (double)w.inside : NAN; break;
    case 2: x = (double)w.n; break;
    case 3: x = least; break;
    case 4: x = most; break;
    default: x = w.half;
    }
    draws_free(&w);
    return x;
}

static double of_spectrum(struct workspace *ws, size_t what)
{
    const struct spectrum_run_state *s = spectrum_run_of(ws);
    return !s || !s->have ? NAN : what ? s->condition_after : s->condition_before;
}

static double of_clusters(struct workspace *ws, size_t what)
{
    const struct pca_state *p = clustering_state_of(ws);
    if (what == 2)
        return p->have && p->dims >= 2 ? (p->k.ev[0] + p->k.ev[1]) / p->k.total : NAN;
    return !p->have_clusters ? NAN : what ? (double)p->clusters.k : p->clusters.silhouette;
}

/* Texts. */

static bool text_run(struct workspace *ws, struct buf *b)
{
    const struct run *r = fit_of(ws);
    buf_puts(b, r ? r->id : "");
    return r != NULL;
}

static bool text_tuning(struct workspace *ws, struct buf *b)
{
    const struct run *r = tune_of(ws);
    buf_puts(b, r ? r->id : "");
    return r != NULL;
}

static bool text_kernel(struct workspace *ws, struct buf *b)
{
    kernel_print(&ws->kernel, b);
    return true;
}

static bool text_data(struct workspace *ws, struct buf *b)
{
    const struct dataset *d = data_of(ws);
    if (d)
        text_safe(b, d->name, 60);
    return d != NULL;
}

static bool text_target(struct workspace *ws, struct buf *b)
{
    const struct dataset *d = data_of(ws);
    const size_t y = d ? dataset_target(d) : SIZE_MAX;
    if (y != SIZE_MAX)
        text_safe(b, d->table->col[y].name, 60);
    return y != SIZE_MAX;
}

static bool text_solver(struct workspace *ws, struct buf *b)
{
    const struct run *r = fit_of(ws);
    buf_puts(b, r ? r->info.solver : "");
    return r && r->info.solver[0];
}

static bool text_outcome(struct workspace *ws, struct buf *b)
{
    const struct run *r = fit_of(ws);
    if (r && r->info.solver[0])
        buf_puts(b, solve_outcome(r->info.why));
    return r && r->info.solver[0];
}

static bool text_split(struct workspace *ws, struct buf *b)
{
    const struct dataset *d = data_of(ws);
    if (d && d->split.part)
        text_safe(b, d->split.how, 80);
    return d && d->split.part;
}

/* "1 the data, 2 the runs, ...": the views and their keys. */
static bool text_views(struct workspace *ws, struct buf *b)
{
#define VIEW_WORDS(id, file, key, word, shows, line) ", " key " " shows
    static const char all[] = WS_SCREEN_VIEWS(VIEW_WORDS);
#undef VIEW_WORDS

    (void)ws;
    buf_puts(b, all + 2);
    return true;
}

static const struct origin_of {
    struct value_row row;
    number_fn *number; size_t at;
    text_fn *text;
} sources[] = {
#define NUMBER(name, help, fn, at) { { name, help, false }, fn, at, NULL }
#define WORDS(name, help, fn) { { name, help, true }, NULL, 0, fn }
    WORDS("run", "the last fit", text_run),
    WORDS("tuning", "the last tuning", text_tuning),
    WORDS("kernel", "the current kernel", text_kernel),
    WORDS("data", "the current dataset", text_data),
    WORDS("target", "its target", text_target),
    WORDS("split", "how it is split", text_split),
    WORDS("solver", "of the last fit", text_solver),
    WORDS("outcome", "why the last fit ended", text_outcome),
    WORDS("views", "of the screen, with their keys", text_views),
    NUMBER("rows", "of the current data", of_data, 0),
    NUMBER("inputs", "columns that are inputs", of_data, 1),
    NUMBER("train", "training rows", of_data, 2),
    NUMBER("test", "test rows", of_data, 3),
    NUMBER("missing", "missing cells", of_data, 4),
    NUMBER("target_sd", "sd of the target in training", of_target_sd, 0),
    NUMBER("lengthscale", "current", of_hp, 0),
    NUMBER("period", "current, where the kernel has one", of_hp, 1),
    NUMBER("amplitude", "current", of_scale, 0),
    NUMBER("noise", "current", of_scale, 1),
    NUMBER("noise_ratio", "noise^2 / amplitude^2", of_scale, 2),
    NUMBER("seed", "option", of_options, 0),
    NUMBER("threads", "option", of_options, 1),
    NUMBER("mem", "option, GB", of_options, 2),
    NUMBER("fits", "so far", of_counts, 0),
    NUMBER("tunings", "so far", of_counts, 1),
    NUMBER("warnings", "so far", of_counts, 2),
    NUMBER("errors", "so far", of_counts, 3),
    NUMBER("tuned_noise", "of the last tuning", of_tuned_scale, 1),
    NUMBER("tuned_amplitude", "of the last tuning", of_tuned_scale, 0),
    NUMBER("at_bound", "1: the last tuning ended at a bound", of_bounds, 0),
    NUMBER("fit_rows", "of the last fit", of_fit_rows, 0),
    NUMBER("iterations", "of the last fit", of_iterations, 0),
    NUMBER("converged", "1: the last fit reached its end", of_converged, 0),
    NUMBER("rtol", "asked of the last fit", of_rtol, 0),
    NUMBER("seconds", "of the last fit", of_fit_seconds, 0),
    NUMBER("score_rows", "rows scored", of_score_rows, 0),
    NUMBER("coverage95_side", "-1, 0, 1: too few, right, too many inside", of_judgement, 0),
    NUMBER("coverage95_se", "standard error of coverage95", of_judgement, 1),
    NUMBER("mean_z2_error", "standard error of mean_z2", of_judgement, 2),
    NUMBER("mean_z2_side", "-1, 0, 1: error bars too small, right, too large", of_judgement, 3),
    NUMBER("draw_nmll", "of the points as drawn", of_draws, 0),
    NUMBER("draw_inside", "points inside their band", of_draws, 1),
    NUMBER("draw_points", "points drawn through", of_draws, 2),
    NUMBER("draw_sd_least", "least sd of the drawn function", of_draws, 3),
    NUMBER("draw_sd_most", "largest sd of the drawn function", of_draws, 4),
    NUMBER("half_distance", "where the correlation is a half", of_draws, 5),
    NUMBER("bo_start", "of the last bo, before its first round", of_search, 0),
    NUMBER("bo_best", "of the last bo, the first rule", of_search, 1),
    NUMBER("bo_random", "of the last bo, at random", of_search, 2),
    NUMBER("condition_before", "by the last spectrum", of_spectrum, 0),
    NUMBER("condition_after", "by the last spectrum", of_spectrum, 1),
    NUMBER("silhouette", "of the last cluster", of_clusters, 0),
    NUMBER("clusters", "of the last cluster", of_clusters, 1),
    NUMBER("pc_share", "variance in two components", of_clusters, 2),
#undef NUMBER
#undef WORDS
};
enum { NSOURCES = sizeof sources / sizeof *sources };

static const struct origin_of *origin_find(const char *name)
{
    for (size_t i = 0; i < NSOURCES; i++)
        if (!strcmp(sources[i].row.name, name))
            return &sources[i];
    return NULL;
}

bool placeholder_at_for_tests(size_t i, struct value_row *out)
{
    const struct measure *m;

    if (i < NSOURCES) {
        *out = sources[i].row;
        return true;
    }
    i -= NSOURCES;
    for (size_t k = 0; (m = measure_at(k)) != NULL; k++)
        if (m->name && !origin_find(m->name) && !strchr(m->name, '.') &&
            m == measure_named(m->name) && i-- == 0) {
            *out = (struct value_row){ m->name, m->words, m->type >= MEASURE_WORD };
            return true;
        }
    return false;
}

bool placeholder_known(const char *name)
{
    return origin_find(name) || measure_named(name);
}

static const struct value_var *var_of(const struct value_vars *v, const char *name)
{
    for (size_t i = 0; v && i < v->n; i++)
        if (!strcmp(v->v[i].name, name))
            return &v->v[i];
    return NULL;
}

double placeholder_number(struct workspace *ws, const struct value_vars *vars, const char *name)
{
    const struct value_var *v = var_of(vars, name);
    const struct origin_of *s = origin_find(name);

    const struct measure *m = s ? NULL : measure_named(name);

    if (v || !ws)
        return v ? v->x : NAN;
    return s ? s->number ? s->number(ws, s->at) : NAN : m ? of_measure(ws, m) : NAN;
}

bool placeholder_text(struct workspace *ws, const char *name, struct buf *out)
{
    const struct origin_of *s = origin_find(name);

    return s && s->text && ws && s->text(ws, out);
}

enum status placeholder_keep(struct value_vars *v, const char *name, double x, struct err *err)
{
    struct value_var *old = (struct value_var *)var_of(v, name);

    if (!old) {
        const enum status rc = mem_grow((void **)&v->v, &v->cap, v->n + 1, sizeof *v->v,
                                        "values", err);
        if (rc != ST_OK)
            return rc;
        old = &v->v[v->n++];
        snprintf(old->name, sizeof old->name, "%s", name);
    }
    old->x = x;
    return ST_OK;
}

void placeholder_vars_free(struct value_vars *v)
{
    free(v->v);
    *v = (struct value_vars){ 0 };
}

/* Expressions. */

struct parse {
    struct workspace *ws;
    const struct value_vars *vars;
    const char *s, *text;
    struct err *err;
    enum status rc;
    unsigned depth;
};

static void blanks(struct parse *p)
{
    while (*p->s == ' ')
        p->s++;
}

static double fault(struct parse *p, const char *what)
{
    if (p->rc == ST_OK)
        p->rc = err_set(p->err, ST_USAGE, "%s at '%.30s' in '%.80s'", what, p->s, p->text);
    return NAN;
}

static bool takes(struct parse *p, const char *sign)
{
    const size_t n = strlen(sign);

    blanks(p);
    if (strncmp(p->s, sign, n))
        return false;
    p->s += n;
    return true;
}

static double any(struct parse *p);

static double function(struct parse *p, const char *name)
{
    double a = any(p), b = NAN;
    const bool two = !strcmp(name, "min") || !strcmp(name, "max");

    if (two && !takes(p, ","))
        return fault(p, "a second number is missing");
    if (two)
        b = any(p);
    if (!takes(p, ")"))
        return fault(p, "a ) is missing");
    if (two)
        return isnan(a) || isnan(b)             ? NAN
               : *name == 'm' && name[1] == 'i' ? fmin(a, b)
                                                : fmax(a, b);
    if (!strcmp(name, "abs"))
        return fabs(a);
    if (!strcmp(name, "sqrt"))
        return sqrt(a);
    if (!strcmp(name, "log"))
        return log(a);
    if (!strcmp(name, "exp"))
        return exp(a);
    return fault(p, "there is no such function (abs, sqrt, log, exp, min, max)");
}

static double atom(struct parse *p)
{
    char name[32];
    size_t n = 0;

    blanks(p);
    if (++p->depth > 40)
        return fault(p, "too many brackets");
    if (takes(p, "(")) {
        const double x = any(p);
        return takes(p, ")") ? x : fault(p, "a ) is missing");
    }
    if (takes(p, "-"))
        return -atom(p);
    if (isdigit((unsigned char)*p->s) || *p->s == '.') {
        const size_t len = strspn(p->s, "0123456789.eE+-");
        double x;
        for (n = len; n > 0; n--)   /* for "2-1": the longest prefix that is a number */
            if (text_double(p->s, n, &x)) {
                p->s += n;
                return x;
            }
        return fault(p, "no number");
    }
    while ((isalnum((unsigned char)p->s[n]) || p->s[n] == '_') && n + 1 < sizeof name)
        n++;
    if (n == 0)
        return fault(p, "a number or a name is missing");
    snprintf(name, sizeof name, "%.*s", (int)n, p->s);
    if (p->s[n] == '(') {
        p->s += n + 1;
        return function(p, name);
    }
    if (!var_of(p->vars, name) && !placeholder_known(name))
        return fault(p, "there is no value of that name");
    p->s += n;
    return placeholder_number(p->ws, p->vars, name);
}

static double product(struct parse *p)
{
    double x = atom(p);

    for (;;)
        if (takes(p, "*"))
            x *= atom(p);
        else if (takes(p, "/"))
            x /= atom(p);
        else
            return x;
}

static double sum(struct parse *p)
{
    double x = product(p);

    for (;;)
        if (takes(p, "+"))
            x += product(p);
        else if (takes(p, "-"))
            x -= product(p);
        else
            return x;
}

/* A comparison with a missing value has no value either. */
static double comparison(struct parse *p)
{
    static const char *const signs[] = { "<=", ">=", "!=", "<", ">", "=" };
    const double a = sum(p);

    for (size_t i = 0; i < 6; i++)
        if (takes(p, signs[i])) {
            const double b = sum(p);
            if (isnan(a) || isnan(b))
                return NAN;
            return i == 0 ? a <= b : i == 1 ? a >= b : i == 2 ? a != b : i == 3 ? a < b
                 : i == 4 ? a > b : a == b;
        }
    return a;
}

static double any(struct parse *p)
{
    double x = comparison(p);

    while (p->rc == ST_OK && takes(p, "&")) {
        const double y = comparison(p);
        x = isnan(x) || isnan(y) ? NAN : x != 0.0 && y != 0.0;
    }
    p->depth = 0;
    return x;
}

enum status placeholder_expression(struct workspace *ws, const struct value_vars *vars,
                                   const char *text, double *out, struct err *err)
{
    struct parse p = { .ws = ws, .vars = vars, .s = text, .text = text, .err = err };

    *out = any(&p);
    blanks(&p);
    if (p.rc == ST_OK && *p.s)
        fault(&p, "there is something after the end of the expression");
    return p.rc;
}

/* Texts. */

static enum status expand_one(struct workspace *ws, const struct value_vars *vars,
                              const char *inner, bool plain, struct buf *out, size_t *missing,
                              struct err *err)
{
    const struct origin_of *s = var_of(vars, inner) ? NULL : origin_find(inner);
    char num[40];
    double x;

    if (s && s->text) {
        if (!placeholder_text(ws, inner, out)) {
            buf_putc(out, '-');
            ++*missing;
        }
        return ST_OK;
    }
    const enum status rc = placeholder_expression(ws, vars, inner, &x, err);
    if (rc != ST_OK)
        return rc;
    *missing += !isfinite(x);
    if (isfinite(x) && plain) {
        snprintf(num, sizeof num, "%.12g", x);
    } else if (isfinite(x) && x == floor(x) && fabs(x) >= 1000.0 && fabs(x) < 1e15) {
        buf_puts(out, x < 0 ? "-" : "");
        text_count(num, sizeof num, (uint64_t)fabs(x));
    } else if (isfinite(x)) {
        text_number(num, sizeof num, x);
    } else {
        snprintf(num, sizeof num, plain && !ws ? "1" : "-"); /* the line is only checked */
    }
    buf_puts(out, num);
    return ST_OK;
}

enum status placeholder_expand(struct workspace *ws, const struct value_vars *vars,
                               const char *text, bool plain, struct buf *out, size_t *missing,
                               struct err *err)
{
    enum status rc = ST_OK;

    *missing = 0;
    for (const char *s = text; *s && rc == ST_OK;) {
        if (s[0] == '{' && s[1] == '{') {
            buf_putc(out, '{');
            s += 2;
            continue;
        }
        const char *end = *s == '{' ? strchr(s, '}') : NULL;
        if (*s == '{' && !end)
            return err_set(err, ST_USAGE, "the brace { is not closed in '%.80s'", s);
        if (!end) {
            buf_putc(out, *s++);
            continue;
        }
        char inner[160];
        snprintf(inner, sizeof inner, "%.*s", (int)(end - s - 1), s + 1);
        rc = expand_one(ws, vars, inner, plain, out, missing, err);
        s = end + 1;
    }
    return rc;
}
