/* app/session/store_json.c -- datasets, runs and the workspace as JSON, as the session stores
 * them.
 *
 * Numbers are written with enough digits to read back the same bits. */
#include "app/session/store_impl.h"

#include "app/core/measures.h"

#include "data/checksum.h"
#include "data/kinds/kind.h"
#include "app/shell/options.h"
#include "app/core/advise_state.h"
#include "base/text.h"
#include "compute/likelihood/likelihood.h"
#include "compute/models/rescale.h"

#include <endian.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

const char *const store_roles[] = { "input", "target", "id", "split", "skip", "weight", NULL };
const char *const store_kinds[] = { "tune", "fit", NULL };
const char *const store_states[] = { "queued", "running", "done", "stopped", "failed", NULL };
const char *const store_outcomes[] = { "running", "rtol", "direct", "maxit",
                                       "cancelled", "breakdown", NULL };
const int store_outcome_values[] = { OUT_RUNNING, OUT_RTOL,      OUT_DIRECT,
                                     OUT_MAXIT,   OUT_CANCELLED, OUT_BREAKDOWN };
const char *const store_tune_outcomes[] = { "done", "cancelled", "evaluations", "tie", NULL };
const char *const store_precisions[] = { "float", "double", NULL };
const char *const store_variances[] = { "auto", "all", "none", "count",
                                            "samples", NULL };

/* Members. */

static void key(struct buf *b, const char *name)
{
    const char last = b->len ? b->s[b->len - 1] : '{';

    if (last != '{' && last != '[')
        buf_putc(b, ',');
    if (name) {
        buf_json_string(b, name);
        buf_putc(b, ':');
    }
}

static void str(struct buf *b, const char *name, const char *value)
{
    key(b, name);
    if (value)
        buf_json_string(b, value);
    else
        buf_puts(b, "null");
}

/* A text for which memory ran out must not be written: it makes the whole fail. */
static void str_of(struct buf *b, const char *name, const struct buf *text)
{
    str(b, name, buf_str(text));
    b->failed |= text->failed;
}

static void num(struct buf *b, const char *name, double x)
{
    key(b, name);
    buf_json_double(b, x);
}

static void count(struct buf *b, const char *name, uint64_t n)
{
    key(b, name);
    buf_printf(b, "%" PRIu64, n);
}

static void integer(struct buf *b, const char *name, int64_t n)
{
    key(b, name);
    buf_printf(b, "%" PRId64, n);
}

static void flag(struct buf *b, const char *name, bool yes)
{
    key(b, name);
    buf_puts(b, yes ? "true" : "false");
}

static void open_object(struct buf *b, const char *name)
{
    if (name || b->len)
        key(b, name);
    buf_putc(b, '{');
}

static void nums(struct buf *b, const char *name, const double *v, size_t n)
{
    key(b, name);
    buf_putc(b, '[');
    for (size_t i = 0; i < n; i++)
        num(b, NULL, v[i]);
    buf_putc(b, ']');
}

/* Bytes. */

void store_pack_doubles(double *v, size_t n)
{
#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
    for (size_t i = 0; i < n; i++) {
        uint64_t u;
        memcpy(&u, &v[i], sizeof u);
        u = htole64(u); /* the conversion is its own inverse */
        memcpy(&v[i], &u, sizeof u);
    }
#else
    (void)v;
    (void)n;
#endif
}

void store_pack_points(unsigned char *out, const struct trace_point *p, size_t n)
{
    for (size_t i = 0; i < n; i++, out += STORE_POINT) {
        double d[8] = { p[i].value, p[i].value2 };
        uint32_t step = htole32(p[i].step), seconds;
        memcpy(d + 2, p[i].point, sizeof p[i].point);
        memcpy(&seconds, &p[i].seconds, sizeof seconds);
        seconds = htole32(seconds);
        store_pack_doubles(d, 8);
        memcpy(out, &step, 4);
        memcpy(out + 4, &seconds, 4);
        memcpy(out + 8, d, sizeof d);
    }
}

void store_unpack_points(struct trace_point *out, const unsigned char *in, size_t n)
{
    for (size_t i = 0; i < n; i++, in += STORE_POINT) {
        double d[8];
        uint32_t step, seconds;
        memcpy(&step, in, 4);
        memcpy(&seconds, in + 4, 4);
        memcpy(d, in + 8, sizeof d);
        store_pack_doubles(d, 8);
        seconds = le32toh(seconds);
        out[i].step = le32toh(step);
        memcpy(&out[i].seconds, &seconds, 4);
        out[i].value = d[0];
        out[i].value2 = d[1];
        memcpy(out[i].point, d + 2, sizeof out[i].point);
    }
}

void store_pack_tuning(double *out, const struct tune_result *t)
{
    for (size_t i = 0; i < t->ntrace; i++, out += t->nhp + STORE_TUNE_EXTRA) {
        const struct tune_point *p = &t->trace[i];
        double *tail = out + t->nhp;
        memcpy(out, p->hp, t->nhp * sizeof *out);
        tail[0] = p->amplitude;
        tail[1] = p->noise;
        tail[2] = p->nmll;
        tail[3] = p->effdim;
        tail[4] = p->subsampled;
        tail[5] = p->score;
        tail[6] = p->se;
    }
    store_pack_doubles(out - t->ntrace * (t->nhp + STORE_TUNE_EXTRA),
                       t->ntrace * (t->nhp + STORE_TUNE_EXTRA));
}

/* Datasets. */

static bool starts(const char *line, const char *verb)
{
    const size_t n = strlen(verb);

    return strncmp(line, verb, n) == 0 && line[n] == ' ';
}

const char *store_recipe(const struct workspace *ws, const struct dataset *ds)
{
    const char *path = ds->table->path ? ds->table->path : "";
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
    const bool demo = strncmp(path, "demo:", 5) == 0;
    char word[64] = "";

    if (demo)
        snprintf(word, sizeof word, "%.*s", (int)strcspn(path + 5, " "), path + 5);
    for (size_t i = ws->nscript; i-- > 0;) {
        const char *line = ws->script[i];
        if (demo ? starts(line, "demo") && strstr(line, word) != NULL
                 : starts(line, "open") && strstr(line, base) != NULL)
            return line;
    }
    return NULL;
}

static void column(struct buf *b, const struct column *c, enum col_role role)
{
    open_object(b, NULL);
    str(b, "name", c->name);
    str(b, "type", kind_type(c));
    str(b, "role", store_roles[role]);
    key(b, "counts"); /* missing cells and levels */
    buf_printf(b, "[%zu,%zu]", c->missing, c->type == COL_CATEGORY ? c->nlevels : 0);
    buf_putc(b, '}');
}

/* One value for each column, null for those without groups; nothing if no column has any. */
static void groups_json(struct buf *b, const struct dataset *ds)
{
    const size_t n = ds->table->ncols;
    size_t i = 0;

    if (ds->coding)
        str(b, "coding", ds->coding);
    while (i < n && !ds->group[i])
        i++;
    if (i == n)
        return;
    key(b, "groups");
    buf_putc(b, '[');
    for (i = 0; i < n; i++)
        str(b, NULL, ds->group[i]);
    buf_putc(b, ']');
}

static void split_json(struct buf *b, const struct split *s, size_t n)
{
    uint32_t sum = 0;

    if (s->part)
        sum = checksum_add(sum, s->part, n);
    if (s->fold)
        sum = checksum_add(sum, s->fold, n * sizeof *s->fold);
    open_object(b, "split");
    str(b, "how", s->how);
    flag(b, "parts", s->part != NULL);
    count(b, "folds", s->fold ? s->nfolds : 0);
    count(b, "sum", sum);
    if (s->by != SPLIT_BY_ROWS) {
        str(b, "by", split_by_words[s->by]);
        str(b, "column", s->column);
    }
    buf_putc(b, '}');
}

void store_json_dataset(struct buf *b, const struct dataset *ds, const char *recipe)
{
    const struct table *t = ds->table;

    open_object(b, NULL);
    count(b, "v", 1);
    str(b, "name", ds->name);
    str(b, "path", t->path);
    count(b, "size", t->file_size);
    str(b, "checksum", t->checksum);
    str(b, "recipe", recipe);
    str(b, "decisions", t->decisions);
    count(b, "rows", t->n);
    if (ds->steps)
        str(b, "steps", ds->steps);
    key(b, "columns");
    buf_putc(b, '[');
    for (size_t i = 0; i < t->ncols; i++)
        column(b, &t->col[i], ds->role[i]);
    buf_putc(b, ']');
    groups_json(b, ds);
    str(b, "missing", encoding_missing_words[ds->missing]);
    flag(b, "missing_flag", ds->missing_flag);
    str(b, "yscale", encoding_yscale_words[ds->yscale]);
    str(b, "xscale", encoding_xscale_words[ds->xscale]);
    if (ds->link)
        str(b, "link", ds->link);
    flag(b, "link_said", ds->link_said);
    if (ds->balanced)
        flag(b, "balanced", true);
    if (ds->rule)
        str(b, "rule", ds->rule);
    if (ds->positive)
        str(b, "positive", ds->positive);
    if (ds->alpha > 0.0)
        num(b, "alpha", ds->alpha);
    split_json(b, &ds->split, t->n);
    buf_putc(b, '}');
}

/* The workspace. */

static void kernel_text(struct buf *b, const char *name, const struct kernel *k)
{
    struct buf text = { 0 };

    kernel_print(k, &text);
    str_of(b, name, &text);
    buf_free(&text);
}

static void bound(struct buf *b, const char *name, const struct tune_bound *t)
{
    open_object(b, name);
    num(b, "lo", t->lo);
    num(b, "hi", t->hi);
    flag(b, "fixed", t->fixed);
    num(b, "value", t->value);
    buf_putc(b, '}');
}

static void bounds(struct buf *b, const struct tune_bound *hp, size_t n,
                   const struct tune_bound *amplitude, const struct tune_bound *noise)
{
    key(b, "bounds");
    buf_putc(b, '[');
    for (size_t i = 0; i < n; i++)
        bound(b, NULL, &hp[i]);
    buf_putc(b, ']');
    bound(b, "amplitude_bound", amplitude);
    bound(b, "noise_bound", noise);
}

/* Options that were set, with their values; the others come from elsewhere. */
static void options_json(struct buf *b, const struct options *opt,
                         const struct options_origin *who, const char *but)
{
    const struct option_row *o;
    struct buf value = { 0 };

    open_object(b, "options");
    for (size_t i = 0; who && (o = option_at(i)) != NULL; i++) {
        if (!option_is_set(who, o->arg.name) || (but && !strcmp(o->arg.name, but)))
            continue;
        buf_clear(&value);
        option_value(opt, o, &value);
        str_of(b, o->arg.name, &value);
    }
    buf_putc(b, '}');
    buf_free(&value);
}

/* What can be undone and redone: states by their ids. */
static void steps(struct buf *b, const struct workspace *ws)
{
    const struct step *s;
    bool done;
    size_t n = 0;

    key(b, "steps");
    buf_putc(b, '[');
    for (size_t i = SIZE_MAX; (s = timeline_step(ws, i, &done)) != NULL; i++) {
        open_object(b, NULL);
        integer(b, "state", s->id);
        str(b, "line", s->line ? s->line : "");
        count(b, "script", s->script);
        buf_putc(b, '}');
        n += done && i != SIZE_MAX;
    }
    buf_putc(b, ']');
    count(b, "step", n);
}

/* The table of the last advice and what fits have taught: rows of 10 numbers, truths of 5. */
static void advice_json(struct buf *b, const struct advise_state *s)
{
    const struct advice *a = &s->a;

    open_object(b, "advice");
    str(b, "dataset", s->dataset);
    str(b, "kernel", s->kernel);
    str(b, "command", s->command);
    const double head[] = {(double)a->n,
                           (double)a->M,
                           (double)a->sample,
                           (double)a->solves,
                           a->given,
                           a->ratio,
                           a->effective_dimension,
                           a->kernel_dimension,
                           a->direct_seconds,
                           a->direct_bytes,
                           s->rtol,
                           s->factor,
                           (double)s->maxit,
                           (double)s->threads,
                           (double)s->features,
                           s->seconds,
                           s->error_sum,
                           (double)s->errors,
                           s->plain,
                           a->search_seconds};
    nums(b, "numbers", head, sizeof head / sizeof *head);
    key(b, "ways");
    buf_putc(b, '[');
    for (size_t i = 0; i < a->ways; i++) {
        const double v[] = { a->way[i].seconds, a->way[i].bytes };
        open_object(b, NULL);
        str(b, "solver", a->way[i].name);
        nums(b, "is", v, 2);
        buf_putc(b, '}');
    }
    buf_putc(b, ']');
    key(b, "rows");
    buf_putc(b, '[');
    for (size_t i = 0; i < a->rows; i++) {
        const struct rank_guess *g = &a->row[i];
        const double v[] = {(double)g->rank, g->ratio,     g->iterations, g->low,   g->high,
                            g->build,        g->iteration, g->seconds,    g->bytes,
                            g->capped ? 1.0 : g->more ? 2.0 : 0.0};
        nums(b, NULL, v, sizeof v / sizeof *v);
    }
    buf_putc(b, ']');
    key(b, "truths");
    buf_putc(b, '[');
    for (size_t i = 0; i < s->ntruth; i++) {
        const struct advise_truth *t = &s->truth[i];
        const double v[] = { (double)t->rank, t->expected, t->iterations, t->build, t->solve };
        open_object(b, NULL);
        str(b, "run", t->run);
        nums(b, "is", v, sizeof v / sizeof *v);
        buf_putc(b, '}');
    }
    buf_puts(b, "]}");
}

void store_json_state(struct buf *b, const struct workspace *ws, const int64_t *ids,
                      size_t away)
{
    const size_t nhp = kernel_nhp(&ws->kernel);
    size_t stored = ws->nbin;

    for (size_t i = 0; i < ws->nrun; i++)
        stored += ws->run[i]->state != RUN_QUEUED;
    open_object(b, NULL);
    count(b, "v", 1);
    key(b, "datasets");
    buf_putc(b, '[');
    for (size_t i = 0; i < ws->ndata + away; i++)
        integer(b, NULL, ids[i]);
    buf_putc(b, ']');
    integer(b, "current", ws->cur < ws->ndata ? (int64_t)ws->cur : -1);
    kernel_text(b, "kernel", &ws->kernel);
    nums(b, "hp", ws->hp, nhp);
    num(b, "amplitude", ws->amplitude);
    num(b, "noise", ws->noise);
    flag(b, "tuned", ws->hp_tuned);
    flag(b, "scale_tuned", ws->scale_tuned);
    flag(b, "kernel_chosen", ws->kernel_chosen);
    bounds(b, ws->hp_bound, nhp, &ws->amp_bound, &ws->noise_bound);
    count(b, "seed", ws->opt.seed);
    str(b, "precision", store_precisions[ws->opt.precision]);
    options_json(b, &ws->opt, ws->origin, "seed"); /* the seed is stored separately */
    count(b, "fits", ws->nfit);
    count(b, "tunes", ws->ntune);
    str(b, "last_fit", ws->last_fit);
    count(b, "runs", stored);
    count(b, "script", ws->nscript);
    count(b, "made", ws->runs_made);
    count(b, "asked", ws->asked);
    steps(b, ws);
    if (advise_state_of(ws) && advise_state_of(ws)->have)
        advice_json(b, advise_state_of(ws));
    buf_putc(b, '}');
}

static void marks_json(struct buf *b, const struct snapshot *s)
{
    key(b, "marks");
    buf_putc(b, '[');
    for (size_t i = 0; i < s->nmark; i++) {
        const struct run_mark *m = &s->mark[i];
        open_object(b, NULL);
        str(b, "run", m->id);
        str(b, "is", m->star ? m->dropped ? "both" : "star" : m->dropped ? "dropped" : "plain");
        str(b, "has", m->note ? "note" : "none");
        str(b, "note", m->note ? m->note : "");
        buf_putc(b, '}');
    }
    buf_putc(b, ']');
}

void store_json_snapshot(struct buf *b, const struct snapshot *s, const int64_t *ids)
{
    open_object(b, NULL);
    count(b, "v", 1);
    key(b, "datasets");
    buf_putc(b, '[');
    for (size_t i = 0; i < s->ndata; i++)
        integer(b, NULL, ids[i]);
    buf_putc(b, ']');
    integer(b, "current", s->cur < s->ndata ? (int64_t)s->cur : -1);
    kernel_text(b, "kernel", &s->kernel);
    nums(b, "hp", s->hp, s->nhp);
    num(b, "amplitude", s->amplitude);
    num(b, "noise", s->noise);
    flag(b, "tuned", s->hp_tuned);
    flag(b, "scale_tuned", s->scale_tuned);
    flag(b, "kernel_chosen", s->chosen);
    bounds(b, s->bound, s->nhp, &s->amp_bound, &s->noise_bound);
    options_json(b, &s->opt, s->who, NULL);
    marks_json(b, s);
    buf_putc(b, '}');
}

/* Runs. */

static const char *outcome_word(enum outcome why)
{
    for (size_t i = 0; store_outcomes[i]; i++)
        if (store_outcome_values[i] == (int)why)
            return store_outcomes[i];
    return store_outcomes[0];
}

/* One figure of the table (app/core/measures.h), from the struct that contains it. */
static void measure(struct buf *b, const struct measure *m, const void *base)
{
    const char *p = (const char *)base + m->at;

    switch (m->type) {
    case MEASURE_REAL: num(b, m->session, *(const double *)p); break;
    case MEASURE_COUNT: count(b, m->session, *(const size_t *)p); break;
    case MEASURE_FLAG: flag(b, m->session, *(const bool *)p); break;
    case MEASURE_WORD: str(b, m->session, p); break;
    case MEASURE_OUTCOME: str(b, m->session, outcome_word(*(const enum outcome *)p)); break;
    }
}

/* All figures of a struct. Scores in both units are structs of the same type. */
static void measures(struct buf *b, enum measure_of of, const void *base)
{
    const struct measure *m;

    for (size_t i = 0; (m = measure_at(i)) != NULL; i++)
        if (m->session && (m->of == MEASURE_OF_SCALED ? MEASURE_OF_RAW : m->of) == of)
            measure(b, m, base);
}

static void inducing(struct buf *b, const struct select_opts *o)
{
    char way[SELECT_TEXT_MAX];

    if (o->m == 0)
        return;
    select_print(o, way, sizeof way);
    open_object(b, "inducing");
    count(b, "points", o->m);
    str(b, "approx", bound_approx_words[o->approx]);
    str(b, "select", way);
    buf_putc(b, '}');
}

static void fit_opts(struct buf *b, const struct fit_opts *o)
{
    open_object(b, "fit");
    if (o->kind)
        str(b, "model", o->kind->name);
    if (o->likelihood && o->likelihood->link)
        str(b, "link", o->likelihood->link);
    str(b, "solver", o->solver);
    nums(b, "solver_params", o->solver_params, SOLVER_MAX_PARAMS);
    str(b, "precond", o->precond);
    flag(b, "keep_scale", o->keep_scale);
    str(b, "rescale", rescale_of(o)->name);
    if (o->targets > 1)
        count(b, "targets", o->targets);
    count(b, "features", o->features);
    count(b, "rank", o->rank);
    num(b, "rtol", o->rtol);
    count(b, "maxit", o->maxit);
    str(b, "variance", store_variances[o->variance]);
    count(b, "variance_count", o->variance_count);
    if (o->samples)
        count(b, "samples", o->samples);
    str(b, "plan", model_plan_words[o->plan]);
    str(b, "store", model_store_words[o->store]);
    str(b, "precision", store_precisions[o->precision]);
    count(b, "mem_limit", o->mem_limit);
    count(b, "seed", o->seed);
    kernel_text(b, "kernel", &o->kernel);
    nums(b, "hp", o->hp, kernel_nhp(&o->kernel));
    num(b, "amplitude", o->amplitude);
    num(b, "noise", o->noise);
    inducing(b, &o->inducing);
    if (o->cost > 0.0)
        num(b, "cost", o->cost);
    buf_putc(b, '}');
}

static void fit_info(struct buf *b, const struct fit_info *f)
{
    open_object(b, "info");
    measures(b, MEASURE_OF_INFO, f);
    if (f->targets > 1) {
        double v[3][TARGETS_MOST];
        for (size_t i = 0; i < f->targets; i++) {
            v[0][i] = f->target[i].iterations;
            v[1][i] = f->target[i].residual;
            v[2][i] = f->target[i].true_residual;
        }
        nums(b, "target_iterations", v[0], f->targets);
        nums(b, "target_residual", v[1], f->targets);
        nums(b, "target_true_residual", v[2], f->targets);
    }
    buf_putc(b, '}');
}

static void solve_info(struct buf *b, const struct solve_info *s)
{
    open_object(b, "solve");
    str(b, "why", outcome_word(s->why));
    count(b, "iterations", s->iterations);
    num(b, "residual", s->residual);
    num(b, "true_residual", s->true_residual);
    num(b, "drift", s->drift);
    flag(b, "float_limit", s->float_limit);
    count(b, "history", s->alpha && s->beta ? s->nhist : 0);
    buf_putc(b, '}');
}

/* How far the intervals reach, REACH_LEVELS numbers for each target; nothing where they are those
 * of normal distributions. */
static void reach(struct buf *b, const struct model *m)
{
    double all[TARGETS_MOST * REACH_LEVELS];
    bool normal = true;

    for (size_t j = 0; j < m->t; j++) {
        memcpy(all + j * REACH_LEVELS, m->reach[j].at, sizeof m->reach[j].at);
        normal = normal && reach_is_normal(&m->reach[j]);
    }
    if (!normal)
        nums(b, "reach", all, m->t * REACH_LEVELS);
}

static void model(struct buf *b, const struct model *m)
{
    open_object(b, "model");
    str(b, "kind", m->kind->name);
    if (m->likelihood)
        str(b, "link", m->likelihood->link);
    kernel_text(b, "kernel", &m->kernel);
    nums(b, "hp", m->hp, kernel_nhp(&m->kernel));
    num(b, "amplitude", m->amplitude);
    num(b, "noise", m->noise);
    if (m->t > 1) {
        nums(b, "amplitudes", m->amplitudes, m->t);
        nums(b, "noises", m->noises, m->t);
    }
    reach(b, m);
    if (m->temperature > 0.0)
        num(b, "temperature", m->temperature);
    if (m->level != 0.0)
        num(b, "level", m->level);
    if (m->set_reach > 0.0)
        num(b, "set_reach", m->set_reach);
    count(b, "seed", m->seed);
    count(b, "d", m->d);
    count(b, "M", m->M);
    count(b, "Mv", m->Mv);
    if (m->S)
        count(b, "samples", m->S);
    if (m->ncv) {
        count(b, "cv_folds", m->ncv);
        count(b, "cv_errors", m->ncv_errors);
        num(b, "cv_level", m->cv_level);
    }
    if (m->spread) {
        count(b, "spread", m->nspread);
        nums(b, "spread_hp", m->spread_hp, kernel_nhp(&m->kernel));
    }
    if (m->neighbours)
        count(b, "neighbours", m->neighbours);
    if (m->row_scale)
        flag(b, "weighted", true);
    flag(b, "inputs", m->X != NULL);
    if (m->origin && !m->kind->margin)
        str(b, "approx", bound_approx_words[m->approx]);
    if (m->nrounds)
        count(b, "rounds", m->nrounds);
    str(b, "precision", store_precisions[m->precision]);
    buf_putc(b, '}');
}

static void tune_opts(struct buf *b, const struct tune_opts *t, size_t nhp)
{
    open_object(b, "tune");
    str(b, "method", t->method);
    str(b, "objective", tune_objective_name(t->objective));
    if (t->targets > 1)
        count(b, "targets", t->targets);
    const struct model_ops *kind = tune_kind(t);
    flag(b, "exact", kind->exact);
    if (kind != model_kind_usual(kind->exact))
        str(b, "kind", kind->name);
    if (t->likelihood && t->likelihood->link)
        str(b, "link", t->likelihood->link);
    flag(b, "approx", t->approx);
    count(b, "rank", t->rank);
    count(b, "probes", t->probes);
    num(b, "error", t->error);
    count(b, "features", t->features);
    count(b, "max_evals", t->max_evals);
    if (t->restarts > 1) {
        count(b, "restart", t->restart);
        count(b, "restarts", t->restarts);
    }
    count(b, "subsample", t->subsample);
    if (t->steps) {
        count(b, "steps", t->steps);
        count(b, "subsets", t->subsets);
        num(b, "rate", t->rate);
        flag(b, "stop_valid", t->stop_valid);
        count(b, "before", t->before);
        if (t->dealt)
            count(b, "dealt", t->dealt);
    }
    flag(b, "polish", t->polish);
    count(b, "seed", t->seed);
    str(b, "precision", store_precisions[t->precision]);
    str(b, "plan", model_plan_words[t->plan]);
    count(b, "mem_limit", t->mem_limit);
    bounds(b, t->hp, nhp, &t->amplitude, &t->noise);
    inducing(b, &t->inducing);
    buf_putc(b, '}');
}

static void tune_point(struct buf *b, const char *name, const struct tune_point *p, size_t nhp,
                       size_t targets)
{
    open_object(b, name);
    nums(b, "hp", p->hp, nhp);
    num(b, "amplitude", p->amplitude);
    num(b, "noise", p->noise);
    if (targets > 1) {
        nums(b, "amplitudes", p->amplitudes, targets);
        nums(b, "noises", p->noises, targets);
    }
    measures(b, MEASURE_OF_POINT, p);
    buf_putc(b, '}');
}

static void tune_result(struct buf *b, const struct tune_result *t, size_t targets)
{
    open_object(b, "result");
    str(b, "why", store_tune_outcomes[t->why]);
    count(b, "nhp", t->nhp);
    measures(b, MEASURE_OF_RESULT, t);
    tune_point(b, "best", &t->best, t->nhp, targets);
    count(b, "points", t->ntrace);
    count(b, "at_lower", t->at_lower);
    count(b, "at_upper", t->at_upper);
    if (t->nlower + t->nupper + t->idle) {
        count(b, "nlower", t->nlower);
        count(b, "nupper", t->nupper);
        count(b, "idle", t->idle);
    }
    buf_putc(b, '}');
}

static void metrics_json(struct buf *b, const char *name, const struct metrics *m)
{
    open_object(b, name);
    measures(b, MEASURE_OF_RAW, m);
    buf_putc(b, '}');
}

static void baseline(struct buf *b, const struct run_baseline *of, const struct run *r)
{
    open_object(b, "baseline");
    str(b, "why", of->why);
    count(b, "inputs", of->inputs);
    num(b, "lambda", of->lambda);
    count(b, "targets", of->targets);
    for (size_t k = 0; k < BASELINES; k++) {
        if (!of->have[k])
            continue;
        key(b, run_baseline_words[k]);
        buf_putc(b, '[');
        for (size_t j = 0; j < of->targets; j++) {
            open_object(b, NULL);
            metrics_json(b, "scaled", run_baseline(r, k, j, false));
            metrics_json(b, "raw", run_baseline(r, k, j, true));
            buf_putc(b, '}');
        }
        buf_putc(b, ']');
    }
    buf_putc(b, '}');
}

static void score(struct buf *b, const struct run *r)
{
    open_object(b, "score");
    str(b, "part", dataset_part_words[r->score_part]);
    count(b, "rows", r->score_rows);
    metrics_json(b, "scaled", &r->score_scaled);
    metrics_json(b, "raw", &r->score_raw);
    if (r->nmore) { /* scores of the targets after the first */
        key(b, "more");
        buf_putc(b, '[');
        for (size_t i = 0; i < r->nmore; i++) {
            open_object(b, NULL);
            metrics_json(b, "scaled", &r->more[i][0]);
            metrics_json(b, "raw", &r->more[i][1]);
            buf_putc(b, '}');
        }
        buf_putc(b, ']');
    }
    if (r->baseline)
        baseline(b, r->baseline, r);
    buf_putc(b, '}');
}

static void failure(struct buf *b, const struct err *e)
{
    open_object(b, "failure");
    str(b, "status", status_name(e->code));
    str(b, "name", e->name);
    str(b, "msg", e->msg);
    str(b, "hint", e->hint);
    buf_putc(b, '}');
}

void store_json_run(struct buf *b, const struct run *r, int64_t dataset_id)
{
    open_object(b, NULL);
    count(b, "v", 1);
    str(b, "kind", store_kinds[r->kind]);
    str(b, "state", store_states[r->state]);
    integer(b, "data", dataset_id);
    str(b, "dataset", r->dataset_name);
    str(b, "kernel", r->kernel_text);
    str(b, "command", r->command);
    integer(b, "created", r->created);
    num(b, "seconds", r->ended > r->started ? r->ended - r->started : NAN);
    num(b, "target", r->trace_target);
    str(b, "note", r->note);
    flag(b, "star", r->star);
    flag(b, "dropped", r->dropped);
    count(b, "serial", r->serial);
    str(b, "verdict", r->verdict);
    flag(b, "encoding", r->has_enc);
    count(b, "points", r->state == RUN_QUEUED || r->state == RUN_RUNNING ? 0 : r->ntrace);
    if (r->nlearned && r->state != RUN_QUEUED && r->state != RUN_RUNNING)
        count(b, "learned", r->nlearned);
    if (r->kind == RUN_FIT) {
        fit_opts(b, &r->fit);
        fit_info(b, &r->info);
        solve_info(b, &r->solve);
    } else {
        struct kernel k;
        double set[KERNEL_MAX_HP];
        size_t nhp = r->tune.nhp;
        if (r->kernel_text && kernel_parse(r->kernel_text, &k, set, NULL) == ST_OK)
            nhp = kernel_nhp(&k);
        tune_opts(b, &r->topt, nhp);
        tune_result(b, &r->tune, r->topt.targets);
    }
    if (r->model)
        model(b, r->model);
    if (r->has_score)
        score(b, r);
    if (r->state == RUN_FAILED)
        failure(b, &r->failure);
    buf_putc(b, '}');
}
