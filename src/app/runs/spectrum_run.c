/* app/runs/spectrum_run.c -- the command spectrum. See spectrum_run.h. */
#include "app/runs/spectrum_run.h"

#include "app/runs/fit_setup.h"
#include "app/core/condition.h"
#include "app/core/ws_tell.h"
#include "app/core/ws_screen.h"
#include "figure/figure.h"
#include "base/mem.h"
#include "base/text.h"
#include "compute/stats/ritz.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LISTED = 40, RITZ_LISTED = 60 };

struct looking {
    struct fit_setup study;
    struct spectrum_run_state out;
    size_t rows;
};

static void state_free(void *state)
{
    struct spectrum_run_state *s = state;

    if (!s)
        return;
    diagnose_advice_free(&s->a);
    free(s->ritz);
    free(s);
}

const struct owner spectrum_run_owner = { .name = "spectrum", .free = state_free };

struct spectrum_run_state *spectrum_run_of(const struct workspace *ws)
{
    return owner_state(ws, &spectrum_run_owner);
}

static void looking_free(struct job *job)
{
    struct looking *w = job->arg;

    if (!w)
        return;
    fit_setup_free(&w->study);
    diagnose_advice_free(&w->out.a);
    free(w->out.ritz);
    free(w);
    job->arg = NULL;
}

static enum status looking_work(struct job *job, struct err *err)
{
    struct looking *w = job->arg;
    struct spectrum_run_state *s = &w->out;
    const double t0 = job_now();
    enum status rc = fit_setup_open(&w->study, err);

    w->study.o.mem_limit = job->limits.memory;
    model_on(&w->study.o, job->backend, pool_threads(job->pool));
    if (rc == ST_OK)
        rc = diagnose_spectrum(&(struct diagnose_ask){ .rows = &w->study.e.base,
                                                       .y = w->study.e.y,
                                                       .opts = &w->study.o,
                                                       .sample = w->rows },
                               &(struct tools){ job->backend, job->pool, &job->ctl }, &s->a, err);
    if (rc == ST_OK && s->a.spectrum.groups) {
        const struct spectrum *v = &s->a.spectrum;
        const double last = v->n < v->M ? 0.0 : v->lam[v->groups - 1];
        s->condition_before = (v->lam[0] + s->a.ratio) / (last + s->a.ratio);
    }
    s->seconds = job_now() - t0;
    return rc;
}

/* The number of eigenvalues above the noise. */
static double above(const struct spectrum_run_state *s)
{
    double n = 0.0;

    for (size_t i = 0; i < s->a.spectrum.groups && s->a.spectrum.lam[i] > s->a.ratio; i++)
        n += s->a.spectrum.count[i];
    return n;
}

static void values_json(struct rec *rec, const struct spectrum_run_state *s)
{
    const struct spectrum *v = &s->a.spectrum;
    const double all = (double)(v->n < v->M ? v->n : v->M);
    double before = 0.0;

    rec_array(rec, "eigenvalues");
    for (size_t i = 0; i < LISTED; i++) {
        const double index = round(pow(all, (double)i / (LISTED - 1)));
        if (!(index > before))
            continue;
        before = index;
        rec_item(rec);
        rec_num(rec, "index", index);
        rec_num(rec, "value", spectrum_at(v, index));
        rec_bool(rec, "carried_on", index > v->known);
        rec_close(rec);
    }
    rec_array_close(rec);
    rec_nums(rec, "ritz", s->ritz, s->nritz < RITZ_LISTED ? s->nritz : RITZ_LISTED);
    rec_int(rec, "ritz_values", (int64_t)s->nritz);
}

static void spectrum_run_record(struct workspace *ws, const struct spectrum_run_state *s,
                                const char *kernel)
{
    const struct spectrum *v = &s->a.spectrum;
    struct rec rec;
    char sec[32], words[80];

    rec_init(&rec, REC_RESULT, "spectrum");
    rec_str(&rec, "run", s->run[0] ? s->run : NULL);
    rec_str(&rec, "kernel", kernel);
    rec_int(&rec, "rows", (int64_t)s->a.n);
    rec_int(&rec, "sample", (int64_t)s->a.sample);
    if (s->a.M)
        rec_int(&rec, "features", (int64_t)s->a.M);
    else
        rec_null(&rec, "features");
    rec_num(&rec, "noise_ratio", s->a.ratio);
    rec_num(&rec, "effective_dimension", s->a.effective_dimension);
    rec_num(&rec, "kernel_dimension", s->a.kernel_dimension);
    rec_num(&rec, "above_noise", above(s));
    if (s->rank)
        rec_int(&rec, "rank", (int64_t)s->rank);
    else
        rec_null(&rec, "rank");
    rec_num(&rec, "ratio", s->rank ? spectrum_at(v, (double)s->rank) / s->a.ratio : NAN);
    rec_num(&rec, "condition_before", s->condition_before);
    rec_num(&rec, "condition_after", s->condition_after);
    values_json(&rec, s);
    rec_num(&rec, "seconds", s->seconds);
    text_seconds(sec, sizeof sec, s->seconds);
    rec_text(&rec, "%s%s", s->run, s->run[0] ? "  " : "");
    rec_safe(&rec, kernel);
    if (s->a.M)
        rec_text(&rec, "  %zu features over", s->a.M);
    else
        rec_text(&rec, "  exact kernel,");
    rec_text(&rec, " %zu rows (from %zu rows, %s)\n", s->a.n, s->a.sample, sec);
    rec_text(&rec, "  eigenvalues of %s: %.3g the first, %.3g at 10, %.3g at 100",
             s->a.M ? "Z'Z" : "K", v->lam[0], spectrum_at(v, 10.0), spectrum_at(v, 100.0));
    if (v->M >= 2000 && v->n >= 2000)
        rec_text(&rec, ", %.3g at 1000", spectrum_at(v, 1000.0));
    rec_text(&rec, "\n  noise %.3g: %.0f eigenvalues above it; effective dimension %.0f",
             s->a.ratio, above(s), s->a.effective_dimension);
    if (s->a.M)
        rec_text(&rec, " (at least\n  %.0f with any number of features)", s->a.kernel_dimension);
    condition_words(words, sizeof words, CONDITION_ESTIMATED, s->condition_before);
    rec_text(&rec, "\n  condition number without a preconditioner: %s", words);
    if (s->rank)
        rec_text(&rec, ";\n  rank %zu: eigenvalue %.3g, %.3g times the noise", s->rank,
                 spectrum_at(v, (double)s->rank), spectrum_at(v, (double)s->rank) / s->a.ratio);
    condition_words(words, sizeof words, CONDITION_SEEN, s->condition_after);
    if (s->nritz)
        rec_text(&rec, "\n  Ritz values of the solver%s: %zu from %.3g to %.3g;"
                 "\n  condition number of its system: %s",
                 s->nritz < s->steps ? "'s first steps" : "", s->nritz, s->ritz[s->nritz - 1],
                 s->ritz[0], words);
    else if (s->iterated)
        rec_text(&rec, "\n  condition number of the solver's system: %s", words);
    rec_text(&rec, "\n  plot spectrum draws it");
    ws_emit(ws, &rec);
}

static void looking_done(struct workspace *ws, struct job *job, enum status rc,
                         const struct err *err)
{
    struct looking *w = job->arg;
    struct buf text = { 0 };

    if (rc == ST_OK && job->discard)
        rc = ST_CANCELLED;
    if (rc == ST_CANCELLED) {
        ws_note(ws, "stopped", "spectrum was stopped before there was one");
        ws->unconverged = true;
        return;
    }
    struct spectrum_run_state *s =
        rc == ST_OK ? mem_calloc(1, sizeof *s, "a spectrum", NULL) : NULL;
    if (!s) {
        ws_error(ws, err, job->line);
        return;
    }
    *s = w->out;
    memset(&w->out, 0, sizeof w->out);
    s->have = true;
    owner_take(ws, &spectrum_run_owner, s);
    kernel_print(&w->study.o.kernel, &text);
    spectrum_run_record(ws, s, buf_str(&text));
    buf_free(&text);
    ws_screen_show(ws, "spectrum", s->run);
    ws->serial++;
}

static const struct job_ops spectral_ops = { .verb = "spectrum", .work = looking_work,
                                             .done = looking_done, .free = looking_free };

/* Copies the Ritz values of the run's own solver. */
static enum status take_ritz(struct spectrum_run_state *s, const struct run *r, struct err *err)
{
    const size_t most = r->solve.nhist < RITZ_MOST ? r->solve.nhist : RITZ_MOST;
    double least, greatest;
    size_t n;

    s->condition_after = NAN;
    s->rank = r->info.rank;
    s->iterated = r->info.why != OUT_DIRECT;
    if (most == 0 || !r->solve.alpha)
        return ST_OK;
    double *up = mem_calloc(most, sizeof *up, "Ritz values", err);
    s->ritz = up ? mem_calloc(most, sizeof *up, "Ritz values", err) : NULL;
    if (!s->ritz) {
        free(up);
        return ST_NOMEM;
    }
    enum status rc = ritz_values(&r->solve, up, &n, err);
    if (rc == ST_OK) {
        for (size_t i = 0; i < n; i++)
            s->ritz[i] = up[n - 1 - i];
        s->nritz = n;
        s->steps = r->solve.nhist;
        rc = ritz_condition(&r->solve, &s->condition_after, &least, &greatest, err);
    }
    free(up);
    if (rc == ST_NOMEM)
        return rc;
    err_clear(err); /* coefficients that are not finite have no Ritz values */
    return ST_OK;
}

enum status spectrum_run_start(struct workspace *ws, const struct run *r, struct dataset *d,
                           const struct fit_opts *o, size_t rows, const char *line,
                           struct err *err)
{
    struct looking *w = mem_calloc(1, sizeof *w, "job", err);
    enum status rc = !w ? ST_NOMEM : r ? fit_setup_of_run(&w->study, r, err)
                                       : fit_setup_of_data(&w->study, d, o, err);

    if (rc == ST_OK) {
        w->rows = rows;
        w->out.condition_after = NAN;
    }
    if (rc == ST_OK && r) {
        w->study.o.kind = run_model_kind(r);
        snprintf(w->out.run, sizeof w->out.run, "%s", r->id);
        rc = take_ritz(&w->out, r, err);
    }
    if (rc != ST_OK) {
        struct job tmp = { .arg = w };
        looking_free(&tmp);
        return rc;
    }
    return ws_submit(ws, &spectral_ops, NULL, w, line, err);
}

/* The plot. */

static bool add_values(struct figure *f, const struct spectrum *v, struct err *err)
{
    enum { POINTS = 200 };
    const double all = (double)(v->n < v->M ? v->n : v->M);
    double x[POINTS], y[POINTS];
    size_t n = 0, known = 0;

    for (size_t i = 0; i < POINTS; i++) {
        const double index = round(pow(all, (double)i / (POINTS - 1)));
        if (n && !(index > x[n - 1]))
            continue;
        x[n] = index;
        y[n] = spectrum_at(v, index);
        if (!(y[n] > 1e-12 * v->lam[0])) /* the rest is rounding */
            break;
        known += index <= v->known;
        n++;
    }
    if (!figure_add(f, "eigenvalues", MARK_LINE, known, x, y, err))
        return false;
    if (known >= n || known == 0)
        return true;
    struct series *s = figure_add(f, "carried on", MARK_LINE, n - known + 1, x + known - 1,
                                  y + known - 1, err);
    if (s)
        s->dashed = true;
    return s != NULL;
}

struct figure *spectrum_run_figure(struct workspace *ws, struct run *r, const struct args *a,
                               struct err *err)
{
    const struct spectrum_run_state *s = spectrum_run_of(ws);
    char title[96], what[40];

    (void)r, (void)a;
    if (!s || !s->have)
        return figure_empty("spectrum", "There is no spectrum yet. try: spectrum", err);
    if (s->a.M)
        snprintf(what, sizeof what, "%zu features", s->a.M);
    else
        snprintf(what, sizeof what, "exact kernel");
    snprintf(title, sizeof title, "Spectrum of %s: %s, %zu rows",
             s->run[0] ? s->run : "the current settings", what, s->a.n);
    struct figure *f = figure_new("spectrum", title, err);
    bool ok = f && figure_label(f, "index", "eigenvalue", err) == ST_OK;
    if (ok) {
        f->x.log = f->y.log = true;
        ok = add_values(f, &s->a.spectrum, err);
    }
    if (ok && s->nritz) {
        double *x = mem_calloc(s->nritz, sizeof *x, "plot", err);
        for (size_t i = 0; x && i < s->nritz; i++)
            x[i] = (double)i + 1.0;
        ok = x && figure_add(f, s->rank ? "Ritz values, preconditioned" : "Ritz values",
                             MARK_POINTS, s->nritz, x, s->ritz, err);
        free(x);
    }
    struct series *h = ok ? figure_add_hline(f, "noise", s->a.ratio, err) : NULL;
    ok = h != NULL;
    if (ok && s->rank)
        ok = figure_add_vline(f, "rank", (double)s->rank, err) != NULL;
    char before[80], after[80];
    condition_words(before, sizeof before, CONDITION_ESTIMATED, s->condition_before);
    condition_words(after, sizeof after, CONDITION_SEEN, s->condition_after);
    if (ok && condition_known(s->condition_after))
        ok = figure_verdict(f, err,
                            "condition number without a preconditioner %s, of the solver's system "
                            "%s; %.0f eigenvalues above the noise", before, after, above(s))
             == ST_OK;
    else if (ok)
        ok = figure_verdict(f, err, "condition number without a preconditioner %s; %.0f "
                            "eigenvalues above the noise", before, above(s)) == ST_OK;
    if (ok)
        return f;
    figure_free(f);
    return NULL;
}
