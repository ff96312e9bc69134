/* app/runs/advise.c -- the command advise. See advise.h.
 *
 * The law for the iterations is in compute/models/model_rank.c. What later fits take is remembered
 * for the session. The mean of the logarithmic errors, with one error of 0 added, corrects later
 * advice. */
#include "app/runs/advise.h"

#include "app/shell/text_table.h"
#include "app/session/store.h"
#include "app/runs/fit_setup.h"
#include "app/core/advise_state.h"
#include "app/core/condition.h"
#include "app/core/ws_tell.h"
#include "app/core/ws_screen.h"
#include "figure/figure.h"
#include "base/mem.h"
#include "base/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct advising {
    struct fit_setup study;
    struct advice out;
    size_t rank[RANK_GUESSES], nrank, solves, rows;
    bool plain;
    double seconds;
};

static void advising_free(struct job *job)
{
    struct advising *w = job->arg;

    if (!w)
        return;
    fit_setup_free(&w->study);
    diagnose_advice_free(&w->out);
    free(w);
    job->arg = NULL;
}

static enum status advising_work(struct job *job, struct err *err)
{
    struct advising *w = job->arg;
    const double t0 = job_now();
    enum status rc = fit_setup_open(&w->study, err);

    w->study.o.mem_limit = job->limits.memory;
    model_on(&w->study.o, job->backend, pool_threads(job->pool));
    if (rc == ST_OK)
        rc = diagnose_advise(&(struct diagnose_ask){ .rows = &w->study.e.base,
                                                     .y = w->study.e.y,
                                                     .opts = &w->study.o,
                                                     .ranks = w->nrank ? w->rank : NULL,
                                                     .count = w->nrank,
                                                     .solves = w->solves,
                                                     .sample = w->rows },
                             &(struct tools){ job->backend, job->pool, &job->ctl }, &w->out, err);
    w->seconds = job_now() - t0;
    return rc;
}

/* The record. */

static const struct advise_truth *truth_of(const struct advise_state *s, size_t rank)
{
    for (size_t i = s->ntruth; i-- > 0;)
        if (s->truth[i].rank == rank)
            return &s->truth[i];
    return NULL;
}

static double whole(double iterations, double factor)
{
    return fmax(1.0, round(iterations * factor));
}

/* Predicted seconds with this machine's threads. */
static double total(const struct advise_state *s, const struct rank_guess *g)
{
    return (g->build + (double)s->a.solves * whole(g->iterations, s->factor) * g->iteration) /
           (double)s->threads;
}

/* The same with the search for the noise ratio, which the direct solver's seconds contain. */
static double total_searched(const struct advise_state *s, const struct rank_guess *g)
{
    return total(s, g) + s->a.search_seconds / (double)s->threads;
}

/* The seconds of the fewest iterations that it may take. */
static double least_time(const struct advise_state *s, const struct rank_guess *g)
{
    return (g->build + (double)s->a.solves * whole(g->low, s->factor) * g->iteration) /
           (double)s->threads;
}

static bool in_time(const struct advise_state *s, const struct rank_guess *g)
{
    return whole(g->iterations, s->factor) <= (double)s->maxit;
}

/* The row with the least time among those that converge. If none converges, the one with the fewest
 * iterations. */
static size_t best_row(const struct advise_state *s)
{
    size_t best = 0;

    for (size_t i = 1; i < s->a.rows; i++) {
        const struct rank_guess *g = &s->a.row[i], *b = &s->a.row[best];
        const bool ends = in_time(s, g), held = in_time(s, b);
        if (ends != held ? ends : ends ? total(s, g) < total(s, b) : g->iterations < b->iterations)
            best = i;
    }
    return best;
}

static void rows_json(struct rec *rec, const struct advise_state *s, size_t best)
{
    rec_array(rec, "rows");
    for (size_t i = 0; i < s->a.rows; i++) {
        const struct rank_guess *g = &s->a.row[i];
        const struct advise_truth *t = truth_of(s, g->rank);
        rec_item(rec);
        if (g->rank)
            rec_int(rec, "rank", (int64_t)g->rank);
        else
            rec_null(rec, "rank");
        rec_num(rec, "ratio", g->ratio);
        rec_num(rec, "iterations", whole(g->iterations, s->factor));
        rec_num(rec, "iterations_low", whole(g->low, s->factor));
        rec_num(rec, "iterations_high", g->more ? NAN : whole(g->high, s->factor));
        rec_num(rec, "seconds_build", g->build / (double)s->threads);
        rec_num(rec, "seconds_solve", (double)s->a.solves * whole(g->iterations, s->factor) *
                                          g->iteration / (double)s->threads);
        rec_num(rec, "bytes", g->bytes);
        rec_bool(rec, "starred", i == best);
        rec_num(rec, "iterations_taken", t ? t->iterations : NAN);
        rec_bool(rec, "iterations_more", g->more);
        rec_close(rec);
    }
    rec_array_close(rec);
}

static void cell_seconds(struct text_table *g, double s)
{
    char text[32];

    text_seconds(text, sizeof text, s);
    text_table_cell(g, text, 0);
}

/* "160..330", or "more than 160" where there is no upper end. */
static void range_words(char *out, size_t len, const struct advise_state *s,
                        const struct rank_guess *g)
{
    if (g->more)
        snprintf(out, len, "more than %.0f", whole(g->low, s->factor));
    else
        snprintf(out, len, "%.0f..%.0f", whole(g->low, s->factor), whole(g->high, s->factor));
}

/* Solvers that step on rows of an exact kernel have no rank. */
static void ways_text(struct text_table *g, const struct advise_state *s, size_t cols)
{
    char mem[24];

    for (size_t w = 0; w < s->a.ways; w++) {
        text_table_cell(g, " ", 0);
        text_table_cell(g, s->a.way[w].name, 0);
        for (int i = 0; i < 4; i++)
            text_table_cell(g, "", 0);
        cell_seconds(g, s->a.way[w].seconds / (double)s->threads);
        mem_format(mem, sizeof mem, s->a.way[w].bytes);
        text_table_cell(g, mem, 0);
        if (cols == 9)
            text_table_cell(g, "", 0);
    }
}

static void rows_text(struct rec *rec, const struct advise_state *s, size_t best)
{
    static const bool right[] = { false, true, true, true, true, true, true, true, true, true };
    const size_t cols = s->ntruth ? 9 : 8;
    struct text_table g;
    char mem[24], range[48];

    text_table_init(&g, cols);
    static const char *const heads[] = {"",      "rank",  "ratio",  "iterations", "range",
                                        "build", "solve", "memory", "taken"};
    for (size_t i = 0; i < cols; i++)
        text_table_cell(&g, heads[i], 0);
    for (size_t i = 0; i < s->a.rows; i++) {
        const struct rank_guess *r = &s->a.row[i];
        const struct advise_truth *t = truth_of(s, r->rank);
        text_table_cell(&g, i == best ? "*" : " ", 0);
        if (r->rank)
            text_table_printf(&g, "%zu", r->rank);
        else
            text_table_cell(&g, "none", 0);
        if (isfinite(r->ratio))
            text_table_printf(&g, "%.3g", r->ratio);
        else
            text_table_cell(&g, "", 0);
        if (r->more)
            text_table_cell(&g, "", 0);
        else
            text_table_printf(&g, "%.0f", whole(r->iterations, s->factor));
        range_words(range, sizeof range, s, r);
        text_table_cell(&g, range, 0);
        cell_seconds(&g, r->build / (double)s->threads);
        text_seconds(range, sizeof range, (r->more ? least_time(s, r) : total(s, r)) -
                                              r->build / (double)s->threads);
        text_table_printf(&g, "%s%s", r->more ? "> " : "", range);
        mem_format(mem, sizeof mem, r->bytes);
        text_table_cell(&g, mem, 0);
        if (t)
            text_table_printf(&g, "%.0f", t->iterations);
        else if (cols == 9)
            text_table_cell(&g, "", 0);
    }
    text_table_cell(&g, " ", 0);
    text_table_cell(&g, s->a.M ? "direct" : "exact", 0);
    for (int i = 0; i < 3; i++)
        text_table_cell(&g, "", 0);
    cell_seconds(&g, s->a.direct_seconds / (double)s->threads);
    text_table_cell(&g, "", 0);
    mem_format(mem, sizeof mem, s->a.direct_bytes);
    text_table_cell(&g, mem, 0);
    if (cols == 9)
        text_table_cell(&g, "", 0);
    ways_text(&g, s, cols);
    text_table_print(&g, right, &rec->text);
    text_table_free(&g);
    if (s->a.search_seconds >= 0.01 * (double)s->threads) {
        text_seconds(mem, sizeof mem, s->a.search_seconds / (double)s->threads);
        rec_text(rec, "  with each rank the fit also searches for its noise: about %s; direct has\n"
                      "  that in its time (rescale=no searches for none)\n", mem);
    }
    if (s->a.ways)
        rec_text(rec, "  exact is a Cholesky factor; sdd and sgd do not go on to the rtol\n");
}

/* learned: a map has no other features than these. */
static void features_text(struct rec *rec, const struct advice *a, bool learned)
{
    if (!a->M || learned) {
        rec_text(rec, "  effective dimension %.0f\n", a->effective_dimension);
        return;
    }
    rec_text(rec, "  effective dimension %.0f with %zu features", a->effective_dimension, a->M);
    if (a->kernel_dimension >= 0.99 * (double)a->M)
        rec_text(rec, "; it grows with the features: more of them help\n");
    else
        rec_text(rec, "; the kernel's own is at least %.0f%s\n", a->kernel_dimension,
                 a->kernel_dimension > 1.25 * a->effective_dimension ? ":\n  more features help"
                                                                     : "");
}

/* share of a sample's spectrum that the sample shows reliably (spectrum.h) */
static const double trusted = 0.75;
static const double single_limit = 1e8; /* condition number beyond which single precision is felt */

static bool beyond_sample(const struct advise_state *s)
{
    return s->a.sample < s->a.n && s->a.effective_dimension > trusted * (double)s->a.sample;
}

/* Says where the law cannot predict. */
static void limits_text(struct rec *rec, const struct advise_state *s)
{
    const size_t more = 4 * s->a.sample < 16384 ? 4 * s->a.sample : 16384;

    if (beyond_sample(s) && !s->a.M)
        rec_text(rec, "  of them the sample shows %.0f (rows=%zu shows more)\n",
                 trusted * (double)s->a.sample, more < s->a.n ? more : s->a.n);
    else if (beyond_sample(s))
        rec_text(rec,
                 "  iterations are a guess: of %.0f directions that count the sample shows %.0f\n"
                 "  (rows=%zu shows more)\n",
                 s->a.effective_dimension, trusted * (double)s->a.sample,
                 more < s->a.n ? more : s->a.n);
    if (s->single && s->condition > single_limit) {
        char words[80];
        condition_words(words, sizeof words, CONDITION_BOUND, s->condition);
        rec_text(rec, "  condition number %s: single precision\n"
                 "  will cost further iterations (precision=double)\n", words);
    }
}

/* True for a solver that makes its default work, wherever the residual is then. */
static bool ends_coarse(const struct advice_way *w)
{
    const struct solver_ops *s = solver_find(w->name, NULL);
    return !s || s->coarse;
}

/* What to type next: the fastest way to the tolerance. */
static void next_text(struct rec *rec, const struct advise_state *s, const struct rank_guess *b)
{
    const bool ends = in_time(s, b);
    double least = s->a.direct_seconds / (double)s->threads;
    const bool direct = !ends || least < total_searched(s, b);
    const struct advice_way *steps = NULL;
    char how[40], within[64];

    least = direct ? least : total_searched(s, b);
    for (size_t i = 0; i < s->a.ways; i++)
        if (!ends_coarse(&s->a.way[i]) && s->a.way[i].seconds / (double)s->threads < least) {
            steps = &s->a.way[i];
            least = steps->seconds / (double)s->threads;
        }
    snprintf(within, sizeof within, "no rank here ends within maxit=%zu", s->maxit);
    if (s->a.M)
        snprintf(how, sizeof how, "features=%zu", s->a.M);
    else
        snprintf(how, sizeof how, "model=exact");
    if (steps)
        rec_text(rec, "  %s is the fastest of all; try  fit %s solver=%s", steps->name, how,
                 steps->name);
    else if (direct)
        rec_text(rec, "  %s; try  fit %s%s",
                 !ends ? within
                       : s->a.M ? "direct is the fastest of all" : "a factor is the fastest of all",
                 s->a.M ? how : "solver=exact", s->a.M ? " solver=direct" : "");
    else if (b->rank)
        rec_text(rec, "  try  fit %s solver=pcg rank=%zu", how, b->rank);
    else
        rec_text(rec, "  try  fit %s solver=cg", how);
}

static void advise_record(struct workspace *ws, const struct advise_state *s, bool learned)
{
    const size_t best = best_row(s);
    const struct rank_guess *b = &s->a.row[best];
    struct rec rec;
    char sec[32];

    rec_init(&rec, REC_RESULT, "advise");
    rec_str(&rec, "kernel", s->kernel);
    rec_str(&rec, "dataset", s->dataset);
    rec_int(&rec, "rows_all", (int64_t)s->a.n);
    rec_int(&rec, "sample", (int64_t)s->a.sample);
    rec_str(&rec, "model", s->a.M ? "features" : "exact");
    if (s->a.M)
        rec_int(&rec, "features", (int64_t)s->a.M);
    else
        rec_null(&rec, "features");
    rec_num(&rec, "rtol", s->rtol);
    rec_int(&rec, "solves", (int64_t)s->a.solves);
    rec_num(&rec, "noise_ratio", s->a.ratio);
    rec_num(&rec, "effective_dimension", s->a.effective_dimension);
    rec_num(&rec, "kernel_dimension", s->a.kernel_dimension);
    rec_num(&rec, "direct_seconds", s->a.direct_seconds / (double)s->threads);
    rec_array(&rec, "steps");
    for (size_t i = 0; i < s->a.ways; i++) {
        rec_item(&rec);
        rec_str(&rec, "solver", s->a.way[i].name);
        rec_num(&rec, "seconds", s->a.way[i].seconds / (double)s->threads);
        rec_num(&rec, "bytes", s->a.way[i].bytes);
        rec_close(&rec);
    }
    rec_array_close(&rec);
    rec_num(&rec, "search_seconds", s->a.search_seconds / (double)s->threads);
    rec_bool(&rec, "beyond_sample", beyond_sample(s));
    rec_num(&rec, "condition", s->condition > 0.0 ? s->condition : NAN);
    rec_num(&rec, "correction", s->factor);
    rec_int(&rec, "correction_fits", (int64_t)(s->plain ? 0 : s->errors));
    rows_json(&rec, s, best);
    rec_num(&rec, "seconds", s->seconds);
    text_seconds(sec, sizeof sec, s->seconds);
    rec_safe(&rec, s->kernel);
    if (s->a.M)
        rec_text(&rec, "  %zu rows  %zu features", s->a.n, s->a.M);
    else
        rec_text(&rec, "  %zu rows  exact kernel", s->a.n);
    rec_text(&rec, "  rtol %.3g  for %zu solve%s\n", s->rtol, s->a.solves,
             s->a.solves == 1 ? "" : "s");
    features_text(&rec, &s->a, learned);
    rec_text(&rec, "  noise^2/amplitude^2 %.3g%s;  from %zu rows in %s\n", s->a.ratio,
             s->a.refined ? " (as the fit sets it)" : "", s->a.sample, sec);
    limits_text(&rec, s);
    rows_text(&rec, s, best);
    if (!s->plain && s->errors)
        rec_text(
            &rec,
            "  iterations: the law's times %.2f, by %zu fit%s of this session (law=plain: not)\n",
            s->factor, s->errors, s->errors == 1 ? "" : "s");
    next_text(&rec, s, b);
    ws_emit(ws, &rec);
}

/* The end of the job. */

static double correction(const struct advise_state *s, bool plain)
{
    return plain ? 1.0 : exp(s->error_sum / ((double)s->errors + 1.0));
}

/* True for the system of the last advice: what fits have taught about it is kept. */
static bool same_system(const struct advise_state *s, const char *dataset, const char *kernel,
                        size_t features, double rtol)
{
    return s && s->have && s->dataset && s->kernel && dataset && kernel &&
           !strcmp(s->dataset, dataset) && !strcmp(s->kernel, kernel) && s->features == features &&
           fabs(log(s->rtol / rtol)) < 1e-6;
}

static enum status adopt(struct workspace *ws, struct advising *w, const char *line)
{
    struct advise_state *s = advise_state_of(ws);
    struct buf text = { 0 };

    if (!s)
        s = owner_take(ws, &advise_state_owner, mem_calloc(1, sizeof *s, "advice", NULL));
    if (!s)
        return ST_NOMEM;
    kernel_print(&w->study.o.kernel, &text);
    if (!same_system(s, w->study.data->name, buf_str(&text), w->out.M, w->study.o.rtol))
        s->ntruth = 0;
    free(s->dataset), free(s->kernel), free(s->command);
    s->dataset = mem_strdup(w->study.data->name, NULL);
    s->kernel = buf_take(&text);
    s->command = mem_strdup(line, NULL);
    diagnose_advice_free(&s->a);
    s->a = w->out;
    memset(&w->out, 0, sizeof w->out);
    s->condition = s->a.spectrum.groups ? s->a.spectrum.lam[0] / s->a.ratio : 0.0;
    s->single = w->study.o.precision != PREC_DOUBLE;
    spectrum_free(&s->a.spectrum);
    s->rtol = w->study.o.rtol;
    s->maxit = w->study.o.maxit;
    s->features = s->a.M;
    s->threads = ws->opt.threads ? ws->opt.threads : 1;
    s->plain = w->plain;
    s->factor = correction(s, w->plain);
    s->seconds = w->seconds;
    s->have = s->dataset && s->kernel;
    return s->have ? ST_OK : ST_NOMEM;
}

static void advising_done(struct workspace *ws, struct job *job, enum status rc,
                          const struct err *err)
{
    struct advising *w = job->arg;

    if (rc == ST_OK && job->discard)
        rc = ST_CANCELLED;
    if (rc == ST_CANCELLED) {
        ws_note(ws, "stopped", "advise was stopped before there was a table");
        ws->unconverged = true;
        return;
    }
    if (rc != ST_OK) {
        ws_error(ws, err, job->line);
        return;
    }
    const bool left = w->out.left;
    if (adopt(ws, w, job->line) != ST_OK) {
        struct err none = { 0 };
        err_set(&none, ST_NOMEM, "out of memory");
        ws_error(ws, &none, job->line);
        return;
    }
    if (left)
        ws_note(ws, "noise",
                "the fit will search for the noise that suits its features; that takes "
                "too long for advice, and the table is for the noise as it is");
    advise_record(ws, advise_state_of(ws), kernel_learned_features(&w->study.o.kernel) > 0);
    if (store_of(ws))
        store_state(store_of(ws), ws);
    ws_screen_show(ws, "rank", "");
    ws->serial++;
}

static const struct job_ops advise_ops = { .verb = "advise", .work = advising_work,
                                           .done = advising_done, .free = advising_free };

static int ascending(const void *a, const void *b)
{
    const size_t x = *(const size_t *)a, y = *(const size_t *)b;
    return (x > y) - (x < y);
}

/* The ranks that were asked for, in order, after rank 0 (no preconditioner). */
static enum status take_ranks(struct advising *w, const struct advise_opts *o, struct err *err)
{
    size_t sorted[RANK_GUESSES], n = 0;

    if (o->nrank == 0)
        return ST_OK;
    if (o->nrank > RANK_GUESSES - 1)
        return err_set(err, ST_RANGE, "%zu ranks are too many; at most %d", o->nrank,
                       RANK_GUESSES - 1);
    for (size_t i = 0; i < o->nrank; i++) {
        if (model_kind_of(&w->study.o)->draws && o->rank[i] > w->study.o.features) {
            err_set(err, ST_RANGE, "rank=%zu: a preconditioner's rank lies between 1 and the %zu "
                    "features", o->rank[i], w->study.o.features);
            err_hint(err, "advise rank=%zu", w->study.o.features / 8 ? w->study.o.features / 8 : 1);
            return ST_RANGE;
        }
        if (o->rank[i])
            sorted[n++] = o->rank[i];
    }
    qsort(sorted, n, sizeof *sorted, ascending);
    w->rank[w->nrank++] = 0;
    for (size_t i = 0; i < n; i++)
        if (i == 0 || sorted[i] != sorted[i - 1])
            w->rank[w->nrank++] = sorted[i];
    return ST_OK;
}

enum status advise_start(struct workspace *ws, struct dataset *d, const struct fit_opts *o,
                         const struct advise_opts *ao, const char *line, struct err *err)
{
    struct advising *w = mem_calloc(1, sizeof *w, "job", err);
    enum status rc = w ? fit_setup_of_data(&w->study, d, o, err) : ST_NOMEM;

    if (rc == ST_OK)
        rc = take_ranks(w, ao, err);
    if (rc != ST_OK) {
        struct job tmp = { .arg = w };
        advising_free(&tmp);
        return rc;
    }
    fit_setup_cost(ws, &w->study, &(struct diagnose_ask){ .sample = ao->rows, .count = w->nrank },
                   true, 0.0);
    w->solves = ao->solves;
    w->rows = ao->rows;
    w->plain = ao->plain;
    return ws_submit(ws, &advise_ops, NULL, w, line, err);
}

/* Learning from fits. */

/* The law's iterations at a rank between the rows of the table; NaN beyond it. */
static double expected_at(const struct advice *a, size_t rank)
{
    for (size_t i = 0; i < a->rows; i++) {
        const struct rank_guess *g = &a->row[i], *p = i ? &a->row[i - 1] : NULL;
        if (g->rank == rank)
            return g->capped ? NAN : g->iterations;
        if (p && p->rank && p->rank < rank && g->rank > rank && !p->capped)
            return p->iterations * pow(g->iterations / p->iterations,
                                       log((double)rank / (double)p->rank) /
                                           log((double)g->rank / (double)p->rank));
    }
    return NAN;
}

void advise_learn(struct workspace *ws, const struct run *r)
{
    struct advise_state *s = advise_state_of(ws);
    const struct fit_info *i = &r->info;

    if (!same_system(s, r->dataset_name, r->kernel_text, i->features, r->fit.rtol))
        return;
    const struct solver_ops *solver = solver_find(i->solver, NULL);
    if (i->why != OUT_RTOL || i->warm || !(solver && solver->krylov) || i->iterations == 0)
        return;
    const double expected = expected_at(&s->a, i->rank);
    if (!isfinite(expected))
        return;
    struct advise_truth t = { .rank = i->rank, .expected = expected,
                              .iterations = (double)i->iterations, .build = i->seconds.precond,
                              .solve = i->seconds.solve };
    snprintf(t.run, sizeof t.run, "%s", r->id);
    if (s->ntruth == ADVISE_TRUTHS)
        memmove(s->truth, s->truth + 1, --s->ntruth * sizeof *s->truth);
    s->truth[s->ntruth++] = t;
    s->error_sum += log(t.iterations / expected);
    s->errors++;
    ws_tell(ws, REC_NOTE, r->id, "advice", NULL, "%zu iterations; %.0f had been expected%s. Later "
            "advice of this session is corrected by %.2f (law=plain: not)", i->iterations,
            whole(expected, s->factor), s->plain || fabs(s->factor - 1.0) < 0.005 ? ""
                                                                     : ", with a correction",
            correction(s, false));
}

/* The plot. */

static bool add_rows(struct figure *f, const struct advise_state *s, bool seconds, struct err *err)
{
    double x[RANK_GUESSES], y[RANK_GUESSES], lo[RANK_GUESSES], hi[RANK_GUESSES];
    double mx[RANK_GUESSES], my[RANK_GUESSES];
    size_t n = 0, more = 0;

    for (size_t i = 0; i < s->a.rows; i++) {
        const struct rank_guess *g = &s->a.row[i];
        if (!g->rank)
            continue;
        if (g->more) { /* no expectation: the truth lies somewhere above */
            mx[more] = (double)g->rank;
            my[more++] = seconds ? least_time(s, g) : whole(g->low, s->factor);
            continue;
        }
        x[n] = (double)g->rank;
        y[n] = seconds ? total(s, g) : whole(g->iterations, s->factor);
        lo[n] = whole(g->low, s->factor);
        hi[n++] = whole(g->high, s->factor);
    }
    if (!seconds && n > 1 && !figure_add_band(f, "range", n, x, lo, hi, err))
        return false;
    if (n && !figure_add(f, "expected", MARK_LINEPOINTS, n, x, y, err))
        return false;
    return !more || figure_add(f, "more than", MARK_POINTS, more, mx, my, err) != NULL;
}

static bool add_truths(struct figure *f, const struct advise_state *s, bool seconds,
                       struct err *err)
{
    double x[ADVISE_TRUTHS], y[ADVISE_TRUTHS];
    size_t n = 0;

    for (size_t i = 0; i < s->ntruth; i++) {
        if (!s->truth[i].rank)
            continue;
        x[n] = (double)s->truth[i].rank;
        y[n++] = seconds ? s->truth[i].build + (double)s->a.solves * s->truth[i].solve
                         : s->truth[i].iterations;
    }
    return !n || figure_add(f, "taken", MARK_POINTS, n, x, y, err) != NULL;
}

static struct figure *rank_panel(const struct advise_state *s, size_t best, bool seconds,
                                 struct err *err)
{
    const struct rank_guess *none = s->a.row[0].rank ? NULL : &s->a.row[0];
    char title[96];

    if (s->a.M)
        snprintf(title, sizeof title, "%s of a fit with %zu features",
                 seconds ? "Seconds" : "Iterations", s->a.M);
    else
        snprintf(title, sizeof title, "%s of a fit of the exact kernel",
                 seconds ? "Seconds" : "Iterations");
    struct figure *f = figure_new("rank", title, err);
    bool ok = f && figure_label(f, "rank of the preconditioner",
                                seconds ? "seconds, build and solve" : "iterations", err) == ST_OK;
    if (ok) {
        f->x.log = f->y.log = true;
        ok = add_rows(f, s, seconds, err) && add_truths(f, s, seconds, err);
    }
    if (ok && none && (!seconds || in_time(s, none))) {
        const double its = whole(none->more ? none->low : none->iterations, s->factor);
        struct series *h = figure_add_hline(
            f, none->more ? "none, more than" : "none",
            !seconds ? its : none->more ? least_time(s, none) : total(s, none), err);
        ok = h != NULL;
        if (h)
            h->faint = true;
    }
    if (ok && seconds && s->a.direct_seconds > 0.0) {
        struct series *h =
            figure_add_hline(f, s->a.M ? "direct" : "Cholesky",
                             s->a.direct_seconds / (double)s->threads, err);
        ok = h != NULL;
        if (h)
            h->dashed = true;
    }
    if (ok && s->a.row[best].rank)
        ok = figure_add_vline(f, "least time", (double)s->a.row[best].rank, err) != NULL;
    if (ok)
        return f;
    figure_free(f);
    return NULL;
}

struct figure *advise_figure(struct workspace *ws, struct run *r, const struct args *a,
                             struct err *err)
{
    const struct advise_state *s = advise_state_of(ws);

    (void)r, (void)a;
    if (!s || !s->have || !s->a.rows)
        return figure_empty("rank", "There is no advice yet. try: advise", err);
    const size_t best = best_row(s);
    const struct rank_guess *b = &s->a.row[best];
    struct figure *f = rank_panel(s, best, false, err);
    char name[32] = "no preconditioner", mean[64] = "";

    if (!f)
        return NULL;
    f->next = rank_panel(s, best, true, err);
    f->across = 2;
    if (b->rank)
        snprintf(name, sizeof name, "rank %zu", b->rank);
    if (s->ntruth) {
        double sum = 0.0;
        for (size_t i = 0; i < s->ntruth; i++)
            sum += log(s->truth[i].iterations / s->truth[i].expected) / (double)s->ntruth;
        snprintf(mean, sizeof mean, "; fits took %.2f x the expected", exp(sum));
    }
    const bool direct = s->a.direct_seconds / (double)s->threads < total_searched(s, b);
    char its[96];
    if (b->more)
        snprintf(its, sizeof its, "more than %.0f iterations", whole(b->low, s->factor));
    else
        snprintf(its, sizeof its, "%.0f iterations (%.0f to %.0f)",
                 whole(b->iterations, s->factor), whole(b->low, s->factor),
                 whole(b->high, s->factor));
    const bool ok =
        f->next &&
        figure_verdict(f, err, "%s has the least time%s: %s%s%s", name,
                       direct ? " but for direct" : "", its,
                       in_time(s, b) ? "" : ", more than maxit", mean) == ST_OK;
    if (ok)
        return f;
    figure_free(f);
    return NULL;
}
