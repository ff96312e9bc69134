/* tests/check_resume.c -- another session is resumed after every command there is: nothing of the
 * first one may be looked at again.  The examples of the command table are run on a small dataset,
 * so a new command is covered by its example.  Meant for a build with sanitizers; without them the
 * test still sees that every owner of state has let go of it. */
#include "app/commands/app.h"
#include "app/core/workspace.h"
#include "app/core/workspace_exec.h"
#include "app/plots/plots.h"
#include "app/session/store.h"
#include "store_support.h"
#include "support.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char dir[] = "/tmp/gpdesk-resume-XXXXXX";

static void setup(void)
{
    struct desk d;
    struct err err = { 0 };

    ck_assert_ptr_nonnull(mkdtemp(dir));
    ck_assert_int_eq(chdir(dir), 0);
    ck_assert_int_eq(setenv("XDG_STATE_HOME", dir, 1), 0);
    ck_assert_int_eq(desk_open(&d, "other.gpd", &err), ST_OK);
    ck_assert(desk_run(&d, "demo toy n=30 seed=2; fit features=16"));
    desk_close(&d);
}

static void teardown(void)
{
    char line[80];

    snprintf(line, sizeof line, "rm -rf '%s'", dir);
    ck_assert_int_eq(system(line), 0);
}

/* Commands that take hold of what others leave, without anything that they could find. */
static void look_around(struct workspace *ws)
{
    static const char *const lines[] = {
        "runs", "data", "history", "script", "jobs", "lesson", "answer a", "sweep", "race",
        "race point=0", "sweep point=0", "point x=0.5", "explain", "explain spectrum", "compare",
        "expect", "describe slice", "show run:.", "undo", "redo", "advise features=16 rank=2",
    };
    struct err err = { 0 };

    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        workspace_exec(ws, lines[i]);
        workspace_drain(ws);
    }
    for (size_t i = 0; plot_at(i); i++)
        figure_free(plot_at(i)->make(ws, NULL, NULL, &err));
}

static void resume_after(const char *example)
{
    struct desk d;
    struct err err = { 0 };

    unlink("first.gpd");
    ck_assert_int_eq(system("cp other.gpd next.gpd"), 0);
    ck_assert_int_eq(desk_open(&d, "first.gpd", &err), ST_OK);
    ck_assert(desk_run(&d, "demo toy n=40 seed=1; split test=25%; fit features=16; score"));
    workspace_exec(d.ws, example);   /* some say why they cannot: that is an outcome, too */
    workspace_drain(d.ws);
    /* A lesson or a sweep may have left the first session behind; one is open in any case. */
    ck_assert_msg(desk_run(&d, "at now; resume next.gpd"), "after %s", example);
    for (size_t i = 0; app_owners[i]; i++)
        if (!app_owners[i]->make && app_owners[i] != &store_owner)
            ck_assert_msg(!owner_state(d.ws, app_owners[i]), "%s is still there after %s",
                          app_owners[i]->name, example);
    ck_assert_uint_eq(d.ws->nrun, 1);
    ck_assert_uint_eq(d.ws->data[0]->table->n, 30);
    look_around(d.ws);
    desk_close(&d);
}

START_TEST(every_command)
{
    const struct command *c = command_at((size_t)_i);

    if (!strcmp(c->name, "quit") || !strcmp(c->name, "resume"))
        return;
    for (const char *p = c->example; *p;) {
        const size_t n = strcspn(p, "\n");
        char line[400];
        snprintf(line, sizeof line, "%.*s", (int)n, p);
        resume_after(line);
        p += n + (p[n] != '\0');
    }
}
END_TEST

/* What several commands leave together, and twice. */
START_TEST(several_times)
{
    resume_after("advise features=16 rank=2,4; spectrum; draw; pca features=16; race cg,pcg "
                 "features=16; sweep rank=2,4; lesson 1; plot residual; undo");
    resume_after("suggest 2; tell s1=0.5 s2=failed; fit features=16; draw posterior along=x1 n=2; "
                 "pick test count=3; neighbours row:2; effects x1; importance; explain-row row:1; "
                 "bo table start=10 rounds=1 batch=2 candidates=20; suggest 3; plot suggest");
    resume_after("resume next.gpd; spectrum; draw; resume first.gpd; pca features=16; spectrum");
}
END_TEST

int main(void)
{
    Suite *s = suite_create("resume");
    TCase *c = tcase_create("resume");
    int n = 0;

    app_begin();
    while (command_at((size_t)n))
        n++;
    tcase_set_timeout(c, 300);
    tcase_add_unchecked_fixture(c, setup, teardown);
    tcase_add_loop_test(c, every_command, 0, n);
    tcase_add_test(c, several_times);
    suite_add_tcase(s, c);
    return support_run(s);
}
