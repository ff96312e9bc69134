/* tests/check_job.c -- the worker thread: order, ticks, stopping, results, and the statements that
 * wait for it. */
#include "app/commands/app.h"
#include "app/core/job.h"
#include "app/shell/options.h"
#include "app/core/workspace.h"
#include "app/core/workspace_exec.h"
#include "app/runs/scoring/scoring_impl.h"
#include "base/limits.h"
#include "base/spill.h"
#include "compute/pool.h"
#include "support.h"

#include <check.h>
#include <poll.h>
#include <math.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A job that ticks `steps` times, waits to be let go, or runs until it is stopped. */
struct probe {
    size_t steps, ticks, done_calls, last;
    size_t slow_from;        /* steps from this one on take 30 ms; 0: none */
    enum phase phase;        /* PHASE_NONE: PHASE_ITERATE */
    bool endless, fail, deaf; /* deaf: asked to stop it goes on all the same */
    atomic_bool *hold;
    enum status rc;
    int freed;
    char order[16];
};
static struct probe *freed_probe;

static enum status probe_work(struct job *job, struct err *err)
{
    struct probe *p = job->arg;
    const double point[2] = { 1.0, 2.0 };

    for (size_t i = 1; p->endless || i <= p->steps; i++) {
        if (p->slow_from && i >= p->slow_from)
            usleep(30000);
        const struct tick t = {.phase = p->phase ? p->phase : PHASE_ITERATE,
                               .done = i,
                               .total = p->steps,
                               .value = pow(0.5, (double)i),
                               .value2 = NAN,
                               .target = 1e-6,
                               .point = point,
                               .npoint = 2};
        ctl_tick(&job->ctl, &t);
        if (ctl_stopped(&job->ctl))
            return p->fail ? err_set(err, ST_CANCELLED, "stopped") : ST_OK;
        if (p->endless)
            usleep(500);
    }
    while (p->hold && atomic_load(p->hold) && (p->deaf || !ctl_stopped(&job->ctl)))
        usleep(200);
    return p->fail ? err_set(err, ST_RANGE, "it failed") : ST_OK;
}

static void probe_tick(struct workspace *ws, struct job *job, const struct tick *t)
{
    struct probe *p = job->arg;

    (void)ws;
    ck_assert_uint_eq(t->done, p->last + 1); /* none is lost, none comes twice */
    ck_assert_uint_eq(t->npoint, 2);
    ck_assert_double_eq(t->point[1], 2.0);
    p->last = t->done;
    p->ticks++;
}

static void probe_done(struct workspace *ws, struct job *job, enum status rc, const struct err *err)
{
    struct probe *p = job->arg;

    (void)ws, (void)err;
    p->rc = rc;
    p->done_calls++;
}

static void probe_free(struct job *job)
{
    freed_probe = job->arg;
    if (freed_probe)
        freed_probe->freed++;
}

static const struct job_ops probe_ops = { "probe", probe_work, probe_done, probe_tick, probe_free };

static struct options opts(void)
{
    struct options o;

    options_default(&o);
    o.threads = 2;
    return o;
}

static struct workspace *open_ws(void)
{
    const struct options o = opts();
    struct err err = { 0 };
    struct workspace *ws = app_workspace(&o, &err);

    ck_assert_msg(ws != NULL, "%s", err.msg);
    return ws;
}

static void submit(struct workspace *ws, const char *name, struct probe *p)
{
    struct err err = { 0 };

    ck_assert_int_eq(ws_submit(ws, &probe_ops, name, p, name, &err), ST_OK);
}

START_TEST(every_tick_arrives_in_order)
{
    struct workspace *ws = open_ws();
    struct probe p = { .steps = 20000 };

    submit(ws, "j1", &p);
    workspace_drain(ws);
    ck_assert_uint_eq(p.ticks, 20000);
    ck_assert_uint_eq(p.done_calls, 1);
    ck_assert_int_eq(p.rc, ST_OK);
    ck_assert_int_eq(p.freed, 1);
    ck_assert_uint_eq(jobs_count(ws->jobs), 0);
    workspace_free(ws);
}
END_TEST

START_TEST(jobs_run_one_after_the_other)
{
    struct workspace *ws = open_ws();
    atomic_bool hold = true;
    struct probe first = { .steps = 10, .hold = &hold }, second = { .steps = 10 },
                 third = { .steps = 10 };
    struct job_view v;
    struct err err = { 0 };

    submit(ws, "r1", &first);
    submit(ws, "r2", &second);
    submit(ws, "r3", &third);
    while (jobs_view(ws->jobs, 0, &v) && !v.tick.done)
        workspace_pump(ws);
    ck_assert_uint_eq(jobs_count(ws->jobs), 3);
    ck_assert(jobs_view(ws->jobs, 0, &v) && v.running && !strcmp(v.name, "r1"));
    ck_assert(jobs_view(ws->jobs, 1, &v) && !v.running && !strcmp(v.name, "r2"));
    ck_assert(!jobs_view(ws->jobs, 3, &v));
    ck_assert_uint_eq(second.ticks, 0);
    /* One taken off the queue never runs, and is told. */
    ck_assert_int_eq(jobs_stop(ws->jobs, "r2", false, &err), ST_OK);
    atomic_store(&hold, false);
    workspace_drain(ws);
    ck_assert_int_eq(first.rc, ST_OK);
    ck_assert_int_eq(second.rc, ST_CANCELLED);
    ck_assert_uint_eq(second.ticks, 0);
    ck_assert_uint_eq(third.ticks, 10);
    ck_assert(first.done_calls == 1 && second.done_calls == 1 && third.done_calls == 1);
    workspace_free(ws);
}
END_TEST

START_TEST(a_stopped_job_keeps_what_it_has)
{
    struct workspace *ws = open_ws();
    struct probe p = { .endless = true };
    struct job_view v;
    struct err err = { 0 };

    submit(ws, "r1", &p);
    while (p.ticks < 8)
        workspace_pump(ws);
    ck_assert(jobs_view(ws->jobs, 0, &v));
    ck_assert_double_gt(v.progress.rate, 0.0);
    ck_assert_int_eq(jobs_stop(ws->jobs, NULL, false, &err), ST_OK);
    /* It shows as stopped at once, whatever it still does. */
    ck_assert(!jobs_view(ws->jobs, 0, &v) || v.stopping);
    workspace_drain(ws);
    ck_assert_int_eq(p.rc, ST_OK);
    ck_assert_int_eq(jobs_stop(ws->jobs, NULL, false, &err), ST_STATE);
    ck_assert_int_eq(jobs_stop(ws->jobs, "r9", false, &err), ST_NOT_FOUND);
    workspace_free(ws);
}
END_TEST

/* Asks to stop at some step of the work, on the thread that does it, and counts the steps after. */
struct stopping { struct cancel *cancel; size_t at, ticks, after, last; };

static void stopping_tick(void *ctx, const struct tick *t)
{
    struct stopping *s = ctx;

    ck_assert_int_eq(t->phase, PHASE_FOLDS);
    ck_assert_uint_ge(t->done, s->last);
    s->last = t->done;
    s->after += atomic_load(&s->cancel->stop);
    if (++s->ticks == s->at)
        atomic_store(&s->cancel->stop, true);
}

/* Folds that are tuned stop at the next step of what they are in the middle of, wherever that is,
 * and leave no score: neither of the folds before nor of a fold that was half tuned. */
START_TEST(folds_that_are_tuned_stop_at_the_next_step)
{
    enum { STOPS = 6 };
    struct workspace *ws = open_ws();
    struct err err = { 0 };
    size_t all = 0;

    workspace_exec(ws, "demo friedman1 n=120 seed=2; split folds=3; tune features=64 evals=9");
    workspace_exec(ws, "fit features=64");
    workspace_drain(ws);
    struct run *r = ws_run(ws, NULL, &err);
    ck_assert_msg(r && r->model, "%s", err.msg);
    struct pool *pool = pool_new(2, &err);
    for (size_t i = 0; i <= STOPS; i++) { /* the first is not stopped */
        struct scoring s = { .what = DO_FOLDS, .fit = r->fit, .how = { .tune = true },
                             .topt = ws_tuning_of(ws, r)->topt };
        struct job job = { .arg = &s, .pool = pool, .backend = backend_cpu() };
        struct stopping at_step = { .cancel = &job.cancel,
                                    .at = i == 1 ? 1 : i * all / (STOPS + 1) };
        job.ctl = (struct ctl){ &job.cancel, stopping_tick, &at_step };
        s.topt.start = NULL;
        ck_assert_int_eq(scoring_take(&s, r, &err), ST_OK);
        const enum status rc = scoring_folds_work(&job, &err);
        ck_assert_int_eq(rc, at_step.at ? ST_CANCELLED : ST_OK);
        ck_assert_msg(at_step.after <= 1, "%zu steps after that at %zu", at_step.after,
                      at_step.at);
        all = i == 0 ? at_step.ticks : all;
        ck_assert(!r->has_score);
        free(s.fold), free(s.fold_baseline);
        encoding_free(&s.enc);
        model_unref(s.model);
        dataset_unref(s.data);
    }
    ck_assert_uint_gt(all, 9); /* evaluations and fits of three folds */
    pool_free(pool);
    workspace_free(ws);
}
END_TEST

START_TEST(stop_now_drops_the_result)
{
    struct workspace *ws = open_ws();
    struct probe p = { .endless = true };
    struct err err = { 0 };

    submit(ws, "r1", &p);
    while (p.ticks < 3)
        workspace_pump(ws);
    ck_assert_int_eq(jobs_stop(ws->jobs, "*", true, &err), ST_OK);
    workspace_drain(ws);
    ck_assert_int_eq(p.rc, ST_CANCELLED);
    ck_assert_uint_eq(p.done_calls, 1);
    workspace_free(ws);
}
END_TEST

START_TEST(leaving_stops_and_frees_all)
{
    struct workspace *ws = open_ws();
    struct probe running = { .endless = true }, queued = { .steps = 5 };

    submit(ws, "r1", &running);
    submit(ws, "r2", &queued);
    workspace_free(ws);
    ck_assert(running.freed == 1 && queued.freed == 1);
    ck_assert(running.done_calls == 0 && queued.ticks == 0);
}
END_TEST

START_TEST(what_cannot_be_interrupted_is_not_waited_for)
{
    struct workspace *ws = open_ws();
    atomic_bool hold = true;
    struct probe deaf = { .steps = 1, .deaf = true, .hold = &hold }, queued = { .steps = 5 };

    submit(ws, "r1", &deaf);
    submit(ws, "r2", &queued);
    while (jobs_view(ws->jobs, 0, &(struct job_view){ 0 }) && deaf.ticks == 0)
        workspace_pump(ws);
    ck_assert(!workspace_end(ws, 0));
    atomic_store(&hold, false);
    ck_assert(workspace_end(ws, 60));
    ck_assert(workspace_end(ws, 60)); /* it has ended: again is no harm */
    ck_assert_uint_eq(queued.ticks, 0);
    workspace_free(ws);
    ck_assert(deaf.freed == 1 && queued.freed == 1);
}
END_TEST

/* Notes the limits that it works under, its own and those of each task of the pool. */
struct limited {
    atomic_bool *hold;
    struct limits seen, task[16];
    size_t block;
    bool fits;
};

static void look_from_pool(void *ctx, size_t task, size_t worker)
{
    struct limited *l = ctx;

    (void)worker;
    l->task[task] = limits_now();
}

static enum status limited_work(struct job *job, struct err *err)
{
    struct limited *l = job->arg;

    (void)err;
    while (atomic_load(l->hold))
        usleep(200);
    l->seen = limits_now();
    l->block = limits_block_bytes();
    l->fits = spill_fits((double)(16 << 20));
    pool_run(job->pool, 16, look_from_pool, l);
    return ST_OK;
}

static void limited_done(struct workspace *ws, struct job *job, enum status rc,
                         const struct err *err)
{
    (void)ws, (void)job, (void)err;
    ck_assert_int_eq(rc, ST_OK);
}

/* The first job runs while the second is submitted under other options: each keeps its own limits,
 * and so does this thread. */
START_TEST(each_job_has_its_own_limits)
{
    static const struct job_ops ops = { "limited", limited_work, limited_done, NULL, NULL };
    static const size_t memory[] = { (size_t)48 << 20, (size_t)1200 << 20 },
                        block[] = { (size_t)8 << 20, (size_t)100 << 20 };
    static const uint64_t cache[] = { UINT64_C(11) << 30, UINT64_C(12) << 30 }; /* nothing goes */
    struct workspace *ws = open_ws();
    const struct limits before = limits_now();
    atomic_bool hold = true;
    struct limited job[2] = { { .hold = &hold }, { .hold = &hold } };
    struct err err = { 0 };

    for (size_t i = 0; i < 2; i++) {
        ws->opt.mem = memory[i];
        ws->opt.cache = cache[i];
        ck_assert_int_eq(ws_submit(ws, &ops, "j", &job[i], "j", &err), ST_OK);
    }
    ws->opt.mem = 1;
    atomic_store(&hold, false);
    workspace_drain(ws);
    for (size_t i = 0; i < 2; i++) {
        ck_assert_uint_eq(job[i].seen.memory, memory[i]);
        ck_assert_uint_eq(job[i].seen.arrays, memory[i] / 4); /* 12 and 300 MiB */
        ck_assert_uint_eq(job[i].seen.cache, cache[i]);
        ck_assert_uint_eq(job[i].block, block[i]);
        ck_assert(job[i].fits == (i == 1));
        for (size_t k = 0; k < 16; k++) {
            ck_assert_uint_eq(job[i].task[k].memory, memory[i]);
            ck_assert_uint_eq(job[i].task[k].cache, cache[i]);
        }
    }
    ck_assert_uint_eq(limits_now().memory, before.memory);
    ck_assert_uint_eq(limits_now().cache, before.cache);
    workspace_free(ws);
}
END_TEST

START_TEST(a_failure_is_handed_over)
{
    struct workspace *ws = open_ws();
    struct probe p = { .steps = 2, .fail = true };

    submit(ws, "j1", &p);
    workspace_drain(ws);
    ck_assert_int_eq(p.rc, ST_RANGE);
    workspace_free(ws);
}
END_TEST

/* The residual halves each step, so 1e-6 is due at step 20: the rest over the rate. */
START_TEST(time_left_comes_from_the_fitted_rate)
{
    struct workspace *ws = open_ws();
    atomic_bool hold = true;
    struct probe few = { .steps = 3, .hold = &hold }, some = { .steps = 12, .hold = &hold };
    struct job_view v;

    submit(ws, "r1", &few);
    while (few.ticks < 3)
        workspace_pump(ws);
    ck_assert(jobs_view(ws->jobs, 0, &v) && isnan(v.progress.left)); /* unknown before 5 points */
    struct buf words = { 0 };
    job_words(&v, &words);
    ck_assert(strstr(buf_str(&words), "? left") && strstr(buf_str(&words), "r1 cg 3/3"));
    buf_free(&words);
    atomic_store(&hold, false);
    workspace_drain(ws);
    atomic_store(&hold, true);
    submit(ws, "r2", &some);
    while (some.ticks < 12)
        workspace_pump(ws);
    ck_assert(jobs_view(ws->jobs, 0, &v));
    ck_assert_msg(fabs(v.progress.left * v.progress.rate - (log(1e-6) / log(0.5) - 12)) < 1e-6,
                  "%g", v.progress.left * v.progress.rate);
    atomic_store(&hold, false);
    workspace_drain(ws);
    workspace_free(ws);
}
END_TEST

/* A tuning's last evaluations take longer than its first: they say what is to come. */
START_TEST(time_left_of_a_tuning_goes_by_its_last_evaluations)
{
    struct workspace *ws = open_ws();
    atomic_bool hold = true;
    struct probe p = { .steps = 40, .slow_from = 37, .phase = PHASE_TUNE, .hold = &hold };
    struct job_view v;

    submit(ws, "t1", &p);
    while (p.ticks < 40)
        workspace_pump(ws);
    ck_assert(jobs_view(ws->jobs, 0, &v));
    ck_assert_msg(1.0 / v.progress.rate >= 0.029, "%g s an evaluation",
                  1.0 / v.progress.rate); /* 0.003 on average */
    usleep(100000);
    ck_assert(jobs_view(ws->jobs, 0, &v)); /* and one that takes longer still is seen to */
    ck_assert_msg(1.0 / v.progress.rate >= 0.099, "%g s an evaluation", 1.0 / v.progress.rate);
    atomic_store(&hold, false);
    workspace_drain(ws);
    workspace_free(ws);
}
END_TEST

/* Statements. */

struct heard { char text[8192]; };

static void hear(void *ctx, const struct rec *r)
{
    struct heard *h = ctx;

    if (r->type == REC_TICK)
        return;
    const size_t n = strlen(h->text);
    snprintf(h->text + n, sizeof h->text - n, "%s:%s;", rec_type_name(r->type), r->name);
}

/* What is typed ahead runs in the order of a script; looking around does not wait. */
START_TEST(lines_wait_for_what_they_need)
{
    struct workspace *ws = open_ws();
    struct heard h = { "" };
    struct sink sink = { hear, &h, NULL };
    atomic_bool hold = true;
    struct probe p = { .steps = 1, .hold = &hold };

    ws->sinks = &sink;
    submit(ws, "j1", &p);
    workspace_exec(ws, "demo friedman1 n=20");
    workspace_exec(ws, "summary");   /* needs the data of the line before */
    workspace_exec(ws, "get seed");  /* needs nothing */
    workspace_exec(ws, "wait; set seed=5");
    ck_assert_str_eq(h.text, "result:get;");
    ck_assert_uint_eq(workspace_waiting(ws), 4);
    ck_assert_str_eq(workspace_waiting_at(ws, 0, NULL), "demo friedman1 n=20");
    atomic_store(&hold, false);
    workspace_drain(ws);
    ck_assert_str_eq(h.text, "result:get;result:demo;result:summary;result:wait;result:set;");
    ck_assert_uint_eq(ws->opt.seed, 5);
    ws->sinks = NULL;
    workspace_free(ws);
}
END_TEST

START_TEST(a_failure_drops_the_rest_of_its_line_only)
{
    struct workspace *ws = open_ws();
    struct heard h = { "" };
    struct sink sink = { hear, &h, NULL };

    ws->sinks = &sink;
    workspace_exec(ws, "open /nonexistent/file.csv; summary; cols");
    workspace_exec(ws, "about");
    workspace_drain(ws);
    ck_assert_str_eq(h.text, "result:about;error:no-file;note:not-run;");
    ck_assert_int_eq(ws->first_error, ST_IO);
    h.text[0] = '\0';
    workspace_exec(ws, "about; nonsense"); /* all is parsed before anything runs */
    ck_assert_str_eq(h.text, "error:not-found;");
    ws->sinks = NULL;
    workspace_free(ws);
}
END_TEST

START_TEST(waiting_lines_can_be_taken_back)
{
    struct workspace *ws = open_ws();
    atomic_bool hold = true;
    struct probe p = { .steps = 1, .hold = &hold };
    unsigned long number = 0;
    struct err err = { 0 };

    submit(ws, "j1", &p);
    workspace_exec(ws, "demo toy");
    workspace_exec(ws, "demo co2");
    ck_assert_ptr_nonnull(workspace_waiting_at(ws, 0, &number));
    ck_assert_int_eq(workspace_forget(ws, number, &err), ST_OK);
    ck_assert_int_eq(workspace_forget(ws, number, &err), ST_NOT_FOUND);
    atomic_store(&hold, false);
    workspace_drain(ws);
    ck_assert_uint_eq(ws->ndata, 1);
    ck_assert_str_eq(ws->data[0]->name, "co2");
    workspace_free(ws);
}
END_TEST

static void keep_said(void *ctx, const struct rec *r)
{
    if (r->type != REC_TICK)
        buf_printf(ctx, "%s\n", buf_str(&r->text));
}

/* Before the first iterate there is nothing to keep, and nothing is said to be kept. */
START_TEST(a_stop_before_the_first_iterate_promises_nothing)
{
    struct buf said = { 0 };
    struct workspace *ws = open_ws();
    struct sink sink = { .take = keep_said, .ctx = &said };

    workspace_exec(ws, "demo friedman1 n=4000 seed=1; kernel rbf");
    workspace_drain(ws);
    ws->sinks = &sink;
    ws->interactive = ws->no_session = true;
    workspace_exec(ws, "fit solver=pcg features=2048 rank=512");
    workspace_exec(ws, "stop r1"); /* no event of the fit has been taken yet */
    ck_assert_msg(strstr(buf_str(&said), "r1 stopped; it had no iterate yet"), "%s",
                  buf_str(&said));
    workspace_drain(ws);
    ck_assert_msg(!strstr(buf_str(&said), "is kept") &&
                      strstr(buf_str(&said), "before there was a result"),
                  "%s", buf_str(&said));
    buf_clear(&said);
    workspace_exec(ws, "fit solver=pcg features=1024 rank=16 noise=1e-6 rtol=1e-14 maxit=1000000");
    while (ws->run[1]->ntrace == 0) {
        struct pollfd p = { workspace_fd(ws), POLLIN, 0 };
        poll(&p, 1, 1000);
        workspace_pump(ws);
    }
    workspace_exec(ws, "stop r2");
    ck_assert_msg(strstr(buf_str(&said), "r2 stopped; the best iterate is kept"), "%s",
                  buf_str(&said));
    workspace_drain(ws);
    ck_assert_msg(!strstr(buf_str(&said), "before there was a result"), "%s", buf_str(&said));
    workspace_free(ws);
    buf_free(&said);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("job");
    TCase *t = tcase_create("job");

    tcase_set_timeout(t, 120);
    tcase_add_test(t, every_tick_arrives_in_order);
    tcase_add_test(t, jobs_run_one_after_the_other);
    tcase_add_test(t, a_stopped_job_keeps_what_it_has);
    tcase_add_test(t, folds_that_are_tuned_stop_at_the_next_step);
    tcase_add_test(t, stop_now_drops_the_result);
    tcase_add_test(t, leaving_stops_and_frees_all);
    tcase_add_test(t, what_cannot_be_interrupted_is_not_waited_for);
    tcase_add_test(t, each_job_has_its_own_limits);
    tcase_add_test(t, a_failure_is_handed_over);
    tcase_add_test(t, time_left_comes_from_the_fitted_rate);
    tcase_add_test(t, time_left_of_a_tuning_goes_by_its_last_evaluations);
    tcase_add_test(t, lines_wait_for_what_they_need);
    tcase_add_test(t, a_failure_drops_the_rest_of_its_line_only);
    tcase_add_test(t, waiting_lines_can_be_taken_back);
    tcase_add_test(t, a_stop_before_the_first_iterate_promises_nothing);
    suite_add_tcase(s, t);
    return support_run(s);
}
