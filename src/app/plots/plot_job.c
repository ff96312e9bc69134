/* app/plots/plot_job.c -- figures made by a job and kept. See plots.h. The job also writes the file
 * given by out=, so that one line is one job. */
#include "app/plots/plot_job.h"
#include "app/plots/plots.h"

#include "figure/gnuplot.h"
#include "app/core/job.h"
#include "app/core/kept.h"
#include "app/core/ws_tell.h"
#include "app/core/ws_screen.h"
#include "figure/plot_show.h"
#include "base/mem.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The job. */

static void plot_free(struct job *job)
{
    struct plot_out *e = job->arg;

    if (!e)
        return;
    if (e->work.free)
        e->work.free(e->work.in);
    figure_free(e->fig);
    free(e->path);
    args_free(e->args);
    buf_free(&e->sixel);
    buf_free(&e->note);
    free(e);
    job->arg = NULL;
}

/* Makes the image by way of a temporary file. */
static enum status sixel_make(struct plot_out *e, const struct ctl *ctl, struct err *err)
{
    const char *tmp = getenv("TMPDIR");
    struct buf path = { 0 };
    char chunk[8192];
    size_t n;

    buf_printf(&path, "%s/gpdesk-XXXXXX.six", tmp && *tmp ? tmp : "/tmp");
    const int fd = path.failed ? -1 : mkstemps(path.s, 4);
    if (fd < 0) {
        buf_free(&path);
        err_set(err, ST_IO,
                "no file for a picture can be created in %s", tmp && *tmp ? tmp : "/tmp");
        err_hint(err, "set TMPDIR to a writable directory");
        return ST_IO;
    }
    close(fd);
    enum status rc = plot_export(ctl, e->fig, path.s, e->w, e->h, e->dark, &e->note, err);
    FILE *f = rc == ST_OK ? fopen(path.s, "rb") : NULL;
    while (f && (n = fread(chunk, 1, sizeof chunk, f)) > 0)
        buf_putn(&e->sixel, chunk, n);
    if (f)
        fclose(f);
    unlink(path.s);
    buf_free(&path);
    return rc;
}

/* True, with an error, if the figure has nothing to draw: no file is made of the reason alone. */
static bool nothing(const struct plot_out *e, struct err *err)
{
    static const char hint[] = " try: ";
    const char *why = figure_nothing(e->fig), *way = why ? strstr(why, hint) : NULL;

    if (!why)
        return false;
    int n = (int)(way ? (size_t)(way - why) : strlen(why));
    while (n > 0 && strchr(". ", why[n - 1]))
        n--;
    err_named(err, ST_STATE, "no-plot", "plot %s has nothing to draw%s: %c%.*s", e->fig->name,
              e->path ? ", and no file is written" : "",
              n > 1 && islower((unsigned char)why[1]) ? tolower((unsigned char)*why) : *why,
              n > 0 ? n - 1 : 0, why + 1);
    if (way)
        err_hint(err, "%s", way + sizeof hint - 1);
    return true;
}

static enum status plot_work(struct job *job, struct err *err)
{
    struct plot_out *e = job->arg;

    if (!e->fig) {
        const size_t lost = err_unreported();
        e->fig = plots_whole(e->work.make(e->work.in, job, err), lost, err);
        if (!e->fig)
            return err->code != ST_OK ? err->code : err_nomem(err, 0, "a plot");
        if (e->axes)
            e->axes(e->fig, e->x, e->y);
    }
    if (e->path || e->to)
        if (nothing(e, err))
            return ST_STATE;
    if (e->to == 'w')
        return plot_window(&job->ctl, e->fig, e->dark, err);
    if (e->to == 's')
        return sixel_make(e, &job->ctl, err);
    return e->path ? plot_export(&job->ctl, e->fig, e->path, e->w, e->h, e->dark, &e->note, err)
                   : ST_OK;
}

static bool picture_shown(struct workspace *ws, const struct plot_out *e)
{
    struct err err;

    if (ws->screen)
        return ws->screen->picture(ws->screen_ctx, buf_str(&e->sixel), e->sixel.len);
    return isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) &&
           plot_show_sixel_ask(STDIN_FILENO, 1000) &&
           plot_show_sixel_show(STDIN_FILENO, buf_str(&e->sixel), e->sixel.len, &err) == ST_OK;
}

static void plot_done(struct workspace *ws, struct job *job, enum status rc, const struct err *err)
{
    struct plot_out *e = job->arg;
    struct err own = { 0 };

    if (rc == ST_OK && job->discard)
        rc = ST_CANCELLED;
    if (rc == ST_CANCELLED) {
        ws_note(ws, "stopped", "%s was stopped before there was a picture", job->ops->verb);
        ws->unconverged = true;
        return;
    }
    if (rc != ST_OK) {
        ws_error(ws, err, job->line);
        return;
    }
    if (e->note.len)
        ws_note(ws, "gnuplot", "%s", buf_str(&e->note));
    /* A file of its own leaves what the screen shows. */
    struct figure *copy = e->work.make && !e->path ? figure_copy(e->fig, &own) : NULL;
    if (copy && kept_take(ws, copy, &own) != ST_OK)
        ws_error(ws, &own, job->line);
    if (e->to == 's' && !picture_shown(ws, e)) {
        plot_show_sixel_refused(&own);
        ws_error(ws, &own, job->line);
        return;
    }
    e->told(ws, e->fig, e->args, e->path, e->words);
}

static const struct job_ops plot_ops = { .verb = "plot", .work = plot_work, .done = plot_done,
                                         .free = plot_free };
static const struct job_ops describe_ops = {
    .verb = "describe", .work = plot_work, .done = plot_done, .free = plot_free};

void plot_out_free(struct plot_out *e)
{
    struct job tmp = { .arg = e };
    plot_free(&tmp);
}

enum status plot_start(struct workspace *ws, struct plot_out *e, const char *line, struct err *err)
{
    return ws_submit(ws, e->words ? &describe_ops : &plot_ops, NULL, e, line, err);
}
