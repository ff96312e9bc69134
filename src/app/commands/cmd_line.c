/* app/commands/cmd_line.c -- commands about command lines and jobs: echo, time, dry, pause. */
#include "app/commands/commands.h"
#include "app/core/job.h"
#include "app/session/timeline.h"
#include "app/shell/args.h"
#include "app/core/workspace.h"
#include "app/core/workspace_exec.h"
#include "app/core/ws_tell.h"
#include "base/mem.h"
#include "base/text.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Echo. */

static enum status cmd_echo(struct workspace *ws, const struct args *a, struct err *err)
{
    const char *text = args_text(a, "text");
    struct rec r;

    (void)err;
    rec_init(&r, REC_RESULT, "echo");
    rec_str(&r, "text", text ? text : "");
    rec_safe(&r, text ? text : " ");
    ws_emit(ws, &r);
    return ST_OK;
}

/* Time. */

static double cpu_now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The last statement that `time` queues: `time since=WALL,CPU`. */
static enum status time_told(struct workspace *ws, const char *text, struct err *err)
{
    double wall, cpu;
    char a[32], b[32];
    struct rec r;

    if (sscanf(text, "since=%lf,%lf", &wall, &cpu) != 2)
        return err_set(err, ST_USAGE, "time since= is for the program's own use");
    wall = job_now() - wall;
    cpu = cpu_now() - cpu;
    text_seconds(a, sizeof a, wall);
    text_seconds(b, sizeof b, cpu);
    rec_init(&r, REC_RESULT, "time");
    rec_num(&r, "seconds", wall);
    rec_num(&r, "processor_seconds", cpu);
    rec_text(&r, "time  %s, of the processor %s", a, b);
    if (wall > 0.01)
        rec_text(&r, " (%.1f threads busy)", cpu / wall);
    ws_emit(ws, &r);
    return ST_OK;
}

static enum status cmd_time(struct workspace *ws, const struct args *a, struct err *err)
{
    const char *line = args_text(a, "line");
    struct buf text = { 0 };

    if (!strncmp(line, "since=", 6))
        return time_told(ws, line, err);
    buf_printf(&text, "%s\ntime since=%.17g,%.17g", line, job_now(), cpu_now());
    enum status rc = text.failed ? err_nomem(err, text.cap, "a line")
                                 : workspace_exec_apart(ws, buf_str(&text), "time");
    buf_free(&text);
    if (rc != ST_OK && err->code == ST_OK)
        err_set(err, rc, "time: the line cannot be parsed");
    return rc;
}

/* Dry. */

static enum status dry_files(const struct command *cmd, const struct args *a, struct err *err)
{
    for (size_t i = 0; i < ARGS_MAX && cmd->args[i].name; i++) {
        const char *path = cmd->args[i].type == ARG_FILE ? args_text(a, cmd->args[i].name) : NULL;
        if (path && cmd->args[i].flags & ARGF_RUN && args_looks_like_run(path))
            continue;
        if (path && strcmp(path, "-") && !strpbrk(path, "*?,") && access(path, R_OK) != 0)
            return err_system(err, errno, NULL, "%.300s: %s", path, strerror(errno));
    }
    return ST_OK;
}

static void dry_line(struct workspace *ws, const struct command *cmd, const struct args *a)
{
    struct rec r;

    rec_init(&r, REC_RESULT, "dry");
    rec_str(&r, "line", args_line(a));
    rec_bool(&r, "job", cmd->flags & CMD_JOB);
    rec_bool(&r, "changes", cmd->flags & CMD_CHANGES);
    rec_text(&r, "would run  ");
    rec_safe(&r, args_line(a));
    rec_text(&r, "\n  %s%s", cmd->flags & CMD_JOB ? "in the background" : "at once",
             cmd->flags & CMD_CHANGES ? ", and changes what is current" : "");
    ws_emit(ws, &r);
}

/* tune and fit only make a plan (fitting.c); any state that they change is restored. */
static enum status dry_fit(struct workspace *ws, const struct command *cmd, const struct args *a,
                           struct err *err)
{
    ws->opt.dry = true;
    const enum status rc = cmd->exec(ws, a, err);
    ws->opt.dry = false;
    timeline_revert(ws);
    return rc;
}

static enum status cmd_dry(struct workspace *ws, const struct args *a, struct err *err)
{
    const struct command *cmd = NULL;
    struct args *inner = NULL;
    enum status rc = command_parse(args_text(a, "line"), &cmd, &inner, err);

    if (rc == ST_OK)
        rc = dry_files(cmd, inner, err);
    if (rc == ST_OK && cmd->flags & CMD_NEEDS_DATA && !ws_dataset(ws, NULL, err))
        rc = ST_STATE;
    if (rc == ST_OK && cmd->flags & CMD_NEEDS_MODEL && !ws_run(ws, NULL, err))
        rc = ST_STATE;
    if (rc == ST_OK && (!strcmp(cmd->name, "fit") || !strcmp(cmd->name, "tune")))
        rc = dry_fit(ws, cmd, inner, err);
    else if (rc == ST_OK)
        dry_line(ws, cmd, inner);
    args_free(inner);
    return rc;
}

/* Pause. */

static enum status cmd_pause(struct workspace *ws, const struct args *a, struct err *err)
{
    const bool off = args_bool(a, "off");
    struct job_view v = { .name = "" };
    struct rec r;

    if (!ws->interactive && !off) {
        err_set(err, ST_STATE, "nobody is at the keyboard to let the job continue");
        err_hint(err, "stop, and later fit continue=RUN");
        return ST_STATE;
    }
    const enum status rc = jobs_pause(ws->jobs, !off, err);
    if (rc != ST_OK) {
        err_hint(err, "jobs");
        return rc;
    }
    (void)jobs_view(ws->jobs, 0, &v);
    rec_init(&r, REC_RESULT, "pause");
    rec_str(&r, "job", v.name);
    rec_bool(&r, "paused", !off);
    rec_text(&r,
             off ? "%s continues"
                 : "%s waits at its next step  (pause off continues, stop ends it)",
             v.name);
    ws_emit(ws, &r);
    return ST_OK;
}

/* The rows. */

const struct command cmd_line_rows[] = {
    {"echo",
     "general",
     "Print the rest of the line",
     "echo a script can say what it does",
     {{"text", ARG_TEXT, ARGF_POS | ARGF_REST, NULL, 0, 0, NULL, NULL, "what to print"}},
     0,
     cmd_echo,
     NULL},
    {"time",
     "general",
     "Run a line and show how long it takes",
     "time fit features=64",
     {{"line", ARG_TEXT, ARGF_POS | ARGF_REQUIRED | ARGF_REST, NULL, 0, 0, NULL, NULL,
       "the command line"}},
     CMD_BARRIER,
     cmd_time,
     "The time includes the job that the line starts. Processor time is that of all threads."},
    {"dry",
     "general",
     "Show what a line would do, with its files, memory and plan",
     "dry fit rank=64 features=512",
     {{"line", ARG_TEXT, ARGF_POS | ARGF_REQUIRED | ARGF_REST, NULL, 0, 0, NULL, NULL,
       "the command line"}},
     0,
     cmd_dry,
     "Nothing is run and nothing changes. gpdesk -n does the same for a whole script."},
    {"pause",
     "work",
     "Pause the running job, or let it continue",
     "pause off",
     {{"off", ARG_BOOL, 0, "no", 0, 0, NULL, NULL, "let it continue"}},
     0,
     cmd_pause,
     "The job waits at its next step and keeps its memory; stop ends it and keeps the best "
     "iterate."},
    {.name = NULL},
};
