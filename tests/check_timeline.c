/* tests/check_timeline.c -- undo, redo, looking back and branching: states come back exactly, in
 * memory, from a session, and after kill -9; and the scripts that are written of it all lead to the
 * same state. */
#include "app/session/store.h"
#include "app/session/store_impl.h"
#include "app/session/timeline.h"
#include "app/session/transcript.h"
#include "app/core/workspace_exec.h"
#include "store_support.h"
#include "support.h"

#include <check.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LINES = 30, SEEDS = 10 };

static char *dir;
static char session[512];

static void set_up(void)
{
    if (access("/dev/shm", W_OK) == 0)
        setenv("TMPDIR", "/dev/shm", 0);
    dir = support_tmpdir();
    snprintf(session, sizeof session, "%s", support_path(dir, "a.gpd"));
}

static void tear_down(void)
{
    support_rmdir(dir);
}

static void begin(struct desk *d, const char *path)
{
    struct err err = { 0 };
    const enum status rc = desk_open(d, path, &err);
    ck_assert_msg(rc == ST_OK, "%s", err.msg);
}

static void run(struct desk *d, const char *line)
{
    ck_assert_msg(desk_run(d, line), "%s\n%s", line, buf_str(&d->said));
}

/* All that commands change, as text: settings, options, datasets, marks of runs; or only what is
 * current of it. */
static char *portrait(const struct workspace *ws, bool all)
{
    struct snapshot *s = timeline_snapshot_take(ws, NULL);
    struct buf b = { 0 };
    int64_t ids[16] = { 0 };

    ck_assert(s != NULL && s->ndata <= 16);
    const size_t n = s->ndata, marks = s->nmark;
    if (!all)
        s->nmark = s->ndata = 0;
    store_json_snapshot(&b, s, ids);
    for (size_t i = 0; i < n; i++) {
        if (!all && i != s->cur)
            continue;
        buf_putc(&b, '\n');
        store_json_dataset(&b, s->data[i], NULL);
    }
    s->ndata = n;
    s->nmark = marks;
    timeline_snapshot_unref(s);
    char *text = buf_take(&b), *seed = strstr(text, "\"seed\":\"7\"");
    /* A session always says which seed it works with. */
    if (seed) {
        char *end = seed + 10;
        if (*end == ',')
            end++;
        else if (seed[-1] == ',')
            seed--;
        memmove(seed, end, strlen(end) + 1);
    }
    return text;
}

static void same(const char *what, const char *a, const char *b)
{
    size_t at = 0;

    while (a[at] && a[at] == b[at])
        at++;
    at = at > 40 ? at - 40 : 0;
    ck_assert_msg(strcmp(a, b) == 0, "%s: part at %zu:\n%.200s\n%.200s", what, at, a + at, b + at);
}

/* Lines at random. */

static size_t below(struct splitmix *g, size_t n)
{
    return (size_t)(splitmix_next(g) % n);
}

/* A change of state, or one that changes nothing, or one that fails. */
static void random_change(struct splitmix *g, char *out, size_t len)
{
    static const char *const kernels[] = {"rbf", "matern(nu=3/2)", "rbf + linear", "rbf(ard)",
                                          "rq"};
    static const char *const others[] = {
        "missing mean",
        "missing drop flag=yes",
        "scale y=none",
        "scale y=standard x=none",
        "scale y=log",
        "demo toy n=30 seed=4",
        "demo friedman1 n=40 seed=5 as=other",
        "use friedman1",
        "use toy",
        "drop dataset:toy",
        "set seed=12",
        "set threads=1",
        "set precision=double",
        "set theme=dark",
        "set l=0.01..100",
        "set noise=0.3 l.min=7 l.max=2",
        "note r1 fine",
        "note \"not so fine\"",
        "star r1",
        "star r1 off",
        "drop r1",
        "cols x1,x2 group=first",
        "cols x3 type=category",
        "cols x3 type=real",
        "tune features=32 evals=3 method=bayes",
    };
    const size_t kind = below(g, 10);

    if (kind < 3)
        snprintf(out, len, "cols x%zu role=%s", 1 + below(g, 5), below(g, 2) ? "skip" : "input");
    else if (kind == 3)
        snprintf(out, len, "split test=%zu%% seed=%zu", 10 + 5 * below(g, 4), below(g, 3));
    else if (kind == 4)
        snprintf(out, len, "kernel %s", kernels[below(g, 5)]);
    else if (kind == 5)
        snprintf(out, len, "set l=%zu noise=0.%zu", 1 + below(g, 9), 1 + below(g, 9));
    else
        snprintf(out, len, "%s", others[below(g, sizeof others / sizeof *others)]);
}

static void start(struct desk *d)
{
    run(d, "demo friedman1 n=40 seed=3; split test=20% seed=1; kernel rbf; fit features=32");
}

static void undo_all(struct desk *d, char **was, size_t n, const char *what)
{
    for (size_t i = n; i-- > 0;) {
        run(d, "undo");
        char *now = portrait(d->ws, true);
        same(what, was[i], now);
        free(now);
    }
}

static void redo_all(struct desk *d, char **was, size_t n, const char *what)
{
    for (size_t i = 1; i <= n; i++) {
        run(d, "redo");
        char *now = portrait(d->ws, true);
        same(what, was[i], now);
        free(now);
    }
}

/* States after each step; was[0] before the first of these lines.  Returns how many steps. */
static size_t walk(struct desk *d, uint64_t seed, char **was)
{
    struct splitmix g;
    char line[120];
    size_t n = 0, undone;

    splitmix_init(&g, seed);
    was[0] = portrait(d->ws, true);
    for (size_t i = 0; i < LINES; i++) {
        const size_t before = timeline_steps(d->ws, &undone);
        random_change(&g, line, sizeof line);
        const bool good = desk_run(d, line);
        char *now = portrait(d->ws, true);
        const size_t steps = timeline_steps(d->ws, &undone) - before;
        ck_assert_uint_eq(undone, 0);
        ck_assert_uint_le(steps, 1);
        /* A step is made when the state has changed, and only then; a failure changes nothing. */
        ck_assert_msg((steps == 1) == (strcmp(now, was[n]) != 0) || !strncmp(line, "demo", 4),
                      "%s: %zu steps", line, steps); /* the same data once more is other data */
        ck_assert_msg(good || steps == 0, "%s failed and changed something", line);
        if (steps)
            was[++n] = now;
        else
            free(now);
    }
    return n;
}

static void free_all(char **was, size_t n)
{
    for (size_t i = 0; i <= n; i++)
        free(was[i]);
}

static char *script_of(const struct workspace *ws, bool all)
{
    struct buf b = { 0 };
    struct err err = { 0 };

    ck_assert_msg(transcript(ws, all, &b, &err) == ST_OK, "%s", err.msg);
    return buf_take(&b);
}

/* Tests. */

START_TEST(everything_is_undone_and_done_again)
{
    struct desk d;
    char *was[LINES + 1];

    begin(&d, NULL);
    start(&d);
    const size_t n = walk(&d, 100 + (uint64_t)_i, was);
    ck_assert_uint_gt(n, LINES / 4);
    char *script = script_of(d.ws, false);
    undo_all(&d, was, n, "undone");
    redo_all(&d, was, n, "done again");
    char *again = script_of(d.ws, false);
    same("script", script, again);
    /* Several at once, and too many. */
    char line[40];
    snprintf(line, sizeof line, "undo %zu", n);
    run(&d, line);
    char *now = portrait(d.ws, true);
    same("all at once", was[0], now);
    ck_assert(!desk_run(&d, "undo 200"));
    ck_assert(strstr(buf_str(&d.said), "can be undone"));
    free(now);
    free(script);
    free(again);
    free_all(was, n);
    desk_close(&d);
}
END_TEST

START_TEST(runs_stay_whatever_is_undone)
{
    struct desk d;
    size_t undone;

    begin(&d, NULL);
    start(&d);
    run(&d, "cols x1 role=skip; fit features=32; kernel linear; fit features=32");
    const size_t steps = timeline_steps(d.ws, &undone);
    ck_assert_uint_eq(steps, 5); /* demo, split, kernel, cols, kernel: fits change nothing */
    run(&d, "undo 5");
    ck_assert_uint_eq(d.ws->ndata, 0);
    ck_assert_uint_eq(d.ws->nrun, 3);
    ck_assert_str_eq(d.ws->last_fit, "r3");
    run(&d, "predict run=r2 out=/dev/null; redo 5");
    ck_assert_uint_eq(d.ws->ndata, 1);
    /* A new change ends what could be done again. */
    run(&d, "undo; kernel rq");
    ck_assert(!desk_run(&d, "redo"));
    desk_close(&d);
}
END_TEST

START_TEST(the_bin_gives_back)
{
    struct desk d;

    begin(&d, NULL);
    start(&d);
    run(&d, "fit features=64; star r1; drop r2");
    ck_assert_uint_eq(d.ws->nrun, 1);
    ck_assert_str_eq(d.ws->last_fit, "r1");
    ck_assert(!desk_run(&d, "score r2"));
    ck_assert(strstr(buf_str(&d.said), "in the bin"));
    run(&d, "undo; score r2; drop run:r2; note r1 x; purge");
    ck_assert_uint_eq(d.ws->nbin, 1); /* it only said what would go */
    run(&d, "purge yes");
    ck_assert_uint_eq(d.ws->nbin, 0);
    ck_assert(!desk_run(&d, "undo"));
    run(&d, "fit features=32");
    ck_assert_str_eq(d.ws->last_fit, "r3"); /* numbers are not used twice */
    ck_assert(d.ws->run[0]->star && !strcmp(d.ws->run[0]->note, "x"));
    ck_assert(!desk_run(&d, "drop nothing"));
    desk_close(&d);
}
END_TEST

/* A long job's line stands where it was begun, not where it ended. */
START_TEST(lines_stand_in_the_order_of_their_beginning)
{
    struct desk d, again;

    begin(&d, NULL);
    start(&d);
    workspace_exec(d.ws, "fit features=2048 solver=pcg rank=16 rtol=1e-10");
    workspace_exec(d.ws, "cols x1 role=skip"); /* done at once */
    workspace_drain(d.ws);
    run(&d, "score r2");
    ck_assert_uint_eq(d.ws->nscript, 7);
    ck_assert_str_eq(d.ws->script[4], "fit solver=pcg features=2048 rank=16 rtol=1e-10");
    ck_assert_str_eq(d.ws->script[5], "cols x1 role=skip");
    char *script = script_of(d.ws, true);
    begin(&again, NULL);
    run(&again, script);
    ck_assert(again.ws->run[1]->score_scaled.rmse == d.ws->run[1]->score_scaled.rmse);
    ck_assert_uint_eq(d.ws->run[1]->enc.d, 10);
    free(script);
    desk_close(&again);
    desk_close(&d);
}
END_TEST

/* Every line can be looked at again, with the runs of then, and nothing can be changed there. */
START_TEST(every_command_can_be_looked_at)
{
    struct desk d;
    char *after[LINES + 5], line[120];
    size_t runs[LINES + 5], n = 0;
    struct splitmix g;

    begin(&d, _i ? session : NULL);
    start(&d);
    splitmix_init(&g, 300 + (uint64_t)_i);
    while (d.ws->nscript < LINES && n < 200) {
        n++;
        if (n % 7 == 0)
            snprintf(line, sizeof line, "fit features=32");
        else
            random_change(&g, line, sizeof line);
        const size_t before = d.ws->nscript;
        desk_run(&d, line);
        if (d.ws->nscript == before)
            continue;
        after[d.ws->nscript] = portrait(d.ws, true);
        runs[d.ws->nscript] = d.ws->nrun;
    }
    const size_t first = 5, last = d.ws->nscript;
    if (_i) { /* the same out of the session */
        desk_close(&d);
        begin(&d, session);
    }
    for (size_t i = last; i >= first; i--) {
        snprintf(line, sizeof line, i % 3 == 0 && i < last ? "at -1" : "at %zu", i);
        run(&d, line);
        char *now = portrait(d.ws, true);
        same("then", after[i], now);
        ck_assert_uint_eq(d.ws->nrun, runs[i]);
        ck_assert(!desk_run(&d, "cols x2,x9 role=skip") && !desk_run(&d, "split test=33%") &&
                  !desk_run(&d, "undo") && !desk_run(&d, "fit"));
        run(&d, "kernel; data; runs");
        free(now);
        now = portrait(d.ws, true);
        same("and still", after[i], now);
        free(now);
        if (i % 3 != 1) {
            run(&d, "at now");
            now = portrait(d.ws, true);
            same("present", after[last], now);
            free(now);
        }
    }
    run(&d, "at now");
    char *now = portrait(d.ws, true);
    same("present", after[last], now);
    free(now);
    for (size_t i = first; i <= last; i++)
        free(after[i]);
    desk_close(&d);
}
END_TEST

/* Any mixture, fits in between: both scripts lead to the same state and the same last fit. */
START_TEST(scripts_lead_to_the_same_state)
{
    struct desk d, again;
    struct splitmix g;
    char line[120];
    size_t undone;

    begin(&d, NULL);
    start(&d);
    splitmix_init(&g, 500 + (uint64_t)_i);
    for (size_t i = 0; i < LINES; i++) {
        const size_t done = timeline_steps(d.ws, &undone), what = below(&g, 12);
        if (what < 2 && done)
            snprintf(line, sizeof line, "undo %zu", 1 + below(&g, done < 3 ? done : 3));
        else if (what == 2 && undone)
            snprintf(line, sizeof line, "redo %zu", 1 + below(&g, undone));
        else if (what == 3)
            snprintf(line, sizeof line, "branch %zu", 1 + below(&g, d.ws->nscript));
        else if (what == 4)
            snprintf(line, sizeof line, "fit features=%zu", 32 + 2 * i);
        else
            random_change(&g, line, sizeof line);
        desk_run(&d, line);
    }
    for (int all = 0; all < 2; all++) {
        char *script = script_of(d.ws, all), *want = portrait(d.ws, all), *got;
        if (!all)
            ck_assert_msg(!strstr(script, "\nredo") && !strstr(script, "\nbranch"), "%s", script);
        begin(&again, NULL);
        ck_assert_msg(desk_run(&again, script), "%s\n%s", buf_str(&again.said), script);
        /* Nothing but the seed may differ: it stands in front. */
        got = portrait(again.ws, all);
        const char *a = strstr(want, "\"marks\""), *b = strstr(got, "\"marks\"");
        ck_assert_msg(strcmp(a, b) == 0, "%s\n%s\n%s", script, a, b);
        *strstr(want, "\"options\"") = *strstr(got, "\"options\"") = '\0';
        ck_assert_msg(strcmp(want, got) == 0, "%s\n%s\n%s", script, want, got);
        if (*d.ws->last_fit) {
            const struct run *x = ws_run(d.ws, NULL, NULL), *y = ws_run(again.ws, NULL, NULL);
            ck_assert_msg(x && y && x->model->M == y->model->M &&
                          memcmp(x->model->w, y->model->w, x->model->M * sizeof(double)) == 0,
                          "another last fit\n%s", script);
        }
        free(script);
        free(want);
        free(got);
        desk_close(&again);
    }
    desk_close(&d);
}
END_TEST

/* What is in force is there without what was undone; `undo` stands only where the last fit was made
 * under settings that were undone after it, once, and nothing is done again. */
START_TEST(scripts_hold_what_is_in_force)
{
    static const struct { const char *lines, *has, *lacks; } want[] = {
        { "set noise=0.5; undo; undo; redo; redo", "set noise=0.5\n", "undo" },
        { "set noise=0.5; kernel linear; undo; fit features=34; redo",
          "noise=0.5\nfit features=34\n", "undo" },
        { "set theme=dark; undo; redo; undo; redo; fit features=34", "set theme=dark\n", "undo" },
        { "set noise=0.5 theme=dark; split test=30%; fit features=34; undo 2; scale y=none",
          "\nundo 2\nscale y=none\n", "redo" },
        { "set noise=0.5; fit features=34; undo; kernel rq; undo; redo; undo; kernel linear",
          "\nundo\nkernel linear\n", "rq" },
        { "set noise=0.5; fit features=34; undo; set noise=0.7; fit features=36 from=r2 "
          "solver=pcg; undo", "\nundo\nset noise=0.7\nfit solver=pcg features=36 from=r1\n",
          "redo" },
    };
    struct desk d, again;

    begin(&d, NULL);
    start(&d);
    run(&d, want[_i].lines);
    char *script = script_of(d.ws, false), *now = portrait(d.ws, false), *got;
    ck_assert_msg(strstr(script, want[_i].has), "%s", script);
    ck_assert_msg(!strstr(script, want[_i].lacks), "%s", script);
    begin(&again, NULL);
    run(&again, script);
    got = portrait(again.ws, false);
    same("in force", strstr(now, "\"marks\""), strstr(got, "\"marks\""));
    ck_assert_str_eq(again.ws->opt.theme, d.ws->opt.theme);
    const struct run *x = ws_run(d.ws, NULL, NULL), *y = ws_run(again.ws, NULL, NULL);
    ck_assert(x && y && x->model->M == y->model->M);
    ck_assert(memcmp(x->model->w, y->model->w, x->model->M * sizeof(double)) == 0);
    free(script);
    free(now);
    free(got);
    desk_close(&again);
    desk_close(&d);
}
END_TEST

/* Where panes stand is a matter of the screen: no undo moves them, and no script does. */
START_TEST(undo_moves_no_panes)
{
    struct desk d;
    size_t undone;

    begin(&d, NULL);
    start(&d);
    const size_t steps = timeline_steps(d.ws, &undone);
    run(&d, "set noise=0.5; set layout=slide");
    ck_assert_uint_eq(timeline_steps(d.ws, &undone), steps + 1);
    run(&d, "undo");
    ck_assert_str_eq(d.ws->opt.layout, "slide");
    char *script = script_of(d.ws, true);
    ck_assert_msg(!strstr(script, "slide"), "%s", script);
    free(script);
    desk_close(&d);
}
END_TEST

/* A fit that nothing but `stop` ends within the test: its first point has come. */
static const char endless[] = "fit features=512 solver=cg noise=1e-12 l=20 rtol=1e-15 "
                              "maxit=1000000"; /* condition number 1e13 */

static struct run *begin_endless(struct desk *d)
{
    workspace_exec(d->ws, endless);
    struct run *r = ws_newest_running(d->ws);
    while (r && workspace_busy(d->ws) && !r->ntrace) {
        struct pollfd fd = { .fd = workspace_fd(d->ws), .events = POLLIN };
        ck_assert_int_ge(poll(&fd, 1, 60000), 0);
        workspace_pump(d->ws);
    }
    ck_assert(r && r->ntrace && workspace_busy(d->ws));
    return r;
}

static size_t count_of(const char *text, const char *what)
{
    size_t n = 0;

    for (const char *p = text; (p = strstr(p, what)) != NULL; p += strlen(what))
        n++;
    return n;
}

/* An interrupted fit is a comment in both scripts, which run again; one that ended at its limit of
 * iterations is none. */
START_TEST(what_was_interrupted_is_a_comment)
{
    struct desk d, again;
    bool interrupted[16];

    begin(&d, NULL);
    run(&d, "demo friedman1 n=1000 seed=3; split test=20% seed=1; kernel rbf; fit features=32");
    begin_endless(&d);
    run(&d, _i ? "stop now" : "stop");
    workspace_drain(d.ws);
    run(&d, "set noise=0.3; fit features=256 solver=cg noise=1e-6 rtol=1e-12 maxit=2");
    ck_assert_uint_eq(d.ws->nscript, 7);
    ck_assert(transcript_interrupted(d.ws, interrupted, NULL) == ST_OK);
    for (size_t i = 0; i < 7; i++)
        ck_assert_msg(interrupted[i] == (i == 4), "line %zu: %s", i + 1, d.ws->script[i]);
    ck_assert_int_eq(ws_run(d.ws, "r2", NULL)->state, RUN_STOPPED);
    ck_assert_int_eq(ws_run(d.ws, "r3", NULL)->state, RUN_STOPPED);
    for (int all = 0; all < 2; all++) {
        char *script = script_of(d.ws, all);
        ck_assert_msg(strstr(script, _i ? "\n# interrupted: fit solver=cg" :
                                          "\n# interrupted at iteration "), "%s", script);
        ck_assert_msg(!strstr(script, "\nfit solver=cg features=512 rtol=1e-15"), "%s", script);
        ck_assert_msg(strstr(script, "outcome maxit, features 256, iterations 2"), "%s", script);
        begin(&again, NULL);
        run(&again, script);
        ck_assert_uint_eq(again.ws->nrun, all ? 2 : 1);
        ck_assert(again.ws->run[all]->info.why == OUT_MAXIT);
        desk_close(&again);
        free(script);
    }
    desk_close(&d);
}
END_TEST

/* What began from an interrupted fit has it whole in its script; it expects no figures. */
START_TEST(what_began_from_an_interrupted_fit)
{
    struct desk d;

    begin(&d, NULL);
    run(&d, "demo friedman1 n=1000 seed=3; split test=20% seed=1; kernel rbf");
    begin_endless(&d);
    run(&d, "stop");
    workspace_drain(d.ws);
    run(&d, "fit continue=r1 maxit=3");
    char *script = script_of(d.ws, false);
    ck_assert_msg(strstr(script, "runs to its end here\nfit solver=cg"), "%s", script);
    ck_assert_msg(strstr(script, "\nfit maxit=3 continue=r1\n"), "%s", script);
    ck_assert_msg(!strstr(script, "expect"), "%s", script);
    free(script);
    desk_close(&d);
}
END_TEST

/* The state that a tuning has left when it is stopped is set in the script. */
START_TEST(an_interrupted_tuning_is_set)
{
    struct desk d, again;

    begin(&d, NULL);
    run(&d, "demo friedman1 n=200 seed=3; split test=20% seed=1");
    run(&d, _i ? "kernel rbf(ard)" : "kernel rbf + linear");
    workspace_exec(d.ws, "tune features=256 evals=10000 method=bayes");
    const struct run *r = ws_newest_running(d.ws);
    while (r && workspace_busy(d.ws) && r->ntrace < 3) {
        struct pollfd fd = { .fd = workspace_fd(d.ws), .events = POLLIN };
        ck_assert_int_ge(poll(&fd, 1, 60000), 0);
        workspace_pump(d.ws);
    }
    run(&d, "stop");
    workspace_drain(d.ws);
    ck_assert(r->tune.why == TUNE_CANCELLED);
    char *script = script_of(d.ws, false);
    ck_assert_msg(strstr(script, "\n# interrupted after "), "%s", script);
    ck_assert_msg(!strstr(script, "\ntune"), "%s", script);
    begin(&again, NULL);
    run(&again, script);
    ck_assert(_i || memcmp(d.ws->hp, again.ws->hp, 2 * sizeof(double)) == 0);
    ck_assert(!_i == !strstr(script, "\n# not set: lengthscale[1]="));
    ck_assert(d.ws->amplitude == again.ws->amplitude && d.ws->noise == again.ws->noise);
    free(script);
    desk_close(&again);
    desk_close(&d);
}
END_TEST

/* The program is killed while a fit runs: the comment comes when the session is opened, once. */
START_TEST(a_kill_interrupts_too)
{
    struct desk d;
    struct err err = { 0 };
    int status;

    const pid_t pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        if (desk_open(&d, session, &err) != ST_OK ||
            !desk_run(&d, "demo friedman1 n=1000 seed=3; split test=20% seed=1; kernel rbf"))
            _exit(1);
        begin_endless(&d);
        if (store_flush(store_of(d.ws), &err) != ST_OK)
            _exit(2);
        raise(SIGKILL);
    }
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    begin(&d, session);
    ck_assert_uint_eq(d.ws->nscript, 4);
    ck_assert_str_eq(d.ws->script[3], "# interrupted: fit solver=cg features=512 rtol=1e-15 "
                     "maxit=1000000 noise=1e-12 lengthscale=20");
    run(&d, "set noise=0.5; undo; redo; at 4; at now; undo");
    desk_close(&d);
    begin(&d, session); /* not once more */
    char *script = script_of(d.ws, true);
    ck_assert_uint_eq(d.ws->nscript, 8);
    ck_assert_uint_eq(count_of(script, "# interrupted: fit"), 1);
    free(script);
    desk_close(&d);
}
END_TEST

/* Works in the session as its parent does in memory, and dies. */
static void victim(uint64_t seed, bool flush)
{
    struct desk d;
    struct err err = { 0 };
    struct splitmix g;
    char line[120];

    if (desk_open(&d, session, &err) != ST_OK || !desk_run(&d, "demo friedman1 n=40 seed=3; split "
        "test=20% seed=1; kernel rbf; fit features=32"))
        _exit(1);
    splitmix_init(&g, seed);
    for (size_t i = 0; i < LINES; i++) {
        random_change(&g, line, sizeof line);
        desk_run(&d, line);
    }
    if (flush && store_flush(store_of(d.ws), &err) != ST_OK)
        _exit(2);
    raise(SIGKILL);
}

START_TEST(undo_works_after_kill_9)
{
    const uint64_t seed = 700 + (uint64_t)_i;
    const bool flush = _i % 2 == 0;
    struct desk d;
    char *was[LINES + 1];
    size_t undone;
    int status;

    const pid_t pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0)
        victim(seed, flush);
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    begin(&d, NULL);
    start(&d);
    const size_t before = timeline_steps(d.ws, &undone), n = walk(&d, seed, was);
    desk_close(&d);

    begin(&d, session);
    ck_assert_msg(!strstr(buf_str(&d.said), "warning"), "%s", buf_str(&d.said));
    char *now = portrait(d.ws, true);
    /* Without waiting for the disk the last commands may be missing, never a half one. */
    const size_t steps = timeline_steps(d.ws, &undone), at = steps - before;
    if (flush)
        ck_assert_uint_eq(at, n);
    if (steps < before) { /* killed before the walk had begun */
        ck_assert(!flush);
    } else {
        ck_assert_uint_le(at, n);
        same("after the kill", was[at], now);
        undo_all(&d, was, at, "undone after a kill");
        redo_all(&d, was, at, "done again after a kill");
        timeline_steps(d.ws, &undone);
        ck_assert_uint_eq(undone, 0);
        run(&d, "undo 2; kernel linear; undo");
    }
    free(now);
    free_all(was, n);
    desk_close(&d);
}
END_TEST

/* While a job runs that changes what is current nothing of before is shown; what is typed waits. */
START_TEST(a_tuning_is_waited_for)
{
    struct desk d;

    begin(&d, NULL);
    start(&d);
    d.ws->interactive = d.ws->no_session = true;
    workspace_exec(d.ws, "tune features=512 evals=200");
    workspace_exec(d.ws, "fit features=32");
    ck_assert_msg(strstr(buf_str(&d.said), "note[waits]: fit features=32"), "%s", buf_str(&d.said));
    workspace_exec(d.ws, "at 2");
    ck_assert_msg(strstr(buf_str(&d.said), "error[busy]"), "%s", buf_str(&d.said));
    run(&d, "stop *");
    workspace_drain(d.ws);
    run(&d, "at 2; at now");
    desk_close(&d);
}
END_TEST

START_TEST(old_data_is_let_go)
{
    struct desk d;
    char line[80];
    size_t undone;

    begin(&d, NULL);
    d.ws->opt.mem = 8 << 20; /* an eighth of it: 1 MB of tables that only the past holds */
    for (int i = 0; i < 30; i++) {
        snprintf(line, sizeof line, "demo friedman1 n=2000 seed=%d", i + 1);
        run(&d, line); /* replaces the one of before: 176 kB each */
    }
    const size_t done = timeline_steps(d.ws, &undone);
    ck_assert_uint_ge(done, 3);
    ck_assert_uint_le(done, 7);
    run(&d, "undo 3; summary");
    /* Nor does what was undone and is no step any more stay for good; with a session it is read
     * again. */
    for (int i = 0; i < 30; i++) {
        snprintf(line, sizeof line, "demo friedman1 n=2000 seed=%d as=other; undo", i + 1);
        run(&d, line);
    }
    const size_t n = d.ws->nscript;
    ck_assert(!desk_run(&d, "at 40") && strstr(buf_str(&d.said), "error[forgotten]"));
    snprintf(line, sizeof line, "at %zu", n - 1);
    run(&d, line);
    desk_close(&d);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("timeline");
    const struct {
        const char *name;
        const TTest *test;
        int loop;
    } group[] = {
        { "all", everything_is_undone_and_done_again, SEEDS },
        { "runs", runs_stay_whatever_is_undone, 1 },
        { "bin", the_bin_gives_back, 1 },
        { "order", lines_stand_in_the_order_of_their_beginning, 1 },
        { "at", every_command_can_be_looked_at, 2 },
        { "scripts", scripts_lead_to_the_same_state, 3 * SEEDS },
        { "in force", scripts_hold_what_is_in_force, 6 },
        { "panes", undo_moves_no_panes, 1 },
        { "interrupted", what_was_interrupted_is_a_comment, 2 },
        { "continued", what_began_from_an_interrupted_fit, 1 },
        { "stopped tuning", an_interrupted_tuning_is_set, 2 },
        { "killed", a_kill_interrupts_too, 1 },
        { "kill", undo_works_after_kill_9, 8 },
        { "busy", a_tuning_is_waited_for, 1 },
        { "memory", old_data_is_let_go, 1 },
    };
    for (size_t i = 0; i < sizeof group / sizeof *group; i++) {
        TCase *tc = tcase_create(group[i].name);
        tcase_add_checked_fixture(tc, set_up, tear_down);
        tcase_set_timeout(tc, 120);
        tcase_add_loop_test(tc, group[i].test, 0, group[i].loop);
        suite_add_tcase(s, tc);
    }
    return support_run(s);
}
