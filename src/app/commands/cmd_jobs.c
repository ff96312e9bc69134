/* app/commands/cmd_jobs.c -- background work: jobs, stop, wait. */
#include "app/commands/commands.h"
#include "app/core/job.h"
#include "app/runs/restarts.h"
#include "app/core/workspace.h"
#include "app/core/workspace_exec.h"
#include "app/core/ws_tell.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static enum status cmd_jobs(struct workspace *ws, const struct args *a, struct err *err)
{
    struct job_view v;
    struct rec r;
    unsigned long number;
    const char *line;

    (void)a, (void)err;
    rec_init(&r, REC_RESULT, "jobs");
    rec_array(&r, "jobs");
    for (size_t i = 0; jobs_view(ws->jobs, i, &v); i++) {
        rec_item(&r);
        rec_str(&r, "name", v.name);
        rec_str(&r, "state", v.stopping ? "stopped" : v.paused ? "paused"
                               : v.running ? "running" : "queued");
        rec_str(&r, "line", v.line);
        rec_num(&r, "seconds", v.seconds);
        rec_num(&r, "left", v.progress.left);
        rec_close(&r);
        job_words(&v, &r.text);
        rec_text(&r, "   (");
        rec_safe(&r, v.line);
        rec_text(&r, ")\n");
    }
    /* Without a keyboard the waiting lines are the rest of the script, which need not be listed. */
    for (size_t i = 0; ws->interactive && (line = workspace_waiting_at(ws, i, &number)) != NULL;
         i++) {
        char name[32];
        snprintf(name, sizeof name, "q%lu", number);
        rec_item(&r);
        rec_str(&r, "name", name);
        rec_str(&r, "state", "waiting");
        rec_str(&r, "line", line);
        rec_null(&r, "seconds");
        rec_null(&r, "left");
        rec_close(&r);
        rec_text(&r, "%s waits: ", name);
        rec_safe(&r, line);
        rec_text(&r, "\n");
    }
    rec_array_close(&r);
    if (!r.text.len)
        rec_text(&r, "no job is running");
    ws_emit(ws, &r);
    return ST_OK;
}

static void mark_stopped(struct workspace *ws, const char *name)
{
    for (size_t i = 0; i < ws->nrun; i++) {
        struct run *r = ws->run[i];
        if ((r->state == RUN_RUNNING || r->state == RUN_QUEUED) &&
            (!strcmp(name, "*") || !strcmp(name, r->id)))
            r->state = RUN_STOPPED;
    }
    ws->serial++;
}

/* Says what is kept of the stopped jobs; before the first iterate there is nothing to keep. */
static const char *kept_words(struct workspace *ws, const char *what, bool now)
{
    if (*what == 'q' || (*what != '*' && !isdigit((unsigned char)what[1]))) /* not a run */
        return "";
    if (now)
        return "; nothing is kept";
    if (*what == '*')
        return "; jobs with an iterate keep their best one";
    const struct run *r = ws_run(ws, what, NULL);
    return r && r->ntrace ? "; the best iterate is kept" : "; it had no iterate yet";
}

/* stop restarts: stops the running search and those of its line that wait, and reports how many had
 * not begun. */
static enum status stop_restarts(struct workspace *ws, bool now, struct buf *told, struct err *err)
{
    struct job_view v;
    const struct run *r = jobs_view(ws->jobs, 0, &v) ? ws_run(ws, v.name, NULL) : NULL, *o;
    size_t waiting = 0;

    if (!r || r->kind != RUN_TUNE || r->topt.restarts < 2) {
        err_set(err, ST_STATE, "no tuning with restarts= is running");
        err_hint(err, "jobs, or stop * for all of them");
        return ST_STATE;
    }
    while ((o = restarts_left(ws, r, 0)) != NULL) { /* a stopped one is no longer in the list */
        waiting += o != r;
        jobs_stop(ws->jobs, o->id, now, NULL); /* it may just have ended */
        mark_stopped(ws, o->id);
    }
    buf_printf(told, "%s stopped", r->id);
    if (waiting)
        buf_printf(told, ", and %zu restart%s of its line that had not begun", waiting,
                   waiting == 1 ? "" : "s");
    buf_puts(told, now ? "; none of their results are kept" : "; the best so far counts");
    return ST_OK;
}

/* Stops what the line names: q3 (a waiting line), * or all, or a job; without a name the running
 * job. */
static enum status stop_named(struct workspace *ws, const char *name, bool now, char what[24],
                              struct err *err)
{
    struct job_view v;

    if (name && *name == 'q' && strspn(name + 1, "0123456789") == strlen(name + 1)) {
        snprintf(what, 24, "%s", name);
        return workspace_forget(ws, strtoul(name + 1, NULL, 10), err);
    }
    snprintf(what, 24, "*");
    if (name && (!strcmp(name, "*") || !strcmp(name, "all")))
        workspace_forget(ws, 0, NULL);
    else if ((!name || !strcmp(name, ".")) && jobs_view(ws->jobs, 0, &v))
        snprintf(what, 24, "%s", v.name);
    else if (name && strcmp(name, "."))
        snprintf(what, 24, "%.23s", name);
    const enum status rc = jobs_stop(ws->jobs, what, now, err);
    if (rc == ST_OK)
        mark_stopped(ws, what);
    return rc;
}

static enum status cmd_stop(struct workspace *ws, const struct args *a, struct err *err)
{
    const char *name = args_text(a, "job");
    const bool now = args_bool(a, "now"), line = name && !strcmp(name, "restarts");
    struct buf told = { 0 };
    struct rec r;
    char what[24] = "restarts";

    if (name && !strncmp(name, "run:", 4))
        name += 4;
    const enum status rc =
        line ? stop_restarts(ws, now, &told, err) : stop_named(ws, name, now, what, err);
    if (rc != ST_OK)
        return rc;
    rec_init(&r, REC_RESULT, "stop");
    rec_str(&r, "job", what);
    rec_bool(&r, "keep", !now && *what != 'q');
    if (line)
        rec_text(&r, "%s", buf_str(&told));
    else
        rec_text(&r, "%s stopped%s", !strcmp(what, "*") ? "all jobs" : what,
                 kept_words(ws, what, now));
    ws_emit(ws, &r);
    buf_free(&told);
    return ST_OK;
}

/* The line has waited for all jobs, so nothing is left to do. */
static enum status cmd_wait(struct workspace *ws, const struct args *a, struct err *err)
{
    struct rec r;

    (void)a, (void)err;
    rec_init(&r, REC_RESULT, "wait");
    ws_emit(ws, &r);
    return ST_OK;
}

const struct command cmd_jobs_rows[] = {
    {"jobs", "work", "List running and waiting jobs", "jobs", {{.name = NULL}}, 0, cmd_jobs, NULL},
    {"stop",
     "work",
     "Stop a job and keep its best iterate",
     "stop *",
     {{"job", ARG_JOB, ARGF_POS, NULL, 0, 0, "restarts", NULL,
       "r7, t2, q3 (waiting), restarts (of the running tuning), * (all); default: the running job"},
      {"now", ARG_BOOL, 0, "no", 0, 0, NULL, NULL, "keep nothing"}},
     0,
     cmd_stop,
     NULL},
    {"wait",
     "work",
     "Wait until all jobs have ended",
     "wait",
     {{.name = NULL}},
     CMD_BARRIER,
     cmd_wait,
     NULL},
    {.name = NULL},
};
