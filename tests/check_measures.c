/* tests/check_measures.c -- the table of a run's figures (app/core/measures.h): every row is walked
 * through all that reads it, with a tuning and two fits of which one iterates and one is direct. */
#include "app/core/measures.h"
#include "app/core/ws_tell.h"
#include "app/teach/placeholder.h"
#include "base/mem.h"
#include "store_support.h"
#include "support.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The JSON of the last result of a command. */
struct listener { struct sink sink; char command[16]; struct buf json; };

static void listen(void *ctx, const struct rec *r)
{
    struct listener *l = ctx;

    if (r->type != REC_RESULT || strcmp(r->name, l->command) != 0)
        return;
    buf_clear(&l->json);
    rec_json_line(r, &l->json);
}

static const char *result_of(struct desk *d, const char *command, const char *line,
                             struct listener *l)
{
    *l = (struct listener){ .sink = { .take = listen, .ctx = l, .next = d->ws->sinks } };
    snprintf(l->command, sizeof l->command, "%s", command);
    d->ws->sinks = &l->sink;
    ck_assert_msg(desk_run(d, line), "%s: %s", line, buf_str(&d->said));
    d->ws->sinks = l->sink.next;
    ck_assert_msg(l->json.len > 0, "no result of %s", line);
    return buf_str(&l->json);
}

static bool has_key(const char *json, const char *name)
{
    const char *dot = strrchr(name, '.');
    char key[80];

    snprintf(key, sizeof key, "\"%s\":", dot ? dot + 1 : name);
    return strstr(json, key) != NULL;
}

static const char work[] =
    "demo friedman1 n=90 seed=2; split test=25% seed=3; kernel rbf; tune features=32 evals=3;"
    "tune nmll=approx features=64 rank=16 probes=4 evals=2; fit features=48;"
    "fit features=64 solver=pcg rank=8 precond=srht; score";

static char *session_path(const char *name)
{
    static char path[256];

    snprintf(path, sizeof path, "%s/gpdesk-measures-%d-%s",
             getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp", (int)getpid(), name);
    return path;
}

static const struct run *run_named(const struct workspace *ws, const char *id)
{
    for (size_t i = 0; i < ws->nrun; i++)
        if (!strcmp(ws->run[i]->id, id))
            return ws->run[i];
    ck_abort_msg("no run %s", id);
}

/* A name means one thing for a kind of run, and a struct has one key of a name in sessions. */
START_TEST(names_are_unique)
{
    const struct measure *m, *o;

    for (size_t i = 0; (m = measure_at(i)) != NULL; i++) {
        ck_assert_msg(m->name || m->session, "row %zu has no name", i);
        ck_assert_msg(!m->name || (m->words && m->unit), "%s has no words", m->name);
        for (size_t k = 0; k < i && (o = measure_at(k)) != NULL; k++) {
            const bool fits = m->name && measure_find(m->name, RUN_FIT) == m;
            const bool fits_too = o->name && measure_find(o->name, RUN_FIT) == o;
            ck_assert_msg(!m->name || !o->name || fits != fits_too || strcmp(m->name, o->name),
                          "%s stands twice", m->name);
            ck_assert_msg(!m->session || !o->session || m->of != o->of ||
                              strcmp(m->session, o->session), "%s stands twice", m->session);
        }
        if (m->name)
            ck_assert(measure_find(m->name, RUN_FIT) == m || measure_find(m->name, RUN_TUNE) == m);
    }
}
END_TEST

/* Each row of a group is in the result of the command that tells the group, by its name. */
START_TEST(results_tell_every_row)
{
    static const struct { enum measure_group first, last; const char *command, *line; } told[] = {
        { MEASURE_SYSTEM, MEASURE_COST, "fit", "fit features=64 solver=pcg rank=8 precond=srht" },
        { MEASURE_SEARCH, MEASURE_SEARCHED, "tune",
          "tune nmll=approx features=64 rank=16 probes=4 evals=2" },
        { MEASURE_SCORES, MEASURE_SCORES, "score", "score" },
        { MEASURE_CHECKS, MEASURE_CHECKS, "check", "check" },
    };
    struct desk d;
    struct err err;
    struct listener l;
    const struct measure *m;

    ck_assert_int_eq(desk_open(&d, NULL, &err), ST_OK);
    ck_assert(desk_run(&d, work));
    for (size_t t = 0; t < sizeof told / sizeof *told; t++) {
        const char *json = result_of(&d, told[t].command, told[t].line, &l);
        for (size_t i = 0; (m = measure_at(i)) != NULL; i++)
            if (m->group >= told[t].first && m->group <= told[t].last &&
                (!m->omit || measure_applies(m, d.ws->run[d.ws->nrun - 1])))
                ck_assert_msg(has_key(json, m->name), "%s: no \"%s\" in %s", told[t].line, m->name,
                              json);
        buf_free(&l.json);
    }
    desk_close(&d);
}
END_TEST

static bool alike(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
}

/* What a session keeps is what comes back, row by row, to the last bit. */
START_TEST(sessions_keep_every_row)
{
    char *path = session_path("kept.gpd");
    struct desk d, again;
    struct err err;
    const struct measure *m;
    size_t numbers = 0;

    unlink(path);
    unlink("copy.tmp"); /* of a run that was cut short */
    ck_assert_int_eq(desk_open(&d, path, &err), ST_OK);
    ck_assert_msg(desk_run(&d, work), "%s", buf_str(&d.said));
    ck_assert(desk_run(&d, "save copy.tmp"));
    ck_assert_int_eq(desk_open(&again, NULL, &err), ST_OK);
    ck_assert_msg(desk_run(&again, "resume copy.tmp"), "%s", buf_str(&again.said));
    ck_assert_uint_eq(again.ws->nrun, d.ws->nrun);
    for (size_t r = 0; r < d.ws->nrun; r++)
        for (size_t i = 0; (m = measure_at(i)) != NULL; i++) {
            const struct run *was = d.ws->run[r], *is = run_named(again.ws, was->id);
            const char *name = m->name ? m->name : m->session;
            const double x = measure_number(m, was, 0), y = measure_number(m, is, 0);
            if (!m->session) /* computed: from what came back */
                continue;
            ck_assert_msg(alike(x, y), "%s of %s is %.17g, was %.17g", name, was->id, y, x);
            const char *a = measure_word(m, was), *b = measure_word(m, is);
            ck_assert_msg(!a == !b && (!a || !strcmp(a, b)), "%s of %s is %s, was %s", name,
                          was->id, b, a);
            numbers += isfinite(x) || a;
        }
    ck_assert_uint_ge(numbers, 100);
    desk_close(&again);
    desk_close(&d);
    unlink(path);
    unlink("copy.tmp");
}
END_TEST

static void appears(struct desk *d, const char *command, const char *line, const char *name)
{
    struct listener l;

    ck_assert_msg(has_key(result_of(d, command, line, &l), name), "%s: no %s in %s", line, name,
                  buf_str(&l.json));
    buf_free(&l.json);
}

/* Tables, orders, comparisons and scripts know each row that says it is theirs. */
START_TEST(commands_know_their_rows)
{
    struct desk d;
    struct err err;
    const struct measure *m;
    char line[200];

    ck_assert_int_eq(desk_open(&d, NULL, &err), ST_OK);
    ck_assert(desk_run(&d, work));
    for (size_t i = 0; (m = measure_at(i)) != NULL; i++) {
        if (m->compare)
            appears(&d, "compare", "compare r1 r2", m->name);
        if (m->brief) {
            snprintf(line, sizeof line, "runs sort=%s", m->brief);
            ck_assert_msg(desk_run(&d, line), "%s: %s", line, buf_str(&d.said));
        }
        if (m->expect && (!m->applies || m->applies(run_named(d.ws, "r2")))) {
            const bool fit = measure_find(m->name, RUN_FIT) == m;
            const struct run *r = run_named(d.ws, fit ? "r2" : "t1");
            snprintf(line, sizeof line, "expect %s %s ", r->id, m->name);
            if (measure_word(m, r))
                strcat(line, measure_word(m, r));
            else
                sprintf(line + strlen(line), "%.17g", measure_number(m, r, 0));
            ck_assert_msg(desk_run(&d, line), "%s: %s", line, buf_str(&d.said));
        }
    }
    ck_assert(desk_run(&d, "sweep l=0.5,1 features=16"));
    for (size_t i = 0; (m = measure_of_sweep(i)) != NULL; i++)
        if (measure_find(m->name, RUN_FIT) == m &&
            (!m->applies || m->applies(run_named(d.ws, "r2")))) {
            appears(&d, "sweep", "sweep", m->name);
            snprintf(line, sizeof line, "sweep l=0.5,1 features=16 show=%s", m->brief);
            ck_assert_msg(desk_run(&d, line), "%s: %s", line, buf_str(&d.said));
        }
    ck_assert(desk_run(&d, "split folds=3 seed=1; fit features=32"));
    for (size_t i = 0; (m = measure_at(i)) != NULL; i++)
        if (m->folds) {
            appears(&d, "score", "score folds", m->name);
            break;
        }
    desk_close(&d);
}
END_TEST

/* On pages each name stands for the number that the row gives. */
START_TEST(pages_know_every_name)
{
    struct desk d;
    struct err err;
    const struct measure *m;

    ck_assert_int_eq(desk_open(&d, NULL, &err), ST_OK);
    ck_assert(desk_run(&d, work));
    for (size_t i = 0; (m = measure_at(i)) != NULL; i++) {
        if (!m->name || strchr(m->name, '.'))
            continue;
        ck_assert_msg(placeholder_known(m->name), "%s", m->name);
        if (measure_find(m->name, RUN_FIT) == m && m->of != MEASURE_OF_RUN &&
            m->type == MEASURE_REAL) {
            const double page = placeholder_number(d.ws, NULL, m->name);
            const double row = measure_number(m, run_named(d.ws, "r2"), 0);
            ck_assert_msg(alike(page, row), "%s is %.17g on pages, %.17g", m->name, page, row);
        }
    }
    desk_close(&d);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("measures");
    TCase *t = tcase_create("measures");

    tcase_set_timeout(t, 120);
    tcase_add_test(t, names_are_unique);
    tcase_add_test(t, results_tell_every_row);
    tcase_add_test(t, sessions_keep_every_row);
    tcase_add_test(t, commands_know_their_rows);
    tcase_add_test(t, pages_know_every_name);
    suite_add_tcase(s, t);
    return support_run(s);
}
